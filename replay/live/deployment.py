# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run live deployment: what a user waits for where SPICE is deployed in ways that one client on a working line does not show:
a new client, a second client on a slow line, a line that is out, a paste over a distance, a path that drops large packets."""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import random
import statistics
import string
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.common import atomic, paths, proc, table
from bench.common import page as pages
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.lab import lab as labs
from bench.lab import links, linktest
from bench.lab.lab import Lab
from bench.runs import environment
from bench.source import setup
from clients import machine, packages, target
from clients.agent import Agent
from clients.drivers.gtk import SpiceGtk
from clients.machine import STOCK, Machine
from clients.scenarios import vdagent
from clients.world import World
from guest import qemu
from guest.errors import Failed, NotRun
from guest.qemu import AGENT_PORT, KVM, TCG, Qemu
from live import command, guests, sets, viewers, ways
from live.cell import too_much, watched
from live.scenarios import scroll
from live.tiles import shown_at
from live.user import AtRest, User, differ
from live.viewers import Drain
from live.ways import Way

Record = dict[str, Any]
NAME = "deployment"
_SLOW = "2M100ms"
_STOPS = 6              # of a guest that draws
_PASTED = 5_000_000     # bytes
PATIENCE = 120.0       # seconds for what a user waits for
_DRAWN = 2.0            # seconds for which the guest draws before the line goes out
_HOLE = 1400            # bytes of an IP packet that a path with a black hole carries


@dataclass(frozen=True)
class Place:
    """What every row has: guests, each booted once, and a folder of its own."""

    steps: Steps
    folder: Path
    count: int | None = None    # of --count
    accel: str = TCG

    def guest(self, name: str = "text-std", second: str = "") -> guests.Guest:
        return guests.prepare(guests.named(name, self.accel), self.steps, second)


@dataclass(frozen=True)
class Seen:
    waits: Sequence[float | None]       # seconds; None: not within PATIENCE
    says: str = ""
    failed: bool = False                # what must not happen has happened


@dataclass(frozen=True)
class Row:
    name: str
    waits_for: str
    play: Callable[[Place, Way], Seen]
    goal: float | None = None           # seconds


@contextlib.contextmanager
def tested(link: str) -> Iterator[Lab]:
    with labs.connect(links.find(link)) as lab:
        if wrong := linktest.check(lab):
            raise Failed(wrong)
        yield lab


@contextlib.contextmanager
def at_rest(place: Place, way: Way, lab: Lab, of: guests.Guest | None = None) -> Iterator[Qemu]:
    """A guest with a picture that stands still."""
    with (of or place.guest()).start(way, lab, place.folder) as host:
        host.order("card")
        yield host


@contextlib.contextmanager
def connected(place: Place, lab: Lab, name: str, *options: str, size: tuple[int, int] = (720, 400)) -> Iterator[Drain]:
    """With the size of VGA text."""
    folder = place.folder / name
    folder.mkdir()
    with viewers.drain(lab, folder, *size, *options) as viewer:
        yield viewer


def _beside(slow: bool) -> Callable[[Place, Way], Seen]:
    def play(place: Place, way: Way) -> Seen:
        with tested("lan") as lab, at_rest(place, replace(way, several=True), lab) as qemu, contextlib.ExitStack() as others, \
                connected(place, lab, "fast") as viewer:
            user = User(qemu, viewer)
            watching = [user]
            if slow:
                second = others.enter_context(labs.second_client(lab, links.find(_SLOW)))
                watching.append(User(qemu, others.enter_context(connected(place, second, "slow")), PATIENCE))
            done = scroll(user, qemu, _STOPS)
            if not all(alive.viewer.running() and not alive.exact(PATIENCE) for alive in watching):
                return Seen(done.lags, "a client's picture stayed wrong")
            return Seen(done.lags)

    return play


def _displays(noise: bool = False, reopen: bool = False) -> Callable[[Place, Way], Seen]:
    """Of the other display: whether noise fills it, and whether the client closes and opens it while the guest draws."""
    def play(place: Place, way: Way) -> Seen:
        with tested("20M40ms") as lab, at_rest(place, way, lab, place.guest("text-qxl", "qxl")) as qemu:
            height, width = qemu.screen().shape[:2]
            with connected(place, lab, "client", size=(width, height)) as viewer:
                user = User(qemu, viewer, PATIENCE)
                reopened = 0

                def close_and_open() -> None:
                    nonlocal reopened
                    viewer.reopen(1)
                    reopened += 1

                qemu.order("eval cat /dev/urandom >/dev/fb1 2>/dev/null")
                if noise:
                    qemu.order("eval while :; do cat /dev/urandom >/dev/fb1; done </dev/null 2>/dev/null & noise=$!")
                done = scroll(user, qemu, _STOPS, close_and_open) if reopen else scroll(user, qemu, _STOPS)
                if noise:
                    qemu.order("eval kill $noise")
                wrong = differ(lambda: qemu.screen(1), lambda: viewer.picture(1), PATIENCE) or user.exact(PATIENCE)
            says = f"{viewer.told['bytes']['display-1'] / 1e6:.1f} MB for the other display"
            if reopened:
                says += f", opened {reopened} times"
            return Seen(done.lags, f"{says}; {f'{wrong:.1%} of a picture stayed wrong' if wrong else 'both pictures exact'}")

    return play


def outage(seconds: int) -> str:
    """The link: 20M40ms, which goes out a second after begin_changes()."""
    return f"20M/40ms@1s:out@{1 + seconds}s:20M"


def _out(seconds: int) -> Callable[[Place, Way], Seen]:
    def play(place: Place, way: Way) -> Seen:
        with tested(outage(seconds)) as lab, at_rest(place, way, lab) as qemu:
            began = back = 0.0
            try:
                with connected(place, lab, "before") as viewer:
                    user = User(qemu, viewer, PATIENCE)
                    qemu.order("draw")
                    time.sleep(_DRAWN)
                    lab.begin_changes()
                    began = time.monotonic() + 1
                    back = began + seconds
                    viewer.log.forget()
                    while viewer.log.last / 1e9 < back and time.monotonic() < back + PATIENCE:
                        time.sleep(0.02)
                        viewer.follow()
                    says = f"first change {viewer.log.last / 1e9 - back:.1f} s after the line's return"
                    qemu.order("card")
                    stopped = time.monotonic_ns()
                    return Seen([max(0.0, (user.settled(stopped, changes=False) - stopped) / 1e9)], says)
            except AtRest:
                return Seen([None], "session still open")
            except Failed:
                if not began:
                    raise
                says = f"client disconnected {time.monotonic() - began:.0f} s after the line went"
            time.sleep(max(0.0, back - time.monotonic()))
            qemu.order("card")
            with connected(place, lab, "after") as viewer:
                User(qemu, viewer, PATIENCE)
            return Seen([None], f"{says}; a new one shows the picture")

    return play


@contextlib.contextmanager
def _with_agent(place: Place, way: Way, link: str) -> Iterator[tuple[Lab, Machine]]:
    """The link, and behind it a guest that relays the agent's port."""
    made = machine.hardware(place.steps, place.accel)
    state = qemu.state(made, qemu.environment(paths.stock_library()))
    with tested(link) as lab, Machine(made, way.environment(), place.folder, state, lab=lab) as host:
        host.booted()
        yield lab, host


