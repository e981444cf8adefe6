# SPDX-License-Identifier: LGPL-2.1-or-later
"""One run: a lab, a capture, the player, the client, and everything they said, judged."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import capture, certs, lab, latency, links, linktest, modes, paths, pcap, proc, validity
from bench.errors import BenchError
from bench.libraries import Library
from bench.links import Link
from bench.recordings import Recording

PLAIN_PORT = 5900
TLS_PORT = 5901
TRANSPORTS = ("plain", "tls")
# How long the client waits, at a marker, for a picture that no longer changes, and with it for what other channels still
# bring. A video stream ends a second after its last frame, then its area comes once more without loss.
_SETTLE_MS = 100
_SETTLE_STREAMS_MS = 1500
_START_LIMIT = 20.0         # seconds until the player listens
_PARTING_LIMIT = 30.0       # seconds one end may live on after the other has ended


@dataclass(frozen=True)
class RunSpec:
    """What makes two runs the same measurement, and which repeat of it this is."""
    recording: Recording
    library: Library
    mode: str
    transport: str
    repeat: int = 1
    tls_version: str = "1.3"
    link: Link = links.LINKS["lan"]
    pace: str = "max"
    probe_every: int | None = None      # milliseconds; 0 and None: no probes
    pause_at: tuple[int, ...] = ()      # commands after which both ends wait and the picture is taken
    compression: str | None = None      # None: as the player has it
    streaming: str | None = "off"
    limit: float = 1800.0               # seconds the whole run may take
    keep_pcap: Path | None = None       # the folder to keep the capture in

    @property
    def mode_name(self) -> str | None:
        """What the library calls the mode; None for one that knows no modes."""
        return None if self.mode == modes.STOCK else modes.base(self.mode).name

    @property
    def settle_ms(self) -> int:
        return _SETTLE_MS if self.streaming == "off" else _SETTLE_STREAMS_MS

    @property
    def row(self) -> str:
        """As tables name it."""
        return modes.row(self.library.name, self.mode)

    @property
    def address(self) -> str:
        """Names the cell on the command line, in files and in progress."""
        return "/".join((self.recording.name, self.link.name.replace("/", "-"), self.pace, self.transport, self.row))

    def __str__(self) -> str:
        return f"{self.address} run {self.repeat}" if self.repeat else f"{self.address} warm-up"


Hook = Callable[[proc.Process, proc.Process], None]     # called when both ends run: (player, client)


def _player_command(spec: RunSpec, where: lab.Lab, keys: certs.Certificates | None, recording: Path) -> list[str]:
    argv = [str(paths.player()), "--address", where.server_address, "--pace", spec.pace]
    if keys is None:
        argv += ["--port", str(PLAIN_PORT)]
    else:
        argv += ["--tls-port", str(TLS_PORT), "--tls-cert", str(keys.certificate), "--tls-key", str(keys.key),
                 "--tls-ca", str(keys.ca)]
    if spec.probe_every:
        argv += ["--probe-every", str(spec.probe_every)]
    if spec.pause_at:
        argv += ["--pause-at", ",".join(map(str, spec.pause_at))]
    if spec.compression:
        argv += ["--compression", spec.compression]
    if spec.streaming:
        argv += ["--streaming", spec.streaming]
    return [*argv, str(recording)]


def _client_command(spec: RunSpec, where: lab.Lab, keys: certs.Certificates | None) -> list[str]:
    argv = [str(paths.client()), "--host", where.server_address, "--settle", str(spec.settle_ms)]
    if keys is None:
        return [*argv, "--port", str(PLAIN_PORT)]
    return [*argv, "--tls-port", str(TLS_PORT), "--ca", str(keys.ca)]


def _environment(keys: certs.Certificates | None, folder: Path) -> dict[str, str]:
    """For both ends: nothing of the caller's that could change what they do, nothing written to the caller's home."""
    dropped = ("LD_LIBRARY_PATH", "LD_PRELOAD", "SPICE_STREAM", "SPICE_STREAM_STATS", "SPICE_STREAM_TRACE",
               "SPICE_PROXY", "DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")
    env = {name: value for name, value in os.environ.items() if name not in dropped}
    env.update(HOME=str(folder), TMPDIR=str(folder), LC_ALL="C.UTF-8",
               XDG_CACHE_HOME=str(paths.cache_dir() / "client"))
    if keys is not None:
        env["OPENSSL_CONF"] = str(keys.openssl_conf)
    return env


def _player_environment(spec: RunSpec, env: dict[str, str]) -> dict[str, str]:
    env = {**env, "LD_LIBRARY_PATH": str(spec.library.directory)}
    if spec.mode != modes.STOCK:
        env["SPICE_STREAM"] = modes.stream_value(spec.mode)
    return env


class _Ends:
    """The two programs while they run: starts them in order, passes pause points on, ends them."""

    def __init__(self, spec: RunSpec, where: lab.Lab, folder: Path, keys: certs.Certificates | None,
                 recording: Path) -> None:
        self.done: dict[str, dict[str, Any]] = {}
        self.pauses: list[dict[str, Any]] = []
        self.timed_out = False
        self._pause_at = spec.pause_at
        self._limit = time.monotonic() + spec.limit
        self._mailbox: proc.Mailbox = queue.Queue()
        self._open = contextlib.ExitStack()
        env = _environment(keys, folder)
        self.player = self._open.enter_context(proc.Process(
            "player", _player_command(spec, where, keys, recording), where.server, _player_environment(spec, env),
            self._mailbox))
        self.client: proc.Process | None = None
        self._client_argv = (_client_command(spec, where, keys), where.client, env)

    def __enter__(self) -> _Ends:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def play(self, started: Hook | None) -> None:
        """Returns when both programs' outputs have ended, or time is up."""
        if not self._player_listens():
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

    def _player_listens(self) -> bool:
        while got := proc.receive(self._mailbox, time.monotonic() + _START_LIMIT):
            if got[1] is None:
                return False
            if got[1].get("event") == "listening":
                return True
        return False

    def _take(self, sender: proc.Process, event: dict[str, Any]) -> None:
        if event.get("event") == "done":
            self.done[sender.name] = event
        elif event.get("event") == "pause" and sender is self.client:
            self.pauses.append({"command": self._pause_at[len(self.pauses)] if len(self.pauses) < len(self._pause_at)
                                else None, "sha256": event.get("sha256")})
            self.player.say("go")       # the client has its picture of this moment

    def status(self, process: proc.Process | None) -> int | None:
        """The exit status, asking the process to end first when it has not."""
        if process is None:
            return None
        status = process.wait(time.monotonic() + 1)
        if status is None:
            process.signal(signal.SIGTERM)
            process.wait(time.monotonic() + 3)
        return status


