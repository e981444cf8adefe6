# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fixtures: a build directory with fake programs, and checks that a run leaves no process or file behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench import test_fake_patience as patient
from bench.common import paths
from bench.common.errors import BenchError
from bench.runs import libraries
from bench.runs.runspec import RunSpec
from recordings import catalogue

# A shell has what it starts in the background ignore ^C, and so would everything that is interrupted here.
signal.signal(signal.SIGINT, signal.default_int_handler)


def needs(*found: Callable[[], object]) -> pytest.MarkDecorator:
    """Skips tests where one of these functions of `paths` finds nothing built."""
    try:
        for one in found:
            one()
    except BenchError as error:
        return pytest.mark.skip(reason=str(error))
    return pytest.mark.skipif(False, reason="")


needs_emulator = needs(paths.link_emulator)


def _program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nexec {sys.executable} {Path(__file__).with_name(script)} \"$@\"\n")
    path.chmod(0o755)


@pytest.fixture
def fake_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with stand-ins for the programs and both libraries, one recording, and a cache of its own; on a machine that is never too
    busy."""
    patient.make(monkeypatch.setattr)
    build = tmp_path / "build"
    _program(build / "replay" / "player" / "spice-player", "test_fake_player.py")
    _program(build / "replay" / "drain" / "spice-drain", "test_fake_client.py")
    for folder, content in (("subprojects/spice-0.15.2/server", b"\0SPICE_STREAM\0"), ("stock/server", b"\0nothing\0")):
        (build / folder).mkdir(parents=True)
        (build / folder / paths.LIBRARY_FILE).write_bytes(content)
    (tmp_path / "tiny.rec").write_bytes(b"SPICE_REPLAY 1\n")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("SPICE_BENCH_BUILD", str(build))
    monkeypatch.setenv("SPICE_BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


@pytest.fixture
def spec(fake_tree: Path) -> RunSpec:
    return RunSpec(catalogue.find(str(fake_tree / "tiny.rec")), libraries.find("patched"), "gather", "plain")


def wait_until(happened: Callable[[], object], limit: float = 60.0) -> None:
    """Of what another process does; on a busy machine it takes its time."""
    deadline = time.monotonic() + limit
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def processes() -> str:
    """The command lines of all there are."""
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


def _children() -> set[str]:
    listing = subprocess.run(["ps", "-o", "pid=,ppid=,args=", "--ppid", str(os.getpid())], capture_output=True,
                             text=True, check=False).stdout.splitlines()
    return {line for line in listing if " ps -o " not in line}


@pytest.fixture
def nothing_left(fake_tree: Path) -> Iterator[None]:
    """Fails the test when it leaves a process (and with it a namespace) or a temporary file."""
    before = _children()
    yield
    assert _children() <= before
    assert list((fake_tree / "tmp").iterdir()) == []


@pytest.fixture
def bench(fake_tree: Path) -> Iterator[Bench]:
    yield Bench(fake_tree)


class Bench:
    """Calls the program as ./run does, writing into the test's own folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.output = folder / "results"

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "bench.test_fake_patience", *arguments]

    def environment(self, **extra: str) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), **extra}

    def __call__(self, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*arguments), env=self.environment(**extra), capture_output=True, text=True,
                              timeout=120, cwd=self.folder, check=False)

    def begin(self, *arguments: str, **extra: str) -> subprocess.Popen[str]:
        """A comparison in a group of its own, as a terminal has it, that goes on."""
        command = self.command("compare", str(self.folder / "tiny.rec"), "--output", str(self.output), *arguments)
        return subprocess.Popen(command, env=self.environment(**extra), cwd=self.folder, stderr=subprocess.PIPE,
                                stdout=subprocess.DEVNULL, text=True, start_new_session=True)

    def compare(self, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
        return self("compare", str(self.folder / "tiny.rec"), "--output", str(self.output), *arguments, **extra)
