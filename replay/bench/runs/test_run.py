# SPDX-License-Identifier: LGPL-2.1-or-later
"""One run with fake player and client: what it records; each failure is named and leaves nothing behind."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.common import proc
from bench.lab import capture, lab, links
from bench.runs import endpoints, matrix, run
from bench.runs.runspec import RunSpec

pytestmark = pytest.mark.usefixtures("nothing_left")


def test_a_good_run(spec: RunSpec) -> None:
    record = matrix.perform(spec)
    assert record["valid"], record["invalid_reason"]
    assert record["messages"] == 301
    assert record["message_bytes"] == 301_000
    # on a busy machine TCP may send something twice
    assert record["server"]["tcp_payload_bytes"] == 301_000 or record["server"]["retransmissions"] > 0
    assert 208 <= record["server"]["data_packets"] <= 301
    assert record["server"]["tls_records"] == 0
    assert record["client"]["packets"] > 0
    assert record["cpu_seconds"] == {"user": 0.1, "system": 0.05}
    assert record["reader_cpu_seconds"] == {"user": 0.3, "system": 0.02}
    assert record["pcap"] is None


@pytest.mark.parametrize("version", ["1.3", "1.2"])
def test_tls_records_are_counted(spec: RunSpec, version: str) -> None:
    record = matrix.perform(replace(spec, transport="tls", tls=version))
    assert record["valid"], record["invalid_reason"]
    # one a message, and in TLS 1.3 a few of the handshake's that look the same
    assert 301 <= record["server"]["tls_records"] <= 301 + (8 if version == "1.3" else 0)


def test_an_unpatched_library_counts_no_messages(spec: RunSpec) -> None:
    assert matrix.perform(replace(spec, mode="stock"))["messages"] is None


def test_a_link_changes_by_the_clock_of_the_session(spec: RunSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by the client's connect: a fast mode would meet a change with another part of the session than a slow one."""
    began: list[str] = []
    connect = lab.connect

    @contextlib.contextmanager
    def noted(*about: Any, **more: Any) -> Iterator[lab.Lab]:
        with connect(*about, **more) as where:
            where.begin_changes = lambda: began.append("now")
            yield where

    monkeypatch.setattr(lab, "connect", noted)
    assert matrix.perform(spec)["valid"] and began == ["now"]
    monkeypatch.setenv("FAKE_PLAYER", "timeless")
    assert matrix.perform(spec)["valid"] and began == ["now"]


def test_as_fast_as_it_goes_nothing_is_left_out_unasked(spec: RunSpec) -> None:
    assert replace(spec, mode="flow").stream == "flow,catchup=off"
    assert replace(spec, mode="flow:hold=0").stream == "flow,hold=0,catchup=off"
    for mode, pace in (("flow:catchup=on", "max"), ("flow", "recorded"), ("batch", "max"), ("flow:catchup=off", "max")):
        assert replace(spec, mode=mode, pace=pace).stream == mode.replace(":", ",")


def test_every_other_run_is_for_times_and_has_no_capture(spec: RunSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Path] = []
    capturing = capture.capturing

    def noted(netns: Path, device: str, path: Path, *more: Any) -> contextlib.AbstractContextManager[capture.Capture]:
        taken.append(path)
        return capturing(netns, device, path, *more)

    monkeypatch.setattr(capture, "capturing", noted)
    records = [matrix.perform(replace(spec, repeat=repeat)) for repeat in (1, 2, 3)]
    assert [record["captured"] for record in records] == [True, False, True] and len(taken) == 2
    assert all(record["valid"] for record in records)
    timed = records[1]
    assert timed["server"]["packets"] is None
    assert timed["message_bytes"] == 301_000 and timed["wall_seconds"] > 0 and timed["cpu_seconds"]["user"] == 0.1


def test_what_needs_a_capture_has_one_every_time(spec: RunSpec, fake_tree: Path) -> None:
    timed = replace(spec, repeat=2)
    assert not timed.captured
    for changes in ({"keep": fake_tree}, {"beside_download": True}):
        assert replace(timed, **changes).captured


def test_pictures_at_pause_points(spec: RunSpec) -> None:
    record = matrix.perform(replace(spec, pause_at=(75, 150)))
    assert record["valid"], record["invalid_reason"]
    assert record["pauses"] == [{"command": command, "sha256": "cd" * 32, "blocks": "AAAA", "tiles": "AAAA"} for command in (75, 150)]


