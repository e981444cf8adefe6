# SPDX-License-Identifier: LGPL-2.1-or-later
"""A viewer with a window, on an X server of its own. spice-x-watch reads the window; keys and pointer go through the
X server."""

from __future__ import annotations

import contextlib
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
from bench.lab.lab import Lab
from clients.xserver import XServer
from guest.errors import Failed
from guest.picture import Pixels
from live.tiles import Log
from live.viewers import KEYS, Viewer

_TIGERS_MARGIN = 200    # pixels that TigerVNC's viewer reserves for title and borders
Start = Callable[[str, Sequence[str]], proc.Process]    # starts a program of that name in the client's namespace, on that X server


class OnX(Viewer):
    def __init__(self, viewer: proc.Process, number: str, log: Log) -> None:
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
    watch, started = paths.tool("screen", "spice-x-watch"), list[proc.Process]()
    with contextlib.ExitStack() as open_:
        x = XServer(folder, f"{width + margin}x{height + margin}", lab.client)
        open_.callback(x.close)

        def start(name: str, argv: Sequence[str]) -> proc.Process:
            started.append(open_.enter_context(proc.Process(name, argv, lab.client, x.environment)))
            return started[-1]

        viewer = begin(start)
        start("watch", [str(watch), str(width), str(height), str(folder / "screen")])
        made = OnX(viewer, x.number, Log(folder / "screen", width, height))
        try:
            yield made
        finally:
            made.close()
            for process in reversed(started):
                process.signal(signal.SIGTERM)
                process.wait(time.monotonic() + 5)


def tiger(lab: Lab, folder: Path, width: int, height: int) -> contextlib.AbstractContextManager[Viewer]:
    """TigerVNC's viewer with default settings."""
    def begin(start: Start) -> proc.Process:
        viewer = start("viewer", [proc.require("xtigervncviewer", "tigervnc-viewer"), "-SecurityTypes", "TLSNone", "-RemoteResize=0", "-MenuKey=",
                                  "-geometry", f"{width}x{height}+0+0", "-Log", "*:stderr:30", f"{lab.server_address}::{lab.ports[0]}"])
        if not viewer.wait_complaint("Connected to host", time.monotonic() + 20):
            raise Failed(f"the viewer does not connect: {viewer.last_complaint()}")
        time.sleep(2 + 4 * lab.link.full_round_trip)
        return viewer

    return shown(lab, folder, (width, height), _TIGERS_MARGIN, begin)
