# SPDX-License-Identifier: LGPL-2.1-or-later
"""All pages of results/ but those of the comparisons, our targets, and the tables of README.md and docs/modes.md, from what results/ has stored."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from bench.common import page, paths
from bench.report import stored as tables
from bench.report.stored import OURS, SESSIONS, Stored
from bench.runs import modes
from bench.runs.store import Run, Store
from clients import command as clients
from clients import migration
from live import deployment, sessions
from live import page as live
from pages import targets

README = paths.ROOT / "README.md"
MODES = paths.ROOT / "docs/modes.md"
TARGETS = paths.ROOT / "replay/pages/targets.md"
_LINK = "20M40ms"   # README.md shows figures of this link, of guests with standard VGA
_WIDTH, _LEFT, _BARS, _ROW = 800, 170, 470, 58     # size of the picture, in SVG units


def live_rows(runs: Iterable[Run]) -> str:
    return live.short([run for run in runs if run.case.what[0].endswith("-std") and run.case.link == _LINK]) or ""


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


# the pages of ./run live and ./run clients: the store, the page, and what fills it
_OF_GUESTS: tuple[tuple[str, str, Callable[[Sequence[Run]], str]], ...] = (
    ("live/live.jsonl", "live/README.md", live.page), ("live/deployment.jsonl", "live/deployment.md", deployment.page),
    ("live/sessions.jsonl", "live/sessions.md", sessions.page), ("clients/clients.jsonl", "clients/README.md", clients.page),
    ("clients/clients.jsonl", "clients/migration.md", migration.page))


def written(stored: Stored, folder: Path = paths.RESULTS) -> dict[Path, str]:
    """Each file as it should be, of these comparisons, and of what the folder has of guests. What was not measured is not among them."""
    kept = {name: Store(folder / name).runs for name in dict.fromkeys(name for name, _, _ in _OF_GUESTS)}
    shown = {README: {"seconds": tables.seconds(stored), "live": live_rows(live.shown(kept["live/live.jsonl"]))},
             MODES: {"overhead": tables.overhead(stored), "cpu": tables.cpu(stored), "distance": tables.distances(stored),
                     "modes": tables.overheads(stored, "modes", "modes/made"), "pace": tables.overheads(stored, "lan")}}
    more = {TARGETS: targets.written(stored), folder / "seconds.svg": picture(stored),
            **{folder / name: fill(kept[store]) for store, name, fill in _OF_GUESTS if kept[store]}}
    return {**{file: filled(file.read_text(encoding="utf-8"), of_file) for file, of_file in shown.items()},
            **{file: text for file, text in more.items() if text}}
