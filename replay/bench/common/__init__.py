# SPDX-License-Identifier: LGPL-2.1-or-later
"""Used by all layers: one-line errors, paths, child processes, build steps, tables."""
