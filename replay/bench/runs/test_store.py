# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs are kept, one per line; what is left; what a case will take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.common.errors import BenchError
from bench.runs import runner, store
from bench.runs.runner import Outcome, Plan
from bench.runs.store import Case, Run, Store

_CASE = Case(("guest", "scenario"), "flow", "lan", (("accel", "kvm"),), count=20)


def _run(case: Case = _CASE, invalid: str | None = None, failed: bool = False, library: str | None = "new", **more: Any) -> Run:
    return Run(case, {"n": 1}, invalid, failed, library, **{"date": "2026-11-30 08:00", "environment": {"commit": "c"}, **more})


def test_each_run_is_a_line(tmp_path: Path) -> None:
    kept = Store(tmp_path / "folder" / "runs.jsonl")
    runs = [_run(), _run(replace(_CASE, mode="stock", repeat=2), "no link", library=None)]
    for run in runs:
        kept.add(run)
    assert kept.file.read_bytes().count(b"\n") == 2 and Store(kept.file).runs == kept.runs == runs
    assert [str(run.case) for run in Store(kept.file).runs] == ["guest/scenario/lan/kvm/flow", "guest/scenario/lan/kvm/stock run 2"]


@pytest.mark.parametrize("damage", ["{", "[]", "{}", "\xff", _run().written().replace('"figures": {"n": 1}', '"figures": 1'),
                                    _run().written().replace('["guest", "scenario"]', "[1]"), _run().written().replace('"mode"', '"tea"')])
