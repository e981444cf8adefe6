# SPDX-License-Identifier: LGPL-2.1-or-later
"""Traffic beside the display: a run counts only if all of it arrived unchanged, and its figures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench import test_samples as samples
from bench.measure import channels, metrics
from bench.report import publish
from bench.runs import matrix
from bench.runs.conditions import Conditions
from bench.runs.runspec import RunSpec


@pytest.mark.usefixtures("nothing_left")
def test_a_good_run(spec: RunSpec) -> None:
    record = matrix.perform(replace(spec, channels="all"))
    assert record["valid"], record["invalid_reason"]
    found = record["channels"]
    assert found["asked"] == "all"
    assert (found["sound"]["played"], found["sound"]["arrived"], found["sound"]["dropped"]) == (3, 2, 1)
    assert found["sound"]["p50"] > 0 and found["sound"]["gaps"] == 0
    assert found["echo"]["p50"] == found["echo"]["max"] == 1.5
    assert found["port"]["bytes"] == 1000
    assert (found["pointer"]["moves"], found["pointer"]["arrived"]) == (2, 1) and found["pointer"]["p50"] > 0
    assert matrix.perform(spec)["channels"] is None


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize(("end", "fault", "reason"), [
    ("CLIENT", "sound", "no sound arrived"),
    ("CLIENT", "keys", "no key was answered"),
    ("CLIENT", "pointer", "no move of the pointer arrived"),
    ("CLIENT", "pointer-more", "3 moves of the pointer arrived, 2 were made"),
    ("CLIENT", "short", "999 of 1000 bytes arrived through the port"),
    ("CLIENT", "port", "what arrived through the port is not what was sent"),
    ("PLAYER", "motions", "no motion of the mouse arrived"),
    ("PLAYER", "no-port", "the player has no channel for port"),
])
def test_a_broken_rule_is_named(spec: RunSpec, monkeypatch: pytest.MonkeyPatch, end: str, fault: str, reason: str) -> None:
    monkeypatch.setenv(f"FAKE_{end}", fault)
    record = matrix.perform(replace(spec, channels="all"))
    assert not record["valid"] and record["invalid_reason"] == reason


def test_only_what_was_asked_for_is_judged(spec: RunSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CLIENT", "port")
    assert matrix.perform(replace(spec, channels="sound-raw,inputs"))["valid"]


def test_more_sound_than_was_played() -> None:
    assert channels.wrong("sound", {"channels": {"sound": {"packets": 2}}}, {"audio": {"packets": 3}}) \
        == "3 packets of sound arrived, 2 were played"


SENT = [[number % 8, number * 10_000_000] for number in range(20)]


def heard(received: list[list[int]], raw: bool = True) -> dict[str, Any]:
    sound = {"packets": 20, "raw": raw, "stamps": SENT}
    found = channels.report("sound", {"channels": {"sound": sound}},
                            {"audio": {"packets": len(received), "stamps": received}})
    assert found
    return dict(found["sound"])


def test_lateness_of_sound() -> None:
    """Every packet 2 ms late, the fifth 5 ms and the last 150; two did not come."""
    received = [[number, when + 2_000_000] for number, when in SENT if when not in (70_000_000, 80_000_000)]
    received[4][1] += 3_000_000
    received[-1][1] += 148_000_000
    found = heard(received)
    assert (found["arrived"], found["dropped"], found["gaps"]) == (18, 2, 1)
    assert (found["p50"], found["max"]) == (2, 150)


def test_sound_that_is_another_is_of_no_known_lateness() -> None:
    found = heard([[7 - number, when + 2_000_000] for number, when in SENT])
    assert found["p50"] is None and found["gaps"] is None and found["dropped"] is None


def moved(received: list[list[int]]) -> dict[str, Any]:
    pointer = {"moves": 3, "top": -9, "stamps": [[number, number * 20_000_000] for number in range(3)]}
    found = channels.report("pointer", {"channels": {"pointer": pointer}}, {"cursor_move_times": received})
    assert found
    return dict(found["pointer"])


def test_lateness_of_the_pointer() -> None:
    """The second of three moves did not come; the recording's own are none of it."""
    found = moved([[0, -9, 1_000_000], [0, 0, 2_000_000], [1, 0, 3_000_000], [2, -9, 45_000_000]])
    assert (found["moves"], found["arrived"], found["p50"], found["max"]) == (3, 2, 3, 5)


def test_lateness_is_not_known_when_much_is_left_out() -> None:
    received = [[number, when + 2_000_000] for number, when in SENT[::2]]
    assert heard(received, raw=True)["dropped"] == 10
    found = heard(received, raw=False)
    assert found["arrived"] == 10 and found["dropped"] is None and found["p50"] is None


