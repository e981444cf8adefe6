# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run live deployment: what a user waits for where SPICE is deployed in ways that one client on a working line does not show:
a new client, a second client on a slow line, a line that is out, a paste over a distance, a path that drops large packets."""

from __future__ import annotations

import argparse
import contextlib
import random
import statistics
import string
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bench.common import lists, proc, table
from bench.common import page as pages
from bench.common.steps import Steps
from bench.lab import lab as labs
from bench.lab import links, linktest
from bench.lab.lab import Lab
from bench.runs import runner, store
from bench.runs.modes import STOCK
from bench.runs.runner import Outcome
from bench.runs.store import Case, Run
from clients import machine, target
from clients import table as accels
from clients.agent import Agent
from clients.drivers.gtk import SpiceGtk
from clients.machine import Machine
from clients.scenarios import vdagent
from clients.world import World
from guest import qemu
from guest.errors import Failed
from guest.qemu import AGENT_PORT, KVM, TCG, Qemu
from live import command, guests, sets, viewers, ways
from live.cell import watched
from live.scenarios import scroll
from live.tiles import shown_at
from live.user import AtRest, User, differ
from live.viewers import Drain
from live.ways import Way

NAME = "deployment"
_SLOW = "2M100ms"
_STOPS = 6              # of a guest that draws
_PASTED = 5_000_000     # bytes
PATIENCE = 120.0       # seconds for what a user waits for
_DRAWN = 2.0            # seconds for which the guest draws before the line goes out
_ROW_SECONDS = 40.0     # duration of a run, if none is known
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


@contextlib.contextmanager
def shown(place: Place, way: Way, lab: Lab, of: guests.Guest | None = None) -> Iterator[tuple[Qemu, Drain, User]]:
    """Such a guest, and a client that shows it."""
    with at_rest(place, way, lab, of) as qemu:
        height, width = qemu.screen().shape[:2]
        with connected(place, lab, "client", size=(width, height)) as viewer:
            yield qemu, viewer, User(qemu, viewer, PATIENCE)


def _beside(place: Place, way: Way, slow: bool) -> Seen:
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


def _displays(place: Place, way: Way, noise: bool = False, reopen: bool = False) -> Seen:
    """Of the other display: whether noise fills it, and whether the client closes and opens it while the guest draws."""
    with tested("20M40ms") as lab, shown(place, way, lab, place.guest("text-qxl", "qxl")) as (qemu, viewer, user):
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


def outage(seconds: int) -> str:
    """The link: 20M40ms, which goes out a second after begin_changes()."""
    return f"20M/40ms@1s:out@{1 + seconds}s:20M"


def _out(place: Place, way: Way, seconds: int) -> Seen:
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


@contextlib.contextmanager
def _with_agent(place: Place, way: Way, link: str) -> Iterator[tuple[Lab, Machine]]:
    """The link, and behind it a guest that relays the agent's port."""
    made = machine.hardware(place.steps, place.accel)
    state = qemu.state(made, place.steps)
    with tested(link) as lab, Machine(made, way.environment(), place.folder, state, lab=lab) as host:
        host.booted()
        yield lab, host


def _paste(place: Place, way: Way, link: str) -> Seen:
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


def _drop(place: Place, way: Way, link: str) -> Seen:
    with _with_agent(place, way, link) as (_, host):
        vdagent.require()
        with World(host, SpiceGtk, target.TLS, place.folder, 0) as world:
            client = world.client()
            with vdagent.agent(host.relay(AGENT_PORT), place.folder):
                first = vdagent.drop(client, place.folder, 1)       # until agent and client have met
                return Seen([vdagent.drop(client, place.folder, _PASTED)], f"a file of one byte {first:.1f} s")


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


def _connect(place: Place, way: Way, link: str) -> Seen:
    with tested(link) as lab:
        return _first_picture(place, way, lab)


def _black_hole(place: Place, way: Way, probing: bool) -> Seen:
    with tested("lan") as lab:
        # veth drops what its other end's MTU does not let in, and says nothing; the client's TCP announces what it had before
        ip = proc.require("ip", "iproute2")
        proc.call([ip, "link", "set", lab.device, "mtu", str(_HOLE)], lab.client)
        proc.call([ip, "route", "replace", lab.server_address, "dev", lab.device, "src", lab.client_address, "advmss",
                   str(links.MTU - 40)], lab.client)
        proc.call(["sh", "-c", f"echo {int(probing)} >/proc/sys/net/ipv4/tcp_mtu_probing"], lab.server)
        return _first_picture(place, way, lab)


