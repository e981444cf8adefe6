# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rows that miss a goal are listed, and only those."""

from __future__ import annotations

from bench.runs.store import Run
from live import page
from live.test_live import _run


def _text(runs: list[Run]) -> str:
    return page.page(runs)


def test_who_is_quicker_and_smaller_than_both_is_not_listed() -> None:
    runs = [_run("stock"), _run("flow", lags=[0.4] * 20, bytes=900_000), _run("vnc")]
    assert page.misses(runs) == (None, 0, 1)
    assert "1 of 1 rows meet each goal that applies (a way that was not measured, as VNC with sound, sets none)." in _text(runs)


def test_each_miss_says_by_how_much() -> None:
    runs = [_run("stock"), _run("flow", lags=[0.5] * 18 + [0.9] * 2, bytes=1_200_000, changes=710), _run("vnc", lags=[0.7] * 20, bytes=400_000)]
    found, missed, judged = page.misses([*runs, _run("flow", link="2M100ms")])
    assert (missed, judged) == (1, 1) and found is not None
    [line] = found.splitlines()[2:]
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        "text-std", "scroll", "lan", "20", "p95 0.90 s, stock 0.50 s", "120.0 kB, vnc 40.0 kB (3.0 times)",
        "120.0 kB, stock 100.0 kB (1.2 times)", "flow 71, stock 5, vnc 5"]


def test_within_ten_percent_and_20_ms_nothing_is_missed() -> None:
    assert page.misses([_run("stock"), _run("flow", lags=[0.56] * 20, bytes=1_050_000)]) == (None, 0, 1)
    assert "Where others" not in _text([_run("flow")])


def test_a_picture_that_was_not_shown_counts_as_the_limit_of_a_wait() -> None:
    for flow, slower in (([None] * 4, "median 30.00 s, stock 0.50 s"), ([0.4] * 18 + [None] * 2, "p95 30.00 s, stock 0.50 s")):
        found, missed, _ = page.misses([_run("stock"), _run("flow", lags=flow)])
        assert missed == 1 and slower in (found or "")


def test_all_are_compared_by_the_p95_or_all_by_the_median() -> None:
    assert page.misses([_run("stock", lags=[0.1] * 18 + [0.9] * 2), _run("flow", lags=[0.5] * 19)])[1] == 1
    assert page.misses([_run("stock", lags=[0.5] * 19), _run("flow", lags=[0.4] * 18 + [2.0] * 2)])[1] == 0
