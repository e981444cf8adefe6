# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes small recordings, for tests, with the writer beside this file.

    recording = Tiny()
    recording.primary(100, 80)
    recording.fill((0, 0, 10, 10), 0xff0000)
    path.write_bytes(recording.data)

Boxes are (left, top, right, bottom).
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Sequence
from typing import Any

from recordings import test_support_qxl as qxl
from recordings.test_support_commands import (AlphaBlend, Bitmap, Blackness, Blend, Composite, Copy, CopyBits, CursorShape, Drawable, Drawing,
                               DrawNothing, Fill, FromSurface, Glyph, Image, Invers, Mask, Need, Opaque, Palette, Pattern, Quic,
                               Rect, Rop3, Segment, Stroke, Text, Transparent, Whiteness)
from recordings.test_support_writer import RecordingWriter

MESSAGE_WAKEUP, MESSAGE_DESTROY_SURFACES, MESSAGE_CREATE_PRIMARY = 2, 19, 20
MESSAGE_DESTROY_PRIMARY, MESSAGE_DESTROY_SURFACES_ASYNC = 21, 28
MESSAGE_CREATE_PRIMARY_ASYNC, MESSAGE_DESTROY_PRIMARY_ASYNC = 29, 30

Box = tuple[int, int, int, int]


def bitmap(width: int, height: int, pixels: bytes | None = None, *, fmt: int = qxl.BitmapFormat.BIT32,
           image_id: int = 0, flags: qxl.BitmapFlag = qxl.BitmapFlag.TOP_DOWN, image_flags: int = 0,
           palette: Sequence[int] | None = None, palette_id: int = 1, pieces: int = 1) -> Bitmap:
    """A picture; by default its pixels differ from their neighbours."""
    form = qxl.BitmapFormat(fmt)
    if pixels is None:
        size = (width * form.bits + 31) // 32 * 4 * height
        pixels = bytes((i * 37 + image_id) & 0xff for i in range(size))
    return Bitmap(form, width, height, pixels, Palette(tuple(palette), palette_id) if palette is not None else None, flags,
                  image_id, qxl.ImageFlag(image_flags), len(pixels) // pieces)


def surface_image(surface: int) -> FromSurface:
    return FromSurface(surface, 0, 0)


def quic_image(width: int, height: int, data: bytes) -> Quic:
    """A QUIC picture with these compressed bytes after the header."""
    return Quic(width, height, b"QUIC" + struct.pack("<IIII", 0, 4, width, height) + data, b"")


def mask(width: int, height: int) -> Mask:
    return Mask(bitmap(width, height, fmt=qxl.BitmapFormat.BIT1_LE))


def text(bits: int, fore: int, back: int | None = None) -> Text:
    """Three glyphs side by side."""
    kind = {1: qxl.StringFlag.RASTER_A1, 4: qxl.StringFlag.RASTER_A4, 8: qxl.StringFlag.RASTER_A8}[bits]
    return Text(tuple(Glyph(10 + i * 8, 20, 8, 8, bytes((i * 31 + j * 7) & 0xff for j in range(8 * bits)))
                      for i in range(3)), kind, fore, back)


class Tiny(RecordingWriter):
    """A recording; each call adds an event."""

    def __init__(self, step_ns: int = 1_000_000) -> None:
        self._file = io.BytesIO()
        super().__init__(self._file, step_ns)
        self.events: list[int] = []     # where each event begins
        self.packs = False              # the blocks of bytes

    @property
    def data(self) -> bytes:
        return self._file.getvalue()

    def _event(self, what: int, kind: int) -> None:
        self.events.append(self._file.tell())
        super()._event(what, kind)

    def _blob(self, name: str, data: bytes) -> None:
        if self.packs:
            small = zlib.compress(data)
            self._body.append(b"binary 1 %s %d:%d:" % (name.encode(), len(data), len(small)) + small)
        else:
            super()._blob(name, data)

    def worker(self, number: int) -> None:
        self._event(1, number)

    def primary(self, width: int = 100, height: int = 80, *, packed: bool = False,
                message: int = MESSAGE_CREATE_PRIMARY) -> None:
        self._line("%d %d %d %d", width, height, -width * 4, qxl.SurfaceFormat.XRGB32)
        self._line("0 1 0 0")
        self.packs = packed
        self._blob("data", bytes(width * 4 * height))
        self.packs = False
        self._event(1, message)

    def paint(self, box: Box, drawing: Drawing, *, clip: Sequence[Box] | None = None, uses: Sequence[int] = (),
              **more: Any) -> None:
        self.draw(Drawable(Rect(*box), drawing, tuple(Rect(*each) for each in clip) if clip is not None else None,
                           needs=tuple(Need(other, Rect(0, 0, 1, 1)) for other in uses), **more))

    def fill(self, box: Box, colour: int = 0x8040, **more: Any) -> None:
        self.paint(box, Fill(colour), **more)

    def copy(self, box: Box, image: Image, source: Box, **more: Any) -> None:
        self.paint(box, Copy(image, Rect(*source)), **more)

    def create(self, surface: int, width: int = 16, height: int = 16, data: bytes | None = None) -> None:
        self.create_surface(surface, width, height, qxl.SurfaceFormat.XRGB32, data, -width * 4)

    def text_message(self, words: bytes) -> None:
        """A message without a NUL."""
        self._blob("message", words)
        self._command(qxl.Command.MESSAGE)

    def cursor_set(self, width: int = 16, height: int = 16, *, unique: int = 1, kind: int = 0) -> None:
        pixels, bits = width * height, (width + 7) // 8 * height
        size = {0: pixels * 4, 1: bits * 2, 2: (width + 1) // 2 * height + 64 + bits,
                3: pixels + 1024 + bits, 4: pixels * 2 + bits, 5: pixels * 3 + bits,
                6: pixels * 4 + bits}[kind]
        data = bytes((i * 11 + unique) & 0xff for i in range(size))
        self.set_cursor(5, 5, CursorShape(qxl.CursorType(kind), width, height, 1, 1, data, unique))


def small(width: int = 100, height: int = 80) -> Tiny:
    """A session in miniature."""
    tiny = Tiny()
    tiny.wake_up()
    tiny.primary(width, height)
    tiny.fill((0, 0, 100, 80), 0x202020)
    tiny.fill((10, 10, 50, 50), 0x4080C0)
    tiny.copy((60, 20, 76, 36), bitmap(16, 16), (0, 0, 16, 16))
    tiny.cursor_set(8, 8)
    tiny.move_cursor(20, 20)
    tiny.create(5)
    tiny.fill((0, 0, 16, 16), 0x00FF00, surface=5)
    tiny.copy((80, 60, 96, 76), surface_image(5), (0, 0, 16, 16), uses=[5])
    tiny.destroy_surface(5)
    tiny.fill((70, 2, 90, 12), 0xFF0000, clip=[(70, 2, 80, 12), (85, 2, 90, 12)])
    return tiny


def everything() -> Tiny:
    """Each kind of command, picture and cursor that can be played, at least once. Not QUIC, whose bytes only an encoder can
    make."""
    tiny = Tiny()
    box: Box = (0, 0, 32, 32)
    whole = Rect(*box)
    image = bitmap(32, 32, image_id=9 << 32, image_flags=1)
    grey = [i * 0x010101 for i in range(256)]

    tiny.primary(200, 150, packed=True)
    tiny.paint(box, DrawNothing())
    tiny.fill(box)
    tiny.fill((40, 40, 60, 60), -1)
    tiny.paint(box, Fill(Pattern(bitmap(8, 8)), mask=mask(32, 32)))
    tiny.paint(box, Opaque(image, whole, 5, scale=qxl.Scale.INTERPOLATE))
    tiny.copy(box, image, box)
    for fmt in (2, 4, 5, 6, 7, 8, 9):   # no implementation draws the little-endian ones, 1 and 3
        colours = {2: grey[:2], 4: grey[:16], 5: grey}.get(fmt)
        tiny.copy(box, bitmap(32, 32, fmt=fmt, palette=colours, palette_id=fmt), box)
    tiny.copy(box, bitmap(32, 32, flags=qxl.BitmapFlag.DIRECT), box)
    tiny.copy(box, bitmap(32, 32, pieces=4), box)
    tiny.packs = True
    tiny.copy(box, bitmap(32, 32, pieces=2), box)
    tiny.packs = False
    tiny.paint((100, 100, 132, 132), CopyBits(0, 0))
    tiny.paint(box, Blend(image, whole))
    tiny.paint(box, Blackness(mask(32, 32)))
    tiny.paint(box, Whiteness())
    tiny.paint(box, Invers())
    tiny.paint(box, Rop3(image, whole, 7, 184))
    ends = qxl.PathFlag.BEGIN | qxl.PathFlag.END
    tiny.paint((0, 0, 80, 80), Stroke((Segment(ends, ((1, 1), (30, 30), (60, 2))),), 9))
    curve = Segment(ends | qxl.PathFlag.BEZIER, ((1, 1), (30, 30), (60, 2), (70, 40)))
    tiny.paint((0, 0, 80, 80), Stroke((curve,), 9, dashes=(3, 2)))
    for bits in (1, 4):     # spice-common reads beyond glyphs of 8 bits
        tiny.paint((0, 0, 100, 40), text(bits, 0xFFFFFF))
    tiny.paint(box, Transparent(image, whole, 0))
    tiny.paint(box, AlphaBlend(image, whole, 128))
    tiny.create(1, 32, 32)
    tiny.create(2, 32, 32, bytes(32 * 32 * 4))
    tiny.fill(box, 3, surface=1)
    tiny.paint(box, Composite(qxl.CompositeOp.OVER, surface_image(1), transform=(1 << 16, 0, 0, 0, 1 << 16, 0),
                              mask=bitmap(32, 32, fmt=10)), uses=[1])
    tiny.copy(box, surface_image(2), box, uses=[2], self_bitmap=True)
    tiny.update(whole, 7)
    tiny.text_message(b"hello from the guest")
    tiny.text_message(b"")
    for kind in range(7):
        tiny.cursor_set(unique=100 + kind, kind=kind)
    tiny.trail_cursor(3, 2)
    tiny.hide_cursor()
    tiny.destroy_surface(1)
    tiny.destroy_surface(2)
    tiny.destroy_primary()
    tiny.wake_up()
    tiny.primary(160, 120, message=MESSAGE_CREATE_PRIMARY_ASYNC)
    tiny.fill((0, 0, 160, 120), 0x123456)
    return tiny
