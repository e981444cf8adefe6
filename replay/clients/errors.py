# SPDX-License-Identifier: LGPL-2.1-or-later
"""Exceptions for the outcomes bad and not run."""


class Failed(Exception):
    """What should have happened did not."""


class GuestLost(Failed):
    """The guest itself does not go on."""


class NotRun(Exception):
    """It can't be tried here; the text says why."""
