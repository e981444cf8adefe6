# SPDX-License-Identifier: LGPL-2.1-or-later
from pathlib import Path

import pytest

from bench.common import paths
from bench.common.steps import Steps
from bench.runs import libraries
from bench.source import bases, upstream
from pages import releases
from recordings import manifest
from recordings.play import Played

ENTRY = {"name": "some", "commands": 80, "picture_sha256": "aa", "checkpoint": {"command": 50, "sha256": "bb"}}
LOOKED = (20, 40, 50, 60)


def seen(final: str = "aa", pauses: tuple[str, ...] = ("p", "q", "bb", "r"), status: int = 0) -> releases.Shown:
    return releases.shown(Played(status, 0, {}, {"sha256": final}, list(pauses), ["the reason"] if status else []), LOOKED)


def test_moments() -> None:
    assert releases.moments(ENTRY) == LOOKED
    assert releases.moments({"commands": 50}) == (12, 25, 37)


def test_equal_pictures() -> None:
    lines, wrong = releases.rows(ENTRY, {"a": seen(), "b": seen()})
    assert wrong == 0 and len(lines) == 5
    assert lines[0] == "| some | 20 | p | first library | equal | equal |"
    assert lines[2] == "| some | 50 | bb | manifest | equal | equal |"
    assert lines[4] == "| some | end | aa | manifest | equal | equal |"


def test_another_picture_is_told() -> None:
    lines, wrong = releases.rows(ENTRY, {"a": seen(), "b": seen(final="xx", pauses=("p", "z", "bb", "r"))})
    assert wrong == 2
    assert (lines[1], lines[4]) == ("| some | 40 | q | first library | equal | z |", "| some | end | aa | manifest | equal | xx |")


def test_one_that_all_show_but_not_the_manifest_is_told() -> None:
    assert releases.rows(ENTRY, {"a": seen(final="xx"), "b": seen(final="xx")})[1] == 2


def test_the_pictures_at_pauses_are_of_the_manifest_too() -> None:
    entry = {**ENTRY, "pauses": [[20, "p"], [40, "other"]]}
    lines, wrong = releases.rows(entry, {"a": seen(), "b": seen()})
    assert lines[:2] == ["| some | 20 | p | manifest | equal | equal |", "| some | 40 | other | manifest | q | q |"] and wrong == 2


def test_the_pauses_of_the_shipped_recordings_are_compared() -> None:
    assert [entry["name"] for entry in manifest.load() if not {command for command, _ in entry.get("pauses", ())} <= {*releases.moments(entry)}] == []


def test_what_did_not_play_is_told() -> None:
    for broken in (seen(status=2), seen(pauses=("p",))):
        lines, wrong = releases.rows(ENTRY, {"a": broken, "b": seen()})
        assert wrong == 5 and "player" in lines[0] and lines[0].endswith("| equal |")


def test_every_release_is_meant_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def prepare(version: str, steps: Steps, patched: bool = True, build: Path | None = None, tests: bool = True) -> bases.Base:
        assert not tests
        made = bases.Base(version, patched, tmp_path, build or tmp_path / version)
        made.library.mkdir(parents=True)
        (made.library / paths.LIBRARY_FILE).write_bytes(b"SPICE_STREAM\0" if patched else b"stock")
        return made

    monkeypatch.setattr(bases, "prepare_base", prepare)
    monkeypatch.setattr(upstream, "fetch", lambda version, steps: None)
    monkeypatch.setattr(upstream, "make_tree", lambda version, target, patched: (target / "build-aux").mkdir(parents=True))
    monkeypatch.setenv("SPICE_BENCH_CACHE", str(tmp_path))
    found = releases.built()
    assert list(found) == [f"{version} {kind}" for version in ("0.15.1", "0.15.2", "0.16.0") for kind in ("stock", "patched")]
    assert len(set(found.values())) == len(found)
    assert libraries._knows_modes(found["0.16.0 patched"] / paths.LIBRARY_FILE)
    assert not libraries._knows_modes(found["0.16.0 stock"] / paths.LIBRARY_FILE)
