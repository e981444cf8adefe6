# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run live: response time and cost at a real guest, in a closed loop."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.common import atomic, commit, paths
from bench.common.alone import alone
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.lab import links
from bench.runs import environment, libraries
from bench.source import setup, upstream
from clients import packages
from guest import qemu
from live import cell, guests, page, sets, ways
from live.cell import Plan, Record
from live.scenarios import SCENARIOS

HOME = paths.OWN_RESULTS / "live"
PUBLISHED = paths.ROOT / "results" / "live"
_FILE = "live.json"
_TRIES = 2              # tries of a run that does not count


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Measures how long a user waits at a guest in QEMU: each action waits until the client shows the "
                          "result of the last one. Skips the runs that --output has, so an interrupted command resumes.")
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
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="runs per row (%(default)s)")


def options(parser: argparse.ArgumentParser, modes: str = "stock, or a mode: flow:catchup=off (stock,flow)") -> None:
    """Those of all commands that begin with live."""
    parser.add_argument("--modes", metavar="LIST", help=modes)
    parser.add_argument("--library", type=Path, metavar="DIR", help="directory with the libspice-server.so.1 for all modes except stock")
    parser.add_argument("--output", dest="out", type=Path, default=HOME, metavar="DIR",
                        help="for runs and page (results/own/live); results/live publishes them")
    parser.add_argument("--dry-run", action="store_true", help="list what is left and the estimated time, measure nothing")


class Kept:
    """The runs in a folder, valid and invalid."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / _FILE
        self.runs: dict[str, Record] = {}
        self.thrown_out: list[Record] = []
        if self.file.exists():
            try:
                told = json.loads(self.file.read_text())
                self.runs, self.thrown_out = told["runs"], told["thrown_out"]
            except (ValueError, KeyError, TypeError):
                raise BenchError(f"{self.file} is damaged: remove it") from None

    def left(self, plans: Mapping[Plan, int], library: str) -> dict[Plan, int]:
        """The runs that are missing, have fewer actions than wanted, or show another state of this tree's library. Those of stock
        and VNC stay valid when `library` changes."""
        def there(plan: Plan, count: int) -> bool:
            run = self.runs.get(plan.key)
            return run is not None and run["count"] >= count and (not ways.of_tree(plan.way) or run.get("library") == library)

        return {plan: count for plan, count in plans.items() if not there(plan, count)}

    def add(self, plan: Plan, record: Record) -> None:
        if record["invalid"] is None:
            self.runs[plan.key] = record
        else:
            self.thrown_out.append(record)

    def write(self, facts: dict[str, Any]) -> None:
        """Writes the file with today's `facts`, which name the trees of earlier runs, too."""
        trees = dict.fromkeys([*(run["tree"] for run in self.runs.values() if "tree" in run), facts["tree"]])
        facts = {**facts, "tree": ", ".join(trees)}
        atomic.write_text(self.file, json.dumps({"facts": facts, "runs": self.runs, "thrown_out": self.thrown_out}, indent=1) + "\n")
        atomic.write_text(self.file.parent / "README.md", page.page(list(self.runs.values()), self.thrown_out, facts))


def facts() -> dict[str, Any]:
    state = commit.state()
    return {"date": time.strftime("%Y-%m-%d", time.gmtime()), "qemu": qemu.qemu_version(), "release": upstream.DEFAULT,
            "machine": f"Linux {platform.release()}, {os.cpu_count()} processors", "processors": os.cpu_count() or 1,
            "tree": f"{str(state.get('commit') or 'an unknown commit')[:12]}{' with changes' if state.get('dirty') else ''}"}


def _library() -> str:
    """The state of this tree's library, as in the pages of ./run compare."""
    return environment.library_tree()[:12]


def _titled(plans: Mapping[Plan, int], folder: Path | None) -> dict[Plan, int]:
    return {replace(plan, way=ways.title(plan.way, folder)): count for plan, count in plans.items()}


def _say(record: Record, left: float) -> str:
    name = ", ".join(str(record[part]) for part in ("guest", "scenario", "link", "way"))
    if record["invalid"] is not None:
        return f"{name}: does not count: {record['invalid']}"
    one = page.row([record])
    waited = "never shown" if one.median is None else f"{record['figure']} {one.median:.3f} s (median of {one.waits})"
    return f"{name}: {waited}, {one.failed} failed, {record['bytes'] / 1e6:.2f} MB; about {left / 60:.0f} minutes left"


@contextlib.contextmanager
def measuring() -> Iterator[None]:
    if os.geteuid() != 0:
        raise BenchError("./run live needs root, for network namespaces")
    with alone("live"):
        yield


def _say_how_long(left: Mapping[Plan, int], there: int, known: Sequence[Record]) -> str:
    minutes = sets.seconds(left, known) / 60
    return (f"{len(left)} runs, some {minutes:.0f} minutes on a quiet machine{f'; {there} are there already' if there else ''}. Besides, "
            "each guest boots once, in one or two minutes; the desktop is made before that, in five.")


def execute(args: argparse.Namespace) -> int:
    plans = sets.planned(args)
    if args.library:
        libraries.find(str(args.library.resolve()))
    if not args.dry_run:
        atomic.require(args.out)
    if args.dry_run:
        kept, plans = Kept(args.out), _titled(plans, args.library and args.library.resolve())
        left = kept.left(plans, _library())
        for plan, count in left.items():
            print(f"{plan.key}: {count} actions")
        print(_say_how_long(left, len(plans) - len(left), _known(kept)))
        return 0
    with measuring():
        return _measure(args, plans)


def _known(kept: Kept) -> list[Record]:
    """Runs that show how long an action takes: the published ones, and those of this machine."""
    return [*Kept(PUBLISHED).runs.values(), *kept.runs.values()]


def _measure(args: argparse.Namespace, plans: Mapping[Plan, int]) -> int:
    steps = Steps(paths.cache_dir() / "live" / "log")
    packages.install(steps)
    if paths.build_is_ours():
        setup.setup()
    folder = args.library.resolve() if args.library else None
    shown = {name: ways.find(name, folder) for name in dict.fromkeys(plan.way for plan in plans)}
    plans = _titled(plans, folder)
    by_name = {way.name: way for way in shown.values()}
    kept, library = Kept(args.out), _library()
    left = kept.left(plans, library)
    steps.say(_say_how_long(left, len(plans) - len(left), _known(kept)))
    made = {name: guests.prepare(name, steps) for name in dict.fromkeys(plan.guest for plan in left)}
    today, failed, todo = facts(), 0, dict(left)
    for plan, count in left.items():
        del todo[plan]
        for _ in range(_TRIES):
            record = cell.run(plan, made[plan.guest], SCENARIOS[plan.scenario], by_name[plan.way], links.find(plan.link), count)
            kept.add(plan, {**record, "tree": today["tree"], **({"library": library} if ways.of_tree(plan.way) else {})})
            kept.write(today)
            steps.say(_say(record, sets.seconds(todo, _known(kept))))
            if record["invalid"] is None:
                break
        else:
            failed += 1
    kept.write(today)
    print(f"{args.out / 'README.md'}: {len(left) - failed} runs measured, {len(plans) - len(left)} were there, {failed} do not count")
    return 1 if failed else 0
