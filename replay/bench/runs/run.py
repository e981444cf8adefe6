# SPDX-License-Identifier: LGPL-2.1-or-later
"""One run: sets up link and capture, starts player and client, collects their output, and checks validity."""

from __future__ import annotations

import contextlib
import re
import shutil
from pathlib import Path
from typing import Any

from bench.common.errors import BenchError
from bench.lab import beside, capture, certs, lab, linktest
from bench.measure import pcap, validity
from bench.measure.steal import StealTime
from bench.runs import endpoints, entry, groundtruth
from bench.runs.endpoints import Endpoints, Hook
from bench.runs.runspec import RunSpec


def _download(spec: RunSpec, where: lab.Lab) -> contextlib.AbstractContextManager[beside.Download | None]:
    return beside.download(where) if spec.beside_download else contextlib.nullcontext()


def _capture(spec: RunSpec, where: lab.Lab, file: Path) -> contextlib.AbstractContextManager[capture.Capture | None]:
    return capture.capturing(where.server, where.device, file, where.ports, where.link.rate) if spec.captured \
        else contextlib.nullcontext()


def _relay(spec: RunSpec, where: lab.Lab) -> contextlib.AbstractContextManager[None]:
    return beside.relay(where, where.ports[spec.transport == "tls"]) if spec.link.relay else contextlib.nullcontext()


def _stolen(spec: RunSpec, stolen: StealTime, run: validity.Evidence) -> float | None:
    """Steal time while the recording played; None if it did not play."""
    started, ended = (run.player or {}).get("started_ns"), (run.client or {}).get("end_ns")
    if not isinstance(started, int) or not isinstance(ended, int):
        return None
    share = stolen.share(started, ended)
    return None if share is None else round(share, 4)


def _play(spec: RunSpec, where: lab.Lab, folder: Path, recording: Path, pcap_file: Path,
          started: Hook | None) -> validity.Evidence:
    keys = certs.kept(where.server_address, spec.tls) if spec.transport == "tls" else None
    with _capture(spec, where, pcap_file) as captured:
        with _download(spec, where) as also, _relay(spec, where), StealTime() as stolen, \
                Endpoints(spec, where, folder, keys, recording, False if groundtruth.wanted(spec) else None,
                     groundtruth.kept_bursts(spec.recording) if spec.is_user else None) as both:
            both.play(started)
            run = validity.Evidence(
                transport=spec.transport, tls_version=spec.tls, library=spec.library.file,
                commands=spec.recording.commands, mode=spec.mode_name, socket=spec.socket,
                player_status=both.status(both.player), client_status=both.status(both.client),
                player=both.done.get("player"), client=both.done.get("client"),
                player_complaint=both.player.last_complaint(),
                client_complaint=both.client.last_complaint() if both.client else "",
                pauses=both.pauses, expected_pauses=len(spec.pause_at), channels=spec.channels,
                shown=both.shown if spec.is_user else None,
                timed_out=both.timed_out)
            run.download = also
        run.stolen = _stolen(spec, stolen, run)
        run.capture = captured.stop() if captured else None
    run.captured = spec.captured
    if spec.captured:
        with contextlib.suppress(BenchError, OSError):      # no file: nothing was captured
            run.wire = pcap.analyse(pcap_file, where.ports, where.ports[1:])
    return run


def perform(spec: RunSpec, folder: Path, recording: Path, started: Hook | None = None) -> dict[str, Any]:
    """Does the run in an empty folder of its own, and returns its record. A failed run is a record too; only an error that would
    affect every run (a missing program, no privileges) is raised."""
    pcap_file = folder / "server.pcap"
    with lab.connect(spec.link, congestion=spec.congestion, seed=spec.link_seed) as where:
        wrong = linktest.check(where)
        if wrong:
            run = validity.Evidence(spec.transport, spec.tls, spec.library.file, spec.recording.commands,
                                    link=wrong)
        else:
            run = _play(spec, where, folder, recording, pcap_file, started)
    run.counters = where.counters
    run.emulator = where.emulator
    run.link_tests = where.link_tests
    run.congestion = where.congestion
    run.seen = groundtruth.report(spec, endpoints.screen_log(folder), run.player, run.client, run.counters)
    _keep(spec, endpoints.trace_file(folder), spec.keep, ".trace")
    return entry.make(spec, run, validity.judge(run), _keep(spec, pcap_file, spec.keep, ".pcap"))


def _keep(spec: RunSpec, file: Path, folder: Path | None, ending: str) -> Path | None:
    if folder is None or not file.exists():
        return None
    name = re.sub(r"[^\w.-]+", "_", f"{spec.case.row}-{spec.repeat}") + ending
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(file, folder / name))
    except OSError as error:
        raise BenchError(f"cannot keep {file.name} in {folder}: {error.strerror}") from None
