# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes small recordings in spice-server's format, for tests.

    recording = Tiny()
    recording.primary(100, 80)
    recording.fill((0, 0, 10, 10), 0xff0000)
    path.write_bytes(recording.data)

Rectangles are (left, top, right, bottom).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

HEADER = b"SPICE_REPLAY 1\n"

CMD_DRAW, CMD_UPDATE, CMD_CURSOR, CMD_MESSAGE, CMD_SURFACE = 1, 2, 3, 4, 5
(DRAW_NOP, DRAW_FILL, DRAW_OPAQUE, DRAW_COPY, COPY_BITS, DRAW_BLEND, DRAW_BLACKNESS,
 DRAW_WHITENESS, DRAW_INVERS, DRAW_ROP3, DRAW_STROKE, DRAW_TEXT, DRAW_TRANSPARENT,
 DRAW_ALPHA_BLEND, DRAW_COMPOSITE) = range(15)
CURSOR_SET, CURSOR_MOVE, CURSOR_HIDE, CURSOR_TRAIL = range(4)
MESSAGE_WAKEUP, MESSAGE_DESTROY_SURFACES, MESSAGE_CREATE_PRIMARY = 2, 19, 20
MESSAGE_DESTROY_PRIMARY, MESSAGE_DESTROY_SURFACES_ASYNC = 21, 28
MESSAGE_CREATE_PRIMARY_ASYNC, MESSAGE_DESTROY_PRIMARY_ASYNC = 29, 30
FORMAT_32, FORMAT_ARGB = 32, 96
BITMAP_1BIT, BITMAP_8BIT, BITMAP_32BIT = 1, 5, 8
BITMAP_DIRECT, BITMAP_TOP_DOWN = 1, 4
ROP_PUT = 8
OP_SRC, OP_OVER = 1, 3

Rect = tuple[int, int, int, int]

NO_MASK = "flags 0\npoint 0 0\nimage 0\n"


def block(name: str, data: bytes, packed: bool = False) -> bytes:
    """A counted block of bytes."""
    head = f"binary {int(packed)} {name} {len(data)}:".encode()
    if packed:
        small = zlib.compress(data)
        return head + f"{len(small)}:".encode() + small + b"\n"
    return head + data + b"\n"


def chunks(name: str, data: bytes, pieces: int = 1, packed: bool = False) -> bytes:
    """Bytes in so many blocks of one size."""
    step = len(data) // pieces
    parts = [data[i * step:(i + 1) * step] for i in range(pieces)]
    return f"data_chunks {pieces - 1} {len(data)}\n".encode() + b"".join(
        block(name, part, packed) for part in parts)


def rect(name: str, area: Rect) -> bytes:
    left, top, right, bottom = area
    return f"rect {name} {top} {left} {bottom} {right}\n".encode()


def bitmap(width: int, height: int, pixels: bytes | None = None, *, fmt: int = BITMAP_32BIT,
           image_id: int = 0, flags: int = BITMAP_TOP_DOWN, image_flags: int = 0,
           palette: Sequence[int] | None = None, palette_id: int = 1, pieces: int = 1,
           packed: bool = False) -> bytes:
    """A picture, with pixels that differ from their neighbours unless given."""
    bits = {1: 1, 2: 1, 3: 4, 4: 4, 5: 8, 6: 16, 7: 24, 8: 32, 9: 32, 10: 8}[fmt]
    stride = (width * bits + 31) // 32 * 4
    if pixels is None:
        pixels = bytes((i * 37 + image_id) & 0xff for i in range(stride * height))
    out = (f"image 1\ndescriptor.id {image_id}\ndescriptor.type 0\n"
           f"descriptor.flags {image_flags}\ndescriptor.width {width}\n"
           f"descriptor.height {height}\nbitmap.format {fmt}\nbitmap.flags {flags}\n"
           f"bitmap.x {width}\nbitmap.y {height}\nbitmap.stride {stride}\n"
           f"has_palette {int(palette is not None)}\n").encode()
    if palette is not None:
        out += f"qp.num_ents {len(palette)}\nunique {palette_id}\n".encode()
        out += b"".join(b"ents %d\n" % colour for colour in palette)
    if flags & BITMAP_DIRECT:
        return out + block("image_data_flat", pixels, packed)
    return out + chunks("bitmap.data", pixels, pieces, packed)


def surface_image(surface: int) -> bytes:
    return (f"image 1\ndescriptor.id 0\ndescriptor.type 104\ndescriptor.flags 0\n"
            f"descriptor.width 0\ndescriptor.height 0\n"
            f"surface_image.surface_id {surface}\n").encode()


