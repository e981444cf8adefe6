# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes a recording: what a server with recording switched on would have written for these commands.

    with open("some.rec", "wb") as file:
        writer = RecordingWriter(file)
        writer.create_primary(640, 480)
        writer.draw(Drawable(Rect(0, 0, 640, 480), Fill(0x204A87)))
        writer.pause(0.5)
        writer.move_cursor(100, 100)

It checks nothing: recordings for tests may be invalid on purpose.
"""
from __future__ import annotations

import struct
from typing import BinaryIO

from recordings import test_support_qxl as qxl
from recordings.reader import HEADER, Blob, Event
from recordings.test_support_commands import (AlphaBlend, Bitmap, Blackness, Blend, Brush, Composite, Copy, CopyBits, CursorShape, Drawable,
                               DrawNothing, Fill, FromSurface, Image, Invers, Mask, NOWHERE, Need, Opaque, Pattern, Quic,
                               Rect, Rop3, Stroke, Text, Transparent, Whiteness)

START_NS = 1_000_000_000     # the first event's time
COMMAND_NS = 20_000          # default time between events

_DRAW_NUMBER: dict[type, qxl.Draw] = {
    DrawNothing: qxl.Draw.NOP, Fill: qxl.Draw.FILL, Opaque: qxl.Draw.OPAQUE, Copy: qxl.Draw.COPY, CopyBits: qxl.Draw.COPY_BITS,
    Blend: qxl.Draw.BLEND, Blackness: qxl.Draw.BLACKNESS, Whiteness: qxl.Draw.WHITENESS, Invers: qxl.Draw.INVERS,
    Rop3: qxl.Draw.ROP3, Stroke: qxl.Draw.STROKE, Text: qxl.Draw.TEXT, Transparent: qxl.Draw.TRANSPARENT,
    AlphaBlend: qxl.Draw.ALPHA_BLEND, Composite: qxl.Draw.COMPOSITE,
}
_NO_NEED = Need(-1, NOWHERE)


def _signed(value: int) -> int:
    """An unsigned 32-bit number as the recorder's %d prints it."""
    return value - (1 << 32) if value >= 1 << 31 else value


