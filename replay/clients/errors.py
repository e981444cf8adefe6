# SPDX-License-Identifier: LGPL-2.1-or-later
"""Exceptions for the outcomes bad and not run."""


class Failed(Exception):
    """A check of a scenario failed."""


class GuestLost(Failed):
    """The guest has stopped."""


class NotRun(Exception):
    """The scenario cannot be run here; the text says why."""
