# SPDX-License-Identifier: LGPL-2.1-or-later
"""Talks like spice-staleness of a recording that shows nothing."""

print("[[0, 0]]")
