# SPDX-License-Identifier: LGPL-2.1-or-later
from pathlib import Path

from PIL import Image

from bench.common import paths
from bench.conftest import needs
from recorder import pictures
from recorder.play import Played

ENTRY = {"name": "some", "kind": "real", "picture_sha256": "aa", "checkpoint": {"command": 9, "sha256": "bb"}}


def played(final: str = "aa", paused: str = "bb", status: int = 0) -> Played:
    return Played(status, 0, {}, {"sha256": final}, [paused], "the reason\n" if status else "", "")


def test_differences() -> None:
    assert pictures.differences(ENTRY, played()) == []
    assert pictures.differences(ENTRY, played(final="ab")) == ["final picture ab, the manifest says aa"]
    assert pictures.differences(ENTRY, played(paused="c")) == ["picture after 9 commands ['c'], the manifest says bb"]
    assert pictures.differences(ENTRY, played(status=2)) == ["not played: player 2, client 0: the reason"]


def test_a_computed_picture_is_not_overwritten() -> None:
    entry = {"name": "some", "kind": "synthetic", "picture_sha256": "aa"}
    pictures.note(entry, played(final="bb"))
    assert entry["picture_sha256"] == "aa"
    pictures.note(entry | {"kind": "real"}, played(final="bb"))


@needs(paths.player, paths.client)
def test_a_recording_is_played_and_compared(tmp_path: Path) -> None:
    assert pictures.main(["tiny", "--sheet", str(tmp_path / "sheet.png")]) == 0
    assert Image.open(tmp_path / "sheet.png").size == (1320, 256)
