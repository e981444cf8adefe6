# SPDX-License-Identifier: LGPL-2.1-or-later
"""Figures from captures, traces and probes; which runs count; statistics."""
