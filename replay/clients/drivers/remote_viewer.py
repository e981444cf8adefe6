# SPDX-License-Identifier: LGPL-2.1-or-later
"""remote-viewer on an X server of its own (Xvfb)."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from pathlib import Path

from clients import picture, target
from clients.drivers.base import Driver, debian_version
from clients.errors import Failed, NotRun
from clients.scan_codes import BETWEEN

_PASTED = 30
_SCREEN = "2200x1300x24"


class RemoteViewer(Driver):
    name = "remote-viewer"
    transports = frozenset({target.PLAIN, target.TLS, target.UNIX, target.RELAY, target.SANDBOX}) | target.PROXIES - target.WEB_PROXIES
    _copied = ""
    _x: subprocess.Popen[bytes] | None = None

    @classmethod
    def version(cls) -> str:
        for program, package in (("Xvfb", "xvfb"), ("xdotool", "xdotool"), ("xclip", "xclip")):
            if not shutil.which(program):
                raise NotRun(f"the Debian package {package} is not installed")
        return f"{debian_version('virt-viewer')}, spice-gtk {debian_version('libspice-client-glib-2.0-8')}"

    def start(self) -> None:
        self._display = self._start_x()
        arguments: list[str | Path] = ["--zoom=100", self.target.uri]
        if self.target.encrypted:
            arguments.insert(0, f"--spice-ca-file={self.target.ca}")
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        self._run(
            ["remote-viewer", *arguments],
            {
                "DISPLAY": self._display,
                "HOME": str(home),
                "XDG_RUNTIME_DIR": str(home),
                "GDK_BACKEND": "x11",
                "NO_AT_BRIDGE": "1",
                "GSETTINGS_BACKEND": "memory",
                "DBUS_SESSION_BUS_ADDRESS": "disabled:",
                **self.target.environment,
            },
        )

    def _start_x(self) -> str:
        self._frame = self.folder / "Xvfb_screen0"
        read, write = os.pipe()
        with (self.folder / "x.log").open("wb") as log:
            self._x = subprocess.Popen(
                [
                    "Xvfb",
                    "-displayfd",
                    str(write),
                    "-screen",
                    "0",
                    _SCREEN,
                    "-fbdir",
                    str(self.folder),
                    "-nolisten",
                    "tcp",
                    "-noreset",
                ],
                pass_fds=[write],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        os.close(write)
        with os.fdopen(read) as told:
            number = told.readline().strip()
        if not number:
            raise Failed("Xvfb does not start")
        return f":{number}"

    def picture(self, display: int = 0) -> picture.Picture:
        return picture.from_xwd(self._frame.read_bytes())

    def _xdotool(self, *words: str) -> None:
        subprocess.run(["xdotool", *words], env={**os.environ, "DISPLAY": self._display}, check=False, capture_output=True, timeout=20)

    def resize(self, width: int, height: int) -> None:
        self._xdotool("search", "--onlyvisible", "--class", self.name, "windowsize", "%@", str(width), str(height))

    def type(self, text: str) -> None:
        self._xdotool("mousemove", "300", "300")
        time.sleep(0.5)
        for letter in text:
            self._xdotool("key", "Return" if letter == "\n" else letter)
            time.sleep(BETWEEN)

    def _xclip(self, *words: str, text: str | None = None) -> str:
        file = self.folder / "clipboard"
        if text is not None:
            file.write_text(text)
        done = subprocess.run(
            ["xclip", "-selection", "clipboard", *words, *([str(file)] if text is not None else [])],
            env={**os.environ, "DISPLAY": self._display},
            stdout=subprocess.DEVNULL if text is not None else subprocess.PIPE,     # xclip keeps running, to serve the clipboard
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=60,
        )
        return (done.stdout or b"").decode(errors="replace")

    def copy(self, text: str) -> None:
        self._copied = text
        self._xclip("-in", text=text)

    def paste(self) -> str:
        """Waits until the X server's clipboard holds something other than what was copied, and returns that."""
        for _ in range(_PASTED):
            if (held := self._xclip("-out")) not in ("", self._copied):
                return held
            time.sleep(1)
        raise Failed(f"{self.name} does not offer the guest's clipboard in {_PASTED} s")

    def _end_x(self) -> None:
        if self._x:
            self._x.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._x.wait(5)
            if self._x.poll() is None:
                self._x.kill()
                self._x.wait()
            self._x = None

    def vanish(self) -> None:
        super().vanish()
        self._end_x()

    def stop(self) -> None:
        super().stop()
        self._end_x()
