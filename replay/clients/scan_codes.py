# SPDX-License-Identifier: LGPL-2.1-or-later
"""Scan codes of a PC keyboard, for the keys that the tests type."""

from __future__ import annotations

_ROWS = ((16, "qwertyuiop\n"), (30, "asdfghjkl"), (44, "zxcvbnm"))
SCAN_CODES = {letter: first + at for first, row in _ROWS for at, letter in enumerate(row)} | {"\n": 28}
RELEASED = 0x80
BETWEEN = 0.05  # seconds between two keys
