# SPDX-License-Identifier: LGPL-2.1-or-later
"""What guests and clients have shown: a line of JSON per run, in the order of the runs. Nothing is removed from it: a run that does not
count stays with its reason, and one that was repeated stays beside the repeat."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from bench.common.errors import BenchError

START = 11.0        # seconds of a run that do not depend on the number of actions: link, QEMU, client


@dataclass(frozen=True)
class Case:
    """What a run measures. Equal cases are the same measurement."""

    what: tuple[str, ...]           # such as guest and scenario, or client and scenario
    mode: str                       # as in tables: stock, flow (DIR), vnc; a pair of libraries
    link: str = ""                  # or a client's transport
    conditions: tuple[tuple[str, str], ...] = ()        # that are not the usual ones
    repeat: int = 1
    count: int = field(default=0, compare=False)        # actions, at least
    ours: bool = field(default=True, compare=False)     # whether the library of this tree is part of it

    @property
    def row(self) -> str:
        """The same for all repeats: on the command line, in files and in progress output."""
        words = (*self.what, self.link.replace("/", "-"), *(value for _, value in self.conditions), self.mode)
        return "/".join(filter(None, words))

    def __str__(self) -> str:
        return f"{self.row} run {self.repeat}" if self.repeat > 1 else self.row


@dataclass(frozen=True)
class Run:
    case: Case
    figures: Mapping[str, Any] = field(default_factory=dict)
    invalid: str | None = None      # why it does not count
    failed: bool = False            # it counts, and what must not happen has happened
    library: str | None = None      # hash of what this tree's library was made from; None if the case is of others
    date: str = ""                  # UTC
    seconds: float = 0.0            # duration
    environment: Mapping[str, Any] = field(default_factory=dict)

    @property
    def counts(self) -> bool:
        return self.invalid is None

    @property
    def day(self) -> str:
        return self.date.partition(" ")[0]

    @classmethod
    def read(cls, line: str) -> Self:
        """Raises ValueError, KeyError or TypeError."""
        told = json.loads(line)
        case = told.pop("case")
        conditions = tuple((str(name), str(value)) for name, value in case.pop("conditions").items())
        made = cls(Case(tuple(case.pop("what")), conditions=conditions, **case), **told)
        words = (*made.case.what, made.case.mode, made.case.link, made.date, made.library or "", made.invalid or "")
        if not all(isinstance(word, str) for word in words) or not all(isinstance(part, dict) for part in (made.figures, made.environment)):
            raise TypeError
        return made

    def written(self) -> str:
        """`ours` is of plans: a run says which library it was."""
        told = {each.name: getattr(self, each.name) for each in fields(self)}
        case = asdict(self.case)
        del case["ours"]
        return json.dumps({**told, "case": {**case, "conditions": dict(self.case.conditions)}}) + "\n"


def now() -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime())


class Store:
    """The runs in a file. A last line without an end was cut off when it was written, and is no run."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.runs: list[Run] = []
        for number, line in enumerate(file.read_bytes().split(b"\n")[:-1] if file.exists() else (), 1):
            try:
                self.runs.append(Run.read(line.decode()))
            except (ValueError, KeyError, TypeError, AttributeError):
                raise BenchError(f"{file}, line {number} is damaged: remove the line") from None

    def add(self, run: Run) -> None:
        """Written at once: an interruption loses only the run that is under way. What was cut off is removed first."""
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("ab+") as file:
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
                file.write(run.written().encode())
        except OSError as error:
            raise BenchError(f"cannot write {self.file}: {error.strerror}") from None
        self.runs.append(run)

    def left(self, cases: Iterable[Case], library: str) -> list[Case]:
        """Those whose last run that counts, which pages show, failed, has fewer actions, or is not of this library, if the case is of this
        tree's; and those without such a run."""
        last = {run.case: run for run in latest(self.runs)}

        def done(case: Case) -> bool:
            run = last.get(case)
            return (run is not None and run.counts and not run.failed and run.case.count >= case.count
                    and run.library == (library if case.ours else None))

        return [case for case in cases if not done(case)]


def latest(runs: Iterable[Run]) -> list[Run]:
    """The last run of each case that counts; the last one at all where none does."""
    found: dict[Case, Run] = {}
    for run in runs:
        if run.counts or run.case not in found or not found[run.case].counts:
            found[run.case] = run
    return list(found.values())


def of_last_library(runs: Sequence[Run]) -> list[Run]:
    """Of this tree's library only the runs of the state that was measured last."""
    last = next((run.library for run in reversed(runs) if run.library is not None), None)
    return [run for run in runs if run.library in (None, last)]


def facts(runs: Sequence[Run]) -> dict[str, Any]:
    """For a page of them: the environment and the time of the newest run; the commits of all."""
    newest = max(runs, key=lambda run: run.date)
    return {**newest.environment, "date": newest.date, "day": newest.day,
            "tree": ", ".join(dict.fromkeys(run.environment["commit"] for run in runs if "commit" in run.environment))}


def expected(cases: Mapping[Case, float], known: Iterable[Run]) -> dict[Case, float]:
    """Estimated seconds of the cases, each with a guess: as long as the last run of the same took, if that is known."""
    took = {replace(run.case, repeat=1): run for run in known if run.counts and run.seconds}

    def one(case: Case, guess: float) -> float:
        run = took.get(replace(case, repeat=1))
        if run is None:
            return guess
        scale = case.count / run.case.count if case.count and run.case.count else 1
        return START + max(0.0, run.seconds - START) * scale

    return {case: one(case, guess) for case, guess in cases.items()}
