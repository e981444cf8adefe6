# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which runs run at once, in which order; nothing is lost or left behind whatever fails."""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import test_samples as samples
from bench.common import paths
from bench.common.errors import BenchError
from bench.common.progress import Progress
from bench.conftest import Bench, processes, wait_until
from bench.lab import links
from bench.runs import atonce, expected, matrix, results
from bench.runs.runspec import RunSpec

pytestmark = pytest.mark.usefixtures("nothing_left")

Record = dict[str, Any]
_WAITS = "2M100ms"


def sized(spec: RunSpec, commands: int, seconds: float, **other: Any) -> RunSpec:
    return replace(spec, recording=replace(spec.recording, commands=commands, seconds=seconds), **other)


def over(spec: RunSpec, link: str, mode: str = "gather", repeat: int = 1) -> RunSpec:
    return sized(spec, 22_000, 48, link=links.find(link), mode=mode, repeat=repeat)


def mixed(spec: RunSpec, repeat: int = 1) -> list[RunSpec]:
    """Five that wait and, among them, two that need the processor."""
    modes = ("normal", "gather", "cork", "more", "window:window=40", "batch", "stock")
    return [over(spec, "lan" if mode in ("gather", "batch") else _WAITS, mode, repeat) for mode in modes]


def record(spec: RunSpec, valid: bool = True) -> Record:
    return {**samples.run(spec.mode, spec.transport, spec.repeat, link=spec.link.name), "library": spec.library.name,
            "valid": valid, "invalid_reason": None if valid else "bad luck"}


def brief(spec: RunSpec) -> Record:
    """A run that takes a moment and says which."""
    began = time.monotonic()
    time.sleep(0.15)
    return {**record(spec), "began": began, "ended": time.monotonic()}


def do(planned: list[RunSpec], one: Callable[[RunSpec], Record], jobs: int, done: list[Record]) -> None:
    todo = matrix.Matrix(planned, done[:], done.append, one, jobs)
    todo.do_all(Progress(len(todo.left), todo.expected_seconds, io.StringIO()))


def test_lengths_follow_link_pace_and_what_is_in_flight(spec: RunSpec) -> None:
    played = sized(spec, 40_000, 100)
    assert expected.seconds(played) == pytest.approx(2, abs=0.5)
    far = replace(played, link=links.find("20M40ms"))
    assert expected.seconds(far) == pytest.approx(45, abs=1)
    assert expected.seconds(replace(far, link=links.find("50M100ms"))) == pytest.approx(58, abs=1)
    assert expected.seconds(replace(far, mode="batch:record=auto,window=80")) == pytest.approx(25, abs=1)
    assert expected.seconds(replace(far, mode="window")) == pytest.approx(9, abs=1)
    assert expected.seconds(replace(far, mode="flow")) < 9
    assert expected.seconds(replace(far, mode="flow", link=links.find(_WAITS))) == pytest.approx(43, abs=1)
    assert expected.seconds(replace(played, pace="2")) == pytest.approx(51, abs=1)
    still = replace(played, pace="recorded", streaming=None)
    assert expected.seconds(still) == pytest.approx(104, abs=1)
    assert expected.share(still) == expected.share(replace(still, streaming="off"))


@pytest.mark.parametrize(("link", "mode", "other", "waits"), [
    ("lan", "stock", {}, False),
    ("lan", "stock", {"pace": "recorded"}, False),
    ("20M40ms", "flow", {"pace": "recorded"}, True),
    ("20M40ms", "flow", {"pace": "20"}, False),
    ("2M100ms", "stock", {}, True),
    ("2M100ms", "flow", {}, True),
    ("20M40ms", "batch", {}, True),
    ("100M10ms", "batch", {}, True),
    ("20M40ms", "flow", {}, False),
    ("20M40ms", "batch:window=400", {}, False),
    ("2M100ms", "stock", {"beside_download": True}, False),
    ("20M40ms", "batch", {"channels": "all"}, False),
])
def test_who_waits(spec: RunSpec, link: str, mode: str, other: dict[str, Any], waits: bool) -> None:
    assert expected.mostly_waits(replace(over(spec, link, mode), **other)) == waits


def test_with_one_job_nothing_is_moved(spec: RunSpec) -> None:
    planned = mixed(spec)
    assert atonce.batches(planned, 1) == [[one] for one in planned]
    assert atonce.seconds(atonce.batches(planned, 1), 1) == pytest.approx(sum(map(expected.seconds, planned)))


def test_those_that_wait_come_last_and_without_a_gap(spec: RunSpec) -> None:
    planned = mixed(spec, 1) + mixed(spec, 2)[::-1]
    found = atonce.batches(planned, 4)
    waiting = ("normal", "cork", "more", "window", "stock")
    assert [[(one.mode[:6], one.repeat) for one in batch] for batch in found] == [
        [("gather", 1)], [("batch", 1)], [("batch", 2)], [("gather", 2)],
        [*((mode, 1) for mode in waiting), *((mode, 2) for mode in reversed(waiting))]]


