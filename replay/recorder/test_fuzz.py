# SPDX-License-Identifier: LGPL-2.1-or-later
"""The fuzzer finds what it is to find, and does not find it in our own programs."""
import random
from pathlib import Path

import pytest

from bench.common import paths
from bench.conftest import needs
from recorder import fuzz
from recorder.fuzz import Case
from recorder.mutate import CHANGES
from recorder.play import Played


def test_damage_is_repeatable_and_does_damage() -> None:
    base = fuzz.bases(1)[0]
    for name, change in CHANGES.items():
        results = [change(base, random.Random(seed)) for seed in range(8)]
        assert results == [change(base, random.Random(seed)) for seed in range(8)]
        assert sum(result != base.data for result in results) >= 6, name


def test_the_bases_hold_every_command() -> None:
    kinds = {(event.kind, event.number_after(b"type")) for base in fuzz.bases(3) for event in base.events if event.what == 0}
    assert {kind for kind, _ in kinds} == {1, 2, 3, 4, 5}
    assert sum(len(base.data) for base in fuzz.bases(3)) < 5_000_000


def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """In place of spice-recording."""
    tool = tmp_path / "build" / "replay" / "player" / "spice-recording"
    tool.parent.mkdir(parents=True)
    tool.write_text(f"#!/bin/bash\nshift 2\n{text}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("SPICE_BENCH_BUILD", str(tmp_path / "build"))


@pytest.mark.parametrize("text, told", [
    ("kill -SEGV $$", "verify ended with -11"),
    ("exec sleep 60", "more than 1 s"),
    ('for f; do echo "{\\"file\\":\\"$f\\",\\"valid\\":true,\\"commands\\":1}"; done', "called good with 1 commands"),
    ('for f; do echo "{\\"file\\":\\"$f\\",\\"valid\\":false,\\"error\\":\\"bad\\"}"; done; exit 2', "refused without offset"),
    ("exit 2", "said 0 of 1 verdicts"),
])
def test_faults_of_verify_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
                                    text: str, told: str) -> None:
    script(tmp_path, monkeypatch, text)
    monkeypatch.setattr(fuzz, "SECONDS_A_BATCH", 1)
    assert fuzz.main(["--count", "2", "--keep", str(tmp_path / "kept")]) == 1
    assert told in capsys.readouterr().out
    assert len(list((tmp_path / "kept").iterdir())) == 2


@pytest.mark.parametrize("good, player, client, report, log, fault", [
    (True, 0, 0, {"end": "marker"}, "", None),
    (True, 0, 3, {"end": "drained"}, "", None),
    (True, 0, 3, {"end": "marker"}, "", "the client ended with 3"),
    (True, -11, None, {}, "", "the player ended with -11"),
    (True, None, None, {}, "", "the player ended with None"),
    (False, 2, None, {}, "x.rec: byte 7: too large", None),
    (False, 2, None, {}, "bad file", "damaged, but"),
    (False, 0, 0, {}, "", "damaged, but"),
])
def test_faults_of_a_play_are_found(good: bool, player: int | None, client: int | None, report: dict[str, str], log: str,
                                    fault: str | None) -> None:
    told = fuzz.fault_of(Case("truncate", Path("x.rec"), good), Played(player, client, report, {}, [], log, ""))
    assert told is None if fault is None else told is not None and fault in told


@needs(paths.recording_tool, paths.player, paths.client)
def test_our_own_programs(capsys: pytest.CaptureFixture[str]) -> None:
    status = fuzz.main(["--count", "600", "--seed", "11", "--play", "40"])
    assert status == 0, capsys.readouterr().out
