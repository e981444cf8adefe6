# SPDX-License-Identifier: LGPL-2.1-or-later
"""The generated recording `all-commands`: each command, image type, brush, clip and mask of the format, a few times.

Each experiment has its own cell on a patterned background, so that a wrong pixel identifies the command. Left out, as
server or client cannot handle them:

- pictures of 1 and 4 bits with the least significant pixel first: spice-common aborts (used as masks here)
- ROP3 codes that do not use all three operands: not implemented, spice-common aborts
- glyphs of 8 bits: spice-common reads beyond the last glyph's bytes
- DRAW NOP: the server warns that it should not be reached
- pictures of format 8BIT_A: drivers use them only as masks of COMPOSITE
- drawables with their own target as source image (self_bitmap): only old drivers use them
"""
from __future__ import annotations

import base64
import random
from collections.abc import Callable, Sequence
from typing import BinaryIO

from recorder import qxl
from recorder.commands import (AlphaBlend, Bitmap, Blackness, Blend, Composite, Copy, CopyBits, CursorShape, Fill,
                               FromSurface, Glyph, Invers, Mask, Opaque, Palette, Pattern, Quic, Rect, Rop3, Segment, Stroke,
                               Text, Transparent, Whiteness)
from recorder.stage import Stage

CELL_WIDTH, CELL_HEIGHT = 40, 30
GAP = 10
TOP = 75                     # above it is only background, where players draw their markers
COLUMNS = 16

