# SPDX-License-Identifier: LGPL-2.1-or-later
"""The ground truth of a recording, with the real player and client."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from bench.common import paths
from bench.conftest import needs
from bench.runs import groundtruth
from recorder import qxl, recordings
from recorder.commands import Bitmap, Copy, Drawable, Fill, Rect
from recorder.writer import RecordingWriter


pytestmark = needs(paths.player, paths.client, paths.patched_library)

WIDTH, HEIGHT = 1024, 512
SHADES = range(20, 240, 20)


def _much_at_once(path: Path) -> None:
    """As a part of a session: the client is busy with what comes first while all the rest is drawn, each over all before."""
    noise, screen = random.Random(1).randbytes(WIDTH * HEIGHT * 4), Rect(0, 0, WIDTH, HEIGHT)
    with path.open("wb") as file:
        writer = RecordingWriter(file)
        writer.create_primary(WIDTH, HEIGHT)
        for _ in range(20):
            writer.draw(Drawable(screen, Copy(Bitmap(qxl.BitmapFormat.BIT32, WIDTH, HEIGHT, noise), screen)))
        for shade in SHADES:
            writer.pause(0.1)
            writer.draw(Drawable(screen, Fill(shade * 0x010101)))


def test_all_is_due_when_it_was_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _much_at_once(tmp_path / "a.rec")
    recording = recordings.looked_into(recordings.find(str(tmp_path / "a.rec")))
    monkeypatch.setenv("SPICE_BENCH_CACHE", str(tmp_path / "cache"))
    groundtruth.look(recording)
    corner = {means & 0xff: when / 1e9 for when, tile, means in struct.iter_unpack("=qII", groundtruth.kept(recording).read_bytes())
              if tile == 0 and means == (means & 0xff) * 0x01010101}
    assert {shade: round(corner.get(shade, -1), 1) for shade in SHADES} == {
        shade: round(0.1 * number, 1) for number, shade in enumerate(SHADES, 1)}
