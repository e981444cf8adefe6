# SPDX-License-Identifier: LGPL-2.1-or-later
"""A lock: one command at a time per tree."""

from __future__ import annotations

import contextlib
import fcntl
import sys
from collections.abc import Iterator

from bench.common import paths


@contextlib.contextmanager
def alone(command: str) -> Iterator[None]:
    """One `./run COMMAND` at a time per tree; a second one waits for the first. The kernel releases the lock when a process
    ends."""
    paths.cache_dir().mkdir(parents=True, exist_ok=True)
    with (paths.cache_dir() / f"{command}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"another ./run {command} is at work here: waiting for it", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