def _seconds(report: dict[str, Any] | None, name: str) -> float | None:
    value = (report or {}).get(name)
    return float(value) if isinstance(value, int | float) else None


def _wall(spec: RunSpec, run: validity.Evidence) -> float | None:
    """From the first command until the client has the last picture, without what pause points cost: the client's wait and
    a round trip in which the link is idle."""
    started, ended = (run.player or {}).get("started_ns"), (run.client or {}).get("end_ns")
    if not isinstance(started, int) or not isinstance(ended, int):
        return None
    return round((ended - started) / 1e9 - len(run.pauses) * (spec.settle_ms / 1e3 + spec.link.delay), 6)


def _cpu(report: dict[str, Any] | None) -> dict[str, float | None]:
    """What the program used, a player without its own reading of the recording."""
    def used(kind: str) -> float | None:
        total, feeder = _seconds(report, f"cpu_{kind}"), _seconds(report, f"cpu_feeder_{kind}")
        return total if total is None or feeder is None else round(total - feeder, 6)
    return {"user": used("user"), "system": used("system")}


def _counts(direction: pcap.Direction | None) -> dict[str, int | None]:
    names = ("packets", "data_packets", "tcp_payload_bytes", "wire_bytes", "retransmissions", "tls_records")
    return {name: getattr(direction, name) if direction else None for name in names}


def _messages(player: dict[str, Any] | None) -> int | None:
    """What the patched library counted; an unpatched one counts nothing."""
    streams = (player or {}).get("streams")
    if not streams or any(not isinstance(stream.get("messages"), int) for stream in streams):
        return None
    return sum(int(stream["messages"]) for stream in streams)


def _latency(spec: RunSpec, run: validity.Evidence) -> dict[str, Any] | None:
    if not spec.probe_every:
        return None
    return latency.report((run.player or {}).get("probes"), (run.client or {}).get("probes"))


