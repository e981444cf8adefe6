# SPDX-License-Identifier: LGPL-2.1-or-later
"""Cuts a part out of a recording.

It keeps the range, and of what comes before everything that can leave something on a surface, in an image cache or as
a cursor: every command, and the messages that create or destroy surfaces. These are played at once, then the range at
its own pace. So the picture at every point of the range is the original's, at the cost of the bytes before it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.common import atomic, packed
from recordings import qxl
from recordings.reader import HEADER, Event, read_events

_ENDS = {qxl.Worker.DESTROY_SURFACES, qxl.Worker.DESTROY_PRIMARY_SURFACE, qxl.Worker.DESTROY_SURFACES_ASYNC,
         qxl.Worker.DESTROY_PRIMARY_SURFACE_ASYNC}
_LEAVE_SOMETHING = _ENDS | {qxl.Worker.CREATE_PRIMARY_SURFACE, qxl.Worker.CREATE_PRIMARY_SURFACE_ASYNC}


@dataclass(frozen=True)
class Range:
    """[first, last): of commands, or of nanoseconds since the first event."""
    first: float = 0
    last: float = math.inf
    by_command: bool = False
    whole: float = math.inf     # bytes of the recording before damage


def seconds(first: float, last: float = math.inf) -> Range:
    return Range(int(first * 1e9), last if last == math.inf else int(last * 1e9))


def timeline(path: Path, whole: float = math.inf) -> list[int]:
    """When each event is due, in nanoseconds since the first: no later than any event after it, for an event that was moved to an
    earlier place still has its old time."""
    times = [event.time_ns for event in read_events(path, whole)]
    due = list(itertools.accumulate(reversed(times), min))[::-1]
    return [when - due[0] for when in due]


def kept(path: Path, part: Range) -> Iterator[Event]:
    commands, start, begin, in_flight = 0, 0, None, False
    for number, (event, due) in enumerate(zip(read_events(path, part.whole), timeline(path, part.whole), strict=True)):
        position = commands if part.by_command else due
        if position >= part.last:
            return
        start = start or event.time_ns
        if begin is None and position >= part.first:
            begin = due if part.by_command else int(part.first)
        is_message = event.what != 0
        # also keep a message that ends a time in which commands in flight may name a destroyed surface
        if begin is not None or not is_message or in_flight or event.kind in _LEAVE_SOMETHING:
            event.time_ns = start + (0 if begin is None else due - begin)
            yield event
        in_flight = event.kind in _ENDS if is_message else in_flight
        commands += not is_message


def cut(path: Path, part: Range, out: Path) -> None:
    """The recording has been checked, or what is whole of it. `out` is compressed as its name says."""
    with atomic.replaced(out) as target, packed.begun(target, out.name) as file:
        file.write(HEADER)
        for number, event in enumerate(kept(path, part)):
            event.number = number
            file.write(event.encode())
