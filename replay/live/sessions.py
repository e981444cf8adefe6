# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run live sessions N ...: the server's cost of N sessions at once on this machine. Each is a spice-player that
plays a part of a recording at its recorded pace, over TLS on loopback, to a client that only acks. One more
session draws probes, to measure latency beside the others."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.common import page as pages
from bench.common import paths, proc
from bench.common import table as tables
from bench.common.errors import BenchError
from bench.lab import certs, netns
from bench.measure import latency, usage
from bench.runs import runner, store
from bench.runs.runner import Outcome
from bench.runs.store import Case, Run
from clients import target
from live import cell, command, sets, ways
from live.ways import Way
from recordings import catalogue

NAME = "sessions"
RECORDING = "linux-desktop@15-30"
SECONDS = 10.0          # seconds that are measured, of the 15 of the recording
_PROBES = 100           # ms
_START = 120.0
_ROW_SECONDS = 45.0     # duration of a run, if none is known
_FIRST_PORT = 5900       # port, in a network namespace of its own
_MOST = 64


@dataclass(frozen=True)
class Used:
    """Resources used by a process so far."""

    cpu: float          # seconds
    wakes: int          # wake-ups of its threads
    memory: int         # resident memory in bytes


def used(process: Path) -> Used:
    """`process` is its folder in /proc."""
    _, cpu = usage.cpu(process)
    wakes = 0
    for task in (process / "task").iterdir():
        with contextlib.suppress(OSError):
            wakes += usage.status(task, "voluntary_ctxt_switches")
    return Used(cpu, wakes, usage.memory(process))


def table(runs: Sequence[Run]) -> str:
    """Medians of the sessions; `late`: p95 latency of the additional one, in ms, and `probes` the number that arrived in it."""
    def figure(name: str, written: Callable[[float], str]) -> Callable[[Run], str]:
        return lambda run: tables.UNKNOWN if run.figures[name] is None else written(run.figures[name])

    return tables.of(runs, (
        ("way", lambda run: run.case.mode), ("sessions", lambda run: run.case.what[1]),
        ("server CPU ms/s of each", figure("cpu", lambda cpu: f"{cpu * 1e3:.1f}")),
        ("wake-ups/s of each", figure("wakes", lambda wakes: f"{wakes:.0f}")),
        ("memory of each, MB", figure("memory", lambda memory: f"{memory / 1e6:.0f}")),
        ("sessions per core", figure("cpu", lambda cpu: f"{1 / cpu:.0f}" if cpu else tables.UNKNOWN)),
        ("latency p95, ms", figure("late", lambda late: f"{late:.1f}")), ("n", figure("probes", tables.count))), padded=False)


def page(kept: Sequence[Run]) -> str:
    """How many sessions fit one core: from the row with the most sessions of each way. Of each row the last run that counts."""
    runs = store.of_last_library(kept)
    rows = [run for run in store.latest(runs) if run.counts]
    most = {run.case.mode: run for run in sorted(rows, key=lambda run: int(run.case.what[1])) if run.figures["cpu"]}
    return pages.fill("live/sessions.md.j2", facts=store.facts(rows or runs), recording=RECORDING, seconds=SECONDS,
                      most=list(most.values()), table=table(rows), bad=[run for run in runs if not run.counts])


def measure(way: Way, count: int, recording: Path) -> Outcome:
    """Starts all players and clients, then measures a part of the time in which all play."""
    made = certs.kept(target.HOST)
    with netns.create() as where, contextlib.ExitStack() as open_:
        ports = itertools.count(_FIRST_PORT)

        def play(*more: str) -> tuple[proc.Process, str]:
            port = str(next(ports))
            argv = [str(paths.player()), *made.of_player(port), "--pace", "recorded", *more, str(recording)]
            return open_.enter_context(proc.Process("player", argv, where, way.environment())), port

        players, clients = [play() for _ in range(count)], []
        probing, its_port = play("--probe-every", str(_PROBES))
        for player, port in players:
            _until(player, "listening")
            clients.append(open_.enter_context(proc.Process("client", [sys.executable, "-m", "clients.drivers.counting", port, str(made.ca)], where)))
        for client in clients:          # starting Python costs more than a session
            _until(client, "ready")
        for client in clients:
            client.say("go")
        for client in clients:
            _until(client, "connected")
        _until(probing, "listening")
        argv = [str(paths.client()), "--host", target.HOST, *made.of_client(its_port)]
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
        return Outcome({
            "cpu": statistics.median((now.cpu - was.cpu) / seconds for was, now in zip(before, after)),
            "wakes": statistics.median((now.wakes - was.wakes) / seconds for was, now in zip(before, after)),
            "memory": int(statistics.median(now.memory for now in after)), **_late(_until(probing, "done"), _until(seeing, "done"))})


def _late(player: proc.Event, client: proc.Event) -> dict[str, Any]:
    found = latency.report(player.get("probes"), client.get("probes"))
    return {"late": None, "probes": 0} if found is None else {"late": found["p95"], "probes": found["received"]}


def _until(process: proc.Process, event: str) -> proc.Event:
    if found := process.wait_event(event, time.monotonic() + _START):
        return found
    raise BenchError(f"{process.name} did not report '{event}': {process.last_complaint()}")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Measures the server's CPU, wake-ups and memory per session, for so many sessions at once on this machine, "
                          "and the latency of one more. The sessions play a recording.")
    parser.add_argument("counts", nargs="*", type=int, default=[1, 8, 32], metavar="N", help=f"sessions at once, from 1 to {_MOST} (1 8 32)")
    command.options(parser)


def planned(args: argparse.Namespace) -> dict[Case, float]:
    """The runs and a guess of their seconds; raises BenchError, one line."""
    if not all(0 < count <= _MOST for count in args.counts):
        raise BenchError(f"N: numbers of sessions from 1 to {_MOST}", 2)
    wanted = [sets.case((NAME, str(count)), way, args) for count in args.counts for way in sets.of_spice(args.modes)]
    return dict.fromkeys(runner.rounds(wanted, args.repeat), _ROW_SECONDS)


def execute(args: argparse.Namespace) -> int:
    plan = runner.Plan("live/sessions.jsonl", planned(args), args.output, "sessions.md", page)
    if plan.only_told(args.dry_run):
        return 0
    with command.measuring(plan, with_guests=False):
        for program in (paths.player, paths.client):
            program()
        recording = catalogue.unpacked(catalogue.looked_into(catalogue.find(RECORDING)))
        shown = ways.titled((case.mode for case in plan.cases), args.library)
        runs = plan.perform(lambda case, _attempt: cell.watched(lambda: measure(shown[case.mode], int(case.what[1]), recording)), {},
                            lambda run: f"{run.figures['cpu'] * 1e3:.1f} ms/s of CPU per session")
    print(table([run for run in runs if run.counts]))
    return int(not all(run.counts for run in runs))
