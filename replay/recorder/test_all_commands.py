# SPDX-License-Identifier: LGPL-2.1-or-later
"""The generated recordings: a real client shows what the independent painter computed."""
import hashlib
import io
from pathlib import Path

import pytest
from PIL import Image

from bench.common import paths
from bench.conftest import needs
from recorder import all_commands, manifest, qxl
from recorder.play import play

SHIPPED = {entry["name"]: entry for entry in manifest.load() if entry["kind"] == "synthetic"}
needs_tools = needs(paths.player, paths.client)


def test_the_shipped_one_is_the_generators() -> None:
    out = io.BytesIO()
    all_commands.write(out, paint=False)
    assert hashlib.sha256(out.getvalue()).hexdigest() == SHIPPED["all-commands"]["raw_sha256"]


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
    assert played.good, (played.player_log, played.client_log)
    assert played.complaints == []
    assert played.player["commands"] == SHIPPED[name]["commands"]
    assert played.client["sha256"] == SHIPPED[name]["picture_sha256"]


@needs_tools
@pytest.mark.parametrize("compression", ["off", "auto-glz", "quic"])
def test_each_command_alone_is_shown_right(tmp_path: Path, compression: str) -> None:
    with (tmp_path / "all.rec").open("wb") as file:
        stage = all_commands.write(file, seed=7)
    played = play(tmp_path / "all.rec", png=tmp_path / "all.png", options=("--compression", compression))
    assert played.good and played.complaints == []
    shown, right = Image.open(tmp_path / "all.png"), stage.canvas.primary if stage.canvas else None
    assert right and shown.size == (right.width, right.height)
    painted = Image.frombytes("RGB", shown.size, right.pixels.astype("<u4").tobytes(), "raw", "BGRX")
    wrong = []
    for name, cell in all_commands.cells().items():
        box = (cell.left, cell.top, cell.right, cell.bottom)
        differs = shown.crop(box).tobytes() != painted.crop(box).tobytes()
        if differs != (cell in stage.unpainted):     # what is not painted must at least be seen to have been drawn
            wrong.append(name)
    assert wrong == []
    assert shown.getpixel((2, 70)) == painted.getpixel((2, 70))
