# SPDX-License-Identifier: LGPL-2.1-or-later
"""Recordings of QXL sessions: read, write, generate, describe and fuzz them."""
