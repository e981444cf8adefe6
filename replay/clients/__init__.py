# SPDX-License-Identifier: LGPL-2.1-or-later
"""Client compatibility tests: real clients, over every transport and in every mode, at a QEMU."""
