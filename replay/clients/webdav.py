# SPDX-License-Identifier: LGPL-2.1-or-later
"""Takes the place of the guest's spice-webdavd: HTTP in frames with a client number, on the port org.spice-space.webdav.0."""

from __future__ import annotations

import socket
import struct

from guest.errors import Failed

_FRAME = struct.Struct("<qH")       # connection, size
_LARGEST = 65535
_PATIENCE = 60


def framed(connection: int, data: bytes) -> bytes:
    parts = (data[at : at + _LARGEST] for at in range(0, len(data), _LARGEST))
    return b"".join(_FRAME.pack(connection, len(part)) + part for part in parts)


class Files:
    """The folder that the client shares."""

    def __init__(self, port: socket.socket) -> None:
        self._port, self._raw, self._connection = port, bytearray(), 0
        port.settimeout(_PATIENCE)

    def get(self, name: str) -> bytes:
        return self._ask("GET", name)

    def put(self, name: str, data: bytes) -> None:
        self._ask("PUT", name, data)

    def _ask(self, method: str, name: str, data: bytes = b"") -> bytes:
        self._connection += 1
        head = f"{method} /{name} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(data)}\r\n\r\n"
        self._port.sendall(framed(self._connection, head.encode() + data))
        got = b""
        while b"\r\n\r\n" not in got:
            got += self._more()
        answer, _, body = got.partition(b"\r\n\r\n")
        first, *fields = answer.decode(errors="replace").split("\r\n")
        if first.split()[1][:1] != "2":
            raise Failed(f"{method} {name}: {first}")
        sizes = [int(field.split(":")[1]) for field in fields if field.lower().startswith("content-length:")]
        while len(body) < (sizes or [0])[0]:
            body += self._more()
        return body

    def _more(self) -> bytes:
        """The next bytes of the connection."""
        while True:
            if len(self._raw) >= _FRAME.size:
                connection, size = _FRAME.unpack_from(self._raw)
                if len(self._raw) >= _FRAME.size + size:
                    part = bytes(self._raw[_FRAME.size : _FRAME.size + size])
                    del self._raw[: _FRAME.size + size]
                    if connection != self._connection:
                        continue
                    if not part:
                        raise Failed("the client ended the connection")
                    return part
            try:
                more = self._port.recv(1 << 16)
            except TimeoutError:
                raise Failed(f"the client's folder says nothing for {_PATIENCE} s") from None
            if not more:
                raise Failed("the guest is gone")
            self._raw += more
