# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every metric of every row as CSV: median, interval, number of runs."""

from __future__ import annotations

import csv
import io
from typing import Any

from bench.measure import metrics, stats
from bench.report import grouping

_HEAD = ("recording", "link", "pace", "transport", "library", "mode", "jpeg", "metric", "median", "low", "high", "runs",
         "outliers")


def text(result: dict[str, Any]) -> str:
    """The CSV. An empty field is an unknown figure."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_HEAD)
    for group, group_runs in grouping.groups(result["runs"]).items():
        for cell, runs in grouping.cells(group_runs).items():
            for name in metrics.METRICS:
                found = stats.estimate(metrics.values(runs, name))
                if found is not None:
                    writer.writerow([*group, *cell, name, *(_number(value) for value in (found.median, found.low, found.high)),
                                     found.count, found.outliers])
    return out.getvalue()


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}" if abs(value) < 1e6 else f"{value:.0f}"
