# SPDX-License-Identifier: LGPL-2.1-or-later
"""Order of runs, repeats, progress output."""

from __future__ import annotations

import io
import multiprocessing
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import test_samples as samples
from bench.common import progress
from bench.lab import links
from bench.runs import matrix
from bench.runs.runspec import RunSpec


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def record(spec: RunSpec, valid: bool) -> dict[str, Any]:
    made = samples.run(spec.mode, spec.transport, spec.repeat)
    return {**made, "library": spec.library.name, "valid": valid, "invalid_reason": None if valid else "bad luck"}


def do(specs: list[RunSpec], valid: list[bool], done: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
    """The records of a matrix whose runs turn out as listed, in the order they are done."""
    records: list[dict[str, Any]] = list(done or [])
    begun = multiprocessing.Value("i", 0)       # each run is in a process of its own

    def one(spec: RunSpec) -> dict[str, Any]:
        begun.value += 1
        return record(spec, valid[begun.value - 1])

    todo = matrix.Matrix(specs, records[:], records.append, one)
    todo.do_all(progress.Progress(len(todo.left), 1, io.StringIO()))
    return records


@pytest.fixture
def specs(spec: RunSpec) -> list[RunSpec]:
    return [replace(spec, mode=mode, repeat=1) for mode in ("normal", "gather", "cork")]


def test_a_run_that_does_not_count_is_tried_once_more(specs: list[RunSpec]) -> None:
    records = do(specs, [True, False, True, False])
    assert [(one["mode"], one["attempt"], one["valid"]) for one in records] == [
        ("normal", 1, True), ("gather", 1, False), ("cork", 1, True), ("gather", 2, False)]


def test_nothing_is_tried_again_when_nothing_counts(specs: list[RunSpec]) -> None:
    assert len(do(specs, [False] * 3)) == 3


def test_going_on_does_only_what_is_left(specs: list[RunSpec]) -> None:
    done = [{**record(specs[0], True), "attempt": 1}, {**record(specs[1], False), "attempt": 1}]
    records = do(specs, [True, True], done)
    assert [(one["mode"], one["attempt"]) for one in records[2:]] == [("cork", 1), ("gather", 2)]


def test_one_warm_up_a_recording_which_waits_for_nothing(specs: list[RunSpec]) -> None:
    far = [replace(spec, link=links.LINKS["20M40ms"], pace="recorded", probe_every=100, repeat=2) for spec in specs]
    other = [replace(spec, recording=replace(spec.recording, name="other")) for spec in far]
    warm = matrix.warm_ups([*far, *other])
    assert [(one.link.name, one.pace, one.probe_every, one.repeat) for one in warm] == [("lan", "max", None, 0)] * 2


def test_temporary_folders_of_the_dead_are_removed(tmp_path: Path) -> None:
    for name in ("spice-bench-1-alive", "spice-bench-4194303-dead", "something-else"):
        (tmp_path / name).mkdir()
    matrix.remove_stale(tmp_path)
    assert sorted(folder.name for folder in tmp_path.iterdir()) == ["something-else", "spice-bench-1-alive"]


def test_what_a_zombie_left_is_removed(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)     # it is one until the end of this block
        (tmp_path / f"spice-bench-{ended.pid}-left").mkdir()
        matrix.remove_stale(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_terminal_sees_one_line_with_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    out = Terminal()
    shown = progress.Progress(3, 30, out)
    shown.start("first")
    assert out.getvalue() == "\r\033[K[1/3] first, 0:30 left"
    now[0] = 20.0
    shown.end("first", "good", 10)
    shown.start("second")
    assert out.getvalue().endswith("\r\033[K[1/3] first: good\n\r\033[K[2/3] second, 0:40 left")
    shown.clear()
    assert out.getvalue().endswith("\r\033[K")


def test_elsewhere_there_is_one_line_a_run() -> None:
    out = io.StringIO()
    shown = progress.Progress(1, 10, out)
    shown.start("first")
    shown.end("first", "good", 10)
    shown.clear()
    assert out.getvalue() == "[1/1] first: good, 0:00 left\n"


def test_a_terminal_sees_how_many_are_under_way() -> None:
    out = Terminal()
    progress.Progress(388, 5025, out).under_way(5)
    assert out.getvalue() == "\r\033[K[0/388] 5 under way, 1:23:45 left"


def test_durations() -> None:
    assert [progress.duration(seconds) for seconds in (0, 59.6, 3599, 3661)] == ["0:00", "1:00", "59:59", "1:01:01"]


def test_pauses_are_in_the_captured_runs_alone(spec: RunSpec) -> None:
    planned = matrix.order([replace(spec, pause_at=(20,))], 3, seed=1)
    assert [(one.captured, one.pause_at) for one in planned] == [(True, (20,)), (False, ()), (True, (20,))]