@pytest.mark.parametrize(("other", "most"), [({}, 1.4), ({"pace": "recorded"}, 0.8)])
def test_shares_of_a_processor_are_limited(spec: RunSpec, other: dict[str, Any], most: float) -> None:
    greedy = replace(over(spec, _WAITS, "flow"), **other)
    fit = int(most / expected.share(greedy))
    assert 5 <= fit < 20
    assert atonce.has_room([greedy] * (fit - 1), greedy, 32) and not atonce.has_room([greedy] * fit, greedy, 32)
    assert atonce.has_room([greedy] * 2, greedy, 3) and not atonce.has_room([greedy] * 3, greedy, 3)
    assert atonce.has_room([], replace(greedy, link=links.find("lan")), 1)


def test_the_length_of_a_plan_counts_what_overlaps(spec: RunSpec) -> None:
    slow = over(spec, _WAITS)
    length = expected.seconds(slow)
    assert atonce.seconds([[slow] * 4], 2) == pytest.approx(2 * length)
    assert atonce.seconds([[slow] * 5, [slow]], 2) == pytest.approx(4 * length)
    assert atonce.seconds([[slow], [slow]], 2, [(slow, 10.0), (slow, 999.0)]) == pytest.approx(2 * length)
    assert atonce.seconds([[]], 2, [(slow, 10.0)]) == pytest.approx(length - 10)


@pytest.mark.parametrize("jobs", [2, 5])
def test_as_many_at_once_as_asked_for(spec: RunSpec, jobs: int) -> None:
    """Each waits for all the others."""
    together = multiprocessing.get_context("fork").Barrier(jobs)

    def one(of: RunSpec) -> Record:
        together.wait(60)
        return record(of)

    found: list[Record] = []
    do([over(spec, _WAITS, repeat=repeat) for repeat in range(1, jobs + 1)], one, jobs, found)
    assert [one["beside_runs"] for one in found] == [jobs - 1] * jobs


@pytest.mark.parametrize("jobs", [2, 3, 8])
def test_never_more_at_once_than_asked_for_and_each_once(spec: RunSpec, jobs: int) -> None:
    planned = mixed(spec, 1) + mixed(spec, 2)
    found: list[Record] = []
    do(planned, brief, jobs, found)
    assert Counter(map(results.case, found)) == Counter(spec.case for spec in planned)
    beside = {}
    for one in found:
        others = [other for other in found if other is not one]
        # how many were under way when each that overlaps it began
        moments = [one["began"]] + [other["began"] for other in others if one["began"] < other["began"] < one["ended"]]
        beside[results.case(one)] = max(sum(other["began"] <= at < other["ended"] for other in others) for at in moments)
        assert one["beside_runs"] >= beside[results.case(one)]
        assert one["link"] != "lan" or beside[results.case(one)] == one["beside_runs"] == 0
    assert max(beside.values()) <= max(one["beside_runs"] for one in found) <= min(jobs, 10) - 1
    begun = [results.case(one) for one in sorted(found, key=lambda one: float(one["began"]))]
    wanted = [one.case for batch in atonce.batches(planned, jobs) for one in batch]
    if jobs == 2:       # more that begin together may note it in another order
        assert [key for key in begun if key.link == "lan"] == [key for key in wanted if key.link == "lan"]
    assert [key.link == "lan" for key in begun] == [True] * 4 + [False] * 10


def test_what_does_not_count_is_tried_once_more(spec: RunSpec) -> None:
    found: list[Record] = []
    do(mixed(spec), lambda one: record(one, one.mode not in ("cork", "more", "batch")), 4, found)
    assert sorted((one["mode"], one["attempt"]) for one in found if not one["valid"]) == [
        (mode, attempt) for mode in ("batch", "cork", "more") for attempt in (1, 2)]
    assert len(found) == 10


_FORKED = multiprocessing.get_context("fork")


class Found(list[Record]):
    """Records as they are taken; `enough`, which a run in a process of its own may wait for, is set when there are so many."""

    def __init__(self, enough: int) -> None:
        super().__init__()
        self.enough = _FORKED.Event()
        self._wanted = enough
        self._asleep = _FORKED.Semaphore(0)

    def long(self, _spec: RunSpec) -> Record:
        """Only a signal ends it in time."""
        with matrix.scratch():
            self._asleep.release()
            time.sleep(3600)
        raise AssertionError

    def wait_for_long(self, runs: int) -> None:
        for _ in range(runs):
            assert self._asleep.acquire(timeout=60)

    def append(self, taken: Record) -> None:
        super().append(taken)
        if len(self) == self._wanted:
            self.enough.set()


def test_an_interruption_ends_all_and_keeps_what_is_done(spec: RunSpec) -> None:
    planned = mixed(spec)
    found = Found(5)

    def one(of: RunSpec) -> Record:
        if of.mode == "more":
            found.enough.wait()
            found.wait_for_long(1)
            raise KeyboardInterrupt
        return found.long(of) if of.mode == "stock" else record(of)

    with pytest.raises(KeyboardInterrupt):
        do(planned, one, 5, found)
    assert not multiprocessing.active_children()
    assert len(found) == 5
    do(planned, record, 5, found)
    assert Counter(map(results.case, found)) == Counter(spec.case for spec in planned)


