# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether all runs of a recording show the same pictures, at its end and at the pause points.

There is one set of pictures without loss, and on slow links a second one: a server that takes the link for slow, from one
measurement at the start, sends photographs as JPEG (and waits for fewer answers, so such runs differ in more than pictures).
JPEG loses the same every time, so that set must be the same in every mode, too."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping
from typing import Any

from bench import links

Run = dict[str, Any]
Series = tuple[tuple[int, str], ...]    # command and picture of each moment; the end is command -1

_END = -1


def _series(run: Run) -> Series:
    return (*((pause["command"], pause["sha256"]) for pause in run["pauses"]), (_END, run["picture_sha256"]))


def _may_be_slow(run: Run) -> bool:
    return links.find(run["link"]).may_be_slow


def _most_common(runs: Iterable[Run]) -> Series:
    return collections.Counter(map(_series, runs)).most_common(1)[0][0]


def _without_loss(runs: list[Run], last: str | None) -> Series:
    """What most runs over a lan show; of those that end as the recording does, where that is known."""
    near = [run for run in runs if not _may_be_slow(run)] or runs
    good = [run for run in near if last in (None, run["picture_sha256"])]
    return _most_common(good or near)


def _difference(series: Series, expected: Series) -> str:
    command = next(command for (command, shown), (_, other) in zip(series, expected, strict=True) if shown != other)
    if command == _END:
        return "the final picture is not the reference picture"
    return f"the picture after command {command} is not that of the other runs"


def _compare(runs: list[Run], last: str | None) -> None:
    """Runs of one recording with the same pause points."""
    expected = _without_loss(runs, last)
    if last is not None:
        expected = (*expected[:-1], (_END, last))
    shown_by = collections.defaultdict(set)
    for run in runs:
        shown_by[_series(run)].add((run["library"], run["mode"]))
    for run in runs:
        series = _series(run)
        run["lossy"] = series != expected
        if run["lossy"] and not (_may_be_slow(run) and len(shown_by[series]) > 1):
            run["valid"] = False
            run["invalid_reason"] = _difference(series, expected)


def compare(runs: list[Run], references: Mapping[str, str | None]) -> None:
    """Makes runs invalid whose pictures are neither the ones without loss nor, over a link that may be slow, the ones that
    another mode shows, too; says of the others whether they are lossy. references: the final pictures that are known."""
    groups = collections.defaultdict(list)
    for run in runs:
        if run["valid"]:
            groups[run["recording"], tuple(pause["command"] for pause in run["pauses"])].append(run)
    for (recording, _), group in groups.items():
        _compare(group, references.get(recording))
