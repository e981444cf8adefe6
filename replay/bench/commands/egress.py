# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run egress: what the stream layer alone costs, in every mode, plain and over TLS, on the messages of each recording.

Counts (system calls, records, bytes) are the same every time, and taken twice to be sure; instructions are to 0.1 %, for
a TLS handshake leaves the heap as its random numbers have it. Speeds are over TCP on loopback, depend on the machine and
on what else it does, and are medians."""

from __future__ import annotations

import argparse
import json
import re
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.build import setup
from bench.common import paths, proc, table
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.runs import environment

Row = dict[str, Any]
Key = tuple[str, str, str]      # mix, transport, mode

MADE = "made"
_MIXES = paths.ROOT / "server/devel/tests/bench-mix"
_COUNTS = ("messages", "message_bytes", "written_bytes", "records", "floor_records", "writes", "setsockopts", "flushes")
_COLLECTED = re.compile(r"Collected : (\d+)")
_HEAD = ("mode", "messages/s", "of normal", "CPU ns/message", "instructions/message", "writes/message", "records/message",
         "overhead")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("mixes", nargs="*", metavar="MIX", help="a recording, or 'made' (default: all)")
    parser.add_argument("-o", "--out", type=Path, default=paths.OWN_RESULTS / "egress", metavar="DIR",
                        help="where egress.md and egress.json go (default: results/own/egress)")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="runs whose speeds a median is of (default: 5)")


def execute(args: argparse.Namespace) -> int:
    setup.setup()
    names = args.mixes or known_mixes()
    for name in names:
        if name not in known_mixes():
            raise BenchError(f"no messages of '{name}' here: it is one of {', '.join(known_mixes())}", 2)
    if args.repeat < 1:
        raise BenchError("--repeat is at least 1", 2)
    steps = Steps(paths.build_dir() / "egress.log")
    rows = [row for name in names for row in measure(program(), name, args.repeat, steps)]
    args.out.mkdir(parents=True, exist_ok=True)
    about = {**environment.describe([], []), "repeat": args.repeat}
    (args.out / "egress.json").write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
    (args.out / "egress.md").write_text(render(rows, about))
    print(args.out / "egress.md")
    return 0


def known_mixes() -> list[str]:
    return [MADE, *sorted(file.stem for file in _MIXES.glob("*.txt"))]


def program() -> Path:
    return paths.patched_library() / "tests" / "bench-stream-egress"


def measure(bench: Path, name: str, repeat: int, steps: Steps) -> list[Row]:
    mix = [] if name == MADE else ["--mix", str(_MIXES / f"{name}.txt")]
    counts = by_key(name, run(bench, [*mix, "--count-only"], steps))
    if counts != by_key(name, run(bench, [*mix, "--count-only"], steps)):
        raise BenchError(f"{name}: counts differ from one run to the next")
    speeds = [by_key(name, run(bench, mix, steps)) for _ in range(repeat)]
    return [{"mix": name, "transport": transport, "mode": mode, **{field: row[field] for field in _COUNTS},
             "instructions": instructions(bench, [*mix, "--mode", mode, "--transport", transport], steps),
             **{field: statistics.median(speed[key][field] for speed in speeds)
                for field in ("messages_per_second", "cpu_ns_per_message")}}
            for key, row in counts.items() for _, transport, mode in [key]]


def run(bench: Path, arguments: Sequence[str], steps: Steps) -> list[Row]:
    """What the benchmark says, a row for each mode over each transport."""
    lines = steps.run(f"egress {' '.join(arguments[1:2] or [MADE])}", [bench, *arguments], quiet=True)
    return [json.loads(line) for line in lines if line.startswith("{")]


def by_key(name: str, rows: Sequence[Row]) -> dict[Key, Row]:
    return {(name, row["transport"], row["mode"]): row for row in rows}


def instructions(bench: Path, arguments: Sequence[str], steps: Steps) -> int:
    """How many the messages take, TLS included, the kernel not."""
    valgrind = [proc.require("valgrind", "valgrind"), "--tool=callgrind", "--callgrind-out-file=/dev/null",
                "--toggle-collect=bench_send"]
    lines = steps.run("counting instructions", [*valgrind, bench, "--count-only", *arguments], quiet=True)
    found = _COLLECTED.search("\n".join(lines))
    if not found:
        raise BenchError(f"callgrind does not say how many instructions (log: {steps.log})")
    return int(found[1])


def render(rows: Sequence[Row], about: Row) -> str:
    lines = ["# The stream layer alone", "",
             "Made by `./run egress`. The messages of the display channel of each recording (8 000 from its middle; "
             f"`{MADE}`: small messages and ten images of 2 MB), through the layer, with nothing else around it. Writes, "
             "records and bytes are the same every time, instructions to 0.1 %; speeds are medians of "
             f"{about['repeat']}, over TCP on loopback. Overhead is bytes on the socket over those of the messages; `cork` "
             "is what upstream does today.", "",
             f"{about['system']}, kernel {about['kernel']}, {about['cpu']['count']} x {about['cpu']['model']}, "
             f"commit {about['git']['commit']}, library {about['library_tree'][:12]}", ""]
    for mix, transport in dict.fromkeys((row["mix"], row["transport"]) for row in rows):
        group = [row for row in rows if (row["mix"], row["transport"]) == (mix, transport)]
        normal = next(row for row in group if row["mode"] == "normal")
        size = normal["message_bytes"] / normal["messages"]
        lines += [f"## {mix}, {transport}", "", f"{table.count(normal['messages'])} messages of {table.count(size)} bytes",
                  "", table.markdown(_HEAD, [_cells(row, normal) for row in group]), ""]
    return "\n".join(lines)


def _cells(row: Row, normal: Row) -> list[str]:
    messages = row["messages"]
    return [row["mode"], table.count(row["messages_per_second"]),
            table.factor(row["messages_per_second"] / normal["messages_per_second"]),
            table.count(row["cpu_ns_per_message"]), table.count(row["instructions"] / messages),
            f"{row['writes'] / messages:.3f}",
            f"{row['records'] / messages:.3f}" if row["transport"] == "tls" else table.UNKNOWN,
            table.percent(row["written_bytes"] / row["message_bytes"] - 1)]
