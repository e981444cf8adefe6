# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run clients: real clients at a QEMU whose guest draws, in every mode, over every transport. None may be worse
than with stock."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.common import lists, paths
from bench.common import page as pages
from bench.common import table as tables
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.runs import modes as mode_names
from bench.runs import libraries, runner, store
from bench.runs.modes import STOCK
from bench.runs.store import Case, Run
from bench.source import setup, upstream
from clients import machine, packages, plans, proxies, table, target
from clients.drivers.base import Driver
from clients.machine import Machine
from clients.table import BAD, NOT_RUN
from clients.world import World
from guest import qemu
from guest.errors import Failed, NotRun
from guest.qemu import Hardware

STORE = "clients/clients.jsonl"     # below results/; also of migrations
MODES = (STOCK, "cork", "batch", "flow")
_BY_NAME = {driver.name: driver for driver in plans.DRIVERS}
_SECONDS = 30.0     # duration of a run, if none is known
_DRAW, _IDLE = 20.0, 75.0       # duration of these scenarios in seconds; proxies close connections that are idle for 60


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Tests the compatibility of clients with a QEMU whose guest draws text: each client, transport, mode and scenario "
                          "is one run.")
    for option, says in (("clients", ", ".join(_BY_NAME)), ("transports", ", ".join(target.TRANSPORTS)),
                         ("modes", f"{', '.join(MODES)}; settings after a colon: flow:hold=0"), ("scenarios", ", ".join(plans.SCENARIOS))):
        parser.add_argument(f"--{option}", metavar="LIST", help=says)
    qemu.configure(parser)
    runner.options(parser, "clients", "runs per cell")


def environment_of(mode: str, release: str = upstream.DEFAULT) -> dict[str, str]:
    """QEMU's, with the mode and its library."""
    return qemu.environment(libraries.of_mode(mode, release=release).directory, mode_names.stream_value(mode))


class Player:
    """Makes runs on as few QEMUs as possible."""

    def __init__(self, guest: Hardware, state: Path, folder: Path) -> None:
        self._guest, self._state, self._folder = guest, state, folder
        self._shown: dict[str, str] | None = None      # the environment of its QEMU
        self._machine: Machine | None = None
        self._machines = 0

    def play(self, case: Case, env: dict[str, str], attempt: int) -> runner.Outcome:
        driver = _BY_NAME[case.what[0]]
        figures, versions = dict[str, Any](), dict[str, str]()

        def play() -> str:
            versions["client"] = driver.version()
            world = self._world(case, driver, env)
            try:
                says = plans.scenario(case.what[1])(world)
                world.check_machine()
                return says
            finally:
                figures.update(world.figures)
                with suppress(Failed):
                    world.nobody()

        done = table.outcome(play, attempt)
        if done.failed or done.invalid and done.again:
            if done.failed and self._machine and not self._machine.running():
                figures["says"] = self._machine.ended()
            self.close()  # so that the next one is not affected
        if case.link in target.PROXIES and (version := proxies.versions().get(case.link.partition("-")[0])):
            versions["relay"] = version
        return replace(done, figures={**done.figures, **figures}, about=versions)

    def _world(self, case: Case, driver: type[Driver], env: dict[str, str]) -> World:
        way = machine.WAY.get(case.link, machine.OPEN)
        if self._machine and (self._machine.way, self._shown) != (way, env) or case.what[1] == "resize":
            self.close()
        self._machines += 1
        folder = self._folder / f"{self._machines}"
        folder.mkdir()
        if self._machine is None:
            self._machine, self._shown = Machine(self._guest, env, folder / "machine", self._state, way), env
            self._machine.booted()
        return World(self._machine, driver, case.link, folder, _DRAW, _IDLE)

    def close(self) -> None:
        if self._machine:
            self._machine.close()
            self._machine = None


def _versions(shown: Sequence[Run]) -> dict[str, str]:
    """Of the clients and relays, in the order of the tables."""
    clients = {run.case.what[0]: run.environment["client"] for run in shown if "client" in run.environment}
    relays = {run.case.link.partition("-")[0]: run.environment["relay"] for run in shown if "relay" in run.environment}
    return {**clients, **relays}


