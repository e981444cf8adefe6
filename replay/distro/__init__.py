# SPDX-License-Identifier: LGPL-2.1-or-later
"""Packages: the series on top of what a distribution has, built and checked as the distribution does it."""
