# SPDX-License-Identifier: LGPL-2.1-or-later
"""Recordings of QXL sessions: the shipped ones, and programs that find, read, describe and cut them."""
