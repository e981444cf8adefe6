# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is played: recordings, libraries, modes; one run, all runs, their file."""
