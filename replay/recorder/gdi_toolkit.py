# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a window system of the GDI kind draws its windows with: bevels of one-pixel fills, striped title bars, letters.

Letters are invented (seeded strokes on a grid): no font is shipped. Pictures are computed.
"""
from __future__ import annotations

import random

from recorder import qxl
from recorder.commands import AlphaBlend, Bitmap, Copy, CopyBits, CursorShape, Fill, Glyph, Palette, Pattern, Rect, Text
from recorder.stage import Stage

FACE, LIGHT, SHADOW, DARK = 0xD4D0C8, 0xFFFFFF, 0x808080, 0x404040
PAPER, INK, SELECTED, SELECTED_INK = 0xFFFFFF, 0x000000, 0x0A246A, 0xFFFFFF
LETTER_WIDTH, LETTER_HEIGHT = 6, 11
GREY_PATTERN = Bitmap(qxl.BitmapFormat.BIT1_BE, 8, 8, b"".join((b"\xaa\0\0\0", b"\x55\0\0\0")) * 4, Palette((0, 0xFFFFFF)))


class Font:
    """64 letters of 5x9 pixels; `fine` ones have grey edges (4 bits a pixel), others not (1 bit)."""

    def __init__(self, dice: random.Random, fine: bool):
        self.kind = qxl.StringFlag.RASTER_A4 if fine else qxl.StringFlag.RASTER_A1
        self._rows = [_packed(_letter(dice), fine) for _ in range(64)]

    def glyphs(self, x: int, y: int, text: bytes) -> tuple[Glyph, ...]:
        """Spaces have no glyph of their own."""
        return tuple(Glyph(x + at * LETTER_WIDTH, y + 1, 5, 9, self._rows[letter % 64])
                     for at, letter in enumerate(text) if letter != 32)


def _letter(dice: random.Random) -> list[list[bool]]:
    """Five of the eleven strokes of a 5x9 figure, at least one of them upright."""
    dots = [[False] * 5 for _ in range(9)]
    strokes = [[(x, y) for x in range(5)] for y in (0, 4, 8)]
    strokes += [[(x, y + dy) for dy in range(5)] for y in (0, 4) for x in (0, 2, 4)]
    strokes += [[(at, at + 2) for at in range(5)], [(4 - at, at + 2) for at in range(5)]]
    for stroke in (dice.choice(strokes[3:9]), *dice.sample(strokes, 4)):
        for x, y in stroke:
            dots[y][x] = True
    return dots


def _packed(dots: list[list[bool]], fine: bool) -> bytes:
    """Bottom row first. In fine letters a dot's neighbours are half covered."""
    rows = []
    for y in range(8, -1, -1):
        if not fine:
            rows.append(sum(dot << 7 - x for x, dot in enumerate(dots[y])).to_bytes(1, "big"))
            continue
        level = [15 if dot else 6 if any(dots[y][max(x - 1, 0):x + 2]) else 0 for x, dot in enumerate(dots[y])] + [0]
        rows.append(bytes(level[x] << 4 | level[x + 1] for x in (0, 2, 4)))
    return b"".join(rows)


def words(dice: random.Random, length: int) -> bytes:
    """Text of invented words, `length` letters with the spaces."""
    text = b""
    while len(text) < length:
        text += bytes(dice.choice(range(33, 97)) for _ in range(dice.randint(2, 9))) + b" "
    return text[:length].rstrip() or b"!"


def gradient(width: int, height: int, top: int, bottom: int) -> Bitmap:
    """A vertical run of colour."""
    lines = []
    for y in range(height):
        mixed = [(top >> shift & 255) + ((bottom >> shift & 255) - (top >> shift & 255)) * y // max(height - 1, 1)
                 for shift in (0, 8, 16)]
        lines.append(bytes((*mixed, 0)) * width)
    return Bitmap(qxl.BitmapFormat.BIT32, width, height, b"".join(lines))


