# SPDX-License-Identifier: LGPL-2.1-or-later
from __future__ import annotations

from pathlib import Path

import pytest

from bench.common.errors import BenchError
from bench.lab.links import Link
from bench.measure import trace
from bench.measure.trace import Line

LINK = Link("some", rate=8_000_000, delay=0.100)    # a byte a microsecond


def line(when: float, what: str, stream: int = 1) -> Line:
    return Line(when, stream, what)


def test_reading(tmp_path: Path) -> None:
    file = tmp_path / "trace"
    file.write_text("1500000 1 open\n1600000 1 write sm 6,20\n1600010 2 wait\n")
    lines = list(trace.read(file))
    assert lines[1] == Line(1.6, 1, "write")
    assert [one.what for one in lines] == ["open", "write", "wait"]
    file.write_text("1500000 1 open\n16000")       # of a server that was killed
    assert len(list(trace.read(file))) == 1
    file.write_text("1500000 1 open\nnonsense\n")
    with pytest.raises(BenchError, match="line 2 is not of a trace"):
        list(trace.read(file))


def test_a_channel_waits_until_its_next_write() -> None:
    lines = [line(1.0, "wait"), line(1.1, "wait"), line(1.2, "write", 2), line(1.3, "write"), line(2.0, "write"),
             line(3.0, "wait", 2), line(3.5, "close", 2)]
    assert trace.waits(lines) == [(1.0, 1.3), (3.0, 3.5)]


def test_the_path_is_busy_with_what_queues() -> None:
    assert trace.idle([(1.0, 100_000), (1.0, 100_000), (1.1, 100_000), (2.0, 1000)], LINK) == [(pytest.approx(1.3), 2.0)]
    assert trace.idle([(1.0, 1000), (1.5, 1000)], Link("lan")) == [(1.0, 1.5)]
    assert trace.idle([], LINK) == []


def test_overlaps() -> None:
    assert trace.overlaps([(0, 4), (3, 6)], [(1, 2), (3.5, 5), (7, 8)]) == [1, 0.5, 1.5]


def test_a_stall_is_waiting_with_an_idle_path() -> None:
    departures = [(1.0, 1000), (1.120, 1000), (2.0, 1000)]
    waiting_for_an_ack = [line(1.0, "wait"), line(1.110, "write")]
    nothing_to_send = [line(1.110, "write"), line(2.0, "write")]
    assert trace.stalls([*waiting_for_an_ack, *nothing_to_send], departures, LINK) == {
        "longest": pytest.approx(109.0), "allowed": 150.0, "beyond": 0}
    forgotten = [*waiting_for_an_ack, line(1.120, "wait"), line(2.0, "write")]
    assert trace.stalls(forgotten, departures, LINK)["beyond"] == 1
