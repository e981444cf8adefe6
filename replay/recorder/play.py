# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plays a recording to a client over a socket file and tells how it went. For tests: no network, no figures."""
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

from bench import paths

LIBRARY_COMPLAINTS = ("CRITICAL", "ERROR", "WARNING")
HARMLESS = ("Connection reset by peer", "Broken pipe")     # the client hangs up when it has seen the end


@dataclass(frozen=True)
class Played:
    """Exit statuses are None for a program that was not started or had to be killed for taking too long."""
    player_status: int | None
    client_status: int | None
    player: dict[str, Any]       # the last line each of them printed
    client: dict[str, Any]
    player_log: str
    client_log: str

    @property
    def good(self) -> bool:
        return self.player_status == 0 and self.client_status == 0

    @property
    def complaints(self) -> list[str]:
        """Lines in which either library found fault with what it was given."""
        lines = (self.player_log + self.client_log).splitlines()
        return [line for line in lines if any(word in line for word in LIBRARY_COMPLAINTS)
                and not any(word in line for word in HARMLESS)]


def _limits(memory: int) -> Callable[[], None]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return limit


def _last_line(file: IO[bytes]) -> dict[str, Any]:
    file.seek(0)
    lines = file.read().splitlines()
    try:
        return dict(json.loads(lines[-1])) if lines else {}
    except ValueError:
        return {}


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _wait(process: subprocess.Popen[bytes] | None, until: float) -> int | None:
    if process is None:
        return None
    try:
        return process.wait(max(until - time.monotonic(), 0.1))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None


def _listening(process: subprocess.Popen[bytes], socket: Path, until: float) -> bool:
    while time.monotonic() < until and process.poll() is None:
        if socket.exists():
            return True
        time.sleep(0.01)
    return False


def play(recording: Path, *, png: Path | None = None, library: Path | None = None, seconds: float = 60,
         memory: int = 8 << 30, options: tuple[str, ...] = ()) -> Played:
    """Play to the end. `library` is the folder of another libspice-server, `memory` the address space each program may take."""
    environment = dict(os.environ)
    if library:
        environment["LD_LIBRARY_PATH"] = str(library)
    until = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="spice-play-") as folder, tempfile.TemporaryFile() as player_out, \
            tempfile.TemporaryFile() as player_log, tempfile.TemporaryFile() as client_out, tempfile.TemporaryFile() as client_log:
        socket = Path(folder) / "spice"
        client: subprocess.Popen[bytes] | None = None
        player = subprocess.Popen([paths.player(), "--unix", socket, *options, recording], stdin=subprocess.DEVNULL,
                                  stdout=player_out, stderr=player_log, env=environment, preexec_fn=_limits(memory))
        try:
            if _listening(player, socket, until):
                client = subprocess.Popen([paths.client(), "--unix", socket, *(("--png", png) if png else ())],
                                          stdin=subprocess.DEVNULL, stdout=client_out, stderr=client_log,
                                          preexec_fn=_limits(memory))
            client_status = _wait(client, until)
            player_status = _wait(player, until)
        finally:
            for process in (player, client):
                if process and process.poll() is None:
                    process.kill()
                    process.wait()
        return Played(player_status, client_status, _last_line(player_out), _last_line(client_out),
                      _text(player_log), _text(client_log))
