# SPDX-License-Identifier: LGPL-2.1-or-later
"""Metrics of a run, against figures worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from bench.measure import metrics, stats


def run(transport: str = "plain", **changes: Any) -> dict[str, Any]:
    return {"valid": True, "transport": transport, "message_bytes": 144_800,
            "server": {"wire_bytes": 160_000, "data_packets": 110, "tcp_payload_bytes": 144_801}, **changes}


def test_overhead_and_floor() -> None:
    assert metrics.overhead(run()) == 15_200
    assert metrics.minimum(144_800, "plain") == 100 * 66
    # nine records of 22 bytes make one more packet
    assert metrics.minimum(144_800, "tls") == 9 * 22 + 101 * 66
    assert metrics.over_minimum(run()) == pytest.approx(15_200 / 6600)
    assert metrics.overhead_ratio(run(message_bytes=None)) is None


def test_a_change_of_cpu_is_taken_from_captured_runs_too() -> None:
    """Each kind against its own; a kind that one side lacks says nothing."""
    def taken(captured: bool, seconds: float) -> dict[str, Any]:
        return run(captured=captured, cpu_seconds={"user": seconds, "system": 0.0})

    before = [taken(True, 2.0), taken(True, 2.1), taken(False, 1.0)]
    after = [taken(True, 2.2), taken(True, 2.31), taken(False, 1.1)]
    found = metrics.shift(before, after, "cpu", 0.07)
    assert found is not None and found.log == pytest.approx(math.log(1.1)) and not found.lone
    timed = metrics.shift(before, after[2:], "cpu", 0.07)
    assert timed is not None and timed.log == pytest.approx(math.log(1.1)) and timed.lone
    assert metrics.shift(before[:2], after[2:], "cpu", 0.07) is None


def test_times_are_of_runs_without_a_capture() -> None:
    def taken(captured: bool, seconds: float, packets: int | None, **changes: Any) -> dict[str, Any]:
        return run(captured=captured, wall_seconds=seconds, server={"packets": packets}, **changes)

    runs = [taken(True, 3.0, 7), taken(False, 2.0, None), taken(False, 1.0, None, valid=False)]
    assert (metrics.values(runs, "wall"), metrics.values(runs, "packets")) == ([2.0], [7])
    assert metrics.values(runs[:1], "wall") == [3.0]        # the only one there is


def test_packets_over_minimum() -> None:
    assert metrics.packets_over_minimum(run()) == pytest.approx(110 / 101)
    assert metrics.packets_over_minimum(run(server={"data_packets": None, "tcp_payload_bytes": None})) is None


def test_over_path() -> None:
    # 20 Mbit/s carry 160 000 bytes in 64 ms; 1.3 times that and 160 ms
    on_link = {"pace": "max", "link": "20M40ms", "wall_seconds": 0.4864}
    assert metrics.over_path(run(**on_link)) == pytest.approx(2)
    assert metrics.over_path(run(**on_link, download={"share": 0.4})) is None
    for name, value in (("pace", "recorded"), ("link", "lan"), ("wall_seconds", None)):
        assert metrics.over_path(run(**{**on_link, name: value})) is None


def test_what_works_around_the_server() -> None:
    used = {"reader_cpu_seconds": {"user": 0.5, "system": 0.1}, "client_cpu_seconds": {"user": 0.3, "system": 0.05},
            "link_books": {"cpu_user": 0.02, "cpu_system": 0.03}}
    assert metrics.cpu_around(run(**used)) == pytest.approx(1.0)
    for name in used:       # a link without counters, a client elsewhere, a result file without the reader
        assert metrics.cpu_around(run(**{**used, name: None})) is None


def test_only_runs_that_count_have_values() -> None:
    runs = [run(), run(valid=False), run(server={"data_packets": None, "tcp_payload_bytes": None})]
    assert metrics.values(runs, "packets_over_minimum") == [pytest.approx(110 / 101)]


def test_staleness_is_of_the_screen_alone() -> None:
    """A run without a screen log has none, whatever its probes say."""
    log = {"age": {"p95": 6.0}}
    assert metrics.values([run(seen=log, latency=None), run(seen=None, latency={"age": {"p95": 9.0}})], "staleness_p95") == [6.0]


def test_what_only_some_runs_have() -> None:
    assert metrics.values([run(), run(download={"share": 0.4})], "own_share") == [0.4]


def test_a_busy_host_has_a_larger_spread() -> None:
    def row(low: float, high: float, captured: bool = True) -> list[dict[str, Any]]:
        return [run(captured=captured, cpu_seconds={"user": seconds, "system": 0.0}, server={"packets": seconds * 1000})
                for seconds in (low, high)]

    assert metrics.spread([], "cpu") == metrics.spread([row(1.0, 1.0)[:1]], "cpu") == pytest.approx(0.07)
    busy = [row(1.0, 1.3)] * 100
    assert metrics.spread(busy, "cpu") == pytest.approx(math.log(1.3) / math.sqrt(2), rel=0.1)
    quiet = [row(1.0, 1.0)] * 100
    assert metrics.spread(quiet, "cpu") == pytest.approx(0.07)      # the next session may be busy
    assert metrics.spread(quiet, "packets") == pytest.approx(0.01)
    two_kinds = [row(1.0, 1.0) + row(2.0, 2.0, captured=False)] * 100      # a capture's cost is no spread
    assert metrics.spread(two_kinds, "packets") == pytest.approx(0.01)


def test_what_cannot_be_told_apart_is_no_change() -> None:
    """The screen is logged every 10 ms: staleness of 0 and of 9 ms is the same, and less than one of 5 s."""
    def row(*ages: float) -> list[dict[str, Any]]:
        return [run(captured=True, seen={"age": {"p95": age}}, response={"missed": 0}) for age in ages]

    def judged(before: list[dict[str, Any]], after: list[dict[str, Any]], name: str = "staleness_p95") -> stats.Comparison:
        return metrics.judged(metrics.shift(before, after, name, 0.04), name)

    assert judged(row(0, 0, 0), row(9, 0, 9)) == judged(row(5, 5, 5), row(5, 5, 5))
    assert judged(row(0, 0, 0), row(9, 0, 9)).verdict is stats.Verdict.SAME
    assert judged(row(5000, 5100, 5050), row(0, 0, 0)).verdict is stats.Verdict.BETTER
    assert judged(row(0, 0, 0), row(0, 0, 0), "missed").change == 0.0
    assert judged(row(0), row(0), "wall").verdict is stats.Verdict.UNKNOWN      # unknown stays unknown


def test_a_figure_is_found_by_its_path() -> None:
    with_latency = run(latency={"p50": 0.4, "p95": 1.5})
    assert metrics.METRICS["latency_p95"].read(with_latency) == 1.5
    for lacking in (run(latency=None), run(latency={}), run()):
        assert metrics.METRICS["latency_p95"].read(lacking) is None
    assert metrics.METRICS["missed"].read(run(response={"missed": 0})) == 0
