# SPDX-License-Identifier: LGPL-2.1-or-later
"""The targets of results/notes.md: what the pages say of each, met or missed."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.common import table
from bench.lab import links
from bench.measure import metrics
from bench.report import grouping
from bench.runs import modes

SESSIONS = ("linux-boot", "linux-desktop", "linux-video", "vga-text-boot")
Pages = Mapping[str, Sequence[metrics.Run]]     # runs of each folder of results/


@dataclass(frozen=True)
class Row:
    """The runs that a target judges: `ours`, and `base`, with which they are compared."""
    base: Sequence[metrics.Run]
    ours: Sequence[metrics.Run]


Value = Callable[[Row], float]      # raises StatisticsError if it was not measured


@dataclass(frozen=True)
class Target:
    says: str
    limit: float        # met if the value is at most (`least`: at least) this
    where: str          # folder of results/
    link: str
    value: Value
    digits: int = 0
    base: str | None = None     # another folder that has the runs to compare with, of mode flow; else stock's on the same page and link
    base_link: str | None = None
    least: bool = False

    def meets(self, value: float) -> bool:
        return value >= self.limit if self.least else value <= self.limit


def _median(runs: Sequence[metrics.Run], metric: str) -> float:
    return statistics.median(grouping.values(runs, metric))


def _of(metric: str, unit: float = 1) -> Value:
    return lambda row: _median(row.ours, metric) * unit


def _percent_more(metric: str) -> Value:
    return lambda row: (_median(row.ours, metric) / _median(row.base, metric) - 1) * 100


def _more(metric: str) -> Value:
    return lambda row: _median(row.ours, metric) - _median(row.base, metric)


def _ratio(metric: str) -> Value:
    return lambda row: _median(row.ours, metric) / _median(row.base, metric)


def _excess(runs: Sequence[metrics.Run]) -> float:
    """Overhead beyond the least that any sender needs, per message byte."""
    return statistics.median((beyond - metrics.minimum(run["message_bytes"], run["transport"])) / run["message_bytes"]
                             for run in grouping.alike(runs, "overhead") if (beyond := metrics.overhead(run)) is not None)


def _staleness(p95: float, longest: float, where: str, link: str) -> tuple[Target, ...]:
    return (Target("p95 staleness, s", p95, where, link, _of("staleness_p95", 1e-3), 2),
            Target("maximum of staleness, s", longest, where, link, _of("staleness_max", 1e-3), 2))


TARGETS: tuple[Target, ...] = (
    *_staleness(0.05, 0.5, "staleness/links", "20M40ms"),
    *_staleness(0.5, 2, "staleness", "2M100ms"),
    *_staleness(1, 3, "staleness/links", "1M200ms"),
    *(Target("excess overhead, % of stock's", 25, where, link, lambda row: _excess(row.ours) / _excess(row.base) * 100)
      for where, link in (("lan", "lan"), ("pace", "20M40ms"), ("pace", "50M100ms"), ("pace", "2M100ms"))),
    Target("p95 latency, ms more than stock's", 1.5, "lan", "lan", _more("latency_p95"), 1),
    *(Target("wire bytes, % more than stock's", 5, where, link, _percent_more("wire_bytes"))
      for where, link in (("lan", "lan"), ("pace", "20M40ms"), ("pace", "50M100ms"), ("pace", "2M100ms"), ("staleness", "2M100ms"))),
    *(Target("server CPU, relative to stock", 1.05, where, link, _ratio("cpu"), 2)
      for where, link in (("lan", "lan"), ("modes", "lan"), ("staleness", "2M100ms"))),
    Target("pace max, relay: seconds, % more than without it", 10, "distance/links", "20M40ms" + links.RELAY, _percent_more("wall"),
           base="distance", base_link="20M40ms"),
    *(Target(f"relay: p95 {name}, % more than without it", 10, "staleness/links", "2M100ms" + links.RELAY, _percent_more(metric),
             base="staleness", base_link="2M100ms") for name, metric in (("staleness", "staleness_p95"), ("latency", "latency_p95"))),
    Target("pace max beside a download: % of the link", 50, "distance/download", "20M40ms", _of("own_share", 100), least=True),
    Target("client of half the speed: p95 latency, % more than stock's", 10, "distance/slow-client", "lan", _percent_more("latency_p95")),
    Target("BBR: overhead, % of message bytes", 12, "modes/bbr", "20M40ms", _of("overhead_ratio", 100)),
)


def _runs(pages: Pages, where: str, link: str, mode: str, session: str) -> list[metrics.Run]:
    return [run for run in pages.get(where, ()) if (run["link"], run["mode"], run["transport"], run["recording"].split("@")[0])
            == (link, mode, "tls", session)]


def _cell(target: Target, pages: Pages, session: str) -> tuple[str, bool | None, int]:
    """The value, whether it meets the target, and the number of runs; the value is `–` if it was not measured."""
    ours = _runs(pages, target.where, target.link, "flow", session)
    base = (_runs(pages, target.base, target.base_link or target.link, "flow", session) if target.base
            else _runs(pages, target.where, target.link, modes.STOCK, session))
    try:
        value = target.value(Row(base, ours))
    except (statistics.StatisticsError, ZeroDivisionError):
        return table.UNKNOWN, None, 0
    met = target.meets(value)
    text = f"{value:.{target.digits}f}"
    return text if met else f"**{text}**", met, len(grouping.alike(ours, "wall"))


def markdown(pages: Pages) -> str | None:
    """A row per target that was measured; None if none was."""
    rows = []
    for target in TARGETS:
        cells = [_cell(target, pages, session) for session in SESSIONS]
        judged = [met for _, met, _ in cells if met is not None]
        if judged:
            limit = f"{'at least ' if target.least else ''}{target.limit:g}"
            rows.append([target.says, limit, target.link, f"[{target.where}]({target.where.split('/')[0]}/compare.md)",
                         *(text for text, _, _ in cells), str(min(n for _, met, n in cells if met is not None)),
                         "yes" if all(judged) else f"{sum(judged)} of {len(judged)}"])
    if not rows:
        return None
    return table.markdown(["target", "limit", "link", "page", *SESSIONS, "n", "met"], rows, left=1) + "\n"
