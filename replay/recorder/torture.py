# SPDX-License-Identifier: LGPL-2.1-or-later
"""Synthetic recordings of one kind of command each: `tiny`, `small-messages`, `big-images`."""
from __future__ import annotations

import random
from typing import BinaryIO

from recorder import qxl
from recorder.commands import Bitmap, Copy, CopyBits, Fill, Invers, Palette, Pattern, Rect
from recorder.gdi_toolkit import arrow_cursor
from recorder.stage import Stage


def write_tiny(out: BinaryIO, seed: int = 1, paint: bool = True) -> Stage:
    """50 commands on a small screen, for tests that want a recording and not its content."""
    dice = random.Random(seed)
    stage = Stage(out, paint)
    stage.create_primary(160, 120)
    stage.draw(Rect(0, 0, 160, 120), Fill(0x204A87))
    stage.set_cursor(80, 60, arrow_cursor())
    chess = Bitmap(qxl.BitmapFormat.BIT1_BE, 8, 8, b"".join((b"\xaa\0\0\0", b"\x55\0\0\0")) * 4, Palette((0, 0xFFFFFF)))
    picture = Bitmap(qxl.BitmapFormat.BIT32, 16, 16, dice.randbytes(16 * 16 * 4))
    for at in range(12):
        box = Rect.at(5 + at % 6 * 25, 5 + at // 6 * 50, 16, 16)
        stage.draw(box, Fill(dice.randrange(1 << 24)))
        stage.draw(box.moved(4, 20), Copy(picture, Rect(0, 0, 16, 16)) if at % 2 else Fill(Pattern(chess)))
        stage.draw(box.moved(0, 8), CopyBits(box.left, box.top) if at % 3 else Invers())
        stage.move_cursor(box.left, box.top)
        stage.pause(0.01)
    return stage


def write_small_messages(out: BinaryIO, seed: int = 1, paint: bool = True) -> Stage:
    """Four fills of 8x8 pixels, then a movement of the pointer, and again. A place is painted again only after all others, so
    that nothing waiting to be sent is ever covered by what follows and dropped."""
    dice = random.Random(seed)
    stage = Stage(out, paint)
    stage.create_primary(640, 480)
    stage.set_cursor(0, 0, arrow_cursor())
    places = [(x, y) for y in range(0, 480, 8) for x in range(0, 640, 8)]
    dice.shuffle(places)
    for at in range(40_000):
        x, y = places[at % len(places)]
        stage.draw(Rect.at(x, y, 8, 8), Fill(dice.randrange(1 << 24)))
        if at % 4 == 3:
            stage.move_cursor(x, y)
        stage.pause(0.0002)
    return stage


IMAGES = 100
IMAGE_WIDTH, IMAGE_HEIGHT = 1024, 512
IMAGE_BYTES = IMAGE_WIDTH * IMAGE_HEIGHT * 4
POOL_IMAGES = 3


def write_big_images(out: BinaryIO, seed: int = 1, paint: bool = True) -> Stage:
    """Images of noise, 2 MiB each, drawn over each other; the effect keeps the server from dropping those covered.

    The noise is cut from a pool of three images at ever different byte offsets, so that a packer that looks far back packs the
    file well. Image compressors see other pixels each time until after twelve images (24 MiB) all four byte phases were used.
    """
    dice = random.Random(seed)
    pool = dice.randbytes(POOL_IMAGES * IMAGE_BYTES)
    stage = Stage(out, paint)
    stage.create_primary(IMAGE_WIDTH, 768)
    canvas, stage.canvas = stage.canvas, None        # only the last image is seen
    for at in range(IMAGES):
        if at == IMAGES - 1:
            stage.canvas = canvas
        start = at % POOL_IMAGES * IMAGE_BYTES + at // POOL_IMAGES % 4
        noise = (pool[start:start + IMAGE_BYTES] + pool)[:IMAGE_BYTES]
        image = Bitmap(qxl.BitmapFormat.BIT32, IMAGE_WIDTH, IMAGE_HEIGHT, noise)
        stage.draw(Rect.at(0, 128, IMAGE_WIDTH, IMAGE_HEIGHT), Copy(image, Rect(0, 0, IMAGE_WIDTH, IMAGE_HEIGHT)),
                   effect=qxl.Effect.BLEND)
        stage.pause(0.05)
    return stage