@pytest.mark.parametrize(("text", "good"), [
    ("all", True), ("sound", True), ("sound-raw,port:8", True), ("", False), ("sond", False), ("port:x", False),
    ("tiny", False)])
def test_lists(text: str, good: bool) -> None:
    assert channels.known(text) is good


def test_what_is_transferred() -> None:
    assert channels.transferred_bytes("all") == 4 * 2**20
    assert channels.transferred_bytes("sound,port:3") == 3 * 2**20


@pytest.mark.parametrize(("line", "wanted"), [("", None), ("channels", "all"), ("tls=1.2,channels=sound+port:1", "sound,port:1")])
def test_the_command_line(line: str, wanted: str | None) -> None:
    assert Conditions.read(line).channels == wanted


def measured(mode: str) -> dict[str, Any]:
    run = samples.run(mode, "tls", 1)
    run["channel_bytes"] = {"main": 1000, "display-0": 5000, "display-1": 500, "playback-0": 77}
    run["channels"] = {
        "asked": "sound,inputs,pointer", "echo": {"p50": 0.5, "p95": 0.75, "p99": 1.0, "max": 2.0},
        "pointer": {"p50": 3.5, "p95": 4.0, "p99": 4.5, "max": 7.0},
        "sound": {"played": 200, "arrived": 197, "dropped": 3, "gaps": 4, "p50": 1.25, "p95": 2.5, "p99": 5.0, "max": 60.0}}
    if mode != "stock":
        run["streams"] = [{"type": 2, "id": 0, "messages": 40, "records": 4, "writes": 3},
                          {"type": 2, "id": 1, "messages": 10, "records": 2, "writes": 2},
                          {"type": 5, "id": 0, "messages": 5, "records": 5, "writes": 5}]
    return run


def test_the_tables() -> None:
    result = samples.result(["stock", "batch"], 1)
    assert "By channel" not in publish.markdown(result)
    result["runs"] = [measured("stock"), measured("batch")]
    page = publish.markdown(result)
    lines = [" ".join(line.replace("|", " ").split()) for line in page.splitlines()]
    assert "display stock tls – 5 500 – – – 1" in lines
    assert "display batch tls 50 5 500 6 5 0.10 1" in lines
    assert "playback batch tls 5 77 5 5 1.00 1" in lines
    assert "main batch tls – 1 000 – – – 1" in lines
    assert "batch tls 1.25 2.50 5.00 60.0 1.5 % 4 0.50 0.75 1.00 2.00 3.50 4.00 4.50 7.00 1" in lines
    assert "By channel:\n" in page
    assert metrics.values(result["runs"], "sound_p99") == [5.0, 5.0]
    assert metrics.values([samples.run("stock", "tls", 1)], "echo_p50") == []


def test_runs_that_do_not_count_are_in_no_table() -> None:
    result = samples.result(["stock"], 1)
    result["runs"] = [{**measured("stock"), "valid": False, "invalid_reason": "no sound arrived"}]
    assert "### By channel" not in publish.markdown(result)


MS = 1_000_000


def test_steady_sound_has_no_gap_and_is_never_late() -> None:
    found = channels.heard([10 * MS * at for at in range(500)], 0.01)
    assert (found.gaps, found.silence, found.seconds) == (0, 0, pytest.approx(5))
    assert max(found.late) == pytest.approx(0, abs=1e-9)


def test_what_the_buffer_outlasts_is_late_but_no_gap() -> None:
    arrivals = [10 * MS * at for at in range(100)]
    arrivals[50:58] = [arrivals[50] + 80 * MS] * 8     # held up for 80 ms, then all at once
    found = channels.heard(arrivals, 0.01)
    assert found.gaps == 0
    assert max(found.late) == pytest.approx(0.08)


def test_a_gap_lasts_until_the_buffer_is_full_again() -> None:
    arrivals = [10 * MS * at for at in range(100)]
    arrivals[50:] = [at + 300 * MS for at in arrivals[50:]]
    found = channels.heard(arrivals, 0.01)
    assert (found.gaps, found.silence) == (1, pytest.approx(0.3))
    assert max(found.late) == pytest.approx(0, abs=1e-9)       # all after the gap are on time again


def test_who_is_faster_than_the_first_is_on_time() -> None:
    found = channels.heard([50 * MS, *(10 * MS * at for at in range(6, 50))], 0.01)
    assert found.late[1] == pytest.approx(0) and found.gaps == 0
    assert channels.heard([], 0.01) == channels.heard([], 0.02)
