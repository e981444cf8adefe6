# SPDX-License-Identifier: LGPL-2.1-or-later
"""One module a client: how it is started, asked, stopped."""
