# SPDX-License-Identifier: LGPL-2.1-or-later
from __future__ import annotations

import copy
import dataclasses
import json
import random
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from bench import cli, test_samples as samples
from bench.commands import diff
from bench.conftest import Bench
from bench.measure import metrics, stats
from bench.report import publish, report
from bench.runs.conditions import Conditions


@pytest.fixture
def before() -> dict[str, Any]:
    return samples.result(["stock", "batch"], repeats=5)


def run_diff(tmp_path: Path, before: dict[str, Any], after: dict[str, Any], *options: str) -> int:
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file, content in zip(files, (before, after), strict=True):
        file.write_text(json.dumps(content))
    return cli.main(["diff", *map(str, files), *options])


def changed(result: dict[str, Any], factor: float, machine: float = 1.0) -> dict[str, Any]:
    """machine: the factor for stock."""
    other = copy.deepcopy(result)
    for run in other["runs"]:
        run["cpu_seconds"] = {kind: used * (machine if run["mode"] == "stock" else factor) for kind, used in run["cpu_seconds"].items()}
    return other


def test_the_same_is_0(tmp_path: Path, before: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_diff(tmp_path, before, before) == 0
    assert "0 worse, 0 better" in capsys.readouterr().out


def test_better_is_0_and_worse_is_1(tmp_path: Path, before: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_diff(tmp_path, before, changed(before, 0.5)) == 0
    assert "better" in capsys.readouterr().out
    assert run_diff(tmp_path, before, changed(before, 1.5)) == 1
    out = capsys.readouterr().out
    assert "cpu" in out and "worse" in out


def test_another_machine_is_no_change_of_the_library(tmp_path: Path, before: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Of two sessions CPU seconds may differ by 20 % for whatever the host did."""
    assert run_diff(tmp_path, before, changed(before, 1.5, machine=1.5)) == 0
    assert "cpu and wall: judged relative to stock, which changed by +50% and +0% (the machine).\n" in capsys.readouterr().out
    assert run_diff(tmp_path, before, changed(before, 1.5, machine=1.2)) == 1
    alone = {**before, "runs": [run for run in before["runs"] if run["mode"] != "stock"]}
    assert run_diff(tmp_path, alone, changed(alone, 1.3), "--metrics", "cpu,packets,message_bytes") == 0
    assert "the machine may change cpu by 20% or more" in capsys.readouterr().out
    other = changed(before, 1.3)
    other["environment"]["libraries"] = {"stock": {"sha256": "another", "patched": False}}
    assert run_diff(tmp_path, before, other, "--metrics", "cpu,packets,message_bytes") == 0


def test_a_machine_that_was_measured_is_not_called_unknown(before: dict[str, Any]) -> None:
    """Whatever its figures: here those of a machine about which nothing is known."""
    unknown = diff._MACHINE_UNKNOWN
    lines = [diff.Line(("row",), name, stats.Comparison(stats.Verdict.SAME, 0.0), [], [], None) for name in ("cpu", "wall")]
    first, second = diff._cautions(before, before, lines, {"cpu": dataclasses.replace(unknown), "wall": unknown})
    assert "the machine may change wall by 20% or more" in first
    assert second == "cpu: judged relative to stock, which changed by +0% (the machine)."


def test_more_may_be_better(tmp_path: Path, before: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    def sharing(share: float) -> dict[str, Any]:
        return {**before, "runs": [{**run, "download": {"share": share, "bits_a_second": 1e6, "server_bits_a_second": 1e6 * share}}
                                   for run in before["runs"]]}

    assert run_diff(tmp_path, sharing(0.1), sharing(0.3), "--metrics", "own_share,own_rate") == 0
    assert "8 better" in capsys.readouterr().out
    assert run_diff(tmp_path, sharing(0.3), sharing(0.1), "--metrics", "own_share,own_rate") == 1


def test_one_lone_difference_among_many_is_not_called_worse(tmp_path: Path, before: dict[str, Any],
                                                            capsys: pytest.CaptureFixture[str]) -> None:
    """Of so few runs one in 252 looks like that by chance, and hundreds of figures are compared."""
    many = samples.result(["stock", "batch", "flow"], repeats=5, recordings=[f"r{number}" for number in range(10)])
    other = copy.deepcopy(many)
    for run in other["runs"]:
        if (run["recording"], run["mode"], run["transport"]) == ("r3", "flow", "tls"):
            run["cpu_seconds"]["user"] *= 1.2
    assert run_diff(tmp_path, many, other) == 0
    assert "0 worse, 0 better" in capsys.readouterr().out
    assert run_diff(tmp_path, before, changed(before, 1.2)) == 1      # in every row it is no chance


def test_mostly_unknown_is_2(tmp_path: Path, before: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    source = random.Random(1)
    wild = copy.deepcopy(before)
    for run in wild["runs"]:
        run["cpu_seconds"]["user"] = 1 + source.random()
    assert run_diff(tmp_path, wild, changed(wild, 1.1), "--metrics", "cpu,wall,packets") == 0
    assert run_diff(tmp_path, wild, changed(wild, 1.1), "--metrics", "cpu") == 2
    assert "nothing can be said of 2 of 2 figures" in capsys.readouterr().err


def test_the_age_of_the_picture_is_compared_unasked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = samples.result(["stock", "flow"], repeats=5, paces=("recorded",))
    other = copy.deepcopy(before)
    for run in other["runs"]:
        run["seen"]["age"]["p95"] *= 3
    assert run_diff(tmp_path, before, other) == 1
    assert "staleness_p95" in capsys.readouterr().out


def test_only_the_metrics_asked_for_count(tmp_path: Path, before: dict[str, Any]) -> None:
    assert run_diff(tmp_path, before, changed(before, 1.5), "--metrics", "packets,overhead") == 0
    assert run_diff(tmp_path, before, before, "--metrics", "beauty") == 2


@pytest.mark.parametrize(("path", "what"), [
    (("environment", "kernel"), "the kernel"),
    (("environment", "cpu"), "the CPU"),
    (("environment", "recordings", "tiny"), "recording tiny"),
    (("plan", "tls"), "the TLS version"),
])
def test_another_environment_is_2_below_the_tables(tmp_path: Path, before: dict[str, Any], path: tuple[str, ...], what: str,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    other = copy.deepcopy(before)
    owner = other
    for step in path[:-1]:
        owner = owner[step]
    owner[path[-1]] = "something else"
    assert run_diff(tmp_path, before, other) == 2
    said = capsys.readouterr()
    assert f"not comparable: {what} differ" in said.err and "0 worse, 0 better" in said.out


@pytest.mark.parametrize("name", [each.name for each in fields(Conditions)])
def test_other_conditions_are_2(tmp_path: Path, before: dict[str, Any], name: str) -> None:
    assert run_diff(tmp_path, before, {**before, "plan": {**before["plan"], name: "another"}}) == 2
    older = {key: value for key, value in before["plan"].items() if key != name}
    usual = {**older, name: getattr(Conditions(), name)}
    assert run_diff(tmp_path, {**before, "plan": older}, {**before, "plan": usual}) == 0


def test_other_jobs_are_said_where_times_are_compared(tmp_path: Path, before: dict[str, Any],
                                                      capsys: pytest.CaptureFixture[str]) -> None:
    other = {**before, "plan": {**before["plan"], "jobs": 8}}
    assert run_diff(tmp_path, before, other, "--metrics", "packets,cpu") == 0
    assert "Before, 1 at a time of the runs that wait, after, 8" in capsys.readouterr().out
    assert run_diff(tmp_path, before, other, "--metrics", "packets") == 0
    assert "at a time" not in capsys.readouterr().out


def test_the_page_says_how_many_were_under_way(before: dict[str, Any]) -> None:
    assert "at a time" not in publish.markdown(before)
    before["plan"]["jobs"] = 8
    assert "up to 8 runs at once" in publish.markdown(before)


def test_nothing_in_common_or_too_few_runs_is_2(tmp_path: Path, before: dict[str, Any]) -> None:
    assert run_diff(tmp_path, before, samples.result(["gather"], repeats=5)) == 2
    few = samples.result(["gather"], repeats=1)
    assert run_diff(tmp_path, few, few) == 2


def test_a_row_without_runs_that_count_is_2(tmp_path: Path, before: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    other = copy.deepcopy(before)
    for run in other["runs"]:
        run["valid"] = run["mode"] != "batch" or run["transport"] == "tls"
    assert run_diff(tmp_path, before, other) == 2
    assert "B has no valid run of tiny/lan/max/plain/batch\n" in capsys.readouterr().err
    assert run_diff(tmp_path, other, before) == 0
    assert run_diff(tmp_path, before, {**before, "complete": False}) == 2


def test_a_row_that_only_the_first_has_is_2(tmp_path: Path, before: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    less = {**before, "runs": [run for run in before["runs"] if (run["mode"], run["transport"]) != ("batch", "tls")]}
    assert run_diff(tmp_path, before, less) == 2
    assert "B has no valid run of tiny/lan/max/tls/batch\n" in capsys.readouterr().err
    assert run_diff(tmp_path, less, before) == 0
    jpeg = copy.deepcopy(before)
    for run in jpeg["runs"]:
        run["lossy"] = run["mode"] == "batch" and run["transport"] == "tls"
    assert run_diff(tmp_path, before, jpeg) == 0      # the mode is there, whatever the server did to pictures


def test_a_wrong_picture_in_one_of_several_runs_is_worse(tmp_path: Path, before: dict[str, Any],
                                                         capsys: pytest.CaptureFixture[str]) -> None:
    other = copy.deepcopy(before)
    next(run for run in other["runs"] if run["mode"] == "batch").update(valid=False, lossy=True, invalid_reason="another picture")
    assert run_diff(tmp_path, before, other) == 1
    out = capsys.readouterr().out
    assert "Wrong pictures only in B: tiny/lan/max/plain/batch\n" in out
    assert "Runs that do not count: 0 of 20 before, 1 of 20 after.\n" in out
    assert run_diff(tmp_path, other, other) == run_diff(tmp_path, other, before) == 0
    assert "Wrong pictures" not in capsys.readouterr().out


def test_rows_that_became_jpeg_are_named(tmp_path: Path, before: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    other = copy.deepcopy(before)
    for run in other["runs"]:
        run["lossy"] = run["mode"] == "batch" and run["transport"] == "tls" and run["repeat"] > 2
    assert run_diff(tmp_path, before, other) == 0
    assert "JPEG only in B, so not compared: tiny/lan/max/tls/batch, JPEG.\n" in capsys.readouterr().out
    assert run_diff(tmp_path, other, other) == 0
    assert "JPEG only" not in capsys.readouterr().out


def test_both_tables_say_how_many_runs(tmp_path: Path, before: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    fewer = {**before, "runs": [run for run in before["runs"] if run["repeat"] < 5]}
    run_diff(tmp_path, before, fewer, "--metrics", "packets")
    rows, _, of_all = capsys.readouterr().out.partition("change of all rows")
    assert rows.count(" 5 → 4 ") == 4 and of_all.count(" 10 → 8 ") == 2


@pytest.mark.parametrize("content", [
    "", "{}", "[1]", '{"schema": "spice-bench-results", "version": 99}', '{"schema": "spice-bench-results", "version": 1}',
    json.dumps({**samples.result(["batch"], 1), "runs": [{}]}), json.dumps(samples.result(["fast"], 1))])
def test_what_is_no_result_file_is_2(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content)
    assert cli.main(["diff", str(tmp_path / "x.json"), str(tmp_path / "x.json")]) == 2
    assert cli.main(["diff", str(tmp_path / "none.json"), str(tmp_path / "x.json")]) == 2


def test_a_packed_file_that_is_missing_is_no_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["diff", str(tmp_path / "a.json.xz"), str(tmp_path / "b.json.xz")]) == 2
    assert "a.json.xz: No such file" in capsys.readouterr().err


def test_every_figure_of_time_is_known_as_one() -> None:
    assert [one.name for one in metrics.METRICS.values() if one.says.endswith(", ms") and not one.name.startswith(diff.TIMES)] == []


def test_few_runs_of_many_rows_tell_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A hundredth in no row, half as much again in all."""
    many = samples.result(["stock", "flow"], repeats=2, recordings=[f"r{number}" for number in range(8)])
    assert run_diff(tmp_path, many, changed(many, 1.01), "--metrics", "packets,cpu") == 0
    assert "0 worse, 0 better" in capsys.readouterr().out
    assert run_diff(tmp_path, many, changed(many, 1.5), "--metrics", "packets,cpu") == 1
    of_all = capsys.readouterr().out.partition("change of all rows")[2].splitlines()[2:]
    assert [[line.split("|")[part].strip() for part in (1, 2, -2)] for line in of_all] == [
        ["flow", "cpu", "worse"], ["flow", "packets", "same"], ["stock", "packets", "same"]]
    assert run_diff(tmp_path, many, changed(many, 0.5), "--metrics", "packets,cpu") == 0
    capsys.readouterr()
    one = copy.deepcopy(many)
    for run in one["runs"]:
        if run["recording"] == "r3":
            run["cpu_seconds"]["user"] *= 2
    assert run_diff(tmp_path, many, one, "--metrics", "packets,cpu") == 1       # so much more is no chance in one row
    of_all = capsys.readouterr().out.partition("change of all rows")[2]
    assert "worse" not in of_all                # of all it is not said: they do not agree


def test_runs_that_do_not_count_are_left_out(tmp_path: Path, before: dict[str, Any]) -> None:
    other = changed(before, 1.5)
    for run in other["runs"]:
        run["valid"] = False
    other["runs"] += before["runs"]
    assert run_diff(tmp_path, before, other) == 0


def test_tables_have_a_verdict_against_stock(before: dict[str, Any]) -> None:
    source = random.Random(1)
    for run in before["runs"]:
        run["cpu_seconds"]["user"] = source.gauss(1.0, 0.001) * (0.5 if run["mode"] == "batch" else 1)
    page = publish.markdown(before)
    assert "better |" in page and "Change of the geometric mean against *stock*" in page
    assert page == publish.markdown({**before, "runs": before["runs"][::-1]})


def test_figures_nobody_knows_are_dashes() -> None:
    result = samples.result(["stock"], repeats=1)
    for run in result["runs"]:
        run["message_bytes"] = None
        run["cpu_seconds"] = {"user": None, "system": None}
    rows = [line for line in publish.markdown(result).splitlines() if line.startswith("| stock")]
    assert len(rows) == 2 and all(row.count(" – ") >= 4 for row in rows)


def test_an_unpatched_library_stands_against_every_mode() -> None:
    result = samples.result(["stock", "gather", "batch"], repeats=1)
    result["environment"]["libraries"] = {"stock": {"patched": False}, "patched": {"patched": True}}
    rows = [{(run["transport"], run["mode"]) for run in part["runs"]} for part in diff.split(result)]
    assert rows[0] == rows[1] == {(transport, mode) for transport in ("plain", "tls") for mode in ("gather", "batch")}


@pytest.mark.usefixtures("nothing_left")
def test_the_two_libraries_of_a_file(bench: Bench) -> None:
    arguments = ("--modes", "stock,gather", "--repeat", "5", "--transport", "plain")
    done = bench.compare("--library", "stock", "--library", "patched", *arguments)
    assert done.returncode == 0, done.stderr
    done = bench("diff", str(bench.output / "compare.json"), "--metrics", "message_bytes")
    assert done.returncode == 0 and "\n0 worse, 0 better, 0 unknown, 1 same\n" in done.stdout, done.stdout + done.stderr
    assert bench.compare(*arguments[:3], "1", *arguments[4:], "--modes", "gather").returncode == 0
    done = bench("diff", str(bench.output / "compare.json"))
    assert done.returncode == 2, done.stdout
    assert done.stderr == "bench: the file has 1 libraries, not two: give a second file to compare with\n"


@pytest.mark.parametrize(("name", "reason"), [("/nowhere", "library /nowhere: no such directory"), ("git:no-such-revision", "git")])
def test_a_library_that_is_not_there_is_2(bench: Bench, name: str, reason: str) -> None:
    done = bench.compare("--library", "stock", "--library", name)
    assert done.returncode == 2 and reason in done.stderr and done.stderr.count("\n") == 1


def test_what_was_sent_as_jpeg_is_a_row_of_its_own() -> None:
    result = samples.result(["stock", "batch"], repeats=4, links=["20M40ms"])
    for run in result["runs"]:
        run["lossy"] = run["repeat"] > 1
    result["runs"][0].update(valid=False, invalid_reason="bad luck", lossy=None)
    text = report.cost_table(result["runs"])
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]
    assert [(row[0], row[1], row[-1]) for row in rows] == [
        ("stock, JPEG", "plain", "3+0/4"), ("batch", "plain", "1+0/1"), ("batch, JPEG", "plain", "3+0/3"),
        ("stock", "tls", "1+0/1"), ("stock, JPEG", "tls", "3+0/3"), ("batch", "tls", "1+0/1"), ("batch, JPEG", "tls", "3+0/3")]


def test_metrics_that_no_row_has_are_said(tmp_path: Path, before: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    for wanted, said in (("", "no metric is given"), (",", "no metric is given"), ("sound_p95", "no row has sound_p95")):
        assert run_diff(tmp_path, before, before, "--metrics", wanted) == diff.NOT_COMPARABLE
        assert said in capsys.readouterr().err
