# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pictures as arrays of rows x columns x (red, green, blue): QEMU's screendump, and the client's."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import numpy

from guest.errors import Failed

Pixels = numpy.ndarray[Any, Any]    # 8 bits each

_XWD_HEADER = struct.Struct(">25I")


def none() -> Pixels:
    """Of a client that has no screen yet."""
    return numpy.zeros((1, 1, 3), numpy.uint8)


def size(pixels: Pixels) -> str:
    return f"{pixels.shape[1]}x{pixels.shape[0]}"


def blank(pixels: Pixels) -> bool:
    return bool((pixels == pixels[0, 0]).all())


def shows(large: Pixels, small: Pixels) -> bool:
    """Whether the small picture is contained in the large one, pixel by pixel: a client may have frames and borders."""
    height, width = small.shape[:2]
    if height > large.shape[0] or width > large.shape[1]:
        return False
    # search for a row that has more than one colour
    mark = next((y for y, row in enumerate(small) if not blank(row[None])), 0)
    wanted = small[mark].tobytes()
    for top in range(large.shape[0] - height + 1):
        line, at = large[top + mark].tobytes(), -1
        while (at := line.find(wanted, at + 1)) >= 0:
            if at % 3 == 0 and numpy.array_equal(large[top:top + height, at // 3:at // 3 + width], small):
                return True
    return False


def differing(one: Pixels, other: Pixels) -> str:
    if one.shape != other.shape:
        return f"{size(one)}, not {size(other)}"
    return f"{(one != other).any(axis=2).sum()} of {one.shape[0] * one.shape[1]} pixels differ"


def save(pixels: Pixels, path: Path) -> None:
    path.write_bytes(b"P6 %d %d 255\n" % (pixels.shape[1], pixels.shape[0]) + pixels.tobytes())


def _lines(data: bytes, height: int, stride: int) -> Pixels:
    if len(data) < stride * height:
        raise Failed("half a picture")
    return numpy.frombuffer(data, numpy.uint8, stride * height).reshape(height, stride)


def from_ppm(data: bytes) -> Pixels:
    found = re.match(rb"P6\s(\d+)\s(\d+)\s255\s", data)
    if not found:
        raise Failed("not a picture of 8 bits a colour")
    width, height, content = int(found[1]), int(found[2]), data[found.end():]
    padded = -(-width * 3 // 4) * 4     # as QEMU pads the lines
    return _lines(content, height, padded if len(content) == padded * height else width * 3)[:, :width * 3].reshape(height, width, 3)


def from_bgrx(width: int, height: int, stride: int, data: bytes) -> Pixels:
    """32 bits per pixel, blue first."""
    return _lines(data, height, stride)[:, :width * 4].reshape(height, width, 4)[:, :, 2::-1]


def from_rgba(width: int, height: int, data: bytes) -> Pixels:
    return _lines(data, height, width * 4).reshape(height, width, 4)[:, :, :3]


def from_xwd(data: bytes) -> Pixels:
    """The format in which Xvfb keeps its screen."""
    header = _XWD_HEADER.unpack_from(data)
    start, width, height, bits, stride, colours = header[0], header[4], header[5], header[11], header[12], header[19]
    if bits != 32:
        raise Failed(f"an X screen of {bits} bits")
    return from_bgrx(width, height, stride, data[start + colours * 12:])
