# SPDX-License-Identifier: LGPL-2.1-or-later
from __future__ import annotations

import pytest

from bench.measure import response

MS = 1_000_000


def _shown(*times: int) -> list[dict[str, int]]:
    return [{"time_ns": time, "missed": 0} for time in times]


def test_a_response_is_from_when_the_last_drawing_was_due() -> None:
    bursts = [[3, 0, 10 * MS], [5, 100 * MS, 150 * MS], [9, 400 * MS, 460 * MS]]
    shown = _shown(9 * MS, 140 * MS, 420 * MS)
    shown[2]["missed"] = 1
    found = response.report(bursts, shown)
    assert found == {"bursts": 2, "missed": 1, "p50": 30.0, "p95": 39.0, "max": 40.0, "values": [40.0, 20.0]}
    assert response.waited(bursts, shown) == 51 * MS


@pytest.mark.parametrize(("bursts", "shown"), [
    (None, []), ([], []), ([[1, 5, 9]], []), ([[1, 5, 9]], [4]), ([[1, 0, 9]], [8])])
def test_what_does_not_fit_is_not_known(bursts: list[list[int]] | None, shown: list[int]) -> None:
    assert response.report(bursts, _shown(*shown)) is None
