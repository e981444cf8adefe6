# SPDX-License-Identifier: LGPL-2.1-or-later
"""The interface of a client's driver. What a client cannot do raises NotRun with the reason."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.common import proc
from bench.common.steps import Steps
from clients.target import Target
from guest.errors import Failed, NotRun
from guest.picture import Pixels

# scan codes of a PC keyboard, for the keys that the tests type
_ROWS = ((16, "qwertyuiop\n"), (30, "asdfghjkl"), (44, "zxcvbnm"))
SCAN_CODES = {letter: first + at for first, row in _ROWS for at, letter in enumerate(row)} | {"\n": 28}
RELEASED = 0x80
BETWEEN = 0.05  # seconds between two keys


class Driver(ABC):
    """One client, connected once by start(). Each has a temporary folder of its own."""

    name = ""
    transports: frozenset[str] = frozenset()
    shows_pictures = True
    shows_displays = False      # whether picture() can tell the guest's displays apart

    def __init__(self, target: Target, folder: Path) -> None:
        self.target, self.folder = target, folder
        self._child: subprocess.Popen[bytes] | None = None

    @classmethod
    @abstractmethod
    def version(cls) -> str:
        """Its version; NotRun if it is not installed."""

    @classmethod
    def install(cls, steps: Steps) -> None:
        """Installs what Debian packages of this machine do not provide; NotRun if that fails."""

    @abstractmethod
    def start(self) -> None:
        """Starts the client; it may still be connecting."""

    def picture(self, display: int = 0) -> Pixels:
        """The picture that it shows now, on this display of the guest."""
        raise NotRun("does not draw")

    def resize(self, width: int, height: int) -> None:
        """Makes its window that large, so that it asks the guest's agent for such a screen."""
        raise NotRun("has no window")

    def type(self, text: str) -> None:
        """Presses and releases the keys of small letters, and Enter."""
        raise NotRun("cannot be made to type")

    def messages(self) -> int | None:
        """Messages of the display channel since start(); None if it does not count them."""
        return None

    def hears(self) -> int:
        """Bytes of sound since start()."""
        raise NotRun("cannot be asked what it hears")

    def through_port(self, data: bytes, name: str) -> bytes:
        """Sends data to the guest's port of that name, and returns as many bytes that come back."""
        raise NotRun("has no ports that can be used from outside")

    def copy(self, text: str) -> None:
        """Offers the text to the guest as its clipboard, and sends it on request."""
        raise NotRun("its clipboard cannot be used from outside")

    def paste(self) -> str:
        """Waits for the guest's offer of a clipboard, and requests it."""
        raise NotRun("its clipboard cannot be used from outside")

    def send_file(self, file: Path) -> None:
        """Sends a file to the guest's agent, as if it was dropped on the window; may return before it is there."""
        raise NotRun("files cannot be dropped on it from outside")

    def shares(self) -> Path:
        """The folder shared with the guest through webdav."""
        raise NotRun("shares a folder only by hand")

    def plug_disk(self, image: Path) -> None:
        """Redirects a USB disk with this content to the guest."""
        raise NotRun("has no USB disk without hardware")

    def running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def _run(self, argv: Sequence[str | Path], env: Mapping[str, str] | None = None, pass_fds: Sequence[int] = ()) -> None:
        """Starts a program in a process group of its own. Its output goes to the file log in `folder`."""
        words, netns = [str(part) for part in argv], self.target.netns
        with (self.folder / "log").open("ab") as log:
            self._child = subprocess.Popen(proc.inside(netns, words) if netns else words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                           env={**os.environ, **(env or {})}, start_new_session=True, pass_fds=pass_fds)

    def signal(self, number: int) -> None:
        if self._child is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._child.pid, number)

    def freeze(self) -> None:
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def vanish(self) -> None:
        """Kills the client, as a crash would."""
        self.signal(signal.SIGKILL)
        if self._child is not None:
            self._child.wait()
        self._end()

    def stop(self) -> None:
        """Ends the client as a user would, and its child processes."""
        if self._child is not None:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(5)
        self.vanish()
        self._child = None

    def _end(self) -> None:
        """Ends what the client has needed besides, also if it did not start; may be called twice."""

    def complaint(self) -> str:
        log = self.folder / "log"
        told = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
        return told[-1][:200] if told else "it says nothing"

    def must_run(self) -> None:
        if not self.running():
            raise Failed(f"{self.name} ended: {self.complaint()}")


def first_line(argv: Sequence[str], why_not: str) -> str:
    """The version in the output of a program."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        raise NotRun(why_not) from None
    return (done.stdout or done.stderr).strip().splitlines()[0]


def debian_version(package: str) -> str:
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout:
        raise NotRun(f"the Debian package {package} is not installed")
    return done.stdout
