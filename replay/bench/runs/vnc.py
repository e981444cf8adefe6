# SPDX-License-Identifier: LGPL-2.1-or-later
"""The same pictures at the same times by VNC: TigerVNC's Xvnc and its viewer, both as they are without being told anything.

Beside Xvnc, spice-player plays the recording over loopback to spice-x-show, which puts the pictures on Xvnc's screen. Over the link
the viewer shows that screen on another X server, whose pixels spice-x-watch looks at as spice-drain looks at its own."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.common import paths, proc
from bench.common.errors import BenchError
from bench.lab import capture, lab, linktest
from bench.lab.links import Link
from bench.measure import pcap
from bench.runs import libraries, modes, recordings, seen
from bench.runs.recordings import Recording

_START_LIMIT = 60.0
_SETTLE = 3.0               # seconds that the viewer is watched for after the last picture, and four full round trips
_MARGIN = 200               # pixels
_PORT = "15900"             # of the player, on loopback
_RECORD = struct.Struct("=qII")
_TILE, _TILES_A_ROW = 16, 512       # as in screen/tiles.h


@dataclass(frozen=True)
class Programs:
    server: str
    viewer: str
    screen: str
    show: str
    watch: str


def programs() -> Programs:
    """Raises BenchError, one line, for what is missing."""
    server, viewer, screen = (proc.require(*need) for need in (
        ("Xtigervnc", "tigervnc-standalone-server"), ("xtigervncviewer", "tigervnc-viewer"), ("Xvfb", "xvfb")))
    try:
        return Programs(server, viewer, screen, str(paths.tool("screen", "spice-x-show")), str(paths.tool("screen", "spice-x-watch")))
    except BenchError:
        raise BenchError("what draws on an X server is not built: install the packages libx11-dev and libxext-dev, then run "
                         "meson setup --reconfigure build and ./run setup") from None


def version(found: Programs) -> str:
    """Of TigerVNC, as it says itself."""
    with contextlib.suppress(BenchError, IndexError):
        said = proc.call(["sh", "-c", 'exec "$0" -version 2>&1', found.server])
        return next(line.strip() for line in said.splitlines() if "TigerVNC" in line).split(" - ")[0]
    return "TigerVNC"


def _size(due: Path) -> tuple[int, int]:
    """Of the screen that holds every tile that is to be seen."""
    with due.open("rb") as file:
        tiles = {tile for _, tile, _ in _RECORD.iter_unpack(file.read())}
    return (max(tile % _TILES_A_ROW for tile in tiles) + 1) * _TILE, (max(tile // _TILES_A_ROW for tile in tiles) + 1) * _TILE


def _number() -> int:
    """A display of which no X server of this machine knows: their sockets are files that all namespaces share."""
    return next(number for number in range(2000 + os.getpid() % 20000, 60000) if not Path(f"/tmp/.X11-unix/X{number}").exists()
                and not Path(f"/tmp/.X{number}-lock").exists())


def _wait_for(server: proc.Process, number: int) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and server.running():
        if Path(f"/tmp/.X11-unix/X{number}").exists():
            return
        time.sleep(0.05)
    raise BenchError(f"{server.name} does not start: {server.last_complaint()}")


def _event(process: proc.Process, name: str, limit: float) -> dict[str, Any]:
    deadline = time.monotonic() + limit
    while got := proc.receive(process.mailbox, deadline):
        if got[1] is None:
            break
        if got[1].get("event") == name:
            return got[1]
    raise BenchError(f"{process.name} did not say '{name}': {process.last_complaint()}")


def _play(recording: Recording, where: lab.Lab, folder: Path, found: Programs) -> tuple[int, int]:
    """Returns when the playing began and until when the screen was looked at."""
    width, height = _size(seen.kept(recording))
    env = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY")}
    env.update(HOME=str(folder), LC_ALL="C.UTF-8", LD_LIBRARY_PATH=str(libraries.find("patched").directory),
               SPICE_STREAM=modes.stream_value("cork"))
    with contextlib.ExitStack() as open_:
        def start(name: str, argv: list[str], at: Path, display: str | None = None) -> proc.Process:
            own = env if display is None else {**env, "DISPLAY": display}
            return open_.enter_context(proc.Process(name, argv, at, own))

        servers: list[proc.Process] = []

        def serve(name: str, argv: list[str], at: Path) -> tuple[proc.Process, str]:
            number = _number()
            process = start(name, [argv[0], f":{number}", "-nolisten", "tcp", "-noreset", *argv[1:]], at)
            _wait_for(process, number)
            servers.append(process)
            return process, f":{number}"

        server, shown = serve("Xvnc", [found.server, "-geometry", f"{width}x{height}", "-depth", "24", "-rfbport", str(where.ports[0]),
                                "-interface", where.server_address, "-SecurityTypes", "TLSNone", "-desktop", "yardstick"], where.server)
        # with room for the title and the borders that the viewer thinks its window has: else it is smaller than the screen
        _, watched = serve("Xvfb", [found.screen, "-screen", "0", f"{width + _MARGIN}x{height + _MARGIN}x24"], where.client)
        viewer = start("viewer", [found.viewer, "-SecurityTypes", "TLSNone", "-RemoteResize=0", "-MenuKey=",
                                  "-geometry", f"{width}x{height}+0+0", "-Log", "*:stderr:30",
                                  f"{where.server_address}::{where.ports[0]}"], where.client, watched)
        if not viewer.wait_complaint("Connected to host", time.monotonic() + 20):
            raise BenchError(f"the viewer does not connect: {viewer.last_complaint()}")
        time.sleep(2 + 4 * where.link.full_round_trip)
        watch = start("watch", [found.watch, str(width), str(height), str(folder / "screen")], where.client, watched)
        player = start("player", [str(paths.player()), "--port", _PORT, "--pace", "recorded", "--streaming", "off", "--jpeg", "never",
                                  str(recordings.unpacked(recording))], where.server)
        _event(player, "listening", _START_LIMIT)
        show = start("show", [found.show, _PORT], where.server, shown)
        where.begin_changes()
        done = _event(player, "done", 60 + 2 * (recording.seconds or 3600))
        time.sleep(_SETTLE + 4 * where.link.full_round_trip)
        if not viewer.running() or not server.running():
            raise BenchError(f"the viewer or Xvnc ended before the end: {viewer.last_complaint()}")
        ended = time.monotonic_ns()
        watch.signal(signal.SIGTERM)
        if watch.wait(time.monotonic() + 10) != 0:
            raise BenchError(f"the screen was not watched: {watch.last_complaint()}")
        if show.wait(time.monotonic() + 1) != 0:
            raise BenchError(f"the pictures were not shown: {show.last_complaint()}")
        for process in reversed([*servers, viewer]):    # an X server that is killed leaves its files
            process.signal(signal.SIGTERM)
            process.wait(time.monotonic() + 5)
        return int(done["begun_ns"]), ended


def perform(recording: Recording, link: Link, repeat: int, folder: Path, found: Programs) -> dict[str, Any]:
    """One run, in an empty folder of its own; a record with a reason where it does not count."""
    record: dict[str, Any] = {"recording": recording.name, "link": link.name, "repeat": repeat, "seen": None, "bytes": None,
                              "packets": None, "invalid_reason": None}
    file = folder / "server.pcap"
    with lab.connect(link, seed=repeat) as where:
        if wrong := linktest.check(where):
            return {**record, "invalid_reason": wrong}
        with capture.capturing(where.server, where.device, file, where.ports, link.rate) as captured:
            try:
                started, ended = _play(recording, where, folder, found)
            except BenchError as error:
                return {**record, "invalid_reason": str(error)}
            statistics = captured.stop()
    if statistics.error or statistics.dropped:
        return {**record, "invalid_reason": f"capture: {statistics.error or 'packets dropped'}"}
    wire = pcap.analyse(file, where.ports, where.ports[1:])
    shown = seen.aged(recording, link, started, "1", folder / "screen", ended, where.books)
    return {**record, "seen": shown, "bytes": wire.server.wire_bytes, "packets": wire.server.data_packets,
            "invalid_reason": None if shown else "nothing was to be seen"}
