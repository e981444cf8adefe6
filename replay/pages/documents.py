# SPDX-License-Identifier: LGPL-2.1-or-later
"""All pages of results/ but those of the comparisons, our targets, and the tables of README.md and docs/modes.md, from what results/ has stored."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.common import page, paths
from bench.report import stored as tables
from bench.report.stored import OURS, SESSIONS, Stored
from bench.runs import modes
from clients import command as clients
from clients import migration
from clients.table import Cell
from live import deployment, sessions
from live import page as live
from pages import targets

README = paths.ROOT / "README.md"
MODES = paths.ROOT / "docs/modes.md"
TARGETS = paths.ROOT / "replay/pages/targets.md"
_LINK = "20M40ms"   # README.md shows figures of this link, of guests with standard VGA
_WIDTH, _LEFT, _BARS, _ROW = 800, 170, 470, 58     # size of the picture, in SVG units


def live_rows(records: list[live.Record]) -> str:
    return live.short([record for record in records if record["guest"].endswith("-std") and record["link"] == _LINK]) or ""


def picture(stored: Stored) -> str | None:
    """Seconds of each session, stock and this library, as bars in SVG; None if they were not measured."""
    found = {says: [stored.values("wall", "distance", _LINK, mode, session) for mode in (modes.STOCK, OURS)]
             for session, says in SESSIONS.items()}
    if not all(values for both in found.values() for values in both):
        return None
    bars = {says: [statistics.median(values) for values in both] for says, both in found.items()}
    return page.fill("pages/seconds.svg.j2", bars=bars, scale=_BARS / max(max(both) for both in bars.values()), width=_WIDTH, left=_LEFT, row=_ROW)


def filled(text: str, shown: Mapping[str, str]) -> str:
    """A document with tables at their marks; one that was not measured stays as it is."""
    for mark, table in shown.items():
        head, begin, rest = re.split(rf"(<!-- {mark}\b.*-->\n)", text)
        if table:
            text = f"{head}{begin}{table}\n{rest[rest.index('<!-- end -->'):]}"
    return text


def _cells(told: Any, moved: bool) -> list[Cell]:
    return [cell for each in told["cells"] if (cell := Cell(**each)).is_migration == moved]


# the pages of ./run live and ./run clients: what is stored, the page, and what fills it
_OF_GUESTS: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("live/live.json", "live/README.md", lambda told: live.page(list(told["runs"].values()), told["thrown_out"], told["facts"])),
    ("live/deployment.json", "live/deployment.md", lambda told: deployment.page(told["runs"], told["facts"])),
    ("live/sessions.json", "live/sessions.md", lambda told: sessions.page([sessions.Row(**row) for row in told["rows"]], told["facts"])),
    ("clients/clients.json", "clients/README.md", lambda told: clients.page(_cells(told, False), told["facts"])),
    ("clients/clients.json", "clients/migration.md", lambda told: migration.page(_cells(told, True), told["facts"]["migration"])))


def written(stored: Stored, folder: Path = paths.RESULTS) -> dict[Path, str]:
    """Each file as it should be, of these comparisons, and of what the folder has of guests. What was not measured is not among them."""
    told = {name: json.loads((folder / name).read_text()) for name, _, _ in _OF_GUESTS if (folder / name).is_file()}
    records = list(told.get("live/live.json", {"runs": {}})["runs"].values())
    shown = {README: {"seconds": tables.seconds(stored), "live": live_rows(records)},
             MODES: {"overhead": tables.overhead(stored), "cpu": tables.cpu(stored), "distance": tables.distances(stored),
                     "modes": tables.overheads(stored, "modes", "modes/made"), "pace": tables.overheads(stored, "lan")}}
    more = {TARGETS: targets.written(stored), folder / "seconds.svg": picture(stored),
            **{folder / name: fill(told[store]) for store, name, fill in _OF_GUESTS if store in told}}
    return {**{file: filled(file.read_text(encoding="utf-8"), of_file) for file, of_file in shown.items()},
            **{file: text for file, text in more.items() if text}}
