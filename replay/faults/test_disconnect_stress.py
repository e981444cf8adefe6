# SPDX-License-Identifier: LGPL-2.1-or-later
"""A short run of the stress, of the patched library, and that it sees a server that dies."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest

import disconnect_stress
from bench.common import paths
from rude_client import Going

RECORDING = paths.RECORDINGS / "linux-desktop.rec.xz"


def stress(*arguments: str) -> int:
    return disconnect_stress.main([str(RECORDING), "--server", str(paths.tool("faults", "lasting-server")), *arguments])


@pytest.mark.parametrize("transport", [[], ["--tls"]], ids=["plain", "tls"])
def test_twenty_clients_go(transport: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert stress("--library", str(paths.patched_library()), "--count", "20", *transport) == 0
    assert "20 clients of" in capsys.readouterr().out


@pytest.mark.parametrize("script, verdict", [("kill -SEGV $$", "status -11"),
                                             ("sleep 0.5; kill -SEGV $$", "status -11"),
                                             ("trap 'exit 0' TERM; while :; do sleep 0.1; done",
                                              "turns a client away")], ids=["at once", "soon", "deaf"])
def test_a_server_that_does_not_serve_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                   monkeypatch: pytest.MonkeyPatch,
                                                   script: str, verdict: str) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))     # where the logs of what fails stay
    if "TERM" in script:
        monkeypatch.setattr(disconnect_stress, "_DYING", 0.1)
    server = tmp_path / "server"
    server.write_text(f"#!/bin/sh\necho listening\n{script}\n")
    server.chmod(0o755)
    assert disconnect_stress.main([str(RECORDING), "--server", str(server), "--count", "1"]) == 1
    assert f"1 x {verdict}" in capsys.readouterr().out
    assert len(list(tmp_path.glob("disconnect-logs-*"))) == 1


def test_a_seed_gives_the_same_plans_of_every_kind() -> None:
    plans = list(disconnect_stress.plans(random.Random(7), 1000, 6000))
    assert plans == list(disconnect_stress.plans(random.Random(7), 1000, 6000))
    assert {plan.going for plan in plans} == set(Going)
    assert {plan.cache_pixels == 0 for plan in plans} == {False, True}
    assert {plan.unread > 0 for plan in plans} == {False, True}
    assert max(plan.messages for plan in plans) > 5000
