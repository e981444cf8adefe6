# SPDX-License-Identifier: LGPL-2.1-or-later
"""BenchError: the one exception whose text is shown to the user."""


class BenchError(Exception):
    """A fault of the command, the machine or the input: printed as one line, the program ends with `status`."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status
