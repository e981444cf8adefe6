# SPDX-License-Identifier: LGPL-2.1-or-later
"""The sets of runs, and their expected duration."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.common import lists
from bench.common.errors import BenchError
from bench.lab import links
from bench.runs import runner
from bench.runs.store import Case
from live import guests, ways
from live.scenarios import SCENARIOS

_OVERHEAD = {guests.TEXT: 11.0, guests.SOUND: 13.0, guests.DESKTOP: 14.0}   # seconds per run: link, QEMU, client, preparation
_WAITED = 2     # estimated round trips per action, if no run is known


@dataclass(frozen=True)
class Part:
    """Runs each scenario at each guest that it is for, over each link, in each way, with so many actions at most."""

    guests: tuple[str, ...]
    scenarios: tuple[str, ...]
    links: tuple[str, ...]
    ways: tuple[str, ...]
    most: int = 100


_TEXT, _DESKTOP = ("text-std",), ("desktop-std",)
_THREE = ("stock", "flow", "vnc")
_OTHERS = ("batch", "flow:catchup=off")
_NEAR = ("lan", "20M40ms", "2M100ms")
_FAR = ("1M200ms", "wifi-lossy", "4g")
_EDGES = ("300M/50ms", "256k/300ms", "20M:4M/40ms", "20M/40ms/mtu1280", "20M/40ms/mtu1380", "20M/40ms/ipv6", "20M/40ms/queue2s",
          "2M100ms+unix", "2M100ms+relay")
_OFFICE = ("web", "editor", "drag", "terminal")


def _everything(ways: tuple[str, ...], stops: int) -> tuple[Part, ...]:
    """All scenarios over each link; `stops`: repeats of those in which the guest draws by itself, as each takes seconds."""
    return (Part(_TEXT, ("page", "type"), (*_NEAR, *_FAR), ways, 20), Part(_DESKTOP, _OFFICE, (*_NEAR, *_FAR), ways, 20),
            Part(_TEXT, ("scroll",), (*_NEAR, *_FAR), ways, stops), Part(_DESKTOP, ("video",), (*_NEAR, *_FAR), ways, stops // 2))


# README.md's: its link first, as it may be interrupted; a p95 of 100 actions there, of 20 stops where the guest draws by itself.
# 55 minutes, or 35 if only this library's rows are due
_FRONT = (Part(_TEXT, ("page", "type"), _NEAR[1:2], _THREE), Part(_DESKTOP, ("web", "editor", "drag"), _NEAR[1:2], _THREE),
          Part(_TEXT, ("scroll",), _NEAR[1:2], _THREE, 20), Part(_DESKTOP, ("video",), _NEAR[1:2], _THREE, 20),
          Part(_TEXT, ("page", "type", "scroll"), ("2M100ms", "lan"), _THREE, 20),
          Part(_DESKTOP, ("web", "editor", "drag"), _NEAR[2:], _THREE, 20))

SETS: dict[str, tuple[Part, ...]] = {
    "quick": (Part(_TEXT, ("scroll",), _NEAR, _THREE, 6), Part(_TEXT, ("page",), _NEAR, _THREE, 20)),
    "front": _FRONT,
    # 140 minutes: front, sound, the other links, scenarios and guests, and over each link a p95 of 100 actions
    "main": (*_FRONT, Part(("sound-std",), ("sound",), _NEAR, ("stock", "flow"), 10),
             Part(_TEXT, ("page",), (*_NEAR, *_FAR), _THREE), *_everything(_THREE, 6),
             Part(_TEXT, ("page",), _NEAR[1:2], ("html5-stock", "html5", "novnc"), 30),
             Part(("desktop-qxl", "desktop-virtio"), ("web", "editor"), _NEAR[1:2], _THREE, 20)),
    # an hour: the ways that main leaves out
    "ways": _everything(_OTHERS, 4),
    # half an hour
    "edges": (Part(_TEXT, ("scroll", "page"), _EDGES, ("stock", "flow"), 10),),
    "full": (Part(guests.NAMES, tuple(SCENARIOS), (*_NEAR, *_FAR), (*_THREE, *_OTHERS)),),
}


def of_spice(given: str | None) -> list[str]:
    """The modes of a command that has neither VNC nor browsers."""
    shown = lists.read(given, ("stock", "flow"), "mode")
    if ways.VNC in shown or any(name in ways.BROWSERS for name in shown):
        raise BenchError("VNC and browsers are for ./run live alone: leave them out of --modes", 2)
    for name in shown:
        ways.check(name)
    return shown


def case(what: Sequence[str], way: str, args: argparse.Namespace, **more: Any) -> Case:
    """What a run of that way measures: of this tree's library, or of the one that was named."""
    title = ways.title(way, args.library)
    return Case(tuple(what), title, ours=ways.of_tree(title), **more)


def _of(part: Part, args: argparse.Namespace) -> Iterable[tuple[Case, int]]:
    shown = lists.read(args.modes, part.ways, "mode")
    for way in shown:
        ways.check(way)
    over = [links.find(name).name for name in lists.read(args.links, part.links, "link")]
    played = lists.read(args.scenarios, part.scenarios, "scenario", SCENARIOS)
    for guest in lists.read(args.guests, part.guests, "guest"):
        kind = guests.kind_of(guest)
        for scenario in (SCENARIOS[name] for name in played if SCENARIOS[name].guest == kind):
            for link in over:
                for way in (way for way in shown if way not in scenario.not_by):
                    yield (case((guests.named(guest, args.accel), scenario.name), way, args, link=link),
                           args.count or min(scenario.count, part.most))


def _guess(one: Case) -> float:
    """Seconds, if no run is known."""
    guest, scenario = one.what
    return _OVERHEAD[guests.kind_of(guest)] + one.count * (SCENARIOS[scenario].seconds + _WAITED * links.find(one.link).full_round_trip)


def planned(args: argparse.Namespace) -> dict[Case, float]:
    """The runs, round by round, so that changes of the machine affect all, each with a guess of its seconds; raises BenchError, one line,
    for an unknown name."""
    if args.count is not None and args.count < 1:
        raise BenchError("--count must be at least 1", 2)
    found: dict[Case, int] = {}
    for part in SETS[args.set]:
        for one, count in _of(part, args):
            found[one] = max(count, found.get(one, 0))
    if not found:
        raise BenchError("nothing to measure: no chosen scenario suits a chosen guest and mode", 2)
    return {made: _guess(made) for made in runner.rounds([replace(one, count=count) for one, count in found.items()], args.repeat)}
