# SPDX-License-Identifier: LGPL-2.1-or-later
"""A bulk TCP download from the server's side to the client's over the same link, during a run (--with
beside-download)."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

from bench.common.errors import BenchError
from bench.lab import netns
from bench.lab.lab import Lab

_BLOCK = bytes(64 * 1024)
_STEP = 0.05                # seconds between two samples
_UNDER_WAY = 1.0            # seconds before the run begins, so that the download reaches the link's rate


class Download:
    """Progress, as (seconds on the monotonic clock, bytes so far)."""

    def __init__(self) -> None:
        self.notes: list[tuple[float, int]] = []

    def rate(self, began: float, ended: float) -> float | None:
        """Bits per second between two moments; None where there are no samples."""
        if ended <= began or not self.notes or self.notes[-1][0] < began:
            return None
        return (self._until(ended) - self._until(began)) * 8 / (ended - began)

    def _until(self, when: float) -> int:
        return max((total for at, total in self.notes if at <= when), default=0)


def _send(end: socket.socket) -> None:
    with contextlib.suppress(OSError):      # the run is over
        while True:
            end.sendall(_BLOCK)


def _receive(end: socket.socket, found: Download) -> None:
    total = 0
    with contextlib.suppress(OSError):
        while block := end.recv(len(_BLOCK)):
            total += len(block)
            now = time.monotonic()
            if not found.notes or now - found.notes[-1][0] >= _STEP:
                found.notes.append((now, total))


@contextlib.contextmanager
def beside(where: Lab) -> Iterator[Download]:
    """A download that runs while this is entered."""
    if where.link.rate is None:
        raise BenchError("beside-download needs a link with a rate, such as --links 20M/40ms", 2)
    found = Download()
    listener = netns.inside(where.server, lambda: socket.create_server((where.server_address, 0)))
    with listener, netns.inside(where.client, lambda: socket.create_connection(listener.getsockname())) as client, \
            listener.accept()[0] as server:
        threads = [threading.Thread(target=_send, args=(server,)), threading.Thread(target=_receive, args=(client, found))]
        for thread in threads:
            thread.start()
        try:
            time.sleep(_UNDER_WAY)
            yield found
        finally:
            for end in (server, client):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()
