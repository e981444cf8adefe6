# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run live sessions N ...: the server's cost of N sessions at once on this machine. Each is a spice-player that
plays a part of a recording at its recorded pace, over TLS on loopback, to a client that only acks. One more
session draws probes, to measure latency beside the others."""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.common import atomic, paths, proc
from bench.common import page as pages
from bench.common import table as tables
from bench.common.errors import BenchError
from bench.lab import certs, netns
from bench.measure import latency
from bench.source import setup
from clients import target
from live import cell, command, sets, ways
from live.ways import Way
from recordings import catalogue

RECORDING = "linux-desktop@15-30"
SECONDS = 10.0          # seconds that are measured, of the 15 of the recording
_PROBES = 100           # ms
_START = 120.0
_FIRST_PORT = 5900       # port, in a network namespace of its own
_MOST = 64
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Used:
    """Resources used by a process so far."""

    cpu: float          # seconds
    wakes: int          # wake-ups of its threads
    memory: int         # resident memory in bytes


def used(process: Path) -> Used:
    """`process` is its folder in /proc."""
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    wakes = memory = 0
    for task in (process / "task").iterdir():
        with contextlib.suppress(OSError):
            wakes += int(_field(task / "status", "voluntary_ctxt_switches"))
    memory = int(_field(process / "status", "VmRSS").split()[0]) * 1024
    return Used((int(fields[11]) + int(fields[12])) / _TICKS, wakes, memory)


def _field(file: Path, name: str) -> str:
    return next((line.partition(":")[2] for line in file.read_text().splitlines() if line.startswith(f"{name}:")), "0")


@dataclass(frozen=True)
class Row:
    """Medians of the sessions."""

    way: str
    sessions: int
    cpu: float          # CPU seconds per second of a session
    wakes: float        # per second
    memory: int         # bytes
    late: float | None  # ms: p95 latency of the additional session
    probes: int | None = 0      # the number that arrived in it


def table(rows: Sequence[Row]) -> str:
    return tables.of(rows, (
        ("way", lambda row: row.way), ("sessions", lambda row: str(row.sessions)), ("server CPU ms/s of each", lambda row: f"{row.cpu * 1e3:.1f}"),
        ("wake-ups/s of each", lambda row: f"{row.wakes:.0f}"), ("memory of each, MB", lambda row: f"{row.memory / 1e6:.0f}"),
        ("sessions per core", lambda row: f"{1 / row.cpu:.0f}" if row.cpu else tables.UNKNOWN),
        ("latency p95, ms", lambda row: tables.UNKNOWN if row.late is None else f"{row.late:.1f}"),
        ("n", lambda row: tables.count(row.probes))), padded=False)


def page(rows: Sequence[Row], facts: Mapping[str, Any]) -> str:
    """How many sessions fit one core: from the row with the most sessions of each way."""
    most = {row.way: row for row in sorted(rows, key=lambda row: row.sessions) if row.cpu}
    return pages.fill("live/sessions.md.j2", facts=facts, recording=RECORDING, seconds=SECONDS, most=list(most.values()), table=table(rows))


def measure(way: Way, count: int) -> Row:
    """Starts all players and clients, then measures a part of the time in which all play."""
    recording = catalogue.unpacked(catalogue.looked_into(catalogue.find(RECORDING)))
    made = certs.kept(target.HOST)
    with netns.create() as where, contextlib.ExitStack() as open_:
        ports = itertools.count(_FIRST_PORT)

        def play(*more: str) -> tuple[proc.Process, str]:
            port = str(next(ports))
            argv = [str(paths.player()), "--tls-port", port, "--tls-cert", str(made.certificate), "--tls-key", str(made.key),
                    "--tls-ca", str(made.ca), "--pace", "recorded", *more, str(recording)]
            return open_.enter_context(proc.Process("player", argv, where, way.environment())), port

        players, clients = [play() for _ in range(count)], []
        probing, its_port = play("--probe-every", str(_PROBES))
        for player, port in players:
            _until(player, "listening")
            clients.append(open_.enter_context(proc.Process("client", [sys.executable, "-m", "live.acks", port, str(made.ca)], where)))
        for client in clients:          # starting Python costs more than a session
            _until(client, "ready")
        for client in clients:
            client.say("go")
        for client in clients:
            _until(client, "connected")
        _until(probing, "listening")
        argv = [str(paths.client()), "--host", target.HOST, "--tls-port", its_port, "--ca", str(made.ca)]
        seeing = open_.enter_context(proc.Process("client", argv, where))
        _until(seeing, "connected")
        folders = [Path(f"/proc/{player.pid}") for player, _ in players]
        before, began = [used(folder) for folder in folders], time.monotonic()
        time.sleep(SECONDS)
        try:
            after, seconds = [used(folder) for folder in folders], time.monotonic() - began
        except OSError:
            raise BenchError("a player ended too early: run it again") from None
        if any(player.wait_event("done", 0) for player, _ in players):
            raise BenchError(f"{count} sessions are too many for this machine, as some ended before all had begun: give fewer")
        return Row(way.name, count, statistics.median((now.cpu - was.cpu) / seconds for was, now in zip(before, after)),
                   statistics.median((now.wakes - was.wakes) / seconds for was, now in zip(before, after)),
                   int(statistics.median(now.memory for now in after)),
                   *_late(_until(probing, "done"), _until(seeing, "done")))


def _late(player: proc.Event, client: proc.Event) -> tuple[float | None, int]:
    found = latency.report(player.get("probes"), client.get("probes"))
    return (None, 0) if found is None else (found["p95"], found["received"])


def _until(process: proc.Process, event: str) -> proc.Event:
    if found := process.wait_event(event, time.monotonic() + _START):
        return found
    raise BenchError(f"{process.name} did not report '{event}': {process.last_complaint()}")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Measures the server's CPU, wake-ups and memory per session, for so many sessions at once on this machine, "
                          "and the latency of one more. The sessions play a recording.")
    parser.add_argument("counts", nargs="*", type=int, default=[1, 8, 32], metavar="N", help=f"sessions at once, from 1 to {_MOST} (1 8 32)")
    command.options(parser)


def planned(args: argparse.Namespace) -> list[tuple[str, int]]:
    """Ways and numbers of sessions; raises BenchError, one line."""
    if not all(0 < count <= _MOST for count in args.counts):
        raise BenchError(f"N: numbers of sessions from 1 to {_MOST}", 2)
    return [(way, count) for count in args.counts for way in sets.of_spice(args.modes)]


def _quietly(name: str, count: int, measured: Callable[[], Row]) -> Row:
    """The row; raises BenchError if the host took more of the processors than in a run that counts."""
    row, stolen = cell.watched(measured)
    if reason := cell.too_much(stolen):
        raise BenchError(f"{name}, {count} sessions: {reason}: run it again")
    return row


def execute(args: argparse.Namespace) -> int:
    wanted = planned(args)
    if args.dry_run:
        print(f"{len(wanted)} rows, half a minute to a minute each")
        return 0
    atomic.require(args.out)
    with command.measuring():
        if paths.build_is_ours():
            setup.setup()
        shown = {name: ways.find(name, args.library and args.library.resolve()) for name, _ in wanted}
        rows = [_quietly(name, count, functools.partial(measure, shown[name], count)) for name, count in wanted]
    facts = command.facts()
    atomic.write_text(args.out / "sessions.json", json.dumps({"facts": facts, "rows": [asdict(row) for row in rows]}, indent=1) + "\n")
    atomic.write_text(args.out / "sessions.md", page(rows, facts))
    print(table(rows))
    return 0
