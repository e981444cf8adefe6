# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run clients migration: migrates a guest that draws, with a client connected, between pairs of libraries and
modes."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from bench.common import lists, paths
from bench.common import page as pages
from bench.common import table as tables
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.lab import lab as labs
from bench.lab import links
from bench.runs import modes, runner, store
from bench.runs.modes import STOCK
from bench.runs.runner import Outcome
from bench.runs.store import Case, Run
from bench.source import setup, upstream
from clients import machine, packages, table, target
from clients.command import STORE, environment_of, of_one_accel
from clients.drivers.base import Driver
from clients.drivers.gtk import SpiceGtk
from clients.drivers.remote_viewer import RemoteViewer
from clients.machine import Machine
from clients.scenarios import sounds, vdagent
from clients.table import BAD
from clients.world import World
from guest import qemu
from guest.errors import Failed
from guest.qemu import AGENT_PORT, Hardware

_LINK = "2M100ms"
SEAMLESS, SWITCH, DISPLAYS = "seamless", "switch-host", f"two displays over {_LINK}"
RESIZED, SOUNDS = f"resized over {_LINK}", "two sound devices"
_KINDS = (SEAMLESS, SWITCH, DISPLAYS, RESIZED, SOUNDS)
_LARGEST = "2162x1216"
_WIDTHS, _HEIGHT = (2162, 1367, 853), 900      # of the client's window
_RESIZES, _PAUSE = 60, 0.4      # one after another, and seconds between two
_OFF = 8                        # pixels by which a mode of the guest may be narrower than what was asked for
_SINK_PORTS = (labs.PLAIN_PORT + 10, labs.TLS_PORT + 10)
# the same few pictures on both displays, each bigger than an image that is worth sharing, and at other places
_TILES = (
    "eval for n in 0 1 2 3; do head -c 65536 /dev/urandom >/run/tile$n; done; while :; do n=$((n + 1)); for fb in 0 1; do "
    "dd if=/run/tile$((n % 4)) of=/dev/fb$fb bs=65536 seek=$((n * 7 % 48)); done; usleep 300000; done "
    "</dev/null >/dev/null 2>&1 & tiles=$!"
)
_TRANSPORTS = (target.PLAIN, target.TLS)
_BY_NAME: dict[str, type[Driver]] = {client.name: client for client in (SpiceGtk, RemoteViewer)}
_PAIRS = ("stock>stock", "stock>flow", "flow>stock", "flow>flow", "stock>batch", "batch>stock", "batch>batch")
_SECONDS = 45.0     # duration of a run, if none is known


@dataclass(frozen=True)
class Pair:
    """Where from and where to, each a mode and a release."""

    source: tuple[str, str]
    sink: tuple[str, str]

    @property
    def name(self) -> str:
        return ">".join(f"{mode}@{release}" for mode, release in (self.source, self.sink))

    @property
    def ours(self) -> bool:
        return {self.source[0], self.sink[0]} != {STOCK}


def pair(text: str) -> Pair:
    """MODE[@RELEASE]>MODE[@RELEASE]"""
    ends = [tuple(end.partition("@")[::2]) for end in text.split(">")]
    if len(ends) != 2 or not all(mode for mode, _ in ends):
        raise BenchError(f"'{text}' is not a pair: write MODE[@RELEASE]>MODE[@RELEASE]", 2)
    for _, release in ends:
        if release and release not in upstream.RELEASES:
            raise BenchError(f"unknown release {release}: choose one of {', '.join(upstream.RELEASES)}", 2)
    (one, first), (two, second) = ends
    return Pair((modes.check(one), first or upstream.DEFAULT), (modes.check(two), second or upstream.DEFAULT))


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = "Migrates a guest that draws from one QEMU to another while a client is connected, and compares pictures."
    parser.add_argument("--pairs", metavar="LIST", help=f"MODE[@RELEASE]>MODE[@RELEASE],... ({','.join(_PAIRS)})")
    parser.add_argument("--kinds", metavar="LIST", help=f"{', '.join(_KINDS)}")
    parser.add_argument("--transports", metavar="LIST", help=f"{', '.join(_TRANSPORTS)}")
    qemu.configure(parser)
    runner.options(parser, "clients", "runs per cell")


