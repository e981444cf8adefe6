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

from bench.common import atomic, paths
from bench.common import page as pages
from bench.common import table as tables
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.lab import lab as labs
from bench.lab import links
from bench.source import upstream
from clients import machine, packages, table, target
from clients.command import HOME, NAME, cells_of, chosen, libraries, library_of, stream_mode
from clients.drivers.base import Driver
from clients.drivers.gtk import SpiceGtk
from clients.drivers.remote_viewer import RemoteViewer
from clients.machine import Library, Machine
from clients.scenarios import sounds, vdagent
from clients.table import BAD, GOOD, Cell
from clients.world import World
from guest import qemu
from guest.errors import BREAKS, Failed, GuestLost, NotRun
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
_CLIENTS: tuple[type[Driver], ...] = (SpiceGtk, RemoteViewer)
_PAIRS = ("stock>stock", "stock>flow", "flow>stock", "flow>flow", "stock>batch", "batch>stock", "batch>batch")
_TRIES = 2      # where the guest itself is lost on the way, as happens now and then with every library and an emulated processor


@dataclass(frozen=True)
class Pair:
    """Where from and where to, each a mode and a release."""

    source: tuple[str, str]
    sink: tuple[str, str]

    @property
    def name(self) -> str:
        return ">".join(f"{mode}@{release}" for mode, release in (self.source, self.sink))


def pair(text: str) -> Pair:
    """MODE[@RELEASE]>MODE[@RELEASE]"""
    ends = [tuple(end.partition("@")[::2]) for end in text.split(">")]
    if len(ends) != 2 or not all(mode for mode, _ in ends):
        raise BenchError(f"'{text}' is not a pair: write MODE[@RELEASE]>MODE[@RELEASE]", 2)
    for _, release in ends:
        if release and release not in upstream.RELEASES:
            raise BenchError(f"unknown release {release}: choose one of {', '.join(upstream.RELEASES)}", 2)
    (one, first), (two, second) = ends
    return Pair((stream_mode(one), first or upstream.DEFAULT), (stream_mode(two), second or upstream.DEFAULT))


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Migrates a guest that draws from one QEMU to another while a client is connected, and compares pictures."
    )
    parser.add_argument("--pairs", default=",".join(_PAIRS), metavar="LIST", help="MODE[@RELEASE]>MODE[@RELEASE],... (%(default)s)")
    parser.add_argument("--kinds", metavar="LIST", help=f"{', '.join(_KINDS)}")
    parser.add_argument("--transports", metavar="LIST", help=f"{', '.join(_TRANSPORTS)}")
    qemu.configure(parser)
    parser.add_argument("--output", type=Path, default=HOME, metavar="DIR", help="folder of the results (results/own/clients)")


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


def move(
    made: Hardware,
    state: Path,
    source: Library,
    sink: Library,
    kind: str,
    client: type[Driver],
    transport: str,
    folder: Path,
) -> str:
    """One migration; what was seen."""
    seamless, way = kind != SWITCH, f"unix:{folder / 'guest'}"
    options = (*(("seamless-migration=on",) if seamless else ()),
               # over a slow link JPEG would change the pixels, and could not be compared
               *(("jpeg-wan-compression=never",) if kind in (DISPLAYS, RESIZED) else ()))
    with ExitStack() as stack:
        lab = stack.enter_context(labs.connect(links.find(_LINK))) if kind in (DISPLAYS, RESIZED) else None
        first = stack.enter_context(Machine(made, source.environment(), folder / "source", state, lab=lab, options=options))
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
            with Machine(made, sink.environment(), folder / "sink", way, lab=there, options=options) as second:
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


def _cell(
    made: Hardware,
    state: Path,
    found: dict[tuple[str, str], Library],
    each: Pair,
    kind: str,
    client: type[Driver],
    transport: str,
) -> Cell:
    cell = Cell(client.name, transport, each.name, kind, date=table.now(), library=library_of())
    began = time.monotonic()
    for tries in range(1, _TRIES + 1):
        with tempfile.TemporaryDirectory(prefix="spice-migration-", ignore_cleanup_errors=True) as folder:
            try:
                client.version()
                cell.says = move(made, state, found[each.source], found[each.sink], kind, client, transport, Path(folder))
                cell.outcome = GOOD
            except NotRun as error:
                cell.says = str(error)
            except GuestLost as error:
                cell.outcome, cell.says = BAD, f"{error}, {tries} times"
                continue
            except BREAKS as error:
                cell.outcome, cell.says = BAD, str(error)
        break
    cell.figures["tries"] = tries
    cell.seconds = round(time.monotonic() - began, 1)
    return cell


def page(found: list[Cell], facts: dict[str, str]) -> str:
    cells = table.typed(found)
    newest = max(cell.library[:8] for cell in cells)  # the day
    older = [cell for cell in cells if cell.library[:8] < newest]
    shown = {cell.key: cell.outcome + "\\*" * (cell in older) for cell in cells}
    columns = list(dict.fromkeys((cell.row, cell.transport, cell.scenario) for cell in cells))
    lines = [[pair.replace(">", " > "), *(shown.get((row, transport, pair, kind), tables.UNKNOWN) for row, transport, kind in columns)]
             for pair in dict.fromkeys(cell.mode for cell in cells)]
    return pages.fill(
        "clients/migration.md.j2", cells=cells, facts=facts, older=older, newest=newest, link=_LINK, pause=_PAUSE, widths=_WIDTHS,
        table=tables.markdown(["from > to", *map(", ".join, columns)], lines, left=1 + len(columns), padded=False),
        again=sum(cell.figures.get("tries", 1) > 1 for cell in cells), replaced=table.repeated(cells), bad=table.reasons(cells, BAD),
        not_run=table.reasons(cells, table.NOT_RUN), libraries=table.libraries(cells))


def execute(args: argparse.Namespace) -> int:
    pairs = [pair(text) for text in args.pairs.split(",")]
    transports, kinds = chosen(args.transports, _TRANSPORTS, "transport"), chosen(args.kinds, _KINDS, "kind")
    steps = Steps(paths.cache_dir() / "clients" / "log")
    old, facts = cells_of(args.output, args.accel)
    packages.require()
    guests = {kind: _hardware(steps, kind, args.accel) for kind in kinds}
    found: dict[tuple[str, str], Library] = {}
    for release in dict.fromkeys(end[1] for each in pairs for end in (each.source, each.sink)):
        modes = sorted({end[0] for each in pairs for end in (each.source, each.sink) if end[1] == release})
        found |= {(library.mode, release): library for library in libraries(release, modes, steps)}
    states = {kind: qemu.state(guests[kind], qemu.environment(paths.stock_library())) for kind in kinds}
    facts["migration"] = {"date": table.now(), "qemu": qemu.qemu_version(), "accel": args.accel}
    cells: list[Cell] = []
    for client in _CLIENTS:
        for transport in transports:
            for kind in kinds_of(client, kinds):
                for each in pairs:
                    cell = _cell(guests[kind], states[kind], found, each, kind, client, transport)
                    steps.say(f"{cell.row}, {transport}, {each.name}, {kind}: {cell.outcome}: {cell.says}")
                    cells.append(cell)
                    everything = table.merged(old, cells)
                    table.save(args.output, NAME, everything, facts)
                    moved = [one for one in everything if one.is_migration]
                    atomic.write_text(args.output / "migration.md", page(moved, facts["migration"]))
    bad = [cell for cell in cells if cell.outcome == BAD]
    print(f"{args.output / 'migration.md'}: {len(cells)} migrations, {len(bad)} bad")
    return 1 if bad else 0
