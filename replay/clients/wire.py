# SPDX-License-Identifier: LGPL-2.1-or-later
"""The SPICE protocol for clients that decode no pictures: links, tickets, messages, acks."""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Callable
from dataclasses import dataclass

import websocket
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from clients.target import HOST, UNIX, Target
from guest.errors import Failed

MAIN, DISPLAY, INPUTS, CURSOR, PLAYBACK, PORT = 1, 2, 3, 4, 5, 10
SET_ACK, PING = 3, 4
MAIN_INIT, MAIN_CHANNELS = 103, 104
ACK_SYNC, ACK, PONG = 1, 2, 3
ATTACH_CHANNELS, DISPLAY_INIT = 104, 101

_LINK_HEADER = struct.Struct("<4sIII")
_LINK = struct.Struct("<IBBIII")
_MINI_HEADER = struct.Struct("<HI")
_KEY_BYTES = 162                    # in the link reply: SubjectPublicKeyInfo of a 1024-bit RSA key
_MINI_HEADERS = 1 << 3
_PATIENCE = 20
_BLOCK = 1 << 18


class Stream:
    """Bytes to and from the server; over ws and wss they are in frames."""

    def __init__(self, target: Target, receive_buffer: int = 0) -> None:
        """`receive_buffer`: size of the socket's receive buffer in bytes, if not the default."""
        if target.transport == UNIX:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(_PATIENCE)
            self.socket.connect(str(target.path))
        else:
            self.socket = socket.socket()
            self.socket.settimeout(_PATIENCE)
            if receive_buffer:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            self.socket.connect((HOST, target.port))
        if target.encrypted:
            self.socket = ssl.create_default_context(cafile=str(target.ca)).wrap_socket(self.socket, server_hostname=HOST)
        self._web: websocket.WebSocket | None = None
        self._bytes = bytearray()
        self.closed = False
        if target.framed:
            self._web = websocket.WebSocket()
            try:
                self._web.connect(f"ws://{HOST}:{target.port}/", socket=self.socket, subprotocols=["binary"])
            except websocket.WebSocketException as error:
                raise Failed(f"the server refused the web socket: {error}") from None

    def send(self, data: bytes) -> None:
        try:
            if self._web:
                self._web.send_binary(data)
            else:
                self.socket.sendall(data)
        except (OSError, websocket.WebSocketException):
            self.closed = True

    def fill(self, seconds: float) -> bool:
        """Waits for more bytes up to a timeout; False if none arrived."""
        self.socket.settimeout(seconds)
        try:
            kind, more = self._web.recv_data() if self._web else (websocket.ABNF.OPCODE_BINARY, self.socket.recv(_BLOCK))
        except (TimeoutError, BlockingIOError, ssl.SSLWantReadError, websocket.WebSocketTimeoutException):
            return False
        except (OSError, websocket.WebSocketException):
            kind, more = websocket.ABNF.OPCODE_CLOSE, b""
        self.socket.settimeout(_PATIENCE)
        self.closed = not more or kind != websocket.ABNF.OPCODE_BINARY
        if not self.closed:
            self._bytes += more
        return not self.closed

    def have(self, count: int) -> bool:
        return len(self._bytes) >= count

    def peek(self, count: int) -> bytes:
        return bytes(self._bytes[:count])

    def take(self, count: int) -> bytes:
        taken = bytes(self._bytes[:count])
        del self._bytes[:count]
        return taken

    def exactly(self, count: int) -> bytes:
        while not self.have(count):
            if not self.fill(_PATIENCE):
                raise Failed("the server ended the link" if self.closed else f"the server says nothing for {_PATIENCE} s")
        return self.take(count)


def _empty_ticket(key: bytes) -> bytes:
    """The empty password, encrypted with the server's key."""
    public = serialization.load_der_public_key(key)
    assert isinstance(public, rsa.RSAPublicKey)
    return public.encrypt(b"\0", padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None))


@dataclass
class Counting:
    """How a client counts messages for acks."""

    restarts: bool  # at each SET_ACK
    at_least: bool  # acks at count >= window, not only at count == window
    count: int = 0
    window: int = 0

    def set_window(self, window: int) -> None:
        self.window = window
        if self.restarts:
            self.count = 0

    def due(self) -> bool:
        """Called per message; whether an ack is due."""
        self.count += 1
        if self.window and (self.count >= self.window if self.at_least else self.count == self.window):
            self.count = 0
            return True
        return False


# At SET_ACK spice-gtk restarts its count. PureSpice continues it, and acks only at exactly the number; ryll continues it, and acks at or
# above it.
STYLES: dict[str, Callable[[], Counting]] = {
    "spice-gtk": lambda: Counting(restarts=True, at_least=True),
    "PureSpice": lambda: Counting(restarts=False, at_least=False),
    "ryll": lambda: Counting(restarts=False, at_least=True),
}


class Channel:
    def __init__(self, target: Target, kind: int, session: int = 0, number: int = 0, counting: Counting | None = None,
                 receive_buffer: int = 0) -> None:
        self.kind, self.number = kind, number
        self.messages = 0
        self._stream = Stream(target, receive_buffer)
        self._counting = counting or STYLES["spice-gtk"]()
        body = _LINK.pack(session, kind, number, 1, 0, _LINK.size) + struct.pack("<I", _MINI_HEADERS)
        self._stream.send(_LINK_HEADER.pack(b"REDQ", 2, 2, len(body)) + body)
        size = _LINK_HEADER.unpack(self._stream.exactly(_LINK_HEADER.size))[3]
        reply = self._stream.exactly(size)
        if any(reply[:4]):
            raise Failed("the server refused the link")
        self._stream.send(_empty_ticket(reply[4 : 4 + _KEY_BYTES]))
        if any(self._stream.exactly(4)):
            raise Failed("the server refused the ticket")

    @property
    def closed(self) -> bool:
        return self._stream.closed

    def send(self, kind: int, body: bytes = b"") -> None:
        self._stream.send(_MINI_HEADER.pack(kind, len(body)) + body)

    def next(self, seconds: float) -> tuple[int, bytes] | None:
        """The next message; sends the replies that it needs. None at the timeout."""
        while True:
            if self._stream.have(_MINI_HEADER.size):
                kind, size = _MINI_HEADER.unpack(self._stream.peek(_MINI_HEADER.size))
                if self._stream.have(_MINI_HEADER.size + size):
                    self._stream.take(_MINI_HEADER.size)
                    body = self._stream.take(size)
                    self._answer(kind, body)
                    return kind, body
            if not self._stream.fill(seconds):
                return None

    def wait(self, wanted: int) -> bytes:
        while (message := self.next(_PATIENCE)) is not None:
            if message[0] == wanted:
                return message[1]
        raise Failed(f"no message {wanted} from the server")

    def _answer(self, kind: int, body: bytes) -> None:
        self.messages += 1
        if kind == SET_ACK:
            generation, window = struct.unpack("<II", body)
            self.send(ACK_SYNC, struct.pack("<I", generation))
            self._counting.set_window(window)
        elif kind == PING:
            self.send(PONG, body[:12])
        if self._counting.due():
            self.send(ACK)

    def close(self, reset: bool = False) -> None:
        """Closes without a message; with `reset`, as when a process is killed with unread data."""
        if reset:
            self._stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._stream.socket.close()
