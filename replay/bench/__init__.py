# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures spice-server: plays recordings to a real client over a real link and counts what goes over the wire."""
