# SPDX-License-Identifier: LGPL-2.1-or-later
"""Clients that show a guest and obey orders. One is spice-drain, on spice-gtk's library. The screen is logged as in
screen/tiles.h, every 10 ms while it changes."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
from PIL import Image

from bench.common import paths, proc
from bench.lab import certs
from bench.lab.lab import Lab
from clients.drivers.base import SCAN_CODES
from guest.errors import Failed
from guest.picture import Pixels
from live.tiles import Log

LEFT, WHEEL_UP, WHEEL_DOWN = 1, 4, 5
_CONNECT = 60.0             # seconds until the first picture, on the slowest link
_ANSWER = 30.0
_FRAME = 4                  # bytes of sound: two samples of 16 bits

# Name of a key -> scan code, X's name
KEYS: dict[str, tuple[int, str]] = {
    **{letter: (code, letter) for letter, code in SCAN_CODES.items() if letter != "\n"},
    "enter": (28, "Return"), "space": (57, "space"), "up": (0x148, "Up"), "down": (0x150, "Down"),
}


class Viewer:
    """`log` has the screen as far as it was read."""

    log: Log

    def follow(self) -> bool:
        """Whether the picture has changed; raises Failed if the client has ended."""
        if not self.running():
            raise Failed(f"the client ended: {self.complaint()}")
        return self.log.follow()

    def tap(self, key: str) -> None:
        raise NotImplementedError

    def move(self, x: int, y: int) -> None:
        raise NotImplementedError

    def button(self, number: int, down: bool) -> None:
        raise NotImplementedError

    def wheel(self, number: int) -> None:
        self.button(number, True)
        self.button(number, False)

    def picture(self) -> Pixels:
        """The picture that is shown now."""
        raise NotImplementedError

    def heard(self) -> tuple[list[int], float]:
        """Times at which packets of sound arrived, in ns, and the seconds of sound in each; known when the client has ended."""
        return [], 0.0

    def running(self) -> bool:
        raise NotImplementedError

    def complaint(self) -> str:
        raise NotImplementedError


class Drain(Viewer):
    def __init__(self, process: proc.Process, log: Log, folder: Path) -> None:
        self._process, self.log, self._file = process, log, folder / "shown.png"
        self.told: dict[str, Any] = {}      # of the whole session, known when the client has ended

    def tap(self, key: str) -> None:
        code = KEYS[key][0]
        self._process.say(f"key {code} 1\nkey {code} 0")

    def move(self, x: int, y: int) -> None:
        self._process.say(f"move {x} {y}")

    def button(self, number: int, down: bool) -> None:
        self._process.say(f"button {number} {int(down)}")

    def picture(self, display: int = 0) -> Pixels:
        self._process.say(f"picture {display} {self._file}")
        if not _event(self._process, "picture", _ANSWER).get("saved"):
            raise Failed(f"the client shows no picture: {self.complaint()}")
        with Image.open(self._file) as image:
            return numpy.asarray(image.convert("RGB"))

    def reopen(self, display: int) -> None:
        """Closes the display's channel and opens it again."""
        self._process.say(f"reopen {display}")
        _event(self._process, "reopened", _ANSWER)

    def end(self) -> None:
        self._process.signal(signal.SIGTERM)
        self._process.wait(time.monotonic() + 5)
        with contextlib.suppress(Failed):
            self.told = _event(self._process, "done", 0)

    def heard(self) -> tuple[list[int], float]:
        audio = self.told.get("audio")
        if not audio or not audio["rate"] or not audio["packets"]:
            return [], 0.0
        return [when for _, when in audio["stamps"]], audio["bytes"] / audio["packets"] / _FRAME / audio["rate"]

    def running(self) -> bool:
        return self._process.running()

    def complaint(self) -> str:
        return self._process.last_complaint()


def _event(process: proc.Process, name: str, seconds: float) -> proc.Event:
    if found := process.wait_event(name, time.monotonic() + seconds):
        return found
    raise Failed(f"{process.name} did not say '{name}': {process.last_complaint()}")


@contextlib.contextmanager
def drain(lab: Lab, folder: Path, width: int, height: int, *options: str) -> Iterator[Drain]:
    log = folder / "screen"
    where = ["--port", str(lab.ports[0])] if lab.link.unix else certs.kept(lab.server_address).of_client(lab.ports[1])
    argv = [str(paths.client()), "--host", lab.server_address, *where, "--no-end", "--control", "--idle", "3600", "--screen", str(log),
            *options]
    with proc.Process("spice-drain", argv, lab.client) as process:
        _event(process, "connected", _CONNECT)
        viewer = Drain(process, Log(log, width, height), folder)
        yield viewer
        viewer.end()