ROWS = {row.name: row for row in (
    *(Row(f"connect-{name}", f"the first picture of a new client over {link}", partial(_connect, link=link))
      for name, link in (("2M", _SLOW), ("256k", "256k/300ms"), ("20M", "20M40ms"))),
    Row("alone", "the last picture after scrolling, one client on a LAN", partial(_beside, slow=False)),
    Row("beside-slow", f"the same, with a second client over {_SLOW}", partial(_beside, slow=True), 0.1),
    Row("display", "the last picture after scrolling over 20M40ms, of a guest with two displays, the other one at rest", _displays),
    Row("display-beside-noise", "the same while noise fills the other display", partial(_displays, noise=True)),
    Row("display-reopened", "the same while the client closes the other display and opens it again", partial(_displays, reopen=True)),
    *(Row(f"out-{seconds}s", f"20M40ms, out for {seconds} s while the guest draws: the present picture, from the first change afterwards on",
          partial(_out, seconds=seconds), 2.0) for seconds in (5, 20, 35, 70)),
    Row("paste-lan", f"a paste of {_PASTED // 1_000_000} MB into the guest, on a LAN", partial(_paste, link="lan")),
    Row("paste", "the same over 50M100ms", partial(_paste, link="50M100ms"), 3.0),
    Row("drop", f"a file of {_PASTED // 1_000_000} MB dropped on the client, to spice-vdagent, over 50M100ms",
        partial(_drop, link="50M100ms"), 3.0),
    Row("black-hole", f"the first picture over a path that silently drops packets above {_HOLE} bytes",
        partial(_black_hole, probing=False)),
    Row("black-hole-probing", "the same with tcp_mtu_probing=1 on the host", partial(_black_hole, probing=True)),
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


def planned(args: argparse.Namespace, rows: Mapping[str, Row] = ROWS) -> dict[Case, float]:
    """The runs and a guess of their seconds; raises BenchError, one line."""
    wanted = [sets.case((name,), way, args, conditions=accels.conditions(args.accel), count=args.count or 0)
              for name in lists.checked(args.rows or list(rows), "row", rows) for way in sets.of_spice(args.modes)]
    return {case: _ROW_SECONDS + case.count for case in runner.rounds(wanted, args.repeat)}


def cell(runs: Sequence[Run]) -> str:
    """Median and longest wait, and what was seen beside."""
    if not runs:
        return "–"
    waits = [wait for run in runs for wait in run.figures["waits"]]
    known = [wait for wait in waits if wait is not None]
    text = f"{statistics.median(known):.2f} s (longest {max(known):.2f}, n = {len(waits)})" if known else f"never (n = {len(waits)})"
    if known and len(known) < len(waits):
        text += f", {len(waits) - len(known)} never"
    seen = [f"{'FAILED: ' * run.failed}{run.figures['says']}" for run in runs if run.failed or run.figures["says"]]
    return "; ".join(dict.fromkeys([text, *seen]))


def _column(run: Run) -> str:
    """The way, and KVM if the guest ran under it."""
    return f"{run.case.mode}, KVM" if accels.accel_of(run) == KVM else run.case.mode


def page(kept: Sequence[Run], name: str = NAME, rows: Mapping[str, Row] = ROWS) -> str:
    """Of this tree's library only runs of the state that was measured last."""
    runs = store.of_last_library(kept)
    found: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        if run.counts:
            found.setdefault((run.case.what[0], _column(run)), []).append(run)
    columns = sorted({column for _, column in found}, key=lambda column: (not column.startswith(STOCK), column))
    lines = [[row.name, row.waits_for, f"{row.goal:g} s" if row.goal else "–",
              *(cell(found.get((row.name, column), [])) for column in columns)]
             for row in rows.values() if any(of == row.name for of, _ in found)]
    return pages.fill("live/deployment.md.j2", facts=store.facts(runs), name=name, patience=PATIENCE,
                      loads=sorted(load for run in runs for load in run.figures["load"]),
                      accels=sorted({accels.accel_of(run).upper() for run in runs}),
                      bad=[(run.case.what[0], _column(run), run.invalid) for run in runs if not run.counts],
                      table=table.markdown(["row", "the user waits for", "goal", *columns], lines, left=3 + len(columns)))


def execute(args: argparse.Namespace, name: str = NAME, rows: Mapping[str, Row] = ROWS) -> int:
    plan = runner.Plan(f"live/{name}.jsonl", planned(args, rows), args.output, f"{name}.md", partial(page, name=name, rows=rows))
    if plan.only_told(args.dry_run):
        return 0
    with command.measuring(plan) as steps:
        shown = ways.titled((case.mode for case in plan.cases), args.library)

        def one(case: Case, _attempt: int) -> Outcome:
            with tempfile.TemporaryDirectory(prefix="spice-live-", ignore_cleanup_errors=True) as folder:
                place = Place(steps, Path(folder), case.count or None, args.accel)

                def play() -> Outcome:
                    seen = rows[case.what[0]].play(place, shown[case.mode])
                    return Outcome({"waits": list(seen.waits), "says": seen.says}, failed=seen.failed)

                return watched(play)

        runs = plan.perform(one, {"qemu": qemu.qemu_version()}, lambda run: cell([run]))
    return int(not all(run.counts and not run.failed for run in runs))
