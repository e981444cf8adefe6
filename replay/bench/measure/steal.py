# SPDX-License-Identifier: LGPL-2.1-or-later
"""Steal time: CPU time that the host of a virtual machine gave to others. Figures measured meanwhile depend on the host."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

_STAT = Path("/proc/stat")
_STEP = 0.02        # seconds between two samples
_STEAL = 8          # the field of the first line: proc_stat(5)


def _ticks(text: str) -> int | None:
    """Of all processors; None if the kernel does not report it."""
    fields = text.split("\n", 1)[0].split()
    return int(fields[_STEAL]) if len(fields) > _STEAL and fields[0] == "cpu" else None


class StealTime:
    """Samples steal time while it is entered. Times are of the monotonic clock, like those of player and client."""

    def __init__(self, stat: Path = _STAT) -> None:
        self._stat = stat
        self._seen: list[tuple[int, int]] = []      # nanoseconds, ticks
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._look()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end.set()
        self._thread.join()
        self._look()

    def _watch(self) -> None:
        while not self._end.wait(_STEP):
            self._look()

    def _look(self) -> None:
        ticks = _ticks(self._stat.read_text())
        if ticks is not None:
            self._seen.append((time.monotonic_ns(), ticks))

    def share(self, begin_ns: int, end_ns: int) -> float | None:
        """Share of all processors' time between two moments, 0 to 1: from the last sample before the first to the first sample
        after the second."""
        before = [look for look in self._seen if look[0] <= begin_ns]
        after = [look for look in self._seen if look[0] >= end_ns]
        if not before or not after or end_ns <= begin_ns:
            return None
        ticks = after[0][1] - before[-1][1]
        seconds = (after[0][0] - before[-1][0]) / 1e9
        return ticks / os.sysconf("SC_CLK_TCK") / seconds / (os.cpu_count() or 1)
