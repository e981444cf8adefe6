# SPDX-License-Identifier: LGPL-2.1-or-later
"""Packages: the series on top of a distribution's package, built and checked as the distribution does it."""
