# SPDX-License-Identifier: LGPL-2.1-or-later
"""remote-viewer on an X server of its own (Xvfb)."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

from clients import target
from clients.drivers.base import BETWEEN, Driver, debian_version
from clients.xserver import XServer
from guest import picture
from guest.errors import Failed, NotRun
from guest.picture import Pixels

_PASTED = 30
_SCREEN = "2200x1300"


class RemoteViewer(Driver):
    name = "remote-viewer"
    transports = frozenset({target.PLAIN, target.TLS, target.UNIX, target.RELAY, target.SANDBOX}) | target.PROXIES - target.WEB_PROXIES
    _copied = ""
    _x: XServer | None = None

    @classmethod
    def version(cls) -> str:
        for program, package in (("Xvfb", "xvfb"), ("xdotool", "xdotool"), ("xclip", "xclip")):
            if not shutil.which(program):
                raise NotRun(f"the Debian package {package} is not installed")
        return f"{debian_version('virt-viewer')}, spice-gtk {debian_version('libspice-client-glib-2.0-8')}"

    def start(self) -> None:
        arguments: list[str | Path] = ["--zoom=100", self.target.uri]
        if self.target.encrypted:
            arguments.insert(0, f"--spice-ca-file={self.target.ca}")
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        self._x = XServer(home, _SCREEN, framebuffer=True)
        self._run(["remote-viewer", *arguments], {**self._x.environment, **self.target.environment})

    def picture(self, display: int = 0) -> Pixels:
        assert self._x
        return picture.from_xwd(self._x.framebuffer.read_bytes())

    @property
    def _environment(self) -> dict[str, str]:
        assert self._x
        return self._x.environment

    def _xdotool(self, *words: str) -> None:
        subprocess.run(["xdotool", *words], env=self._environment, check=False, capture_output=True, timeout=20)

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
            stdout=subprocess.DEVNULL if text is not None else subprocess.PIPE,     # xclip keeps running, to serve the clipboard
            env=self._environment, stderr=subprocess.DEVNULL, check=False, timeout=60)
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

    def _end(self) -> None:
        if self._x:
            self._x.close()
            self._x = None
