# SPDX-License-Identifier: LGPL-2.1-or-later
"""The one table of results/README.md, in the form of the mail to spice-devel of 2017: recordings x transports x modes, each figure
relative to the unpatched library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bench.common import table
from bench.lab import lab
from bench.report.grouping import Row, rows
from bench.runs import modes

# what was posted then, in today's terms
POSTED = """\
For comparison, figures posted to spice-devel in February 2017, relative to `normal` over plain TCP (today's modes in brackets): `tls` (normal,
TLS) packets +30 %, bytes +7.5 %; `tls opt` (gather, TLS) +12 %, +5.2 %; `cork` (plain) -56 %, -11 %; `hacks-2` (window, plain) -67 %, -14 %.
The packets of 2017 were counted before segmentation offload; here offloads are off.
"""
_COLUMNS: tuple[tuple[str, str, Callable[[float | None], str]], ...] = (
    ("packets", "packets", table.count), ("wire, MB", "wire_bytes", lambda value: table.megabytes(value).removesuffix(" MB")),
    ("records", "tls_records", table.count), ("CPU, s", "cpu", table.seconds), ("seconds", "wall", table.seconds),
    ("staleness p95, ms", "staleness_p95", table.milliseconds))
_NAMES = ("recording", "pace", "link", "transport", "mode")


def _rows(documents: list[dict[str, Any]]) -> Iterator[tuple[Row, str]]:
    """The rows of results of ./run compare, in their order, and the link of each with TCP's congestion control."""
    for document in documents:
        how = document["plan"].get("congestion") or lab.CONGESTION
        for row in rows(document["runs"]):
            yield row, row.group[1] if how == lab.CONGESTION else f"{row.group[1]}, {how}"


def _change(row: Row, metric: str) -> float | None:
    ratio = row.ratio(metric) if row.alike and row.base and row.base[2] == modes.STOCK else None
    return None if ratio is None else ratio - 1


def _cell(row: Row, metric: str, written: Callable[[float | None], str]) -> str:
    change = _change(row, metric)
    return written(row.median(metric)) + ("" if change is None else f" ({change * 100:+.0f} %)")


def markdown(documents: list[dict[str, Any]]) -> str:
    """The table; empty if nothing was measured."""
    cells = [[row.group[0], row.group[2], link, row.cell[0], row.name, *(_cell(row, metric, written) for _, metric, written in _COLUMNS),
              row.count.partition("/")[0]] for row, link in _rows(documents)]
    return table.markdown((*_NAMES, *(head for head, _, _ in _COLUMNS), "n"), cells, left=len(_NAMES)) if cells else ""
