# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fake spice-staleness, for a recording that shows nothing."""

print("[[0, 0]]")
