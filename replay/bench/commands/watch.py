# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run watch FOLDER: live counters of the streams of running guests, as a table that is redrawn each second."""

from __future__ import annotations

import argparse
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.common import table
from bench.common.errors import BenchError

# RedStreamLive of server/stats/red-stream-live.h
LAYOUT = struct.Struct("8s16s4I10Q16s4Q")
MAGIC = b"spice-2"
_UNKNOWN = 2**64 - 1     # RED_STREAM_LIVE_UNKNOWN: the mode has no output buffer, which counts
_CHANNELS = ("", "main", "display", "inputs", "cursor", "sound", "microphone", "", "smartcard", "usb", "port", "webdav")
_QUIET = 2.0        # seconds without a change after which nothing can be in flight any more
_INTERVAL = 1.0     # seconds between two tables
_HEAD = ["guest", "channel", "mode", "messages/s", "records/s", "writes/s", "sent", "rate", "delay", "in flight",
         "limit", "phase", "copies/s", "copied", "equal", "drawn", "quiet"]


@dataclass(frozen=True)
class Stream:
    """The counters of a stream at one moment."""
    pid: int
    channel: str
    mode: str
    time: float         # time of the latest change: seconds of the monotonic clock
    messages: int       # _UNKNOWN, as the next three, in modes normal, cork and window
    records: int
    writes: int
    written: int
    in_flight: int
    limit: int
    rate: int
    delay: int
    phase: str
    moves: int
    moved: int          # pixels, as the next two
    equal: int
    drawn: int


def read(file: Path) -> Stream | None:
    """None if the file is no stream's, or the stream has just ended."""
    try:
        pid, content = int(file.name.split("-")[0]), file.read_bytes()
    except (OSError, ValueError):
        return None
    if len(content) < LAYOUT.size:
        return None
    magic, mode, tls, kind, number, _, *numbers, phase, moves, moved, equal, drawn = LAYOUT.unpack_from(content)
    if _text(magic) != MAGIC.decode() or not Path(f"/proc/{pid}").is_dir():
        return None
    changed, messages, records, writes, written, _pending, in_flight, limit, rate, delay = numbers
    name = _CHANNELS[kind] if kind < len(_CHANNELS) else ""
    return Stream(pid, f"{name or f'channel {kind}'}{f'-{number}' if number else ''}",
                  _text(mode) + (" tls" if tls else ""), changed / 1e6, messages, records, writes, written, in_flight,
                  limit, rate, delay, _text(phase), moves, moved, equal, drawn)


def _text(field: bytes) -> str:
    return field.split(b"\0")[0].decode("ascii", errors="replace")


def look(folder: Path) -> dict[Path, Stream]:
    try:
        files = sorted(folder.iterdir())
    except OSError as error:
        raise BenchError(f"{folder}: {error.strerror}") from None
    return {file: stream for file in files if (stream := read(file))}


def _bits(bytes_a_second: float) -> str:
    bits = bytes_a_second * 8
    return f"{bits / 1e6:.1f} Mbit/s" if bits >= 1e6 else f"{bits / 1e3:.0f} kbit/s"


def row(before: Stream | None, now: Stream, seconds: float, clock: float) -> list[str]:
    def each_second(what: str) -> float:
        return (getattr(now, what) - getattr(before, what)) / seconds if before else 0.0

    def counted(what: str, write: Callable[[float], str] = "{:.0f}".format) -> str:
        return write(each_second(what)) if getattr(now, what) != _UNKNOWN else "-"

    def pixels(what: str) -> str:
        return f"{each_second(what) / 1e6:.2f} Mpx/s" if compares else ""

    # a client that comes later is told what was before it as well, with the first comparison
    compares = before is not None and before.moved + before.equal + before.drawn > 0
    quiet = clock - now.time
    knows_path = now.limit > 0
    return [str(now.pid), now.channel, now.mode, counted("messages"), counted("records"), counted("writes"),
            counted("written", _bits),
            _bits(now.rate) if now.rate else "", f"{now.delay / 1e3:.1f} ms" if now.delay else "",
            f"{now.in_flight / 1024:.0f} KiB" if knows_path and quiet < _QUIET else "",
            f"{now.limit / 1024:.0f} KiB" if knows_path else "", now.phase,
            f"{each_second('moves'):.0f}" if compares else "", pixels("moved"), pixels("equal"), pixels("drawn"),
            f"{quiet:.0f} s" if quiet >= 1 else ""]


def page(before: dict[Path, Stream], now: dict[Path, Stream], seconds: float, clock: float) -> str:
    if not now:
        return "no connection: start QEMU with SPICE_STREAM_STATS=FOLDER, and connect a client\n"
    rows = [row(before.get(file), stream, seconds, clock) for file, stream in now.items()]
    return f"{table.markdown(_HEAD, rows, left=3)}\n"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Shows live counters of running guests' connections. Start QEMU with SPICE_STREAM_STATS=FOLDER in its "
                          "environment; the folder must exist, and QEMU must be able to write to it. rate and delay: of the path, "
                          "measured with pings (mode flow). limit: bytes that may be in flight. copied, equal: pixels of the guest's bitmaps "
                          "that were not sent (setting display=); drawn: those that were. -: not counted (modes normal, cork and window). quiet: time since the last change. Prints one "
                          "table if the output is not a terminal.")
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="the folder of SPICE_STREAM_STATS")


def execute(args: argparse.Namespace) -> int:
    if not args.folder.is_dir():
        raise BenchError(f"{args.folder} is not a folder: create it, and start QEMU with SPICE_STREAM_STATS={args.folder}", 2)
    before, began = look(args.folder), time.monotonic()
    while True:
        time.sleep(_INTERVAL)
        now, clock = look(args.folder), time.monotonic()
        text = page(before, now, clock - began, clock)
        sys.stdout.write(text if not sys.stdout.isatty() else f"\033[H\033[2J{text}")
        sys.stdout.flush()
        if not sys.stdout.isatty():
            return 0
        before, began = now, clock
