# SPDX-License-Identifier: LGPL-2.1-or-later
"""Anonymous network namespaces. Each lives as long as the process that holds it, which ends when this process closes
its pipe or dies: nothing has to be cleaned up after a crash, and any number can exist at once."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from bench.common import proc
from bench.common.errors import BenchError

T = TypeVar("T")

_CLONE_NEWNET = 0x40000000
_SWITCHES = ("ipv6/conf/all/disable_ipv6", "ipv6/conf/default/disable_ipv6", "ipv4/tcp_no_metrics_save")


@contextlib.contextmanager
def create() -> Iterator[Path]:
    """Makes a namespace with loopback, without IPv6 and without cached TCP metrics. Yields its path."""
    files = " ".join(f"/proc/sys/net/{name}" for name in _SWITCHES)
    script = (f"for f in {files}; do if [ -e $f ]; then echo 1 > $f; fi; done; "
              "ip link set lo up && echo ready && exec cat")
    argv = proc.inside(None, [proc.require("unshare", "util-linux"), "--net", "sh", "-c", script])
    holder = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert holder.stdin and holder.stdout and holder.stderr
    try:
        if holder.stdout.readline() != "ready\n":
            holder.stdin.close()
            message = holder.stderr.read().strip().split("\n")[-1]
            raise BenchError(f"cannot make a network namespace ({message or 'no reason given'}): root or unprivileged "
                             "user namespaces are needed")
        yield Path(f"/proc/{holder.pid}/ns/net")
    finally:
        holder.kill()
        holder.wait()
        for stream in (holder.stdin, holder.stdout, holder.stderr):
            stream.close()


def holder_of(netns: Path) -> str:
    """The pid of the process that holds a namespace made by create()."""
    return netns.parts[2]


def inside(netns: Path, make: Callable[[], T]) -> T:
    """Calls make() inside the namespace and returns its result. A socket stays in the namespace where it was made, and can be
    used from anywhere."""
    libc = ctypes.CDLL(None, use_errno=True)
    made: list[T] = []
    failed: list[Exception] = []

    def work() -> None:
        try:
            with netns.open() as file:
                if libc.setns(file.fileno(), _CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            made.append(make())
        except Exception as error:  # noqa: BLE001 - raised again where the caller is
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return made[0]
