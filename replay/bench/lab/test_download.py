# SPDX-License-Identifier: LGPL-2.1-or-later
"""A download beside a run fills the link, is counted between two moments, and leaves nothing behind."""

from __future__ import annotations

import threading
import time

import pytest

from bench.common.errors import BenchError
from bench.conftest import needs_emulator, wait_until
from bench.lab import beside, lab
from bench.lab.links import LINKS, Link


def test_rate_between_two_moments() -> None:
    found = beside.Download()
    found.notes = [(1.0, 1000), (2.0, 3000), (3.0, 7000)]
    assert found.rate(1.0, 3.0) == 24_000
    assert found.rate(2.0, 3.5) == pytest.approx(4000 * 8 / 1.5)
    assert found.rate(3.5, 4.0) is None and found.rate(2.0, 2.0) is None
    assert beside.Download().rate(1.0, 2.0) is None


@needs_emulator
def test_alone_it_has_the_link_to_itself() -> None:
    running = threading.active_count()
    with lab.connect(Link("some", rate=5_000_000, delay=0.01)) as where, beside.download(where) as found:
        began, before = time.monotonic(), found.notes[-1][1] if found.notes else 0
        wait_until(lambda: found.notes and found.notes[-1][1] >= before + 500_000)
        ended = time.monotonic()
    rate = found.rate(began, ended)
    # what had come into the socket before may be read after: a queue and a window more than the link carries meanwhile
    assert rate is not None and 0 < rate * (ended - began) < 5_000_000 * (ended - began) + 8 * 500_000
    assert threading.active_count() == running


def test_not_without_a_limit() -> None:
    with lab.connect(LINKS["lan"]) as where, pytest.raises(BenchError, match="needs a link with a rate"), beside.download(where):
        pass
