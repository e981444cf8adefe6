# SPDX-License-Identifier: LGPL-2.1-or-later
"""spice-html5 shows the right picture after photos were scrolled in a browser that decodes slowly. It goes on with the messages
that follow a JPEG meanwhile: a copy of what is not yet decoded would leave a wrong picture. The guest is a recording, drawn as
QEMU draws a VGA's screen: what has changed, in columns."""

from __future__ import annotations

import io
import itertools
import time
from pathlib import Path

import numpy
import pytest

from bench.common import paths, proc
from bench.common.errors import BenchError
from bench.lab.lab import free_port
from clients import target
from clients.drivers import html5
from clients.drivers.html5 import Html5
from guest import picture, qemu
from guest.errors import Failed, NotRun
from guest.picture import Pixels
from recordings import test_support_qxl as qxl
from recordings.test_support_commands import Bitmap, Copy, Drawable, Rect
from recordings.test_support_writer import RecordingWriter

_WIDTH, _HEIGHT, _COLUMN = 640, 480, 32
_FLINGS, _STEPS, _LINES = 3, 6, 40
_PAGE = _HEIGHT + _FLINGS * _STEPS * _LINES
_CONNECT, _BETWEEN, _REST, _LOOK = 5.0, 0.05, 5.0, 4.0      # seconds
_START, _CONNECTED = 60.0, 90.0
_FAR = 40           # of 255: more than the losses of JPEG, but for single pixels
_MOST = 1000        # number of these

# each image is there 0.3 s later, as on a slow machine
_SLOWLY = """
const Fast = window.Image;
window.Image = function () {{
    const image = new Fast();
    let run;
    Object.defineProperty(image, 'onload', {{get: () => run, set: (wanted) => {{ run = wanted; }}}});
    image.addEventListener('load', () => setTimeout(() => run && run.call(image), 300));
    return image;
}};
"""

def _page() -> Pixels:
    """A photo, as a server sees it. Stock, too, shows text wrong that is drawn where a JPEG is being decoded."""
    random = numpy.random.default_rng(1)
    y, x = numpy.mgrid[:_PAGE, :_WIDTH]
    waves = [numpy.sin(a * x + b * y) + numpy.sin(c * (x - y)) for a, b, c in random.uniform(0.01, 0.03, (3, 3))]
    noise = random.integers(0, 3, (_PAGE, _WIDTH, 3))
    return (128 + 50 * numpy.stack(waves, axis=2) + noise).astype(numpy.uint8)


def _recording(page: Pixels, moments: list[tuple[float, int]]) -> bytes:
    """The page at these times, in seconds, from these lines on."""
    file = io.BytesIO()
    writer = RecordingWriter(file)
    writer.create_primary(_WIDTH, _HEIGHT)
    begin = writer.now_ns
    old = numpy.zeros((_HEIGHT, _WIDTH, 3), numpy.uint8)
    for when, top in moments:
        writer.now_ns = begin + round(when * 1e9)
        new = page[top:top + _HEIGHT]
        for left in range(0, _WIDTH, _COLUMN):
            right = left + _COLUMN
            changed = (old[:, left:right] != new[:, left:right]).any(axis=(1, 2))
            for is_changed, lines in itertools.groupby(range(_HEIGHT), changed.__getitem__):
                if is_changed:
                    rows = list(lines)
                    _draw(writer, new, Rect(left, rows[0], right, rows[-1] + 1))
        old = new
    return file.getvalue()


def _draw(writer: RecordingWriter, screen: Pixels, box: Rect) -> None:
    width, height = box.right - box.left, box.bottom - box.top
    pixels = numpy.zeros((height, width, 4), numpy.uint8)
    pixels[:, :, :3] = screen[box.top:box.bottom, box.left:box.right, ::-1]
    image = Bitmap(qxl.BitmapFormat.BIT32, width, height, pixels.tobytes())
    writer.draw(Drawable(box, Copy(image, Rect(0, 0, width, height))))


def _far(client: Html5, wanted: Pixels) -> int:
    """Number of pixels that are not what they should be."""
    shown = client.picture()
    if shown.shape != wanted.shape:
        raise Failed(f"a picture of {picture.size(shown)}")
    return int((abs(shown.astype(int) - wanted.astype(int)).max(axis=2) > _FAR).sum())


def _watch(library: Path, folder: Path) -> list[int]:
    """For each fling, the number of wrong pixels after it."""
    page = _page()
    flings = [[(_CONNECT + fling * _REST + step * _BETWEEN, _LINES * (fling * _STEPS + step + 1)) for step in range(_STEPS)]
              for fling in range(_FLINGS)]
    file = folder / "page.rec"
    file.write_bytes(_recording(page, [(0.0, 0), *itertools.chain(*flings), (_CONNECT + (_FLINGS + 1) * _REST, 0)]))
    port = free_port()
    argv = [str(paths.player()), f"--port={port}", "--pace=recorded", "--jpeg=always", "--streaming=off", str(file)]
    with proc.Process("player", argv, env=qemu.environment(library, "flow")) as player:
        if not player.wait_event("listening", time.monotonic() + _START):
            raise BenchError(f"the player does not start: {player.last_complaint()}")
        client = Html5(target.Target(target.WS, port), folder)
        client.start()
        try:
            if not player.wait_event("begun", time.monotonic() + _CONNECTED):
                raise Failed(f"{client.name} does not connect: {client.complaint()}")
            begun, found = time.monotonic(), []
            for fling in flings:
                time.sleep(max(0.0, begun + fling[-1][0] + _LOOK - time.monotonic()))
                found.append(_far(client, page[fling[-1][1]:][:_HEIGHT]))
            return found
        finally:
            client.stop()


def test_photos_scrolled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html5, "_PAGE", html5._PAGE.replace("window.counted", _SLOWLY + "window.counted", 1))
    try:
        Html5.version()
        paths.player()
        library = paths.patched_library()
    except (NotRun, BenchError) as error:
        pytest.skip(str(error))
    found = _watch(library, tmp_path)
    assert max(found) <= _MOST, found
