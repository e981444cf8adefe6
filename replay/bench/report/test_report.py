# SPDX-License-Identifier: LGPL-2.1-or-later
"""Text and tables of pages."""

from __future__ import annotations

import re
from typing import Any

from bench import test_samples as samples
from bench.measure import latency
from bench.report import publish, report


def _rows(text: str) -> list[dict[str, str]]:
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return [dict(zip(lines[0], line, strict=True)) for line in lines[2:]]


def _wire(result: dict[str, Any], **size: int) -> None:
    for run in result["runs"]:
        run["server"]["wire_bytes"] = size[run["mode"]]


def test_a_table_has_all_bytes_on_the_wire_and_what_part_of_stock_that_is() -> None:
    result = samples.result(["stock", "batch", "flow"], repeats=1)
    _wire(result, stock=2_000_000, batch=1_500_000, flow=5_000_000)
    rows = _rows(report.cost_table(result["runs"]))
    assert [(row["transport"], row["wire"], row["of stock"]) for row in rows] == [
        (transport, *cells) for transport in ("plain", "tls")
        for cells in (("2.00 MB", "100.0 %"), ("1.50 MB", "75.0 %"), ("5.00 MB", "250.0 %"))]


def test_bytes_are_compared_with_stock_whatever_either_did_to_pictures() -> None:
    result = samples.result(["stock", "flow"], repeats=1)
    _wire(result, stock=2_000_000, flow=3_000_000)
    for run in result["runs"]:
        run["lossy"] = run["mode"] == "stock"
    assert [row["of stock"] for row in _rows(report.cost_table(result["runs"])) if row["mode"].startswith("flow")] == ["150.0 %"] * 2


def test_runs_that_the_server_took_for_slow_are_a_row_of_their_own() -> None:
    """Whatever picture they ended with: bytes of JPEG and of others have no common median."""
    result = samples.result(["stock"], repeats=4)
    _wire(result, stock=2_000_000)
    for run in result["runs"]:
        slow = run["low_bandwidth"] = run["repeat"] % 2 == 0
        run["server"]["wire_bytes"] = 2_000_000 if slow else 4_000_000
    rows = [(row["mode"], row["wire"]) for row in _rows(report.cost_table(result["runs"])) if row["transport"] == "tls"]
    assert rows == [("stock", "4.00 MB"), ("stock, JPEG", "2.00 MB")]


def test_without_stock_upstreams_way_is_the_measure() -> None:
    result = samples.result(["cork", "flow"], repeats=1)
    _wire(result, cork=2_000_000, flow=1_000_000)
    assert [row["of cork"] for row in _rows(report.cost_table(result["runs"]))] == ["100.0 %", "50.0 %"] * 2
    alone = samples.result(["flow"], repeats=1)
    assert [row["of cork"] for row in _rows(report.cost_table(alone["runs"]))] == ["–", "–"]


def test_a_setting_nobody_asked_for_is_named() -> None:
    fast = samples.result(["stock", "flow", "flow:catchup=on"], repeats=1)
    assert [row["mode"] for row in _rows(report.cost_table(fast["runs"]))][:3] == ["stock", "flow (catchup=off)", "flow:catchup=on"]
    assert "at pace max with `catchup=off`" in publish.markdown(fast)
    paced = samples.result(["stock", "flow"], repeats=1, paces=["recorded"])
    assert "catchup=off" not in publish.markdown(paced)


def test_latencies_that_could_not_be_taken_are_said_with_the_reason() -> None:
    result = samples.result(["stock", "flow"], repeats=2, paces=["recorded"])
    assert "could not be measured" not in publish.markdown(result)
    for run in result["runs"]:
        if run["mode"] == "flow":
            run["latency"] = None
            run["latency_missing"] = "the client reported no probes" if run["repeat"] == 1 else latency.UNMATCHED
    told = _rows(report.latencies_not_taken(result["runs"]))
    assert [(row["mode"], row["transport"], row["runs"], row["reason"]) for row in told] == [
        ("flow", transport, "1", reason) for transport in ("plain", "tls")
        for reason in ("the client reported no probes", latency.UNMATCHED)]


