# SPDX-License-Identifier: LGPL-2.1-or-later
"""BenchError: the one exception whose text is shown to the user."""


class BenchError(Exception):
    """An error of the command, the machine or the input. It is printed as one line, and the program ends with `status`."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status
