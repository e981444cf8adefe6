# SPDX-License-Identifier: LGPL-2.1-or-later
"""Recordings, libraries and modes; one run, all runs, the result file."""
