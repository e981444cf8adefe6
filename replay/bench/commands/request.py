# SPDX-License-Identifier: LGPL-2.1-or-later
"""The options of ./run compare: checks them before anything is built, and makes cells of them, one per row to
measure."""

from __future__ import annotations

import argparse
import textwrap
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.common import lists
from bench.common.errors import BenchError
from bench.lab import links
from bench.runs import atonce, conditions, libraries, modes, runspec
from bench.runs.conditions import Conditions
from bench.runs.runspec import RunSpec
from recordings import catalogue

NEWCOMER = "vga-text-boot"
NEWCOMER_PACED = "linux-desktop@30-38"      # at the pace it was recorded
QUICK_MODES = [modes.STOCK, "batch", "flow"]
_QUICK_REPEATS = 2           # repeats: one for packets, one for times
_REPEATS = 10
_PROBE_EVERY = 100          # ms, at paces that measure latency
_PAUSES = 3
_WIDTH = 136        # of lines in --help


def _epilog() -> str:
    """What the lists are of."""
    named, more = ("\n".join(textwrap.wrap(one, _WIDTH, subsequent_indent="  ")) for one in (
        f"links: {', '.join(links.LINKS)}", f"with: {'; '.join(conditions.forms())}"))
    return "\n".join([
        named, "  20M/40ms/1% (loss), 20M:4M/40ms/mtu1280/queue2s (rate up, MTU, queue)",
        "  20M/40ms@10s:1M@15s:out@20s:20M (changes, in seconds after the session begins; out: every packet is lost)",
        f"  20M40ms{links.RELAY} (through a TCP relay beside the server, as spiceproxy or ssh -L)",
        "paces: max, as fast as the server takes it; recorded, open loop (latency, staleness); user, closed loop (response time)", more])


def configure(parser: argparse.ArgumentParser) -> None:
    what = parser.add_argument_group("what is played, and how often")
    what.add_argument("recordings", metavar="RECORDING", nargs="*",
                      help="name of a shipped recording, or a path; NAME@20-35 plays only seconds 20 to 35")
    what.add_argument("--modes", metavar="LIST", help=f"{','.join(modes.MODES)}; settings after a colon: gather:threshold=64")
    what.add_argument("--transports", metavar="LIST", help="plain,tls (default: both)")
    what.add_argument("--links", metavar="LIST", help="a name, or rate/round trip: 20M/40ms; see below (default: lan)")
    what.add_argument("--pace", metavar="LIST", help="max (default), recorded, a number (2: twice the recorded speed), user; see below")
    what.add_argument("--repeat", metavar="N", type=int, help=f"runs per row (default {_QUICK_REPEATS}; {_REPEATS} if --modes and a "
                     "recording are named)")
    what.add_argument("--jobs", metavar="N", type=int, default=1, help="number of runs at the same time, if they mostly wait for their link "
                     "(default %(default)s)")
    what.add_argument("--library", metavar="NAME", action="append",
                      help="stock, patched (also stock@0.16.0), git:REVISION, or a directory with its .so.1; twice: for ./run diff to compare")
    what.add_argument("--with", metavar="LIST", dest="conditions", default="",
                      help="conditions, such as tls=1.2,beside-download; see below")
    parser.epilog = _epilog()


@dataclass(frozen=True)
class Request:
    recordings: list[catalogue.Recording]
    modes: list[str]
    modes_named: bool = False
    libraries: list[str] | None = None
    transports: list[str] = field(default_factory=lambda: list(runspec.TRANSPORTS))
    links: list[links.Link] = field(default_factory=lambda: [links.LINKS["lan"]])
    paces: list[str] = field(default_factory=lambda: ["max"])
    repeats: int = 1
    jobs: int = 1
    conditions: Conditions = field(default_factory=Conditions)
    keep: Path | None = None        # the folder for captures and traces
    first_look: bool = False        # nothing was named: the last recording is for the recorded pace


def _paces(text: str | None) -> list[str]:
    names = lists.read(text, ["max"], "pace")
    for name in names:
        try:
            good = name in ("max", "recorded", "user") or 0 < float(name) < 1000
        except ValueError:
            good = False
        if not good:
            raise BenchError(f"unknown pace '{name}': choose max, recorded, user or a factor such as 2", 2)
    return names


