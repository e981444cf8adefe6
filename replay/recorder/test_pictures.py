# SPDX-License-Identifier: LGPL-2.1-or-later
from pathlib import Path

import pytest

from bench.common import paths
from bench.conftest import needs
from recorder import pictures
from recorder.play import Played
from recorder.png import Picture, read_png, write_png

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


@pytest.mark.parametrize("step", [3, 4])
def test_png_files(tmp_path: Path, step: int) -> None:
    picture = Picture(2, 2, [bytes(range(2 * step)), bytes(range(100, 100 + 2 * step))], step)
    write_png(tmp_path / "some.png", picture)
    assert read_png(tmp_path / "some.png") == picture
    assert picture.pixel(1, 0) == step << 16 | step + 1 << 8 | step + 2


def test_thumbnails_are_means_on_grey() -> None:
    black, white = b"\0\0\0", b"\xff\xff\xff"
    small = pictures.thumbnail(Picture(640, 240, [black * 320 + white * 320] * 240, 3))
    assert (len(small), {len(row) for row in small}) == (240, {960})
    assert (small[0][:3], small[0][-3:], small[239][:3]) == (black, white, b"\xc0\xc0\xc0")
    together = pictures.sheet([Picture(1, 1, [white], 3)] * 5)
    assert (together.width, together.height) == (4 * 328 + 8, 2 * 248 + 8)
    assert {len(row) for row in together.rows} == {together.width * 3}


@needs(paths.player, paths.client)
def test_a_recording_is_played_and_compared(tmp_path: Path) -> None:
    assert pictures.main(["tiny", "--sheet", str(tmp_path / "sheet.png")]) == 0
    assert read_png(tmp_path / "sheet.png").height == 256
