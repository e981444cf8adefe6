# SPDX-License-Identifier: LGPL-2.1-or-later
"""Data through every channel with the real player, client and libraries: main, display, cursor,
inputs, playback, port."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.runs import matrix
from bench.runs.test_real import own_temporary_folder, pytestmark, tiny

__all__ = ["own_temporary_folder", "pytestmark"]

_TYPES = {1, 2, 3, 4, 5, 10}
_PACKET_BYTES = 480 * 4     # of sound that is not compressed


@pytest.mark.parametrize("transport", ["plain", "tls"])
@pytest.mark.parametrize(("library", "mode"), [("stock", "stock"), ("patched", "normal"), ("patched", "batch"),
                                               ("patched", "flow")])
def test_every_channel(library: str, mode: str, transport: str) -> None:
    """validity.channels_carried_all compares what was sent with what came."""
    record = matrix.perform(replace(tiny(library, mode, transport), channels="all", pause_at=(20,)))
    assert record["valid"], record["invalid_reason"]
    found = record["channels"]
    assert found["port"]["bytes"] == 4 * 2**20
    # spice-server leaves out a packet that still waits when the next is played, as on a machine that stood still for a while
    sound = found["sound"]
    assert sound["arrived"] + sound["dropped"] == sound["played"] < 2 * sound["arrived"] and 0 < sound["p50"] < 1000
    assert found["echo"]["count"] > 0 and found["inputs"]["motions"] > 0
    assert 0 < found["pointer"]["p50"] < 1000 and found["pointer"]["arrived"] > 0
    assert all(record["channel_bytes"].values()) and len(record["channel_bytes"]) == len(_TYPES)
    if library == "patched":
        assert {stream["type"] for stream in record["streams"]} == _TYPES
        assert {stream["tls"] for stream in record["streams"]} == {transport == "tls"}
        assert all(("messages" in stream) == (mode != "normal") and stream.get("messages", 1) > 0 for stream in record["streams"])


@pytest.mark.parametrize("mode", ["batch", "flow"])
def test_raw_sound_over_tls(mode: str) -> None:
    record = matrix.perform(replace(tiny("patched", mode, "tls"), channels="sound-raw,port:1"))
    assert record["valid"], record["invalid_reason"]
    assert record["channel_bytes"]["playback-0"] > record["channels"]["sound"]["arrived"] * _PACKET_BYTES > 0
