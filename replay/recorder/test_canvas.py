# SPDX-License-Identifier: LGPL-2.1-or-later
import pytest

from recorder import qxl
from recorder.canvas import Canvas, NotPainted
from recorder.commands import (AlphaBlend, Bitmap, Copy, CopyBits, Drawable, Drawing, Fill, Glyph, Invers, Mask, Opaque, Palette,
                               Pattern, Rect, Rop3, Segment, Stroke, Text, Transparent)
from recorder.pixels import over, scaled

BLUE, RED = 0x0000FF, 0xFF0000
BOX = Rect(1, 1, 3, 3)


def rgb(*pixels: int) -> Bitmap:
    """A bitmap of 2 pixels a line."""
    return Bitmap(qxl.BitmapFormat.BIT32, 2, len(pixels) // 2, b"".join(pixel.to_bytes(4, "little") for pixel in pixels))


def painted(drawing: Drawing, before: int = BLUE, clip: tuple[Rect, ...] | None = None, box: Rect = BOX) -> list[int]:
    """The four pixels in the middle of a screen of 4x4 after the drawing."""
    canvas = Canvas()
    canvas.create(0, 4, 4)
    canvas.draw(Drawable(Rect(0, 0, 4, 4), Fill(before)))
    canvas.draw(Drawable(box, drawing, clip))
    assert canvas.primary.pixel(0, 0) == before or box.left == 0
    return [canvas.primary.pixel(x, y) for y in (1, 2) for x in (1, 2)]


@pytest.mark.parametrize("rop, colour", [
    (qxl.Rop.PUT, 0xFF00FF), (qxl.Rop.XOR, 0xFF0000), (qxl.Rop.AND, 0x0000FF), (qxl.Rop.OR, 0xFF00FF),
    (qxl.Rop.INVERS, 0xFFFF00), (qxl.Rop.WHITENESS, 0xFFFFFF), (qxl.Rop.BLACKNESS, 0),
    (qxl.Rop.PUT | qxl.Rop.INVERS_RES, 0x00FF00), (qxl.Rop.AND | qxl.Rop.INVERS_DEST, 0xFF0000),
    (qxl.Rop.PUT | qxl.Rop.INVERS_BRUSH, 0x00FF00),
])
def test_raster_operations(rop: qxl.Rop, colour: int) -> None:
    assert painted(Fill(0xFF00FF, rop)) == [colour] * 4


def test_clip_and_mask() -> None:
    assert painted(Fill(RED), clip=(Rect(2, 0, 4, 2),)) == [BLUE, RED, BLUE, BLUE]
    mask = Bitmap(qxl.BitmapFormat.BIT1_BE, 2, 2, b"\x80\0\0\0\x40\0\0\0")
    assert painted(Fill(RED, mask=Mask(mask))) == [RED, BLUE, BLUE, RED]
    assert painted(Fill(RED, mask=Mask(mask, inverse=True))) == [BLUE, RED, RED, BLUE]
    assert painted(Invers(Mask(mask, x=1))) == [BLUE, BLUE, 0xFFFF00, BLUE]


def test_images_and_patterns() -> None:
    image = rgb(1, 2, 3, 4)
    assert painted(Copy(image, Rect(0, 0, 2, 2))) == [1, 2, 3, 4]
    assert painted(Copy(image, Rect(1, 1, 2, 2))) == [4, 4, 4, 4]
    upside_down = Bitmap(image.format, 2, 2, image.data, flags=qxl.BitmapFlag(0))
    assert painted(Copy(upside_down, Rect(0, 0, 2, 2))) == [3, 4, 1, 2]
    assert painted(Fill(Pattern(image, 0, 1))) == [2, 1, 4, 3]
    assert painted(Transparent(image, Rect(0, 0, 2, 2), 3)) == [1, 2, BLUE, 4]
    assert painted(Opaque(image, Rect(0, 0, 2, 2), 0x10, qxl.Rop.OR)) == [0x11, 0x12, 0x13, 0x14]
    assert painted(Rop3(image, Rect(0, 0, 2, 2), 0x30, 0x96), before=0x100) == [0x131, 0x132, 0x133, 0x134]
    with pytest.raises(NotPainted):
        painted(Copy(rgb(1, 2, 3, 4, 5, 6), Rect(0, 0, 2, 3)))


@pytest.mark.parametrize("form, data, colours, expected", [
    (qxl.BitmapFormat.BIT1_BE, b"\x40\0\0\0\x80\0\0\0", (5, 6), [5, 6, 6, 5]),
    (qxl.BitmapFormat.BIT4_BE, b"\x12\0\0\0\x30\0\0\0", (0, 11, 12, 13), [11, 12, 13, 0]),
    (qxl.BitmapFormat.BIT8, b"\0\1\0\0\1\0\0\0", (7, 8), [7, 8, 8, 7]),
    (qxl.BitmapFormat.BIT16, b"\x1f\0\0\x7c\xff\x7f\x21\0", None, [BLUE, RED, 0xFFFFFF, 0x000808]),
    (qxl.BitmapFormat.BIT24, b"\1\2\3\4\5\6\0\0\7\x08\x09\0\0\0\0\0", None, [0x030201, 0x060504, 0x090807, 0]),
])
def test_formats(form: qxl.BitmapFormat, data: bytes, colours: tuple[int, ...] | None, expected: list[int]) -> None:
    image = Bitmap(form, 2, 2, data, Palette(colours) if colours else None)
    assert painted(Copy(image, Rect(0, 0, 2, 2))) == expected


def test_moving_a_part_reads_before_it_writes() -> None:
    canvas = Canvas()
    canvas.create(0, 4, 1)
    canvas.draw(Drawable(Rect(0, 0, 2, 1), Copy(rgb(1, 2), Rect(0, 0, 2, 1))))
    canvas.draw(Drawable(Rect(1, 0, 4, 1), CopyBits(0, 0)))
    assert [canvas.primary.pixel(x, 0) for x in range(4)] == [1, 1, 2, 0]


def test_alpha() -> None:
    assert scaled(255, 128) == 128 and scaled(100, 0) == 0 and scaled(100, 255) == 100
    assert over(0xFF123456, 0xABCDEF) & 0xFFFFFF == 0x123456
    assert over(0, 0xABCDEF) & 0xFFFFFF == 0xABCDEF
    half = Bitmap(qxl.BitmapFormat.RGBA, 2, 2, bytes((64, 0, 0, 128)) * 4)
    assert painted(AlphaBlend(half, Rect(0, 0, 2, 2)), before=0xFF0000) == [0x7F0040] * 4
    assert painted(AlphaBlend(half, Rect(0, 0, 2, 2), alpha=0), before=0xFF0000) == [0xFF0000] * 4


def test_letters_are_bottom_up() -> None:
    glyph = Glyph(1, 1, 2, 2, b"\x80\x40")
    assert painted(Text((glyph,), qxl.StringFlag.RASTER_A1, RED)) == [BLUE, RED, RED, BLUE]
    assert painted(Text((glyph,), qxl.StringFlag.RASTER_A1, RED, 0x00FF00, BOX)) == [0x00FF00, RED, RED, 0x00FF00]


def test_a_line_has_no_last_point() -> None:
    line = Segment(qxl.PathFlag.BEGIN | qxl.PathFlag.END, ((1, 1), (2, 1)))
    assert painted(Stroke((line,), RED)) == [RED, BLUE, BLUE, BLUE]
    closed = Segment(qxl.PathFlag.BEGIN | qxl.PathFlag.END | qxl.PathFlag.CLOSE, ((1, 1), (2, 1), (2, 2), (1, 2)))
    assert painted(Stroke((closed,), RED)) == [RED] * 4
    with pytest.raises(NotPainted):
        painted(Stroke((Segment(qxl.PathFlag.BEGIN, ((0, 0), (3, 2))),), RED))
