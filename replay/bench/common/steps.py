# SPDX-License-Identifier: LGPL-2.1-or-later
"""Long commands: output goes to a log, the terminal gets one line per step. A lock; a look at the free space."""

from __future__ import annotations

import collections
import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.common import paths
from bench.common.errors import BenchError

GB = 10**9
_NINJA = re.compile(r"\[(\d+)/(\d+)\]")
_COMPLAINTS = (re.compile(r"\b(error|ERROR):|^E: |undefined reference"), re.compile(r"(?i)failed|fatal|error"))
_REPAINT_SECONDS = 0.2
_LONG = 5.0
_PATIENCE = 2.0


@contextlib.contextmanager
def alone(command: str, folder: Path | None = None) -> Iterator[None]:
    """One `./run COMMAND` at a time per tree, or per folder; a second one waits for the first. The kernel releases the lock when a
    process ends."""
    folder = folder or paths.cache_dir()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{command}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"another {'.ci/run' if command == 'ci' else f'./run {command}'} is at work here: waiting for it", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def require_space(folder: Path, needed: float, advice: str) -> None:
    """Raises BenchError, with advice, unless the folder's file system has `needed` bytes free: tests that run out of it do not say why
    they fail."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise BenchError(f"{folder} has {free / GB:.1f} GB free, and {needed / GB:.0f} are needed: {advice}")


class StepFailed(BenchError):
    """One line for the user; `output` is the end of what the command printed."""

    def __init__(self, message: str, output: Sequence[str]) -> None:
        super().__init__(message)
        self.output = list(output)


class Steps:
    """Runs the commands of one job, one after the other, into one log."""

    def __init__(self, log: Path) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self.log = log
        self._live = sys.stderr.isatty()
        log.write_text("")

    def say(self, text: str) -> None:
        print(f"\r\033[K{text}" if self._live else text, file=sys.stderr, flush=True)

    def _paint(self, text: str) -> None:
        if self._live:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def run(self, title: str, argv: Sequence[str | Path], *, quiet: bool = False, cwd: Path | None = None,
            env: Mapping[str, str] | None = None) -> list[str]:
        """Returns the last lines of output; raises StepFailed, which names the log. A quiet step is shown only while it runs, or
        if it took long."""
        began = time.monotonic()
        self._paint(title)
        if not (quiet or self._live):
            self.say(f"{title} ...")
        tail: collections.deque[str] = collections.deque(maxlen=200)
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"\n# {title}\n$ {' '.join(map(str, argv))}\n")
            log.flush()
            status = self._watch(title, argv, cwd, env, log.write, tail)
        seconds = time.monotonic() - began
        if status:
            reason = next((line.strip() for complaint in _COMPLAINTS for line in tail if complaint.search(line)),
                          f"status {status}")
            self._paint("")
            raise StepFailed(f"{title} failed: {reason} (log: {self.log})", tail)
        if quiet and seconds < _LONG:
            self._paint("")
        else:
            self.say(f"{title}: {seconds:.0f} s")
        return list(tail)

    def _watch(self, title: str, argv: Sequence[str | Path], cwd: Path | None, env: Mapping[str, str] | None,
               write: collections.abc.Callable[[str], object], tail: collections.deque[str]) -> int:
        painted = 0.0
        try:
            child = subprocess.Popen([str(part) for part in argv], cwd=cwd, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                     env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})})
        except OSError as error:
            raise BenchError(f"{title}: {argv[0]} does not start: {error.strerror}") from None
        assert child.stdout
        try:
            for line in child.stdout:
                write(line)
                tail.append(line.rstrip())
                counted = _NINJA.match(line)
                if counted and time.monotonic() - painted > _REPAINT_SECONDS:
                    painted = time.monotonic()
                    self._paint(f"{title}: {int(counted[1]) * 100 // max(1, int(counted[2]))} %")
            return child.wait()
        finally:
            if child.poll() is None:    # interrupted
                child.terminate()
                try:
                    child.wait(_PATIENCE)
                except subprocess.TimeoutExpired:       # unshare waits for its child, which does not get the signal
                    child.kill()
                    child.wait()
            child.stdout.close()
