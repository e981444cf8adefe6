# SPDX-License-Identifier: LGPL-2.1-or-later
"""spice-player with a real client: correct playing, and every failure."""

from __future__ import annotations

import contextlib
import json
import lzma
import random
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from bench.common import paths
from bench.lab import certs, lab
from recordings import cutting
from recordings import test_support_tiny as tiny
from recordings.test_support_commands import Composite, Rect
from recordings.test_support_qxl import CompositeOp
from recordings.test_support_tiny import Tiny

TIMEOUT = 60


class Process:
    """A program whose output lines can be waited for."""

    def __init__(self, program: Path, *arguments: str | Path) -> None:
        self.popen = subprocess.Popen([program, *map(str, arguments)], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines: list[dict[str, Any]] = []

    def wait_for(self, event: str) -> dict[str, Any]:
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            self.lines.append(json.loads(line))
            if self.lines[-1]["event"] == event:
                return self.lines[-1]
        self.finish()
        raise AssertionError(f"no {event}: {self.stderr}")

    def say(self, text: str) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write(text.encode())
        self.popen.stdin.flush()

    def end_input(self, data: bytes = b"") -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write(data)
        self.popen.stdin.close()
        self.popen.stdin = None

    def finish(self) -> int:
        try:
            out, err = self.popen.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            raise
        self.lines += [json.loads(line) for line in out.splitlines()]
        self.stderr = err.decode(errors="replace")
        return self.popen.returncode

    def complaints(self) -> list[str]:
        """What the program itself says on standard error; the library says more."""
        return [line for line in self.stderr.splitlines() if line.startswith("spice-player: ")]


class Play:
    """A player, and a client once there is one."""

    def __init__(self, file: Path | str, *arguments: str | Path, listen: bool = True) -> None:
        self.port = lab.free_port()
        where = ("--port", str(self.port)) if listen else ()
        self.player = Process(paths.player(), *where, "--timeout", "20", *arguments, file)
        self.client: Process | None = None

    def connect(self, *arguments: str | Path) -> Process:
        self.player.wait_for("listening")
        where = arguments or ("--host", "127.0.0.1", "--port", str(self.port))
        self.client = Process(paths.client(), *where)
        return self.client

    def finish(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Both must end well. Gives the last line of each."""
        assert self.client is not None
        player, client = self.player.finish(), self.client.finish()
        assert (player, client) == (0, 0), (self.player.stderr, self.client.stderr)
        return self.player.lines[-1], self.client.lines[-1]

    def kill(self) -> None:
        for process in (self.player, self.client):
            if process and process.popen.poll() is None:
                process.popen.kill()
                process.popen.wait()


Start = Callable[..., Play]


@pytest.fixture
def start() -> Iterator[Start]:
    """Makes a Play that is killed at the end of the test."""
    with contextlib.ExitStack() as stack:
        def begin(*arguments: Any, **options: Any) -> Play:
            play = Play(*arguments, **options)
            stack.callback(play.kill)
            return play
        yield begin


def play_all(start: Start, file: Path | str, *arguments: str,
             png: Path | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the client shows in the end is written to png."""
    play = start(file, *arguments)
    if png is None:
        play.connect()
    else:
        play.connect("--host", "127.0.0.1", "--port", str(play.port), "--png", png)
    return play.finish()


def write(tmp_path: Path, recording: Tiny, name: str = "a.rec") -> Path:
    path = tmp_path / name
    path.write_bytes(recording.data)
    return path


# --- playing ---

def test_plays_to_the_end(start: Start, tmp_path: Path) -> None:
    player, client = play_all(start, write(tmp_path, tiny.small()))
    assert player["event"] == "done"
    assert player["commands"] == player["expected_commands"] == tiny.small().commands
    assert Path(player["library"]).name.startswith("libspice-server.so")
    assert player["started_ns"] < player["fed_ns"]
    assert (player["fed_ns"] - player["started_ns"]) / 1e9 < player["seconds"] + 1e-5
    assert player["cpu_user"] + player["cpu_system"] > 0
    assert player["probes"] == []
    assert client["end"] == "marker"
    assert (client["width"], client["height"]) == (100, 80)


class Narrow:
    """A relay to a port that takes some seconds for a megabyte from there."""

    _PIECE, _PAUSE = 8192, 0.02

    def __init__(self, port: int) -> None:
        self._server = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, server = self._listener.accept()[0], socket.create_connection(("127.0.0.1", self._server))
                for source, target, pause in ((client, server, 0.0), (server, client, self._PAUSE)):
                    threading.Thread(target=self._copy, args=(source, target, pause), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket, pause: float) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(self._PIECE):
                target.sendall(data)
                time.sleep(pause)
            target.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._listener.close()


@pytest.mark.parametrize("library", [paths.patched_library, paths.stock_library])
def test_what_the_server_took_the_path_for_is_told_of_every_library(start: Start, tmp_path: Path, library: Callable[[], Path],
                                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bandwidth test has 256 000 bytes: at 0.4 MB/s or less a slow path. A busy machine may make a path of any other slow."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library()))
    file = write(tmp_path, tiny.small())
    player, _ = play_all(start, file)
    assert player["low_bandwidth"] in (True, False)
    play = start(file)
    with contextlib.closing(Narrow(play.port)) as relay:
        play.connect("--host", "127.0.0.1", "--port", str(relay.port))
        player, _ = play.finish()
    assert player["low_bandwidth"] is True
    assert Path(player["library"]).parent == library()


def test_standard_input_makes_no_difference(start: Start, tmp_path: Path) -> None:
    _, plain = play_all(start, write(tmp_path, tiny.small()))
    play = start("-")
    play.connect()
    play.player.end_input(tiny.small().data)
    _, client = play.finish()
    assert client["sha256"] == plain["sha256"]


def test_every_kind_of_command_reaches_the_client(start: Start, tmp_path: Path) -> None:
    """A pause after each keeps one from hiding the one before."""
    recording = tiny.everything()
    play = start(write(tmp_path, recording), "--pause-at",
                 ",".join(str(i + 1) for i in range(recording.commands)))
    client = play.connect()
    pictures = []
    for i in range(recording.commands):
        assert play.player.wait_for("pause") == {"event": "pause", "n": i, "command": i + 1}
        pause = client.wait_for("pause")
        assert pause["n"] == i % 60
        pictures.append(pause["sha256"])
        play.player.say("go\n")
    player, last = play.finish()
    assert player["commands"] == recording.commands
    assert last["sha256"] == pictures[-1]
    assert len(set(pictures)) > 15


@pytest.mark.parametrize("mode", ["cork", "flow", "flow,display=off"])
def test_a_guest_ahead_of_its_commands_shows_the_same(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    """Of what it draws, some bitmaps are in its memory before the copies and the operations that come before them."""
    monkeypatch.setenv("SPICE_STREAM", mode)
    recording = write(tmp_path, tiny.everything())
    shown = {play_all(start, recording, *more)[1]["sha256"] for more in ((), ("--ahead",))}
    assert len(shown) == 1


def test_tls(start: Start, tmp_path: Path) -> None:
    made = certs.make(tmp_path, "127.0.0.1")
    port = lab.free_port()
    play = start(write(tmp_path, tiny.small()), "--tls-port", str(port), "--tls-cert", made.certificate,
                 "--tls-key", made.key, "--tls-ca", made.ca, listen=False)
    play.connect("--host", "127.0.0.1", "--tls-port", str(port), "--ca", made.ca)
    play.finish()


def test_unix_socket(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "socket"
    play = start(write(tmp_path, tiny.small()), "--unix", path, listen=False)
    play.connect("--unix", path)
    play.finish()
    assert not path.exists()


@pytest.mark.parametrize("compression", ["off", "auto-lz", "quic", "glz", "lz", "lz4"])
def test_compression_changes_no_pixel(start: Start, tmp_path: Path,
                                      compression: str) -> None:
    path = write(tmp_path, tiny.small())
    _, reference = play_all(start, path)
    _, client = play_all(start, path, "--compression", compression, "--streaming", "off")
    assert client["sha256"] == reference["sha256"]


def test_pace(start: Start, tmp_path: Path) -> None:
    """Never ahead; that it is not behind shows where the session takes so long that no machine is as late."""
    for pace, step_ns, least in (("recorded", 50_000_000, 0.5), ("100", 20 * 10**9, 2), ("max", 20 * 10**9, 0)):
        recording = Tiny(step_ns=step_ns)
        recording.primary()
        for i in range(10):
            recording.fill((i, i, i + 9, i + 9), i)
        path = tmp_path / f"{pace}.rec"
        path.write_bytes(write(tmp_path, recording).read_bytes())
        assert least <= play_all(start, path, "--pace", pace)[0]["seconds"] < 200


def test_events_moved_forward_do_not_hold_up_the_rest(start: Start, tmp_path: Path) -> None:
    recording = Tiny()
    recording.primary()
    recording.create(4)
    recording.now_ns += 30 * 10**9
    recording.destroy_surface(4)
    recording.now_ns -= 30 * 10**9
    recording.fill((0, 0, 5, 5))
    player, _ = play_all(start, write(tmp_path, recording), "--pace", "recorded")
    assert player["seconds"] < 30


def test_what_is_drawn_between_two_primaries_is_on_neither(start: Start, tmp_path: Path) -> None:
    """Left over for the second, it was there or not from one time to the next."""
    recording = tiny.small()
    recording.worker(tiny.MESSAGE_DESTROY_PRIMARY)
    for _ in range(40):
        recording.fill((0, 0, 50, 50), 0xff0000)
    recording.primary(100, 80)
    recording.fill((60, 60, 70, 70), 0x00ff00)
    file = write(tmp_path, recording)
    plain = tiny.small()
    plain.worker(tiny.MESSAGE_DESTROY_PRIMARY)
    plain.primary(100, 80)
    plain.fill((60, 60, 70, 70), 0x00ff00)
    _, expected = play_all(start, write(tmp_path, plain, "plain.rec"))
    for _ in range(10):
        _, client = play_all(start, file)
        assert client["sha256"] == expected["sha256"]


PHOTO = (320, 240)


def photo() -> bytes:
    """Pixels that are worth JPEG: smooth, with some noise."""
    dice = random.Random(1)
    width, height = PHOTO
    return b"".join(bytes((x // 2 + dice.randrange(12), y // 2 + dice.randrange(12), (x + y) // 4 + dice.randrange(12), 0))
                    for y in range(height) for x in range(width))


def composes(op: CompositeOp | None) -> Tiny:
    """A photo, a part of which is put together with another surface, and that is shown. The photo is not on the primary surface:
    what is drawn there next, be it a marker, would have the server draw the rest before it is sent, and send it as a picture."""
    recording = Tiny()
    recording.primary(*PHOTO)
    whole = (0, 0, *PHOTO)
    recording.create(1, *PHOTO)
    recording.copy(whole, tiny.bitmap(*PHOTO, photo()), whole, surface=1)
    recording.create(2, 16, 16)
    if op is not None:
        recording.paint((0, 0, 16, 16), Composite(op, tiny.surface_image(1), 200, 100), surface=2, uses=[1])
    recording.copy((100, 30, 116, 46), tiny.surface_image(2), (0, 0, 16, 16), uses=[2])
    return recording


def pixel(bitmap: bytes, number: int) -> int:
    """0xRRGGBB of a bitmap of 32 bits a pixel."""
    return int.from_bytes(bitmap[number * 4:number * 4 + 3], "little")


def colour(shown: Image.Image, x: int, y: int) -> int:
    red, green, blue = shown.getpixel((x, y))[:3]
    return int(red << 16 | green << 8 | blue)


def display_bytes(player: dict[str, Any]) -> int:
    return int(next(stream["message_bytes"] for stream in player["streams"] if stream["type"] == 2))


@pytest.mark.parametrize("op", [CompositeOp.SRC, CompositeOp.OVER])
def test_a_composite_makes_no_more_exact_than_it_reads(start: Start, tmp_path: Path, op: CompositeOp) -> None:
    """What was sent as JPEG is sent again without loss where something is put together from it. Not the rest of the surface,
    and nothing where it is only copied."""
    path = tmp_path / "c.png"
    player, _ = play_all(start, write(tmp_path, composes(op)), "--jpeg", "always", png=path)
    plain, _ = play_all(start, write(tmp_path, composes(None), "plain.rec"), "--jpeg", "always")
    exact, _ = play_all(start, write(tmp_path, composes(None), "plain.rec"), "--jpeg", "never")
    assert display_bytes(plain) < display_bytes(exact) / 2
    more = display_bytes(player) - display_bytes(plain)
    shown, sent = Image.open(path), photo()
    first = [(y + 100) * PHOTO[0] + 200 for y in range(16)]
    exactly = [pixel(sent, at) for begin in first for at in range(begin, begin + 16)]
    is_exact = exactly == [colour(shown, x, y) for y in range(30, 46) for x in range(100, 116)]
    if op == CompositeOp.SRC:
        assert more < 200 and not is_exact
    else:
        assert more < 16 * 16 * 4 + 200 and is_exact


FRAMES = 26


def video(frame: bytes, read: bool = False) -> Tiny:
    """Pictures in one place, just enough to make a video, and then nothing for longer than one may pause."""
    recording = Tiny()
    recording.primary(*PHOTO)
    whole = (0, 0, *PHOTO)
    for number in range(FRAMES):
        recording.copy(whole, tiny.bitmap(*PHOTO, frame[number * 4:] + frame[:number * 4]), whole)
        recording.now_ns += 2 * 10**7
    if read:
        recording.update(Rect(0, 0, 8, 8))
    recording.now_ns += 15 * 10**8
    recording.fill((300, 200, 320, 220))
    return recording


def lines_of_text() -> bytes:
    """As sharp as text, and no two frames are the same."""
    dice = random.Random(2)
    width, height = PHOTO
    glyph = [[dice.choice((b"\0\0\0\0", b"\xff\xff\xff\0")) for _ in range(width)] for _ in range(height // 8)]
    return b"".join(b"".join(glyph[y // 8]) for y in range(height))


def ends_exactly(start: Start, tmp_path: Path, frame: bytes, read: bool = False) -> bool:
    path = tmp_path / "v.png"
    play_all(start, write(tmp_path, video(frame, read)), "--jpeg", "always", "--streaming", "all", "--pace", "recorded", png=path)
    shown = Image.open(path)
    last = frame[(FRAMES - 1) * 4:] + frame[:(FRAMES - 1) * 4]
    return all(colour(shown, x, y) == pixel(last, y * PHOTO[0] + x) for y in range(0, 200, 7) for x in range(PHOTO[0]))


@pytest.mark.parametrize("read", [False, True])
def test_the_end_of_a_video_is_exact_without_catch_up(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: bool) -> None:
    """Nothing would resend it."""
    monkeypatch.setenv("SPICE_STREAM", "flow,display=off,catchup=off")
    assert ends_exactly(start, tmp_path, photo(), read)


def test_the_end_of_a_video_of_text_is_exact(start: Start, tmp_path: Path) -> None:
    """It was scrolled, say."""
    assert ends_exactly(start, tmp_path, lines_of_text())


def test_probes(start: Start, tmp_path: Path) -> None:
    """They also come while nothing is drawn, and change no pixel."""
    recording = Tiny()
    recording.primary()
    recording.fill((0, 0, 100, 80), 0x123456)
    recording.now_ns += 10**9
    recording.fill((10, 10, 20, 20), 0x654321)
    path = write(tmp_path, recording)
    _, reference = play_all(start, path)
    player, client = play_all(start, path, "--pace", "recorded", "--probe-every", "20")
    sent = {number: at for number, at, _ in player["probes"]}
    assert 30 <= len(sent) <= 52
    assert sorted(sent) == list(range(len(sent)))
    times = [sent[number] for number in sorted(sent)]
    assert times == sorted(times)
    assert player["started_ns"] <= times[0] and times[-1] <= player["fed_ns"]
    seen = {number: at for number, at in client["probes"]}
    assert set(seen) <= set(sent) and len(seen) > 25
    assert all(0 < seen[number] - sent[number] < 2e9 for number in seen)
    assert client["sha256"] == reference["sha256"]


@pytest.mark.parametrize("kept", [False, True])
def test_probes_are_kept_if_wanted(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: bool) -> None:
    """Also those that something covers while the client does not read: else nobody knows when what it shows next was drawn."""
    monkeypatch.setenv("SPICE_STREAM", "cork")      # 40 messages, and it waits
    recording = Tiny(10_000_000)
    recording.primary()
    for shade in range(100):
        recording.fill((0, 0, 100, 80), shade * 0x010101)
    play = start(write(tmp_path, recording), "--pace", "recorded", "--probe-every", "10", "--pause-at", "1",
                 *(["--keep-probes"] if kept else []))
    client = play.connect()
    client.wait_for("pause")
    client.popen.send_signal(signal.SIGSTOP)
    play.player.say("go\n")
    time.sleep(1.5)
    client.popen.send_signal(signal.SIGCONT)
    player, client_line = play.finish()
    sent, come = len(player["probes"]), len(client_line["probes"])
    assert come == sent if kept else come < sent - 20


def test_no_probe_looks_like_a_drawing(start: Start, tmp_path: Path) -> None:
    recording = Tiny(0)
    recording.primary()
    for width in range(2, 6):       # as the probes 0 to 3
        recording.now_ns += 10**7
        recording.fill((1, 1, 1 + width, 3), 0x123456)
    player, client = play_all(start, write(tmp_path, recording), "--pace", "recorded", "--probe-every", "5")
    assert [number for number, *_ in player["probes"]] == list(range(4, 4 + len(player["probes"])))
    assert {0, 1, 2, 3} < {number for number, _ in client["probes"]}


def test_time_begins_when_what_is_played_at_once_is(start: Start, tmp_path: Path) -> None:
    """Else what follows would be late in a part of a session that begins with much."""
    recording = Tiny(0)
    recording.primary()
    recording.fill((0, 0, 100, 80), 0x123456)
    recording.fill((0, 0, 50, 40), 0x345612)
    recording.now_ns += 5 * 10**8
    recording.fill((10, 10, 20, 20), 0x654321)
    play = start(write(tmp_path, recording), "--pace", "recorded", "--probe-every", "20", "--pause-at", "1")
    play.connect().wait_for("pause")
    time.sleep(0.5)     # as if it took that long
    play.player.say("go\n")
    player, _ = play.finish()
    # a link's changes count from "begun"
    assert [line["event"] for line in play.player.lines] == ["listening", "pause", "begun", "done"]
    assert player["begun_ns"] - player["started_ns"] >= 5 * 10**8
    assert player["fed_ns"] - player["begun_ns"] >= 5 * 10**8


def test_a_pause_waits_for_a_screen(start: Start, tmp_path: Path) -> None:
    recording = Tiny()
    recording.primary()
    recording.fill((0, 0, 100, 80), 0x123456)
    recording.worker(tiny.MESSAGE_DESTROY_PRIMARY)
    recording.worker(tiny.MESSAGE_WAKEUP)
    recording.move_cursor(3, 3)
    recording.move_cursor(4, 4)
    recording.primary(200, 150)
    play = start(write(tmp_path, recording), "--pause-at", "1,2")
    client = play.connect()
    shown = []
    for _ in range(2):
        shown.append(client.wait_for("pause")["sha256"])
        play.player.say("go\n")
    play.finish()
    assert shown[0] != shown[1]


def with_surfaces(colour: int) -> Tiny:
    """Two surfaces that are alike, and never on the primary."""
    recording = Tiny()
    recording.primary(100, 80)
    recording.fill((0, 0, 100, 80), 0x202020)
    for surface in (5, 6):
        recording.create(surface)
        recording.fill((0, 0, 16, 16), colour, surface=surface)
    recording.fill((10, 10, 50, 50), 0x4080C0)
    return recording


def test_every_surface_is_shown_if_wanted(start: Start, tmp_path: Path) -> None:
    pictures: list[tuple[str, str]] = []
    for colour in (0x00FF00, 0x00FE00):
        for arguments in ((), ("--show-surfaces",), ("--show-surfaces", "--pause-at", "5")):
            play = start(write(tmp_path, with_surfaces(colour)), *arguments)
            client = play.connect()
            if len(arguments) > 1:
                play.player.wait_for("pause")
                paused = client.wait_for("pause")["sha256"]
                play.player.say("go\n")
            pictures.append((play.finish()[1]["sha256"], paused if len(arguments) > 1 else ""))
    (hidden, _), (shown, _), (again, paused), (other_hidden, _), (other_shown, _), (_, other_paused) = pictures
    assert hidden == other_hidden
    assert len({hidden, shown, other_shown, paused, other_paused}) == 5
    assert shown == again       # what the pause showed is gone


def test_pauses_show_the_picture_at_that_point(start: Start, tmp_path: Path) -> None:
    path = write(tmp_path, tiny.small())
    play = start(path, "--pause-at", "2,6")
    client = play.connect()
    assert play.player.wait_for("pause") == {"event": "pause", "n": 0, "command": 2}
    first = client.wait_for("pause")["sha256"]
    time.sleep(0.3)
    play.player.say("go\n")
    assert play.player.wait_for("pause") == {"event": "pause", "n": 1, "command": 6}
    second = client.wait_for("pause")["sha256"]
    play.player.say("go\n")
    _, last = play.finish()
    assert len({first, second, last["sha256"]}) == 3

    cut = tmp_path / "cut.rec"
    cutting.cut(path, cutting.Range(0, 2, by_command=True), cut)
    _, client_line = play_all(start, cut)
    assert client_line["sha256"] == first


def _with_pauses() -> Tiny:
    recording = tiny.small()
    for colour in (0x0000FF, 0x00FF00):
        recording.pause(0.3)
        recording.fill((0, 0, 9, 9), colour)
        recording.pause(0.01)
        recording.fill((20, 0, 29, 9), colour)
    return recording


def test_at_the_users_pace_a_pause_is_waited_in(start: Start, tmp_path: Path) -> None:
    play = start(write(tmp_path, _with_pauses()), "--pace", "user")
    client = play.connect()
    resumed = []
    for number in range(2):
        assert play.player.wait_for("pause")["n"] == number
        assert client.wait_for("pause")["n"] == number
        time.sleep(0.2)
        resumed.append(time.monotonic_ns())
        play.player.say("go\n")
    player, last = play.finish()
    assert [line["event"] for line in play.player.lines] == ["listening", "begun", "pause", "pause", "done"]
    bursts = player["bursts"]
    assert [command for command, *_ in bursts] == sorted({command for command, *_ in bursts})
    assert len(bursts) == 2 and all(back >= said for (*_, back), said in zip(bursts, resumed, strict=True))
    assert bursts[1][1] - bursts[0][2] >= 0.3e9      # the gap begins when the client has shown all
    _, recorded = play_all(start, write(tmp_path, _with_pauses(), "b.rec"), "--pace", "recorded")
    assert last["sha256"] == recorded["sha256"]


@pytest.mark.parametrize("more", [("--pause-at", "2"), ("--probe-every", "5")])
def test_the_users_pace_goes_alone(start: Start, tmp_path: Path, more: tuple[str, ...]) -> None:
    player = start(write(tmp_path, tiny.small()), "--pace", "user", *more).player
    assert player.finish() == 1
    assert player.complaints() == ["spice-player: --pace user goes without --pause-at and --probe-every"]


# MiB before playing: nothing, all
@pytest.mark.parametrize("read_ahead", ["0", "512"])
@pytest.mark.parametrize("message", [tiny.MESSAGE_DESTROY_PRIMARY, tiny.MESSAGE_DESTROY_SURFACES])
def test_the_last_screen_stays(start: Start, tmp_path: Path, message: int, read_ahead: str) -> None:
    """As of a guest that was shut down."""
    recording = tiny.small()
    _, shown = play_all(start, write(tmp_path, recording, "b.rec"))
    recording.worker(message)
    recording.worker(tiny.MESSAGE_WAKEUP)
    recording.move_cursor(3, 3)
    recording.worker(tiny.MESSAGE_DESTROY_SURFACES)
    player, client = play_all(start, write(tmp_path, recording), "--read-ahead", read_ahead)
    assert player["commands"] == recording.commands
    assert (client["end"], client["sha256"]) == ("marker", shown["sha256"])


def test_nothing_is_played_to_its_end_without_a_screen(start: Start, tmp_path: Path) -> None:
    play = start(write(tmp_path, tiny.small(69, 80)))
    play.connect()
    ends(play, 2, "it ends without a screen of 70 x 70 pixels")


def test_more_surfaces_than_numbers(start: Start, tmp_path: Path) -> None:
    """All numbers are taken, and the next is free only when the worker has got that far."""
    recording = Tiny()
    recording.primary()
    for surface in range(1, 1024):
        recording.create(surface, 1, 1)
    for i in range(3000):
        recording.destroy_surface(1 + i % 1023)
        recording.create(1 + i % 1023, 1, 1)
    player, _ = play_all(start, write(tmp_path, recording))
    assert player["commands"] == recording.commands


# MiB before playing: nothing, some of it, all
@pytest.mark.parametrize("read_ahead", ["0", "1", "512"])
@pytest.mark.parametrize("message", [tiny.MESSAGE_DESTROY_SURFACES,
                                     tiny.MESSAGE_DESTROY_SURFACES_ASYNC])
def test_destroying_all_surfaces_gives_their_numbers_back(start: Start, tmp_path: Path,
                                                          message: int, read_ahead: str) -> None:
    recording = Tiny()
    for _ in range(12):
        recording.primary()
        for surface in range(1, 200):
            recording.create(surface, 2, 2)
        recording.worker(message)
        recording.destroy_surface(7)        # in flight
        recording.worker(tiny.MESSAGE_WAKEUP)
    recording.primary()
    recording.fill((0, 0, 50, 50))
    play = start(write(tmp_path, recording), "--pause-at", "200,1000", "--read-ahead", read_ahead)
    play.connect()
    play.player.say("go\ngo\n")
    player, _ = play.finish()
    assert player["commands"] == player["expected_commands"] == recording.commands


def test_many_messages_of_the_guest(start: Start, tmp_path: Path) -> None:
    recording = Tiny()
    recording.primary()
    for i in range(500):
        recording.text_message(b"x" * i)
    player, _ = play_all(start, write(tmp_path, recording))
    assert player["commands"] == 500


def test_stream_statistics_are_passed_on(start: Start, tmp_path: Path,
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that writes none leaves null, and lines from before are not ours."""
    stats = tmp_path / "stats"
    stats.write_text('{"old": 1}\n')
    monkeypatch.setenv("SPICE_STREAM_STATS", str(stats))
    play = start(write(tmp_path, tiny.small()), "--pause-at", "1")
    play.connect()
    play.player.wait_for("pause")
    with stats.open("a") as file:
        file.write('{"type": "display", "id": 0}\nnonsense\n')
    play.player.say("go\n")
    player, _ = play.finish()
    streams = player["streams"]
    assert {"type": "display", "id": 0} in streams
    assert {"old": 1} not in streams
    assert all(isinstance(stream, dict) for stream in streams)


# --- going wrong ---

def ends(play: Play, status: int, reason: str) -> None:
    """It ends with this status and one line."""
    assert play.player.finish() == status, play.player.stderr
    assert len(play.player.complaints()) == 1, play.player.stderr
    assert re.search(reason, play.player.complaints()[0]), play.player.stderr
    assert all(line["event"] != "done" for line in play.player.lines)


@pytest.mark.parametrize("arguments, reason", [
    ((), "give one recording"),
    (("a", "b"), "give one recording"),
    (("--port", "5900", "--nonsense", "a"), "nonsense"),
    (("a",), "nowhere to listen"),
    (("--port", "99999", "a"), "1 to 65535"),
    (("--port", "5900", "--unix", "x", "a"), "exclude"),
    (("--port", "5900", "--pace", "0", "a"), "--pace 0"),
    (("--port", "5900", "--pace", "fast", "a"), "--pace fast"),
    (("--port", "5900", "--pace", "nan", "a"), "--pace nan"),
    (("--port", "5900", "--compression", "zip", "a"), "auto-glz, auto-lz"),
    (("--port", "5900", "--jpeg", "yes", "a"), "auto, always, never"),
    (("--port", "5900", "--streaming", "some", "a"), "filter, off, all"),
    (("--port", "5900", "--pause-at", "1,x", "a"), "--pause-at 1,x"),
    (("--port", "5900", "--pause-at", "2,2", "a"), "above the one before"),
    (("--port", "5900", "--pause-at", "1", "-"), "standard input"),
    (("--port", "5900", "--timeout", "0", "a"), "positive"),
    (("--port", "5900", "--read-ahead", "-1", "a"), "--read-ahead is 0 to"),
    (("--tls-port", "5900", "a"), "--tls-cert"),
    (("--port", "5900", "/nonexistent/a.rec"), "No such file"),
])
def test_usage(arguments: tuple[str, ...], reason: str) -> None:
    result = subprocess.run([paths.player(), *arguments], capture_output=True,
                            timeout=TIMEOUT, check=False, text=True)
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1 and reason in result.stderr, result.stderr


def test_port_in_use(start: Start, tmp_path: Path) -> None:
    path = write(tmp_path, tiny.small())
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        play = start(path, "--port", str(other.getsockname()[1]), listen=False)
        ends(play, 1, r"port \d+: Address already in use")


def test_an_address_that_is_not_ours(start: Start, tmp_path: Path) -> None:
    play = start(write(tmp_path, tiny.small()), "--address", "192.0.2.1")
    ends(play, 1, r"192\.0\.2\.1 port \d+: Cannot assign")


def test_bad_certificates(start: Start, tmp_path: Path) -> None:
    path = write(tmp_path, tiny.small())
    good = tmp_path / "file"
    good.write_text("no certificate\n")
    for files, reason in (((good, good, tmp_path / "missing"), "missing: No such file"),
                          ((good, good, good), "cannot use .* for TLS")):
        cert, key, ca = files
        play = start(path, "--tls-port", str(lab.free_port()), "--tls-cert", cert, "--tls-key", key,
                     "--tls-ca", ca, listen=False)
        ends(play, 1, reason)


def test_a_socket_that_exists(start: Start, tmp_path: Path) -> None:
    other = tmp_path / "precious"
    other.write_text("data")
    play = start(write(tmp_path, tiny.small()), "--unix", other, listen=False)
    ends(play, 1, "exists already")
    assert other.read_text() == "data"


@pytest.mark.parametrize("data", [
    b"", b"SPICE_REPLAY 2\n", tiny.small().data[:-3],
    tiny.small().data.replace(b"surface_id 5", b"surface_id 6", 1),
    lzma.compress(tiny.small().data),
], ids=["empty", "version", "cut", "surface", "packed"])
def test_a_damaged_file_is_refused_before_anything_is_played(start: Start, tmp_path: Path,
                                                             data: bytes) -> None:
    path = tmp_path / "bad.rec"
    path.write_bytes(data)
    for read_ahead in "0", "512":
        play = start(path, "--read-ahead", read_ahead)
        ends(play, 2, rf"{re.escape(str(path))}: byte \d+: ")
        assert play.player.lines == []


def test_a_damaged_stream_is_played_up_to_the_damage(start: Start) -> None:
    play = start("-")
    play.connect()
    play.player.end_input(tiny.small().data + b"event nonsense\n")
    ends(play, 2, rf"-: byte {len(tiny.small().data) + 6}: event: expected a number")


def test_a_crash_of_the_library_is_one_line(start: Start, tmp_path: Path) -> None:
    """It may come of damage, say in a picture's data, that only the server sees."""
    path = write(tmp_path, tiny.small())
    play = start(path, "--pause-at", "4")
    client = play.connect()
    client.wait_for("pause")
    play.player.popen.send_signal(signal.SIGABRT)
    ends(play, -signal.SIGABRT, rf"{re.escape(str(path))}: the library crashed \(abort\) after command 4")


@pytest.mark.parametrize("old, new", [(b"rect src_area 0 0 32 32", b"rect src_area 0 0 32 33"), (b"length 3", b"length 4"),
                                      (b"rop3 184", b"rop3 90"), (b"bitmap.format 2", b"bitmap.format 1"),
                                      (b"update\nrect area 0 0 32 32", b"update\nrect area 0 0 0 32")])
def test_what_no_guest_may_draw_is_left_to_the_library(start: Start, tmp_path: Path, old: bytes, new: bytes) -> None:
    """It passes the command over, or the reason is one line."""
    path = tmp_path / "bad.rec"
    path.write_bytes(tiny.everything().data.replace(old, new, 1))
    play = start(path)
    play.connect()
    if play.player.finish() == 0:
        assert play.player.lines[-1]["commands"] == tiny.everything().commands
    else:
        assert re.search(r"the library crashed \(\w+\) after command \d+: the recording is damaged", *play.player.complaints())


def test_no_client_comes(start: Start, tmp_path: Path) -> None:
    play = start(write(tmp_path, tiny.small()), "--timeout", "1")
    ends(play, 4, "no progress for 1 seconds: no client has come")


def test_a_client_that_does_not_leave(start: Start, tmp_path: Path) -> None:
    play = start(write(tmp_path, tiny.small()), "--timeout", "1")
    play.connect("--host", "127.0.0.1", "--port", str(play.port), "--no-end")
    ends(play, 4, "the client does not go")


@pytest.mark.parametrize("mode, reason", [("flow,catchup=off,display=off", "the client takes nothing"),
                                          ("flow", "all is played, but the client does not go")])
def test_a_client_that_stops_reading(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                     mode: str, reason: str) -> None:
    """Who catches up does not have the guest wait for a client."""
    monkeypatch.setenv("SPICE_STREAM", mode)
    recording = Tiny()
    recording.primary(3500, 2100, packed=True)
    recording.fill((0, 0, 1, 1))
    tile = tiny.bitmap(350, 350)
    for i in range(60):
        left, top = i % 10 * 350, i // 10 * 350
        recording.copy((left, top, left + 350, top + 350), tile, (0, 0, 350, 350))
    play = start(write(tmp_path, recording), "--timeout", "2", "--pause-at", "1",
                 "--compression", "off")
    client = play.connect()
    client.wait_for("pause")
    client.popen.send_signal(signal.SIGSTOP)
    play.player.say("go\n")
    ends(play, 4, reason)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_client_that_goes_in_the_middle(start: Start, tmp_path: Path,
                                          how: signal.Signals) -> None:
    play = start(write(tmp_path, tiny.small()), "--pause-at", "4")
    client = play.connect()
    client.wait_for("pause")
    client.popen.send_signal(how)
    play.player.popen.wait(timeout=20)      # its standard input stays open: the end of that would end the pause, too
    ends(play, 3, "gone after 4 commands")


def test_standard_input_ends_in_a_pause(start: Start, tmp_path: Path) -> None:
    play = start(write(tmp_path, tiny.small()), "--pause-at", "4")
    client = play.connect()
    client.wait_for("pause")
    play.player.end_input()
    ends(play, 1, "standard input ended")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(start: Start, tmp_path: Path, how: signal.Signals) -> None:
    """In the middle of a play, and before any client has come."""
    path = write(tmp_path, tiny.small())
    for with_client in (True, False):
        where = tmp_path / "socket"
        play = start(path, "--unix", where, "--pause-at", "4", listen=False)
        if with_client:
            play.connect("--unix", where)
            play.player.wait_for("pause")
        else:
            play.player.wait_for("listening")
        play.player.popen.send_signal(how)
        ends(play, 1, f"ended by {how.name}")
        assert sorted(tmp_path.iterdir()) == [path]