def quic_image(width: int, height: int, data: bytes) -> bytes:
    """A QUIC picture whose compressed bytes (after the header) are data."""
    whole = b"QUIC" + struct.pack("<IIII", 0, 4, width, height) + data
    return (f"image 1\ndescriptor.id 0\ndescriptor.type 1\ndescriptor.flags 0\n"
            f"descriptor.width {width}\ndescriptor.height {height}\n"
            f"quic.data_size {len(whole)}\n").encode() + chunks("quic.data", whole)


def mask(width: int, height: int) -> bytes:
    return b"flags 0\npoint 0 0\n" + bitmap(width, height, fmt=BITMAP_1BIT)


def solid(colour: int) -> bytes:
    return f"type 1\nu.color {colour}\n".encode()


def pattern(image: bytes) -> bytes:
    return b"type 2\n" + image + b"point 0 0\n"


def path(segments: Sequence[tuple[int, Sequence[tuple[int, int]]]]) -> bytes:
    """Segments of (flags, points in pixels)."""
    data = b"".join(
        struct.pack("<II", flags, len(points)) +
        b"".join(struct.pack("<ii", x << 4, y << 4) for x, y in points)
        for flags, points in segments)
    return chunks("path", data)


def glyphs(count: int, width: int = 8, height: int = 8, bits: int = 8) -> bytes:
    """A text of so many glyphs side by side."""
    flags = {1: 1, 4: 2, 8: 4}[bits]
    size = height * ((width * bits + 7) // 8)
    data = b"".join(
        struct.pack("<iiiiHH", 10 + i * width, 20, 0, 0, width, height) +
        bytes((i * 31 + j * 7) & 0xff for j in range(size))
        for i in range(count))
    return f"data_size {len(data)}\nlength {count}\nflags {flags}\n".encode() + chunks(
        "string", data)


class Tiny:
    """A recording that grows by an event a call."""

    def __init__(self, step_ns: int = 1_000_000) -> None:
        self.data = HEADER
        self.events: list[int] = []     # where each begins
        self.commands = 0
        self.time_ns = 5_000_000_000
        self.step_ns = step_ns

    def event(self, kind: int, number: int, body: bytes = b"") -> None:
        """kind is 0 for a command and 1 for a message."""
        self.events.append(len(self.data))
        self.data += f"event {len(self.events) - 1} {kind} {number} {self.time_ns}\n".encode()
        self.data += body
        self.time_ns += self.step_ns
        self.commands += kind == 0

    def message(self, number: int) -> None:
        self.event(1, number)

    def primary(self, width: int = 100, height: int = 80, *, packed: bool = False,
                stride: int | None = None, message: int = MESSAGE_CREATE_PRIMARY) -> None:
        stride = -width * 4 if stride is None else stride
        self.event(1, message,
                   f"{width} {height} {stride} {FORMAT_32}\n0 1 0 0\n".encode() +
                   block("data", bytes(abs(stride) * height), packed))

    def draw(self, draw_type: int, box: Rect, body: bytes = b"", *, surface: int = 0,
             clip: Sequence[Rect] | None = None, uses: Sequence[int] = (),
             self_bitmap: Rect | None = None, effect: int = 1) -> None:
        out = b"drawable\n" + rect("bbox", box)
        if clip is None:
            out += b"type 0\n"
        else:
            data = b"".join(struct.pack("<iiii", area[1], area[0], area[3], area[2])
                            for area in clip)
            out += b"type 1\n" + f"num_rects {len(clip)}\n".encode() + chunks("clip_rects", data)
        out += f"effect {effect}\nmm_time 0\nself_bitmap {int(self_bitmap is not None)}\n".encode()
        out += rect("self_bitmap_area", self_bitmap or (0, 0, 0, 0))
        out += f"surface_id {surface}\n".encode()
        used = [*uses, -1, -1, -1][:3]
        for other in used:
            area = (0, 0, 0, 0) if other == -1 else (0, 0, 1, 1)
            out += f"surfaces_dest {other}\n".encode() + rect("surfaces_rects", area)
        self.event(0, CMD_DRAW, out + f"type {draw_type}\n".encode() + body)

    def fill(self, box: Rect, colour: int = 0x8040, **kwargs: object) -> None:
        self.draw(DRAW_FILL, box, solid(colour) + b"rop_descriptor 8\n" + NO_MASK.encode(),
                  **kwargs)  # type: ignore[arg-type]

    def copy(self, box: Rect, image: bytes, source: Rect, **kwargs: object) -> None:
        self.draw(DRAW_COPY, box, image + rect("src_area", source) +
                  b"rop_descriptor 8\nscale_mode 0\n" + NO_MASK.encode(),
                  **kwargs)  # type: ignore[arg-type]

    def composite(self, box: Rect, source: int, origin: tuple[int, int], *, flags: int, surface: int = 0) -> None:
        """From another surface."""
        self.draw(DRAW_COMPOSITE, box, b"flags %d\n" % flags + surface_image(source) +
                  b"src_transform 0\nmask 0\nmask_transform 0\nsrc_origin %d %d\n" % origin + b"mask_origin 0 0\n",
                  surface=surface, uses=[source])

    def create(self, surface: int, width: int = 16, height: int = 16,
               data: bytes | None = None) -> None:
        out = (f"surface_cmd\nsurface_id {surface}\ntype 0\nflags {int(data is not None)}\n"
               f"u.surface_create.format {FORMAT_32}\nu.surface_create.width {width}\n"
               f"u.surface_create.height {height}\nu.surface_create.stride {-width * 4}\n")
        self.event(0, CMD_SURFACE, out.encode() + (block("data", data) if data else b""))

    def destroy(self, surface: int) -> None:
        self.event(0, CMD_SURFACE,
                   f"surface_cmd\nsurface_id {surface}\ntype 1\nflags 0\n".encode())

    def update(self, area: Rect, surface: int = 0) -> None:
        self.event(0, CMD_UPDATE, b"update\n" + rect("area", area) +
                   f"update_id 7\nsurface_id {surface}\n".encode())

    def text_message(self, text: bytes) -> None:
        self.event(0, CMD_MESSAGE, block("message", text))

    def cursor_set(self, width: int = 16, height: int = 16, *, unique: int = 1, kind: int = 0,
                   visible: int = 1) -> None:
        pixels, bits = width * height, (width + 7) // 8 * height
        size = {0: pixels * 4, 1: bits * 2, 2: (width + 1) // 2 * height + 64 + bits,
                3: pixels + 1024 + bits, 4: pixels * 2 + bits, 5: pixels * 3 + bits,
                6: pixels * 4 + bits}[kind]
        data = bytes((i * 11 + unique) & 0xff for i in range(size))
        self.event(0, CMD_CURSOR,
                   f"cursor_cmd\ntype {CURSOR_SET}\npoint16 5 5\nu.set.visible {visible}\n"
                   f"header.unique {unique}\nheader.type {kind}\nheader.width {width}\n"
                   f"header.height {height}\nheader.hot_spot_x 1\nheader.hot_spot_y 1\n"
                   f"data_size {size}\n".encode() + chunks("cursor", data))

    def cursor_move(self, x: int, y: int) -> None:
        self.event(0, CMD_CURSOR, f"cursor_cmd\ntype {CURSOR_MOVE}\npoint16 {x} {y}\n".encode())

    def cursor_hide(self) -> None:
        self.event(0, CMD_CURSOR, f"cursor_cmd\ntype {CURSOR_HIDE}\n".encode())

    def cursor_trail(self) -> None:
        self.event(0, CMD_CURSOR,
                   f"cursor_cmd\ntype {CURSOR_TRAIL}\nu.trail.length 3\n"
                   "u.trail.frequency 2\n".encode())


def small(width: int = 100, height: int = 80) -> Tiny:
    """A session in miniature."""
    tiny = Tiny()
    tiny.message(MESSAGE_WAKEUP)
    tiny.primary(width, height)
    tiny.fill((0, 0, 100, 80), 0x202020)
    tiny.fill((10, 10, 50, 50), 0x4080C0)
    tiny.copy((60, 20, 76, 36), bitmap(16, 16), (0, 0, 16, 16))
    tiny.cursor_set(8, 8)
    tiny.cursor_move(20, 20)
    tiny.create(5)
    tiny.fill((0, 0, 16, 16), 0x00FF00, surface=5)
    tiny.copy((80, 60, 96, 76), surface_image(5), (0, 0, 16, 16), uses=[5])
    tiny.destroy(5)
    tiny.fill((70, 2, 90, 12), 0xFF0000, clip=[(70, 2, 80, 12), (85, 2, 90, 12)])
    return tiny


def everything() -> Tiny:
    """Each kind of command, picture and cursor that can be played, once at least.

    Left out is QUIC, whose bytes only an encoder can make."""
    tiny = Tiny()
    box: Rect = (0, 0, 32, 32)
    whole = rect("src_area", box)
    rop = b"rop_descriptor 8\n"
    scale = b"scale_mode 0\n"
    none = NO_MASK.encode()
    image = bitmap(32, 32, image_id=9 << 32, image_flags=1)
    grey = [i * 0x010101 for i in range(256)]

    tiny.primary(200, 150, packed=True)
    tiny.draw(DRAW_NOP, box)
    tiny.fill(box)
    tiny.fill((40, 40, 60, 60), -1)
    tiny.draw(DRAW_FILL, box, pattern(bitmap(8, 8)) + rop + mask(32, 32))
    tiny.draw(DRAW_OPAQUE, box, image + whole + solid(5) + rop + scale + none)
    tiny.copy(box, image, box)
    for fmt in (2, 4, 5, 6, 7, 8, 9):   # nobody can draw the little-endian ones, 1 and 3
        colours = {2: grey[:2], 4: grey[:16], 5: grey}.get(fmt)
        tiny.copy(box, bitmap(32, 32, fmt=fmt, palette=colours, palette_id=fmt), box)
    tiny.copy(box, bitmap(32, 32, flags=BITMAP_DIRECT), box)
    tiny.copy(box, bitmap(32, 32, pieces=4), box)
    tiny.copy(box, bitmap(32, 32, pieces=2, packed=True), box)
    tiny.draw(COPY_BITS, (100, 100, 132, 132), b"point 0 0\n")
    tiny.draw(DRAW_BLEND, box, image + whole + rop + scale + none)
    tiny.draw(DRAW_BLACKNESS, box, mask(32, 32))
    tiny.draw(DRAW_WHITENESS, box, none)
    tiny.draw(DRAW_INVERS, box, none)
    tiny.draw(DRAW_ROP3, box, image + whole + solid(7) + b"rop3 184\n" + scale + none)
    line = path([(1 | 2, [(1, 1), (30, 30), (60, 2)])])
    curve = path([(1 | 2 | 16, [(1, 1), (30, 30), (60, 2), (70, 40)])])
    modes = b"fore_mode 8\nback_mode 8\n"
    tiny.draw(DRAW_STROKE, (0, 0, 80, 80), line + b"attr.flags 0\n" + solid(9) + modes)
    dashes = struct.pack("<ii", 3 << 4, 2 << 4)
    tiny.draw(DRAW_STROKE, (0, 0, 80, 80), curve + b"attr.flags 8\nattr.style_nseg 2\n" +
              block("style", dashes) + solid(9) + modes)
    for bits in (1, 4):     # spice-common reads beyond glyphs of 8 bits
        tiny.draw(DRAW_TEXT, (0, 0, 100, 40), glyphs(3, bits=bits) +
                  rect("back_area", (0, 0, 0, 0)) + solid(0xFFFFFF) + b"type 0\n" + modes)
    tiny.draw(DRAW_TRANSPARENT, box, image + whole + b"src_color 0\ntrue_color 0\n")
    tiny.draw(DRAW_ALPHA_BLEND, box, b"alpha_flags 0\nalpha 128\n" + image + whole)
    tiny.create(1, 32, 32)
    tiny.create(2, 32, 32, bytes(32 * 32 * 4))
    tiny.fill(box, 3, surface=1)
    matrix = b"src_transform 1\n" + block("transform", struct.pack("<6I", 1 << 16, 0, 0, 0,
                                                                   1 << 16, 0))
    tiny.draw(DRAW_COMPOSITE, box, b"flags 3\n" + surface_image(1) + matrix + b"mask 1\n" +
              bitmap(32, 32, fmt=10) + b"mask_transform 0\nsrc_origin 0 0\nmask_origin 0 0\n",
              uses=[1])
    tiny.copy(box, surface_image(2), box, uses=[2], self_bitmap=box)
    tiny.update(box)
    tiny.text_message(b"hello from the guest")
    tiny.text_message(b"")
    for kind in range(7):
        tiny.cursor_set(unique=100 + kind, kind=kind)
    tiny.cursor_trail()
    tiny.cursor_hide()
    tiny.destroy(1)
    tiny.destroy(2)
    tiny.message(MESSAGE_DESTROY_PRIMARY)
    tiny.message(MESSAGE_WAKEUP)
    tiny.primary(160, 120, message=MESSAGE_CREATE_PRIMARY_ASYNC)
    tiny.fill((0, 0, 160, 120), 0x123456)
    return tiny
