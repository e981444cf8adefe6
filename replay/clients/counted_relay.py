# SPDX-License-Identifier: LGPL-2.1-or-later
"""A TCP relay beside the server that counts bytes, as the proxy of a product: the server's socket sees the first hop
only."""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path

from clients import target

_BLOCK = 1 << 16


class Relay:
    """Accepts connections at `address` and makes one to the server for each, until close(). A path is a Unix socket."""

    def __init__(self, server: int | Path, path: Path | None = None) -> None:
        self._server = server
        if path is None:
            self._listener = socket.create_server((target.HOST, 0))
        else:
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(str(path))
            self._listener.listen()
        self.address: int | Path = path or int(self._listener.getsockname()[1])
        self.sent = 0  # bytes received from the server
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client = self._listener.accept()[0]
                server = self._connected()
            except OSError:
                return
            self._open += [client, server]
            for source, sink in ((client, server), (server, client)):
                if source.family != socket.AF_UNIX:
                    source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._carry, args=(source, sink, source is server), daemon=True).start()

    def _connected(self) -> socket.socket:
        if isinstance(self._server, int):
            return socket.create_connection((target.HOST, self._server))
        made = socket.socket(socket.AF_UNIX)
        made.connect(str(self._server))
        return made

    def _carry(self, source: socket.socket, sink: socket.socket, counted: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_BLOCK):
                self.sent += len(data) if counted else 0
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
