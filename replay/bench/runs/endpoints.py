# SPDX-License-Identifier: LGPL-2.1-or-later
"""The two endpoints of a run: the player with the tested library, and the client."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.common import paths, proc
from bench.lab.certs import Certificates
from bench.lab.lab import Lab
from bench.runs import expected
from bench.runs.runspec import RunSpec

_START_LIMIT = 60.0         # seconds until the player listens: it first reads the recording, perhaps beside other runs
_PARTING_LIMIT = 30.0       # seconds that one program may run after the other has ended

Hook = Callable[[proc.Process, proc.Process], None]     # called when both endpoints run: (player, client)


def _limit(spec: RunSpec) -> float:
    """Seconds that the run may take. The client may be idle all the time, as the player gives up without progress."""
    return spec.limit + expected.seconds(spec)


def _player_command(spec: RunSpec, where: Lab, keys: Certificates | None, recording: Path, at_probes: bool) -> list[str]:
    argv = [str(paths.player()), "--address", where.listens_at, "--pace", spec.pace]
    argv += keys.of_player(where.ports[1]) if keys else ["--port", str(where.ports[0])]
    if spec.probe_every:
        argv += ["--probe-every", str(spec.probe_every), *(["--keep-probes"] if at_probes else [])]
    if spec.pause_at:
        argv += ["--pause-at", ",".join(map(str, spec.pause_at))]
    return [*argv, *spec.player_options(), str(recording)]


def _client_command(spec: RunSpec, where: Lab, keys: Certificates | None, screen: list[str]) -> list[str]:
    argv = [str(paths.client()), "--host", where.server_address, "--settle", str(spec.settle_ms),
            "--settle-end", str(spec.settle_end_ms), "--idle", str(_limit(spec)), *screen]
    if spec.slow_client > 1:
        argv += ["--slow", str(spec.slow_client)]
    if spec.channels:
        argv.append("--channels")
    return argv + (keys.of_client(where.ports[1]) if keys else ["--port", str(where.ports[0])])


def _environment(keys: Certificates | None, folder: Path) -> dict[str, str]:
    """The environment of both programs: no variable of the caller that could affect them, nothing is written to the caller's
    home."""
    dropped = ("LD_LIBRARY_PATH", "LD_PRELOAD", "SPICE_STREAM", "SPICE_STREAM_STATS", "SPICE_STREAM_TRACE",
               "SPICE_PROXY", "DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")
    env = {name: value for name, value in os.environ.items() if name not in dropped}
    env.update(HOME=str(folder), TMPDIR=str(folder), LC_ALL="C.UTF-8",
               XDG_CACHE_HOME=str(paths.cache_dir() / "client"))
    if keys is not None:
        env["OPENSSL_CONF"] = str(keys.openssl_conf)
    return env


def screen_log(folder: Path) -> Path:
    """The client's log of its screen."""
    return folder / "screen"


def trace_file(folder: Path) -> Path:
    """The trace of a patched library."""
    return folder / "trace"


def _player_environment(spec: RunSpec, env: dict[str, str], folder: Path) -> dict[str, str]:
    env = {**env, "LD_LIBRARY_PATH": str(spec.library.directory)}
    if spec.keep is not None:
        env["SPICE_STREAM_TRACE"] = str(trace_file(folder))
    if spec.stream:
        env["SPICE_STREAM"] = spec.stream
    return env


class Endpoints:
    """The two programs while they run. Starts them in order, passes pause points on, and ends them."""

    def __init__(self, spec: RunSpec, where: Lab, folder: Path, keys: Certificates | None,
                 recording: Path, at_probes: bool | None = None, pictures: Path | None = None) -> None:
        """pictures: what the client has to show before the session goes on. at_probes: whether what is to be seen is logged at each probe
        or when it changes; None: it is not."""
        self.done: dict[str, dict[str, Any]] = {}
        self.pauses: list[dict[str, Any]] = []
        self.shown: list[dict[str, Any]] = []   # at the user's pace: the client's answer for each burst
        self._is_user = spec.is_user
        self.timed_out = False
        self._pause_at = spec.pause_at
        self._begin_changes = where.begin_changes
        self._limit = time.monotonic() + _limit(spec)
        self._mailbox: proc.Mailbox = queue.Queue()
        self._open = contextlib.ExitStack()
        env = _environment(keys, folder)
        self.player = self._open.enter_context(proc.Process(
            "player", _player_command(spec, where, keys, recording, bool(at_probes)), where.server,
            _player_environment(spec, env, folder), self._mailbox))
        self.client: proc.Process | None = None
        self.screen = screen_log(folder)
        logged = [] if at_probes is None else ["--screen", str(self.screen), *(["--screen-at-probes"] if at_probes else [])]
        if pictures is not None:
            logged += ["--expect", str(pictures)]
        self._client_argv = (_client_command(spec, where, keys, logged), where.client, env)

    def __enter__(self) -> Endpoints:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def play(self, started: Hook | None) -> None:
        """Returns when both programs' outputs have ended, or at the timeout."""
        if not self.player.wait_event("listening", time.monotonic() + _START_LIMIT):
            return
        argv, netns, env = self._client_argv
        self.client = self._open.enter_context(proc.Process("client", argv, netns, env, self._mailbox))
        if started is not None:
            started(self.player, self.client)
        running = 2
        deadline = self._limit
        while running:
            got = proc.receive(self._mailbox, deadline)
            if got is None:
                self.timed_out = time.monotonic() >= self._limit
                return
            sender, event = got
            if event is None:
                running -= 1
                deadline = min(self._limit, time.monotonic() + _PARTING_LIMIT)
            else:
                self._take(sender, event)

    def _take(self, sender: proc.Process, event: dict[str, Any]) -> None:
        if event.get("event") == "done":
            self.done[sender.name] = event
        elif event.get("event") == "begun":
            self._begin_changes()
        elif event.get("event") == "pause" and sender is self.client and self._is_user:
            self.shown.append(event)
            self.player.say("go")
        elif event.get("event") == "pause" and sender is self.client:
            self.pauses.append({"command": self._pause_at[len(self.pauses)] if len(self.pauses) < len(self._pause_at)
                                else None, **{name: event.get(name) for name in ("sha256", "blocks", "tiles")}})
            self.player.say("go")       # the client has its picture of this moment

    def status(self, process: proc.Process | None) -> int | None:
        """The exit status; ends the process first if it still runs."""
        if process is None:
            return None
        status = process.wait(time.monotonic() + 1)
        if status is None:
            process.signal(signal.SIGTERM)
            process.wait(time.monotonic() + 3)
        return status
