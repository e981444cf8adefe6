# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which runs are one row of a table: all tables, sentences and targets take their medians over such runs only."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.lab import links
from bench.measure import metrics, stats
from bench.runs import modes

Run = dict[str, Any]
Cell = tuple[str, str, str, bool]   # transport, library, mode, is_slow()
Group = tuple[str, str, str]    # recording, link, pace

LOSSY = ", JPEG"


def _rank(cell: Cell) -> tuple[int, int, str, str, bool]:
    transport, library, mode, slow = cell
    return (("plain", "tls").index(transport), list(modes.MODES).index(modes.base(mode).name), mode, library, slow)


def is_slow(run: Run) -> bool:
    """Whether the server took the link for slow at connect, and so sent JPEG. Runs that do not tell (before November 2026): whether a
    picture that was looked at had losses; between these pictures JPEG may have been sent unnoticed."""
    slow = run.get("low_bandwidth")
    return bool(run["lossy"] if slow is None else slow)


def cells(runs: list[Run]) -> dict[Cell, list[Run]]:
    """Runs of one group by row, in the order of the tables. A run that does not count, and whose pictures are unknown, is in the
    row of its mode's other runs."""
    found: dict[Cell, list[Run]] = collections.defaultdict(list)
    for run in sorted(runs, key=lambda run: not run["valid"]):
        cell = (run["transport"], run["library"], run["mode"], run["valid"] and is_slow(run))
        other = (*cell[:3], True)
        found[other if not run["valid"] and cell not in found and other in found else cell].append(run)
    return {cell: found[cell] for cell in sorted(found, key=_rank)}


def name(cell: Cell, pace: str = "") -> str:
    """The name of a row. With the runs' pace, it includes the setting that was added for that pace."""
    unasked = modes.unasked(cell[2], pace)
    return modes.row(cell[1], cell[2]) + (f" ({unasked})" if unasked else "") + (LOSSY if cell[3] else "")


def groups(runs: list[Run]) -> dict[Group, list[Run]]:
    """Runs by recording, link and pace, sorted, so that tables do not depend on the order of runs."""
    found: dict[Group, list[Run]] = collections.defaultdict(list)
    for run in runs:
        found[run["recording"], run["link"], run["pace"]].append(run)

    def rank(group: Group) -> tuple[str, int, str, str]:
        recording, link, pace = group
        return recording, *links.rank(link), pace
    return {group: found[group] for group in sorted(found, key=rank)}


def baseline(found: Mapping[Cell, list[Run]], of: Cell) -> Cell | None:
    """The row that others are compared with: the unpatched library over the same transport and kind of link; without it,
    upstream's mode in the patched library."""
    for mode in (modes.STOCK, "cork"):
        for cell, runs in found.items():
            if (cell[0], cell[2], cell[3]) == (of[0], mode, of[3]) and any(run["valid"] for run in runs):
                return cell
    return None


def alike(runs: Iterable[Run], metric: str) -> list[Run]:
    """Of the runs of one mode: those of its first row that has the metric, so those without JPEG if there are such."""
    return next((row for row in cells([run for run in runs if run["valid"]]).values() if metrics.values(row, metric)), [])


def values(runs: Iterable[Run], metric: str) -> list[float]:
    return metrics.values(alike(runs, metric), metric)


@dataclass(frozen=True)
class Row:
    """Runs of one row, and those of its baseline, which may be itself."""
    group: Group
    cell: Cell
    runs: list[Run]
    base: Cell | None       # even if the server took the link for slow in only one of the two
    its: list[Run]
    alike: bool             # whether it did so in both or in neither

    @property
    def compared(self) -> bool:
        return self.base not in (None, self.cell)

    @property
    def name(self) -> str:
        return name(self.cell, self.group[2])

    @property
    def count(self) -> str:
        """Runs that count, captured + others, of all."""
        return counted(self.runs)

    def median(self, metric: str) -> float | None:
        return stats.median(metrics.values(self.runs, metric))

    def ratio(self, metric: str) -> float | None:
        """The median relative to the baseline's."""
        mine, its = self.median(metric), stats.median(metrics.values(self.its, metric))
        return None if mine is None or not its else mine / its


def counted(runs: Iterable[Run]) -> str:
    found = [(run["valid"], run["valid"] and run["captured"]) for run in runs]
    valid, captured = (sum(each) for each in zip(*found, strict=True))
    return f"{captured}+{valid - captured}/{len(found)}"


def rows(runs: list[Run]) -> list[Row]:
    """All rows of all groups, in the order of the tables."""
    made = []
    for group, group_runs in groups(runs).items():
        found = cells(group_runs)
        for cell, its in found.items():
            like = baseline(found, cell)
            base = like or baseline(found, (*cell[:3], not cell[3]))
            made.append(Row(group, cell, its, base, found[base] if base else [], like is not None))
    return made
