# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes each command of a generated session to the recording and paints it on a canvas."""
from __future__ import annotations

from typing import BinaryIO

from recorder import qxl
from recorder.canvas import Canvas, NotPainted
from recorder.commands import (Blackness, Copy, CopyBits, CursorShape, Drawable, Drawing, Fill, FromSurface, Image,
                               Invers, Need, Opaque, Rect, Whiteness)
from recorder.writer import RecordingWriter

_READS_TARGET = qxl.Rop.OR | qxl.Rop.AND | qxl.Rop.XOR | qxl.Rop.INVERS


def natural_effect(drawing: Drawing) -> qxl.Effect:
    """The effect of a drawing as a driver declares it. A server decides by it which drawings it may drop."""
    if getattr(drawing, "mask", None) is not None:
        return qxl.Effect.BLEND
    match drawing:
        case Fill(rop=rop) | Copy(rop=rop) if rop & qxl.Rop.XOR:
            return qxl.Effect.REVERT_ON_DUP
        case Fill(rop=rop) | Copy(rop=rop) if rop & _READS_TARGET:
            return qxl.Effect.NOP_ON_DUP
        case Fill() | Copy() | Opaque() | CopyBits() | Blackness() | Whiteness():
            return qxl.Effect.OPAQUE
        case Invers():
            return qxl.Effect.REVERT_ON_DUP
    return qxl.Effect.BLEND


class Stage:
    """`canvas.primary` is the final picture; `unpainted` are the boxes in which it is not defined to the pixel."""

    def __init__(self, out: BinaryIO, paint: bool = True):
        self.writer = RecordingWriter(out)
        self.canvas = Canvas() if paint else None
        self.unpainted: list[Rect] = []
        self.pause = self.writer.pause

    def create_primary(self, width: int, height: int, asynchronous: bool = False) -> None:
        self.writer.create_primary(width, height, asynchronous=asynchronous)
        if self.canvas:
            self.canvas.create(0, width, height)

    def destroy_primary(self) -> None:
        self.writer.destroy_primary()
        if self.canvas:
            self.canvas.destroy(0)

    def draw(self, box: Rect, drawing: Drawing, clip: tuple[Rect, ...] | None = None, surface: int = 0,
             effect: qxl.Effect | None = None) -> None:
        drawable = Drawable(box, drawing, clip, natural_effect(drawing) if effect is None else effect, surface,
                            _needs(box, drawing, surface))
        self.writer.draw(drawable)
        if self.canvas:
            try:
                self.canvas.draw(drawable)
            except NotPainted:
                self.unpainted.append(box)

    def create_surface(self, surface: int, width: int, height: int, format: qxl.SurfaceFormat = qxl.SurfaceFormat.ARGB32,
                       pixels: bytes | None = None) -> None:
        self.writer.create_surface(surface, width, height, format, pixels)
        if self.canvas:
            self.canvas.create(surface, width, height, pixels)

    def destroy_surface(self, surface: int) -> None:
        self.writer.destroy_surface(surface)
        if self.canvas:
            self.canvas.destroy(surface)

    def set_cursor(self, x: int, y: int, shape: CursorShape, visible: bool = True) -> None:
        self.writer.set_cursor(x, y, shape, visible)

    def move_cursor(self, x: int, y: int) -> None:
        self.writer.move_cursor(x, y)


def _needs(box: Rect, drawing: Drawing, surface: int) -> tuple[Need, ...]:
    if isinstance(drawing, CopyBits):
        return (Need(surface, Rect.at(drawing.x, drawing.y, box.width, box.height)),)
    image: Image | None = getattr(drawing, "image", None)
    if isinstance(image, FromSurface):
        return (Need(image.surface, getattr(drawing, "source", Rect(0, 0, image.width, image.height))),)
    return ()
