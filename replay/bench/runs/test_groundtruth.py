# SPDX-License-Identifier: LGPL-2.1-or-later
"""The ground truth of a recording, with the real player and client."""

from __future__ import annotations

import base64
import hashlib
import random
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from bench.common import paths
from bench.common.errors import BenchError
from bench.conftest import needs
from bench.measure import screens
from bench.runs import groundtruth
from live import tiles
from recordings import catalogue
from recordings import test_support_qxl as qxl
from recordings.catalogue import Recording
from recordings.test_support_commands import Bitmap, Copy, CopyBits, Drawable, Drawing, Fill, Invers, Need, Rect
from recordings.test_support_writer import RecordingWriter

pytestmark = needs(paths.player, paths.client, paths.stock_library)

WIDTH, HEIGHT = 1024, 512
SHADES = range(20, 240, 20)

SCREEN = Rect(0, 0, 160, 96)
NOISE = Bitmap(qxl.BitmapFormat.BIT32, SCREEN.width, SCREEN.height, random.Random(1).randbytes(SCREEN.width * SCREEN.height * 4))
PAUSE = 0.3
Pixels = numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.uint32]]


def _moved(screen: Pixels) -> None:
    screen[24:64, 16:80] = screen[8:48, 40:104].copy()


def _inverted(screen: Pixels) -> None:
    screen[8:60, 8:90] ^= 0xFFFFFF


def _like_a_probe(screen: Pixels) -> None:
    screen[1:40, 1:30] = 0x405060


def _mixed(screen: Pixels) -> None:
    screen[5:80, 3:70] ^= 0x00FF00


# each with what it does to the screen: the same in numpy, which shares no code with spice-server
DRAWINGS: tuple[tuple[Rect, Drawing, Callable[[Pixels], None]], ...] = (
    (SCREEN, Fill(0x204060), lambda screen: screen.fill(0x204060)),
    (SCREEN, Copy(NOISE, SCREEN), lambda screen: numpy.copyto(screen, numpy.frombuffer(NOISE.data, "<u4").reshape(screen.shape) & 0xFFFFFF)),
    (Rect.at(16, 24, 64, 40), CopyBits(40, 8), _moved),
    (Rect(8, 8, 90, 60), Invers(), _inverted),
    (Rect(1, 1, 30, 40), Fill(0x405060), _like_a_probe),
    (Rect(3, 5, 70, 80), Fill(0x00FF00, qxl.Rop.XOR), _mixed),
    (SCREEN, Fill(0x808080), lambda screen: screen.fill(0x808080)))


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
    recording = catalogue.looked_into(catalogue.find(str(tmp_path / "a.rec")))
    monkeypatch.setenv("SPICE_BENCH_CACHE", str(tmp_path / "cache"))
    groundtruth.look(recording)
    corner = {means & 0xff: when / 1e9 for when, tile, means in struct.iter_unpack("=qII", groundtruth.kept(recording).read_bytes())
              if tile == 0 and means == (means & 0xff) * 0x01010101}
    assert {shade: round(corner.get(shade, -1), 1) for shade in SHADES} == {
        shade: round(0.1 * number, 1) for number, shade in enumerate(SHADES, 1)}


def _painted(path: Path) -> tuple[list[tiles.Pixels], str]:
    """Writes a session with a pause before each drawing. What the screen shows after each, and the hash of the last."""
    screen = numpy.zeros((SCREEN.height, SCREEN.width), numpy.uint32)
    shown = []
    with path.open("wb") as file:
        writer = RecordingWriter(file)
        writer.create_primary(SCREEN.width, SCREEN.height)
        for box, drawing, paint in DRAWINGS:
            writer.pause(PAUSE)
            effect = qxl.Effect.REVERT_ON_DUP if paint in (_inverted, _mixed) else qxl.Effect.OPAQUE
            reads = (Need(0, Rect.at(40, 8, box.width, box.height)),) if paint == _moved else ()
            writer.draw(Drawable(box, drawing, effect=effect, needs=reads))
            paint(screen)
            shown.append(numpy.stack([screen >> shift & 0xFF for shift in (16, 8, 0)], axis=2).astype(numpy.uint8))
    return shown, hashlib.sha256(screen.astype("<u4").tobytes()).hexdigest()


Session = tuple[Recording, list[tiles.Pixels]]


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """The recording as if it were in the manifest. The library that is measured is not there."""
    def missing() -> Path:
        raise BenchError("the reference is not of the patched library")
    monkeypatch.setattr(paths, "patched_library", missing)
    monkeypatch.setenv("SPICE_BENCH_CACHE", str(tmp_path / "cache"))
    shown, last = _painted(tmp_path / "a.rec")
    return replace(catalogue.looked_into(catalogue.find(str(tmp_path / "a.rec"))), picture_sha256=last), shown


def test_what_is_due_is_what_was_drawn(session: Session) -> None:
    recording, shown = session
    groundtruth.look(recording)
    log = screens.read(groundtruth.kept(recording))
    means = numpy.full_like(tiles.means_of(shown[0]), -1)
    for number, pixels in enumerate(shown, 1):
        now = log[numpy.round(log["when"] / (PAUSE * 1e9)) == number]
        tiles.apply(means, tiles.Look(0, now["tile"].astype(numpy.int64), now["means"]))
        assert (means == tiles.means_of(pixels)).all(), number


def test_a_burst_ends_with_what_was_drawn(session: Session) -> None:
    """The last drawing ends no burst: no pause follows."""
    recording, shown = session
    groundtruth.look_at_bursts(recording)
    means = [(pixels.reshape(3, 32, 5, 32, 3).astype(int).sum((1, 3)) // 32 ** 2).astype(numpy.uint8) for pixels in shown[:-1]]
    assert groundtruth.kept_bursts(recording).read_text().splitlines() == [base64.b64encode(one.tobytes()).decode() for one in means]


@pytest.mark.parametrize(("look", "kept"), [(groundtruth.look, groundtruth.kept), (groundtruth.look_at_bursts, groundtruth.kept_bursts)])
def test_a_reference_that_is_not_the_manifests_is_refused(session: Session, look: Callable[[Recording], None],
                                                          kept: Callable[[Recording], Path]) -> None:
    recording = replace(session[0], picture_sha256="0" * 64)
    with pytest.raises(BenchError, match="the manifest's 000000000000"):
        look(recording)
    assert not kept(recording).exists()
