# SPDX-License-Identifier: LGPL-2.1-or-later
"""One module per client: start, query, stop."""
