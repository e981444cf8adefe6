# SPDX-License-Identifier: LGPL-2.1-or-later
from __future__ import annotations

import pytest

from bench.measure import staleness

S = 1_000_000_000


def test_of_what_is_seen() -> None:
    """Ten seconds: fresh, but for one in which what was due at 4 s is not there, and one for which that is so of the one at 6.5 s."""
    found = staleness.report([(4 * S, 5 * S, 4 * S), (7 * S, 8 * S, 6 * S + S // 2), (0, 10 * S, None)])
    assert found["age"]["max"] == pytest.approx(1500)
    assert found["age"]["mean"] == pytest.approx(150)
    assert found["age"]["p50"] == pytest.approx(0, abs=0.1)
    assert found["age"]["p95"] == pytest.approx(1000, rel=0.01)
    assert found["recovery"] == []


def test_what_is_due_within_a_step_is_old_from_then_on() -> None:
    """A step is 2 ms, and nothing is due when one begins."""
    found = staleness.report([(4 * S, 5 * S, 4 * S + 1_300_000), (0, 10 * S, None)])
    assert found["age"]["mean"] == pytest.approx(50)
    assert found["age"]["p95"] == pytest.approx(500, rel=0.01)


def test_an_empty_session_has_no_age() -> None:
    assert staleness.report([(0, 0, None)])["age"] is None


@pytest.mark.parametrize(("stale", "recovered"), [
    ([], [0, 0]),
    ([(10 * S, 11 * S, 9 * S + S // 2)], [0, 0]),               # never as old as that
    ([(10 * S, 13 * S, 9 * S), (13 * S, 14 * S, 13 * S)], [3, 0]),
    ([(9 * S, 25 * S, 8 * S)], [10, 5]),                        # it was old when the line changed again
    ([(10 * S, 13 * S, 9 * S), (16 * S, 19 * S, 16 * S)], [9, 0]),      # and once more
    ([(25 * S, 30 * S, 25 * S)], [0, 10]),                      # to the end
])
def test_how_long_it_takes_after_a_change(stale: list[staleness.Stretch], recovered: list[float]) -> None:
    assert staleness.recovery([*stale, (0, 30 * S, None)], [10 * S, 20 * S]) == recovered


def test_a_change_after_the_end_is_none() -> None:
    assert staleness.recovery([(0, 15 * S, None)], [10 * S, 20 * S]) == [0]
