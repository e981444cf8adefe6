# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run live: how long a person at a real guest waits, and what it costs, in a closed loop."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.build import setup, upstream
from bench.common import paths
from bench.common.alone import alone
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.lab import links
from bench.runs import environment
from clients import packages
from clients.machine import qemu_version
from live import cell, guests, page, sessions, ways
from live.cell import Plan, Record
from live.scenarios import SCENARIOS
from live.short import short

HOME = paths.OWN_RESULTS / "live"
_FILE = "live.json"
_OVERHEAD = 12.0        # seconds for each run: link, QEMU, client
_MOST_SESSIONS = 64
_TRIES = 2              # of a run that does not count


@dataclass(frozen=True)
class Chosen:
    """A set: what is measured if nothing else is said, and which part of each scenario's actions."""

    guests: tuple[str, ...]
    scenarios: tuple[str, ...]
    links: tuple[str, ...]
    ways: tuple[str, ...]
    part: float = 1.0


_ALL_LINKS = ("lan", "20M40ms", "2M100ms", "1M200ms", "wifi-lossy", "4g")
_THREE = ("stock", "flow", "vnc")
SETS = {
    "quick": Chosen(("text-std",), ("scroll", "page"), _ALL_LINKS[:3], _THREE, 0.2),
    "main": Chosen(("text-std", "desktop-std"), ("scroll", "page", "terminal", "web", "editor", "drag", "video"), _ALL_LINKS[:3], _THREE),
    "full": Chosen(guests.NAMES, tuple(SCENARIOS), _ALL_LINKS, ("stock", "batch", "flow", "flow:catchup=off", "vnc")),
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Works at a guest in QEMU (TCG) as a person does: each action waits until the client shows the last one. "
                          "Goes on where it was when interrupted. Needs root, x86_64, and few other programs at work.")
    parser.add_argument("--set", choices=SETS, default="quick", help="what to measure; the other options replace a part (%(default)s)")
    for option, metavar, says in (
            ("guests", "G,...", ", ".join(guests.NAMES)), ("scenarios", "S,...", ", ".join(SCENARIOS)),
            ("links", "L,...", "as ./run compare has them, or 20M/40ms"),
            ("ways", "W,...", "stock, another mode (flow:catchup=off), or vnc: QEMU's own server, TigerVNC's viewer")):
        parser.add_argument(f"--{option}", metavar=metavar, help=says)
    parser.add_argument("--library", type=Path, metavar="DIR", help="holds the libspice-server.so.1 of all modes but stock")
    parser.add_argument("--count", type=int, metavar="N", help="actions of each scenario (30 to 100; quick: a fifth)")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="runs of each cell (%(default)s)")
    parser.add_argument("--out", type=Path, default=HOME, metavar="DIR",
                        help="where runs are kept, and the page (results/own/live); with results/live it is published")
    parser.add_argument("--sessions", metavar="N,...", help="instead: what each of so many sessions at once costs the server (1,8,32)")
    parser.add_argument("--again", action="store_true", help="measure what is there already, too")
    parser.add_argument("--list", action="store_true", help="only say what would be measured, and how long it takes")


def _names(given: str | None, default: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in given.split(","))) if given else list(default)


def planned(args: argparse.Namespace) -> list[Plan]:
    """Rounds of all cells, so that what the machine does meanwhile meets all; raises BenchError, one line, for what there is not."""
    chosen = SETS[args.set]
    wanted = _names(args.guests, chosen.guests)
    played = _names(args.scenarios, chosen.scenarios)
    over = _names(args.links, chosen.links)
    shown = _names(args.ways, chosen.ways)
    for name in played:
        if name not in SCENARIOS:
            raise BenchError(f"unknown scenario '{name}': it is one of {', '.join(SCENARIOS)}", 2)
    for name in over:
        links.find(name)
    if args.repeat < 1 or args.count is not None and args.count < 1:
        raise BenchError("--repeat and --count are 1 or more", 2)
    plans = [Plan(guest, scenario, link, way, repeat) for repeat in range(1, args.repeat + 1) for guest in wanted
             for scenario in played if SCENARIOS[scenario].guest == guests.kind_of(guest) for link in over for way in shown]
    if not plans:
        raise BenchError("nothing to measure: no scenario chosen is for a guest chosen", 2)
    return plans


def count_of(args: argparse.Namespace, plan: Plan) -> int:
    return args.count or max(3, round(SCENARIOS[plan.scenario].count * SETS[args.set].part))


def seconds(plans: Sequence[Plan], args: argparse.Namespace) -> float:
    """About; a link that makes everybody wait takes longer."""
    return sum(_OVERHEAD + count_of(args, plan) * (SCENARIOS[plan.scenario].seconds + links.find(plan.link).full_round_trip)
               for plan in plans)