def test_records_that_came_while_one_was_written_are_kept(spec: RunSpec) -> None:
    planned = [one for one in mixed(spec) if one.link.name == _WAITS]
    found = Found(1)

    def done(of: Record) -> None:
        found.append(of)
        if len(found) == 1:
            found.wait_for_long(1)
            wait_until(lambda: len(multiprocessing.active_children()) == 1)     # the others have said theirs
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        matrix.Matrix(planned, [], done, lambda of: found.long(of) if of.mode == "stock" else record(of, of.mode != "cork"),
                      5).do_all(Progress(5, 1, io.StringIO()))
    assert {"normal", "more", "window:window=40"} <= {one["mode"] for one in found} and len(found) <= 4


@pytest.mark.parametrize(("fault", "complaint"), [("raise", "tcpdump is missing"), ("die", "its process ended with status 3"),
                                                  ("bug", "a slip")])
def test_an_error_ends_all_and_is_raised_once(spec: RunSpec, fault: str, complaint: str) -> None:
    def one(of: RunSpec) -> Record:
        if of.mode == "cork":
            found.enough.wait()
            found.wait_for_long(2)
            if fault == "die":
                os._exit(3)
            raise BenchError("tcpdump is missing") if fault == "raise" else ValueError("a slip")
        return found.long(of) if of.mode in ("more", "stock") else record(of)

    found = Found(4)
    with pytest.raises(ValueError if fault == "bug" else BenchError, match=complaint):
        do(mixed(spec), one, 5, found)
    assert {one["mode"] for one in found} == {"gather", "batch", "normal", "window:window=40"}


_LINK = paths.build_dir() / "replay/link/spice-link"     # not a stand-in's
_AT_ONCE = ("--transport", "plain", "--repeat", "1", "--link", "20M/10ms", "--pace", "0.1", "--with", "show-surfaces",
            "--modes", "normal,gather,cork", "--jobs", "3")


@pytest.fixture
def distant(bench: Bench) -> Bench:
    """With stand-ins that an emulated link is between."""
    if not _LINK.exists():
        pytest.skip("spice-link is not built")
    (bench.folder / "build/replay/link").mkdir()
    (bench.folder / "build/replay/link/spice-link").symlink_to(_LINK.absolute())
    return bench


def test_a_whole_comparison_at_once(distant: Bench) -> None:
    done = distant.compare(*_AT_ONCE)
    assert done.returncode == 0, done.stderr
    result = json.loads((distant.output / "compare.json").read_text())
    assert result["plan"]["jobs"] == 3 and [one["beside_runs"] for one in result["runs"]] == [2, 2, 2]
    assert "up to 3 runs at once" in done.stdout
    assert [line.split(" ")[0] for line in done.stderr.splitlines()[:3]] == ["[1/3]", "[2/3]", "[3/3]"]
    alone, together = (distant.compare(*_AT_ONCE[:-1], jobs, "--dry-run").stdout for jobs in "13")
    assert [said.splitlines()[-1] for said in (alone, together)] == ["3 rows, 3 runs, about 0:52", "3 rows, 3 runs, about 0:17"]


def test_it_goes_on_with_other_jobs(distant: Bench) -> None:
    assert distant.compare(*_AT_ONCE).returncode == 0
    file = distant.output / "compare.json"
    result = json.loads(file.read_text())
    kept = result["runs"][:1]
    del result["plan"]["jobs"], kept[0]["beside_runs"]      # as before there were jobs
    file.write_text(json.dumps({**result, "complete": False, "runs": kept}))
    again = distant.compare(*_AT_ONCE[:-1], "2")
    assert "1 runs are done" in again.stderr and "[2/2]" in again.stderr
    result = json.loads(file.read_text())
    assert result["plan"]["jobs"] == 2 and len(result["runs"]) == 3 and result["runs"][:1] == kept


def begun(distant: Bench) -> subprocess.Popen[str]:
    """With three slow runs under way."""
    child = distant.begin(*_AT_ONCE, FAKE_PLAYER="slow")
    ours = str(distant.folder / "tiny.rec")     # other tests may be at work
    wait_until(lambda: sum("test_fake_player.py" in line and ours in line for line in processes().splitlines()) >= 3)
    return child


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing(distant: Bench, fake_tree: Path, number: signal.Signals) -> None:
    child = begun(distant)
    if number == signal.SIGTERM:
        child.send_signal(number)
    else:
        os.killpg(child.pid, number)
    _, said = child.communicate(timeout=60)
    assert (child.returncode, said) == (130, "bench: interrupted\n")
    assert str(fake_tree) not in processes()


def test_a_killed_one_leaves_no_process(distant: Bench, fake_tree: Path) -> None:
    child = begun(distant)
    child.kill()
    child.communicate()
    wait_until(lambda: str(fake_tree) not in processes())

    def removed() -> bool:      # once whoever inherits them has taken note of their end
        matrix.remove_stale()
        return not list((fake_tree / "tmp").iterdir())

    wait_until(removed)
