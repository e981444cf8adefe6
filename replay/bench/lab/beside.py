# SPDX-License-Identifier: LGPL-2.1-or-later
"""What may be beside the server while a run is made: a bulk TCP download to the client over the same link (--with beside-download); a TCP
relay, like spiceproxy, websockify or ssh -L. The client connects to the relay over the link, that to the server over loopback: so the
server's TCP sees loopback only, and the sockets between hold megabytes."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from bench.common import proc
from bench.common.errors import BenchError
from bench.lab import netns
from bench.lab.lab import LOOPBACK, Lab

_RELAYED = 16384            # bytes per read. Twice as many fit into a writable socket, so neither direction blocks the other
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
def download(where: Lab) -> Iterator[Download]:
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


@contextlib.contextmanager
def relay(where: Lab, port: int, path: Path | None = None) -> Iterator[None]:
    """While entered, connections to the port on the link are relayed to the same port on loopback, or to the Unix socket at the
    path. Each connection has a process; all are in a PID namespace, so none outlives the first."""
    argv = [proc.require("unshare", "util-linux"), "--pid", "--fork", "--kill-child", proc.require("socat", "socat"), "-d", "-d",
            "-b", str(_RELAYED), f"TCP4-LISTEN:{port},bind={where.server_address},reuseaddr,nodelay,backlog=64,fork",
            f"UNIX-CONNECT:{path}" if path else f"TCP4:{LOOPBACK}:{port},nodelay"]
    with proc.Process("relay", argv, where.server) as process:
        if not process.wait_complaint("listening on", time.monotonic() + 10):
            said = [line.split(" E ", 1)[1] for line in list(process.complaints) if " E " in line]
            raise BenchError(f"the relay does not start: {said[0] if said else 'socat says nothing'}")
        yield
