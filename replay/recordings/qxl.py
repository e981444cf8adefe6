# SPDX-License-Identifier: LGPL-2.1-or-later
"""The constants of a recording, with the names of spice/qxl_dev.h and spice/enums.h."""
from enum import IntEnum


class Command(IntEnum):
    """Kind of an event with WHAT 0: a command the guest put into the device's ring."""
    NOP = 0
    DRAW = 1
    UPDATE = 2
    CURSOR = 3
    MESSAGE = 4
    SURFACE = 5


class Worker(IntEnum):
    """Kind of an event with WHAT 1: a call into the display worker. Only these have an effect when replayed."""
    UPDATE = 1
    WAKEUP = 2
    DESTROY_SURFACES = 19
    CREATE_PRIMARY_SURFACE = 20
    DESTROY_PRIMARY_SURFACE = 21
    DESTROY_SURFACES_ASYNC = 28
    CREATE_PRIMARY_SURFACE_ASYNC = 29
    DESTROY_PRIMARY_SURFACE_ASYNC = 30


class Draw(IntEnum):
    NOP = 0
    FILL = 1
    OPAQUE = 2
    COPY = 3
    COPY_BITS = 4
    BLEND = 5
    BLACKNESS = 6
    WHITENESS = 7
    INVERS = 8
    ROP3 = 9
    STROKE = 10
    TEXT = 11
    TRANSPARENT = 12
    ALPHA_BLEND = 13
    COMPOSITE = 14


class CursorCommand(IntEnum):
    SET = 0
    MOVE = 1
    HIDE = 2
    TRAIL = 3


class SurfaceCommand(IntEnum):
    CREATE = 0
    DESTROY = 1


class ImageType(IntEnum):
    BITMAP = 0
    QUIC = 1
    SURFACE = 104
