# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a capture, a trace and the probes say, which runs count, and how sure a figure is."""
