# SPDX-License-Identifier: LGPL-2.1-or-later
"""An independent painter: computes the final picture that a client must show for a generated recording.

It is written from the meaning of the commands, not from a client's code, so that the two can be compared. It paints
operations with an exactly defined result and refuses others with NotPainted: scaling by fractions, slanted lines,
curves, dashes, transforms.
"""
from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from recorder import qxl
from recorder.commands import (AlphaBlend, Bitmap, Blackness, Brush, Composite, Copy, CopyBits, Drawable, DrawNothing, Fill,
                               FromSurface, Image, Invers, Mask, Opaque, Palette, Pattern, Quic, Rect, Rop3, Stroke, Text, Transparent,
                               Whiteness)
from recorder.pixels import RGB, Pixels, added, from_bytes, let_through, over, pixels_of, rop3_function, rop_function

Source = Callable[[Rect], Pixels]       # an area of the target -> the source's pixels for it
WHITE = 0xFFFFFF
BLACK = 0


class NotPainted(Exception):
    """The result is not defined to the pixel."""


class Surface:
    def __init__(self, width: int, height: int, pixels: bytes | None = None):
        self.width, self.height = width, height
        self.pixels: Pixels = from_bytes(pixels or bytes(width * height * 4), width)

    def pixel(self, x: int, y: int) -> int:
        return int(self.pixels[y, x]) & RGB

    def sha256(self) -> str:
        """Hash of the pixels row by row, with the unused byte of each as zero."""
        return hashlib.sha256((self.pixels & RGB).astype("<u4").tobytes()).hexdigest()


class Canvas:
    """The surfaces of a device. Must get every command that is written to the recording, in the same order."""

    def __init__(self) -> None:
        self.surfaces: dict[int, Surface] = {}

    @property
    def primary(self) -> Surface:
        return self.surfaces[0]

    def create(self, surface: int, width: int, height: int, pixels: bytes | None = None) -> None:
        self.surfaces[surface] = Surface(width, height, pixels)

    def destroy(self, surface: int) -> None:
        del self.surfaces[surface]

    def draw(self, drawable: Drawable) -> None:
        drawing, box = drawable.drawing, drawable.box
        match drawing:
            case DrawNothing():
                pass
            case Fill():
                rop = rop_function(drawing.rop, qxl.Rop.INVERS_BRUSH, qxl.Rop.INVERS_DEST)
                self._combine(drawable, self._brush(drawing.brush), rop, drawing.mask)
            case Opaque():
                self._put(drawable, self._source(box, drawing.image, drawing.source), drawing.mask)
                rop = rop_function(drawing.rop, qxl.Rop.INVERS_BRUSH, qxl.Rop.INVERS_SRC)
                self._combine(drawable, self._brush(drawing.brush), rop, drawing.mask)
            case Copy():         # and Blend
                rop = rop_function(drawing.rop, qxl.Rop.INVERS_SRC, qxl.Rop.INVERS_DEST)
                self._combine(drawable, self._source(box, drawing.image, drawing.source), rop, drawing.mask)
            case CopyBits():
                before = self.surfaces[drawable.surface].pixels.copy()
                self._put(drawable, lambda area: _cut(before, area.moved(drawing.x - box.left, drawing.y - box.top)))
            case Blackness():
                self._put(drawable, self._brush(BLACK), drawing.mask)
            case Whiteness():
                self._put(drawable, self._brush(WHITE), drawing.mask)
            case Invers():
                self._combine(drawable, self._brush(None), lambda s, d: ~d, drawing.mask)
            case Rop3():
                function = rop3_function(drawing.rop3)
                source, brush = self._source(box, drawing.image, drawing.source), self._brush(drawing.brush)
                self._lay(drawable, lambda area, old: function(brush(area), source(area), old), drawing.mask)
            case Stroke():
                self._stroke(drawable, drawing)
            case Text():
                self._text(drawable, drawing)
            case Transparent():
                self._combine(drawable, self._source(box, drawing.image, drawing.source),
                              lambda s, d: numpy.where(s & RGB == drawing.colour, d, s))
            case AlphaBlend():
                opaque = 0 if _has_alpha(drawing.image) else 0xFF000000
                self._combine(drawable, self._source(box, drawing.image, drawing.source),
                              lambda s, d: over(s | opaque, d, drawing.alpha))
            case Composite():
                self._composite(drawable, drawing)

    # ---- ways to paint

    def _areas(self, drawable: Drawable) -> Iterator[Rect]:
        target = self.surfaces[drawable.surface]
        inside = drawable.box.common(Rect(0, 0, target.width, target.height))
        if inside:
            for rect in (inside,) if drawable.clip is None else drawable.clip:
                if common := rect.common(inside):
                    yield common

    def _lay(self, drawable: Drawable, colours: Callable[[Rect, Pixels], Pixels], mask: Mask | None = None) -> None:
        """target = colours(area, target), inside the mask."""
        for area in self._areas(drawable):
            target = _cut(self.surfaces[drawable.surface].pixels, area)
            old = target & RGB
            new = colours(area, old) & RGB
            target[...] = numpy.where(_masked(mask, drawable.box, area), new, old) if mask else new

    def _combine(self, drawable: Drawable, source: Source, operation: Callable[[Pixels, Pixels], Pixels],
                 mask: Mask | None = None) -> None:
        """target = operation(source, target)."""
        self._lay(drawable, lambda area, old: operation(source(area), old), mask)

    def _put(self, drawable: Drawable, source: Source, mask: Mask | None = None) -> None:
        self._combine(drawable, source, lambda s, d: s, mask)

    def _stroke(self, drawable: Drawable, drawing: Stroke) -> None:
        """Horizontal and vertical lines; the last point of a line is not drawn."""
        if drawing.dashes or drawing.rop != qxl.Rop.PUT:
            raise NotPainted("dashed or combined line")
        for segment in drawing.path:
            points = list(segment.points)
            if segment.flags & qxl.PathFlag.BEZIER:
                raise NotPainted("curve")
            if segment.flags & qxl.PathFlag.CLOSE:
                points.append(points[0])
            for (x0, y0), (x1, y1) in zip(points, points[1:]):
                if x0 != x1 and y0 != y1:
                    raise NotPainted("slanted line")
                step = ((x1 > x0) - (x1 < x0), (y1 > y0) - (y1 < y0))
                for at in range(max(abs(x1 - x0), abs(y1 - y0))):
                    dot = Rect.at(x0 + step[0] * at, y0 + step[1] * at, 1, 1)
                    if inside := dot.common(drawable.box):
                        self._put(Drawable(inside, drawing, drawable.clip, surface=drawable.surface), self._brush(drawing.brush))

    def _text(self, drawable: Drawable, drawing: Text) -> None:
        if behind := drawing.back_area.common(drawable.box):
            self._put(Drawable(behind, drawing, drawable.clip, surface=drawable.surface), self._brush(drawing.back))
        target, ink = self.surfaces[drawable.surface], self._brush(drawing.fore)
        coverage = _coverage(drawing, target.width, target.height)
        self._lay(drawable, lambda area, old: over(ink(area) | 0xFF000000, old, _cut(coverage, area)))

    def _composite(self, drawable: Drawable, drawing: Composite) -> None:
        if drawing.transform or drawing.mask or drawing.mask_transform:
            raise NotPainted("composite with a transform or a mask")
        opaque = 0 if _has_alpha(drawing.image) else 0xFF000000
        operation: Callable[[Pixels, Pixels], Pixels] = {
            qxl.CompositeOp.SRC: lambda s, d: s, qxl.CompositeOp.ADD: added,
            qxl.CompositeOp.OVER: lambda s, d: over(s | opaque, d)}[drawing.op]
        box = drawable.box
        if drawing.repeat:
            source = self._brush(Pattern(drawing.image, box.left - drawing.x, box.top - drawing.y))
        else:
            source = self._source(box, drawing.image, Rect.at(drawing.x, drawing.y, box.width, box.height))
        self._combine(drawable, source, operation)

    # ---- where pixels come from

    def _pixels(self, image: Image) -> Pixels:
        match image:
            case Bitmap():
                return pixels_of(image)
            case Quic():
                return from_bytes(image.pixels, image.width)
            case FromSurface():
                return self.surfaces[image.surface].pixels.copy()

    def _source(self, box: Rect, image: Image, area: Rect) -> Source:
        """The pixels of the image's `area` for `box`, repeated if the box is larger."""
        across, down = box.width // area.width, box.height // area.height
        if (across * area.width, down * area.height) != (box.width, box.height):
            raise NotPainted("scaled by a broken number")
        laid = _cut(self._pixels(image), area).repeat(down, axis=0).repeat(across, axis=1)
        return lambda part: _cut(laid, part.moved(-box.left, -box.top))

    def _brush(self, brush: Brush) -> Source:
        if isinstance(brush, Pattern):
            tile, x, y = self._pixels(brush.image), brush.x, brush.y
            return lambda area: tile[numpy.ix_((numpy.arange(area.top, area.bottom) - y) % tile.shape[0],
                                               (numpy.arange(area.left, area.right) - x) % tile.shape[1])]
        colour = brush or 0
        return lambda area: numpy.full((area.height, area.width), colour, numpy.uint32)


