# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run diff on the runs of results/: it finds no difference between two halves of one library's runs, and finds a
change of 5 % in packets or bytes and of 15 % in CPU, latency or staleness, with two or three runs per row on each
side. On a LAN p95 latency varies by more: there a change of 25 % is found, and one of 20 % is not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from bench.commands import diff
from bench.common import paths
from bench.measure.stats import Verdict
from bench.runs import results

Result = dict[str, Any]
_PAGES = ("distance", "lan", "modes", "pace")
_NAMES = ["packets", "wire_bytes", *diff._METRICS[1:]]


def _load(page: str) -> Result:
    found = results.load(paths.RESULTS / page / "compare.json.xz")
    if found["plan"]["repeats"] < 4:
        pytest.skip(f"{page} has {found['plan']['repeats']} runs of each")
    return found


def _worse(before: Result, after: Result) -> list[str]:
    """The figures that are called so."""
    lines = diff.compared(before, after, _NAMES)
    return sorted({name for _, name, one, *_ in lines if one.verdict is Verdict.WORSE}
                  | {name for (_, name), one in diff.together(lines).items() if one.verdict is Verdict.WORSE})


def _part(result: Result, repeats: tuple[int, int]) -> Result:
    return {**result, "runs": [run for run in result["runs"] if run["repeat"] in repeats]}


@pytest.mark.parametrize("page", _PAGES)
@pytest.mark.parametrize(("one", "other"), [((1, 2), (3, 4)), ((1, 4), (2, 3))])
def test_halves_of_one_page_differ_by_chance_alone(page: str, one: tuple[int, int], other: tuple[int, int]) -> None:
    result = _load(page)
    halves = _part(result, one), _part(result, other)
    assert (_worse(*halves), _worse(*reversed(halves))) == ([], [])


def _server(name: str, factor: float) -> Callable[[Result], None]:
    def change(run: Result) -> None:
        if run["server"][name]:
            run["server"][name] *= factor
    return change


def _cpu(run: Result) -> None:
    run["cpu_seconds"] = {kind: seconds and seconds * 1.15 for kind, seconds in run["cpu_seconds"].items()}


def _latency(factor: float) -> Callable[[Result], None]:
    def change(run: Result) -> None:
        if run["latency"]:
            run["latency"]["p95"] *= factor
    return change


def _age(run: Result) -> None:
    if (run.get("seen") or {}).get("age"):
        run["seen"]["age"]["p95"] *= 1.15


@pytest.mark.parametrize(("page", "figure", "change"), [
    ("distance", "packets", _server("packets", 1.05)), ("distance", "wire_bytes", _server("wire_bytes", 1.05)), ("distance", "cpu", _cpu),
    ("modes", "packets", _server("packets", 1.05)), ("modes", "wire_bytes", _server("wire_bytes", 1.05)), ("modes", "cpu", _cpu),
    ("lan", "latency_p95", _latency(1.25)), ("pace", "latency_p95", _latency(1.15)), ("pace", "staleness_p95", _age)])
def test_a_change_that_matters_is_seen(page: str, figure: str, change: Callable[[Result], None]) -> None:
    before = _load(page)
    after = copy.deepcopy(before)
    for run in after["runs"]:
        if run["mode"] == "flow":
            change(run)
    assert figure in _worse(before, after)
    assert _worse(after, before) == []
