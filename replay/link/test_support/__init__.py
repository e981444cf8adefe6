# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the tests of spice-link, and its table of accuracy, measure with."""