def _links(text: str | None) -> list[links.Link]:
    found = list(dict.fromkeys(map(links.find, lists.read(text, ["lan"], "link"))))
    if any(link.ipv6 or link.unix for link in found):
        raise BenchError("./run compare has no IPv6 and no Unix sockets: use ./run live for such a link", 2)
    return found


def _repeats(args: argparse.Namespace) -> int:
    if args.repeat is None:
        return _REPEATS if args.modes and args.recordings else _QUICK_REPEATS
    return int(args.repeat)


def _is_first_look(args: argparse.Namespace) -> bool:
    return not (args.recordings or args.pace or args.links)


def _recordings(args: argparse.Namespace) -> list[catalogue.Recording]:
    found = [catalogue.find(name) for name in args.recordings or
             ([NEWCOMER, NEWCOMER_PACED] if _is_first_look(args) else [NEWCOMER])]
    if len({one.name for one in found}) < len(found):
        raise BenchError("two recordings have the same name: rename one file", 2)
    return found


def read(args: argparse.Namespace) -> Request:
    if args.repeat is not None and args.repeat < 1:
        raise BenchError("--repeat must be at least 1", 2)
    if not 1 <= args.jobs <= atonce.MOST:
        raise BenchError(f"--jobs must be from 1 to {atonce.MOST}", 2)
    for name in args.library or []:
        if name not in (libraries.STOCK, libraries.PATCHED) and not name.startswith(libraries.REVISION):
            libraries.find(name)
    return Request(
        recordings=_recordings(args), modes=[modes.check(name) for name in lists.read(args.modes, QUICK_MODES, "mode")],
        modes_named=args.modes is not None, libraries=args.library,
        transports=lists.read(args.transports, runspec.TRANSPORTS, "transport", runspec.TRANSPORTS),
        links=_links(args.links), paces=_paces(args.pace),
        repeats=_repeats(args), jobs=args.jobs, conditions=Conditions.read(args.conditions),
        keep=getattr(args, "keep", None), first_look=_is_first_look(args))


def rows(request: Request) -> list[tuple[libraries.Library, str]]:
    """The libraries and modes to play. A library without modes has the one row `stock`. The patched library has no such row, so
    there `stock` means the unpatched build."""
    names = request.modes
    if request.libraries is None:
        return [(libraries.of_mode(name), name) for name in names]
    found: list[tuple[libraries.Library, str]] = []
    for wanted in dict.fromkeys(request.libraries):
        library = libraries.find(wanted)
        if library.patched:
            found += [(library, name) for name in names if name != modes.STOCK]
        elif request.modes_named and modes.STOCK not in names:
            raise BenchError(f"library {wanted} is not patched, so it has no mode {', '.join(names)}", 2)
        else:
            found.append((library, modes.STOCK))
    if not found:
        raise BenchError("the patched library has no mode 'stock': choose another one with --modes", 2)
    return found


def _pause_at(recording: catalogue.Recording, pace: str) -> tuple[int, ...]:
    """Evenly spread over the recording; only at pace max, as a pause would disturb the times of what follows."""
    pauses = _PAUSES if pace == "max" and recording.commands else 0
    places = {(recording.commands or 0) * part // (pauses + 1) for part in range(1, pauses + 1)}
    return tuple(sorted(places - {0}))      # fewer in a recording of few commands


def _conditions(asked: Conditions, pace: str) -> dict[str, Any]:
    """With what is good for the pace where nothing was asked for. What is taken for video depends on how often a picture changes.
    At pace max that says nothing of the session and differs from run to run, so there it is off; else it is as the
    player has it. Latency says nothing there, either."""
    fast = pace == "max"
    return {**asked.kept(), "streaming": asked.streaming or ("off" if fast else None),
            "probe_every": None if fast or pace == "user" else _PROBE_EVERY}


def cells(request: Request) -> list[RunSpec]:
    """One spec per row to measure. First look: one recording at pace max, and one at recorded pace over the last transport."""
    if not request.first_look:
        return _product(request)
    fast, paced = request.recordings
    return [*_product(replace(request, recordings=[fast])),
            *_product(replace(request, recordings=[paced], paces=["recorded"], transports=request.transports[-1:]))]


def _product(request: Request) -> list[RunSpec]:
    return [RunSpec(
        recording=recording, library=library, mode=mode, transport=transport, link=link, pace=pace,
        pause_at=_pause_at(recording, pace), keep=request.keep, **_conditions(request.conditions, pace))
        for recording in request.recordings for link in request.links for pace in request.paces
        for transport in request.transports for library, mode in rows(request)]
