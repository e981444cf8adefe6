# SPDX-License-Identifier: LGPL-2.1-or-later
"""All runs of a comparison: which there are, in which order, done one after another."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import channels, recordings, run
from bench.progress import Progress
from bench.runspec import RunSpec

_PREFIX = "spice-bench-"


def order(cells: Sequence[RunSpec], repeats: int, seed: int) -> list[RunSpec]:
    """Every cell once a round, each round in an order of its own: whatever drifts on the machine drifts for all."""
    shuffler = random.Random(seed)
    planned: list[RunSpec] = []
    for repeat in range(1, repeats + 1):
        this_round = [replace(cell, repeat=repeat) for cell in cells]
        shuffler.shuffle(this_round)
        planned += this_round
    return planned


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def remove_stale(folder: Path | None = None) -> None:
    """Removes what a bench that was killed left in the temporary folder."""
    folder = folder or Path(tempfile.gettempdir())
    for left in folder.glob(_PREFIX + "*"):
        owner = re.match(_PREFIX + r"(\d+)-", left.name)
        if owner and not _alive(int(owner[1])):
            shutil.rmtree(left, ignore_errors=True)


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder that does not outlive this."""
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-") as name:
        yield Path(name)


def perform(spec: RunSpec) -> dict[str, Any]:
    """One run in a folder of its own."""
    plain = recordings.unpacked(spec.recording)
    with scratch() as folder:
        return run.perform(spec, folder, plain)


def outcome(record: dict[str, Any]) -> str:
    if not record["valid"]:
        return f"does not count: {record['invalid_reason']}"
    server = record["server"]
    return f"{server['data_packets']} packets with data, {server['tcp_payload_bytes'] / 1e6:.2f} MB"


# Roughly, on 2 cores; only what is left is told from it.
_START = 4.0                    # seconds: lab, certificates, capture, counting
_COMMANDS_A_SECOND = 15_000
_IN_FLIGHT = 40                 # messages before upstream waits for the client's answer
_COMMANDS_UNKNOWN = 50_000


def expected_seconds(spec: RunSpec) -> float:
    """How long a run will take, about."""
    commands = spec.recording.commands or _COMMANDS_UNKNOWN
    times = [commands / _COMMANDS_A_SECOND, commands * spec.link.delay / _IN_FLIGHT]
    if spec.pace != "max":
        times.append((spec.recording.seconds or 60) / (1 if spec.pace == "recorded" else float(spec.pace)))
    if spec.channels and spec.link.rate:
        times.append(channels.transferred_bytes(spec.channels) * 8 / spec.link.rate)
    return _START + max(times)


def key(record: dict[str, Any]) -> tuple[Any, ...]:
    """What makes two runs the same cell and repeat."""
    return tuple(record[name] for name in ("recording", "link", "pace", "transport", "library", "mode", "repeat"))


def spec_key(spec: RunSpec) -> tuple[Any, ...]:
    return (spec.recording.name, spec.link.name, spec.pace, spec.transport, spec.library.name, spec.mode, spec.repeat)


def warm_ups(cells: Sequence[RunSpec]) -> list[RunSpec]:
    """One run of each recording that is not measured: files come into memory, programs are linked."""
    shortest: dict[str, RunSpec] = {}
    for cell in sorted(cells, key=expected_seconds):
        shortest.setdefault(cell.recording.name, replace(cell, repeat=0))
    return list(shortest.values())


class Matrix:
    """Does runs one after another and hands each record to `done`."""

    def __init__(self, planned: Sequence[RunSpec], records: Sequence[dict[str, Any]],
                 done: Callable[[dict[str, Any]], None],
                 one: Callable[[RunSpec], dict[str, Any]] = perform) -> None:
        """records: what an interrupted matrix has already done of the planned."""
        self._done = done
        self._one = one
        self._attempts = {key(record): record["attempt"] for record in records}
        self._valid = {key(record) for record in records if record["valid"]}
        self._planned = planned
        self.left = [spec for spec in planned if spec_key(spec) not in self._attempts]

    def do_all(self, progress: Progress) -> None:
        """A run that does not count is tried once more at the end, unless nothing has counted at all: then trying again
        would only take twice as long to say so."""
        for spec in self.left:
            self._do(spec, 1, progress)
        again = [spec for spec in self._planned if self._attempts[spec_key(spec)] == 1
                 and spec_key(spec) not in self._valid]
        if self._valid and again:
            progress.more(len(again), sum(map(expected_seconds, again)))
            for spec in again:
                self._do(spec, 2, progress)

    def _do(self, spec: RunSpec, attempt: int, progress: Progress) -> None:
        progress.start(str(spec))
        began = time.monotonic()
        record = self._one(spec)
        record["attempt"] = attempt
        record["took_seconds"] = round(time.monotonic() - began, 3)
        self._attempts[spec_key(spec)] = attempt
        if record["valid"]:
            self._valid.add(spec_key(spec))
        progress.end(str(spec), outcome(record), expected_seconds(spec))
        self._done(record)
