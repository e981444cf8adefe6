# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the runs that a store lacks, one after another. ./run compare has its own order and parallel runs: see matrix."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.common import atomic, paths
from bench.common.errors import BenchError
from bench.common.progress import Progress, duration
from bench.runs import environment, store
from bench.runs.store import Case, Run, Store

TRIES = 2       # of a run that does not count


@dataclass(frozen=True)
class Outcome:
    figures: Mapping[str, Any] = field(default_factory=dict)
    invalid: str | None = None      # why the run does not count
    failed: bool = False            # it counts, and what must not happen has happened
    again: bool = True              # whether a repeat may count
    about: Mapping[str, Any] = field(default_factory=dict)      # of the environment


One = Callable[[Case, int], Outcome]        # makes a run: its case and the number of the try


def options(parser: argparse.ArgumentParser, folder: str, repeat: str = "runs per row") -> None:
    """Those of every command that keeps its runs here."""
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help=f"{repeat} (%(default)s)")
    parser.add_argument("--output", type=Path, default=paths.OWN_RESULTS / folder, metavar="DIR",
                        help=f"for runs and page (results/own/{folder}); results/{folder} publishes them. Runs that are there are not "
                             "repeated")
    parser.add_argument("--dry-run", action="store_true", help="list what is left and the estimated time, measure nothing")


def rounds(cases: Sequence[Case], repeat: int) -> list[Case]:
    """All cases, so many times, round by round."""
    if repeat < 1:
        raise BenchError("--repeat must be at least 1", 2)
    return [replace(case, repeat=number) for number in range(1, repeat + 1) for case in cases]


@dataclass
class Plan:
    """The cases of a command, each with a guess of its seconds. `output` has their store and page; results/ may have published ones."""

    store_name: str                 # below results/
    cases: Mapping[Case, float]
    output: Path
    page_name: str
    page: Callable[[Sequence[Run]], str]

    def __post_init__(self) -> None:
        self.look()

    def look(self) -> None:
        """Reads what is there, again if another command may have added to it."""
        self.store = Store(self.output / Path(self.store_name).name)
        self.library = environment.library()
        self.left = self.store.left(self.cases, self.library)
        self._seconds = store.expected(self.cases, [*Store(paths.RESULTS / self.store_name).runs, *self.store.runs])

    def _expected(self, cases: Sequence[Case]) -> float:
        return sum(self._seconds[case] for case in cases)

    def foretold(self) -> str:
        there = len(self.cases) - len(self.left)
        return (f"{len(self.left)} runs, about {duration(self._expected(self.left))} on an idle machine"
                f"{f'; {there} are there already' if there else ''}")

    def only_told(self, dry_run: bool, more: str = "") -> bool:
        """Says what is left, if that was asked for; otherwise checks that the output takes files."""
        if not dry_run:
            atomic.require(self.output)
            return False
        for case in self.left:
            print(f"{case}{f': {case.count} actions' if case.count else ''}")
        print(f"{self.foretold()}.{more}")
        return True

    def _show(self) -> None:
        atomic.write_text(self.output / self.page_name, self.page(self.store.runs))

    def perform(self, one: One, about: Mapping[str, Any], says: Callable[[Run], str]) -> list[Run]:
        """Makes the runs that are left, and writes the page after each; one that does not count is repeated once, at the end. `about`: what
        to keep of the environment besides the machine. Returns a run per case that was left: the last that counts, if there is one."""
        here, before, todo = {**environment.short(), **about}, len(self.store.runs), self.left
        progress = Progress(len(todo), self._expected(todo))
        progress.note(self.foretold())
        try:
            for attempt in range(1, TRIES + 1):
                again = []
                for case in todo:
                    progress.start(str(case))
                    began, date = time.monotonic(), store.now()
                    outcome = one(case, attempt)
                    run = Run(case, outcome.figures, outcome.invalid, outcome.failed, self.library if case.ours else None, date,
                              round(time.monotonic() - began, 1), {**here, **outcome.about})
                    self.store.add(run)
                    self._show()
                    progress.end(str(case), says(run) if run.counts else f"does not count: {run.invalid}", self._expected([case]))
                    again += [case] if outcome.again and not run.counts else []
                todo = again
                progress.more(len(todo), self._expected(todo))
        finally:
            progress.clear()
        self._show()
        made = store.latest(self.store.runs[before:])
        missing, failed = sum(not run.counts for run in made), sum(run.failed for run in made)
        print(f"{self.output / self.page_name}: {len(made) - missing} runs made, {len(self.cases) - len(self.left)} were there, "
              f"{missing} do not count{f', {failed} failed' if failed else ''}")
        return made
