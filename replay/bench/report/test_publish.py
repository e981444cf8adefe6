# SPDX-License-Identifier: LGPL-2.1-or-later
from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from bench import cli, test_samples as samples
from bench.report import publish, report
from bench.runs import modes, results


def test_every_row_is_in_the_csv(tmp_path: Path) -> None:
    result = samples.result(list(modes.MODES), repeats=3, links=["20M40ms"], paces=["recorded"])
    written = publish.write(result, tmp_path, "compare")
    figures = written[1].read_text()
    lines = list(csv.DictReader(io.StringIO(figures)))
    assert {(line["transport"], line["mode"]) for line in lines} == {(t, m) for t in ("plain", "tls") for m in modes.MODES}
    assert all(float(line["low"]) <= float(line["median"]) <= float(line["high"]) for line in lines)


def test_the_same_result_gives_the_same_files(tmp_path: Path) -> None:
    result = samples.result(["stock", "batch"], repeats=3)
    pages = [publish.write(result, tmp_path / name, "compare")[1].read_bytes() for name in ("a", "b")]
    assert pages[0] == pages[1]


def test_the_page_of_a_result_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = samples.result(["stock", "batch"], repeats=1)
    file = tmp_path / "compare.json"
    results.save(result, file)
    assert cli.main(["results", str(file)]) == 0
    assert (tmp_path / "compare.md").read_text() == publish.markdown(result)
    assert (tmp_path / "compare.csv").is_file()
    results.save({**result, "complete": False}, file)
    assert cli.main(["results", str(file)]) == 1
    assert "is incomplete: to continue, run ./run compare" in capsys.readouterr().err
    assert cli.main(["results", str(tmp_path / "none.json")]) == 2


def test_how_many_runs_a_figure_is_of(tmp_path: Path) -> None:
    result = samples.result(["stock", "flow"], repeats=5)
    for run in result["runs"]:
        if run["repeat"] % 2 == 0:
            run.update(captured=False, server=dict.fromkeys(run["server"]),
                       client=dict.fromkeys(run["client"]))
    result["runs"][1].update(valid=False, invalid_reason="bad luck")
    written = publish.write(result, tmp_path, "compare")
    counts = [line.split("|")[-2].strip() for line in written[0].read_text().splitlines() if line.startswith("| stock")]
    assert counts[:2] == ["3+1/5", "3+2/5"]
    rows = [line.split(",") for line in written[1].read_text().splitlines()]
    assert {(row[7], row[11]) for row in rows if row[3:6] == ["plain", "stock", "stock"] and row[7] in ("packets", "wall")} \
        == {("packets", "3"), ("wall", "1")}


def test_what_was_tried_again_is_told() -> None:
    result = samples.result(["stock", "flow"], repeats=3)
    assert "repeated" not in publish.markdown(result)
    for run, attempt, tests in zip(result["runs"], (2, 2, 1), (1, 3, 2), strict=False):
        run.update(attempt=attempt, link_tests=tests)
    assert "2 runs repeated; 3 link tests repeated" in publish.markdown(result)


def _short(result: dict[str, Any]) -> list[dict[str, str]]:
    """The first table of the page."""
    page = publish.markdown(result).partition("## In short: ")[2].partition("\n## ")[0]
    head, _, *lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")]
    return [dict(zip(head, line, strict=True)) for line in lines]


def test_a_first_table_says_what_came_out() -> None:
    result = samples.result(["stock", "flow"], repeats=1, links=("lan", "20M40ms"), paces=("max", "recorded"))
    for run in result["runs"]:
        mine = run["mode"] == "flow"
        run["cpu_seconds"] = {"user": 0.5 if mine else 1.0, "system": 0.0}
        run["server"].update(packets=500 if mine else 1000, wire_bytes=run["message_bytes"] * (1.05 if mine else 1.5))
        run["wall_seconds"] = 3.0 if mine else 80.0
        if run["latency"]:
            run["latency"]["p95"], run["seen"]["age"]["p95"] = (0.74, 16.0) if mine else (0.84, 29_500.0)
    text = publish.markdown(result)
    assert text.index("## In short: flow against stock\n") < text.index("## tiny")
    fast, paced, *far = _short(result)
    assert list(fast.values()) == [
        "tiny", "lan", "max", "flow (catchup=off)", "tls", "1 000 → 500 (-50 %)", "1.50 MB → 1.05 MB (-30 %)", "50.0 % → 5.0 % (-90 %)",
        "1.00 → 0.50 (-50 %)", "80.00 → 3.00 (-96 %)", "–", "–", "1+0/1 → 1+0/1"]
    assert (paced["pace"], paced["mode"], paced["seconds"]) == ("recorded", "flow", "")     # the session's own
    assert paced["p95"] == "0.84 → 0.74 (-12 %)" and paced["staleness p95"] == "29500.0 → 16.0 (-100 %)"
    assert [(row["link"], row["pace"], row["seconds"]) for row in far] == [("20M40ms", "max", "80.00 → 3.00 (-96 %)"), ("20M40ms", "recorded", "")]
    faster = _short(samples.result(["stock", "flow"], 1, paces=("10",)))
    assert [row["pace"] for row in faster] == ["10"]
    assert "\n4 of 4 runs count.\n" in publish.markdown(samples.result(["stock"], repeats=2))


