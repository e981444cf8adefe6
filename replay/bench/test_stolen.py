# SPDX-License-Identifier: LGPL-2.1-or-later
from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from bench.stolen import Stolen

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
    with Stolen(file) as stolen:
        begin = time.monotonic_ns()
        time.sleep(0.1)
        stat(file, 1000 + os.sysconf("SC_CLK_TCK") * PROCESSORS)    # one second of each
        time.sleep(0.1)
        end = time.monotonic_ns()
    share = stolen.share(begin, end)
    took = (end - begin) / SECOND
    assert share is not None and 0.5 / took < share <= 1 / took
    assert stolen.share(end, begin) is None


def test_moments_before_or_after_are_not_known(tmp_path: Path) -> None:
    file = tmp_path / "stat"
    stat(file, 0)
    with Stolen(file) as stolen:
        now = time.monotonic_ns()
    assert stolen.share(now, time.monotonic_ns() + SECOND) is None
    assert stolen.share(now - SECOND, now) is None


@pytest.mark.parametrize("text", ["", "cpu 1 2 3 4 5 6 7\n", "intr 1 2 3 4 5 6 7 8 9\n"])
def test_a_kernel_that_does_not_tell(tmp_path: Path, text: str) -> None:
    file = tmp_path / "stat"
    file.write_text(text)
    with Stolen(file) as stolen:
        begin = time.monotonic_ns()
    assert stolen.share(begin, begin + 1) is None
