# SPDX-License-Identifier: LGPL-2.1-or-later
"""Gaps and lateness of sound."""

from __future__ import annotations

import pytest

from bench.measure.playout import heard

_MS = 1_000_000


def test_steady_sound_has_no_gap_and_is_never_late() -> None:
    found = heard([10 * _MS * at for at in range(500)], 0.01)
    assert (found.gaps, found.silence, found.seconds) == (0, 0, pytest.approx(5))
    assert max(found.late) == pytest.approx(0, abs=1e-9)


def test_what_the_buffer_outlasts_is_late_but_no_gap() -> None:
    arrivals = [10 * _MS * at for at in range(100)]
    arrivals[50:58] = [arrivals[50] + 80 * _MS] * 8     # held up for 80 ms, then all at once
    found = heard(arrivals, 0.01)
    assert found.gaps == 0
    assert max(found.late) == pytest.approx(0.08)


def test_a_gap_lasts_until_the_buffer_is_full_again() -> None:
    arrivals = [10 * _MS * at for at in range(100)]
    arrivals[50:] = [at + 300 * _MS for at in arrivals[50:]]
    found = heard(arrivals, 0.01)
    assert (found.gaps, found.silence) == (1, pytest.approx(0.3))
    assert max(found.late) == pytest.approx(0, abs=1e-9)       # all after the gap are on time again


def test_who_is_faster_than_the_first_is_on_time() -> None:
    found = heard([50 * _MS, *(10 * _MS * at for at in range(6, 50))], 0.01)
    assert found.late[1] == pytest.approx(0) and found.gaps == 0
    assert heard([], 0.01) == heard([], 0.02)
