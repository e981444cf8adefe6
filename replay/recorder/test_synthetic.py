# SPDX-License-Identifier: LGPL-2.1-or-later
"""The generated recordings are what they were, hold what they should, and a real client shows what was computed."""
import hashlib
import io
from pathlib import Path

import pytest

from bench.common import paths
from bench.conftest import needs
from recorder import all_commands, gdi, manifest, qxl, synthetic
from recorder.describe import describe
from recorder.play import play
from recorder.png import read_png

SHIPPED = {entry["name"]: entry for entry in manifest.load() if entry["kind"] == "synthetic"}
needs_tools = needs(paths.player, paths.client)


def raw(name: str, seed: int) -> bytes:
    out = io.BytesIO()
    synthetic.RECORDINGS[name].write(out, seed, False)
    return out.getvalue()


def test_all_are_shipped() -> None:
    assert set(SHIPPED) == set(synthetic.RECORDINGS)


@pytest.mark.parametrize("name", synthetic.RECORDINGS)
def test_same_seed_same_bytes(name: str) -> None:
    assert hashlib.sha256(raw(name, synthetic.SEED)).hexdigest() == SHIPPED[name]["raw_sha256"]


@pytest.mark.parametrize("name", ["tiny", "all-commands"])
def test_other_seed_other_bytes(name: str) -> None:
    assert raw(name, 1) != raw(name, 2)


@pytest.mark.parametrize("name", synthetic.RECORDINGS)
def test_every_one_ends_with_a_screen_large_enough_for_markers(name: str) -> None:
    assert SHIPPED[name]["ends_with_primary"]
    assert min(int(side) for side in SHIPPED[name]["resolution"].split("x")) >= 70


def test_sizes() -> None:
    assert SHIPPED["tiny"]["packed_bytes"] < 10_000 and SHIPPED["tiny"]["commands"] == 50
    assert SHIPPED["small-messages"]["commands"] == 50_001
    assert SHIPPED["big-images"]["images"] == {"BITMAP_32BIT": 100}
    assert SHIPPED["big-images"]["raw_bytes"] > 100 * 2 << 20


def test_all_commands_holds_all_commands() -> None:
    types = set(SHIPPED["all-commands"]["types"])
    drawings = {f"DRAW_{draw.name}" for draw in qxl.Draw if draw not in (qxl.Draw.NOP, qxl.Draw.COPY_BITS)}
    cursors = {f"CURSOR_{command.name}" for command in qxl.CursorCommand}
    assert types == drawings | cursors | {"COPY_BITS", "UPDATE", "MESSAGE", "SURFACE_CREATE", "SURFACE_DESTROY"}
    assert set(SHIPPED["all-commands"]["images"]) == {
        "BITMAP_1BIT_BE", "BITMAP_1BIT_LE", "BITMAP_4BIT_BE", "BITMAP_8BIT", "BITMAP_16BIT", "BITMAP_24BIT", "BITMAP_32BIT",
        "BITMAP_RGBA", "QUIC", "SURFACE"}


def test_the_gdi_session_is_mostly_small_drawing() -> None:
    """Bounds of the design: a later change of the generator that shifts the mix shows here."""
    entry = SHIPPED["gdi-synthetic"]
    share = {name: count / entry["commands"] for name, count in entry["types"].items()}
    assert 35_000 <= entry["commands"] <= 45_000 and 50 <= entry["seconds"] <= 70 and entry["mode_changes"] == 4
    assert 0.3 < share["DRAW_FILL"] < 0.5 and 0.15 < share["DRAW_TEXT"] < 0.3
    assert 0.05 < share["CURSOR_MOVE"] < 0.2 and 0.03 < share["COPY_BITS"] < 0.1
    assert {"DRAW_ALPHA_BLEND", "DRAW_OPAQUE", "DRAW_ROP3", "DRAW_STROKE", "DRAW_TRANSPARENT", "DRAW_BLEND"} <= set(share)


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
    shown, right = read_png(tmp_path / "all.png"), stage.canvas.primary if stage.canvas else None
    assert right and (shown.width, shown.height) == (right.width, right.height)
    wrong = []
    for name, cell in all_commands.cells().items():
        differs = any(shown.pixel(x, y) != right.pixel(x, y)
                      for y in range(cell.top, cell.bottom) for x in range(cell.left, cell.right))
        if differs != (cell in stage.unpainted):     # what is not painted must at least be seen to have been drawn
            wrong.append(name)
    assert wrong == []
    assert shown.pixel(2, 70) == right.pixel(2, 70)


@needs_tools
def test_a_session_of_another_seed_is_shown_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gdi, "ROUNDS", 1)
    with (tmp_path / "gdi.rec").open("wb") as file:
        stage = gdi.write(file, seed=5)
    assert stage.unpainted == [] and describe(tmp_path / "gdi.rec")["commands"] > 3000
    played = play(tmp_path / "gdi.rec")
    assert played.good and played.client["sha256"] == synthetic.picture_of(stage)


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert synthetic.main(["--list"]) == 0 and "gdi-synthetic" in capsys.readouterr().out
    assert synthetic.main(["tiny", "--raw", "--seed", "3", "--out", str(tmp_path)]) == 0
    assert describe(tmp_path / "tiny.rec")["commands"] == 50
    for wrong in (["nothing"], ["--seed", "2"]):
        with pytest.raises(SystemExit):
            synthetic.main(wrong)
