# SPDX-License-Identifier: LGPL-2.1-or-later
"""Recordings of QXL sessions: read, write, generate and describe them."""
