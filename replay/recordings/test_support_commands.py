# SPDX-License-Identifier: LGPL-2.1-or-later
"""QXL commands as values: input of the writer and of the canvas.

Coordinates are pixels, right and bottom exclusive. Colours are 0xRRGGBB. Pixels of an image are as in memory: bytes
with a stride, the first row first in memory (which is the bottom one unless the bitmap is TOP_DOWN).
"""
from __future__ import annotations

from dataclasses import dataclass, field

from recordings import test_support_qxl as qxl


@dataclass(frozen=True)
class Rect:
    left: int
    top: int
    right: int
    bottom: int

    @classmethod
    def at(cls, left: int, top: int, width: int, height: int) -> Rect:
        return cls(left, top, left + width, top + height)

    @property
    def width(self) -> int:
        return self.right - self.left

    @property
    def height(self) -> int:
        return self.bottom - self.top

    def moved(self, dx: int, dy: int) -> Rect:
        return Rect(self.left + dx, self.top + dy, self.right + dx, self.bottom + dy)

    def common(self, other: Rect) -> Rect | None:
        """The intersection; None if it is empty."""
        rect = Rect(max(self.left, other.left), max(self.top, other.top),
                    min(self.right, other.right), min(self.bottom, other.bottom))
        return rect if rect.width > 0 and rect.height > 0 else None


NOWHERE = Rect(0, 0, 0, 0)


@dataclass(frozen=True)
class Palette:
    colours: tuple[int, ...]
    unique: int = 0          # not 0: the client may keep it under this number


@dataclass(frozen=True)
class Bitmap:
    format: qxl.BitmapFormat
    width: int
    height: int
    data: bytes
    palette: Palette | None = None
    flags: qxl.BitmapFlag = qxl.BitmapFlag.TOP_DOWN
    unique: int = 0          # with ImageFlag.CACHE: the client keeps it under this number
    image_flags: qxl.ImageFlag = qxl.ImageFlag(0)
    chunk: int = 0           # bytes per piece of the data; 0: one piece

    @property
    def stride(self) -> int:
        return len(self.data) // self.height


@dataclass(frozen=True)
class Quic:
    """An image that the guest's driver has compressed."""
    width: int
    height: int
    data: bytes
    pixels: bytes            # the decoded pixels, 4 bytes each, top row first; not part of a recording
    unique: int = 0
    chunk: int = 0


@dataclass(frozen=True)
class FromSurface:
    """The pixels of another surface at the time of the command. The drawable's `needs` must name that surface."""
    surface: int
    width: int
    height: int


Image = Bitmap | Quic | FromSurface


@dataclass(frozen=True)
class Pattern:
    image: Image
    x: int = 0               # position of a tile's corner on the target
    y: int = 0


Brush = int | Pattern | None


@dataclass(frozen=True)
class Mask:
    """Draws only where the bitmap (one bit per pixel) is set; with `inverse`, where it is not."""
    image: Bitmap
    x: int = 0               # the point of the bitmap at the drawable's top left corner
    y: int = 0
    inverse: bool = False


@dataclass(frozen=True)
class Fill:
    brush: Brush
    rop: qxl.Rop = qxl.Rop.PUT
    mask: Mask | None = None


@dataclass(frozen=True)
class Opaque:
    """The image, then the brush on it with the raster operation."""
    image: Image
    source: Rect
    brush: Brush
    rop: qxl.Rop = qxl.Rop.PUT
    scale: qxl.Scale = qxl.Scale.NEAREST
    mask: Mask | None = None


@dataclass(frozen=True)
class Copy:
    image: Image
    source: Rect
    rop: qxl.Rop = qxl.Rop.PUT
    scale: qxl.Scale = qxl.Scale.NEAREST
    mask: Mask | None = None


@dataclass(frozen=True)
class Blend(Copy):
    """A copy that reads its target, for example with XOR."""


@dataclass(frozen=True)
class CopyBits:
    """Moves an area of the target."""
    x: int
    y: int


@dataclass(frozen=True)
class Blackness:
    mask: Mask | None = None


@dataclass(frozen=True)
class Whiteness:
    mask: Mask | None = None


@dataclass(frozen=True)
class Invers:
    mask: Mask | None = None


@dataclass(frozen=True)
class Rop3:
    """Any boolean function of pattern, source and target: bit 4p + 2s + d of `rop3`."""
    image: Image
    source: Rect
    brush: Brush
    rop3: int
    scale: qxl.Scale = qxl.Scale.NEAREST
    mask: Mask | None = None


@dataclass(frozen=True)
class Segment:
    flags: qxl.PathFlag
    points: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Stroke:
    path: tuple[Segment, ...]
    brush: Brush
    rop: qxl.Rop = qxl.Rop.PUT
    dashes: tuple[int, ...] = ()     # lengths in pixels, of lines and gaps in turn; empty: a solid line
    gap_first: bool = False


@dataclass(frozen=True)
class Glyph:
    """A letter's coverage, bottom row first, each row padded to a byte."""
    x: int                   # position of its top left corner
    y: int
    width: int
    height: int
    rows: bytes


@dataclass(frozen=True)
class Text:
    glyphs: tuple[Glyph, ...]
    kind: qxl.StringFlag
    fore: Brush
    back: Brush = None
    back_area: Rect = NOWHERE


@dataclass(frozen=True)
class Transparent:
    """A copy that omits the pixels of one colour."""
    image: Image
    source: Rect
    colour: int


@dataclass(frozen=True)
class AlphaBlend:
    image: Image
    source: Rect
    alpha: int = 255
    flags: int = 0


@dataclass(frozen=True)
class Composite:
    """The operation of X's Render extension. Transforms are six 16.16 numbers, row by row."""
    op: qxl.CompositeOp
    image: Image
    x: int = 0
    y: int = 0
    transform: tuple[int, ...] | None = None
    mask: Image | None = None
    mask_x: int = 0
    mask_y: int = 0
    mask_transform: tuple[int, ...] | None = None
    repeat: int = 0


@dataclass(frozen=True)
class DrawNothing:
    pass


Drawing = (Fill | Opaque | Copy | Blend | CopyBits | Blackness | Whiteness | Invers | Rop3 | Stroke | Text | Transparent
           | AlphaBlend | Composite | DrawNothing)


@dataclass(frozen=True)
class Need:
    """Another surface that a drawable reads."""
    surface: int
    area: Rect


@dataclass(frozen=True)
class Drawable:
    box: Rect
    drawing: Drawing
    clip: tuple[Rect, ...] | None = None
    effect: qxl.Effect = qxl.Effect.OPAQUE
    surface: int = 0
    needs: tuple[Need, ...] = field(default=())
    self_bitmap: bool = False


@dataclass(frozen=True)
class CursorShape:
    kind: qxl.CursorType
    width: int
    height: int
    hot_x: int
    hot_y: int
    data: bytes
    unique: int = 0          # not 0: the client may keep it under this number