# 16x12 pixels, four quarters of one colour each, compressed by spice-common's own encoder
QUIC = Quic(16, 12, base64.b64decode(
    "UVVJQwAAAAAEAAAAEAAAAAwAAACAgIBABw444AYAwP///wPuAID7/38H3AUFAID7wPtf34/vAgABAOD84Pyvd6h3AQDoHQEAAIAZ"
    "egEAwAcIWEN3AADO447jehcLAAAnieNwvQ7XI8A9Apw4cMLhcAAA9AgAAAAA"),
    b"".join(bytes((x // 8 * 64, y // 6 * 80, 96, 0)) for y in range(12) for x in range(16)))

PICTURES = (qxl.BitmapFormat.BIT1_BE, qxl.BitmapFormat.BIT4_BE, qxl.BitmapFormat.BIT8, qxl.BitmapFormat.BIT16,
            qxl.BitmapFormat.BIT24, qxl.BitmapFormat.BIT32, qxl.BitmapFormat.RGBA)

Experiment = Callable[[Stage, Rect, random.Random], None]
EXPERIMENTS: dict[str, Experiment] = {}


def experiment(name: str) -> Callable[[Experiment], Experiment]:
    def note(function: Experiment) -> Experiment:
        EXPERIMENTS[name] = function
        return function

    return note


def bitmap(form: qxl.BitmapFormat, width: int, height: int, dice: random.Random, extra_stride: int = 0,
           flags: qxl.BitmapFlag = qxl.BitmapFlag.TOP_DOWN, unique: int = 0) -> Bitmap:
    """Random blobs of colour: blocks of 4x4 pixels, so that every compressor has something to find."""
    stride = -(-width * form.bits // 32) * 4 + extra_stride
    palette = Palette(tuple(dice.randrange(1 << 24) for _ in range(form.colours)), unique) if form.colours else None
    blocks = stride // _BLOCK_BYTES[form] + 1
    lines = [b"".join(_block(form, dice) for _ in range(blocks))[:stride] for _ in range(-(-height // 4))]
    return Bitmap(form, width, height, b"".join(lines[y // 4] for y in range(height)), palette, flags)


_BLOCK_BYTES = {form: max(1, form.bits * 4 // 8) for form in qxl.BitmapFormat}


def _block(form: qxl.BitmapFormat, dice: random.Random) -> bytes:
    """Four pixels of one colour (below 8 bits per pixel, a random byte)."""
    match form.bits:
        case 16:
            return dice.randrange(1 << 15).to_bytes(2, "little") * 4
        case 24:
            return dice.randbytes(3) * 4
        case 32 if form == qxl.BitmapFormat.RGBA:
            alpha = dice.choice((0, 64, 128, 255))
            return bytes((*(dice.randrange(alpha + 1) for _ in range(3)), alpha)) * 4
        case 32:
            return (dice.randbytes(3) + b"\0") * 4
    return dice.randbytes(_BLOCK_BYTES[form])


def one_bit_mask(width: int, height: int, dice: random.Random, form: qxl.BitmapFormat = qxl.BitmapFormat.BIT1_BE) -> Bitmap:
    stride = -(-width // 32) * 4
    return Bitmap(form, width, height, dice.randbytes(stride * height))


def whole(cell: Rect) -> Rect:
    return Rect(0, 0, cell.width, cell.height)


def letters(x: int, y: int, count: int, bits: int, dice: random.Random) -> tuple[Glyph, ...]:
    stride = (7 * bits + 7) // 8
    return tuple(Glyph(x + 8 * at, y, 7, 10, dice.randbytes(stride * 10)) for at in range(count))


def _add_families() -> None:
    """Experiments that differ in one value only."""
    rops = [qxl.Rop.PUT, qxl.Rop.OR, qxl.Rop.AND, qxl.Rop.XOR, qxl.Rop.BLACKNESS, qxl.Rop.WHITENESS, qxl.Rop.INVERS,
            qxl.Rop.PUT | qxl.Rop.INVERS_RES, qxl.Rop.AND | qxl.Rop.INVERS_DEST, qxl.Rop.OR | qxl.Rop.INVERS_RES]
    for rop in rops:
        name = "|".join(flag.name or "" for flag in qxl.Rop if flag & rop)
        experiment(f"fill solid {name}")(lambda stage, cell, dice, rop=rop: stage.draw(cell, Fill(0x3465A4, rop)))
        experiment(f"blend image {name}")(lambda stage, cell, dice, rop=rop: stage.draw(
            cell, Blend(bitmap(qxl.BitmapFormat.BIT32, cell.width, cell.height, dice), whole(cell), rop)))
    for form in PICTURES:
        experiment(f"copy {form.name}")(lambda stage, cell, dice, form=form: stage.draw(
            cell, Copy(bitmap(form, cell.width, cell.height, dice), whole(cell))))
        experiment(f"copy {form.name} bottom up, wide stride")(lambda stage, cell, dice, form=form: stage.draw(
            cell, Copy(bitmap(form, cell.width, cell.height, dice, 4, qxl.BitmapFlag(0)), whole(cell))))
    for table in (0x01, 0x69, 0x96, 0xB8, 0xCA, 0xD8, 0xE2, 0xFE):
        experiment(f"rop3 {table:02x} solid")(lambda stage, cell, dice, table=table: stage.draw(
            cell, Rop3(bitmap(qxl.BitmapFormat.BIT32, cell.width, cell.height, dice), whole(cell), 0xC17D11, table)))
    for alpha in (255, 100, 1):
        experiment(f"alpha blend {alpha}")(lambda stage, cell, dice, alpha=alpha: stage.draw(
            cell, AlphaBlend(bitmap(qxl.BitmapFormat.RGBA, cell.width, cell.height, dice), whole(cell), alpha)))
    for op in (qxl.CompositeOp.SRC, qxl.CompositeOp.OVER, qxl.CompositeOp.ADD):
        experiment(f"composite {op.name}")(lambda stage, cell, dice, op=op: stage.draw(
            cell, Composite(op, bitmap(qxl.BitmapFormat.RGBA, cell.width, cell.height, dice))))
    for kind, bits in ((qxl.StringFlag.RASTER_A1, 1), (qxl.StringFlag.RASTER_A4, 4)):
        experiment(f"text of {bits} bits")(lambda stage, cell, dice, kind=kind, bits=bits: stage.draw(
            cell, Text(letters(cell.left + 2, cell.top + 3, 4, bits, dice), kind, 0xA40000)))
        experiment(f"text of {bits} bits on a background")(lambda stage, cell, dice, kind=kind, bits=bits: stage.draw(
            cell, Text(letters(cell.left + 2, cell.top + 3, 4, bits, dice), kind, 0x204A87, 0xEEEEEC, cell)))


_add_families()


@experiment("fill with no brush")
def _fill_none(stage: Stage, cell: Rect, dice: random.Random) -> None:
    stage.draw(cell, Fill(None, qxl.Rop.INVERS))


@experiment("fill with a pattern")
def _fill_pattern(stage: Stage, cell: Rect, dice: random.Random) -> None:
    stage.draw(cell, Fill(Pattern(bitmap(qxl.BitmapFormat.BIT32, 8, 8, dice), 3, 5)))


@experiment("fill with a two-colour pattern, XOR")
def _fill_pattern_xor(stage: Stage, cell: Rect, dice: random.Random) -> None:
    stage.draw(cell, Fill(Pattern(bitmap(qxl.BitmapFormat.BIT1_BE, 8, 8, dice), 1, 2), qxl.Rop.XOR))


@experiment("fill clipped to rectangles")
def _fill_clip(stage: Stage, cell: Rect, dice: random.Random) -> None:
    clip = tuple(Rect.at(cell.left + x, cell.top + y, 9, 6) for x in (1, 14, 30) for y in (2, 11, 20))
    stage.draw(cell, Fill(0x5C3566), clip)


@experiment("fill through a mask")
def _fill_mask(stage: Stage, cell: Rect, dice: random.Random) -> None:
    stage.draw(cell, Fill(0x4E9A06, mask=Mask(one_bit_mask(cell.width, cell.height, dice))))


@experiment("fill through an inverse mask, offset")
def _fill_inverse_mask(stage: Stage, cell: Rect, dice: random.Random) -> None:
    stage.draw(cell, Fill(0x4E9A06, mask=Mask(one_bit_mask(64, 40, dice, qxl.BitmapFormat.BIT1_LE), 7, 4, True)))


@experiment("opaque")
def _opaque(stage: Stage, cell: Rect, dice: random.Random) -> None:
    stage.draw(cell, Opaque(bitmap(qxl.BitmapFormat.BIT32, cell.width, cell.height, dice), whole(cell), 0xFFFF00, qxl.Rop.AND))


@experiment("opaque with a pattern and a mask")
def _opaque_pattern(stage: Stage, cell: Rect, dice: random.Random) -> None:
    stage.draw(cell, Opaque(bitmap(qxl.BitmapFormat.BIT24, cell.width, cell.height, dice), whole(cell),
                            Pattern(bitmap(qxl.BitmapFormat.BIT32, 8, 8, dice)), qxl.Rop.XOR,
                            mask=Mask(one_bit_mask(cell.width, cell.height, dice))))


@experiment("copy of a part")
def _copy_part(stage: Stage, cell: Rect, dice: random.Random) -> None:
    stage.draw(cell, Copy(bitmap(qxl.BitmapFormat.BIT32, 100, 80, dice), Rect.at(31, 17, cell.width, cell.height)))


@experiment("copy of chunks")
def _copy_chunks(stage: Stage, cell: Rect, dice: random.Random) -> None:
    image = bitmap(qxl.BitmapFormat.BIT32, cell.width, cell.height, dice)
    stage.draw(cell, Copy(Bitmap(image.format, image.width, image.height, image.data, chunk=image.stride * 7), whole(cell)))


@experiment("copy of one piece of memory")
def _copy_direct(stage: Stage, cell: Rect, dice: random.Random) -> None:
    flags = qxl.BitmapFlag.TOP_DOWN | qxl.BitmapFlag.DIRECT
    stage.draw(cell, Copy(bitmap(qxl.BitmapFormat.BIT32, cell.width, cell.height, dice, flags=flags), whole(cell)))


@experiment("copy of an image to keep, twice")
def _copy_cached(stage: Stage, cell: Rect, dice: random.Random) -> None:
    half = bitmap(qxl.BitmapFormat.BIT32, cell.width // 2, cell.height, dice)
    image = Bitmap(half.format, half.width, half.height, half.data, unique=0x100000001, image_flags=qxl.ImageFlag.CACHE)
    for left in (cell.left, cell.left + image.width):
        stage.draw(Rect.at(left, cell.top, image.width, cell.height), Copy(image, Rect(0, 0, image.width, image.height)))


@experiment("copy with a palette to keep, twice")
def _copy_palette(stage: Stage, cell: Rect, dice: random.Random) -> None:
    image = bitmap(qxl.BitmapFormat.BIT8, cell.width // 2, cell.height, dice, unique=77)
    for left in (cell.left, cell.left + image.width):
        stage.draw(Rect.at(left, cell.top, image.width, cell.height), Copy(image, Rect(0, 0, image.width, image.height)))


@experiment("copy doubled in size")
def _copy_doubled(stage: Stage, cell: Rect, dice: random.Random) -> None:
    stage.draw(cell, Copy(bitmap(qxl.BitmapFormat.BIT32, cell.width // 2, cell.height // 2, dice),
                          Rect(0, 0, cell.width // 2, cell.height // 2)))


@experiment("copy smoothed to another size")
def _copy_smoothed(stage: Stage, cell: Rect, dice: random.Random) -> None:
    stage.draw(cell, Copy(bitmap(qxl.BitmapFormat.BIT32, 33, 47, dice), Rect(0, 0, 33, 47), scale=qxl.Scale.INTERPOLATE))


@experiment("copy clipped and through a mask")
def _copy_clip_mask(stage: Stage, cell: Rect, dice: random.Random) -> None:
    clip = (Rect.at(cell.left + 3, cell.top + 3, 20, 10), Rect.at(cell.left + 10, cell.top + 15, 28, 12))
    stage.draw(cell, Copy(bitmap(qxl.BitmapFormat.BIT32, cell.width, cell.height, dice), whole(cell),
                          mask=Mask(one_bit_mask(cell.width, cell.height, dice))), clip)


@experiment("copy of a compressed image")
def _copy_quic(stage: Stage, cell: Rect, dice: random.Random) -> None:
    stage.draw(Rect.at(cell.left, cell.top, QUIC.width, QUIC.height), Copy(QUIC, Rect(0, 0, QUIC.width, QUIC.height)))


@experiment("move of a part of the screen")
def _copy_bits(stage: Stage, cell: Rect, dice: random.Random) -> None:
    stage.draw(Rect(cell.left + 3, cell.top + 2, cell.right, cell.bottom), CopyBits(cell.left, cell.top))


@experiment("blackness")
def _blackness(stage: Stage, cell: Rect, dice: random.Random) -> None:
    stage.draw(cell, Blackness())


@experiment("whiteness through a mask")
def _whiteness(stage: Stage, cell: Rect, dice: random.Random) -> None:
    stage.draw(cell, Whiteness(Mask(one_bit_mask(cell.width, cell.height, dice))))


@experiment("inversion")
def _invers(stage: Stage, cell: Rect, dice: random.Random) -> None:
    stage.draw(cell, Invers())


@experiment("rop3 with a pattern and a mask")
def _rop3(stage: Stage, cell: Rect, dice: random.Random) -> None:
    stage.draw(cell, Rop3(bitmap(qxl.BitmapFormat.BIT32, cell.width, cell.height, dice), whole(cell),
                          Pattern(bitmap(qxl.BitmapFormat.BIT32, 8, 8, dice), cell.left, cell.top), 0xB8,
                          mask=Mask(one_bit_mask(cell.width, cell.height, dice))))


@experiment("straight lines")
def _stroke_straight(stage: Stage, cell: Rect, dice: random.Random) -> None:
    corners = ((cell.left + 2, cell.top + 2), (cell.right - 3, cell.top + 2), (cell.right - 3, cell.bottom - 3),
               (cell.left + 2, cell.bottom - 3))
    flags = qxl.PathFlag.BEGIN | qxl.PathFlag.END
    stage.draw(cell, Stroke((Segment(flags | qxl.PathFlag.CLOSE, corners),
                             Segment(flags, ((cell.left + 10, cell.top + 8), (cell.left + 30, cell.top + 8)))), 0xEF2929))


@experiment("slanted and dashed lines")
def _stroke_dashed(stage: Stage, cell: Rect, dice: random.Random) -> None:
    line = Segment(qxl.PathFlag.BEGIN | qxl.PathFlag.END, ((cell.left + 1, cell.top + 1), (cell.right - 2, cell.bottom - 4)))
    stage.draw(cell, Stroke((line,), 0xEF2929, dashes=(4, 2), gap_first=True))


@experiment("curve in a pattern")
def _stroke_curve(stage: Stage, cell: Rect, dice: random.Random) -> None:
    curve = Segment(qxl.PathFlag.BEGIN | qxl.PathFlag.END | qxl.PathFlag.BEZIER,
                    ((cell.left + 2, cell.top + 25), (cell.left + 10, cell.top - 5), (cell.left + 30, cell.top + 60),
                     (cell.left + 38, cell.top + 4)))
    stage.draw(cell, Stroke((curve,), Pattern(bitmap(qxl.BitmapFormat.BIT32, 8, 8, dice))))


@experiment("transparent")
def _transparent(stage: Stage, cell: Rect, dice: random.Random) -> None:
    image = bitmap(qxl.BitmapFormat.BIT32, cell.width, cell.height, dice)
    stage.draw(cell, Transparent(image, whole(cell), int.from_bytes(image.data[:3], "little")))


@experiment("composite, tiled")
def _composite_tiled(stage: Stage, cell: Rect, dice: random.Random) -> None:
    stage.draw(cell, Composite(qxl.CompositeOp.OVER, bitmap(qxl.BitmapFormat.RGBA, 8, 8, dice), 2, 3, repeat=1))


@experiment("composite, turned, through a mask")
def _composite_turned(stage: Stage, cell: Rect, dice: random.Random) -> None:
    one = 1 << 16
    stage.draw(cell, Composite(qxl.CompositeOp.OVER, bitmap(qxl.BitmapFormat.RGBA, 40, 40, dice),
                               transform=(0, one, 0, one, 0, 0), mask=bitmap(qxl.BitmapFormat.RGBA, 20, 15, dice),
                               mask_transform=(one // 2, 0, 0, 0, one // 2, 0)))


@experiment("copy from a surface")
def _surface(stage: Stage, cell: Rect, dice: random.Random) -> None:
    stage.create_surface(5, cell.width, cell.height)
    stage.draw(whole(cell), Fill(0x73D216), surface=5)
    stage.draw(Rect(5, 5, 25, 20), Copy(bitmap(qxl.BitmapFormat.BIT32, 20, 15, dice), Rect(0, 0, 20, 15)), surface=5)
    stage.draw(cell, Copy(FromSurface(5, cell.width, cell.height), whole(cell)))
    stage.destroy_surface(5)


@experiment("pattern from a surface that came with its pixels")
def _surface_data(stage: Stage, cell: Rect, dice: random.Random) -> None:
    pixels = bitmap(qxl.BitmapFormat.BIT32, 8, 8, dice).data
    stage.create_surface(6, 8, 8, qxl.SurfaceFormat.XRGB32, pixels)
    stage.draw(cell, Copy(FromSurface(6, 8, 8), Rect(0, 0, 8, 6)))
    stage.destroy_surface(6)


@experiment("composite from a surface onto a surface")
def _surface_composite(stage: Stage, cell: Rect, dice: random.Random) -> None:
    for number, colour in ((7, 0x204A87), (8, 0xF57900)):
        stage.create_surface(number, cell.width, cell.height)
        stage.draw(whole(cell), Fill(colour), surface=number)
    stage.draw(Rect(4, 4, 30, 20), Composite(qxl.CompositeOp.SRC, FromSurface(7, cell.width, cell.height)), surface=8)
    stage.draw(cell, Copy(FromSurface(8, cell.width, cell.height), whole(cell)))
    stage.destroy_surface(7)
    stage.destroy_surface(8)


@experiment("surfaces of every format")
def _surface_formats(stage: Stage, cell: Rect, dice: random.Random) -> None:
    for number, form in enumerate(qxl.SurfaceFormat, start=20):
        stage.create_surface(number, 64, 32, form)
    for number, _ in enumerate(qxl.SurfaceFormat, start=20):
        stage.destroy_surface(number)


def cursors(stage: Stage, dice: random.Random) -> None:
    """A cursor of every type, moved, hidden and shown again."""
    both_masks = dice.randbytes(32 // 8 * 32) * 2
    palette = b"".join(dice.randbytes(3) + b"\0" for _ in range(256))
    colours = {qxl.CursorType.ALPHA: dice.randbytes(32 * 32 * 4), qxl.CursorType.MONO: both_masks,
               qxl.CursorType.COLOR4: dice.randbytes(32 * 32 // 2) + palette[:64] + both_masks[:128],
               qxl.CursorType.COLOR8: dice.randbytes(32 * 32) + palette + both_masks[:128],
               qxl.CursorType.COLOR16: dice.randbytes(32 * 32 * 2) + both_masks[:128],
               qxl.CursorType.COLOR24: dice.randbytes(32 * 32 * 3) + both_masks[:128],
               qxl.CursorType.COLOR32: dice.randbytes(32 * 32 * 4) + both_masks[:128]}
    for kind, data in colours.items():
        stage.set_cursor(100, 100, CursorShape(kind, 32, 32, 4, 4, data, 0x200000000 + kind))
        stage.move_cursor(110 + 10 * kind, 120)
    stage.writer.trail_cursor(3, 10)
    stage.writer.hide_cursor()
    stage.set_cursor(300, 200, CursorShape(qxl.CursorType.ALPHA, 32, 32, 4, 4, colours[qxl.CursorType.ALPHA], 0x200000000))


def cells(names: Sequence[str] | None = None) -> dict[str, Rect]:
    """The place of each experiment."""
    return {name: Rect.at(GAP // 2 + at % COLUMNS * (CELL_WIDTH + GAP), TOP + at // COLUMNS * (CELL_HEIGHT + GAP),
                          CELL_WIDTH, CELL_HEIGHT)
            for at, name in enumerate(EXPERIMENTS if names is None else names)}


def write(out: BinaryIO, seed: int = 1, paint: bool = True, names: Sequence[str] | None = None) -> Stage:
    """All experiments, or the named ones, on a screen that is just large enough."""
    places = cells(names)
    screen = Rect(0, 0, min(len(places), COLUMNS) * (CELL_WIDTH + GAP), max(cell.bottom for cell in places.values()) + GAP // 2)
    dice = random.Random(seed)
    stage = Stage(out, paint)
    stage.create_primary(80, 80)
    stage.draw(Rect(0, 0, 80, 80), Fill(0x555753))
    stage.writer.message("mode change")
    stage.destroy_primary()
    stage.create_primary(screen.width, screen.height, asynchronous=True)
    stage.draw(screen, Fill(Pattern(bitmap(qxl.BitmapFormat.BIT32, 32, 32, dice))))
    cursors(stage, dice)
    for name, cell in places.items():
        EXPERIMENTS[name](stage, cell, dice)
        stage.pause(0.01)
    stage.writer.update(screen)
    stage.writer.wake_up()
    return stage
