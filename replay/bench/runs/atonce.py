# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which runs may run at the same time (--jobs), and how long all take then. Each has its own namespaces, link and
folder. Runs that mostly wait share the machine; a run that needs the CPU is alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench.runs import expected
from bench.runs.runspec import RunSpec

MOST = 32

# Processors that all runs at once may use, by estimate. The rest of two is for bursts.
_TOGETHER = 1.4
_TOGETHER_TIMED = 0.8

Batch = list[RunSpec]


def batches(planned: Iterable[RunSpec], jobs: int) -> list[Batch]:
    """Batches of runs; the runs of one batch may run together. First the runs that need the CPU, one by one, then all that wait,
    in their order. Those are not split into rounds, as at the end of each round fewer would run than could."""
    runs = list(planned)
    if jobs == 1:
        return [[spec] for spec in runs]
    waiting = [spec for spec in runs if expected.mostly_waits(spec)]
    alone = [[spec] for spec in runs if not expected.mostly_waits(spec)]
    return [*alone, waiting] if waiting else alone


def has_room(under_way: Sequence[RunSpec], spec: RunSpec, jobs: int) -> bool:
    """Whether one more run of a batch may start."""
    if not under_way:
        return True
    together = [*under_way, spec]
    most = _TOGETHER_TIMED if any(map(expected.is_timed, together)) else _TOGETHER
    return len(under_way) < jobs and sum(map(expected.share, together)) <= most


def seconds(plan: Iterable[Batch], jobs: int, under_way: Iterable[tuple[RunSpec, float]] = ()) -> float:
    """Estimated duration of the batches. under_way: the runs of the first that have started, and for how many seconds they have
    run."""
    total = 0.0
    for batch in plan:
        total += _together(batch, jobs, [(max(0.0, expected.seconds(spec) - since), spec) for spec, since in under_way])
        under_way = ()
    return total


def _together(batch: Batch, jobs: int, ends: list[tuple[float, RunSpec]]) -> float:
    """The duration of a batch. `ends`: when the runs that have started end."""
    now = 0.0
    for spec in batch:
        while not has_room([one for _, one in ends], spec, jobs):
            ends.sort(key=lambda end: end[0])
            now, _ = ends.pop(0)
        ends.append((now + expected.seconds(spec), spec))
    return max((end for end, _ in ends), default=0.0)
