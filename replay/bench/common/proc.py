# SPDX-License-Identifier: LGPL-2.1-or-later
"""Child processes that are killed when this process ends, however it ends.

Start children from the main thread only: the kernel ties them to the thread that forked them.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import queue
import shutil
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from bench.common.errors import BenchError

Event = dict[str, Any]
# Gets what children print, and None when their output ends. Several children may share one.
Mailbox = queue.Queue[tuple["Process", Event | None]]


def require(program: str, package: str) -> str:
    """The program's path, or an error that says what to install."""
    found = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not found:
        raise BenchError(f"{program} is missing: install the package {package}")
    return found


def inside(netns: Path | None, argv: Sequence[str]) -> list[str]:
    """The command line that runs argv in a network namespace and has it killed when its parent dies."""
    head = [require("setpriv", "util-linux"), "--pdeathsig", "KILL"]
    if netns is not None:
        head += [require("nsenter", "util-linux"), f"--net={netns}"]
    return head + ["--", *argv]


def call(argv: Sequence[str], netns: Path | None = None, timeout: float = 30) -> str:
    """Runs a short command and returns its output; a failure is an error for the user."""
    try:
        done = subprocess.run(inside(netns, argv), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise BenchError(f"{' '.join(argv)}: no answer in {timeout:.0f} s") from None
    if done.returncode:
        message = (done.stderr or done.stdout).strip().replace("\n", "; ")
        raise BenchError(f"{' '.join(argv)}: {message or 'status ' + str(done.returncode)}")
    return done.stdout


def said(argv: Sequence[str]) -> str | None:
    """What a short command prints; None if it fails."""
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=20).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def receive(mailbox: Mailbox, deadline: float) -> tuple[Process, Event | None] | None:
    """The next (child, object) from the queue; the object is None when the child's output has ended. None at the deadline."""
    try:
        return mailbox.get(timeout=max(0.0, deadline - time.monotonic()))
    except queue.Empty:
        return None


class Process:
    """A child that prints JSON objects, one per line, on standard output, and messages for people on standard error."""

    def __init__(self, name: str, argv: Sequence[str], netns: Path | None = None,
                 env: Mapping[str, str] | None = None, mailbox: Mailbox | None = None) -> None:
        self.name = name
        self.mailbox = mailbox if mailbox is not None else queue.Queue()
        self.complaints: collections.deque[str] = collections.deque(maxlen=40)
        try:
            self._child = subprocess.Popen(inside(netns, argv), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE, text=True, errors="replace",
                                           env=dict(env) if env is not None else None)
        except OSError as error:
            raise BenchError(f"{argv[0]} does not start: {error.strerror}") from None
        assert self._child.stdout and self._child.stderr
        self._readers = [threading.Thread(target=self._read_events, args=(self._child.stdout,), daemon=True),
                         threading.Thread(target=self._read_complaints, args=(self._child.stderr,), daemon=True)]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        return self._child.pid

    def _read_events(self, stream: IO[str]) -> None:
        for line in stream:
            try:
                event = json.loads(line)
            except ValueError:
                event = None
            if isinstance(event, dict):
                self.mailbox.put((self, event))
            elif line.strip():
                self.complaints.append(line.rstrip())
        self.mailbox.put((self, None))

    def _read_complaints(self, stream: IO[str]) -> None:
        for line in stream:
            if line.strip():
                self.complaints.append(line.rstrip())

    def wait_event(self, name: str, deadline: float) -> Event | None:
        """Its next event of that name; earlier ones are dropped. None at the deadline, or if its output ends before."""
        while (got := receive(self.mailbox, deadline)) and got[1] is not None:
            if got[1].get("event") == name:
                return got[1]
        return None

    def wait_complaint(self, text: str, deadline: float) -> bool:
        """Waits until standard error has a line that contains text."""
        while time.monotonic() < deadline:
            ended = self._child.poll() is not None
            if ended:       # its last lines may not have been read yet
                self._readers[1].join(max(0.0, deadline - time.monotonic()))
            if any(text in line for line in list(self.complaints)):
                return True
            if ended:
                return False
            time.sleep(0.01)
        return False

    def say(self, line: str) -> None:
        """Writes a line to the child; ignored if the child is gone."""
        assert self._child.stdin
        with contextlib.suppress(BrokenPipeError, ValueError):
            self._child.stdin.write(line + "\n")
            self._child.stdin.flush()

    def running(self) -> bool:
        return self._child.poll() is None

    def signal(self, number: int) -> None:
        if self.running():
            self._child.send_signal(number)

    def wait(self, deadline: float) -> int | None:
        """The exit status (negative: a signal), or None if it still runs at the deadline."""
        try:
            status = self._child.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return None
        for reader in self._readers:
            reader.join(2)
        return status

    def last_complaint(self) -> str:
        return self.complaints[-1] if self.complaints else ""

    def close(self) -> None:
        """Kills the child if it still runs, and closes all pipes."""
        if self.running():
            self._child.kill()
        self._child.wait()
        for reader in self._readers:
            reader.join(2)
        for stream in (self._child.stdin, self._child.stdout, self._child.stderr):
            if stream:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
