# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page of a comparison, or of several; NAME.md, unless no page is wanted, and NAME.csv of a result."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bench.common import atomic, page
from bench.common.progress import duration
from bench.measure import metrics, stats
from bench.measure.channels import BUFFER_MS
from bench.report import channeltable, report
from bench.report.grouping import Run, groups, rows
from bench.runs import modes
from recordings import catalogue

Result = dict[str, Any]
_HEAD = ("recording", "link", "pace", "transport", "library", "mode", "jpeg", "metric", "median", "low", "high", "runs", "outliers")


def write(result: Result, output: Path, name: str, paged: bool = True) -> list[Path]:
    contents = {**({"md": markdown(result)} if paged else {}), "csv": table(result)}
    written = [output / f"{name}.{ending}" for ending in contents]
    for path, content in zip(written, contents.values(), strict=True):
        atomic.write_text(path, content)
    return written


def table(result: Result) -> str:
    """Every metric of every row as CSV: median, interval, number of runs. An empty field is an unknown figure."""
    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.6g}" if abs(value) < 1e6 else f"{value:.0f}"

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_HEAD)
    for row in rows(result["runs"]):
        for name in metrics.METRICS:
            if found := stats.estimate(metrics.values(row.runs, name)):
                writer.writerow([*row.group, *row.cell, name, *map(number, (found.median, found.low, found.high)), found.count, found.outliers])
    return out.getvalue()


def drawn_by_qemu(names: Iterable[str]) -> list[str]:
    """The recordings, of these or of which these are parts, that have QEMU's own updates."""
    known = catalogue.manifest()
    return sorted({whole for name in names if "QEMU itself draws" in known.get(whole := name.partition("@")[0], {}).get("driver", "")})


def _modes(runs: Iterable[Run]) -> list[tuple[modes.Mode, str | None]]:
    """The modes that were played, with the setting that was added to one."""
    played = {(run["mode"], run["pace"]) for run in runs}
    known = {modes.base(mode).name for mode, _ in played}
    unasked = {modes.base(mode).name: setting for mode, pace in played if (setting := modes.unasked(mode, pace))}
    return [(mode, unasked.get(mode.name)) for mode in modes.MODES.values() if mode.name in known]


def whole_legend() -> str:
    """Of all columns and modes."""
    return page.fill("bench/report/legend.md.j2", base=modes.STOCK, against=modes.STOCK, buffer=BUFFER_MS, text=None,
                     modes=_modes({"mode": name, "pace": "max"} for name in modes.MODES))


def _repeated(runs: Iterable[Run]) -> list[str]:
    """How many runs, and tests of the link before one."""
    found = [(run.get("attempt", 1), run.get("link_tests") or 1) for run in runs]
    again, tests = sum(attempt > 1 for attempt, _ in found), sum(tests - 1 for _, tests in found)
    return [f"{number} {what}" for number, what in ((again, "runs"), (tests, "link tests")) if number]


def markdown(result: Result) -> str:
    """The whole page."""
    return pages({"Comparison": result})


def pages(results: Mapping[str, Result], explained: str | None = None) -> str:
    """One page for several results, by their questions. explained: the page that explains the columns, if it is another one."""
    runs = [run for result in results.values() for run in result["runs"]]
    played = {run["mode"] for run in runs}
    return page.fill(
        "bench/report/compare.md.j2", results=results, explained=explained, report=report, channels=channeltable, groups=groups,
        duration=duration, repeated=_repeated, base=report.base_name(runs), modes=_modes(runs),
        against=next((mode for mode in (modes.STOCK, "cork") if mode in played), None), buffer=BUFFER_MS,
        paces={run["pace"] for run in runs}, drawn=drawn_by_qemu(run["recording"] for run in runs))
