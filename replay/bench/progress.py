# SPDX-License-Identifier: LGPL-2.1-or-later
"""Says how far a matrix of runs is: one line that changes on a terminal, one line a run elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Progress:
    def __init__(self, total: int, out: TextIO | None = None) -> None:
        self.total = total
        self._out = out or sys.stderr
        self._live = self._out.isatty()
        self._began = time.monotonic()
        self._done = 0

    def _show(self, text: str, stays: bool) -> None:
        if self._live:
            self._out.write(f"\r\033[K{text}" + ("\n" if stays else ""))
        elif stays:
            self._out.write(text + "\n")
        self._out.flush()

    def _eta(self) -> str:
        if not self._done:
            return ""
        left = (time.monotonic() - self._began) / self._done * (self.total - self._done)
        return f", {duration(left)} left"

    def start(self, what: str) -> None:
        self._show(f"[{self._done + 1}/{self.total}] {what}{self._eta()}", stays=False)

    def end(self, what: str, outcome: str) -> None:
        self._done += 1
        self._show(f"[{self._done}/{self.total}] {what}: {outcome}{'' if self._live else self._eta()}", stays=True)

    def more(self, count: int) -> None:
        self.total += count

    def note(self, text: str) -> None:
        self._show(text, stays=True)

    def clear(self) -> None:
        if self._live:
            self._show("", stays=False)
