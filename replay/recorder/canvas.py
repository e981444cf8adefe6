# SPDX-License-Identifier: LGPL-2.1-or-later
"""An independent painter: computes the final picture that a client must show for a generated recording.

It is written from the meaning of the commands, not from a client's code, so that the two can be compared. It paints
operations with an exactly defined result and refuses others with NotPainted: scaling by fractions, slanted lines,
curves, dashes, transforms.
"""
from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

from recorder import qxl
from recorder.commands import (AlphaBlend, Bitmap, Blackness, Brush, Composite, Copy, CopyBits, Drawable, DrawNothing, Fill,
                               FromSurface, Image, Invers, Mask, Opaque, Pattern, Quic, Rect, Rop3, Stroke, Text, Transparent,
                               Whiteness)
from recorder.pixels import (RGB, Row, added, from_pixels, mask_rows, over, part, repeated, rop3_function, rop_function,
                             rows_of, to_pixels)

RowSource = Callable[[int, int, int], Row]      # y, left, right of the target -> the source's pixels for them
WHITE = 0xFFFFFF
BLACK = 0


class NotPainted(Exception):
    """The result is not defined to the pixel."""


class Surface:
    def __init__(self, width: int, height: int, pixels: bytes | None = None):
        self.width, self.height = width, height
        self.data = bytearray(width * height * 4) if pixels is None else bytearray(pixels)

    def get(self, y: int, left: int, right: int) -> Row:
        start = (y * self.width + left) * 4
        return int.from_bytes(self.data[start:start + (right - left) * 4], "little")

    def put(self, y: int, left: int, right: int, row: Row) -> None:
        start = (y * self.width + left) * 4
        self.data[start:start + (right - left) * 4] = row.to_bytes((right - left) * 4, "little")

    def rows(self) -> list[Row]:
        return [self.get(y, 0, self.width) for y in range(self.height)]

    def pixel(self, x: int, y: int) -> int:
        return self.get(y, x, x + 1) & RGB

    def sha256(self) -> str:
        """Of the pixels row by row, the unused byte of each zero."""
        pixels = bytearray(self.data)
        pixels[3::4] = bytes(len(pixels) // 4)
        return hashlib.sha256(pixels).hexdigest()


class Canvas:
    """The surfaces of a device. Give it every command that is written to the recording, in the same order."""

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
        drawing = drawable.drawing
        match drawing:
            case DrawNothing():
                pass
            case Fill():
                rop = rop_function(drawing.rop, qxl.Rop.INVERS_BRUSH, qxl.Rop.INVERS_DEST)
                self._combine(drawable, self._brush(drawing.brush), rop, drawing.mask)
            case Opaque():
                self._blit(drawable, drawing.image, drawing.source, drawing.mask)
                rop = rop_function(drawing.rop, qxl.Rop.INVERS_BRUSH, qxl.Rop.INVERS_SRC)
                self._combine(drawable, self._brush(drawing.brush), rop, drawing.mask)
            case Copy():         # and Blend
                rop = rop_function(drawing.rop, qxl.Rop.INVERS_SRC, qxl.Rop.INVERS_DEST)
                self._combine(drawable, self._source(drawable.box, drawing.image, drawing.source), rop, drawing.mask)
            case CopyBits():
                self._copy_bits(drawable, drawing)
            case Blackness():
                self._put(drawable, BLACK, drawing.mask)
            case Whiteness():
                self._put(drawable, WHITE, drawing.mask)
            case Invers():
                self._combine(drawable, self._brush(None), lambda s, d, full: d ^ full, drawing.mask)
            case Rop3():
                self._rop3(drawable, drawing)
            case Stroke():
                self._stroke(drawable, drawing)
            case Text():
                self._text(drawable, drawing)
            case Transparent():
                self._each(drawable, self._source(drawable.box, drawing.image, drawing.source),
                           lambda s, d: d if s & RGB == drawing.colour else s)
            case AlphaBlend():
                opaque = 0 if _has_alpha(drawing.image) else 0xFF000000
                self._each(drawable, self._source(drawable.box, drawing.image, drawing.source),
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

    def _lay(self, drawable: Drawable, colours: Callable[[int, int, int, Row, Row], Row], mask: Mask | None = None) -> None:
        """target = colours(y, left, right, target, all), where the mask lets it."""
        target = self.surfaces[drawable.surface]
        for area in self._areas(drawable):
            full = repeated(RGB, area.width)
            for y in range(area.top, area.bottom):
                old = target.get(y, area.left, area.right) & full
                new = colours(y, area.left, area.right, old, full)
                if mask:
                    through = _mask_row(mask, drawable.box, y, area.left, area.right)
                    new = new & through | old & ~through
                target.put(y, area.left, area.right, new)

    def _combine(self, drawable: Drawable, source: RowSource, operation: Callable[[Row, Row, Row], Row],
                 mask: Mask | None = None) -> None:
        """target = operation(source, target, all)."""
        self._lay(drawable, lambda y, left, right, old, full: operation(source(y, left, right) & full, old, full), mask)

    def _put(self, drawable: Drawable, colour: int, mask: Mask | None = None) -> None:
        self._combine(drawable, self._brush(colour), lambda s, d, full: s, mask)

    def _blit(self, drawable: Drawable, image: Image, area: Rect, mask: Mask | None) -> None:
        self._combine(drawable, self._source(drawable.box, image, area), lambda s, d, full: s, mask)

    def _each(self, drawable: Drawable, source: RowSource, operation: Callable[[int, int], int]) -> None:
        """target = operation(source, target), pixel by pixel."""
        def colours(y: int, left: int, right: int, old: Row, _full: Row) -> Row:
            count = right - left
            return from_pixels([operation(s, d) & RGB for s, d in zip(to_pixels(source(y, left, right), count),
                                                                      to_pixels(old, count))])

        self._lay(drawable, colours)

    def _copy_bits(self, drawable: Drawable, move: CopyBits) -> None:
        target = self.surfaces[drawable.surface]
        before = target.rows()
        dx, dy = move.x - drawable.box.left, move.y - drawable.box.top
        self._combine(drawable, lambda y, left, right: part(before[y + dy], left + dx, right + dx), lambda s, d, full: s)

    def _rop3(self, drawable: Drawable, drawing: Rop3) -> None:
        function = rop3_function(drawing.rop3)
        source, brush = self._source(drawable.box, drawing.image, drawing.source), self._brush(drawing.brush)
        self._lay(drawable, lambda y, left, right, old, full: function(
            brush(y, left, right) & full, source(y, left, right) & full, old, full), drawing.mask)

    def _stroke(self, drawable: Drawable, drawing: Stroke) -> None:
        """Level and upright lines; a line's last point is not drawn."""
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
                length = max(abs(x1 - x0), abs(y1 - y0))
                step = ((x1 > x0) - (x1 < x0), (y1 > y0) - (y1 < y0))
                for at in range(length):
                    dot = Rect.at(x0 + step[0] * at, y0 + step[1] * at, 1, 1)
                    if inside := dot.common(drawable.box):
                        self._combine(Drawable(inside, drawing, drawable.clip, surface=drawable.surface),
                                      self._brush(drawing.brush), lambda s, d, full: s)

    def _text(self, drawable: Drawable, drawing: Text) -> None:
        if behind := drawing.back_area.common(drawable.box):
            self._combine(Drawable(behind, drawing, drawable.clip, surface=drawable.surface), self._brush(drawing.back),
                          lambda s, d, full: s)
        coverage = _coverage(drawing)
        ink = self._brush(drawing.fore)
        target = self.surfaces[drawable.surface]
        for area in self._areas(drawable):
            for y in range(area.top, area.bottom):
                colours = to_pixels(ink(y, area.left, area.right), area.width)
                pixels = to_pixels(target.get(y, area.left, area.right), area.width)
                for x, dense in coverage.get(y, {}).items():
                    at = x - area.left
                    if dense and 0 <= at < area.width:
                        pixels[at] = over(colours[at] | 0xFF000000, pixels[at], dense) & RGB
                target.put(y, area.left, area.right, from_pixels(pixels))

    def _composite(self, drawable: Drawable, drawing: Composite) -> None:
        if drawing.transform or drawing.mask or drawing.mask_transform:
            raise NotPainted("composite with a transform or a mask")
        opaque = 0 if _has_alpha(drawing.image) else 0xFF000000
        operation = {qxl.CompositeOp.SRC: lambda s, d: s, qxl.CompositeOp.ADD: added,
                     qxl.CompositeOp.OVER: lambda s, d: over(s | opaque, d)}[drawing.op]
        box = drawable.box
        if drawing.repeat:
            source = self._brush(Pattern(drawing.image, box.left - drawing.x, box.top - drawing.y))
        else:
            source = self._source(box, drawing.image, Rect.at(drawing.x, drawing.y, box.width, box.height))
        self._each(drawable, source, operation)

    # ---- where pixels come from

    def _rows(self, image: Image) -> list[Row]:
        match image:
            case Bitmap():
                return rows_of(image)
            case Quic():
                size = image.width * 4
                return [int.from_bytes(image.pixels[at:at + size], "little") for at in range(0, len(image.pixels), size)]
            case FromSurface():
                return self.surfaces[image.surface].rows()

    def _source(self, box: Rect, image: Image, area: Rect) -> RowSource:
        """`area` of the image laid over `box`, each pixel doubled, tripled and so on where the box is larger."""
        rows = self._rows(image)
        across, down = box.width // area.width, box.height // area.height
        if (across * area.width, down * area.height) != (box.width, box.height):
            raise NotPainted("scaled by a broken number")

        def source(y: int, left: int, right: int) -> Row:
            row = rows[(y - box.top) // down + area.top]
            if across == 1:
                return part(row, left - box.left + area.left, right - box.left + area.left)
            return from_pixels([part(row, at, at + 1) for at in
                                ((x - box.left) // across + area.left for x in range(left, right))])

        return source

    def _brush(self, brush: Brush) -> RowSource:
        if isinstance(brush, Pattern):
            rows, width = self._rows(brush.image), brush.image.width

            def tiled(y: int, left: int, right: int) -> Row:
                tile = rows[(y - brush.y) % len(rows)].to_bytes(width * 4, "little")
                start = (left - brush.x) % width
                count = (start + right - left + width - 1) // width
                return part(int.from_bytes(tile * count, "little"), start, start + right - left)

            return tiled
        colour = brush or 0
        return lambda y, left, right: repeated(colour, right - left)


def _has_alpha(image: Image) -> bool:
    return isinstance(image, Bitmap) and image.format == qxl.BitmapFormat.RGBA


def _mask_row(mask: Mask, box: Rect, y: int, left: int, right: int) -> Row:
    """Nothing is let through beside the mask's bitmap."""
    line = y - box.top + mask.y
    if not 0 <= line < mask.image.height:
        return 0
    first = left - box.left + mask.x
    return part(mask_rows(mask)[line], first, first + right - left)


def _coverage(text: Text) -> dict[int, dict[int, int]]:
    """Row -> column -> coverage 0 to 255. Where letters overlap the denser one counts."""
    found: dict[int, dict[int, int]] = {}
    for glyph in text.glyphs:
        bits = 1 if text.kind == qxl.StringFlag.RASTER_A1 else 4
        stride = (glyph.width * bits + 7) // 8
        for line in range(glyph.height):
            row = found.setdefault(glyph.y + glyph.height - 1 - line, {})
            data = glyph.rows[line * stride:(line + 1) * stride]
            for x in range(glyph.width):
                if bits == 1:
                    dense = 255 * (data[x // 8] >> (7 - x % 8) & 1)
                else:
                    dense = (data[x // 2] >> (4 if x % 2 == 0 else 0) & 15) << 4
                row[glyph.x + x] = max(row.get(glyph.x + x, 0), dense)
    return found
