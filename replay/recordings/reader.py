# SPDX-License-Identifier: LGPL-2.1-or-later
"""Read a recording event by event, in constant memory.

A recording ("SPICE_REPLAY 1") is what the server saw of a QXL device: a header line, then events. Each event is a line
`event NUMBER WHAT KIND NANOSECONDS` (WHAT 0: a command from the ring, 1: a call into the worker) followed by text lines
and by blobs of the form `binary 0 NAME SIZE:` + SIZE bytes + newline, or, packed by zlib, `binary 1 NAME UNPACKED:SIZE:` + the same. Nothing says how long an event is.
"""
from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from bench.common import packed

HEADER = b"SPICE_REPLAY 1\n"
LONGEST_LINE = 512           # the longest line a recorder writes is a rectangle's, about 70 bytes
LARGEST_BLOB = 0x7FFFFFFF    # the server's own limit for one piece of data

_EVENT = re.compile(rb"event (\d+) ([01]) (\d+) (\d+)\n\Z")
_BLOB = re.compile(rb"binary (?:0 (?P<name>\S+) |1 (?P<packed>\S+) (?P<unpacked>\d+):)(?P<size>\d+):")


class RecordingError(Exception):
    """The file is no recording, or a damaged one; `offset` is where in the unpacked bytes it shows."""

    def __init__(self, offset: int, reason: str):
        super().__init__(f"byte {offset}: {reason}")
        self.offset = offset


@dataclass
class Blob:
    name: str
    data: bytes
    unpacked: int | None = None     # its uncompressed size, if data is compressed

    def encode(self) -> bytes:
        if self.unpacked is not None:
            return b"binary 1 %s %d:%d:%s\n" % (self.name.encode(), self.unpacked, len(self.data), self.data)
        return b"binary 0 %s %d:%s\n" % (self.name.encode(), len(self.data), self.data)


@dataclass
class Event:
    number: int
    what: int                # 0 a command, 1 a call into the worker
    kind: int                # qxl.Command or qxl.Worker
    time_ns: int
    body: list[bytes | Blob] = field(default_factory=list)   # lines without their newline

    def encode(self) -> bytes:
        head = b"event %d %d %d %d\n" % (self.number, self.what, self.kind, self.time_ns)
        return head + b"".join(p.encode() if isinstance(p, Blob) else p + b"\n" for p in self.body)

    def lines(self) -> Iterator[bytes]:
        return (p for p in self.body if not isinstance(p, Blob))

    def number_after(self, key: bytes) -> int | None:
        """The number in the first line `KEY NUMBER`, or None."""
        for line in self.lines():
            if line.startswith(key + b" "):
                return int(line[len(key) + 1:].split()[0])
        return None


class Reader:
    """Iterates over the events of an unpacked recording, or of so many of its bytes. `offset` is how far it has read."""

    def __init__(self, stream: IO[bytes], whole: float = math.inf):
        self._stream = stream
        self._whole = whole
        header = stream.readline(LONGEST_LINE)
        self.offset = len(header)
        if header != HEADER:
            raise RecordingError(0, "not a recording of version 1")

    def _line(self) -> bytes:
        line = self._stream.readline(LONGEST_LINE)
        self.offset += len(line)
        if line and not line.endswith(b"\n") and not line.startswith(b"binary "):
            raise RecordingError(self.offset, "line cut short or too long")
        return line

    def _blob(self, start: bytes) -> Blob:
        """The blob that begins with `start`, which ends at a newline that may be data."""
        match = _BLOB.match(start)
        if not match:
            raise RecordingError(self.offset - len(start), "malformed blob")
        name, size = (match["name"] or match["packed"]).decode(), int(match["size"])
        if size > LARGEST_BLOB:
            raise RecordingError(self.offset - len(start), f"blob of {size} bytes")
        missing = match.end() + size + 1 - len(start)
        rest = self._stream.read(max(missing, 0))
        self.offset += len(rest)
        data = start[match.end():] + rest
        if len(data) != size + 1 or data[-1:] != b"\n":
            raise RecordingError(self.offset, f"blob '{name}' does not end where its size says")
        return Blob(name, data[:-1], int(match["unpacked"]) if match["packed"] else None)

    def __iter__(self) -> Iterator[Event]:
        event: Event | None = None
        while self.offset < self._whole and (line := self._line()):
            if line.startswith(b"event "):
                match = _EVENT.match(line)
                if not match:
                    raise RecordingError(self.offset - len(line), "malformed event line")
                if event:
                    yield event
                event = Event(*(int(n) for n in match.groups()))
            elif event is None:
                raise RecordingError(self.offset - len(line), "data before the first event")
            else:
                event.body.append(self._blob(line) if line.startswith(b"binary ") else line[:-1])
        if event:
            yield event


def read_events(path: Path, whole: float = math.inf) -> Iterator[Event]:
    with packed.opened(path) as stream:
        yield from Reader(stream, whole)