def test_a_column_is_explained_where_it_is_shown() -> None:
    paced = samples.result(["stock"], repeats=1, paces=["recorded"])
    for run in paced["runs"]:
        run["latency"]["p50"] = 12345.678       # makes the column wider than its head
    assert "\nLatency and staleness:\n" in publish.markdown(paced)
    assert "Latency and staleness:" not in publish.markdown(samples.result(["stock"], repeats=1))


def test_what_was_not_probed_is_not_missing() -> None:
    result = samples.result(["flow"], repeats=1, paces=["recorded"])
    for run in result["runs"]:
        run.update(latency=None, latency_missing=None)
    assert report.latencies_not_taken(result["runs"]) == ""


def test_rows_with_more_bytes_say_why() -> None:
    result = samples.result(["stock", "normal", "flow", "batch"], repeats=1, paces=["recorded"])
    _wire(result, stock=1_100_000, normal=2_000_000, flow=3_000_000, batch=1_150_000)
    for run in result["runs"]:
        run["lossy"] = run["mode"] == "stock"
        if run["mode"] == "flow":
            run.update(message_bytes=2_750_000, wall_seconds=1.0, streams=[{"refined_bytes": 250_000}, {"refined_bytes": 250_000}])
    told = {row["mode"]: row for row in _rows(report.more_bytes(result["runs"])) if row["transport"] == "tls"}
    assert list(told) == ["normal", "flow"] and told["flow"]["wire, of stock"] == "272.7 %"
    assert told["flow"]["runs"] == "1+0/1 → 1+0/1"
    assert [part.split(" ")[0] for part in told["flow"]["why"].split("; ")] == ["stock", "0.50", "stock"]
    assert told["normal"]["why"].startswith("more overhead per message byte: ") and "; " not in told["normal"]["why"]
    assert report.more_bytes(samples.result(["stock"], repeats=1)["runs"]) == ""


def test_a_cause_that_no_rule_knows_is_none() -> None:
    result = samples.result(["stock", "flow"], repeats=1, paces=["recorded"])
    for run in result["runs"]:
        run["seen"]["age"]["p95"] = 6.0
        for of in (run["server"], run):
            name = "wire_bytes" if of is run["server"] else "message_bytes"
            of[name] = 1_000_000 * (1 if name == "message_bytes" else 1.1) * (2 if run["mode"] == "flow" else 1)
    assert {row["why"] for row in _rows(report.more_bytes(result["runs"]))} == {"cause not investigated"}


def test_the_overheads_have_bytes_beside_them_and_settings_in_their_head() -> None:
    result = samples.result(["stock", "flow"], repeats=1, recordings=["one", "two"])
    _wire(result, stock=1_200_000, flow=1_500_000)
    told = _rows(report.overheads(result["runs"]))
    assert told[0]["flow (catchup=off)"].endswith(" % (125 %)") and "(" not in told[0]["stock"]
    both = samples.result(["stock", "flow"], repeats=1, paces=["max", "recorded"])
    assert "| flow |" in re.sub(" +", " ", report.overheads(both["runs"]))


def test_a_page_says_what_it_cannot_show() -> None:
    fast, user = (publish.markdown(samples.result(["stock"], 1, paces=[pace])).partition("## What this page")[2] for pace in ("max", "user"))
    assert "pace max" in fast and "closed loop" not in fast and "closed loop" in user and "open loop" not in user
    assert publish.drawn_by_qemu(["linux-desktop", "vga-text-boot@0-5", "linux-office", "tiny"]) == ["linux-office", "vga-text-boot"]
    assert "vga-text-boot: " in publish.markdown(samples.result(["stock"], 1, paces=["recorded"], recordings=["vga-text-boot"]))
