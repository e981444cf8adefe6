# SPDX-License-Identifier: LGPL-2.1-or-later
"""Bitmaps of every format as rows of 32-bit pixels, and the arithmetic on rows.

A row is one large integer, pixel i in bits 32i to 32i+31 as 0xAARRGGBB: boolean operations on whole rows are then Python's
own. Alpha is 0 in images that have none.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from recorder import qxl
from recorder.commands import Bitmap, Mask

Row = int

RGB = 0xFFFFFF


def repeated(pixel: int, count: int) -> Row:
    return int.from_bytes(pixel.to_bytes(4, "little") * count, "little")


def part(row: Row, left: int, right: int) -> Row:
    """Pixels left (included) to right (excluded)."""
    return row >> 32 * left & (1 << 32 * (right - left)) - 1


def to_pixels(row: Row, count: int) -> list[int]:
    data = row.to_bytes(4 * count, "little")
    return [int.from_bytes(data[at:at + 4], "little") for at in range(0, 4 * count, 4)]


def from_pixels(pixels: list[int]) -> Row:
    return int.from_bytes(b"".join(pixel.to_bytes(4, "little") for pixel in pixels), "little")


def _bits(line: bytes, width: int, least_first: bool) -> list[int]:
    order = range(8) if least_first else range(7, -1, -1)
    return [byte >> bit & 1 for byte in line for bit in order][:width]


def _nibbles(line: bytes, width: int, low_first: bool) -> list[int]:
    shifts = (0, 4) if low_first else (4, 0)
    return [byte >> shift & 15 for byte in line for shift in shifts][:width]


def _rgb555(value: int) -> int:
    red, green, blue = (value >> shift & 31 for shift in (10, 5, 0))
    return sum((five << 3 | five >> 2) << shift for five, shift in ((red, 16), (green, 8), (blue, 0)))


def _line_pixels(image: Bitmap, line: bytes) -> list[int]:
    width, form = image.width, qxl.BitmapFormat
    if image.palette is not None:
        colours = image.palette.colours
        match image.format:
            case form.BIT1_LE | form.BIT1_BE:
                return [colours[bit] for bit in _bits(line, width, image.format == form.BIT1_LE)]
            case form.BIT4_LE | form.BIT4_BE:
                return [colours[four] for four in _nibbles(line, width, image.format == form.BIT4_LE)]
            case form.BIT8:
                return [colours[byte] for byte in line[:width]]
    size = image.format.bits // 8
    values = [int.from_bytes(line[at:at + size], "little") for at in range(0, width * size, size)]
    match image.format:
        case form.BIT16:
            return [_rgb555(value) for value in values]
        case form.BIT24:
            return values
        case form.BIT32:
            return [value & RGB for value in values]
        case form.RGBA:
            return values
    raise ValueError(f"no pixels in a bitmap of format {image.format.name}")


def _lines(image: Bitmap) -> list[bytes]:
    """The bitmap's lines, top one first."""
    lines = [image.data[at:at + image.stride] for at in range(0, len(image.data), image.stride)]
    return lines if image.flags & qxl.BitmapFlag.TOP_DOWN else lines[::-1]


@lru_cache(maxsize=256)
def rows_of(image: Bitmap) -> list[Row]:
    """The bitmap's rows, top one first."""
    return [from_pixels(_line_pixels(image, line)) for line in _lines(image)]


@lru_cache(maxsize=256)
def mask_rows(mask: Mask) -> list[Row]:
    """0xFFFFFF for each pixel the mask lets through, top row first."""
    least_first = mask.image.format == qxl.BitmapFormat.BIT1_LE
    return [from_pixels([RGB if bit ^ mask.inverse else 0 for bit in _bits(line, mask.image.width, least_first)])
            for line in _lines(mask.image)]


def rop_function(rop: qxl.Rop, invert_source: qxl.Rop, invert_target: qxl.Rop) -> Callable[[Row, Row, Row], Row]:
    """f(source, target, all) for rows whose every bit is set in `all`. The two flags say which of the descriptor's
    inversions are the source's and the target's: that differs between commands."""
    operations: dict[qxl.Rop, Callable[[Row, Row, Row], Row]] = {
        qxl.Rop.PUT: lambda s, d, full: s,
        qxl.Rop.OR: lambda s, d, full: s | d,
        qxl.Rop.AND: lambda s, d, full: s & d,
        qxl.Rop.XOR: lambda s, d, full: s ^ d,
        qxl.Rop.BLACKNESS: lambda s, d, full: 0,
        qxl.Rop.WHITENESS: lambda s, d, full: full,
        qxl.Rop.INVERS: lambda s, d, full: d ^ full,
    }
    operation = next(function for flag, function in operations.items() if rop & flag)

    def combined(source: Row, target: Row, full: Row) -> Row:
        source ^= full if rop & invert_source else 0
        target ^= full if rop & invert_target else 0
        return operation(source, target, full) ^ (full if rop & qxl.Rop.INVERS_RES else 0)

    return combined


def rop3_function(table: int) -> Callable[[Row, Row, Row, Row], Row]:
    """f(pattern, source, target, all)."""
    def combined(pattern: Row, source: Row, target: Row, full: Row) -> Row:
        result = 0
        for term in range(8):
            if table >> term & 1:
                result |= ((pattern if term & 4 else pattern ^ full) & (source if term & 2 else source ^ full)
                           & (target if term & 1 else target ^ full))
        return result

    return combined


def scaled(value: int, by: int) -> int:
    """value * by / 255, rounded as pixman does."""
    product = value * by + 128
    return product + (product >> 8) >> 8


def over(source: int, target: int, coverage: int = 255) -> int:
    """One premultiplied pixel over another, alpha and all, through a coverage of 0 to 255."""
    parts = [scaled(source >> shift & 255, coverage) for shift in (24, 16, 8, 0)]
    rest = 255 - parts[0]
    return sum(min(255, part + scaled(target >> shift & 255, rest)) << shift
               for part, shift in zip(parts, (24, 16, 8, 0)))


def added(source: int, target: int) -> int:
    """One pixel and another, channel by channel."""
    return sum(min(255, (source >> shift & 255) + (target >> shift & 255)) << shift for shift in (16, 8, 0))