class RecordingWriter:
    """Events go to `out` at once. `now_ns` is the time of the next one."""

    def __init__(self, out: BinaryIO, step_ns: int = COMMAND_NS):
        self._out = out
        self._step_ns = step_ns
        self._number = 0
        self._body: list[bytes | Blob] = []
        self.now_ns = START_NS
        self.commands = 0
        out.write(HEADER)

    def pause(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)

    # ---- calls into the worker

    def create_primary(self, width: int, height: int, pixels: bytes | None = None, asynchronous: bool = False) -> None:
        """A screen of 32 bits per pixel, first row first in memory; black without pixels."""
        self._line("%d %d %d %d", width, height, width * 4, qxl.SurfaceFormat.XRGB32)
        self._line("0 1 0 0")    # position, mouse mode, flags, type
        self._blob("data", bytes(width * height * 4) if pixels is None else pixels)
        kind = qxl.Worker.CREATE_PRIMARY_SURFACE_ASYNC if asynchronous else qxl.Worker.CREATE_PRIMARY_SURFACE
        self._event(1, kind)

    def destroy_primary(self) -> None:
        self._event(1, qxl.Worker.DESTROY_PRIMARY_SURFACE)

    def wake_up(self) -> None:
        """The guest's notification after it has put commands into an empty ring. A replay ignores it."""
        self._event(1, qxl.Worker.WAKEUP)

    # ---- commands

    def draw(self, drawable: Drawable) -> None:
        self._line("drawable")
        self._rect("bbox", drawable.box)
        self._clip(drawable.clip)
        self._line("effect %d", drawable.effect)
        self._line("mm_time 0")
        self._line("self_bitmap %d", drawable.self_bitmap)
        self._rect("self_bitmap_area", drawable.box if drawable.self_bitmap else NOWHERE)
        self._line("surface_id %d", drawable.surface)
        for need in (drawable.needs + (_NO_NEED,) * 3)[:3]:
            self._line("surfaces_dest %d", need.surface)
            self._rect("surfaces_rects", need.area)
        self._line("type %d", _DRAW_NUMBER[type(drawable.drawing)])
        self._drawing(drawable.drawing)
        self._command(qxl.Command.DRAW)

    def update(self, area: Rect, update_id: int = 0, surface: int = 0) -> None:
        """The guest wants to read what has been drawn."""
        self._line("update")
        self._rect("area", area)
        self._line("update_id %d", update_id)
        self._line("surface_id %d", surface)
        self._command(qxl.Command.UPDATE)

    def message(self, text: str) -> None:
        """A line for the server's log. It must end with a NUL: no reader adds one, and the server searches for it."""
        self._blob("message", text.encode() + b"\0")
        self._command(qxl.Command.MESSAGE)

    def create_surface(self, surface: int, width: int, height: int, format: qxl.SurfaceFormat = qxl.SurfaceFormat.ARGB32,
                       pixels: bytes | None = None, stride: int = 0) -> None:
        """stride: negative if the last row is first in memory; 0: the width's size."""
        self._line("surface_cmd")
        self._line("surface_id %d", surface)
        self._line("type %d", qxl.SurfaceCommand.CREATE)
        self._line("flags %d", 0 if pixels is None else qxl.SurfaceFlag.KEEP_DATA)
        self._line("u.surface_create.format %d", format)
        self._line("u.surface_create.width %d", width)
        self._line("u.surface_create.height %d", height)
        self._line("u.surface_create.stride %d", stride or -(-width * format.bits // 32) * 4)
        if pixels is not None:
            self._blob("data", pixels)
        self._command(qxl.Command.SURFACE)

    def destroy_surface(self, surface: int) -> None:
        self._line("surface_cmd")
        self._line("surface_id %d", surface)
        self._line("type %d", qxl.SurfaceCommand.DESTROY)
        self._line("flags 0")
        self._command(qxl.Command.SURFACE)

    def set_cursor(self, x: int, y: int, shape: CursorShape, visible: bool = True) -> None:
        self._line("cursor_cmd")
        self._line("type %d", qxl.CursorCommand.SET)
        self._line("point16 %d %d", x, y)
        self._line("u.set.visible %d", visible)
        self._line("header.unique %d", shape.unique)
        self._line("header.type %d", shape.kind)
        self._line("header.width %d", shape.width)
        self._line("header.height %d", shape.height)
        self._line("header.hot_spot_x %d", shape.hot_x)
        self._line("header.hot_spot_y %d", shape.hot_y)
        self._line("data_size %d", len(shape.data))
        self._chunks("cursor", shape.data)
        self._command(qxl.Command.CURSOR)

    def move_cursor(self, x: int, y: int) -> None:
        self._line("cursor_cmd")
        self._line("type %d", qxl.CursorCommand.MOVE)
        self._line("point16 %d %d", x, y)
        self._command(qxl.Command.CURSOR)

    def hide_cursor(self) -> None:
        self._line("cursor_cmd")
        self._line("type %d", qxl.CursorCommand.HIDE)
        self._command(qxl.Command.CURSOR)

    def trail_cursor(self, length: int, frequency: int) -> None:
        self._line("cursor_cmd")
        self._line("type %d", qxl.CursorCommand.TRAIL)
        self._line("u.trail.length %d", length)
        self._line("u.trail.frequency %d", frequency)
        self._command(qxl.Command.CURSOR)

    # ---- parts of drawables

    def _drawing(self, what: object) -> None:
        match what:
            case Fill():
                self._brush(what.brush)
                self._line("rop_descriptor %d", what.rop)
                self._mask(what.mask)
            case Opaque():
                self._source(what.image, what.source)
                self._brush(what.brush)
                self._line("rop_descriptor %d", what.rop)
                self._line("scale_mode %d", what.scale)
                self._mask(what.mask)
            case Copy():         # and Blend
                self._source(what.image, what.source)
                self._line("rop_descriptor %d", what.rop)
                self._line("scale_mode %d", what.scale)
                self._mask(what.mask)
            case CopyBits():
                self._line("point %d %d", what.x, what.y)
            case Blackness() | Whiteness() | Invers():
                self._mask(what.mask)
            case Rop3():
                self._source(what.image, what.source)
                self._brush(what.brush)
                self._line("rop3 %d", what.rop3)
                self._line("scale_mode %d", what.scale)
                self._mask(what.mask)
            case Stroke():
                self._stroke(what)
            case Text():
                self._text(what)
            case Transparent():
                self._source(what.image, what.source)
                self._line("src_color %d", what.colour)
                self._line("true_color %d", what.colour)
            case AlphaBlend():
                self._line("alpha_flags %d", what.flags)
                self._line("alpha %d", what.alpha)
                self._source(what.image, what.source)
            case Composite():
                self._composite(what)

    def _source(self, image: Image, area: Rect) -> None:
        self._image(image)
        self._rect("src_area", area)

    def _stroke(self, stroke: Stroke) -> None:
        path = bytearray()
        for segment in stroke.path:
            path += struct.pack("<II", segment.flags, len(segment.points))
            for x, y in segment.points:
                path += struct.pack("<ii", x * 16, y * 16)       # 28.4 fixed point
        self._chunks("path", bytes(path))
        flags = (qxl.LineFlag.STYLED if stroke.dashes else qxl.LineFlag(0)) \
            | (qxl.LineFlag.START_WITH_GAP if stroke.gap_first else qxl.LineFlag(0))
        self._line("attr.flags %d", flags)
        if stroke.dashes:
            self._line("attr.style_nseg %d", len(stroke.dashes))
            self._blob("style", struct.pack(f"<{len(stroke.dashes)}i", *(length * 16 for length in stroke.dashes)))
        self._brush(stroke.brush)
        self._line("fore_mode %d", stroke.rop)
        self._line("back_mode %d", stroke.rop)

    def _text(self, text: Text) -> None:
        data = bytearray()
        for glyph in text.glyphs:
            data += struct.pack("<iiiiHH", glyph.x, glyph.y, 0, 0, glyph.width, glyph.height) + glyph.rows
        self._line("data_size %d", len(data))
        self._line("length %d", len(text.glyphs))
        self._line("flags %d", text.kind)
        self._chunks("string", bytes(data))
        self._rect("back_area", text.back_area)
        self._brush(text.fore)
        self._brush(text.back)
        self._line("fore_mode %d", qxl.Rop.PUT)
        self._line("back_mode %d", qxl.Rop.PUT)

    def _composite(self, what: Composite) -> None:
        self._line("flags %d", what.op | what.repeat << 14 | what.repeat << 16)
        self._image(what.image)
        self._transform("src_transform", what.transform)
        self._line("mask %d", what.mask is not None)
        if what.mask is not None:
            self._image(what.mask)
        self._transform("mask_transform", what.mask_transform)
        self._line("src_origin %d %d", what.x, what.y)
        self._line("mask_origin %d %d", what.mask_x, what.mask_y)

    def _transform(self, name: str, numbers: tuple[int, ...] | None) -> None:
        self._line(f"{name} %d", numbers is not None)
        if numbers is not None:
            self._blob("transform", struct.pack("<6i", *numbers))

    def _clip(self, rects: tuple[Rect, ...] | None) -> None:
        if rects is None:
            self._line("type %d", qxl.ClipType.NONE)
            return
        self._line("type %d", qxl.ClipType.RECTS)
        self._line("num_rects %d", len(rects))
        self._chunks("clip_rects", b"".join(struct.pack("<iiii", r.top, r.left, r.bottom, r.right) for r in rects))

    def _brush(self, brush: Brush) -> None:
        if brush is None:
            self._line("type %d", qxl.BrushType.NONE)
        elif isinstance(brush, Pattern):
            self._line("type %d", qxl.BrushType.PATTERN)
            self._image(brush.image)
            self._line("point %d %d", brush.x, brush.y)
        else:
            self._line("type %d", qxl.BrushType.SOLID)
            self._line("u.color %d", _signed(brush))

    def _mask(self, mask: Mask | None) -> None:
        self._line("flags %d", qxl.MaskFlag.INVERS if mask and mask.inverse else 0)
        self._line("point %d %d", mask.x if mask else 0, mask.y if mask else 0)
        self._image(mask.image if mask else None)

    def _image(self, image: Image | None) -> None:
        self._line("image %d", image is not None)
        match image:
            case Bitmap():
                self._descriptor(image.unique, qxl.ImageType.BITMAP, image.image_flags, image)
                self._bitmap(image)
            case Quic():
                self._descriptor(image.unique, qxl.ImageType.QUIC, qxl.ImageFlag(0), image)
                self._line("quic.data_size %d", len(image.data))
                self._chunks("quic.data", image.data, image.chunk)
            case FromSurface():
                self._descriptor(0, qxl.ImageType.SURFACE, qxl.ImageFlag(0), image)
                self._line("surface_image.surface_id %d", image.surface)

    def _descriptor(self, unique: int, kind: qxl.ImageType, flags: qxl.ImageFlag, image: Image) -> None:
        self._line("descriptor.id %d", unique)
        self._line("descriptor.type %d", kind)
        self._line("descriptor.flags %d", flags)
        self._line("descriptor.width %d", image.width)
        self._line("descriptor.height %d", image.height)

    def _bitmap(self, image: Bitmap) -> None:
        self._line("bitmap.format %d", image.format)
        self._line("bitmap.flags %d", image.flags)
        self._line("bitmap.x %d", image.width)
        self._line("bitmap.y %d", image.height)
        self._line("bitmap.stride %d", image.stride)
        self._line("has_palette %d", image.palette is not None)
        if image.palette is not None:
            self._line("qp.num_ents %d", len(image.palette.colours))
            self._line("unique %d", image.palette.unique)
            for colour in image.palette.colours:
                self._line("ents %d", _signed(colour))
        if image.flags & qxl.BitmapFlag.DIRECT:
            self._blob("image_data_flat", image.data)
        else:
            self._chunks("bitmap.data", image.data, image.chunk)

    # ---- the format

    def _line(self, text: str, *numbers: int) -> None:
        self._body.append((text % numbers if numbers else text).encode())

    def _rect(self, name: str, rect: Rect) -> None:
        self._line(f"rect {name} %d %d %d %d", rect.top, rect.left, rect.bottom, rect.right)

    def _blob(self, name: str, data: bytes) -> None:
        self._body.append(Blob(name, data))

    def _chunks(self, name: str, data: bytes, size: int = 0) -> None:
        """A chain of pieces of `size` bytes. The recorded number is that of the pieces after the first."""
        pieces = [data[at:at + size] for at in range(0, len(data), size)] if size else [data]
        self._line("data_chunks %d %d", len(pieces) - 1, len(data))
        for piece in pieces:
            self._blob(name, piece)

    def _command(self, kind: qxl.Command) -> None:
        self._event(0, kind)
        self.commands += 1

    def _event(self, what: int, kind: int) -> None:
        self._out.write(Event(self._number, what, kind, self.now_ns, self._body).encode())
        self._body = []
        self._number += 1
        self.now_ns += self._step_ns
