# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pictures as rows of RGB: QEMU's screendump, and the client's."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from pathlib import Path

from clients.errors import Failed

_XWD_HEADER = struct.Struct(">25I")


@dataclass(frozen=True)
class Picture:
    width: int
    height: int
    rgb: bytes

    def row(self, number: int) -> bytes:
        return self.rgb[number * self.width * 3 : (number + 1) * self.width * 3]

    def blank(self) -> bool:
        return self.rgb == self.rgb[:3] * (self.width * self.height)

    def shows(self, other: Picture) -> bool:
        """Whether the other picture is contained in this one, pixel by pixel: a client may have frames and borders."""
        if other.width > self.width or other.height > self.height:
            return False
        # search for a row that has more than one colour
        mark = next((y for y in range(other.height) if other.row(y) != other.row(y)[:3] * other.width), 0)
        wanted = other.row(mark)
        for y in range(mark, self.height - (other.height - mark) + 1):
            line, at = self.row(y), -1
            while (at := line.find(wanted, at + 1)) >= 0:
                if at % 3 == 0 and self._crop(at // 3, y - mark, other.width, other.height) == other.rgb:
                    return True
        return False

    def _crop(self, left: int, top: int, width: int, height: int) -> bytes:
        return b"".join(self.row(y)[left * 3 : (left + width) * 3] for y in range(top, top + height))

    def differing(self, other: Picture) -> str:
        if (self.width, self.height) != (other.width, other.height):
            return f"{self.width}x{self.height}, not {other.width}x{other.height}"
        differ = sum(self.rgb[at : at + 3] != other.rgb[at : at + 3] for at in range(0, len(self.rgb), 3))
        return f"{differ} of {self.width * self.height} pixels differ"

    def save(self, path: Path) -> None:
        path.write_bytes(b"P6 %d %d 255\n" % (self.width, self.height) + self.rgb)


def from_ppm(data: bytes) -> Picture:
    found = re.match(rb"P6\s(\d+)\s(\d+)\s255\s", data)
    if not found:
        raise Failed("not a picture of 8 bits a colour")
    width, height = int(found[1]), int(found[2])
    rgb, line, stride = data[found.end() :], width * 3, -(-width * 3 // 4) * 4
    if len(rgb) == stride * height:     # QEMU pads the lines
        return Picture(width, height, b"".join(rgb[at : at + line] for at in range(0, len(rgb), stride)))
    if len(rgb) != line * height:
        raise Failed("half a picture")
    return Picture(width, height, rgb)


def from_bgrx(width: int, height: int, stride: int, data: bytes) -> Picture:
    """32 bits per pixel, blue first."""
    rows = []
    for y in range(height):
        line = data[y * stride : y * stride + width * 4]
        row = bytearray(width * 3)
        row[0::3], row[1::3], row[2::3] = line[2::4], line[1::4], line[0::4]
        rows.append(bytes(row))
    return Picture(width, height, b"".join(rows))


def from_rgba(width: int, height: int, data: bytes) -> Picture:
    rgb = bytearray(width * height * 3)
    rgb[0::3], rgb[1::3], rgb[2::3] = data[0::4], data[1::4], data[2::4]
    return Picture(width, height, bytes(rgb))


def from_xwd(data: bytes) -> Picture:
    """The format in which Xvfb keeps its screen."""
    header = _XWD_HEADER.unpack_from(data)
    size, width, height, bits, stride, colours = header[0], header[4], header[5], header[11], header[12], header[19]
    if bits != 32:
        raise Failed(f"an X screen of {bits} bits")
    start = size + colours * 12
    return from_bgrx(width, height, stride, data[start : start + stride * height])
