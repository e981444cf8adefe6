# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counts by type, sizes and hashes of a recording, in one pass and constant memory; ./run record info: prints them."""
from __future__ import annotations

import argparse
import hashlib
import io
import json
import sys
from collections import Counter
from pathlib import Path
from typing import IO, Any

from bench.common import packed
from bench.common.errors import BenchError
from recordings import catalogue, qxl
from recordings.catalogue import sha256_of
from recordings.reader import Event, Reader

_COMMAND_KINDS = {qxl.Command.CURSOR: ("CURSOR_", qxl.CursorCommand), qxl.Command.SURFACE: ("SURFACE_", qxl.SurfaceCommand)}
_BITMAPS = dict(enumerate("1BIT_LE 1BIT_BE 4BIT_LE 4BIT_BE 8BIT 16BIT 24BIT 32BIT RGBA 8BIT_A".split(), start=1))
_CREATE_PRIMARY = (qxl.Worker.CREATE_PRIMARY_SURFACE, qxl.Worker.CREATE_PRIMARY_SURFACE_ASYNC)


class _Hashed(io.RawIOBase):
    """Passes on what it reads, and hashes and counts it."""

    def __init__(self, stream: IO[bytes]):
        self._stream = stream
        self.sha256 = hashlib.sha256()
        self.size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[:len(data)] = data
        self.sha256.update(data)
        self.size += len(data)
        return len(data)


def _draw_type(event: Event) -> int:
    """The drawable's `type` line is the one after its three surfaces; earlier ones belong to its clip."""
    surfaces = 0
    for line in event.lines():
        surfaces += line.startswith(b"rect surfaces_rects ")
        if surfaces == 3 and line.startswith(b"type "):
            return int(line[5:])
    return -1


def command_type(event: Event) -> str:
    """The name under which a command is counted: DRAW_COPY, CURSOR_MOVE, UPDATE."""
    if event.kind == qxl.Command.DRAW:
        draw = _draw_type(event)
        return "COPY_BITS" if draw == qxl.Draw.COPY_BITS else _named("DRAW_", qxl.Draw, draw)
    if event.kind in _COMMAND_KINDS:
        prefix, names = _COMMAND_KINDS[qxl.Command(event.kind)]
        number = event.number_after(b"type")
        return _named(prefix, names, -1 if number is None else number)
    return _named("", qxl.Command, event.kind)


def image_types(event: Event) -> list[str]:
    """The types of a command's images: BITMAP_32BIT, BITMAP_1BIT_BE, QUIC, SURFACE."""
    found = []
    for line in event.lines():
        if line.startswith(b"descriptor.type "):
            found.append(_named("", qxl.ImageType, int(line[16:])))
        elif line.startswith(b"bitmap.format "):
            found[-1] += "_" + _BITMAPS.get(int(line[14:]), line[14:].decode())
    return found


def _named(prefix: str, names: Any, number: int) -> str:
    try:
        return prefix + names(number).name
    except ValueError:
        return f"{prefix}{number}"


def _follow_surface(event: Event, alive: set[int]) -> None:
    number = event.number_after(b"surface_id")
    if number is not None:
        if event.number_after(b"type") == qxl.SurfaceCommand.CREATE:
            alive.add(number)
        else:
            alive.discard(number)


def describe(path: Path) -> dict[str, Any]:
    """The facts that can be computed from a recording's bytes, with the manifest's names."""
    types: Counter[str] = Counter()
    images: Counter[str] = Counter()
    primaries: list[str] = []
    first = last = events = commands = 0
    primary_alive = False
    surfaces: set[int] = set()
    most_surfaces = 0
    with packed.opened(path) as source:
        hashed = _Hashed(source)
        for event in Reader(io.BufferedReader(hashed, 1 << 20)):
            events += 1
            first = first or event.time_ns
            if event.what == 0:
                commands += 1
                types[command_type(event)] += 1
                images.update(image_types(event))
                if event.kind == qxl.Command.SURFACE:
                    _follow_surface(event, surfaces)
                    most_surfaces = max(most_surfaces, len(surfaces))
            elif event.kind in _CREATE_PRIMARY:
                width, height = next(event.lines()).split()[:2]
                primaries.append(f"{width.decode()}x{height.decode()}")
                primary_alive = True
            elif event.kind in (qxl.Worker.DESTROY_PRIMARY_SURFACE, qxl.Worker.DESTROY_SURFACES):
                primary_alive = False
            # the destruction of a surface may have been moved forward and kept its time
            if not (event.what == 0 and event.kind == qxl.Command.SURFACE):
                last = max(last, event.time_ns)
    return {
        "resolution": primaries[-1] if primaries else None,
        "mode_changes": max(len(primaries) - 1, 0),
        "ends_with_primary": primary_alive,
        "most_surfaces": most_surfaces,
        "seconds": round((last - first) / 1e9, 1),
        "events": events,
        "commands": commands,
        "types": dict(sorted(types.items())),
        "images": dict(sorted(images.items())),
        "raw_bytes": hashed.size,
        "packed_bytes": path.stat().st_size,
        "sha256": sha256_of(path),
        "raw_sha256": hashed.sha256.hexdigest(),
    }


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = "Validates each recording as the player does and describes it. Exit status 2: one is damaged."
    parser.add_argument("files", metavar="FILE", nargs="+", help="name of a shipped recording, or a path; a part of it: FILE@FROM-TO (s)")
    parser.add_argument("--json", action="store_true", help="one JSON object per recording")


def _text(facts: dict[str, object]) -> str:
    lines = [f"{facts['file']}: {facts['seconds']} s, {facts['commands']} commands, {facts['events']} events, {facts['raw_bytes']} bytes "
             f"({facts['packed_bytes']} packed), screen {facts['resolution']}, at most {facts['most_surfaces']} other surfaces at once"]
    for what in ("types", "images"):
        counts = facts[what]
        assert isinstance(counts, dict)
        lines += [f" {what}", *(f"  {name:30} {count:9}" for name, count in counts.items())]
    return "\n".join(lines)


def execute(args: argparse.Namespace) -> int:
    status = 0
    for name in args.files:
        try:
            wanted = catalogue.find(name)
            path = catalogue.looked_into(wanted).path
            checked = catalogue.check(path)        # before reading, as the reader's error is not meant for users
            shown = name if wanted.part else str(path)      # for a compressed one the player gets "-"
            facts = {**describe(path), **checked, "file": shown}
        except BenchError as error:     # one file after the other
            print(f"bench: {error}", file=sys.stderr)
            status = max(status, error.status)
            continue
        print(json.dumps(facts) if args.json else _text(facts))
    return status
