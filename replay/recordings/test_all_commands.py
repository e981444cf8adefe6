# SPDX-License-Identifier: LGPL-2.1-or-later
"""A real client shows the pictures of the generated recordings. That of all-commands, all-commands.png, was drawn by an
implementation that shares no code with spice-server (`recorder/canvas.py` of this tree's history up to 929de20c)."""
import csv
from pathlib import Path

import pytest
from PIL import Image

from bench.common import paths
from bench.conftest import needs
from recordings import manifest, test_support_qxl as qxl
from recordings.play import Played, play

SHIPPED = {entry["name"]: entry for entry in manifest.load() if entry["kind"] == "synthetic"}
needs_tools = needs(paths.player, paths.client)
_HARMLESS = ("Connection reset by peer", "Broken pipe")     # the client disconnects when it has seen the end
_FEW = 40       # of which all are kept


def warnings(played: Played) -> list[str]:
    """Of either library about its input."""
    assert len(played.log) < _FEW
    return [line for line in played.log if any(word in line for word in ("CRITICAL", "ERROR", "WARNING"))
            and not any(word in line for word in _HARMLESS)]


def test_it_holds_all_commands() -> None:
    types = set(SHIPPED["all-commands"]["types"])
    drawings = {f"DRAW_{draw.name}" for draw in qxl.Draw if draw not in (qxl.Draw.NOP, qxl.Draw.COPY_BITS)}
    cursors = {f"CURSOR_{command.name}" for command in qxl.CursorCommand}
    assert types == drawings | cursors | {"COPY_BITS", "UPDATE", "MESSAGE", "SURFACE_CREATE", "SURFACE_DESTROY"}
    assert set(SHIPPED["all-commands"]["images"]) == {
        "BITMAP_1BIT_BE", "BITMAP_1BIT_LE", "BITMAP_4BIT_BE", "BITMAP_8BIT", "BITMAP_16BIT", "BITMAP_24BIT", "BITMAP_32BIT",
        "BITMAP_RGBA", "QUIC", "SURFACE"}


@needs_tools
@pytest.mark.parametrize("name", ["tiny", "small-messages", "gdi-synthetic", "all-commands"])
def test_a_client_shows_the_picture_and_nobody_complains(name: str) -> None:
    played = play(manifest.FOLDER / SHIPPED[name]["file"])
    assert played.good, played.log
    assert warnings(played) == []
    assert played.player["commands"] == SHIPPED[name]["commands"]
    assert played.client["sha256"] == SHIPPED[name]["picture_sha256"]


@needs_tools
@pytest.mark.parametrize("compression", ["off", "auto-glz", "quic"])
def test_each_command_alone_is_shown_right(tmp_path: Path, compression: str) -> None:
    played = play(manifest.FOLDER / SHIPPED["all-commands"]["file"], png=tmp_path / "all.png", options=("--compression", compression))
    assert played.good and warnings(played) == []
    with Image.open(tmp_path / "all.png") as shown, Image.open(manifest.FOLDER / "all-commands.png") as right:
        assert shown.size == right.size
        wrong = []
        with (manifest.FOLDER / "all-commands.tsv").open() as cells:
            for cell in csv.DictReader(cells, delimiter="\t"):
                box = (int(cell["left"]), int(cell["top"]), int(cell["right"]), int(cell["bottom"]))
                differs = shown.crop(box).tobytes() != right.crop(box).tobytes()
                # where the protocol leaves the pixels undefined the PNG has the background, on which something must be drawn
                if differs != (cell["pixels"] == "undefined"):
                    wrong.append(cell["command"])
        assert wrong == []
        assert shown.getpixel((2, 70)) == right.getpixel((2, 70))
