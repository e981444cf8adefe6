# SPDX-License-Identifier: LGPL-2.1-or-later
"""An X server without a screen of its own (Xvfb), for a program with a window."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

from bench.common import proc
from guest.errors import Failed


class XServer:
    """Until close(). `folder` is its own, for logs and the programs' files."""

    def __init__(self, folder: Path, size: str = "1280x1024", netns: Path | None = None, framebuffer: bool = False) -> None:
        """`framebuffer`: its screen is kept in the file of this name, as xwd writes it."""
        self.framebuffer = folder / "Xvfb_screen0"
        read, write = os.pipe()
        argv = [proc.require("Xvfb", "xvfb"), "-displayfd", str(write), "-screen", "0", f"{size}x24", "-nolisten", "tcp", "-noreset",
                *(["-fbdir", str(folder)] if framebuffer else [])]
        with (folder / "x.log").open("wb") as log:
            self._child = subprocess.Popen(proc.inside(netns, argv), pass_fds=[write], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                           start_new_session=True)
        os.close(write)
        with os.fdopen(read) as told:
            self.number = told.readline().strip()
        if not self.number:
            self.close()
            raise Failed("Xvfb does not start")
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in ("WAYLAND_DISPLAY", "XAUTHORITY")},
            "DISPLAY": f":{self.number}", "HOME": str(folder), "LC_ALL": "C.UTF-8", "XDG_RUNTIME_DIR": str(folder), "GDK_BACKEND": "x11",
            "NO_AT_BRIDGE": "1", "GSETTINGS_BACKEND": "memory", "DBUS_SESSION_BUS_ADDRESS": "disabled:"}

    def close(self) -> None:
        self._child.terminate()     # a killed one leaves its files
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(5)
        self._child.kill()
        self._child.wait()