def test_each_round_has_losses_of_its_own_and_they_are_recorded(spec: RunSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def cable(link: links.Link, congestion: str, seed: int) -> contextlib.AbstractContextManager[lab.Lab]:
        """The lab of a lan that says it is of an emulator."""
        @contextlib.contextmanager
        def made() -> Iterator[lab.Lab]:
            with connect(links.LINKS["lan"], congestion=congestion) as where:
                seen.append(seed)
                where.emulator, where.counters = lab.SPICE_LINK, {"a_to_b": {}, "b_to_a": {}}
                yield where
        return made()

    connect = lab.connect
    monkeypatch.setattr(lab, "connect", cable)
    records = [matrix.perform(replace(spec, mode=mode, repeat=repeat)) for repeat in (1, 2) for mode in ("gather", "cork")]
    assert seen == [1, 1, 2, 2]
    assert [(record["emulator"], record["link_seed"], record["valid"]) for record in records] \
        == [("spice-link", repeat, True) for repeat in (1, 1, 2, 2)]
    monkeypatch.undo()


def test_the_end_waits_for_what_is_sent_again(spec: RunSpec) -> None:
    assert spec.settle_end_ms == spec.settle_ms
    far = replace(spec, link=links.find("2M100ms"))
    assert far.settle_end_ms == spec.settle_ms + 3 * (200 + 100 + 262)
    assert replace(spec, link=links.find("1M/40ms/queue60s")).settle_end_ms == 10_000


def test_latency_of_probes(spec: RunSpec) -> None:
    assert matrix.perform(spec)["latency"] is None
    found = matrix.perform(replace(spec, probe_every=10))["latency"]
    assert (found["sent"], found["received"], found["dropped"]) == (30, 30, 0)
    assert 0 < found["p50"] <= found["p95"] <= found["max"] < 1000


def test_a_capture_can_be_kept(spec: RunSpec, fake_tree: Path) -> None:
    record = matrix.perform(replace(spec, keep=fake_tree / "kept"))
    assert Path(record["pcap"]).stat().st_size > 301_000


@pytest.mark.parametrize(("who", "fault", "reason"), [
    ("PLAYER", "port", "player ended with status 1: spice-player: port in use"),
    ("PLAYER", "die", "player ended with status 5"),
    ("PLAYER", "short", "299 of 300 commands played"),
    ("PLAYER", "library", "the library loaded was /elsewhere.so"),
    ("PLAYER", "status", "player ended with status 4"),
    ("CLIENT", "bytes", "the client read 602000 bytes, on the wire were 301000"),
])
def test_a_fault_is_named(spec: RunSpec, monkeypatch: pytest.MonkeyPatch, who: str, fault: str,
                          reason: str) -> None:
    monkeypatch.setenv(f"FAKE_{who}", fault)
    record = matrix.perform(spec)
    assert not record["valid"]
    assert reason in record["invalid_reason"]


def test_a_client_that_cannot_connect(spec: RunSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CLIENT", "refuse")
    monkeypatch.setattr(endpoints, "_PARTING_LIMIT", 0.5)
    assert "client ended with status 1: spice-drain: no connection" in matrix.perform(spec)["invalid_reason"]


def test_a_client_killed_in_the_middle(spec: RunSpec, monkeypatch: pytest.MonkeyPatch, fake_tree: Path) -> None:
    monkeypatch.setenv("FAKE_PLAYER", "slow")
    monkeypatch.setattr(endpoints, "_PARTING_LIMIT", 3.0)

    def kill(_player: proc.Process, client: proc.Process) -> None:
        assert proc.receive(client.mailbox, time.monotonic() + 5)
        client.signal(9)

    with matrix.scratch() as folder:
        record = run.perform(spec, folder, fake_tree / "tiny.rec", kill)
    assert not record["valid"]
    assert "client ended with status -9" in record["invalid_reason"]


def test_a_run_that_takes_too_long(spec: RunSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_PLAYER", "slow")
    assert matrix.perform(replace(spec, limit=2.0))["invalid_reason"] == "the run took too long"


def test_a_session_may_take_as_long_as_it_lasted(spec: RunSpec) -> None:
    lasted = replace(spec.recording, seconds=7200.0)
    assert matrix.perform(replace(spec, limit=0.0, pace="recorded", recording=lasted))["invalid_reason"] is None


def test_figures_that_are_not_known_are_null(spec: RunSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_PLAYER", "port")
    record: dict[str, Any] = matrix.perform(spec)
    assert record["message_bytes"] is None
    assert record["wall_seconds"] is None
    assert record["picture_sha256"] is None
