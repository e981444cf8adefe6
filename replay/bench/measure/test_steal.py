# SPDX-License-Identifier: LGPL-2.1-or-later
from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from bench.conftest import wait_until
from bench.measure.steal import StealTime

PROCESSORS = os.cpu_count() or 1
SECOND = 10**9


def stat(file: Path, ticks: int) -> None:
    """Put in its place at once: a look finds the old one or the new one."""
    new = file.with_suffix(".new")
    new.write_text(f"cpu  1 2 3 4 5 6 7 {ticks} 9 10\ncpu0 1 2 3 4 5 6 7 99 9 10\n")
    new.replace(file)


def test_what_the_host_took(tmp_path: Path) -> None:
    file = tmp_path / "stat"
    stat(file, 1000)
    with StealTime(file) as stolen:
        begin = time.monotonic_ns()
        looks = len(stolen._seen)
        wait_until(lambda: len(stolen._seen) > looks)
        stat(file, 1000 + os.sysconf("SC_CLK_TCK") * PROCESSORS)    # one second of each
        looks = len(stolen._seen)
        wait_until(lambda: len(stolen._seen) > looks + 1)
        end = time.monotonic_ns()
    share = stolen.share(begin, end)
    took = (end - begin) / SECOND
    assert share is not None and 0 < share <= 1 / took      # the looks are not at the moments asked for
    assert stolen.share(end, begin) is None
    stolen._seen = [(0, 1000), (SECOND, 1000), (3 * SECOND, 1000 + os.sysconf("SC_CLK_TCK") * PROCESSORS), (4 * SECOND, 9999)]
    assert stolen.share(SECOND + 1, 3 * SECOND - 1) == 0.5


def test_moments_before_or_after_are_not_known(tmp_path: Path) -> None:
    file = tmp_path / "stat"
    stat(file, 0)
    with StealTime(file) as stolen:
        now = time.monotonic_ns()
    assert stolen.share(now, time.monotonic_ns() + SECOND) is None
    assert stolen.share(now - SECOND, now) is None


@pytest.mark.parametrize("text", ["", "cpu 1 2 3 4 5 6 7\n", "intr 1 2 3 4 5 6 7 8 9\n"])
def test_a_kernel_that_does_not_tell(tmp_path: Path, text: str) -> None:
    file = tmp_path / "stat"
    file.write_text(text)
    with StealTime(file) as stolen:
        begin = time.monotonic_ns()
    assert stolen.share(begin, begin + 1) is None
