# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the command line of ./run compare asks for: checked as far as it can be before anything is built, then turned
into cells, one for each thing to measure."""

from __future__ import annotations

import argparse
import fnmatch
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.common.errors import BenchError
from bench.lab import certs, lab, links
from bench.measure import channels
from bench.runs import atonce, libraries, modes, recordings, runspec
from bench.runs.conditions import Conditions
from bench.runs.runspec import RunSpec

NEWCOMER = "vga-text-boot"
NEWCOMER_PACED = "linux-desktop@30-38"      # at the pace it was recorded
QUICK_MODES = [modes.STOCK, "batch", "flow"]
KEEP_PCAP, KEEP_TRACE = Path("pcap"), Path("trace")     # where they go if nobody says
_QUICK_REPEATS = 2           # one for packets, one for times
_REPEATS = 10
_ALL_REPEATS = 3
_PROBE_EVERY = 100          # ms, where latency is what a pace is for
_PAUSES = 3
WIDTH = 136        # of lines in --help
_WAYS: dict[str, Callable[[links.Link], links.Link]] = {"direct": lambda link: link, "relay": links.via_relay}


def _epilog() -> str:
    """What the lists of links and paces are of."""
    links_named = textwrap.wrap(f"links: {', '.join(links.LINKS)}", WIDTH, subsequent_indent="  ")
    return "\n".join([
        *links_named, "  20M/40ms/1% (loss), 20M:4M/40ms/mtu1280/queue2s (rate up, MTU, queue), host:USER@HOST (client on that machine, by ssh)",
        "  20M/40ms@10s:1M@15s:out@20s:20M (changes, in seconds after the session begins; out: every packet is lost)",
        "paces: max, as fast as the server takes it; recorded, open loop (latency, staleness); user, closed loop (response time)"])


def configure(parser: argparse.ArgumentParser, whole: bool = True) -> None:
    """whole: with all conditions of a run, and which libraries play; else these are as they are if nobody asks."""
    what = parser.add_argument_group("what is played, and how often")
    rest = parser if whole else argparse.ArgumentParser()
    beside = rest.add_argument_group("under what conditions")
    what.add_argument("recordings", metavar="RECORDING", nargs="*", help="name of a shipped recording, or a path; a part of one: NAME@FROM-TO (s)")
    what.add_argument("--all", action="store_true", help="every shipped real session, mode, transport and link")
    what.add_argument("--modes", metavar="LIST", help=f"{','.join(modes.MODES)}; settings after a colon: gather:threshold=64")
    what.add_argument("--transports", metavar="LIST", help="plain,tls (default: both)")
    what.add_argument("--links", metavar="LIST", help="by name, or RATE/ROUNDTRIP as 20M/40ms; more below (default: lan)")
    what.add_argument("--via", metavar="LIST", help="direct (default), relay: a TCP relay beside the server, as spiceproxy or ssh -L "
                      f"(rows LINK{links.RELAY})")
    what.add_argument("--pace", metavar="LIST", help="max (default), recorded, a factor of recorded, user; meanings below")
    what.add_argument("--repeat", metavar="N", type=int, help=f"runs per row (default {_QUICK_REPEATS}; {_REPEATS} if --modes and a "
                     f"recording are named; {_ALL_REPEATS} with --all)")
    what.add_argument("--jobs", metavar="N", type=int, default=1, help="runs at once, of those that mostly wait for an emulated link "
                     "(default %(default)s)")
    what.add_argument("--quick", action="store_true", help="one run per row")
    what.add_argument("--only", metavar="PATTERN", help="rows that match recording/link/pace/transport/mode: 'linux-*/lan/*/tls/*'")
    beside.add_argument("--library", metavar="NAME", action="append",
                        help="stock, patched, or a directory that holds libspice-server.so.1; repeatable")
    beside.add_argument("--tls", choices=certs.VERSIONS, default="1.3", help="TLS version (default %(default)s)")
    beside.add_argument("--compression", metavar="NAME", help="image compression, see spice-player --help")
    beside.add_argument("--jpeg", metavar="NAME", help="JPEG for images, see spice-player --help (default: over a slow link)")
    beside.add_argument("--streaming", metavar="NAME", help="video streams, see spice-player --help (default: off at pace max)")
    beside.add_argument("--emulator", choices=lab.EMULATORS, default=lab.SPICE_LINK, metavar="NAME", help="of links with a rate or "
                        f"a delay: {', '.join(lab.EMULATORS)} (default %(default)s)")
    beside.add_argument("--congestion", metavar="NAME", default=lab.CONGESTION, help="TCP congestion control at both ends "
                        "(default %(default)s)")
    beside.add_argument("--slow-client", metavar="FACTOR", type=float, default=1.0, help="slow the client down by this factor")
    beside.add_argument("--beside-download", action="store_true", help="a bulk TCP download shares the link")
    beside.add_argument("--channels", metavar="LIST", nargs="?", const=channels.ALL, help="traffic on other channels: all, or of "
                        "sound,sound-raw,record,inputs,pointer,agent[:KIB],port[:MIB]")
    beside.add_argument("--probe-every", metavar="MS", type=int, help=f"interval of latency probes (default {_PROBE_EVERY}, none at "
                        "pace max or user); 0: none")
    beside.add_argument("--pauses", metavar="N", type=int, help="points inside a recording at which pictures are compared "
                        f"(default {_PAUSES} at pace max, else 0)")
    beside.add_argument("--show-surfaces", action="store_true", help="compare off-screen surfaces too: draw each onto the primary "
                        "for a moment (more messages)")
    beside.add_argument("--max-stolen", metavar="PERCENT", type=float, help="discard runs with more steal time of a virtual machine "
                        "(default: no limit)")
    parser.epilog = _epilog()
    if not whole:
        parser.set_defaults(**{action.dest: action.default for action in rest._actions if action.dest != "help"})


@dataclass(frozen=True)
class Request:
    recordings: list[recordings.Recording]
    modes: list[str]
    modes_named: bool = False
    libraries: list[str] | None = None
    transports: list[str] = field(default_factory=lambda: list(runspec.TRANSPORTS))
    links: list[links.Link] = field(default_factory=lambda: [links.LINKS["lan"]])
    paces: list[str] = field(default_factory=lambda: ["max"])
    repeats: int = 1
    jobs: int = 1
    pauses: int | None = None
    only: str | None = None
    conditions: Conditions = field(default_factory=Conditions)
    keep_pcap: Path | None = None
    keep_trace: Path | None = None
    first_look: bool = False        # nothing was named: the last recording is for the recorded pace


def _listed(text: str, what: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise BenchError(f"no {what} given", 2)
    return list(dict.fromkeys(names))


def _transports(text: str) -> list[str]:
    names = _listed(text, "transport")
    for name in names:
        if name not in runspec.TRANSPORTS:
            raise BenchError(f"unknown transport '{name}': it is one of {', '.join(runspec.TRANSPORTS)}", 2)
    return names


def _paces(text: str) -> list[str]:
    names = _listed(text, "pace")
    for name in names:
        try:
            good = name in ("max", "recorded", "user") or 0 < float(name) < 1000
        except ValueError:
            good = False
        if not good:
            raise BenchError(f"unknown pace '{name}': it is max, recorded, user or a factor", 2)
    return names


def _modes(args: argparse.Namespace) -> list[str]:
    if args.modes is not None:
        return [modes.check(name) for name in _listed(args.modes, "mode")]
    return list(modes.MODES) if args.all else QUICK_MODES


def _links(args: argparse.Namespace) -> list[links.Link]:
    names = _listed(args.links, "link") if args.links is not None else links.STEADY if args.all else ["lan"]
    ways = _listed(args.via, "way") if args.via is not None else ["direct"]
    for way in ways:
        if way not in _WAYS:
            raise BenchError(f"unknown way '{way}': it is one of {', '.join(_WAYS)}", 2)
    found = list(dict.fromkeys(_WAYS[way](links.find(name)) for name in names for way in ways))
    if any(link.ipv6 or link.unix for link in found):
        raise BenchError("packets of IPv6 are not counted here, and the player has no Unix socket: ./run live takes such a link", 2)
    return found


def _repeats(args: argparse.Namespace) -> int:
    if args.quick:
        return 1
    if args.repeat is None:
        return _ALL_REPEATS if args.all else _REPEATS if args.modes and args.recordings else _QUICK_REPEATS
    return int(args.repeat)


def _is_first_look(args: argparse.Namespace) -> bool:
    return not (args.recordings or args.all or args.pace or args.links)


def _recordings(args: argparse.Namespace) -> list[recordings.Recording]:
    names = args.recordings or (recordings.sessions() if args.all else [NEWCOMER])
    if _is_first_look(args):
        names = [NEWCOMER, NEWCOMER_PACED]
    found = [recordings.find(name) for name in names]
    if len({one.name for one in found}) < len(found):
        raise BenchError("two recordings have the same name: a table could not tell them apart", 2)
    return found


def _or_recording(args: argparse.Namespace, name: str, is_value: Callable[[str], bool], default: Any) -> Any:
    """Of an option whose value may be left out: what is no value of it is the recording that stands behind it."""
    value = getattr(args, name, None)
    if value is None or is_value(str(value)):
        return value
    args.recordings = [str(value), *args.recordings]
    return default


def _is_folder(text: str) -> bool:
    return Path(text).is_dir() or not recordings.is_one(text)


def read(args: argparse.Namespace) -> Request:
    other_channels = _or_recording(args, "channels", channels.known, channels.ALL)
    keep_pcap = _or_recording(args, "keep_pcap", _is_folder, KEEP_PCAP)
    keep_trace = _or_recording(args, "keep_trace", _is_folder, KEEP_TRACE)
    for name, least in (("repeat", 1), ("probe_every", 0), ("pauses", 0)):
        value = getattr(args, name)
        if value is not None and value < least:
            raise BenchError(f"--{name.replace('_', '-')} wants a number from {least}", 2)
    if not 1 <= args.jobs <= atonce.MOST:
        raise BenchError(f"--jobs wants a number from 1 to {atonce.MOST}", 2)
    if args.max_stolen is not None and not 0 <= args.max_stolen <= 100:
        raise BenchError("--max-stolen wants a percentage from 0 to 100", 2)
    if not 1 <= args.slow_client < 1000:
        raise BenchError("--slow-client wants a factor from 1", 2)
    for name in args.library or []:
        if name not in (libraries.STOCK, libraries.PATCHED):
            libraries.find(name)
    return Request(
        recordings=_recordings(args), modes=_modes(args), modes_named=args.modes is not None, libraries=args.library,
        transports=_transports(args.transports) if args.transports is not None else list(runspec.TRANSPORTS),
        links=_links(args), paces=_paces(args.pace) if args.pace is not None else ["max"],
        repeats=_repeats(args), jobs=args.jobs, pauses=args.pauses, only=args.only,
        conditions=replace(Conditions.asked(args), channels=other_channels),
        keep_pcap=keep_pcap, keep_trace=keep_trace, first_look=_is_first_look(args))


def rows(request: Request) -> list[tuple[libraries.Library, str]]:
    """Which library plays in which mode. A library that knows no modes has the one row `stock`; the patched library
    has no such row, so there `stock` means the unpatched build."""
    names = request.modes
    if request.libraries is None:
        return [(libraries.find(libraries.STOCK if name == modes.STOCK else libraries.PATCHED), name) for name in names]
    found: list[tuple[libraries.Library, str]] = []
    for wanted in dict.fromkeys(request.libraries):
        library = libraries.find(wanted)
        if library.patched:
            found += [(library, name) for name in names if name != modes.STOCK]
        elif request.modes_named and modes.STOCK not in names:
            raise BenchError(f"library {wanted} is not patched: it knows none of the modes {', '.join(names)}", 2)
        else:
            found.append((library, modes.STOCK))
    if not found:
        raise BenchError("no mode left to play: the patched library has no mode 'stock'", 2)
    return found


def _pause_at(request: Request, recording: recordings.Recording, pace: str) -> tuple[int, ...]:
    """Evenly spread over the recording. At another pace a pause would disturb the times of what follows."""
    wanted = request.pauses
    if wanted is None:
        wanted = _PAUSES if pace == "max" else 0
    if not recording.commands:
        return ()
    return tuple(recording.commands * part // (wanted + 1) for part in range(1, wanted + 1))


def _conditions(asked: Conditions, pace: str) -> dict[str, Any]:
    """With what is good for the pace where nothing was asked for. What is taken for video depends on how often a picture changes.
    As fast as it goes that says nothing of the session and differs from run to run, so there it is off; else it is as the
    player has it. Latency says nothing there, either."""
    streaming, probe_every = ("off", None) if pace == "max" else (None, None if pace == "user" else _PROBE_EVERY)
    return {**asked.kept(), "streaming": asked.streaming or streaming,
            "probe_every": probe_every if asked.probe_every is None or pace == "user" else asked.probe_every}


def cells(request: Request) -> list[RunSpec]:
    """One spec for each thing to measure."""
    if request.first_look:
        found = _first_look(request)
    else:
        found = _product(request)
    if request.only is not None:
        found = [cell for cell in found if fnmatch.fnmatchcase(cell.address, request.only)]
        if not found:
            raise BenchError(f"nothing matches '{request.only}' (recording/link/pace/transport/mode)", 2)
    return found


def _first_look(request: Request) -> list[RunSpec]:
    """One recording as fast as it goes; one at recorded pace, over the last of the transports."""
    fast, paced = request.recordings
    return [*_product(replace(request, recordings=[fast])),
            *_product(replace(request, recordings=[paced], paces=["recorded"], transports=request.transports[-1:]))]


def _product(request: Request) -> list[RunSpec]:
    return [RunSpec(
        recording=recording, library=library, mode=mode, transport=transport, link=link, pace=pace,
        pause_at=_pause_at(request, recording, pace), keep_pcap=request.keep_pcap, keep_trace=request.keep_trace,
        **_conditions(request.conditions, pace))
        for recording in request.recordings for link in request.links for pace in request.paces
        for transport in request.transports for library, mode in rows(request)]
