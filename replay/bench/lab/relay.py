# SPDX-License-Identifier: LGPL-2.1-or-later
"""A TCP relay beside the server, like spiceproxy, websockify or ssh -L: the client connects to it over the link, it
connects to the server over loopback. So the server's TCP sees loopback only, and the sockets between hold
megabytes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from bench.common import proc
from bench.common.errors import BenchError
from bench.lab.lab import LOOPBACK, Lab

_BLOCK = 16384      # bytes per read. Twice as many fit into a writable socket, so neither direction blocks the other


@contextlib.contextmanager
def beside(where: Lab, port: int, path: Path | None = None) -> Iterator[None]:
    """While entered, connections to the port on the link are relayed to the same port on loopback, or to the Unix socket at the
    path. Each connection has a process; all are in a PID namespace, so none outlives the first."""
    argv = [proc.require("unshare", "util-linux"), "--pid", "--fork", "--kill-child", proc.require("socat", "socat"), "-d", "-d",
            "-b", str(_BLOCK), f"TCP4-LISTEN:{port},bind={where.server_address},reuseaddr,nodelay,backlog=64,fork",
            f"UNIX-CONNECT:{path}" if path else f"TCP4:{LOOPBACK}:{port},nodelay"]
    with proc.Process("relay", argv, where.server) as process:
        if not process.wait_complaint("listening on", time.monotonic() + 10):
            said = [line.split(" E ", 1)[1] for line in list(process.complaints) if " E " in line]
            raise BenchError(f"the relay does not start: {said[0] if said else 'socat says nothing'}")
        yield
