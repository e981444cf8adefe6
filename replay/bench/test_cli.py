# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a person sees who has never used it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bench import cli
from bench.common import paths


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_shows_how_it_is_called(name: str) -> None:
    done = subprocess.run([sys.executable, "-m", "bench", name, "--help"], capture_output=True, text=True, check=False,
                          cwd=paths.ROOT / "replay")
    assert done.returncode == 0, done.stderr
    assert "xample" in done.stdout and (f"./run {name}" in done.stdout or name == "recording")


@pytest.mark.parametrize(("arguments", "said"), [
    (["moon"], "unknown command 'moon': it is one of setup, compare, "),
    (["diff", "a"], "the following arguments are required: B, RECORDING (see ./run diff --help)"),
    (["results", "--repeat", "x"], "invalid int value: 'x' (see ./run results --help)")])
def test_a_complaint_is_one_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(arguments) == 2
    complaint = capsys.readouterr().err
    assert said in complaint and complaint.startswith("bench: ") and complaint.count("\n") == 1