def _paste(link: str) -> Callable[[Place, Way], Seen]:
    def play(place: Place, way: Way) -> Seen:
        with _with_agent(place, way, link) as (lab, host):
            agent = Agent(host.relayed(AGENT_PORT))
            with contextlib.closing(agent):
                with connected(place, lab, "client", "--channels") as viewer:
                    agent.met(PATIENCE)
                    offered = time.monotonic()
                    text = "".join(random.Random(1).choices(string.ascii_letters, k=_PASTED))
                    agent.offer(text)
                    pasted = agent.data(PATIENCE)
            if pasted != bytes(byte ^ 0xff for byte in text.encode()):      # spice-drain's answer to what it gets
                raise Failed(f"the guest got {len(pasted)} bytes of {_PASTED}, or others")
            echoes = viewer.told["inputs"]["echoes_ms"]
            return Seen([agent.had - agent.asked], f"from the guest {agent.asked - offered:.1f} s; {keys_of(echoes)}")

    return play


def _drop(link: str) -> Callable[[Place, Way], Seen]:
    def play(place: Place, way: Way) -> Seen:
        with _with_agent(place, way, link) as (_, host):
            vdagent.require()
            with World(host, SpiceGtk, target.TLS, place.folder, 0) as world:
                client = world.client()
                with vdagent.agent(host.relay(AGENT_PORT), place.folder):
                    first = vdagent.drop(client, place.folder, 1)       # until agent and client have met
                    return Seen([vdagent.drop(client, place.folder, _PASTED)], f"a file of one byte {first:.1f} s")

    return play


