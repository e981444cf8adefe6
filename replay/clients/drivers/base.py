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

from bench.common.steps import Steps
from clients.errors import Failed, NotRun
from clients.picture import Picture
from clients.target import Target


class Driver(ABC):
    """One client, connected once by start(). Each has a folder of its own, that is gone afterwards."""

    name = ""
    transports: frozenset[str] = frozenset()
    shows_pictures = True

    def __init__(self, target: Target, folder: Path) -> None:
        self.target, self.folder = target, folder
        self._child: subprocess.Popen[bytes] | None = None

    @classmethod
    @abstractmethod
    def version(cls) -> str:
        """As it calls itself; NotRun if it is not here."""

    @classmethod
    def install(cls, steps: Steps) -> None:
        """What no Debian package of this machine brings; NotRun if it cannot be had."""

    @abstractmethod
    def start(self) -> None:
        """Returns when it runs, connected or not."""

    def picture(self) -> Picture:
        """What it shows now."""
        raise NotRun("does not draw")

    def type(self, text: str) -> None:
        """Presses and releases the keys of small letters, and Enter."""
        raise NotRun("cannot be made to type")

    def messages(self) -> int | None:
        """Of the display channel, since it was started; None if it does not count them."""
        return None

    def hears(self) -> int:
        """Bytes of sound since it was started."""
        raise NotRun("cannot be asked what it hears")

    def through_port(self, data: bytes, name: str) -> bytes:
        """Sends data into the guest's port of that name, returns as much as comes back."""
        raise NotRun("has no ports that can be used from outside")

    def copy(self, text: str) -> None:
        """Offers the text to the guest, as its clipboard; gives it when it is asked."""
        raise NotRun("its clipboard cannot be used from outside")

    def paste(self) -> str:
        """Waits for what the guest offers, asks for it."""
        raise NotRun("its clipboard cannot be used from outside")

    def shares(self) -> Path:
        """The folder that it shares with the guest through webdav."""
        raise NotRun("shares a folder only by hand")

    def plug_disk(self, image: Path) -> None:
        """Redirects a USB disk with this content to the guest."""
        raise NotRun("has no USB disk without hardware")

    def running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def _run(
        self, argv: Sequence[str | Path], env: Mapping[str, str] | None = None, pass_fds: Sequence[int] = ()
    ) -> None:
        """Its output is in `folder`, in the file log. It is the first of a process group of its own."""
        with (self.folder / "log").open("ab") as log:
            self._child = subprocess.Popen(
                [str(part) for part in argv],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **(env or {})},
                start_new_session=True,
                pass_fds=pass_fds,
            )

    def signal(self, number: int) -> None:
        if self._child is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._child.pid, number)

    def freeze(self) -> None:
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def vanish(self) -> None:
        """Without a word."""
        self.signal(signal.SIGKILL)
        if self._child is not None:
            self._child.wait()

    def stop(self) -> None:
        """As a user would end it; with all it started."""
        if self._child is None:
            return
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(5)
        self.vanish()
        self._child = None

    def complaint(self) -> str:
        log = self.folder / "log"
        told = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
        return told[-1][:200] if told else "it says nothing"

    def must_run(self) -> None:
        if not self.running():
            raise Failed(f"{self.name} ended: {self.complaint()}")


def first_line(argv: Sequence[str], why_not: str) -> str:
    """Of what a program says of its version."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        raise NotRun(why_not) from None
    return (done.stdout or done.stderr).strip().splitlines()[0]


def debian_version(package: str) -> str:
    done = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=False
    )
    if done.returncode or not done.stdout:
        raise NotRun(f"the Debian package {package} is not installed")
    return done.stdout
