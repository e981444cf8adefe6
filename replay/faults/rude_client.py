# SPDX-License-Identifier: LGPL-2.1-or-later
"""A client that connects, takes what the server draws for a while, and goes without a word.

It decodes nothing, so it is as fast as the server, and stops after exactly as many messages as it was told to."""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass
from enum import Enum

from clients import wire
from clients.errors import Failed
from clients.target import Target

_ENOUGH = 3                         # seconds without a message while it draws


class Going(Enum):
    """What the server sees of the end."""
    RESET = "reset"                 # as of a killed process with data unread
    CLOSE = "close"                 # as of a killed process
    DISPLAY_FIRST = "display"       # the display channel ends, the main channel a little later
    MAIN_FIRST = "main"             # the main channel ends: the server has to close the others
    STAY = "stay"                   # the server ends first


@dataclass(frozen=True)
class Plan:
    """When and how to go."""
    messages: int                   # of the display channel, to be taken before
    going: Going
    unread: float                   # seconds of taking nothing before: the server's pipe fills
    cache_pixels: int               # of the image cache: a small one makes the server evict; 0: goes without asking


class RudeClient:
    """visit() is one whole life of it, but with Going.STAY, where leave() ends it."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._channels: list[wire.Channel] = []

    def visit(self, plan: Plan) -> int:
        """Returns how many messages it took of the display channel: less than planned if no more came for a while."""
        self._channels = []
        try:
            main = self._open(wire.MAIN, 0)
            session = int(struct.unpack_from("<I", main.wait(wire.MAIN_INIT))[0])
            display = self._open(wire.DISPLAY, session)
            if not plan.cache_pixels:
                return 0            # while the worker waits for it
            display.send(wire.DISPLAY_INIT, struct.pack("<BqBi", 1, plan.cache_pixels, 1, 1 << 23))
            cursor = self._open(wire.CURSOR, session)
            while display.messages < plan.messages and display.next(_ENOUGH):
                for other in main, cursor:
                    while other.next(0):
                        pass
            if any(channel.closed for channel in self._channels):
                raise Failed("the server ended the connection")
            time.sleep(plan.unread)
            return display.messages
        finally:
            if plan.going is not Going.STAY:
                self.leave(plan.going)

    def _open(self, kind: int, session: int) -> wire.Channel:
        channel = wire.Channel(self._target, kind, session)
        self._channels.append(channel)
        return channel

    def leave(self, going: Going = Going.CLOSE) -> None:
        order = {Going.DISPLAY_FIRST: wire.DISPLAY, Going.MAIN_FIRST: wire.MAIN}.get(going)
        for channel in sorted(self._channels, key=lambda channel: channel.kind != order):
            channel.close(going is Going.RESET)
            if order == channel.kind:
                time.sleep(0.1)
