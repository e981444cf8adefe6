# SPDX-License-Identifier: LGPL-2.1-or-later
"""Destroys each surface of a recording right after its last use.

The X driver keeps surfaces as long as the device has numbers for them, 1 024, and a recording with all of them alive hangs
upstream's replay utility. What is drawn stays the same. The moved events take the time of the one they now follow.
"""
from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from recorder import qxl
from recorder.reader import HEADER, Event, Reader, open_recording

_USES = (b"surface_id", b"surface_image.surface_id", b"surfaces_dest")


def used_by(event: Event) -> set[int]:
    """The surfaces a command draws on or reads; the screen and none are not told."""
    numbers = (line.split() for line in event.lines())
    return {int(words[1]) for words in numbers if len(words) == 2 and words[0] in _USES and int(words[1]) > 0}


def _moves(path: Path) -> dict[int, list[int]]:
    """Index of an event -> indexes of later events, destructions, that belong right after it."""
    last_use: dict[int, int] = {}
    moves: dict[int, list[int]] = defaultdict(list)
    with open_recording(path) as stream:
        for at, event in enumerate(Reader(stream)):
            if event.what != 0:
                continue
            surface = event.number_after(b"surface_id")
            if event.kind != qxl.Command.SURFACE or surface is None:
                last_use.update((used, at) for used in used_by(event) if used in last_use)
            elif event.number_after(b"type") == qxl.SurfaceCommand.CREATE:
                last_use[surface] = at
            elif last_use.get(surface, at) < at - 1:
                moves[last_use.pop(surface)].append(at)
    return moves


def destroy_early(path: Path, out: Path) -> int:
    """Writes the changed recording, unpacked; returns how many destructions it moved."""
    moves = _moves(path)
    moved = {later for group in moves.values() for later in group}
    with open_recording(path) as stream:
        early = {at: event for at, event in enumerate(Reader(stream)) if at in moved}
    with open_recording(path) as stream, out.open("wb") as file:
        file.write(HEADER)
        for at, event in enumerate(Reader(stream)):
            if at in moved:
                continue
            file.write(event.encode())
            for later in moves.get(at, ()):
                early[later].time_ns = event.time_ns
                file.write(early[later].encode())
    return len(moved)
