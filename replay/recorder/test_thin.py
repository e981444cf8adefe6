# SPDX-License-Identifier: LGPL-2.1-or-later
from pathlib import Path

from recorder import qxl, thin
from recorder.commands import Bitmap, Copy, Drawable, Fill, Rect
from recorder.describe import describe
from recorder.writer import RecordingWriter


def test_frames_after_the_first_few_are_left_out(tmp_path: Path) -> None:
    frame = Bitmap(qxl.BitmapFormat.BIT32, 8, 4, bytes(128))
    with (tmp_path / "in.rec").open("wb") as file:
        writer = RecordingWriter(file)
        for at in range(5):
            writer.draw(Drawable(Rect.at(at, 0, 8, 4), Copy(frame, Rect(0, 0, 8, 4))))
            writer.draw(Drawable(Rect.at(at, 0, 4, 8), Copy(frame, Rect(0, 0, 4, 4))))
            writer.draw(Drawable(Rect.at(at, 0, 8, 4), Fill(at)))
            writer.draw(Drawable(Rect.at(at, 0, 8, 4), Copy(frame, Rect(0, 0, 8, 4)), surface=3))
    for name in ("out.rec", "out.rec.xz"):
        assert thin.main([str(tmp_path / "in.rec"), str(tmp_path / name), "--size", "8x4", "--keep", "2"]) == 0
        assert describe(tmp_path / name)["types"] == {"DRAW_COPY": 2 + 5 + 5, "DRAW_FILL": 5}
