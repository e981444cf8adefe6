# SPDX-License-Identifier: LGPL-2.1-or-later
"""A TCP relay beside the server, as a product's proxy is: what its socket tells is of the first hop."""

from __future__ import annotations

import contextlib
import socket
import threading

from clients import target

_BLOCK = 1 << 16


class Relay:
    """Takes connections at `port` and makes one to the server for each, until close()."""

    def __init__(self, server: int) -> None:
        self._server = server
        self._listener = socket.create_server((target.HOST, 0))
        self.port = int(self._listener.getsockname()[1])
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client = self._listener.accept()[0]
                server = socket.create_connection((target.HOST, self._server))
            except OSError:
                return
            self._open += [client, server]
            for source, sink in ((client, server), (server, client)):
                source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    @staticmethod
    def _carry(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_BLOCK):
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
