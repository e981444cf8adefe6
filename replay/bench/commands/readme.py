# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tables and the picture of README.md, and the tables of docs/modes.md and results/notes.md, made from results/."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.commands import targets
from bench.common import atomic, paths
from bench.measure import metrics
from bench.report import grouping
from bench.runs import modes, results

README = paths.ROOT / "README.md"
MODES = paths.ROOT / "docs/modes.md"
NOTES = paths.RESULTS / "notes.md"
PICTURE = paths.RESULTS / "seconds.svg"
SESSIONS = {"linux-boot": "recorded boot of Linux", "linux-desktop": "Linux desktop", "linux-video": "desktop with video",
            "vga-text-boot": "scrolling text (VGA)"}
LIVE_LINK = "20M40ms"
_LIBRARY = "measured with"          # the last column of that table, if its rows are of several libraries
_LIVE_GUEST = re.compile(r"\| \w+-std ")     # whose rows of all links are shown
_OURS = "flow"
_CPU_MODES = (modes.STOCK, "cork", "batch", _OURS)
_LEAST_GAIN = 0.1       # of stock's CPU: parts of a smaller gain would be noise
_NAMES = {modes.STOCK: "stock", _OURS: "this library"}
_COLOURS = {modes.STOCK: "#4d4d4d", _OURS: "#d55e00"}
_TITLE = "Seconds to send a recorded session over 20 Mbit/s and 40 ms, TLS"
_WIDTH, _LEFT, _BARS, _ROW = 800, 170, 470, 58     # size of the picture, in SVG units


@dataclass(frozen=True)
class Table:
    page: Path          # that shows it
    where: str          # folder of results/
    link: str
    metric: str
    written: Callable[[float], str]
    plain: str | None = None    # the folder of the same without TLS, if shown beside it


TABLES = {
    "seconds": Table(README, "distance", "20M40ms", "wall", lambda value: f"{value:.1f} s"),
    "overhead": Table(MODES, "modes", "lan", "overhead_ratio", lambda value: f"{value * 100:.1f} %", "modes/plain"),
}


@cache
def _runs(folder: str) -> list[metrics.Run]:
    """None of a folder that was not measured yet."""
    packed = paths.RESULTS / folder / "compare.json.xz"
    found = next((file for file in (packed, packed.with_suffix("")) if file.is_file()), None)
    runs: list[metrics.Run] = results.load(found)["runs"] if found else []
    return runs


def _targets() -> str | None:
    wanted = {where for target in targets.TARGETS for where in (target.where, target.base) if where}
    return targets.markdown({where: _runs(where) for where in wanted if _runs(where)})


def _values(folder: str, link: str, session: str, mode: str, transport: str, metric: str) -> list[float]:
    return grouping.values([run for run in _runs(folder) if (run["recording"].split("@")[0], run["mode"], run["link"], run["transport"])
                            == (session, mode, link, transport)], metric)


def value(table: Table, session: str, mode: str, metric: str | None = None) -> float:
    """The median over TLS; raises StatisticsError if it was not measured."""
    return statistics.median(_values(table.where, table.link, session, mode, "tls", metric or table.metric))


def _cells(table: Table, session: str) -> dict[str, str]:
    """A row as column -> text; n: runs behind each figure, at least."""
    def values(mode: str, metric: str, transport: str = "tls") -> list[float]:
        where = table.where if transport == "tls" else str(table.plain)
        return _values(where, table.link, session, mode, transport, metric)

    without = {"stock, no TLS": values(modes.STOCK, table.metric, "plain")} if table.plain else {}
    shown = {name: values(mode, table.metric) for mode, name in _NAMES.items()}
    sent = [values(mode, "wire_bytes") for mode in _NAMES]
    wire = [statistics.median(each) for each in sent]
    texts = {name: table.written(statistics.median(each)) for name, each in {**without, **shown}.items()}
    return {**texts, _NAMES[_OURS]: f"**{texts[_NAMES[_OURS]]}**",
            **{f"{name}, MB": f"{each / 1e6:.2f}" for name, each in zip(_NAMES.values(), wire, strict=True)},
            "of stock's bytes": f"{wire[1] / wire[0] * 100:.0f} %", "n": str(min(map(len, (*without.values(), *shown.values(), *sent))))}


def markdown(name: str) -> str:
    rows = {says: _cells(TABLES[name], session) for session, says in SESSIONS.items()}
    columns = list(next(iter(rows.values())))
    lines = [f"| session | {' | '.join(columns)} |", "|---|" + "--:|" * len(columns)]
    lines += [f"| {says} | {' | '.join(cells.values())} |" for says, cells in rows.items()]
    return "\n".join(lines) + "\n"


