# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run live reports without a guest: what is chosen, and what the figures are made of."""

from __future__ import annotations

import argparse

import numpy
import pytest

from bench.common.errors import BenchError
from live import deployment, guests, reports
from live.tiles import TILE, Look

_BASE = numpy.full((96, 128), 50, numpy.int16)


def _look(when: int, *drawn: int, erased: tuple[int, ...] = ()) -> Look:
    """The client shows the pointer at these places."""
    quarters = {}
    for place, mean in [*((place, 200) for place in drawn), *((place, 50) for place in erased)]:
        x, y = reports._PLACES[place][0] + 3, reports._PLACES[place][1] + 5
        column, row = x // TILE, y // TILE
        quarter = y % TILE // 8 * 2 + x % TILE // 8
        tile = quarters.setdefault((column, row), [50] * 4)
        tile[quarter] = mean
    return Look(when, numpy.array([row * 512 + column for column, row in quarters]),
                numpy.array([sum(mean << 8 * at for at, mean in enumerate(tile)) for tile in quarters.values()], numpy.uint32))


def test_a_pointer_is_followed_also_where_places_are_left_out() -> None:
    second = 1_000_000_000
    moved = [0.0, 1 * second, 2 * second, 3 * second]
    looks = [_look(second // 2, 0), _look(4 * second, 2, erased=(0,))]
    assert reports.followed(_BASE, looks, moved) == ([0.5, 3.0, 2.0, None], 0, 0.0)


def test_a_pointer_that_is_not_erased_is_a_trail() -> None:
    waits, most, share = reports.followed(_BASE, [_look(10, 0), _look(20, 1), _look(30, 2, erased=(0, 1))], [0.0, 10.0, 20.0])
    assert None not in waits and most == 1 and share == pytest.approx(1 / 3)


def test_rows_take_a_length() -> None:
    parser = argparse.ArgumentParser()
    reports.configure(parser)
    args = parser.parse_args(["view-only", "--count", "7200"])
    assert {(case.what[0], case.count) for case in deployment.planned(args, reports.ROWS)} == {("view-only", 7200)}
    with pytest.raises(BenchError, match="unknown row 'paste': choose one of large-"):
        deployment.planned(parser.parse_args(["paste"]), reports.ROWS)


def test_large_guests_are_known_and_not_part_of_the_full_set() -> None:
    assert {guests.kind_of(name) for name in guests.LARGE} == {guests.TEXT} and not set(guests.LARGE) & set(guests.NAMES)
