# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads the PNG files spice-drain writes (8 bits, grey, RGB or RGBA, not interlaced), and writes those of colours."""
from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class Picture:
    width: int
    height: int
    rows: list[bytes]            # of `step` bytes a pixel, red first
    step: int

    def pixel(self, x: int, y: int) -> int:
        return int.from_bytes(self.rows[y][x * self.step:x * self.step + 3], "big")


def _unfiltered(filter_type: int, line: bytearray, above: bytes, step: int) -> bytes:
    for at in range(len(line)):
        left = line[at - step] if at >= step else 0
        up = above[at]
        corner = above[at - step] if at >= step else 0
        match filter_type:
            case 0:
                guess = 0
            case 1:
                guess = left
            case 2:
                guess = up
            case 3:
                guess = (left + up) // 2
            case _:
                guess = min((left, up, corner), key=lambda value: abs(left + up - corner - value))
        line[at] = line[at] + guess & 255
    return bytes(line)


def read_png(path: Path) -> Picture:
    data = path.read_bytes()
    if not data.startswith(_SIGNATURE):
        raise ValueError(f"{path} is no PNG file")
    at, header, packed = len(_SIGNATURE), b"", b""
    while at < len(data):
        size = int.from_bytes(data[at:at + 4], "big")
        name, body = data[at + 4:at + 8], data[at + 8:at + 8 + size]
        if name == b"IHDR":
            header = body
        elif name == b"IDAT":
            packed += body
        at += size + 12
    width, height = int.from_bytes(header[:4], "big"), int.from_bytes(header[4:8], "big")
    step = {(8, 0): 1, (8, 2): 3, (8, 6): 4}[header[8], header[9]]
    lines = zlib.decompress(packed)
    rows: list[bytes] = []
    above = bytes(width * step)
    for y in range(height):
        start = y * (width * step + 1)
        above = _unfiltered(lines[start], bytearray(lines[start + 1:start + 1 + width * step]), above, step)
        rows.append(above)
    return Picture(width, height, rows, step)


def write_png(path: Path, picture: Picture) -> None:
    def part(name: bytes, body: bytes) -> bytes:
        return len(body).to_bytes(4, "big") + name + body + zlib.crc32(name + body).to_bytes(4, "big")

    kind = {3: 2, 4: 6}[picture.step]
    header = picture.width.to_bytes(4, "big") + picture.height.to_bytes(4, "big") + bytes((8, kind, 0, 0, 0))
    lines = b"".join(b"\0" + row for row in picture.rows)
    path.write_bytes(_SIGNATURE + part(b"IHDR", header) + part(b"IDAT", zlib.compress(lines, 9)) + part(b"IEND", b""))
