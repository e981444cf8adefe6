# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a result says, in a few sentences: what the best mode of the patched library saves or costs against upstream."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from bench.common import table
from bench.lab import links
from bench.measure import metrics
from bench.runs import modes

Run = dict[str, Any]
Pair = tuple[list[Run], list[Run]]      # of one recording, link and pace: upstream's, the mode's

_BASES = ("stock", "cork")
_PACES = {"max": ", pace max", "recorded": ", recorded pace", "user": ", user's pace (closed loop)"}
_MODES = ("flow", "batch", "window", "gather")


def _mode(runs: Sequence[Run], names: Sequence[str]) -> str | None:
    played = {run["mode"] for run in runs if run["valid"]}
    return next((name for name in names if name in played), None)


def _pairs(runs: Sequence[Run], base: str, mode: str) -> dict[tuple[bool, str], list[Pair]]:
    """By whether the link is one with a rate or a delay, and the pace."""
    groups: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run["recording"], run["link"], run["pace"]), []).append(run)
    found: dict[tuple[bool, str], list[Pair]] = {}
    for (_, link, pace), group in groups.items():
        pair = [run for run in group if run["mode"] == base], [run for run in group if run["mode"] == mode]
        if all(any(run["valid"] for run in part) for part in pair):
            found.setdefault((links.find(link).may_be_slow, pace), []).append(pair)
    return found


def _medians(pairs: Sequence[Pair], metric: str) -> list[tuple[float, float]]:
    """Of each pair that has the metric on both sides."""
    both = [(metrics.values(base, metric), metrics.values(mine, metric)) for base, mine in pairs]
    return [(statistics.median(base), statistics.median(mine)) for base, mine in both if base and mine]


def _middle(pairs: Sequence[Pair], metric: str) -> tuple[float, float] | None:
    """The pair in the middle by what the mode makes of it."""
    found = sorted(_medians(pairs, metric), key=lambda pair: pair[1] / pair[0] if pair[0] else 1.0)
    return found[len(found) // 2] if found else None


def _by(pairs: Sequence[Pair], metric: str, less: str, more: str, same: str) -> str | None:
    found = _middle(pairs, metric)
    if found is None or not found[0]:
        return None
    change = round((found[1] / found[0] - 1) * 100)
    return f"{abs(change)} % {less if change < 0 else more}" if change else same


def _duration(ms: float) -> str:
    return f"{ms / 1e3:.1f} s" if ms >= 1000 else f"{ms:.0f} ms" if ms >= 10 else f"{ms:.2f} ms"


def _sentence(kind: tuple[bool, str], pairs: Sequence[Pair], mode: str) -> str | None:
    far, pace = kind
    fast = pace == "max"
    said: list[str] = []
    if packets := _by(pairs, "packets", "fewer packets", "more packets", "as many packets"):
        said.append(packets)
    if wire := _by(pairs, "wire_bytes", "fewer bytes on the wire", "more bytes on the wire", "as many bytes on the wire"):
        said.append(wire)
    if cpu := _by(pairs, "cpu", "less CPU", "more CPU", "as much CPU"):
        said.append(cpu)
    if overhead := _middle(pairs, "overhead_ratio"):
        said.append(f"{table.percent(overhead[1])} overhead instead of {table.percent(overhead[0])}")
    if far and fast and (wall := _middle(pairs, "wall")):
        said.append(f"{wall[1]:.1f} s instead of {wall[0]:.1f} s")
    if pace == "user" and (found := _middle(pairs, "response_p95")):
        said.append(f"p95 response time {_duration(found[1])} instead of {_duration(found[0])}")
    elif not fast:
        for metric, what in (("latency_p95", "p95 latency"), ("age_p95", "p95 staleness")):
            if (found := _middle(pairs, metric)) and any(found):
                said.append(f"{what} {_duration(found[1])} instead of {_duration(found[0])}")
    if not said:
        return None
    where = ("over links with a delay" if far else "on a LAN") + _PACES.get(pace, f", {pace} times the recorded pace")
    middle = f" (median of {len(pairs)} rows)" if len(pairs) > 1 else ""
    unasked = modes.unasked(mode, pace)
    with_setting = f", `{mode}` with `{unasked}`" if unasked else ""
    return f"{where[0].upper()}{where[1:]}{with_setting}{middle}: {', '.join(said)}."


def of(result: dict[str, Any]) -> str:
    """Over TLS, where that was played; where nothing can be compared, how many runs count."""
    runs: list[Run] = result["runs"]
    over = "tls" if any(run["transport"] == "tls" and run["valid"] for run in runs) else "plain"
    runs = [run for run in runs if run["transport"] == over]
    base, mode = _mode(runs, _BASES), _mode(runs, _MODES)
    sentences = [said for kind, pairs in sorted(_pairs(runs, base, mode).items(), key=lambda found: (found[0][0], list(_PACES).index(found[0][1])
                                                                                  if found[0][1] in _PACES else len(_PACES)))
                 if (said := _sentence(kind, pairs, mode))] if base and mode else []
    if not sentences:
        return f"{sum(run['valid'] for run in result['runs'])} of {len(result['runs'])} runs count."
    return f"**`{mode}` against `{base}` {'over TLS' if over == 'tls' else 'over plain TCP'}.** {' '.join(sentences)}"
