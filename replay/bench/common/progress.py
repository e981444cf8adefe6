# SPDX-License-Identifier: LGPL-2.1-or-later
"""Progress of a matrix of runs: one line that changes on a terminal, one line per run elsewhere. The time left is
estimated from each run's expected length, as runs differ much."""

from __future__ import annotations

import sys
import time
from typing import TextIO


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Progress:
    """expected: the sum of the expected lengths of all runs, in seconds."""

    def __init__(self, total: int, expected: float, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._live = self._out.isatty()
        self._began = time.monotonic()
        self._total = total
        self._done = 0
        self._expected = expected
        self._expected_done = 0.0

    def _show(self, text: str, stays: bool) -> None:
        if self._live:
            self._out.write(f"\r\033[K{text}" + ("\n" if stays else ""))
        elif stays:
            self._out.write(text + "\n")
        self._out.flush()

    def _left(self) -> str:
        pace = (time.monotonic() - self._began) / self._expected_done if self._expected_done else 1.0
        return f"{duration(pace * max(self._expected - self._expected_done, 0))} left"

    def start(self, what: str) -> None:
        self._show(f"[{self._done + 1}/{self._total}] {what}, {self._left()}", stays=False)

    def under_way(self, count: int) -> None:
        self._show(f"[{self._done}/{self._total}] {count} under way, {self._left()}", stays=False)

    def end(self, what: str, outcome: str, expected: float) -> None:
        self._done += 1
        self._expected_done += expected
        self._show(f"[{self._done}/{self._total}] {what}: {outcome}" + ("" if self._live else f", {self._left()}"),
                   stays=True)

    def more(self, count: int, expected: float) -> None:
        self._total += count
        self._expected += expected

    def note(self, text: str) -> None:
        self._show(text, stays=True)

    def clear(self) -> None:
        if self._live:
            self._show("", stays=False)
