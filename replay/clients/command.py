# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run clients: real clients at a QEMU whose guest draws, in every mode, over every transport. None may be worse
than with stock."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.common import atomic, paths
from bench.common import page as pages
from bench.common import table as tables
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.runs import modes as mode_names
from bench.source import setup, upstream
from clients import machine, packages, plans, proxies, table, target
from clients.drivers.base import Driver
from clients.machine import STOCK, Library, Machine
from clients.plans import Plan
from clients.table import BAD, GOOD, NOT_RUN, Cell
from clients.world import World
from distro import changes
from guest import qemu
from guest.errors import BREAKS, Failed, NotRun
from guest.qemu import TCG, Hardware
from recordings import releases

MODES = (STOCK, "cork", "batch", "flow")
HOME = paths.OWN_RESULTS / "clients"
NAME = "clients"
_DRAW, _IDLE = 20.0, 75.0       # duration of these scenarios in seconds; proxies close connections that are idle for 60


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Tests the compatibility of clients with a QEMU whose guest draws text: each client, transport, mode and scenario "
        "is one run."
    )
    names = ", ".join(driver.name for driver in plans.DRIVERS)
    for option, says in (
        ("clients", names),
        ("transports", ", ".join(target.TRANSPORTS)),
        ("modes", f"{', '.join(MODES)}; settings after a colon: flow:hold=0"),
        ("scenarios", ", ".join(plans.SCENARIOS)),
    ):
        parser.add_argument(f"--{option}", metavar="LIST", help=says)
    qemu.configure(parser)
    parser.add_argument("--output", type=Path, default=HOME, metavar="DIR", help="folder of the results (results/own/clients)")
    parser.add_argument("--dry-run", action="store_true", help="list what would be run, run nothing")


def chosen(named: str | None, known: Sequence[str], what: str) -> list[str]:
    """The names in a list with commas; without a list, all of them."""
    if named is None:
        return list(known)
    names = [name.strip() for name in named.split(",")]
    for name in names:
        if name not in known:
            raise BenchError(f"unknown {what} {name!r}: choose one of {', '.join(known)}", 2)
    return names


def stream_mode(text: str) -> str:
    """A mode as Library has it; on the command line, a colon stands for the comma."""
    return STOCK if text == STOCK else mode_names.stream_value(mode_names.check(text))


def libraries(release: str, modes: Sequence[str], steps: Steps) -> list[Library]:
    """The libraries of these modes; for the default release, those of ./run setup."""
    if release == upstream.DEFAULT:
        if paths.build_is_ours():
            setup.setup()
        folders = {True: paths.patched_library(), False: paths.stock_library()}
    else:
        folders = {
            ours: (releases.patched if ours else releases.stock)(release, steps).library
            for ours in {mode != STOCK for mode in modes}
        }
    return [Library(folders[mode != STOCK], mode) for mode in modes]


def library_of() -> str:
    """Date of the last change of the library, as in the version of our packages."""
    return f"{changes.moment():{changes.VERSION}}"


class Player:
    """Runs cells, on as few QEMUs as possible."""

    def __init__(self, guest: Hardware, state: Path, folder: Path, say: Any) -> None:
        self._made = library_of()
        self._guest, self._state, self._folder, self._say = guest, state, folder, say
        self._shown: Library | None = None
        self._machine: Machine | None = None
        self._machines = 0

    def play(self, plan: Plan, library: Library) -> Cell:
        cell = Cell(plan.driver.name, plan.transport, library.mode, plan.scenario, date=table.now(), library=self._made)
        began = time.monotonic()
        try:
            plan.driver.version()
            world = self._world(plan, library)
            try:
                cell.says = plans.scenario(plan.scenario)(world)
                world.check_machine()
                cell.outcome = GOOD
            finally:
                cell.figures = world.figures
                with suppress(Failed):
                    world.nobody()
        except NotRun as error:
            cell.says = str(error)
        except BREAKS as error:
            cell.outcome, cell.says = BAD, str(error)
            if self._machine and not self._machine.running():
                cell.says = self._machine.ended()
            self.end()  # so that the next one is not affected
        cell.seconds = round(time.monotonic() - began, 1)
        self._say(f"{plan.driver.name}, {plan.transport}, {library.mode}, {plan.scenario}: {cell.outcome}: {cell.says}")
        return cell

    def _world(self, plan: Plan, library: Library) -> World:
        way = machine.WAY.get(plan.transport, machine.OPEN)
        if self._machine and (self._machine.way, self._shown) != (way, library) or plan.scenario == "resize":
            self.end()
        self._machines += 1
        folder = self._folder / f"{self._machines}"
        folder.mkdir()
        if self._machine is None:
            self._machine, self._shown = Machine(self._guest, library.environment(), folder / "machine", self._state, way), library
            self._machine.booted()
        return World(self._machine, plan.driver, plan.transport, folder, _DRAW, _IDLE)

    def end(self) -> None:
        if self._machine:
            self._machine.close()
            self._machine = None


def _order(plans: Sequence[Plan]) -> list[Plan]:
    """Cells that share a QEMU follow each other."""
    ways = [machine.OPEN, machine.SASL, machine.UNIX, machine.SANDBOX]
    return sorted(plans, key=lambda plan: ways.index(machine.WAY.get(plan.transport, machine.OPEN)))