def _record(spec: RunSpec, run: validity.Evidence, reason: str | None, kept: Path | None) -> dict[str, Any]:
    client = run.client or {}
    wire = run.wire
    return {
        "recording": spec.recording.name, "library": spec.library.name, "mode": spec.mode,
        "transport": spec.transport, "link": spec.link.name, "pace": spec.pace, "repeat": spec.repeat,
        "valid": reason is None, "invalid_reason": reason,
        "messages": _messages(run.player), "message_bytes": client.get("total_bytes"),
        "server": _counts(wire.server if wire else None), "client": _counts(wire.client if wire else None),
        "cpu_seconds": _cpu(run.player), "client_cpu_seconds": _cpu(run.client),
        "wall_seconds": _wall(spec, run),
        "latency": _latency(spec, run),
        "picture_sha256": client.get("sha256"), "pauses": run.pauses, "lossy": None,
        "channel_bytes": client.get("bytes"), "audio": client.get("audio"),
        "streams": (run.player or {}).get("streams"),
        "packet_sizes": _histogram(_coarse(wire.server.sizes)) if wire else None,
        "timeline": _histogram(wire.server.timeline) if wire else None,
        "link_books": run.books,
        "pcap": str(kept) if kept else None,
    }


_SIZE_STEP = 50     # bytes of a bar in the histogram of packet sizes


def _coarse(sizes: Mapping[int, int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for size, packets in sizes.items():
        bar = size // _SIZE_STEP * _SIZE_STEP
        found[bar] = found.get(bar, 0) + packets
    return found


def _histogram(counted: Mapping[int, int]) -> list[list[int]]:
    """JSON has no integer keys: pairs, in order."""
    return [[key, counted[key]] for key in sorted(counted)]


def _play(spec: RunSpec, where: lab.Lab, folder: Path, recording: Path, pcap_file: Path,
          started: Hook | None) -> validity.Evidence:
    keys = certs.make(folder, where.server_address, spec.tls_version) if spec.transport == "tls" else None
    with capture.capturing(where.server, where.device, pcap_file) as captured:
        with _Ends(spec, where, folder, keys, recording) as ends:
            ends.play(started)
            run = validity.Evidence(
                transport=spec.transport, tls_version=spec.tls_version, library=spec.library.file,
                commands=spec.recording.commands, mode=spec.mode_name,
                player_status=ends.status(ends.player), client_status=ends.status(ends.client),
                player=ends.done.get("player"), client=ends.done.get("client"),
                player_complaint=ends.player.last_complaint(),
                client_complaint=ends.client.last_complaint() if ends.client else "",
                pauses=ends.pauses, expected_pauses=len(spec.pause_at), timed_out=ends.timed_out)
        run.capture = captured.stop()
    with contextlib.suppress(BenchError, OSError):      # no file to read is nothing captured
        run.wire = pcap.analyse(pcap_file, {PLAIN_PORT, TLS_PORT}, {TLS_PORT})
    return run


def perform(spec: RunSpec, folder: Path, recording: Path, started: Hook | None = None) -> dict[str, Any]:
    """Does the run in an empty folder of its own and returns its record. A run that goes wrong is a record too; only
    what would spoil every run (a missing program, no privileges) is raised."""
    pcap_file = folder / "server.pcap"
    with lab.connect(spec.link) as where:
        wrong = linktest.check(where)
        if wrong:
            run = validity.Evidence(spec.transport, spec.tls_version, spec.library.file, spec.recording.commands,
                                    link=wrong)
        else:
            run = _play(spec, where, folder, recording, pcap_file, started)
    run.books = where.books
    return _record(spec, run, validity.judge(run), _keep(spec, pcap_file))


def _keep(spec: RunSpec, pcap_file: Path) -> Path | None:
    if spec.keep_pcap is None or not pcap_file.exists():
        return None
    name = re.sub(r"[^\w.-]+", "_", f"{spec.address}-{spec.repeat}") + ".pcap"
    try:
        spec.keep_pcap.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(pcap_file, spec.keep_pcap / name))
    except OSError as error:
        raise BenchError(f"cannot keep the capture in {spec.keep_pcap}: {error.strerror}") from None
