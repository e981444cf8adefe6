# SPDX-License-Identifier: LGPL-2.1-or-later
"""Has spin look at every order of events in stream-wakeup.pml."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

MODEL = Path(__file__).with_name("stream-wakeup.pml")


def _errors(definitions: list[str], folder: Path) -> int:
    assert shutil.which("spin"), "install spin (packages.txt)"
    result = subprocess.run(["spin", *(f"-D{definition}" for definition in definitions), "-search", MODEL],
                            cwd=folder, capture_output=True, text=True, check=False)
    (errors,) = [line.split("errors:")[1] for line in result.stdout.splitlines() if "errors:" in line]
    assert "search depth too small" not in result.stdout
    return int(errors)


@pytest.mark.parametrize("definitions", [
    [], ["INTERVAL=1"], ["INTERVAL=2", "MAX_PIPE=2"], ["INTERVAL=4", "COMMANDS=9"],
], ids=" ".join)
def test_no_wakeup_is_lost(definitions: list[str], tmp_path: Path) -> None:
    assert _errors(definitions, tmp_path) == 0


@pytest.mark.parametrize("fault", ["NO_FLUSH", "NO_WATCH", "NO_GROUP", "NO_BLOCKED", "NO_TIMER", "NO_ASK",
                                   "NO_LOOK"])
def test_model_finds_each_fault(fault: str, tmp_path: Path) -> None:
    assert _errors([fault], tmp_path) > 0
