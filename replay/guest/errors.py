# SPDX-License-Identifier: LGPL-2.1-or-later
"""Exceptions for the outcomes bad and not run."""

from subprocess import SubprocessError


class Failed(Exception):
    """A check of a scenario failed."""


class GuestLost(Failed):
    """The guest has stopped."""


# all that makes a run bad: also a socket or a program that a scenario uses
BREAKS = (Failed, OSError, SubprocessError)


class NotRun(Exception):
    """The scenario cannot be run here; the text says why."""