def page(runs: Sequence[Run]) -> str:
    """Empty without runs of clients."""
    cells = store.latest(kept := table.kept(runs))
    if not cells:
        return ""
    played = {run.case.mode for run in cells}
    modes = [mode for mode in (*MODES, *sorted(played - set(MODES))) if mode in played]
    return pages.fill(
        "clients/clients.md.j2", cells=cells, facts=store.facts(cells), accel=table.accel_of(cells[-1]), worse=table.worse_than_stock(cells),
        counts=Counter(map(table.outcome_of, cells)), replaced=table.repeated(kept), lost=table.lost(kept), versions=_versions(cells),
        table=table.markdown(cells, modes, plans.SCENARIOS, "client"), messages=_messages(cells, modes),
        bad=table.reasons(cells, BAD), not_run=table.reasons(cells, NOT_RUN), libraries=table.libraries(cells),
        scenarios={name: (sys.modules[plans.scenario(name).__module__].__doc__ or "").strip() for name in plans.SCENARIOS})


def _messages(cells: Sequence[Run], modes: Sequence[str]) -> str | None:
    """Messages of the display channel in the scenario draw, if the client counts them."""
    counted: dict[tuple[str, str], dict[str, str]] = {}
    for run in cells:
        if run.case.what[1] == "draw" and "messages" in run.figures:
            counted.setdefault((run.case.what[0], run.case.link), {})[run.case.mode] = (
                f"{run.figures['messages a line']:.2f} ({run.figures['messages']:.0f})")
    lines = [[*row, *(found.get(mode, tables.UNKNOWN) for mode in modes)] for row, found in counted.items()]
    return tables.markdown(("client", "transport", *modes), lines, left=2, padded=False) if lines else None


def of_one_accel(plan: runner.Plan, accel: str) -> runner.Plan:
    """All runs of a folder are of guests with the same accelerator."""
    if plan.store.runs and (was := table.accel_of(plan.store.runs[-1])) != accel:
        raise BenchError(f"{plan.output} has results of --accel {was}: name another folder for those of {accel} (--output)", 2)
    return plan


def execute(args: argparse.Namespace) -> int:
    modes = [mode_names.check(name) for name in lists.read(args.modes, MODES, "mode")]
    wanted = plans.cases([_BY_NAME[name] for name in lists.read(args.clients, list(_BY_NAME), "client", _BY_NAME)],
                         lists.read(args.transports, target.TRANSPORTS, "transport", target.TRANSPORTS), modes,
                         lists.read(args.scenarios, plans.SCENARIOS, "scenario", plans.SCENARIOS), table.conditions(args.accel))
    if not wanted:
        raise BenchError("the chosen clients cannot use the chosen transports: see ./run clients --dry-run", 2)
    cases = {case: _IDLE if case.what[1] == plans.IDLE else _SECONDS for case in runner.rounds(wanted, args.repeat)}
    plan = of_one_accel(runner.Plan(STORE, cases, args.output, "README.md", page), args.accel)
    if plan.only_told(args.dry_run):
        return 0
    steps = Steps(paths.cache_dir() / "clients" / "log")
    packages.require()
    made = machine.hardware(steps, args.accel)
    for name in dict.fromkeys(case.what[0] for case in plan.left):
        try:
            _BY_NAME[name].install(steps)
        except NotRun as error:
            steps.say(f"{name}: {error}")
    if any(case.link in target.PROXIES for case in plan.left):
        try:
            proxies.install(steps)
        except NotRun as error:
            steps.say(str(error))
    setup.current()
    found = {mode: environment_of(mode) for mode in modes}
    state = qemu.state(made, steps)
    with tempfile.TemporaryDirectory(prefix="spice-clients-", ignore_cleanup_errors=True) as folder, \
            closing(Player(made, state, Path(folder))) as player:
        runs = plan.perform(lambda case, attempt: player.play(case, found[case.mode], attempt),
                            {"qemu": qemu.qemu_version()}, table.said)
    worse = table.worse_than_stock(store.latest(table.kept(plan.store.runs)))
    print(f"{len(worse)} of all cells there are worse than stock")
    return int(bool(worse) or any(run.failed and run.case.mode != STOCK for run in runs))
