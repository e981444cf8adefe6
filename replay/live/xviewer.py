# SPDX-License-Identifier: LGPL-2.1-or-later
"""A viewer with a window, on an X server of its own. spice-x-watch reads the window; keys and pointer go through the
X server."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy
import Xlib.display
import Xlib.error
from Xlib import XK, X
from Xlib.ext import xtest

from bench.common import paths, proc
from bench.common.errors import BenchError
from bench.lab.lab import Lab
from clients.errors import Failed
from live.tiles import Log, Pixels
from live.viewers import KEYS, Viewer

Start = Callable[[str, Sequence[str]], proc.Process]    # starts a program of that name in the client's namespace, on that X server


class OnX(Viewer):
    def __init__(self, viewer: proc.Process, number: int, log: Log) -> None:
        self._viewer, self.log = viewer, log
        self._x = Xlib.display.Display(f":{number}")
        self._window = next((window for window in self._x.screen().root.query_tree().children
                             if (window.get_geometry().width, window.get_geometry().height) == (log.width, log.height)), None)
        if self._window is None:
            raise Failed(f"{viewer.name} has no window of {log.width} x {log.height} pixels")
        at = self._window.translate_coords(self._x.screen().root, 0, 0)
        self._left, self._top = -at.x, -at.y
        self._window.set_input_focus(X.RevertToParent, X.CurrentTime)   # without a window manager the window must be moved here
        self.move(1, 1)

    def _do(self, event: int, detail: int = 0, **where: int) -> None:
        xtest.fake_input(self._x, event, detail, **where)
        self._x.flush()

    def tap(self, key: str) -> None:
        code = self._x.keysym_to_keycode(XK.string_to_keysym(KEYS[key][1]))
        self._do(X.KeyPress, code)
        self._do(X.KeyRelease, code)

    def move(self, x: int, y: int) -> None:
        self._do(X.MotionNotify, x=self._left + x, y=self._top + y)

    def button(self, number: int, down: bool) -> None:
        self._do(X.ButtonPress if down else X.ButtonRelease, number)

    def picture(self) -> Pixels:
        log = self.log
        assert self._window is not None
        image = self._window.get_image(0, 0, log.width, log.height, X.ZPixmap, 0xFFFFFFFF)
        return numpy.frombuffer(image.data, numpy.uint8).reshape(log.height, log.width, 4)[:, :, 2::-1]

    def running(self) -> bool:
        return self._viewer.running()

    def complaint(self) -> str:
        return self._viewer.last_complaint()

    def close(self) -> None:
        with contextlib.suppress(Xlib.error.ConnectionClosedError):
            self._x.close()


@contextlib.contextmanager
def shown(lab: Lab, folder: Path, size: tuple[int, int], margin: int, begin: Callable[[Start], proc.Process]) -> Iterator[Viewer]:
    """`begin` starts the viewer, whose window has that size, on an X server larger by the margin. Returns when the window is
    shown."""
    width, height = size
    server, watch = proc.require("Xvfb", "xvfb"), paths.tool("screen", "spice-x-watch")
    number = next(number for number in range(2000 + os.getpid() % 20000, 60000)
                  if not Path(f"/tmp/.X11-unix/X{number}").exists() and not Path(f"/tmp/.X{number}-lock").exists())
    env = {**{name: value for name, value in os.environ.items() if name not in ("WAYLAND_DISPLAY", "XAUTHORITY")},
           "HOME": str(folder), "LC_ALL": "C.UTF-8", "DISPLAY": f":{number}"}
    started: list[proc.Process] = []
    with contextlib.ExitStack() as open_:
        def start(name: str, argv: Sequence[str]) -> proc.Process:
            started.append(open_.enter_context(proc.Process(name, argv, lab.client, env)))
            return started[-1]

        x = start("Xvfb", [server, f":{number}", "-nolisten", "tcp", "-noreset", "-screen", "0", f"{width + margin}x{height + margin}x24"])
        deadline = time.monotonic() + 20
        while not Path(f"/tmp/.X11-unix/X{number}").exists():
            if time.monotonic() > deadline or not x.running():
                raise BenchError(f"Xvfb does not start: {x.last_complaint()}")
            time.sleep(0.05)
        viewer = begin(start)
        start("watch", [str(watch), str(width), str(height), str(folder / "screen")])
        made = OnX(viewer, number, Log(folder / "screen", width, height))
        try:
            yield made
        finally:
            made.close()
            for process in reversed(started):       # a killed X server leaves its files
                process.signal(signal.SIGTERM)
                process.wait(time.monotonic() + 5)
