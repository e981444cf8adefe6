# SPDX-License-Identifier: LGPL-2.1-or-later
"""A short soak of the server alone: every kind of connection over plain TCP and TLS, then a well-behaved client is
served."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from bench.common import paths
from bench.lab import certs
from bench.lab.lab import free_port
from clients import soak, target
from clients.soak import Record, Visitor
from clients.target import PLAIN, TLS, Target
from guest.errors import Failed
from recordings import catalogue

RECORDING = "vga-text-boot"
ENOUGH = 5  # messages of the display channel: its surface, what is on it, and what is drawn
BOUND = 64 << 20  # bytes that a server may need for whoever does not read


@contextmanager
def _server() -> Iterator[tuple[subprocess.Popen[bytes], dict[str, Target]]]:
    """Draws for as long as clients come."""
    made, ports = certs.kept(target.HOST), (free_port(), free_port())
    argv: list[str | Path] = [
        paths.tool("clients", "lasting-server"),
        "--port",
        str(ports[0]),
        "--tls-port",
        str(ports[1]),
    ]
    argv += ["--tls-cert", made.certificate, "--tls-key", made.key, "--tls-ca", made.ca, catalogue.unpacked(catalogue.find(RECORDING))]
    environment = {**os.environ, "LD_LIBRARY_PATH": str(paths.patched_library())}
    server = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
    assert server.stdout
    try:
        server.stdout.readline()
        yield server, {PLAIN: Target(PLAIN, ports[0]), TLS: Target(TLS, ports[1], ca=made.ca)}
    finally:
        server.terminate()
        server.wait(20)
        server.stdout.close()


def _memory(process: subprocess.Popen[bytes]) -> int:
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS:"))


@pytest.mark.parametrize("transport", [PLAIN, TLS])
def test_a_server_survives_every_kind_of_visitor(transport: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "_LONGEST", 0.5)
    chance = random.Random(7)
    with _server() as (server, targets):
        soak.visit(targets[transport], "well-behaved", chance)
        before = _memory(server)
        for kind in soak.KINDS:
            soak.visit(targets[transport], kind, chance)
            assert server.poll() is None, f"it ended with {kind}"
        visitor = Visitor(targets[transport], "spice-gtk")
        deadline = time.monotonic() + 60
        while visitor.display.messages < ENOUGH and time.monotonic() < deadline:
            visitor.read(0.2)
        visitor.leave()
        assert visitor.display.messages >= ENOUGH
        assert _memory(server) - before < BOUND
    assert server.returncode == 0


@pytest.mark.parametrize("kind", soak.KINDS)
def test_a_server_that_accepts_no_client_fails(kind: str) -> None:
    with pytest.raises(Failed, match="was not accepted over plain: .*refused"):
        soak.visit(Target(PLAIN, free_port()), kind, random.Random(7))
    with socket.create_server((target.HOST, 0)) as server:
        def answer() -> None:
            with server.accept()[0] as client:
                client.sendall(b"this is not TLS")
                client.recv(1 << 16)

        Thread(target=answer, daemon=True).start()
        with pytest.raises(Failed, match="was not accepted over tls: "):
            soak.visit(Target(TLS, server.getsockname()[1], ca=certs.kept(target.HOST).ca), kind, random.Random(7))


def test_a_server_may_end_a_connection_that_it_has_accepted() -> None:
    with socket.create_server((target.HOST, 0)) as server:
        Thread(target=lambda: server.accept()[0].close(), daemon=True).start()
        soak.visit(Target(PLAIN, server.getsockname()[1]), "incomplete link message", random.Random(7))


def test_a_stall_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    class Deaf:
        def __init__(self, *_: object) -> None:
            self.left = [5, 4, 0, 0, 3]

        def read(self, _: float) -> int:
            return self.left.pop(0)

        def leave(self) -> None:
            pass

    monkeypatch.setattr(soak, "Visitor", Deaf)
    with pytest.raises(Failed, match="5, 4, 0, 3"):
        soak.no_stall(Target(PLAIN, 1))


def test_memory_that_grows_after_the_first_quarter_is_growth() -> None:
    assert Record(memory=[(0.1, 100), (0.2, 150), (0.5, 140), (0.9, 150)]).growth() == 0
    assert Record(memory=[(0.1, 100), (0.2, 150), (0.5, 140), (0.9, 170)]).growth() == 20
    assert Record(memory=[(0.1, 100)]).growth() == 0


def test_a_soak_is_told_in_a_line() -> None:
    record = Record(Counter(good=2, slow=1), 1, [(0.1, 10 << 20), (0.9, 12 << 20)])
    assert record.told("flow", 10) == ("flow, 10 minutes: 3 connections (2 good, 1 slow), 1 checks of messages and picture, memory 10 to 12 MB, "
                                       "of which 2 MB grew after the first quarter of the time")
