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

from bench import recordings, run
from bench.progress import Progress

_PREFIX = "spice-bench-"


def order(cells: Sequence[run.RunSpec], repeats: int, seed: int) -> list[run.RunSpec]:
    """Every cell once a round, each round in an order of its own: whatever drifts on the machine drifts for all."""
    shuffler = random.Random(seed)
    planned: list[run.RunSpec] = []
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


def perform(spec: run.RunSpec) -> dict[str, Any]:
    """One run in a folder of its own."""
    plain = recordings.unpacked(spec.recording)
    with scratch() as folder:
        return run.perform(spec, folder, plain)


def outcome(record: dict[str, Any]) -> str:
    if not record["valid"]:
        return f"does not count: {record['invalid_reason']}"
    server = record["server"]
    return f"{server['data_packets']} packets with data, {server['tcp_payload_bytes'] / 1e6:.2f} MB"


def run_all(planned: Sequence[run.RunSpec], progress: Progress, done: Callable[[dict[str, Any]], None],
            one: Callable[[run.RunSpec], dict[str, Any]] = perform) -> None:
    """Does the runs in order and hands each record to done. A run that does not count is tried once more at the end,
    unless nothing has counted at all: then trying again would only take twice as long to say so."""
    again: list[run.RunSpec] = []
    any_valid = False

    def do(spec: run.RunSpec, attempt: int) -> bool:
        progress.start(str(spec))
        began = time.monotonic()
        record = one(spec)
        record["attempt"] = attempt
        record["took_seconds"] = round(time.monotonic() - began, 3)
        progress.end(str(spec), outcome(record))
        done(record)
        return bool(record["valid"])

    for spec in planned:
        if do(spec, 1):
            any_valid = True
        else:
            again.append(spec)
    if any_valid and again:
        progress.more(len(again))
        for spec in again:
            do(spec, 2)
