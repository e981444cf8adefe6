# SPDX-License-Identifier: LGPL-2.1-or-later
"""All runs of a comparison, in shuffled order, one after another or several at once."""

from __future__ import annotations

import collections
import contextlib
import os
import random
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from recordings import catalogue

from bench.common.progress import Progress
from bench.lab import links
from bench.runs import atonce, results, run
from bench.runs.runspec import RunSpec
from bench.runs.workers import Workers

_PREFIX = "spice-bench-"


def _of_round(cell: RunSpec, repeat: int) -> RunSpec:
    """Only captured runs have pauses, at which pictures are compared: pauses would change the times of the others."""
    this = replace(cell, repeat=repeat)
    return this if this.captured else replace(this, pause_at=())


def order(cells: Sequence[RunSpec], repeats: int, seed: int) -> list[RunSpec]:
    """Every cell once per round, each round in another random order, so that drifts of the machine affect all cells alike."""
    shuffler = random.Random(seed)
    planned: list[RunSpec] = []
    for repeat in range(1, repeats + 1):
        this_round = [_of_round(cell, repeat) for cell in cells]
        shuffler.shuffle(this_round)
        planned += this_round
    return planned


def _alive(pid: int) -> bool:
    """A zombie is not: the first process of a container may take seconds to wait for a run whose bench was killed."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def remove_stale(folder: Path | None = None) -> None:
    """Removes what a killed bench left in the temporary folder."""
    folder = folder or Path(tempfile.gettempdir())
    for left in folder.glob(_PREFIX + "*"):
        owner = re.match(_PREFIX + r"(\d+)-", left.name)
        if owner and not _alive(int(owner[1])):
            shutil.rmtree(left, ignore_errors=True)


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder, removed at the end."""
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-") as name:
        yield Path(name)


def perform(spec: RunSpec) -> dict[str, Any]:
    """Does one run in a folder of its own."""
    plain = catalogue.unpacked(spec.recording)
    with scratch() as folder:
        return run.perform(spec, folder, plain)


def outcome(record: dict[str, Any]) -> str:
    if not record["valid"]:
        return f"does not count: {record['invalid_reason']}"
    server = record["server"]
    if not record["captured"]:
        return f"{record['wall_seconds']:.2f} s" if record["wall_seconds"] is not None else "played"
    return f"{server['data_packets']} packets with data, {server['tcp_payload_bytes'] / 1e6:.2f} MB"


def warm_ups(cells: Sequence[RunSpec]) -> list[RunSpec]:
    """One run of each recording that is not measured, so that files are in memory and programs linked. It needs no slow link and
    no pace."""
    warm: dict[str, RunSpec] = {}
    for cell in cells:
        warm.setdefault(cell.recording.name, replace(
            cell, repeat=0, link=links.LINKS["lan"], pace="max", streaming="off", probe_every=None,
            pause_at=(), channels=None, beside_download=False))
    return list(warm.values())


class Matrix:
    """Does all runs, up to `jobs` at once of those that wait, and passes each record to `done`."""

    def __init__(self, planned: Sequence[RunSpec], records: Sequence[dict[str, Any]],
                 done: Callable[[dict[str, Any]], None],
                 one: Callable[[RunSpec], dict[str, Any]] = perform, jobs: int = 1) -> None:
        """records: what an interrupted matrix has already done of the planned."""
        self._done = done
        self._one = one
        self._jobs = jobs
        self._attempts = {results.case(record): record["attempt"] for record in records}
        self._valid = {results.case(record) for record in records if record["valid"]}
        self._planned = planned
        self.left = [spec for spec in planned if spec.case not in self._attempts]

    @property
    def expected_seconds(self) -> float:
        return atonce.seconds(atonce.batches(self.left, self._jobs), self._jobs)

    def do_all(self, progress: Progress) -> None:
        """Repeats a run that does not count once, at the end; unless no run has counted, as repeats would then only double the
        time."""
        for batch in atonce.batches(self.left, self._jobs):
            self._do(batch, 1, progress)
        again = [spec for spec in self._planned if self._attempts[spec.case] == 1
                 and spec.case not in self._valid]
        if self._valid and again:
            batches = atonce.batches(again, self._jobs)
            progress.more(len(again), atonce.seconds(batches, self._jobs))
            for batch in batches:
                self._do(batch, 2, progress)

    def _do(self, batch: atonce.Batch, attempt: int, progress: Progress) -> None:
        left = atonce.seconds([batch], self._jobs)
        to_come = collections.deque(batch)
        with Workers(self._one) as workers:
            try:
                while to_come or workers.under_way:
                    while to_come and atonce.has_room(workers.under_way, to_come[0], self._jobs):
                        workers.start(to_come.popleft())
                    if len(batch) == 1:
                        progress.start(str(batch[0]))
                    else:
                        progress.under_way(len(workers.under_way))
                    spec, record = workers.next()
                    before, left = left, atonce.seconds([list(to_come)], self._jobs, workers.since())
                    self._take(spec, record, attempt, before - left, progress)
            except BaseException:
                for spec, record in workers.arrived():
                    self._take(spec, record, attempt, 0, progress)
                raise

    def _take(self, spec: RunSpec, record: dict[str, Any], attempt: int, seconds: float, progress: Progress) -> None:
        """seconds: by how much the expected time left decreases."""
        record["attempt"] = attempt
        self._attempts[spec.case] = attempt
        if record["valid"]:
            self._valid.add(spec.case)
        self._done(record)
        progress.end(str(spec), outcome(record), seconds)
