# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page of the kernel's ways is the one that its figures make."""

from __future__ import annotations

from vm import figures

_LINES = """6.12
abcdef012345, 2026-11-24
message {"mode": "flow", "transport": "tls", "messages": 10, "instructions": 11804}
loopback {"way": "sendmsg", "size": 256, "count": 10, "calls": 10, "spent": 20000}
loopback {"way": "sendmsg", "size": 256, "count": 10, "calls": 99, "spent": 10000}
loopback {"way": "sendmsg", "size": 256, "count": 10, "calls": 99, "spent": 50000}
loopback {"way": "zerocopy", "size": 256, "count": 10, "calls": 25, "spent": 30000}
loopback vm-bench-send: broken
delivery {"round_trip": 100, "late": 200, "stamp": 101, "acked": 102, "pong": 303}
"""


def test_a_table_compares_with_sendmsg() -> None:
    lines = figures.tables(figures.parse(_LINES)).splitlines()
    assert "| sendmsg | 2 000 | 1.00 |" in lines
    assert "| zerocopy | 3 000 (1.50) | 2.50 |" in lines


def test_how_far_runs_of_the_same_are_apart_is_said() -> None:
    assert figures.spread(_LINES) == "over loopback 5.00 times as much, in the middle 5.00"


def test_messages_are_a_table() -> None:
    assert figures.messages(_LINES).splitlines()[2:] == ["| `flow`, TLS | 1270 | 1180 |"]


def test_deliveries_are_a_table() -> None:
    assert figures.deliveries(_LINES).splitlines()[2:] == ["| 100 ms | 200 ms late | 101 ms | 102 ms | 303 ms |"]


def test_the_page_is_of_its_figures() -> None:
    text = (figures.FOLDER / "figures.txt").read_text()
    found = figures.parse(text)
    assert {way for _, way, _ in found} == {"sendmsg", "zerocopy", "timestamps", "io_uring", "io_uring-8",
                                            "io_uring-zerocopy", "user-tls", "ktls"}
    assert (figures.FOLDER / "README.md").read_text() == figures.page(text)