def test_each_session_is_compared_with_itself() -> None:
    """Never a median over sessions."""
    result = samples.result(["cork", "batch"], repeats=1, recordings=("a-boot", "linux-desktop@20-35", "third"))
    for run in result["runs"]:
        factor = {"a-boot": 0.5, "linux-desktop@20-35": 1.2, "third": 0.9}[run["recording"]] if run["mode"] == "batch" else 1
        run["server"].update(packets=round(1000 * factor))
    assert "## In short: batch against cork\n" in publish.markdown(result)
    assert [(row["recording"], row["packets"]) for row in _short(result)] == [
        ("a-boot", "1 000 → 500 (-50 %)"), ("linux-desktop@20-35", "1 000 → 1 200 (+20 %)"), ("third", "1 000 → 900 (-10 %)")]
    more = samples.result(["cork", "batch"], repeats=4)
    for run in more["runs"]:
        run["captured"] = run["repeat"] % 2 == 1
    more["runs"][-1]["valid"] = False
    assert [row["runs"] for row in _short(more)] == ["2+2/4 → 2+1/4"]


def test_two_rows_are_compared() -> None:
    """Not a mix of runs with JPEG and without, or of two libraries."""
    result = samples.result(["stock", "flow"], repeats=3)
    for run in result["runs"]:
        run["lossy"] = run["repeat"] > 1
        run["server"].update(packets=(1000 if run["mode"] == "stock" else 500) * (10 if run["lossy"] else 1))
    other = [{**run, "library": "git:before", "server": {**run["server"], "packets": 9999}}
             for run in result["runs"] if run["mode"] == "flow"]
    rows = _short({**result, "runs": result["runs"] + other})
    assert [(row["mode"], row["packets"], row["runs"]) for row in rows] == [
        ("flow (git:before) (catchup=off)", "1 000 → 9 999 (+900 %)", "1+0/1 → 1+0/1"),
        ("flow (git:before) (catchup=off), JPEG", "10 000 → 9 999 (-0 %)", "2+0/2 → 2+0/2"),
        ("flow (catchup=off)", "1 000 → 500 (-50 %)", "1+0/1 → 1+0/1"),
        ("flow (catchup=off), JPEG", "10 000 → 5 000 (-50 %)", "2+0/2 → 2+0/2")]
    alone = _short({**result, "runs": [run for run in result["runs"] if run["mode"] == "stock"] + other})
    assert {row["mode"].partition(" (catchup")[0] for row in alone} == {"flow (git:before)"}


def test_rows_with_jpeg_stand_apart_in_the_one_table() -> None:
    result = samples.result(["stock", "flow"], repeats=2)
    for run in result["runs"]:
        run["lossy"] = run["mode"] == "stock" and run["repeat"] == 2
    rows = [[cell.strip() for cell in line.split("|")] for line in report.one_table([result]).splitlines() if "| plain " in line]
    assert [(row[5], row[-2]) for row in rows] == [("stock", "1+0"), ("stock, JPEG", "1+0"), ("flow (catchup=off)", "2+0")]


def test_two_captured_runs_are_compared() -> None:
    """Of four runs two count packets: too few for a spread of their own, not for that of the metric."""
    result = samples.result(["stock", "flow"], repeats=2)
    for run in result["runs"]:
        run["server"].update(packets=1000 if run["mode"] == "stock" else 500)
    rows = [line.split("|") for line in report.against_table(result["runs"]).splitlines()[2:]]
    assert [row[3].strip().startswith("-50.0 % [") and row[3].strip().endswith("] better") for row in rows] == [True, True]


def test_the_one_table() -> None:
    result = samples.result(["stock", "normal", "flow"], repeats=1)
    for run in result["runs"]:
        packets = {("plain", "stock"): 1000, ("tls", "stock"): 2000, ("plain", "flow"): 500, ("tls", "flow"): 700}.get(
            (run["transport"], run["mode"]), 1300)
        run["server"].update(packets=packets, wire_bytes=packets * 1000)
    bbr = samples.result(["stock", "flow"], repeats=1, links=("20M40ms",))
    bbr["plan"]["congestion"] = "bbr"
    shown = report.one_table([result, bbr])
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in shown.splitlines() if line.startswith("| tiny")]
    assert [row[2:7] for row in rows[:6]] == [
        ["lan", "plain", "stock", "1 000", "1.00"], ["lan", "plain", "normal", "1 300 (+30 %)", "1.30 (+30 %)"],
        ["lan", "plain", "flow (catchup=off)", "500 (-50 %)", "0.50 (-50 %)"], ["lan", "tls", "stock", "2 000", "2.00"],
        ["lan", "tls", "normal", "1 300 (-35 %)", "1.30 (-35 %)"], ["lan", "tls", "flow (catchup=off)", "700 (-65 %)", "0.70 (-65 %)"]]
    assert rows[0][7] == "–" and rows[3][7] == "4 000" and rows[0][-1] == "1+0"
    assert [row[2] for row in rows[6:]] == ["20M40ms, bbr"] * 4
    assert len(rows) == 10
    assert report.one_table([]) == ""
