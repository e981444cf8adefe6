# SPDX-License-Identifier: LGPL-2.1-or-later
"""Leaves out the later frames of a video, so that a recording of one can be shipped.

  python3 -m recorder.thin IN OUT --size 320x240 --keep 100

A frame is a COPY of exactly that size onto the screen. All else stays, times too, so the rest plays as it did; the video stands
still after the frames kept. (Cutting the recording's end off instead would leave the final picture to what a client makes of a
running video stream, which differs from run to run.)
"""
from __future__ import annotations

import argparse
import lzma
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from recorder import qxl
from recorder.describe import command_type
from recorder.reader import HEADER, Event, read_events


def is_frame(event: Event, width: int, height: int) -> bool:
    if event.what != 0 or event.kind != qxl.Command.DRAW or event.number_after(b"surface_id") != 0:
        return False
    box = next(line for line in event.lines() if line.startswith(b"rect bbox "))
    top, left, bottom, right = (int(number) for number in box.split()[2:])
    return (right - left, bottom - top) == (width, height) and command_type(event) == "DRAW_COPY"


def thinned(events: Iterable[Event], width: int, height: int, keep: int) -> Iterator[Event]:
    frames = 0
    for event in events:
        frames += is_frame(event, width, height)
        if frames <= keep or not is_frame(event, width, height):
            yield event


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="recorder.thin", description="Leaves out the later frames of a video.")
    parser.add_argument("recording", type=Path)
    parser.add_argument("out", type=Path, help="packed if its name ends in .xz")
    parser.add_argument("--size", required=True, help="of a frame, WIDTHxHEIGHT")
    parser.add_argument("--keep", type=int, required=True, help="how many frames")
    chosen = parser.parse_args(arguments)
    width, height = (int(side) for side in chosen.size.split("x"))
    with lzma.open(chosen.out, "wb", preset=9) if chosen.out.suffix == ".xz" else chosen.out.open("wb") as file:
        file.write(HEADER)
        for event in thinned(read_events(chosen.recording), width, height, chosen.keep):
            file.write(event.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
