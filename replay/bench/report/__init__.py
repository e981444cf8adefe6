# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables and pages of a result file."""