def test_a_damaged_line_is_named(damage: str, tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    file.write_bytes((_run().written() + damage.strip() + "\n").encode("latin-1"))
    with pytest.raises(BenchError, match="runs.jsonl, line 2 is damaged: remove the line"):
        Store(file)


def test_a_line_that_was_cut_off_is_no_run_and_the_next_one_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    file.write_text(_run().written() + _run().written()[:50])
    kept = Store(file)
    assert len(kept.runs) == 1
    kept.add(_run(failed=True))
    kept.add(_run())
    assert Store(file).runs == [_run(), _run(failed=True), _run()]


def test_a_folder_that_takes_no_file_is_one_line() -> None:
    with pytest.raises(BenchError, match="cannot write in /proc/no: No such file"):
        _plan(Path("/proc/no")).only_told(dry_run=False)
    with pytest.raises(BenchError, match="cannot write /proc/no/runs.jsonl: No such file"):
        Store(Path("/proc/no/runs.jsonl")).add(_run())


@pytest.mark.parametrize(("run", "left"), [
    (_run(), False), (_run(invalid="no link"), True), (_run(failed=True), True), (_run(library="old"), True), (_run(library=None), True),
    (_run(replace(_CASE, repeat=2)), True), (_run(replace(_CASE, conditions=())), True), (_run(replace(_CASE, count=30)), False),
    (_run(replace(_CASE, count=10)), True)])
def test_what_is_left_has_no_such_run(run: Run, left: bool, tmp_path: Path) -> None:
    kept = Store(tmp_path / "runs.jsonl")
    kept.add(run)
    assert bool(kept.left([_CASE], "new")) == left


def test_a_library_that_is_measured_again_needs_a_new_run(tmp_path: Path) -> None:
    """As pages show the last run."""
    kept = Store(tmp_path / "runs.jsonl")
    for library in ("a", "b"):
        kept.add(_run(library=library))
    assert kept.left([_CASE], "b") == [] and kept.left([_CASE], "a") == [_CASE]
    kept.add(_run(library="a", invalid="no link"))
    assert kept.left([_CASE], "b") == []


def test_what_is_of_another_library_needs_no_new_run(tmp_path: Path) -> None:
    kept = Store(tmp_path / "runs.jsonl")
    kept.add(_run(library=None))
    assert kept.left([replace(_CASE, ours=False)], "new") == []


def test_the_last_run_that_counts_is_shown() -> None:
    first, bad, again = _run(date="1"), _run(invalid="no link"), _run(date="2")
    assert store.latest([first, bad]) == [first] and store.latest([first, bad, again]) == [again] and store.latest([bad]) == [bad]
    old, stock = _run(library="old"), _run(library=None)
    assert store.of_last_library([old, stock, first]) == [stock, first]
    older = _run(date="0", environment={"commit": "b", "qemu": "old"})
    assert store.facts([again, older]) == {"commit": "c", "date": "2", "day": "2", "tree": "c, b"}


def test_a_case_takes_as_long_as_before() -> None:
    other = replace(_CASE, link="2M100ms")
    known = [_run(seconds=111.0), _run(invalid="no link", seconds=1.0)]
    assert list(store.expected({_CASE: 5.0}, known).values()) == [111]
    assert list(store.expected({replace(_CASE, count=40, repeat=2): 5.0}, known).values()) == [211]     # 11 s do not depend on the count
    assert list(store.expected({other: 5.0}, [*known, _run(other)]).values()) == [5]


# --- the runner ---

_TWO = [Case(("one",), "flow"), Case(("two",), "stock", ours=False)]


def _plan(folder: Path, cases: list[Case] | None = None) -> Plan:
    return Plan("live/none.jsonl", dict.fromkeys(cases or _TWO, 1.0), folder, "page.md", lambda runs: f"{len(runs)} runs\n")


def _says(run: Run) -> str:
    return "good"


def test_every_run_is_kept_with_its_library_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = _plan(tmp_path)
    runs = plan.perform(lambda case, _: Outcome({"n": case.what[0]}, about={"client": "1"}), {"qemu": "QEMU"}, _says)
    assert [(run.figures, run.library) for run in runs] == [({"n": "one"}, plan.library), ({"n": "two"}, None)]
    assert runs == Store(tmp_path / "none.jsonl").runs and len(plan.library) == 12
    assert {"qemu", "client", "release", "machine", "commit"} <= runs[0].environment.keys()
    assert (tmp_path / "page.md").read_text() == "2 runs\n"
    told = capsys.readouterr()
    assert told.out == f"{tmp_path / 'page.md'}: 2 runs made, 0 were there, 0 do not count\n"
    assert "2 runs, about 0:02" in told.err and "[1/2] one/flow: good, " in told.err
    assert _plan(tmp_path).left == [] and _plan(tmp_path).only_told(dry_run=True)
    assert capsys.readouterr().out.startswith("0 runs, about 0:00 on an idle machine; 2 are there already.")


def test_a_run_that_does_not_count_is_made_once_more_at_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tries: list[tuple[str, int]] = []

    def one(case: Case, attempt: int) -> Outcome:
        tries.append((case.what[0], attempt))
        return Outcome(invalid="no link" if case.what == ("two",) or attempt == 1 else None)

    runs = _plan(tmp_path).perform(one, {}, _says)
    assert tries == [("one", 1), ("two", 1), ("one", 2), ("two", 2)]
    assert [run.invalid for run in runs] == [None, "no link"] and len(Store(tmp_path / "none.jsonl").runs) == 4
    told = capsys.readouterr()
    assert "1 runs made, 0 were there, 1 do not count\n" in told.out and "one/flow: does not count: no link" in told.err
    tries.clear()
    assert [case.what[0] for case in _plan(tmp_path).left] == ["two"]
    _plan(tmp_path).perform(lambda *_: Outcome(invalid="not here", again=False), {}, _says)
    assert len(Store(tmp_path / "none.jsonl").runs) == 5


def test_what_has_failed_is_counted_and_made_again_by_the_next_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = _plan(tmp_path).perform(lambda case, _: Outcome(failed=case.what == ("one",)), {}, _says)
    assert [run.failed for run in runs] == [True, False]
    assert "2 runs made, 0 were there, 0 do not count, 1 failed\n" in capsys.readouterr().out
    assert [case.what[0] for case in _plan(tmp_path).left] == ["one"]


def test_an_interruption_loses_nothing_that_was_made(tmp_path: Path) -> None:
    def one(case: Case, _attempt: int) -> Outcome:
        if case.what == ("two",):
            raise KeyboardInterrupt
        return Outcome()

    with pytest.raises(KeyboardInterrupt):
        _plan(tmp_path).perform(one, {}, _says)
    assert (tmp_path / "page.md").read_text() == "1 runs\n"
    assert [case.what[0] for case in _plan(tmp_path).left] == ["two"]


def test_rounds() -> None:
    assert [(case.what[0], case.repeat) for case in runner.rounds(_TWO, 2)] == [("one", 1), ("two", 1), ("one", 2), ("two", 2)]
    with pytest.raises(BenchError, match="--repeat must be at least 1"):
        runner.rounds(_TWO, 0)
