# SPDX-License-Identifier: LGPL-2.1-or-later
"""All constants of a recording: those of recordings.qxl, and those that only a writer needs."""
from enum import IntEnum, IntFlag

from recordings.qxl import Command, CursorCommand, Draw, ImageType, SurfaceCommand, Worker

__all__ = ("Command", "CursorCommand", "Draw", "ImageType", "SurfaceCommand", "Worker")


class Effect(IntEnum):
    """The effect of a drawable on what it covers."""
    BLEND = 0
    OPAQUE = 1
    REVERT_ON_DUP = 2
    NOP_ON_DUP = 5


class ImageFlag(IntFlag):
    CACHE = 1


class BitmapFormat(IntEnum):
    BIT1_LE = 1
    BIT1_BE = 2
    BIT4_LE = 3
    BIT4_BE = 4
    BIT8 = 5
    BIT16 = 6
    BIT24 = 7
    BIT32 = 8
    RGBA = 9
    BIT8_A = 10

    @property
    def bits(self) -> int:
        """Bits per pixel."""
        return (1, 1, 4, 4, 8, 16, 24, 32, 32, 8)[self - 1]

    @property
    def colours(self) -> int:
        """Entries of the palette; 0 for a format without one."""
        return (2, 2, 16, 16, 256, 0, 0, 0, 0, 0)[self - 1]


class BitmapFlag(IntFlag):
    DIRECT = 1               # the pixels are one block, not a chain of chunks
    TOP_DOWN = 4


class SurfaceFormat(IntEnum):
    A1 = 1
    A8 = 8
    RGB555 = 16
    XRGB32 = 32
    RGB565 = 80
    ARGB32 = 96

    @property
    def bits(self) -> int:
        return {1: 1, 8: 8, 16: 16, 32: 32, 80: 16, 96: 32}[self]


class SurfaceFlag(IntFlag):
    KEEP_DATA = 1            # the surface starts with the given pixels, not cleared


class BrushType(IntEnum):
    NONE = 0
    SOLID = 1
    PATTERN = 2


class ClipType(IntEnum):
    NONE = 0
    RECTS = 1


class MaskFlag(IntFlag):
    INVERS = 1


class Rop(IntFlag):
    """A raster operation: one of the OP_ bits, with inputs or result inverted."""
    INVERS_SRC = 1
    INVERS_BRUSH = 2
    INVERS_DEST = 4
    PUT = 8
    OR = 16
    AND = 32
    XOR = 64
    BLACKNESS = 128
    WHITENESS = 256
    INVERS = 512
    INVERS_RES = 1024


class Scale(IntEnum):
    INTERPOLATE = 0
    NEAREST = 1


class LineFlag(IntFlag):
    START_WITH_GAP = 4
    STYLED = 8


class PathFlag(IntFlag):
    BEGIN = 1
    END = 2
    CLOSE = 8
    BEZIER = 16


class StringFlag(IntFlag):
    RASTER_A1 = 1
    RASTER_A4 = 2
    RASTER_A8 = 4


class CursorType(IntEnum):
    ALPHA = 0
    MONO = 1
    COLOR4 = 2
    COLOR8 = 3
    COLOR16 = 4
    COLOR24 = 5
    COLOR32 = 6


class CompositeOp(IntEnum):
    """pixman's operators that the tests use; the others have pixman's numbers, too."""
    SRC = 1
    OVER = 3
    ADD = 12
