# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run diff on the runs of results/. Of each page runs of each row are drawn at random for both sides, and for a change the figures of
`flow` on one side are scaled. Share of 100 draws in which it is found:

| change | 3 + 3 of the pages' four | 3 + 3 of ten | 2 + 2 of four |
|---|---|---|---|
| 5 % in packets or bytes | 100 % | 100 % | 32 to 100 % |
| 15 % in CPU | 93 to 100 % | 84 % | 47 to 97 % |
| 15 % in p95 latency | 49 to 89 % | 62 % | 11 to 23 % |
| 25 % in p95 latency | 100 % | 99 % | 93 to 94 % |
| 15 % in p95 staleness, slow link | 99 % | 100 % | 77 % |
| none | 0 % | 3 % | 0 to 1 % |

Three of four are drawn with replacement, as two sides need six, so they vary less than new runs. The page of ten is
db5e78d:results/age/compare.json.xz. Two is the most that two sides of four can have without sharing a run.

No test here compares sessions. Of 17 pairs of pages in this tree's history with one kernel and one stock library, ./run diff of stock's rows
(without CPU and seconds) called one worse, none better: p95 latency on a LAN, all rows together, 31 % more (5d0549f3, 4fea11b5)."""

from __future__ import annotations

import collections
import math
import random
import statistics
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bench.commands import diff
from bench.common import paths
from bench.measure import metrics, stats
from bench.measure.stats import Verdict
from bench.runs import results

Run = dict[str, Any]
Result = dict[str, Any]
_PAGES = ("distance", "lan", "modes", "staleness")
_DRAWS = 20


@pytest.fixture(autouse=True)
def _without_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are only shown, and take most of the time."""
    monkeypatch.setattr(stats, "estimate", lambda _values: None)


def _load(page: str) -> Result:
    found = results.load(paths.RESULTS / page / "compare.json.xz")
    if found["plan"]["repeats"] < 4:
        pytest.skip(f"{page} has {found['plan']['repeats']} runs of each")
    return found


def _worse(before: Result, after: Result) -> set[str]:
    """The figures that are called so."""
    sessions = diff.machine(before, after)
    lines = diff.compared(before, after, list(diff._METRICS), sessions)
    return ({name for _, name, one, *_ in lines if one.verdict is Verdict.WORSE}
            | {name for (_, name), one in diff.together(lines, sessions).items() if one.verdict is Verdict.WORSE})


def _kinds(page: Result) -> list[list[Run]]:
    """The runs of each row, captured and others apart."""
    found = collections.defaultdict(list)
    for run in page["runs"]:
        if run["valid"]:
            row = (run["recording"], run["link"], run["transport"], run["mode"])
            found[(*row, run["captured"])].append(run)
    return list(found.values())


def _halves(page: Result, source: random.Random) -> tuple[Result, Result]:
    sides: tuple[list[Run], list[Run]] = [], []
    for runs in _kinds(page):
        half = len(runs) // 2
        drawn = source.sample(runs, 2 * half)
        sides[0].extend(drawn[:half])
        sides[1].extend(drawn[half:])
    return {**page, "runs": sides[0]}, {**page, "runs": sides[1]}


def _threes(page: Result, source: random.Random) -> tuple[Result, Result]:
    """Two captured runs and another one of each row."""
    def side() -> Result:
        return {**page, "runs": [run for runs in _kinds(page) for run in source.choices(runs, k=2 if runs[0]["captured"] else 1)]}
    return side(), side()


def _drawn(page: Result, how: Callable[[Result, random.Random], tuple[Result, Result]]) -> Iterator[tuple[Result, Result]]:
    source = random.Random(1)
    return (how(page, source) for _ in range(_DRAWS))


def _variances(name: str) -> Iterator[float]:
    """Of the logarithm of a figure between the runs of its row, once per run."""
    for page in _PAGES:
        for runs in _kinds(_load(page)):
            logs = [math.log(value) for value in metrics.values(runs, name) if value > 0]
            if len(logs) > 1:
                yield from [statistics.variance(logs)] * len(logs)


@pytest.mark.parametrize("name", [name for name in diff._METRICS if not name.startswith("response")])      # these pages have none
def test_the_usual_spread_is_that_of_the_pages(name: str) -> None:
    """Half as much more at most, as a row has few runs."""
    assert math.sqrt(statistics.fmean(_variances(name))) <= 1.5 * metrics._SPREAD[name]


def test_halves_of_one_page_are_seldom_called_worse() -> None:
    called = [bool(_worse(*halves)) for page in _PAGES for halves in _drawn(_load(page), _halves)]
    assert sum(called) <= 0.05 * len(called)


def _server(name: str, factor: float) -> Callable[[Run], Run]:
    return lambda run: {**run, "server": {**run["server"], name: run["server"][name] and run["server"][name] * factor}}


def _cpu(run: Run) -> Run:
    return {**run, "cpu_seconds": {kind: seconds and seconds * 1.15 for kind, seconds in run["cpu_seconds"].items()}}


def _latency(factor: float) -> Callable[[Run], Run]:
    return lambda run: {**run, "latency": run["latency"] and {**run["latency"], "p95": run["latency"]["p95"] * factor}}


def _age(run: Run) -> Run:
    age = (run.get("seen") or {}).get("age")
    return {**run, "seen": {**run["seen"], "age": {**age, "p95": age["p95"] * 1.15}}} if age else run


# The last: share of the draws in which it is found, at least; lower than measured, as the next pages are other ones.
@pytest.mark.parametrize(("page", "figure", "change", "share"), [
    *((page, "packets", _server("packets", 1.05), 0.85) for page in _PAGES),
    *((page, "wire_bytes", _server("wire_bytes", 1.05), 0.85) for page in _PAGES),
    *((page, "cpu", _cpu, 0.8) for page in _PAGES),
    ("lan", "latency_p95", _latency(1.15), 0.3), ("staleness", "latency_p95", _latency(1.15), 0.5),
    *((page, "latency_p95", _latency(1.25), 0.9) for page in ("lan", "staleness")),
    ("staleness", "staleness_p95", _age, 0.8)])
def test_a_change_that_matters_is_found(page: str, figure: str, change: Callable[[Run], Run], share: float) -> None:
    found = [figure in _worse(before, {**after, "runs": [change(run) if run["mode"] == "flow" else run for run in after["runs"]]})
             for before, after in _drawn(_load(page), _threes)]
    assert sum(found) >= share * len(found)
