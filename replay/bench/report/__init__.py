# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is shown of a result file."""