def cpu() -> str:
    """CPU seconds of the modes that tell sending apart from the rest; raises StatisticsError if they were not measured."""
    table = TABLES["overhead"]
    lines = [f"| session | {' | '.join(_CPU_MODES)} | part of the gain that is not sending | n |", "|---|" + "--:|" * (len(_CPU_MODES) + 2)]
    for session, says in SESSIONS.items():
        used = {mode: value(table, session, mode, "cpu") for mode in _CPU_MODES}
        gain = used[modes.STOCK] - used[_OURS]
        part = f"{(used[modes.STOCK] - used['cork']) / gain * 100:.0f} %" if gain > _LEAST_GAIN * used[modes.STOCK] else "–"
        count = min(len(_values(table.where, table.link, session, mode, "tls", "cpu")) for mode in _CPU_MODES)
        lines.append(f"| {says} | {' | '.join(f'{seconds:.2f}' for seconds in used.values())} | {part} | {count} |")
    return "\n".join(lines) + "\n"


def live() -> str | None:
    """The short table of results/live; of other guests than those with standard VGA the rows of one link. The library is not a column
    if all these rows are of one. None without rows of that link."""
    page = paths.RESULTS / "live" / "README.md"
    found = re.search(r"^## In short\n(?:[^|\n].*\n|\n)*((?:\|.*\n)+)", page.read_text(), re.MULTILINE) if page.is_file() else None
    if found is None:
        return None
    head, line, *rows = found[1].splitlines(keepends=True)
    of_link = [row for row in rows if f"| {LIVE_LINK} |" in row]
    shown = [row for row in rows if row in of_link or _LIVE_GUEST.match(row)]
    if _LIBRARY in head and len({row.rsplit("|", 2)[1] for row in shown}) == 1:     # results/live/README.md says which
        head, line, *shown = (row.rsplit("|", 2)[0] + "|\n" for row in (head, line, *shown))
    return "".join([head, line, *shown]) if of_link else None


def _between(text: str, name: str, table: str) -> str:
    text, found = re.subn(rf"(<!-- {name}\b[^\n]*-->\n).*?(<!-- end -->)",
                          lambda marks: marks[1] + table + marks[2], text, flags=re.DOTALL)
    assert found == 1, name
    return text


def contents() -> dict[Path, str]:
    """Each file as it should be, from results/ as it is."""
    found = {file: file.read_text(encoding="utf-8") for file in (README, MODES, NOTES, PICTURE)}
    for name, one in TABLES.items():
        with suppress(statistics.StatisticsError):      # not measured yet
            found[one.page] = _between(found[one.page], name, markdown(name))
    with suppress(statistics.StatisticsError):
        found[MODES] = _between(found[MODES], "cpu", cpu())
    if table := live():
        found[README] = _between(found[README], "live", table)
    if table := _targets():
        found[NOTES] = _between(found[NOTES], "targets", table)
    with suppress(statistics.StatisticsError):
        found[PICTURE] = picture()
    return found


def picture() -> str:
    """Seconds of each session, stock and this library, as bars in SVG."""
    table = TABLES["seconds"]
    bars = [(says, mode, value(table, session, mode)) for session, says in SESSIONS.items()
            for mode in (modes.STOCK, _OURS)]
    scale = _BARS / max(seconds for _, _, seconds in bars)
    height = len(SESSIONS) * _ROW + 60
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
             'font-family="sans-serif" font-size="14">',
             f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>']
    for number, (says, mode, seconds) in enumerate(bars):
        top = 40 + number // 2 * _ROW + number % 2 * 22
        if mode == modes.STOCK:
            parts.append(f'<text x="{_LEFT - 12}" y="{top + 26}" text-anchor="end">{says}</text>')
        parts += [f'<rect x="{_LEFT}" y="{top}" width="{max(1, seconds * scale):.0f}" height="20" '
                  f'fill="{_COLOURS[mode]}"/>',
                  f'<text x="{_LEFT + seconds * scale + 6:.0f}" y="{top + 15}">{_NAMES[mode]}, '
                  f'{table.written(seconds)}</text>']
    parts.append(f'<text x="{_WIDTH / 2:.0f}" y="22" text-anchor="middle">{_TITLE}</text>')
    return "\n".join([*parts, "</svg>", ""])


def update() -> None:
    _runs.cache_clear()
    for file, text in contents().items():
        atomic.write_text(file, text)
