# SPDX-License-Identifier: LGPL-2.1-or-later
"""Traffic of spice-player on the channels beside the display, with a real client."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from recordings import test_support_tiny as tiny
from test_player import Start, play_all, start, write

__all__ = ["start"]     # a fixture

ALL = {"sound", "inputs", "pointer", "port"}


def play_channels(start: Start, file: Path, channels: str, *arguments: str) -> tuple[dict[str, Any], dict[str, Any]]:
    play = start(file, "--channels", channels, *arguments)
    # the end comes on the display's connection: what is on the others is to be read as well
    play.connect("--host", "127.0.0.1", "--port", str(play.port), "--channels", "--settle-end", "200")
    return play.finish()


def check_sound(player: dict[str, Any], client: dict[str, Any]) -> None:
    """Nothing is lost on this machine: packet after packet has the number it was sent with."""
    sent, audio = player["channels"]["sound"], client["audio"]
    assert sent["packets"] == len(sent["stamps"]) == audio["packets"] == len(audio["stamps"])
    assert [number for number, _ in audio["stamps"]] == [number for number, _ in sent["stamps"]]
    assert all(came > went for (_, came), (_, went) in zip(audio["stamps"], sent["stamps"], strict=True))
    lasted = (sent["stamps"][-1][1] - sent["stamps"][0][1]) / 1e9
    # in real time; a machine too busy to play leaves some out
    assert lasted / 2 < audio["bytes"] / 4 / sent["rate"] < lasted + 0.15


def check_port(player: dict[str, Any], client: dict[str, Any], size: int) -> None:
    sent = player["channels"]["port"]
    assert sent["bytes"] == size
    assert client["ports"] == {"port-0": sent}


def check_pointer(player: dict[str, Any], client: dict[str, Any]) -> None:
    """Every move, in order, but for those of the recording."""
    pointer = player["channels"]["pointer"]
    moves = [(x, when) for x, y, when in client["cursor_move_times"] if y == pointer["top"]]
    assert 0 < len(moves) == pointer["moves"] == len(pointer["stamps"])
    assert [x for x, _ in moves] == [number for number, _ in pointer["stamps"]] == list(range(len(moves)))
    assert all(came > went for (_, came), (_, went) in zip(moves, pointer["stamps"], strict=True))


def test_all(start: Start, tmp_path: Path) -> None:
    player, client = play_channels(start, write(tmp_path, tiny.small()), "all")
    channels = player["channels"]
    assert set(channels) == ALL
    assert not channels["sound"]["raw"]
    check_sound(player, client)
    check_pointer(player, client)
    check_port(player, client, 4 * 1024 * 1024)
    assert 0 < len(client["inputs"]["echoes_ms"]) <= channels["inputs"]["keys"] <= client["inputs"]["keys"]
    assert 0 < channels["inputs"]["motions"] <= client["inputs"]["motions"]
    assert all(0 < echo < 5000 for echo in client["inputs"]["echoes_ms"])
    assert client["end"] == "marker"
    assert player["seconds"] >= 1       # time for every channel, however short the recording


def test_the_picture_is_the_same(start: Start, tmp_path: Path) -> None:
    file = write(tmp_path, tiny.small())
    _, alone = play_all(start, file)
    _, beside = play_channels(start, file, "all")
    assert alone["sha256"] == beside["sha256"]


@pytest.mark.parametrize("channels", ["sound", "sound-raw", "inputs", "pointer", "port:1", "port:2,sound"])
def test_some(start: Start, tmp_path: Path, channels: str) -> None:
    player, client = play_channels(start, write(tmp_path, tiny.small()), channels)
    names = {name.split(":")[0].removesuffix("-raw") for name in channels.split(",")}
    assert set(player["channels"]) == names
    assert (client["audio"] is not None) == ("sound" in names)
    assert bool(client["ports"]) == ("port" in names)


def test_raw_sound_is_not_compressed(start: Start, tmp_path: Path) -> None:
    player, client = play_channels(start, write(tmp_path, tiny.small()), "sound-raw")
    assert player["channels"]["sound"]["raw"]
    check_sound(player, client)
    assert client["bytes"]["playback-0"] > client["audio"]["bytes"]
    _, opus = play_channels(start, write(tmp_path, tiny.small()), "sound")
    assert 0 < opus["bytes"]["playback-0"] < opus["audio"]["bytes"] / 5


def test_sizes(start: Start, tmp_path: Path) -> None:
    player, client = play_channels(start, write(tmp_path, tiny.small()), "port:9")
    check_port(player, client, 9 * 1024 * 1024)


def test_none(start: Start, tmp_path: Path) -> None:
    player, client = play_all(start, write(tmp_path, tiny.small()))
    assert player["channels"] is None
    assert client["audio"] is None and client["ports"] == {}


def test_a_client_that_does_not_answer(start: Start, tmp_path: Path) -> None:
    """Sound goes on and on: that is no progress."""
    play = start(write(tmp_path, tiny.small()), "--channels", "all", "--timeout", "2")
    play.connect()
    assert play.player.finish() == 4
    assert play.player.complaints() == [
        "spice-player: no progress for 2 seconds: the client does not answer on the channels of inputs, port"]


def test_a_client_killed_in_the_middle(start: Start, tmp_path: Path) -> None:
    play = start(write(tmp_path, tiny.small()), "--channels", "all")
    client = play.connect("--host", "127.0.0.1", "--port", str(play.port), "--channels")
    client.wait_for("connected")
    time.sleep(0.3)
    client.popen.kill()
    assert play.player.finish() == 3
    assert len(play.player.complaints()) == 1 and "before the end" in play.player.complaints()[0]


@pytest.mark.parametrize(("channels", "complaint"), [
    ("", "--channels wants a list"),
    ("sond", "--channels sond: not one of all, sound, sound-raw, inputs, pointer, port"),
    ("sound,all", "--channels all: not one of"),
    ("sound,sound-raw", "--channels sound-raw: there can be one sound only"),
    ("port,port:3", "--channels port:3: there can be one port only"),
    ("port:0", "--channels port:0: the size is a number from 1 to 1024"),
    ("port:x", "--channels port:x: the size is a number from 1 to 1024"),
    ("pointer:20", "--channels pointer:20: there is no size"),
])
def test_lists_that_make_no_sense(start: Start, tmp_path: Path, channels: str, complaint: str) -> None:
    play = start(write(tmp_path, tiny.small()), "--channels", channels)
    assert play.player.finish() == 1
    assert len(play.player.complaints()) == 1 and complaint in play.player.complaints()[0]
