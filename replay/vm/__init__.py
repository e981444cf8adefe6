# SPDX-License-Identifier: LGPL-2.1-or-later
"""A machine with a kernel that this one may not have, on this machine's files: python3 -m vm."""
