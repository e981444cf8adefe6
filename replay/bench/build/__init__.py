# SPDX-License-Identifier: LGPL-2.1-or-later
"""Upstream's source, the overlay, every build, and ./run test."""