class Kept:
    """The runs of a folder, those that count and those that do not."""

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

    def add(self, plan: Plan, record: Record) -> None:
        if record["invalid"] is None:
            self.runs[plan.key] = record
        else:
            self.thrown_out.append(record)

    def write(self, facts: dict[str, Any]) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        part = self.file.with_suffix(".part")
        part.write_text(json.dumps({"facts": facts, "runs": self.runs, "thrown_out": self.thrown_out}, indent=1) + "\n")
        part.rename(self.file)
        (self.file.parent / "README.md").write_text(page.page(
            list(self.runs.values()), self.thrown_out, facts, short(self.runs.values())))


def _facts() -> dict[str, Any]:
    state = environment.git_state()
    return {"date": time.strftime("%Y-%m-%d", time.gmtime()), "qemu": qemu_version(), "release": upstream.DEFAULT,
            "machine": f"Linux {platform.release()}, {os.cpu_count()} processors", "processors": os.cpu_count() or 1,
            "tree": f"{str(state.get('commit') or 'an unknown commit')[:12]}{' with changes' if state.get('dirty') else ''}"}


def _say(record: Record, left: float) -> str:
    name = ", ".join(str(record[part]) for part in ("guest", "scenario", "link", "way"))
    if record["invalid"] is not None:
        return f"{name}: does not count: {record['invalid']}"
    one = page.row([record])
    waited = "never shown" if one.median is None else f"{record['figure']} {one.median:.3f} s (median of {one.waits})"
    return f"{name}: {waited}, {one.failed} failed, {record['bytes'] / 1e6:.2f} MB; about {left / 60:.0f} minutes left"


def sessions_of(args: argparse.Namespace) -> list[tuple[str, int]]:
    """Ways and how many at once; raises BenchError, one line."""
    counts = _names(args.sessions, ())
    if not all(count.isdecimal() and 0 < int(count) <= _MOST_SESSIONS for count in counts):
        raise BenchError(f"--sessions: numbers from 1 to {_MOST_SESSIONS}, with commas", 2)
    shown = _names(args.ways, ("stock", "flow"))
    if ways.VNC in shown:
        raise BenchError("--sessions: recordings are not shown by VNC", 2)
    return [(way, int(count)) for count in counts for way in shown]


def _scale(args: argparse.Namespace) -> int:
    wanted = sessions_of(args)
    if paths.build_is_ours():
        setup.setup()
    folder = args.library.resolve() if args.library else None
    shown = {name: ways.find(name, folder) for name, _ in wanted}
    text = sessions.table([sessions.measure(shown[name], count) for name, count in wanted])
    args.out.mkdir(parents=True, exist_ok=True)
    facts = _facts()
    (args.out / "sessions.md").write_text(
        f"# Sessions at once\n\nWritten by `./run live --sessions`, {facts['date']}, {facts['machine']}, spice-server {facts['release']} from "
        f"{facts['tree']}: {sessions.RECORDING} at recorded pace over TLS on loopback, medians of the sessions, 12 s. Memory holds the "
        f"recording as well. Clients only acknowledge and are not counted.\n\n{text}\n")
    print(text)
    return 0


def execute(args: argparse.Namespace) -> int:
    if args.sessions is not None:
        with alone("live"):
            return _scale(args)
    plans = planned(args)
    if args.list:
        for plan in plans:
            print(f"{plan.key}: {count_of(args, plan)} actions")
        print(f"{len(plans)} runs, some {seconds(plans, args) / 60:.0f} minutes")
        return 0
    if os.geteuid() != 0:
        raise BenchError("./run live needs root, for network namespaces")
    with alone("live"):
        return _measure(args, plans)


def _measure(args: argparse.Namespace, plans: Sequence[Plan]) -> int:
    steps = Steps(paths.cache_dir() / "live" / "log")
    packages.install(steps)
    if paths.build_is_ours():
        setup.setup()
    folder = args.library.resolve() if args.library else None
    shown = {name: ways.find(name, folder) for name in dict.fromkeys(plan.way for plan in plans)}
    plans = [Plan(plan.guest, plan.scenario, plan.link, shown[plan.way].name, plan.repeat) for plan in plans]
    by_name = {way.name: way for way in shown.values()}
    kept = Kept(args.out)
    left = [plan for plan in plans if args.again or plan.key not in kept.runs]
    made = {name: guests.prepare(name, steps) for name in dict.fromkeys(plan.guest for plan in left)}
    facts, failed = _facts(), 0
    for number, plan in enumerate(left):
        for _ in range(_TRIES):
            record = cell.run(plan, made[plan.guest], SCENARIOS[plan.scenario], by_name[plan.way], links.find(plan.link),
                              count_of(args, plan))
            kept.add(plan, record)
            kept.write(facts)
            steps.say(_say(record, seconds(left[number + 1:], args)))
            if record["invalid"] is None:
                break
        else:
            failed += 1
    kept.write(facts)
    print(f"{args.out / 'README.md'}: {len(left) - failed} runs measured, {len(plans) - len(left)} were there, {failed} do not count")
    return 1 if failed else 0
