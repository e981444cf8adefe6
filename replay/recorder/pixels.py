# SPDX-License-Identifier: LGPL-2.1-or-later
"""Bitmaps of every format as arrays of pixels, and the arithmetic on them.

A pixel is a uint32, 0xAARRGGBB; an array has rows and columns, the top row first. Alpha is 0 in images that have none.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy

from recorder import qxl
from recorder.commands import Bitmap, Mask

Pixels = Any        # a numpy array of uint32

RGB = 0xFFFFFF


def from_bytes(data: bytes, width: int) -> Pixels:
    return numpy.frombuffer(data, "<u4").reshape(-1, width).astype(numpy.uint32)


def _lines(image: Bitmap) -> Any:
    """The bitmap's bytes by line, top line first."""
    lines = numpy.frombuffer(image.data, numpy.uint8).reshape(-1, image.stride)
    return lines if image.flags & qxl.BitmapFlag.TOP_DOWN else lines[::-1]


def _bits(image: Bitmap) -> Any:
    order: Any = "little" if image.format == qxl.BitmapFormat.BIT1_LE else "big"
    return numpy.unpackbits(_lines(image), axis=1, bitorder=order)[:, :image.width]


def _nibbles(image: Bitmap) -> Any:
    lines = _lines(image)
    pair = (lines & 15, lines >> 4) if image.format == qxl.BitmapFormat.BIT4_LE else (lines >> 4, lines & 15)
    return numpy.stack(pair, axis=2).reshape(len(lines), -1)[:, :image.width]


def _values(image: Bitmap) -> Pixels:
    """The pixels, of two to four bytes."""
    size = image.format.bits // 8
    parts = _lines(image)[:, :image.width * size].reshape(-1, image.width, size).astype(numpy.uint32)
    return sum(parts[:, :, at] << 8 * at for at in range(size))


def _rgb555(values: Pixels) -> Pixels:
    fives = ((values >> at & 31, shift) for at, shift in ((10, 16), (5, 8), (0, 0)))
    return sum((five << 3 | five >> 2) << shift for five, shift in fives)


@lru_cache(maxsize=256)
def pixels_of(image: Bitmap) -> Pixels:
    form = qxl.BitmapFormat
    if image.palette is not None:
        colours = numpy.array(image.palette.colours, numpy.uint32)
        match image.format:
            case form.BIT1_LE | form.BIT1_BE:
                return colours[_bits(image)]
            case form.BIT4_LE | form.BIT4_BE:
                return colours[_nibbles(image)]
            case form.BIT8:
                return colours[_lines(image)[:, :image.width]]
    match image.format:
        case form.BIT16:
            return _rgb555(_values(image))
        case form.BIT24 | form.BIT32:
            return _values(image) & RGB
        case form.RGBA:
            return _values(image)
    raise ValueError(f"no pixels in a bitmap of format {image.format.name}")


def let_through(mask: Mask) -> Any:
    """Whether each pixel is inside the mask."""
    return _bits(mask.image).astype(bool) ^ mask.inverse


def rop_function(rop: qxl.Rop, invert_source: qxl.Rop, invert_target: qxl.Rop) -> Callable[[Pixels, Pixels], Pixels]:
    """f(source, target). The two flags are the descriptor's bits that invert source and target, which differ between commands."""
    operations: dict[qxl.Rop, Callable[[Pixels, Pixels], Pixels]] = {
        qxl.Rop.PUT: lambda s, d: s,
        qxl.Rop.OR: lambda s, d: s | d,
        qxl.Rop.AND: lambda s, d: s & d,
        qxl.Rop.XOR: lambda s, d: s ^ d,
        qxl.Rop.BLACKNESS: lambda s, d: d & 0,
        qxl.Rop.WHITENESS: lambda s, d: d | RGB,
        qxl.Rop.INVERS: lambda s, d: d ^ RGB,
    }
    operation = next(function for flag, function in operations.items() if rop & flag)

    def inverted(pixels: Pixels, flag: qxl.Rop) -> Pixels:
        return pixels ^ RGB if rop & flag else pixels

    return lambda s, d: inverted(operation(inverted(s, invert_source), inverted(d, invert_target)), qxl.Rop.INVERS_RES)


def rop3_function(table: int) -> Callable[[Pixels, Pixels, Pixels], Pixels]:
    """f(pattern, source, target)."""
    def combined(*operands: Pixels) -> Pixels:
        result = operands[0] & 0
        for term in range(8):
            if table >> term & 1:
                pattern, source, target = (each if term & bit else ~each for each, bit in zip(operands, (4, 2, 1)))
                result |= pattern & source & target
        return result

    return combined


def scaled(value: Any, by: Any) -> Any:
    """value * by / 255, rounded as pixman does."""
    product = value * by + 128
    return product + (product >> 8) >> 8


def over(source: Any, target: Any, coverage: Any = 255) -> Any:
    """Premultiplied pixels over others, alpha included, through a coverage of 0 to 255."""
    rest = 255 - scaled(source >> 24 & 255, coverage)
    return sum(numpy.minimum(255, scaled(source >> shift & 255, coverage) + scaled(target >> shift & 255, rest)) << shift
               for shift in (24, 16, 8, 0))


def added(source: Pixels, target: Pixels) -> Pixels:
    """Adds pixels channel by channel."""
    return sum(numpy.minimum(255, (source >> shift & 255) + (target >> shift & 255)) << shift for shift in (16, 8, 0))
