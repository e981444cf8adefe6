# SPDX-License-Identifier: LGPL-2.1-or-later
"""The table of results/README.md, in the form of the mail to spice-devel of 2017: recordings x transports x modes, each figure
relative to the unpatched library."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from bench.common import table
from bench.lab import lab
from bench.measure import metrics, stats
from bench.report import grouping
from bench.runs import modes

Run = dict[str, Any]
Figure = Callable[[float | None], str]

_COLUMNS: tuple[tuple[str, str, Figure], ...] = (
    ("packets", "packets", table.count), ("wire, MB", "wire_bytes", lambda value: table.megabytes(value).removesuffix(" MB")),
    ("records", "tls_records", table.count), ("CPU, s", "cpu", table.seconds), ("seconds", "wall", table.seconds),
    ("staleness p95, ms", "staleness_p95", table.milliseconds))
_NAMES = ("recording", "pace", "link", "transport", "mode")
SAYS = """\
Recordings x transports x modes, as `./run results modes` writes it ([CSV](table.csv)). Medians; in brackets the change against `stock`, the
unpatched library over the same transport and link. Packets and bytes are of the server's Ethernet frames. *n*: captured runs (for packets,
bytes, records) + others (for CPU, seconds). To compare modes, use *seconds* at pace max, where
`flow` sends every drawing (`catchup=off`), and *staleness* at recorded pace.

For comparison, figures posted to spice-devel in February 2017, relative to `normal` over plain TCP (today's modes in brackets): `tls` (normal,
TLS) packets +30 %, bytes +7.5 %; `tls opt` (gather, TLS) +12 %, +5.2 %; `cork` (plain) -56 %, -11 %; `hacks-2` (window, plain) -67 %, -14 %.
The packets of 2017 were counted before segmentation offload; here offloads are off."""


LACKS = """\
Over plain TCP there are no rows of `gather`, which is about TLS records, of `more`, and of generated recordings. Recordings
without a row: kms-page and kms-office (a reader's few bitmaps; see [staleness](staleness/compare.md)), linux-office (such a user, too;
measured by [live](live/README.md)), tiny (for tests)."""


@dataclass(frozen=True)
class Row:
    """One row: its key, the mode as it is shown (with the setting that was added for the pace), its runs, and the runs of its
    baseline (none for the baseline itself)."""
    names: tuple[str, ...]
    says: str
    runs: list[Run]
    base: list[Run]

    def value(self, metric: str) -> float | None:
        return stats.median(metrics.values(self.runs, metric))

    def change(self, metric: str) -> float | None:
        value, base = self.value(metric), stats.median(metrics.values(self.base, metric)) if self.base else None
        return None if value is None or not base else value / base - 1

    @property
    def count(self) -> str:
        valid = [run for run in self.runs if run["valid"]]
        captured = sum(run["captured"] for run in valid)
        return f"{captured}+{len(valid) - captured}"


def rows(documents: list[dict[str, Any]]) -> Iterator[Row]:
    """The rows of results of ./run compare, in their order."""
    for document in documents:
        how = document["plan"].get("congestion") or lab.CONGESTION
        for (recording, link, pace), group in grouping.groups(document["runs"]).items():
            found = grouping.cells(group)
            for cell, runs in found.items():
                where = link if how == lab.CONGESTION else f"{link}, {how}"
                base = grouping.baseline(found, cell)
                yield Row((recording, pace, where, cell[0], grouping.name(cell)), grouping.name(cell, pace), runs,
                          found[base] if base and base != cell and base[2] == modes.STOCK else [])


def _cell(row: Row, metric: str, written: Figure) -> str:
    change = row.change(metric)
    return written(row.value(metric)) + ("" if change is None else f" ({change * 100:+.0f} %)")


def markdown(documents: list[dict[str, Any]]) -> str:
    """The table; empty if nothing was measured."""
    cells = [[*row.names[:-1], row.says, *(_cell(row, metric, written) for _, metric, written in _COLUMNS), row.count] for row in rows(documents)]
    head = (*_NAMES, *(head for head, _, _ in _COLUMNS), "n")
    return f"## One table\n\n{SAYS}\n\n{table.markdown(head, cells, left=len(_NAMES))}\n\n{LACKS}" if cells else ""


def text(documents: list[dict[str, Any]]) -> str:
    """The same as CSV, with changes as fractions. An empty field is an unknown figure."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*_NAMES, *(name for _, metric, _ in _COLUMNS for name in (metric, f"{metric}_change")), "n"])
    for row in rows(documents):
        found = [value for _, metric, _ in _COLUMNS for value in (row.value(metric), row.change(metric))]
        writer.writerow([*row.names, *("" if value is None else f"{value:.6g}" for value in found), row.count])
    return out.getvalue()
