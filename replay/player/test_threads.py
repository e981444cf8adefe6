# SPDX-License-Identifier: LGPL-2.1-or-later
"""No ThreadSanitizer report in library or player: recordings over TLS, with the pointer moved by another thread than the one
that draws.

The build is kept in build/threads. By itself: ./run test replay/player/test_threads.py
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bench.common import paths
from bench.common.steps import Steps
from bench.lab import certs, lab
from bench.source import sanitized
from recordings import cutting

_COMMANDS = 2000
_SECONDS = 120


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sanitized.for_threads(Steps(tmp_path_factory.mktemp("threads") / "log"))


@pytest.fixture(scope="module")
def player(build: Path) -> Path:
    return build / sanitized.PLAYER


def trimmed(name: str, folder: Path) -> Path:
    """The first commands of a shipped recording; threads do nothing else in the rest of it."""
    target = folder / f"{name}.rec"
    cutting.cut(paths.RECORDINGS / f"{name}.rec.xz", cutting.Range(0, _COMMANDS, by_command=True), target)
    return target


@pytest.mark.parametrize("mode", ["batch", "flow"])
@pytest.mark.parametrize("recording", ["all-commands", "linux-desktop", "tiny", "vga-text-boot"])
def test_no_report(recording: str, mode: str, player: Path, tmp_path: Path) -> None:
    port = lab.free_port()
    keys = certs.make(tmp_path, "127.0.0.1")
    env = {**os.environ, "SPICE_STREAM": mode, "OPENSSL_CONF": str(keys.openssl_conf),
           "TSAN_OPTIONS": f"log_path={tmp_path}/report exitcode=66 second_deadlock_stack=1"}
    with open(tmp_path / "player.log", "wb") as log, subprocess.Popen(
            [player, "--tls-port", str(port), "--tls-cert", keys.certificate, "--tls-key", keys.key, "--tls-ca", keys.ca,
             "--channels", "pointer", "--show-surfaces", trimmed(recording, tmp_path)], env=env, stdout=subprocess.PIPE, stderr=log, text=True) as playing:
        try:
            assert playing.stdout and "listening" in playing.stdout.readline(), (tmp_path / "player.log").read_text()
            client = subprocess.run([paths.client(), "--host", "127.0.0.1", "--tls-port", str(port), "--ca", keys.ca],
                                    capture_output=True, text=True, timeout=_SECONDS, check=False)
            status = playing.wait(_SECONDS)
        finally:
            playing.kill()
    assert [report.read_text() for report in tmp_path.glob("report.*")] == []
    assert (status, client.returncode) == (0, 0), (tmp_path / "player.log").read_text() + client.stderr
