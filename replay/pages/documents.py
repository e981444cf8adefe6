# SPDX-License-Identifier: LGPL-2.1-or-later
"""All pages of results/ but those of the comparisons, our targets, and the tables of README.md and docs/modes.md, from what results/ has stored."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Mapping
from pathlib import Path

from bench.common import page, paths
from bench.report import stored as tables
from bench.report.stored import OURS, SESSIONS, Stored
from bench.runs import modes
from clients import command as clients
from clients import migration
from clients import table as cells
from live import deployment, sessions
from live import page as live
from pages import targets

README = paths.ROOT / "README.md"
MODES = paths.ROOT / "docs/modes.md"
TARGETS = paths.ROOT / "replay/pages/targets.md"
_LIVE_LINK = "20M40ms"      # the rows of README.md: guests with standard VGA over this link
_WIDTH, _LEFT, _BARS, _ROW = 800, 170, 470, 58     # size of the picture, in SVG units


def live_rows(records: list[live.Record]) -> str:
    return live.short([record for record in records if record["guest"].endswith("-std") and record["link"] == _LIVE_LINK]) or ""


def picture(stored: Stored) -> str | None:
    """Seconds of each session, stock and this library, as bars in SVG; None if they were not measured."""
    found = [(says, [stored.values("wall", "distance", _LIVE_LINK, mode, session) for mode in (modes.STOCK, OURS)]) for session, says in SESSIONS.items()]
    if not all(values for _, both in found for values in both):
        return None
    bars = [(says, *map(statistics.median, both)) for says, both in found]
    return page.fill("pages/seconds.svg.j2", bars=bars, scale=_BARS / max(stock for _, stock, _ in bars), width=_WIDTH, left=_LEFT, row=_ROW)


def filled(text: str, shown: Mapping[str, str]) -> str:
    """A document with tables at their marks; one that was not measured stays as it is."""
    for mark, table in shown.items():
        head, begin, rest = re.split(rf"(<!-- {mark}\b.*-->\n)", text)
        if table:
            text = f"{head}{begin}{table}\n{rest[rest.index('<!-- end -->'):]}"
    return text


def _of_guests(folder: Path) -> dict[Path, str]:
    """The pages of ./run live and ./run clients."""
    def told(name: str) -> dict[str, object]:
        return dict(json.loads((folder / name).read_text()))

    lives, deployed, at_once = (told(f"live/{name}.json") for name in ("live", "deployment", "sessions"))
    records = list(lives["runs"].values())
    known, facts = cells.load(folder / "clients", clients.NAME)
    return {"live/README.md": live.page(records, lives["thrown_out"], lives["facts"]),
            "live/deployment.md": deployment.page(deployed["runs"], deployed["facts"]),
            "live/sessions.md": sessions.page([sessions.Row(**row) for row in at_once["rows"]], at_once["facts"]),
            "clients/README.md": clients.page([cell for cell in known if not cell.is_migration], facts),
            "clients/migration.md": migration.page([cell for cell in known if cell.is_migration], facts["migration"])}


def written(stored: Stored) -> dict[Path, str]:
    """Each file as it should be. What was not measured is not among them."""
    records = list(json.loads((paths.RESULTS / "live/live.json").read_text())["runs"].values())
    shown = {README: {"seconds": tables.seconds(stored), "live": live_rows(records)},
             MODES: {"overhead": tables.overhead(stored), "cpu": tables.cpu(stored), "distance": tables.distances(stored),
                     "modes": tables.overheads(stored, "modes", "modes/made"), "pace": tables.overheads(stored, "lan")}}
    found = {file: filled(file.read_text(encoding="utf-8"), of_file) for file, of_file in shown.items()}
    found |= {paths.RESULTS / name: text for name, text in _of_guests(paths.RESULTS).items()}
    more = {TARGETS: targets.written(stored), paths.RESULTS / "seconds.svg": picture(stored)}
    return found | {file: text for file, text in more.items() if text}
