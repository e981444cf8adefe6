# SPDX-License-Identifier: LGPL-2.1-or-later
"""Guests in QEMU, for ./run live and ./run clients."""