def versions(drivers: Sequence[type[Driver]]) -> dict[str, str]:
    found = {}
    for driver in drivers:
        try:
            found[driver.name] = driver.version()
        except NotRun as error:
            found[driver.name] = f"not here: {error}"
    return found


def page(found: Sequence[Cell], facts: dict[str, Any]) -> str:
    cells = table.typed(found)
    played = {cell.mode for cell in cells}
    modes = [mode for mode in (*MODES, *sorted(played - set(MODES))) if mode in played]
    return pages.fill(
        "clients/clients.md.j2", cells=cells, facts=facts, worse=table.worse_than(STOCK, cells), counts=Counter(cell.outcome for cell in cells),
        replaced=table.repeated(cells), table=table.markdown(cells, modes, plans.SCENARIOS, "client"), messages=_messages(cells, modes),
        bad=table.reasons(cells, BAD), not_run=table.reasons(cells, NOT_RUN), libraries=table.libraries(cells),
        scenarios={name: (sys.modules[plans.scenario(name).__module__].__doc__ or "").strip() for name in plans.SCENARIOS})


def _messages(cells: Sequence[Cell], modes: Sequence[str]) -> str | None:
    """Messages of the display channel in the scenario draw, if the client counts them."""
    counted: dict[tuple[str, str], dict[str, str]] = {}
    for cell in cells:
        if cell.scenario == "draw" and "messages" in cell.figures:
            counted.setdefault((cell.row, cell.transport), {})[cell.mode] = (
                f"{cell.figures['messages a line']:.2f} ({cell.figures['messages']:.0f})")
    lines = [[*row, *(found.get(mode, tables.UNKNOWN) for mode in modes)] for row, found in counted.items()]
    return tables.markdown(("client", "transport", *modes), lines, left=2, padded=False) if lines else None


def execute(args: argparse.Namespace) -> int:
    by_name = {driver.name: driver for driver in plans.DRIVERS}
    drivers = [by_name[name] for name in chosen(args.clients, list(by_name), "client")]
    wanted = plans.plans(
        drivers,
        chosen(args.transports, target.TRANSPORTS, "transport"),
        chosen(args.scenarios, plans.SCENARIOS, "scenario"),
    )
    names = args.modes.split(",") if args.modes else list(MODES)
    modes = [stream_mode(name) for name in names]
    if not wanted:
        raise BenchError("the chosen clients cannot use the chosen transports: see ./run clients --dry-run", 2)
    if args.dry_run:
        for plan in wanted:
            print(f"{plan.driver.name}, {plan.transport}, {plan.scenario}: {', '.join(modes)}")
        return 0
    return _play_all(args, drivers, wanted, modes)


def cells_of(folder: Path, accel: str) -> tuple[list[Cell], dict[str, Any]]:
    """The cells of the folder and their facts. All are of guests with the same accelerator."""
    cells, facts = table.load(folder, NAME)
    if cells and (was := facts.get("accel", TCG)) != accel:
        raise BenchError(f"{folder} has results of --accel {was}: name another folder for those of {accel} (--output)", 2)
    return cells, {**facts, "accel": accel}


def _play_all(args: argparse.Namespace, drivers: list[type[Driver]], wanted: list[Plan], modes: list[str]) -> int:
    steps = Steps(paths.cache_dir() / "clients" / "log")
    before, was = cells_of(args.output, args.accel)
    packages.require()
    made = machine.hardware(steps, args.accel)
    for driver in drivers:
        try:
            driver.install(steps)
        except NotRun as error:
            steps.say(f"{driver.name}: {error}")
    if any(plan.transport in target.PROXIES for plan in wanted):
        try:
            proxies.install(steps)
        except NotRun as error:
            steps.say(str(error))
    found = libraries(upstream.DEFAULT, modes, steps)
    steps.say("booting the guest, once")
    state = qemu.state(made, qemu.environment(paths.stock_library()))
    old, moves = ([cell for cell in before if cell.is_migration is moved] for moved in (False, True))
    facts = {
        **was,
        "date": table.now(),
        "qemu": qemu.qemu_version(),
        "release": upstream.DEFAULT,
        "guest": f"a guest that draws text ({args.accel.upper()}, QXL)",
        "versions": {**was.get("versions", {}), **versions(drivers), **proxies.versions()},
    }
    cells: list[Cell] = []
    everything = old
    with tempfile.TemporaryDirectory(prefix="spice-clients-", ignore_cleanup_errors=True) as folder:
        player = Player(made, state, Path(folder), steps.say)
        try:
            for library in found:
                for plan in _order(wanted):
                    cells.append(player.play(plan, library))
                    everything = table.merged(old, cells)
                    table.save(args.output, NAME, [*everything, *moves], facts)
        finally:
            player.end()
            if cells:  # also if interrupted
                atomic.write_text(args.output / "README.md", page(everything, facts))
    worse = table.worse_than(STOCK, everything)
    print(f"{args.output / 'README.md'}: {len(cells)} cells played, {len(worse)} of all there are worse than stock")
    return 1 if worse or any(cell.outcome == BAD and cell.mode != STOCK for cell in cells) else 0