def keys_of(echoes: Sequence[float]) -> str:
    """From the milliseconds that each key took to switch a light at the client."""
    if not echoes:
        return "no key was answered"
    return f"keys {statistics.median(echoes):.0f} ms, the slowest {max(echoes):.0f} ms"


def _first_picture(place: Place, way: Way, lab: Lab) -> Seen:
    """From the start of the client on."""
    with at_rest(place, way, lab) as qemu:
        began = time.monotonic_ns()
        try:
            with connected(place, lab, "client") as viewer:
                user = User(qemu, viewer, PATIENCE)
                shown = shown_at(viewer.log.base, viewer.log.looks, user.truth, user.masked)
                return Seen([((shown or began) - began) / 1e9])
        except Failed as error:
            qemu.qmp("query-status")        # a QEMU that has ended is another failure
            return Seen([None], str(error).rstrip(": "))


def _connect(link: str) -> Callable[[Place, Way], Seen]:
    def play(place: Place, way: Way) -> Seen:
        with tested(link) as lab:
            return _first_picture(place, way, lab)

    return play


def _black_hole(probing: bool) -> Callable[[Place, Way], Seen]:
    def play(place: Place, way: Way) -> Seen:
        with tested("lan") as lab:
            # veth drops what its other end's MTU does not let in, and says nothing; the client's TCP announces what it had before
            ip = proc.require("ip", "iproute2")
            proc.call([ip, "link", "set", lab.device, "mtu", str(_HOLE)], lab.client)
            proc.call([ip, "route", "replace", lab.server_address, "dev", lab.device, "src", lab.client_address, "advmss",
                       str(links.MTU - 40)], lab.client)
            proc.call(["sh", "-c", f"echo {int(probing)} >/proc/sys/net/ipv4/tcp_mtu_probing"], lab.server)
            return _first_picture(place, way, lab)

    return play


ROWS = {row.name: row for row in (
    *(Row(f"connect-{name}", f"the first picture of a new client over {link}", _connect(link))
      for name, link in (("2M", _SLOW), ("256k", "256k/300ms"), ("20M", "20M40ms"))),
    Row("alone", "the last picture after scrolling, one client on a LAN", _beside(False)),
    Row("beside-slow", f"the same, with a second client over {_SLOW}", _beside(True), 0.1),
    Row("display", "the last picture after scrolling over 20M40ms, of a guest with two displays, the other one at rest", _displays()),
    Row("display-beside-noise", "the same while noise fills the other display", _displays(noise=True)),
    Row("display-reopened", "the same while the client closes the other display and opens it again", _displays(reopen=True)),
    *(Row(f"out-{seconds}s", f"20M40ms, out for {seconds} s while the guest draws: the present picture, from the first change afterwards on",
          _out(seconds), 2.0) for seconds in (5, 20, 35, 70)),
    Row("paste-lan", f"a paste of {_PASTED // 1_000_000} MB into the guest, on a LAN", _paste("lan")),
    Row("paste", "the same over 50M100ms", _paste("50M100ms"), 3.0),
    Row("drop", f"a file of {_PASTED // 1_000_000} MB dropped on the client, to spice-vdagent, over 50M100ms", _drop("50M100ms"), 3.0),
    Row("black-hole", f"the first picture over a path that silently drops packets above {_HOLE} bytes", _black_hole(False)),
    Row("black-hole-probing", "the same with tcp_mtu_probing=1 on the host", _black_hole(True)),
)}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Measures what a user waits for when a second client is on a slow link, a second display is busy, the link is out, "
                          "5 MB are pasted or dropped, or the path drops large packets.")
    options(parser, ROWS)
    parser.set_defaults(count=None)


def options(parser: argparse.ArgumentParser, rows: Mapping[str, Row]) -> None:
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"{', '.join(rows)} (all)")
    command.options(parser)
    qemu.configure(parser)
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="runs per row (%(default)s)")


def chosen(args: argparse.Namespace, rows: Mapping[str, Row] = ROWS) -> tuple[list[Row], list[str]]:
    """Rows and names of modes; raises BenchError, one line."""
    for name in args.rows:
        if name not in rows:
            raise BenchError(f"unknown row '{name}': choose some of {', '.join(rows)}", 2)
    if args.repeat < 1:
        raise BenchError("--repeat must be at least 1", 2)
    return [rows[name] for name in args.rows or rows], sets.of_spice(args.modes)


