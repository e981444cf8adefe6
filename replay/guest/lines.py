# SPDX-License-Identifier: LGPL-2.1-or-later
"""Lines over a Unix socket: QMP, the guest's serial line, a client's control socket."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from pathlib import Path
from typing import Any

from guest.errors import Failed

_STEP = 0.05


class Lines:
    def __init__(self, path: Path, seconds: float = 20) -> None:
        """Waits until something listens there."""
        self.name = path.name
        self._buffer = b""
        self._socket = socket.socket(socket.AF_UNIX)
        deadline = time.monotonic() + seconds
        while True:
            try:
                self._socket.connect(str(path))
                break
            except OSError:
                if time.monotonic() > deadline:
                    self._socket.close()
                    raise Failed(f"nobody listens at {path.name}") from None
                time.sleep(_STEP)

    def say(self, line: str) -> None:
        try:
            self._socket.sendall(line.encode() + b"\n")
        except OSError:
            raise Failed(f"{self.name}: the other end is gone") from None

    def next(self, seconds: float) -> str | None:
        """The next line; None at the timeout."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                more = self._socket.recv(1 << 16)
            except TimeoutError:
                return None
            except OSError:
                more = b""
            if not more:
                raise Failed(f"{self.name}: the other end is gone")
            self._buffer += more
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace").strip()

    def wait(self, start: str, seconds: float) -> str:
        """The rest of the next line that starts with this text; other lines are dropped."""
        deadline = time.monotonic() + seconds
        while (line := self.next(max(0.0, deadline - time.monotonic()))) is not None:
            if line.startswith(start):
                return line.removeprefix(start).strip()
        raise Failed(f"{self.name}: no {start!r} in {seconds:.0f} s")

    def ask(self, question: dict[str, Any], key: str, seconds: float = 20) -> dict[str, Any]:
        """Sends JSON; returns the next object that has the key."""
        self.say(json.dumps(question))
        deadline = time.monotonic() + seconds
        while (line := self.next(max(0.0, deadline - time.monotonic()))) is not None:
            with contextlib.suppress(ValueError):
                answer = json.loads(line)
                if isinstance(answer, dict) and key in answer:
                    return answer
        raise Failed(f"{self.name}: no answer in {seconds:.0f} s")

    def close(self) -> None:
        self._socket.close()
