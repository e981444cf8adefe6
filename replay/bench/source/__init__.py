# SPDX-License-Identifier: LGPL-2.1-or-later
"""Builds of upstream's source, patched and unpatched, and their tests."""
