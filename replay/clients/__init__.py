# SPDX-License-Identifier: LGPL-2.1-or-later
"""Real clients on a real QEMU: which client, over which transport, in which mode, does what."""
