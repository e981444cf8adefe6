# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures spice-server: plays recordings to a real client over an emulated link and counts packets, bytes, CPU and
latency."""
