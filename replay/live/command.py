# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run live: response time and cost at a real guest, in a closed loop."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps, alone
from bench.lab import links
from bench.runs import libraries, runner
from bench.runs.store import Case, Run
from bench.source import setup
from clients import packages
from guest import qemu
from live import cell, guests, page, sets, ways
from live.scenarios import SCENARIOS

NAME = "live"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Measures how long a user waits at a guest in QEMU: each action waits until the client shows the "
                          "result of the last one.")
    parser.add_argument("set", nargs="?", choices=sets.SETS, default="quick", metavar="SET",
                        help=f"what to measure: {', '.join(sets.SETS)} (quick); the options below replace parts of it")
    for option, says in (
            ("guests", f"{', '.join(guests.NAMES)}, {', '.join(guests.LARGE)}: text console, X desktop or sound, on a display device (std: VGA)"),
            ("scenarios", ", ".join(SCENARIOS)),
            ("links", "as for ./run compare; also with /ipv6, and 2M100ms+unix")):
        parser.add_argument(f"--{option}", metavar="LIST", help=says)
    options(parser, "stock, a mode (flow:catchup=off), vnc (QEMU's own); in a browser, by websockify: html5, html5-stock, novnc")
    qemu.configure(parser)
    parser.add_argument("--count", type=int, metavar="N", help="actions per run (6 to 100, by scenario and set)")


def options(parser: argparse.ArgumentParser, modes: str = "stock, or a mode: flow:catchup=off (stock,flow)") -> None:
    """Those of all commands that begin with live."""
    parser.add_argument("--modes", metavar="LIST", help=modes)
    parser.add_argument("--library", type=libraries.find, metavar="NAME", help="of all modes except stock, as for ./run compare (patched)")
    runner.options(parser, NAME)


@contextlib.contextmanager
def measuring(plan: runner.Plan, with_guests: bool = True) -> Iterator[Steps]:
    """One command at a time, with the packages of guests and a build of this tree."""
    if os.geteuid() != 0:
        raise BenchError("./run live needs root, for network namespaces")
    with alone(NAME):
        steps = Steps(paths.cache_dir() / NAME / "log")
        if with_guests:
            packages.install(steps)
        setup.current()
        plan.look()
        yield steps


def _says(run: Run) -> str:
    one = page.row([run])
    waited = "never shown" if one.median is None else f"{run.figures['figure']} {one.median:.3f} s (median of {one.waits})"
    return f"{waited}, {one.failed} failed, {run.figures['bytes'] / 1e6:.2f} MB"


def execute(args: argparse.Namespace) -> int:
    plan = runner.Plan("live/live.jsonl", sets.planned(args), args.output, "README.md", page.page)
    if plan.only_told(args.dry_run, " Besides, each guest boots once, in one or two minutes; the desktop is made before that, in five."):
        return 0
    with measuring(plan) as steps:
        shown = ways.titled((case.mode for case in plan.cases), args.library)
        made = {name: guests.prepare(name, steps) for name in dict.fromkeys(case.what[0] for case in plan.left)}

        def one(case: Case, _attempt: int) -> runner.Outcome:
            guest_name, scenario = case.what
            return cell.run(case, made[guest_name], SCENARIOS[scenario], shown[case.mode], links.find(case.link))

        runs = plan.perform(one, {"qemu": qemu.qemu_version()}, _says)
    return int(not all(run.counts for run in runs))
