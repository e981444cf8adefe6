# SPDX-License-Identifier: LGPL-2.1-or-later
"""A client that connects, takes what the server draws for a while, and goes without a word.

It decodes nothing, so it is as fast as the server, and stops after exactly as many messages as it was told to."""

from __future__ import annotations

import hashlib
import select
import socket
import ssl
import struct
import sys
import time
from dataclasses import dataclass
from enum import Enum

_MAGIC = b"REDQ"
_LINK = struct.Struct("<IBBIII")
_LINK_HEADER = struct.Struct("<4sIII")
_MINI_HEADER = struct.Struct("<HI")
_KEY_BYTES = 162                    # of the link reply: SubjectPublicKeyInfo of RSA with 1024 bits
_MODULUS = slice(29, 157)           # in it, where the exponent is 65537 as of every server

MAIN, DISPLAY, CURSOR = 1, 2, 4
_MINI_HEADERS = 1 << 3              # SPICE_COMMON_CAP_MINI_HEADER
_SET_ACK, _PING, _MAIN_INIT = 3, 4, 103
_ENOUGH, _PATIENCE = 3, 20          # seconds without a message while it draws, and while it connects
_ACK_SYNC, _ACK, _PONG, _DISPLAY_INIT = 1, 2, 3, 101


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


class Gone(Exception):
    """The server ended first."""


def _mask(seed: bytes, size: int) -> bytes:
    blocks = (hashlib.sha1(seed + struct.pack(">I", count)).digest() for count in range(size // 20 + 1))
    return b"".join(blocks)[:size]


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right))


def _empty_ticket(key: bytes) -> bytes:
    """The empty password as the server wants it: with RSA-OAEP."""
    modulus = key[_MODULUS]
    size = len(modulus)
    seed = bytes(20)
    data = hashlib.sha1().digest() + bytes(size - 43) + b"\1\0"
    masked = _xor(data, _mask(seed, len(data)))
    block = b"\0" + _xor(seed, _mask(masked, 20)) + masked
    return pow(int.from_bytes(block, "big"), 65537, int.from_bytes(modulus, "big")).to_bytes(size, "big")


class _Channel:
    def __init__(self, address: tuple[str, int], tls: ssl.SSLContext | None, kind: int, session: int) -> None:
        plain = socket.create_connection(address, timeout=_PATIENCE)
        self.socket = tls.wrap_socket(plain) if tls else plain
        self.kind = kind
        self.messages = 0
        self.session = 0                # of the main channel, when the server has told it
        self._buffer = bytearray()
        self._window = self._unacked = 0
        body = _LINK.pack(session, kind, 0, 1, 0, _LINK.size) + struct.pack("<I", _MINI_HEADERS)
        self.socket.sendall(_LINK_HEADER.pack(_MAGIC, 2, 2, len(body)) + body)
        size = _LINK_HEADER.unpack(self._exactly(_LINK_HEADER.size))[3]
        reply = self._exactly(size)
        if any(reply[:4]):
            raise Gone("the server refused the link")
        self.socket.sendall(_empty_ticket(reply[4:4 + _KEY_BYTES]))
        if any(self._exactly(4)):
            raise Gone("the server refused the ticket")
        self.socket.setblocking(False)

    def _exactly(self, count: int) -> bytes:
        got = b""
        while len(got) < count:
            more = self.socket.recv(count - len(got))
            if not more:
                raise Gone("the server ended the link")
            got += more
        return got

    def pending(self) -> bool:
        return isinstance(self.socket, ssl.SSLSocket) and self.socket.pending() > 0

    def send(self, kind: int, body: bytes) -> None:
        self.socket.setblocking(True)
        self.socket.sendall(_MINI_HEADER.pack(kind, len(body)) + body)
        self.socket.setblocking(False)

    def take(self, limit: int = sys.maxsize) -> None:
        """Takes what has arrived, up to limit messages in all, and answers what wants an answer."""
        try:
            data = self.socket.recv(65536)
        except (ssl.SSLWantReadError, BlockingIOError):
            return
        if not data:
            raise Gone("the server ended the connection")
        self._buffer += data
        position = 0
        while self.messages < limit and len(self._buffer) - position >= _MINI_HEADER.size:
            kind, size = _MINI_HEADER.unpack_from(self._buffer, position)
            start, end = position + _MINI_HEADER.size, position + _MINI_HEADER.size + size
            if len(self._buffer) < end:
                break
            self.messages += 1
            self._acknowledge()
            if kind in (_SET_ACK, _PING, _MAIN_INIT):
                self._answer(kind, bytes(self._buffer[start:end]))
            position = end
        del self._buffer[:position]

    def _acknowledge(self) -> None:
        self._unacked += 1
        if self._window and self._unacked >= self._window:
            self._unacked = 0
            self.send(_ACK, b"")

    def _answer(self, kind: int, body: bytes) -> None:
        if kind == _SET_ACK:
            generation, self._window = struct.unpack("<II", body)
            self._unacked = 0
            self.send(_ACK_SYNC, struct.pack("<I", generation))
        elif kind == _PING:
            self.send(_PONG, body[:12])
        elif self.kind == MAIN:
            self.session = int(struct.unpack_from("<I", body)[0])

    def close(self, reset: bool) -> None:
        if reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()         # no TLS close_notify: it was killed


class RudeClient:
    """visit() is one whole life of it, but with Going.STAY, where leave() ends it."""

    def __init__(self, address: tuple[str, int], ca: str | None = None) -> None:
        self._address = address
        self._tls = ssl.create_default_context(cafile=ca) if ca else None
        if self._tls:
            self._tls.check_hostname = False
        self._channels: list[_Channel] = []

    def visit(self, plan: Plan) -> int:
        """Returns how many messages it took of the display channel: less than planned if no more came for a while."""
        self._channels = []
        try:
            main = self._open(MAIN, 0)
            while not main.session:
                if not select.select([main.socket], [], [], _PATIENCE)[0] and not main.pending():
                    raise Gone("the server does not greet")
                main.take()
            display = self._open(DISPLAY, main.session)
            if not plan.cache_pixels:
                return 0            # while the worker waits for it
            display.send(_DISPLAY_INIT, struct.pack("<BqBi", 1, plan.cache_pixels, 1, 1 << 23))
            self._open(CURSOR, main.session)
            while display.messages < plan.messages and self._take_some(display, plan.messages):
                pass
            time.sleep(plan.unread)
            return display.messages
        finally:
            if plan.going is not Going.STAY:
                self.leave(plan.going)

    def _open(self, kind: int, session: int) -> _Channel:
        channel = _Channel(self._address, self._tls, kind, session)
        self._channels.append(channel)
        return channel

    def _take_some(self, display: _Channel, limit: int) -> bool:
        waiting = [channel for channel in self._channels if channel.pending()]
        if not waiting:
            readable, _, _ = select.select([channel.socket for channel in self._channels], [], [], _ENOUGH)
            if not readable:
                return False
            waiting = [channel for channel in self._channels if channel.socket in readable]
        for channel in waiting:
            channel.take(limit if channel is display else sys.maxsize)
        return True

    def leave(self, going: Going = Going.CLOSE) -> None:
        order = {Going.DISPLAY_FIRST: DISPLAY, Going.MAIN_FIRST: MAIN}.get(going)
        for channel in sorted(self._channels, key=lambda channel: channel.kind != order):
            channel.close(going is Going.RESET)
            if order == channel.kind:
                time.sleep(0.1)