def _cut(pixels: Pixels, area: Rect) -> Pixels:
    return pixels[area.top:area.bottom, area.left:area.right]


def _has_alpha(image: Image) -> bool:
    return isinstance(image, Bitmap) and image.format == qxl.BitmapFormat.RGBA


def _masked(mask: Mask, box: Rect, area: Rect) -> Any:
    """Whether each pixel of the area is inside the mask. Outside the mask's bitmap none is."""
    through = let_through(mask)
    y = numpy.arange(area.top, area.bottom) - box.top + mask.y
    x = numpy.arange(area.left, area.right) - box.left + mask.x
    height, width = through.shape
    inside = numpy.logical_and.outer((y >= 0) & (y < height), (x >= 0) & (x < width))
    return inside & through[numpy.ix_(y.clip(0, height - 1), x.clip(0, width - 1))]


def _coverage(text: Text, width: int, height: int) -> Pixels:
    """0 to 255 for each pixel of a surface. Where letters overlap, the higher value."""
    found = numpy.zeros((height, width), numpy.uint32)
    form, grey = ((qxl.BitmapFormat.BIT1_BE, (0, 255)) if text.kind == qxl.StringFlag.RASTER_A1
                  else (qxl.BitmapFormat.BIT4_BE, tuple(range(0, 256, 16))))
    for glyph in text.glyphs:
        letter = pixels_of(Bitmap(form, glyph.width, glyph.height, glyph.rows, Palette(grey), qxl.BitmapFlag(0)))
        part = Rect.at(glyph.x, glyph.y, glyph.width, glyph.height)
        if inside := part.common(Rect(0, 0, width, height)):
            shown = _cut(found, inside)
            numpy.maximum(shown, _cut(letter, inside.moved(-part.left, -part.top)), out=shown)
    return found
