# SPDX-License-Identifier: LGPL-2.1-or-later
import shutil
from pathlib import Path

import pytest

from bench.commands import egress
from bench.common.steps import Steps

ABOUT = {"repeat": 1, "system": "S", "kernel": "K", "cpu": {"count": 2, "model": "M"}, "git": {"commit": "C"},
         "library_tree": "f" * 64}
needs_valgrind = pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")


@pytest.fixture
def steps(tmp_path: Path) -> Steps:
    return Steps(tmp_path / "log")


def test_all_recordings_with_messages_of_their_own_are_known() -> None:
    assert {"made", "vga-text-boot", "linux-desktop", "big-images"} <= set(egress.known_mixes())


@needs_valgrind
def test_a_mix_is_measured_in_every_mode(steps: Steps) -> None:
    rows = egress.measure(egress.program(), "all-commands", 1, steps)
    assert len(rows) == 14
    found = {(row["transport"], row["mode"]): row for row in rows}
    batch, cork = found["tls", "batch"], found["tls", "cork"]
    assert batch["message_bytes"] == cork["message_bytes"] == 255663
    assert batch["writes"] < cork["writes"]
    assert batch["records"] < cork["records"]
    assert batch["instructions"] > 0
    text = egress.render(rows, ABOUT)
    assert text.count("| batch ") == text.count("| normal ") == 2
    assert "## all-commands, tls" in text


@needs_valgrind
def test_instructions_are_counted_alike(steps: Steps) -> None:
    arguments = ["--mix", str(egress._MIXES / "all-commands.txt"), "--mode", "flow", "--transport", "tls"]
    first = egress.instructions(egress.program(), arguments, steps)
    # a handshake's random numbers decide what it leaves of the heap, and that how long malloc looks
    assert egress.instructions(egress.program(), arguments, steps) == pytest.approx(first, rel=1e-3)
