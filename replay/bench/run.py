# SPDX-License-Identifier: LGPL-2.1-or-later
"""One run: a lab, a capture, the player, the client, and everything they said, judged."""

from __future__ import annotations

import contextlib
import re
import shutil
from pathlib import Path
from typing import Any

from bench import capture, certs, download, lab, linktest, pcap, record, validity
from bench.ends import Ends, Hook
from bench.errors import BenchError
from bench.runspec import RunSpec


def _beside(spec: RunSpec, where: lab.Lab) -> contextlib.AbstractContextManager[download.Download | None]:
    return download.beside(where) if spec.beside_download else contextlib.nullcontext()


def _play(spec: RunSpec, where: lab.Lab, folder: Path, recording: Path, pcap_file: Path,
          started: Hook | None) -> validity.Evidence:
    keys = certs.make(folder, where.server_address, spec.tls_version) if spec.transport == "tls" else None
    with capture.capturing(where.server, where.device, pcap_file, where.ports) as captured:
        with _beside(spec, where) as also, Ends(spec, where, folder, keys, recording) as ends:
            ends.play(started)
            run = validity.Evidence(
                transport=spec.transport, tls_version=spec.tls_version, library=spec.library.file,
                commands=spec.recording.commands, mode=spec.mode_name,
                player_status=ends.status(ends.player), client_status=ends.status(ends.client),
                player=ends.done.get("player"), client=ends.done.get("client"),
                player_complaint=ends.player.last_complaint(),
                client_complaint=ends.client.last_complaint() if ends.client else "",
                pauses=ends.pauses, expected_pauses=len(spec.pause_at), timed_out=ends.timed_out)
            run.download = also
        run.capture = captured.stop()
    with contextlib.suppress(BenchError, OSError):      # no file to read is nothing captured
        run.wire = pcap.analyse(pcap_file, where.ports, where.ports[1:])
    return run


def perform(spec: RunSpec, folder: Path, recording: Path, started: Hook | None = None) -> dict[str, Any]:
    """Does the run in an empty folder of its own and returns its record. A run that goes wrong is a record too; only
    what would spoil every run (a missing program, no privileges) is raised."""
    pcap_file = folder / "server.pcap"
    with lab.connect(spec.link, congestion=spec.congestion) as where:
        wrong = None if where.remote else linktest.check(where)     # another machine's link is what it is
        if wrong:
            run = validity.Evidence(spec.transport, spec.tls_version, spec.library.file, spec.recording.commands,
                                    link=wrong)
        else:
            run = _play(spec, where, folder, recording, pcap_file, started)
    run.books = where.books
    run.congestion = where.congestion
    return record.make(spec, run, validity.judge(run), _keep(spec, pcap_file))


def _keep(spec: RunSpec, pcap_file: Path) -> Path | None:
    if spec.keep_pcap is None or not pcap_file.exists():
        return None
    name = re.sub(r"[^\w.-]+", "_", f"{spec.address}-{spec.repeat}") + ".pcap"
    try:
        spec.keep_pcap.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(pcap_file, spec.keep_pcap / name))
    except OSError as error:
        raise BenchError(f"cannot keep the capture in {spec.keep_pcap}: {error.strerror}") from None