def icon(dice: random.Random, size: int) -> Bitmap:
    """A disc with a soft edge and two colours, premultiplied."""
    first, second = ([dice.randrange(256) for _ in range(3)] for _ in range(2))
    data = bytearray()
    radius = size / 2
    for y in range(size):
        for x in range(size):
            inside = radius - ((x - radius + 0.5) ** 2 + (y - radius + 0.5) ** 2) ** 0.5
            alpha = max(0, min(255, int(inside * 128)))
            data += bytes((*(part * alpha // 255 for part in (first if x + y < size else second)), alpha))
    return Bitmap(qxl.BitmapFormat.RGBA, size, size, bytes(data), unique=dice.randrange(1, 1 << 40),
                  image_flags=qxl.ImageFlag.CACHE)


def whole(image: Bitmap) -> Rect:
    return Rect(0, 0, image.width, image.height)


class Painter:
    """Draws parts of windows on the screen of the stage."""

    def __init__(self, stage: Stage, font: Font, fine_font: Font):
        self.stage, self.font, self.fine_font = stage, font, fine_font

    def fill(self, box: Rect, colour: int) -> None:
        self.stage.draw(box, Fill(colour))

    def bevel(self, box: Rect, raised: bool = True) -> None:
        """Two nested frames of four one-pixel fills each."""
        frames = ((LIGHT, DARK), (FACE, SHADOW)) if raised else ((SHADOW, LIGHT), (DARK, FACE))
        for inset, (upper, lower) in enumerate(frames):
            left, top, right, bottom = box.left + inset, box.top + inset, box.right - inset, box.bottom - inset
            self.fill(Rect(left, top, right, top + 1), upper)
            self.fill(Rect(left, top + 1, left + 1, bottom), upper)
            self.fill(Rect(left + 1, bottom - 1, right, bottom), lower)
            self.fill(Rect(right - 1, top + 1, right, bottom - 1), lower)

    def text(self, x: int, y: int, text: bytes, ink: int = INK, behind: int | None = None, fine: bool = False) -> Rect:
        """One line; with `behind` its background is painted by the same command."""
        font = self.fine_font if fine else self.font
        box = Rect.at(x, y, len(text) * LETTER_WIDTH, LETTER_HEIGHT)
        glyphs = font.glyphs(x, y, text)
        if glyphs:
            effect = qxl.Effect.BLEND if behind is None else qxl.Effect.OPAQUE
            self.stage.draw(box, Text(glyphs, font.kind, ink) if behind is None
                            else Text(glyphs, font.kind, ink, behind, box), effect=effect)
        return box

    def button(self, box: Rect, label: bytes) -> None:
        self.fill(box, FACE)
        self.bevel(box)
        self.text(box.left + (box.width - len(label) * LETTER_WIDTH) // 2, box.top + (box.height - LETTER_HEIGHT) // 2, label)

    def title_bar(self, box: Rect, title: bytes) -> None:
        """Stripes that fade to the right, a title, three buttons."""
        first, last = (10, 36, 106), (166, 202, 240)
        count = 32
        for at in range(count):
            red, green, blue = (a + (b - a) * at // count for a, b in zip(first, last))
            self.fill(Rect(box.left + box.width * at // count, box.top, box.left + box.width * (at + 1) // count, box.bottom),
                      red << 16 | green << 8 | blue)
        self.text(box.left + 20, box.top + 4, title, 0xFFFFFF, fine=True)
        for at in range(3):
            square = Rect.at(box.right - 18 * (3 - at), box.top + 2, 16, 14)
            self.fill(square, FACE)
            self.bevel(square)
            self.fill(Rect.at(square.left + 4, square.top + 3 + 2 * at, 6, 2), INK)

    def window(self, box: Rect, title: bytes) -> Rect:
        """A whole window; returns the inside."""
        self.fill(box, FACE)
        self.bevel(box)
        self.title_bar(Rect(box.left + 3, box.top + 3, box.right - 3, box.top + 21), title)
        inside = Rect(box.left + 4, box.top + 24, box.right - 4, box.bottom - 4)
        self.bevel(inside, raised=False)
        paper = Rect(inside.left + 2, inside.top + 2, inside.right - 2, inside.bottom - 2)
        self.fill(paper, PAPER)
        return paper

    def icon(self, x: int, y: int, image: Bitmap) -> None:
        self.stage.draw(Rect.at(x, y, image.width, image.height), AlphaBlend(image, whole(image)))

    def picture(self, x: int, y: int, image: Bitmap) -> None:
        self.stage.draw(Rect.at(x, y, image.width, image.height), Copy(image, whole(image)))

    def outline(self, box: Rect) -> None:
        """The dotted frame of something being dragged; the same again takes it away."""
        pattern = Pattern(GREY_PATTERN)
        for side in (Rect(box.left, box.top, box.right, box.top + 2), Rect(box.left, box.bottom - 2, box.right, box.bottom),
                     Rect(box.left, box.top + 2, box.left + 2, box.bottom - 2),
                     Rect(box.right - 2, box.top + 2, box.right, box.bottom - 2)):
            self.stage.draw(side, Fill(pattern, qxl.Rop.XOR))

    def scroll_up(self, box: Rect, lines: int, colour: int) -> None:
        self.stage.draw(Rect(box.left, box.top, box.right, box.bottom - lines), CopyBits(box.left, box.top + lines))
        self.fill(Rect(box.left, box.bottom - lines, box.right, box.bottom), colour)


def arrow_cursor() -> CursorShape:
    """Black with a white edge: a mask of what stays and a mask of what is inverted, one bit a pixel each."""
    stays, inverted = bytearray(), bytearray()
    for y in range(32):
        width = y // 2 + 1 if y < 20 else 0
        stays += ((1 << 32) - 1 >> width).to_bytes(4, "big")
        edge = 0 if not width else (1 << 31 | 1 << 32 - width if y < 19 else (1 << width) - 1 << 32 - width)
        inverted += edge.to_bytes(4, "big")
    return CursorShape(qxl.CursorType.MONO, 32, 32, 0, 0, bytes(stays + inverted), 1)


def beam_cursor() -> CursorShape:
    stays = b"\xff\xff\xff\xff" * 32
    inverted = b"".join((0x1F << 14 if y in (4, 20) else 1 << 16 if 4 < y < 20 else 0).to_bytes(4, "big") for y in range(32))
    return CursorShape(qxl.CursorType.MONO, 32, 32, 15, 12, stays + inverted, 2)


def busy_cursor(frame: int) -> CursorShape:
    """A ring of which an eighth is bright, with alpha."""
    data = bytearray()
    for y in range(32):
        for x in range(32):
            dx, dy = x - 15.5, y - 15.5
            ring = 36 < dx * dx + dy * dy < 144
            eighth = (dx > 0) * 4 + (dy > 0) * 2 + (abs(dx) > abs(dy))
            data += bytes((255, 200, 120, 255) if ring and eighth == frame % 8 else (160, 100, 40, 160) if ring else (0, 0, 0, 0))
    return CursorShape(qxl.CursorType.ALPHA, 32, 32, 15, 15, bytes(data), 16 + frame % 8)
