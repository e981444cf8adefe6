# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each validity rule, with a run that breaks it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.lab import capture
from bench.measure import pcap, validity

LIBRARY = Path("/build/libspice-server.so.1")


def evidence(**changes: Any) -> validity.Evidence:
    """A run that counts, but for the changes. A name with dots reaches into what it holds."""
    run = validity.Evidence(
        transport="plain", tls_version="1.3", library=LIBRARY, commands=10,
        player={"commands": 10, "expected_commands": 10, "library": str(LIBRARY)},
        client={"end": "marker", "total_bytes": 5000, "bytes": {"main": 1000, "display-0": 4000}},
        player_status=0, client_status=0, capture=capture.Statistics(captured=9, received=9, dropped=0),
        wire=pcap.Summary(packets=9, largest_frame=1514, server=pcap.Direction(tcp_payload_bytes=5000)))
    for name, value in changes.items():
        *path, last = name.split("__")
        owner: Any = run
        for step in path:
            owner = getattr(owner, step)
        if isinstance(owner, dict):
            owner[last] = value
        else:
            setattr(owner, last, value)
    return run


def test_a_good_run_counts() -> None:
    assert validity.judge(evidence()) is None
    carried = {"missed": 0, "refused": 0, "late_us": {"max": 49_000}}
    assert validity.judge(evidence(emulator="spice-link", counters={"a_to_b": carried, "b_to_a": carried})) is None
    by_kernel = [{"tls": True, "socket": "ktls"}, {"tls": False, "socket": "sendmsg"}]
    assert validity.judge(evidence(socket="ktls", player__streams=by_kernel)) is None
    assert validity.judge(evidence(stolen=0.05)) is None


@pytest.mark.parametrize(("changes", "reason"), [
    ({"link": "link lan: no ping comes back"}, "no ping comes back"),
    ({"counters": {"a_to_b": {"missed": 0, "refused": 0}, "b_to_a": {"missed": 2, "refused": 1}}}, "lost 3 packets"),
    ({"counters": {"a_to_b": {"late_us": {"max": 60_000}}, "b_to_a": {"late_us": {"max": 70.5}}}}, "was 60 ms late"),
    ({"emulator": "spice-link"}, "did not say what it carried"),
    ({"stolen": 0.06}, "the host took 6% of the processors"),
    ({"timed_out": True}, "took too long"),
    ({"shown": [], "player__bursts": []}, "the recording has no pause: there is no response to time"),
    ({"shown": [{}], "player__bursts": [[1, 2, 3], [4, 5, 6]]}, "the client showed 1 of 2 bursts"),
    ({"player_status": -11}, "player ended with status -11"),
    ({"player_status": 3, "client_status": 1, "client_complaint": "bad picture"},
     "client ended with status 1: bad picture"),
    ({"client_status": 3, "player_status": -6}, "player ended with status -6"),
    ({"client_status": None}, "client did not end"),
    ({"player": None}, "the player reported nothing"),
    ({"client": None}, "the client reported nothing"),
    ({"player__commands": 9}, "9 of 10 commands played"),
    ({"player__commands": 9, "player__expected_commands": 9}, "the manifest says 10"),
    ({"client__end": "disconnected"}, "did not see the end"),
    ({"player__library": "/usr/lib/libspice-server.so.1"}, "the library loaded was /usr/lib"),
    ({"player__library": None}, "the library loaded was None"),
    ({"mode": "batch"}, "said nothing of its streams"),
    ({"mode": "batch", "player__streams": [{"mode": "batch"}, {"mode": "cork"}]}, "in mode cork, not batch"),
    ({"socket": "ktls", "player__streams": [{"tls": True, "socket": "ktls"}, {"tls": True, "socket": "sendmsg"}]},
     "the library sent by sendmsg, not ktls"),
    ({"expected_pauses": 2, "pauses": [{}]}, "1 of 2 pause points"),
    ({"capture": None}, "nothing was captured"),
    ({"wire": None}, "nothing was captured"),
    ({"capture__error": "tcpdump: No space left on device"}, "No space left"),
    ({"capture__dropped": 3}, "3 packets dropped"),
    ({"capture__received": 10}, "9 packets captured, 10 received"),
    ({"capture__received": None}, "did not say"),
    ({"wire__packets": 8}, "9 packets captured, 8 in the file"),
    ({"wire__largest_frame": 1515}, "a frame of 1515 bytes"),
    ({"wire__server__tcp_payload_bytes": 4999}, "the client read 5000 bytes, on the wire were 4999"),
    ({"wire__server__tcp_payload_bytes": 30_000}, "the client read 5000 bytes, on the wire were 30000"),
    ({"client__total_bytes": None}, "did not say how much it read"),
    ({"transport": "tls", "wire__tls_broken": True}, "is not TLS"),
    ({"transport": "tls", "wire__server__tls_records": 10, "wire__server__tls_record_bytes": 5219},
     "on the wire were 4999"),
    ({"transport": "tls", "wire__server__tls_records": 10, "wire__server__tls_record_bytes": 90_220},
     "on the wire were 90000"),
])
def test_a_broken_rule_is_named(changes: dict[str, Any], reason: str) -> None:
    assert reason in (validity.judge(evidence(**changes)) or "")


@pytest.mark.parametrize(("version", "overhead"), [("1.3", 22), ("1.2", 29)])
def test_tls_may_add_records_and_a_handshake(version: str, overhead: int) -> None:
    assert validity.judge(evidence(transport="tls", tls_version=version, wire__server__tls_records=10,
                                   wire__server__tls_record_bytes=5000 + 10 * overhead + 3000)) is None


def test_what_was_sent_again_is_not_payload() -> None:
    assert validity.judge(evidence(wire__server__tcp_payload_bytes=90_000,
                                   wire__server__retransmitted_bytes=85_000)) is None
