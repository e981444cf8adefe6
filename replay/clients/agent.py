# SPDX-License-Identifier: LGPL-2.1-or-later
"""Takes the place of the guest's agent for the clipboard: messages in chunks on the port com.redhat.spice.0."""

from __future__ import annotations

import socket
import struct
import threading
import time
from contextlib import suppress

from guest.errors import Failed

CLIPBOARD, CAPABILITIES, GRAB, REQUEST = 4, 6, 7, 8
UTF8 = 1
_BY_DEMAND, _SELECTION = 1 << 5, 1 << 6     # capabilities
_CHUNK = struct.Struct("<II")               # destination, size
_MESSAGE = struct.Struct("<IIQI")           # protocol, type, opaque, size
_CLIENT, _PROTOCOL, _LARGEST = 1, 1, 2048
_SELECTED = bytes(4)                        # the clipboard, not the primary selection


def packed(kind: int, body: bytes) -> bytes:
    """A message as the agent sends it."""
    whole = _MESSAGE.pack(_PROTOCOL, kind, 0, len(body)) + body
    parts = (whole[at : at + _LARGEST] for at in range(0, len(whole), _LARGEST))
    return b"".join(_CHUNK.pack(_CLIENT, len(part)) + part for part in parts)


class Messages:
    """Takes bytes as they arrive, and yields the client's messages."""

    def __init__(self) -> None:
        self._raw, self._inside = bytearray(), bytearray()

    def take(self, data: bytes) -> list[tuple[int, bytes]]:
        self._raw += data
        while len(self._raw) >= _CHUNK.size:
            port, size = _CHUNK.unpack_from(self._raw)
            if len(self._raw) < _CHUNK.size + size:
                break
            if port == _CLIENT:
                self._inside += self._raw[_CHUNK.size : _CHUNK.size + size]
            del self._raw[: _CHUNK.size + size]
        found = []
        while len(self._inside) >= _MESSAGE.size:
            _, kind, _, size = _MESSAGE.unpack_from(self._inside)
            if len(self._inside) < _MESSAGE.size + size:
                break
            found.append((kind, bytes(self._inside[_MESSAGE.size : _MESSAGE.size + size])))
            del self._inside[: _MESSAGE.size + size]
        return found


class Agent:
    """Replies to the client, in a thread of its own, from the start until close()."""

    def __init__(self, port: socket.socket) -> None:
        self._port = port
        self._offered = ""
        self._got = b""
        self.asked = self.had = 0.0     # of the client's clipboard: when it was asked for, and was here
        self._known, self._came = threading.Event(), threading.Event()
        self._say(CAPABILITIES, struct.pack("<II", 1, _BY_DEMAND | _SELECTION))
        threading.Thread(target=self._read, daemon=True).start()

    def _say(self, kind: int, body: bytes) -> None:
        with suppress(OSError):
            self._port.sendall(packed(kind, body))

    def _read(self) -> None:
        messages = Messages()
        with suppress(OSError):
            while data := self._port.recv(1 << 16):
                for kind, body in messages.take(data):
                    self._answer(kind, body)

    def _answer(self, kind: int, body: bytes) -> None:
        if kind == CAPABILITIES:
            if struct.unpack_from("<I", body)[0]:
                self._say(CAPABILITIES, struct.pack("<II", 0, _BY_DEMAND | _SELECTION))
            self._known.set()
        elif kind == GRAB:
            self.asked = time.monotonic()
            self._say(REQUEST, _SELECTED + struct.pack("<I", UTF8))
        elif kind == REQUEST:
            self._say(CLIPBOARD, _SELECTED + struct.pack("<I", UTF8) + self._offered.encode())
        elif kind == CLIPBOARD:
            self.had, self._got = time.monotonic(), body[8:]
            self._came.set()

    def met(self, seconds: float) -> None:
        """Waits until the client has announced its capabilities."""
        if not self._known.wait(seconds):
            raise Failed(f"the agent hears nothing of the client in {seconds:.0f} s")

    def offer(self, text: str) -> None:
        self._offered = text
        self._say(GRAB, _SELECTED + struct.pack("<I", UTF8))

    def taken(self, seconds: float) -> str:
        return self.data(seconds).decode(errors="replace")

    def data(self, seconds: float) -> bytes:
        """What the client's clipboard held when it offered it."""
        if not self._came.wait(seconds):
            raise Failed(f"nothing from the client's clipboard in {seconds:.0f} s")
        return self._got

    def close(self) -> None:
        with suppress(OSError):
            self._port.shutdown(socket.SHUT_RDWR)
        self._port.close()