def kept(file: Path) -> list[Record]:
    try:
        return list(json.loads(file.read_text())["runs"]) if file.exists() else []
    except (ValueError, KeyError, TypeError):
        raise BenchError(f"{file} is damaged: remove it") from None


def cell(records: Sequence[Record]) -> str:
    """Median and longest wait, and what was seen beside."""
    if not records:
        return "–"
    waits = [wait for record in records for wait in record["waits"]]
    known = [wait for wait in waits if wait is not None]
    text = f"{statistics.median(known):.2f} s (longest {max(known):.2f}, n = {len(waits)})" if known else f"never (n = {len(waits)})"
    if known and len(known) < len(waits):
        text += f", {len(waits) - len(known)} never"
    return "; ".join(dict.fromkeys([text, *(record["says"] for record in records if record["says"])]))


def _column(record: Record) -> str:
    """The way, and KVM if the guest ran under it."""
    return f"{record['way']}, KVM" if record.get("accel") == KVM else str(record["way"])


def page(found: Sequence[Record], facts: Mapping[str, Any], name: str = NAME, rows: Mapping[str, Row] = ROWS) -> str:
    """Of this tree's library only runs of the state that was measured last."""
    library = next((record.get("library") for record in reversed(found) if ways.of_tree(record["way"])), None)
    runs = [record for record in found if not ways.of_tree(record["way"]) or record.get("library") == library]
    records = [record for record in runs if not record.get("invalid")]
    shown = sorted({_column(record) for record in records}, key=lambda column: (not column.startswith(STOCK), column))
    lines = [[row.name, row.waits_for, f"{row.goal:g} s" if row.goal else "–",
              *(cell([record for record in records if (record["row"], _column(record)) == (row.name, column)]) for column in shown)]
             for row in rows.values() if any(record["row"] == row.name for record in records)]
    return pages.fill("live/deployment.md.j2", facts=facts, name=name, patience=PATIENCE, loads=sorted(record["load"] for record in runs),
                      trees=list(dict.fromkeys(record["tree"] for record in runs)),
                      accels=sorted({record.get("accel", TCG).upper() for record in runs}),
                      bad=[{**record, "way": _column(record)} for record in runs if record.get("invalid")],
                      table=table.markdown(["row", "the user waits for", "goal", *shown], lines, left=3 + len(shown)))


def execute(args: argparse.Namespace, name: str = NAME, known: Mapping[str, Row] = ROWS) -> int:
    rows, names = chosen(args, known)
    if args.dry_run:
        print("\n".join(f"{row.name}: {', '.join(names)}" for row in rows))
        return 0
    with command.measuring():
        return _measure(args, args.out / f"{name}.json", rows, names, known)


def _measure(args: argparse.Namespace, file: Path, rows: Sequence[Row], names: Sequence[str], known: Mapping[str, Row]) -> int:
    steps = Steps(paths.cache_dir() / "live" / "log")
    packages.install(steps)
    if paths.build_is_ours():
        setup.setup()
    shown = [ways.find(name, args.library and args.library.resolve()) for name in names]
    records, facts = kept(file), command.facts()
    failed, bad, library = 0, 0, environment.library_tree()[:12]
    for row, way in [(row, way) for _ in range(args.repeat) for row in rows for way in shown]:
        with tempfile.TemporaryDirectory(prefix="spice-live-", ignore_cleanup_errors=True) as name:
            place = Place(steps, Path(name), args.count, args.accel)
            try:
                seen, stolen = watched(functools.partial(row.play, place, way))
                invalid = too_much(stolen)
            except (Failed, NotRun, BenchError) as error:
                seen, invalid = Seen([]), str(error)
        failed += invalid is not None
        bad += seen.failed
        records.append({"row": row.name, "way": way.name, "waits": list(seen.waits), "says": ("FAILED: " if seen.failed else "") + seen.says, "invalid": invalid, "accel": args.accel,
                        "date": facts["date"], "tree": facts["tree"], "library": library, "load": round(os.getloadavg()[0], 1)})
        steps.say(f"{row.name}, {way.name}: {f'does not count: {invalid}' if invalid else cell(records[-1:])}")
        atomic.write_text(file, json.dumps({"facts": facts, "runs": records}, indent=1) + "\n")
        atomic.write_text(file.with_suffix(".md"), page(records, facts, file.stem, known))
    print(f"{file.with_suffix('.md')}: {len(records)} runs, {failed} do not count{f', {bad} failed' if bad else ''}")
    return 1 if failed or bad else 0
