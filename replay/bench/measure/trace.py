# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads a trace of the patched library (SPICE_STREAM_TRACE, server/stats/red-stream-trace.h), and finds stalls:
times in which messages waited in a channel's pipe for the limit on bytes in flight while the path was idle.

When the path becomes idle, the last ack arrives within a round trip. So the server or the client causes a longer
stall.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.common.errors import BenchError
from bench.lab.links import Link

ALLOWED = 0.050             # seconds a stall may last beyond the round trip: the client's decoding, and a busy machine's delays
Span = tuple[float, float]  # seconds, began and ended


@dataclass(frozen=True)
class Line:
    when: float             # seconds of CLOCK_MONOTONIC
    stream: int
    what: str


def read(path: Path) -> Iterator[Line]:
    with path.open(encoding="ascii") as file:
        for number, text in enumerate(file, 1):
            if not text.endswith("\n"):
                return      # a server that was killed leaves a cut line
            words = text.split()
            try:
                yield Line(int(words[0]) / 1e6, int(words[1]), words[2])
            except (ValueError, IndexError):
                raise BenchError(f"{path}: line {number} is not of a trace") from None


def waits(lines: Iterable[Line]) -> list[Span]:
    """Intervals in which channels held messages back: from each `wait` line to the stream's next write."""
    since: dict[int, float] = {}
    found = []
    for line in lines:
        if line.what == "wait":
            since.setdefault(line.stream, line.when)
        elif line.what in ("write", "close") and line.stream in since:
            found.append((since.pop(line.stream), line.when))
    return sorted(found)


def idle(departures: Sequence[tuple[float, int]], link: Link, begun: float = math.inf) -> list[Span]:
    """When the path carried nothing of what the server sent: departures are times and sizes of its packets with data, in
    order, each of which keeps the slow part busy for its size after those before it."""
    found = []
    busy_until: float | None = None
    for when, size in departures:
        if busy_until is not None and when > busy_until:
            found.append((busy_until, when))
        busy_until = link.sent(max(when, busy_until or when), size, begun)
    return found


def overlaps(one: Sequence[Span], other: Sequence[Span]) -> list[float]:
    """For how long the spans of `one` overlap those of `other`. The spans of `other` do not overlap each other."""
    found = []
    at = 0
    for began, ended in one:
        while at < len(other) and other[at][1] <= began:
            at += 1
        ahead = at
        while ahead < len(other) and other[ahead][0] < ended:
            found.append(min(ended, other[ahead][1]) - max(began, other[ahead][0]))
            ahead += 1
    return found


def stalls(lines: Iterable[Line], departures: Sequence[tuple[float, int]], link: Link,
           begun: float = math.inf) -> dict[str, float]:
    """The longest, in ms, what is allowed, and how many were longer. departures, and since when the link's changes count, on the
    trace's clock."""
    held = overlaps(waits(lines), idle(departures, link, begun))
    allowed = link.delay + link.jitter + ALLOWED
    return {"longest": round(max(held, default=0.0) * 1e3, 3), "allowed": round(allowed * 1e3, 3),
            "beyond": sum(one > allowed for one in held)}