def _hardware(steps: Steps, kind: str, accel: str) -> Hardware:
    made = machine.hardware(steps, accel)
    if kind == RESIZED:
        return replace(made, display=f"{made.display},xres={_LARGEST.replace('x', ',yres=')}")
    return replace(made, second="qxl") if kind == DISPLAYS else made


def kinds_of(client: type[Driver], kinds: Sequence[str]) -> list[str]:
    """Those that the client can show."""
    can = {DISPLAYS: client.shows_displays, RESIZED: client.resize is not Driver.resize, SOUNDS: client.hears is not Driver.hears}
    return [kind for kind in kinds if can.get(kind, True)]


def _resized(world: World, viewer: Driver) -> None:
    """The window changes its size faster than the path carries screens, while the guest draws; then each size must be shown."""
    for number in range(_RESIZES):
        viewer.resize(_WIDTHS[number % len(_WIDTHS)], _HEIGHT)
        time.sleep(_PAUSE)
    world.must_flow(viewer, 5)
    for width in _WIDTHS:
        viewer.resize(width, _HEIGHT)
        qemu.wait_for(f"screen of {width} pixels", 60, lambda wanted=width: wanted - _OFF < world.machine.screen().shape[1] <= wanted)  # type: ignore[misc]
        world.must_show(viewer, world.card())
        world.machine.order("draw")


def move(made: Hardware, state: Path, source: dict[str, str], sink: dict[str, str], kind: str, client: type[Driver], transport: str,
         folder: Path) -> str:
    """One migration, between QEMUs of these environments; what was seen."""
    seamless, way = kind != SWITCH, f"unix:{folder / 'guest'}"
    options = (*(("seamless-migration=on",) if seamless else ()),
               # over a slow link JPEG would change the pixels, and could not be compared
               *(("jpeg-wan-compression=never",) if kind in (DISPLAYS, RESIZED) else ()))
    with ExitStack() as stack:
        lab = stack.enter_context(labs.connect(links.find(_LINK))) if kind in (DISPLAYS, RESIZED) else None
        first = stack.enter_context(Machine(made, source, folder / "source", state, lab=lab, options=options))
        first.booted()
        if kind == RESIZED:
            vdagent.require()
            stack.enter_context(vdagent.agent(first.relay(AGENT_PORT), folder))
        if kind in (DISPLAYS, RESIZED):
            first.order("graphics qxl")
        with World(first, client, transport, folder, 5) as world:
            viewer = world.client()
            first.order("draw")
            if kind == DISPLAYS:
                first.order(_TILES)
            if kind == RESIZED:
                _resized(world, viewer)
            if kind == SOUNDS:
                viewer.hears()
                sounds.play_on_both(world)
                sounds.must_hear(viewer.hears)
            world.must_flow(viewer, 3)
            there = replace(lab, ports=_SINK_PORTS) if lab else None
            with Machine(made, sink, folder / "sink", way, lab=there, options=options) as second:
                # a port that is left out is 65535 to spice-gtk, and it tries that first
                tls = transport == target.TLS
                ports = {"port": 0 if tls else second.port, **({"tls-port": second.tls_port} if tls else {})}
                first.qmp("client_migrate_info", protocol="spice", hostname=second.target(transport).host, **ports)
                world.machine = second
                if seamless:    # real guests take longer to move than a client to connect
                    qemu.wait_for("connection to the new place", 60, world.display_open)
                first.migrate(way)
                second.booted()
                # as libvirt does: until then the old QEMU may have state of the client's to send
                qemu.wait_for("end of the client's migration", 60, lambda: first.qmp("query-spice").get("migrated"))
                qemu.wait_for("display at the new place", 60, world.display_open)
                first.close()
                viewer.must_run()
                if tls and not all(channel.get("tls") for channel in second.clients()):
                    raise Failed("what was encrypted is not any more")
                world.must_flow(viewer, 5)
                if kind == SOUNDS:
                    sounds.must_hear(viewer.hears)
                second.order("eval rm -f /run/draw; [ -z \"$tiles\" ] || kill $tiles")
                for display in range(second.displays):     # as the guest drew it on the way, nothing painted over
                    world.must_show(viewer, world.at_rest(display), display)
                world.must_show(viewer, world.card())
                world.check_machine()
    return "it draws on, and shows the guest's screen"


