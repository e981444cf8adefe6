# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plays a recording to a client over a Unix socket, for its picture: no network, no figures."""
from __future__ import annotations

import json
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from bench.common import paths
from recordings import catalogue

LIBRARY_COMPLAINTS = ("CRITICAL", "ERROR", "WARNING")
# Video streams are lossy, depending on timing. Without them the same commands give the same picture.
WITHOUT_STREAMS = ("--streaming", "off")
HARMLESS = ("Connection reset by peer", "Broken pipe")     # the client disconnects when it has seen the end


@dataclass(frozen=True)
class Played:
    """An exit status is None if the program was not started, or was killed at the timeout."""
    player_status: int | None
    client_status: int | None
    player: dict[str, Any]       # the last line each of them printed
    client: dict[str, Any]
    pauses: list[str]            # the picture's hash at each pause
    player_log: str
    client_log: str

    @property
    def good(self) -> bool:
        return self.player_status == 0 and self.client_status == 0

    @property
    def complaints(self) -> list[str]:
        """Warnings of either library about its input."""
        lines = (self.player_log + self.client_log).splitlines()
        return [line for line in lines if any(word in line for word in LIBRARY_COMPLAINTS)
                and not any(word in line for word in HARMLESS)]


def _limits(memory: int) -> Callable[[], None]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return limit


def _text(file: IO[bytes]) -> str:
    return os.pread(file.fileno(), 1 << 24, 0).decode(errors="replace")


def _events(file: IO[bytes]) -> list[dict[str, Any]]:
    """The complete lines printed so far; none if they are no JSON."""
    try:
        return [dict(json.loads(line)) for line in _text(file).splitlines(keepends=True) if line.endswith("\n")]
    except ValueError:
        return []


def _pauses(file: IO[bytes]) -> list[str]:
    return [event["sha256"] for event in _events(file) if event.get("event") == "pause"]


def _wait(process: subprocess.Popen[bytes] | None, until: float) -> int | None:
    if process is None:
        return None
    try:
        return process.wait(max(until - time.monotonic(), 0.1))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None


def _listening(process: subprocess.Popen[bytes], out: IO[bytes], until: float) -> bool:
    while time.monotonic() < until and process.poll() is None:
        if any(event.get("event") == "listening" for event in _events(out)):
            return True
        time.sleep(0.01)
    return False


def _lead_through(player: subprocess.Popen[bytes], client: subprocess.Popen[bytes], client_out: IO[bytes], pauses: int,
                  until: float) -> None:
    """Ends each pause when the client has reported its picture."""
    for number in range(1, pauses + 1):
        while len(_pauses(client_out)) < number:
            if time.monotonic() > until or player.poll() is not None or client.poll() is not None:
                return
            time.sleep(0.01)
        assert player.stdin
        player.stdin.write(b"go\n")
        player.stdin.flush()


def play(recording: Path, *, png: Path | None = None, library: Path | None = None, seconds: float = 60,
         memory: int = 8 << 30, options: tuple[str, ...] = (), pause_at: tuple[int, ...] = ()) -> Played:
    """Plays to the end. `library` is the folder of another libspice-server, `memory` the largest address space of each program,
    `pauses` are after so many commands."""
    if pause_at:
        options += ("--pause-at", ",".join(map(str, pause_at)))
    client_options = ("--png", str(png)) if png else ()
    # Without catch-up, as the picture is taken at the end marker: a client that is behind would show some drawings after it.
    environment = {**os.environ, "SPICE_STREAM": "flow,catchup=off"}
    if library:
        environment["LD_LIBRARY_PATH"] = str(library)
    plain = catalogue.unpacked(catalogue.find(str(recording)))
    until = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="spice-play-") as folder, \
            tempfile.TemporaryFile() as player_out, tempfile.TemporaryFile() as player_log, \
            tempfile.TemporaryFile() as client_out, tempfile.TemporaryFile() as client_log:
        socket = Path(folder) / "spice"
        client: subprocess.Popen[bytes] | None = None
        player = subprocess.Popen([paths.player(), "--unix", socket, *options, plain], stdin=subprocess.PIPE,
                                  stdout=player_out, stderr=player_log, env=environment, preexec_fn=_limits(memory))
        try:
            if _listening(player, player_out, until):
                client = subprocess.Popen([paths.client(), "--unix", socket, *client_options],
                                          stdin=subprocess.DEVNULL, stdout=client_out, stderr=client_log,
                                          preexec_fn=_limits(memory))
                _lead_through(player, client, client_out, len(pause_at), until)
            client_status = _wait(client, until)
            player_status = _wait(player, until)
        finally:
            for process in (player, client):
                if process and process.poll() is None:
                    process.kill()
                    process.wait()
            if player.stdin:
                player.stdin.close()
        return Played(player_status, client_status, (_events(player_out) or [{}])[-1], (_events(client_out) or [{}])[-1],
                      _pauses(client_out), _text(player_log), _text(client_log))
