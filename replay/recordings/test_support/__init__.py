# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes recordings, for tests only: the product reads them."""