def _migrated(made: Hardware, state: Path, source: dict[str, str], sink: dict[str, str], case: Case, attempt: int) -> Outcome:
    client = _BY_NAME[case.what[0]]

    def play() -> str:
        with tempfile.TemporaryDirectory(prefix="spice-migration-", ignore_cleanup_errors=True) as folder:
            client.version()
            return move(made, state, source, sink, case.what[1], client, case.link, Path(folder))

    return table.outcome(play, attempt)


def page(runs: Sequence[Run]) -> str:
    """Empty without migrations."""
    cells = store.latest(kept := table.kept(runs, migrations=True))
    if not cells:
        return ""
    newest = next((run.library for run in reversed(kept) if run.library is not None), None)
    older = [run for run in cells if run.library not in (None, newest)]
    shown = {(run.case.what, run.case.link, run.case.mode): table.outcome_of(run) + "\\*" * (run in older) for run in cells}
    columns = list(dict.fromkeys((run.case.what, run.case.link) for run in cells))
    lines = [[pair.replace(">", " > "), *(shown.get((what, link, pair), tables.UNKNOWN) for what, link in columns)]
             for pair in dict.fromkeys(run.case.mode for run in cells)]
    heads = [f"{client}, {link}, {kind}" for (client, kind), link in columns]
    return pages.fill(
        "clients/migration.md.j2", cells=cells, facts=store.facts(cells), accel=table.accel_of(cells[-1]), older=older, newest=newest,
        link=_LINK, pause=_PAUSE, widths=_WIDTHS, table=tables.markdown(["from > to", *heads], lines, left=1 + len(columns), padded=False),
        again=table.lost(kept), replaced=table.repeated(kept),
        bad=table.reasons(cells, BAD), not_run=table.reasons(cells, table.NOT_RUN), libraries=table.libraries(cells))


def execute(args: argparse.Namespace) -> int:
    pairs = {one.name: one for one in map(pair, lists.read(args.pairs, _PAIRS, "pair"))}
    transports = lists.read(args.transports, _TRANSPORTS, "transport", _TRANSPORTS)
    kinds = lists.read(args.kinds, _KINDS, "kind", _KINDS)
    cases = [Case((client.name, kind), name, transport, table.conditions(args.accel), ours=each.ours)
             for client in _BY_NAME.values() for transport in transports for kind in kinds_of(client, kinds)
             for name, each in pairs.items()]
    plan = of_one_accel(runner.Plan(STORE, dict.fromkeys(runner.rounds(cases, args.repeat), _SECONDS), args.output, "migration.md", page),
                        args.accel)
    if plan.only_told(args.dry_run):
        return 0
    steps = Steps(paths.cache_dir() / "clients" / "log")
    packages.require()
    guests = {kind: _hardware(steps, kind, args.accel) for kind in kinds}
    setup.current()
    found = {end: environment_of(*end) for end in {end for each in pairs.values() for end in (each.source, each.sink)}}
    states = {kind: qemu.state(guests[kind], steps) for kind in kinds}

    def one(case: Case, attempt: int) -> Outcome:
        each = pairs[case.mode]
        return _migrated(guests[case.what[1]], states[case.what[1]], found[each.source], found[each.sink], case, attempt)

    runs = plan.perform(one, {"qemu": qemu.qemu_version()}, table.said)
    return int(any(run.failed for run in runs))
