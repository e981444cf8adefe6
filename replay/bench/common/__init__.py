# SPDX-License-Identifier: LGPL-2.1-or-later
"""What every room needs: errors of one line, paths, children, steps of a build, tables."""
