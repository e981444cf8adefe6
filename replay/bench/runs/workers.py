# SPDX-License-Identifier: LGPL-2.1-or-later
"""Several runs at once, each in a forked process: children are tied to the thread that starts them, cleanup happens where a run
is interrupted, and Python's analysis of one run must not delay another."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.context import ForkProcess
from types import FrameType
from typing import Any

from bench.common.errors import BenchError
from bench.runs.runspec import RunSpec

Record = dict[str, Any]
One = Callable[[RunSpec], Record]

_PR_SET_PDEATHSIG = 1
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PARTING_LIMIT = 15.0       # seconds for cleaning up; then the run is killed, and its namespaces with it


def timed(one: One, spec: RunSpec) -> Record:
    """A run's record with how long it took."""
    began = time.monotonic()
    record = one(spec)
    record["took_seconds"] = round(time.monotonic() - began, 3)
    return record


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _heed_the_bench_alone() -> None:
    """Ignores ^C, which the whole process group gets: the bench ends the runs, once. Uses a handler, not SIG_IGN, which child
    programs would inherit."""
    def end(_signal: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, nothing)
        raise KeyboardInterrupt

    def nothing(_signal: int, _frame: FrameType | None) -> None:
        pass

    signal.signal(signal.SIGINT, nothing)
    signal.signal(signal.SIGHUP, nothing)
    signal.signal(signal.SIGTERM, end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)


def _work(one: One, spec: RunSpec, answer: connection.Connection, bench: int) -> None:
    """Runs in the forked process: sends the record, or the exception."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        _heed_the_bench_alone()
        if os.getppid() != bench:
            return
        said: Record | BaseException
        try:
            said = timed(one, spec)
        except (Exception, KeyboardInterrupt) as error:     # raised again in the bench
            error.add_note(traceback.format_exc())
            said = error
        answer.send(said)
    except KeyboardInterrupt:
        pass
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)       # it is about to end


@dataclass
class _Run:
    spec: RunSpec
    process: ForkProcess
    answer: connection.Connection
    began: float
    beside: int             # largest number of other runs at the same time


class Workers:
    """Starts runs, and returns each one's record when it ends. On exit it ends those that still run."""

    def __init__(self, one: One) -> None:
        self._one = one
        self._runs: list[_Run] = []
        self._parting: list[_Run] = []      # those that have sent everything

    @property
    def under_way(self) -> list[RunSpec]:
        return [run.spec for run in self._runs]

    def since(self) -> list[tuple[RunSpec, float]]:
        """The running ones, and for how many seconds they have run."""
        return [(run.spec, time.monotonic() - run.began) for run in self._runs]

    def start(self, spec: RunSpec) -> None:
        context = multiprocessing.get_context("fork")
        mine, its = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(self._one, spec, its, os.getpid()), daemon=True)
        with _uninterrupted(), its:
            process.start()
            self._runs.append(_Run(spec, process, mine, time.monotonic(), len(self._runs)))
        for run in self._runs:
            run.beside = max(run.beside, len(self._runs) - 1)

    def next(self) -> tuple[RunSpec, Record]:
        """Waits for the next run to end. Raises the run's exception."""
        ready = connection.wait([run.answer for run in self._runs])
        return self._end(next(run for run in self._runs if run.answer in ready))

    def _end(self, run: _Run) -> tuple[RunSpec, Record]:
        try:
            said = run.answer.recv()
        except EOFError:
            run.process.join()
            said = BenchError(f"{run.spec}: its process ended with status {run.process.exitcode}")
        self._runs.remove(run)
        self._parting.append(run)
        if isinstance(said, BaseException):
            raise said
        said["beside_runs"] = run.beside
        return run.spec, said

    def arrived(self) -> Iterator[tuple[RunSpec, Record]]:
        """Records that arrived before an interruption, and were not taken. One that does not count may be caused by the
        interruption."""
        for run in [run for run in self._runs if run.answer.poll()]:
            try:
                spec, record = self._end(run)
            except (Exception, KeyboardInterrupt):      # it is ending already
                continue
            if record["valid"]:
                yield spec, record

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            for run in self._runs:
                run.process.terminate()
            limit = time.monotonic() + _PARTING_LIMIT
            for run in (*self._runs, *self._parting):
                run.process.join(max(0.0, limit - time.monotonic()))
        finally:
            for run in (*self._runs, *self._parting):
                run.process.kill()
                run.process.join()
                run.answer.close()
