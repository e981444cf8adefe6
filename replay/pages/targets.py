# SPDX-License-Identifier: LGPL-2.1-or-later
"""Our targets (targets.md): what the pages say of each, met or missed."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.common import page, table
from bench.lab import links
from bench.measure import metrics
from bench.report import grouping
from bench.report.stored import OURS, SESSIONS, Stored
from bench.runs import modes

Runs = Sequence[metrics.Run]
Value = Callable[[Runs, Runs], float]      # of this library's runs, and of those that they are compared with; raises StatisticsError


@dataclass(frozen=True)
class Target:
    says: str
    limit: float        # met if the value is at most (`least`: at least) this
    where: str          # folder of results/
    link: str
    value: Value
    digits: int = 0
    direct: tuple[str, str] | None = None   # folder and link of flow's runs to compare with; else stock's on the same page and link
    least: bool = False


def _median(runs: Runs, metric: str) -> float:
    return statistics.median(grouping.values(runs, metric))


def _of(metric: str, unit: float = 1) -> Value:
    return lambda ours, _: _median(ours, metric) * unit


def _relative(metric: str) -> Value:
    return lambda ours, base: _median(ours, metric) / _median(base, metric)


def _more(metric: str) -> Value:
    """Percent."""
    return lambda ours, base: (_relative(metric)(ours, base) - 1) * 100


def _excess(runs: Runs) -> float:
    """Overhead beyond the least that any sender needs, per message byte."""
    found: list[float] = [(beyond - metrics.minimum(run["message_bytes"], run["transport"])) / run["message_bytes"]
                          for run in grouping.alike(runs, "overhead") if (beyond := metrics.overhead(run)) is not None]
    return statistics.median(found)


_RELAYED = f"2M100ms{links.RELAY}"
_PACED = (("lan", "lan"), ("pace", "20M40ms"), ("pace", "50M100ms"), ("pace", "2M100ms"))
TARGETS: tuple[Target, ...] = (
    *(Target(f"{says}, s", limit, where, link, _of(metric, 1e-3), 2) for where, link, *limits in (
        ("staleness/links", "20M40ms", 0.05, 0.5), ("staleness", "2M100ms", 0.5, 2.0), ("staleness/links", "1M200ms", 1.0, 3.0))
      for says, metric, limit in zip(("p95 staleness", "maximum of staleness"), ("staleness_p95", "staleness_max"), limits, strict=True)),
    *(Target("excess overhead, % of stock's", 25, where, link, lambda ours, base: _excess(ours) / _excess(base) * 100) for where, link in _PACED),
    Target("p95 latency, ms more than stock's", 1.5, "lan", "lan", lambda ours, base: _median(ours, "latency_p95") - _median(base, "latency_p95"), 1),
    *(Target("wire bytes, % more than stock's", 5, where, link, _more("wire_bytes")) for where, link in (*_PACED, ("staleness", "2M100ms"))),
    *(Target("server CPU, relative to stock", 1.05, where, link, _relative("cpu"), 2)
      for where, link in (("lan", "lan"), ("modes", "lan"), ("staleness", "2M100ms"))),
    Target("pace max, relay: seconds, % more than without it", 10, "distance/links", f"20M40ms{links.RELAY}", _more("wall"),
           direct=("distance", "20M40ms")),
    *(Target(f"relay: p95 {name}, % more than without it", 10, "staleness/links", _RELAYED, _more(f"{name}_p95"), direct=("staleness", "2M100ms"))
      for name in ("staleness", "latency")),
    Target("pace max beside a download: % of the link", 50, "distance/download", "20M40ms", _of("own_share", 100), least=True),
    Target("client of half the speed: p95 latency, % more than stock's", 10, "distance/slow-client", "lan", _more("latency_p95")),
    Target("BBR: overhead, % of message bytes", 12, "modes/bbr", "20M40ms", _of("overhead_ratio", 100)),
)


def _cell(target: Target, stored: Stored, session: str) -> tuple[str, bool, int] | None:
    """The value, whether it meets the target, and the number of runs; None if it was not measured."""
    ours = stored.runs(target.where, target.link, OURS, session)
    base = stored.runs(*target.direct, OURS, session) if target.direct else stored.runs(target.where, target.link, modes.STOCK, session)
    try:
        value = target.value(ours, base)
    except (statistics.StatisticsError, ZeroDivisionError):
        return None
    met = value >= target.limit if target.least else value <= target.limit
    text = f"{value:.{target.digits}f}"
    return text if met else f"**{text}**", met, len(grouping.alike(ours, "wall"))


def markdown(stored: Stored) -> str:
    """A row per target that was measured; empty if none was."""
    rows = []
    for target in TARGETS:
        cells = [_cell(target, stored, session) for session in SESSIONS]
        if found := [cell for cell in cells if cell]:
            met = sum(met for _, met, _ in found)
            rows.append([target.says, f"{'at least ' if target.least else ''}{target.limit:g}", target.link,
                         f"[{target.where}](../../results/{target.where.partition('/')[0]}/compare.md)",
                         *(cell[0] if cell else table.UNKNOWN for cell in cells), str(min(n for _, _, n in found)),
                         "yes" if met == len(found) else f"{met} of {len(found)}"])
    return table.markdown(["target", "limit", "link", "page", *SESSIONS, "n", "met"], rows) if rows else ""


def written(stored: Stored) -> str | None:
    """The page; None if no target was measured."""
    found = markdown(stored)
    return page.fill("pages/targets.md.j2", table=found) if found else None
