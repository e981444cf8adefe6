# SPDX-License-Identifier: LGPL-2.1-or-later
"""The results of ./run clients, as JSON and as a page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.common import atomic
from bench.common import table as tables
from bench.common.errors import BenchError

GOOD, BAD, NOT_RUN = "good", "bad", "not run"


@dataclass
class Cell:
    row: str  # a client, a pair of libraries
    transport: str
    mode: str
    scenario: str
    outcome: str = NOT_RUN
    says: str = ""
    seconds: float = 0.0
    date: str = ""
    library: str = ""  # date of its last change, as in a package's version
    figures: dict[str, float] = field(default_factory=dict)
    was_bad: int = 0  # bad runs with the same library that this one replaced

    @property
    def is_migration(self) -> bool:
        """Of `./run clients migration`, whose modes are pairs."""
        return ">" in self.mode

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.row, self.transport, self.mode, self.scenario


def worse_than(stock: str, cells: Sequence[Cell]) -> list[Cell]:
    """Cells that are bad although the stock library's is good or was not run."""
    fails = {(cell.row, cell.transport, cell.scenario) for cell in cells if cell.mode == stock and cell.outcome == BAD}
    return [cell for cell in cells
            if cell.mode != stock and cell.outcome == BAD and (cell.row, cell.transport, cell.scenario) not in fails]


def save(folder: Path, name: str, cells: Sequence[Cell], facts: dict[str, Any]) -> None:
    """Saves the results. Cells not measured again keep their old result."""
    atomic.write_text(folder / f"{name}.json", json.dumps({"facts": facts, "cells": [asdict(cell) for cell in cells]}, indent=1) + "\n")


def load(folder: Path, name: str) -> tuple[list[Cell], dict[str, Any]]:
    file = folder / f"{name}.json"
    if not file.exists():
        return [], {}
    try:
        read = json.loads(file.read_text())
        return [Cell(**cell) for cell in read["cells"]], dict(read["facts"])
    except (ValueError, KeyError, TypeError):
        raise BenchError(f"{file} is damaged: remove it") from None


def merged(old: Iterable[Cell], new: Iterable[Cell]) -> list[Cell]:
    """A cell that was run replaces the old one; a cell that could not be run does not. Replaced bad ones are counted."""
    cells = {cell.key: cell for cell in old}
    for cell in new:
        before = cells.get(cell.key)
        if before and before.library == cell.library:
            cell = replace(cell, was_bad=before.was_bad + (before.outcome == BAD))
        if cell.outcome != NOT_RUN or before is None or before.outcome == NOT_RUN:
            cells[cell.key] = cell
    return list(cells.values())


def repeated(cells: Iterable[Cell]) -> str:
    """What became of bad runs that were repeated. Before that day they were not counted."""
    return f"Bad runs that a repeat with the same library replaced, since 29 November 2026: {sum(cell.was_bad for cell in cells) or 'none'}."


def typed(cells: Iterable[Cell]) -> list[Cell]:
    """With modes as on the command line, where a colon stands for the comma of SPICE_STREAM."""
    return [replace(cell, mode=cell.mode.replace(",", ":")) for cell in cells]


def libraries(cells: Sequence[Cell]) -> str:
    """The number of runs of each library, newest first."""
    found: dict[str, list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: cell.library, reverse=True):
        if cell.outcome != NOT_RUN:
            found.setdefault(cell.library, []).append(cell)
    return "".join(f"- {f'library {library}' if library else 'an older library'}: {len(those)} run{'s'[:len(those) != 1]}, {_days(those)}\n"
                   for library, those in found.items())


def _days(cells: Sequence[Cell]) -> str:
    days = sorted(cell.date for cell in cells if cell.date)
    return " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "date not recorded"


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _shown(found: Sequence[Cell], modes: Sequence[str]) -> str:
    """One table cell: the outcome, with its modes if it is not the same in all modes."""
    groups: dict[str, list[str]] = {}
    for mode, outcome in ((cell.mode, cell.outcome) for mode in modes for cell in found if cell.mode == mode):
        groups.setdefault(outcome, []).append(mode)
    if not groups:
        return tables.UNKNOWN
    if len(groups) == 1 and len(*groups.values()) == len(modes):
        return next(iter(groups))
    return "; ".join(f"{outcome}: {', '.join(inside)}" for outcome, inside in groups.items())


def markdown(cells: Sequence[Cell], modes: Sequence[str], scenarios: Sequence[str], first: str) -> str:
    """A row per client and transport, with the modes that were run; a column per scenario."""
    columns = [scenario for scenario in scenarios if any(cell.scenario == scenario for cell in cells)]
    lines = []
    for row, transport in dict.fromkeys((cell.row, cell.transport) for cell in cells):
        here = [cell for cell in cells if (cell.row, cell.transport) == (row, transport)]
        run = [mode for mode in modes if any(cell.mode == mode for cell in here)]
        lines.append([row, transport, ", ".join(run), *(_shown([cell for cell in here if cell.scenario == scenario], run) for scenario in columns)])
    return tables.markdown([first, "transport", "modes", *columns], lines, left=3 + len(columns), padded=False)


def reasons(cells: Sequence[Cell], outcome: str) -> str:
    """Each reason once, with the cells that have it."""
    places: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        if cell.outcome == outcome:
            places.setdefault((cell.row, cell.says), []).append(f"{cell.scenario} ({cell.transport}, {cell.mode})")
    return "".join(f"- {row}: {says}: {_listed(where)}\n" for (row, says), where in places.items())


def _listed(where: Sequence[str]) -> str:
    return ", ".join(where) if len(where) <= 4 else f"{', '.join(where[:3])} and {len(where) - 3} more"
