# SPDX-License-Identifier: LGPL-2.1-or-later
"""The first sentences of a page: what the best mode of the patched library saves or costs against upstream."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.common import table
from bench.lab import links
from bench.measure import metrics
from bench.report import grouping
from bench.runs import modes

Run = dict[str, Any]

_BASES = ("stock", "cork")
_PACES = {"max": "pace max", "recorded": "recorded pace", "user": "user's pace (closed loop)"}
_MODES = ("flow", "batch", "window", "gather")
_FIRST = "linux-desktop"    # the preferred session: somebody works, unlike in a boot or a generated recording


@dataclass(frozen=True)
class _Pair:
    """A row of upstream's runs and one of the mode's, for one session, link and pace."""
    recording: str
    link: str
    pace: str
    row: str        # the mode's, with the library if it is not the tree's
    base: list[Run]
    mine: list[Run]

    @property
    def kind(self) -> tuple[bool, int]:
        """Whether the link has a rate or a delay, and the pace."""
        paces = list(_PACES)
        return links.find(self.link).emulated, paces.index(self.pace) if self.pace in paces else len(paces)

    @property
    def rank(self) -> tuple[Any, ...]:
        """The pair with the lowest rank represents its kind."""
        return not self.recording.startswith(_FIRST), self.recording, links.rank(self.link), self.pace

    @property
    def count(self) -> str:
        """Captured runs + others, as in the tables: packets and bytes are of the first, CPU and seconds of the second, if any."""
        captured, others = (min(sum(run["captured"] == kind for run in part) for part in (self.base, self.mine))
                            for kind in (True, False))
        return f"{captured}+{others}" if others else str(captured)

    def medians(self, metric: str) -> tuple[float, float] | None:
        base, mine = metrics.values(self.base, metric), metrics.values(self.mine, metric)
        return (statistics.median(base), statistics.median(mine)) if base and mine else None


def _mode(runs: Sequence[Run], names: Sequence[str]) -> str | None:
    played = {run["mode"] for run in runs}
    return next((name for name in names if name in played), None)


def _pairs(runs: Sequence[Run], base: str, mode: str) -> list[_Pair]:
    """One pair of rows per kind; medians over several sessions would describe none of them. Of several rows of a mode preferably
    the tree's own library, and both with JPEG or both without."""
    pairs = []
    for group, group_runs in grouping.groups(runs).items():
        rows = grouping.cells(group_runs)
        first, second = ([cell for cell in rows if cell[2] == name] for name in (base, mode))
        if first and second:
            its = min(first, key=_foreign)
            mine = min(second, key=lambda cell, its=its: (_foreign(cell), cell[3] != its[3]))
            pairs.append(_Pair(*group, modes.row(*mine[1:3]), rows[its], rows[mine]))
    found: dict[tuple[bool, int], _Pair] = {}
    for pair in sorted(pairs, key=lambda pair: pair.rank):
        found.setdefault(pair.kind, pair)
    return [found[kind] for kind in sorted(found)]


def _foreign(cell: grouping.Cell) -> bool:
    return cell[1] not in ("stock", "patched")


def _by(pair: _Pair, metric: str, less: str, more: str, same: str) -> str | None:
    found = pair.medians(metric)
    if found is None or not found[0]:
        return None
    change = round((found[1] / found[0] - 1) * 100)
    return f"{abs(change)} % {less if change < 0 else more}" if change else same


def _duration(ms: float) -> str:
    return f"{ms / 1e3:.1f} s" if ms >= 1000 else f"{ms:.0f} ms" if ms >= 10 else f"{ms:.2f} ms"


def _sentence(pair: _Pair) -> str | None:
    said = [by for by in (_by(pair, "packets", "fewer packets", "more packets", "as many packets"),
                          _by(pair, "wire_bytes", "fewer bytes on the wire", "more bytes on the wire", "as many bytes on the wire"),
                          _by(pair, "cpu", "less CPU", "more CPU", "as much CPU")) if by]
    if overhead := pair.medians("overhead_ratio"):
        said.append(f"{table.percent(overhead[1])} overhead instead of {table.percent(overhead[0])}")
    if pair.kind[0] and pair.pace == "max" and (wall := pair.medians("wall")):
        said.append(f"{wall[1]:.1f} s instead of {wall[0]:.1f} s")
    if pair.pace == "user" and (found := pair.medians("response_p95")):
        said.append(f"p95 response time {_duration(found[1])} instead of {_duration(found[0])}")
    elif pair.pace != "max":
        for metric, what in (("latency_p95", "p95 latency"), ("staleness_p95", "p95 staleness")):
            if (found := pair.medians(metric)) and any(found):
                said.append(f"{what} {_duration(found[1])} instead of {_duration(found[0])}")
    if not said:
        return None
    unasked = modes.unasked(pair.mine[0]["mode"], pair.pace)
    where = ", ".join([pair.recording, pair.link, _PACES.get(pair.pace, f"{pair.pace} times the recorded pace")])
    return f"{where}{f', `{pair.row}` with `{unasked}`' if unasked else ''} (n = {pair.count}): {', '.join(said)}."


def of(result: dict[str, Any]) -> str:
    """The verdict, over TLS if that was played; if nothing can be compared, the number of runs that count."""
    runs: list[Run] = result["runs"]
    over = "tls" if any(run["transport"] == "tls" and run["valid"] for run in runs) else "plain"
    runs = [run for run in runs if run["transport"] == over and run["valid"]]
    base, mode = _mode(runs, _BASES), _mode(runs, _MODES)
    pairs = _pairs(runs, base, mode) if base and mode else []
    sentences = [said for pair in pairs if (said := _sentence(pair))]
    if not sentences:
        return f"{sum(run['valid'] for run in result['runs'])} of {len(result['runs'])} runs count."
    return f"**`{pairs[0].row}` against `{base}` {'over TLS' if over == 'tls' else 'over plain TCP'}.** {' '.join(sentences)}"
