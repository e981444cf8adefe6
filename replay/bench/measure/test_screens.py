# SPDX-License-Identifier: LGPL-2.1-or-later
from __future__ import annotations

from collections.abc import Sequence

import numpy
import pytest

from bench.measure import screens
from bench.measure.staleness import Stretch

MS = 1_000_000
OUT = screens.OUTSIDE
Record = tuple[int, int, int]       # ms, tile, means

# A tile that shows 1, 50, 100, 150 at 0, 100, 200, 300 ms.
DUE: list[Record] = [(0, 7, 1), (100, 7, 50), (200, 7, 100), (300, 7, 150)]


def _log(records: Sequence[Record]) -> screens.Array:
    return numpy.array([(when * MS, tile, means) for when, tile, means in records], screens.RECORD)


def _found(due: Sequence[Record], seen: Sequence[Record], end: int = 1000) -> list[Stretch]:
    found = screens.stretches(_log(due), _log(seen), end * MS)
    assert found is not None
    return found


def _since(found: list[Stretch], *moments: int) -> list[int | None]:
    """Since when the screen is stale at each moment, all in ms; None: it is not."""
    assert all(moment < found[-1][1] // MS for moment in moments)
    return [next((since // MS for begin, end, since in found if since is not None and begin <= moment * MS < end), None) for moment in moments]


def test_what_is_shown_late_is_old_until_then() -> None:
    found = _found(DUE, [(10, 7, 1), (130, 7, 50), (250, 7, 100), (340, 7, 150)])
    assert _since(found, 5, 50, 120, 150, 240, 330) == [0, None, 100, None, 200, 300]
    assert found[-1] == (0, 340 * MS, None)     # nothing is due any more


def test_what_is_left_out_is_old_until_something_newer_is_there() -> None:
    """No message was sent for what is left out; it counts by what is there to be seen."""
    found = _found(DUE, [(10, 7, 1), (260, 7, 100), (390, 7, 150)])
    assert _since(found, 150, 258, 262, 310) == [100, 100, None, 300]


def test_the_oldest_tile_counts() -> None:
    """What arrives says nothing: a tile elsewhere that is fresh makes none fresh."""
    found = _found([(0, 7, 1), (0, 9, 1), (100, 7, 50), (200, 9, 50)], [(0, 7, 1), (0, 9, 1), (210, 9, 50), (300, 7, 50)])
    assert _since(found, 150, 250) == [100, 100]
    assert found[-1][1] == 300 * MS


def test_losses_are_seen_through() -> None:
    """Within what is alike; then nearer to the third than to others, though not alike."""
    found = _found(DUE, [(0, 7, 3), (110, 7, 55), (210, 7, 89)], 400)
    assert _since(found, 50, 150, 250, 390) == [None, None, None, 300]


def test_a_screen_never_goes_back() -> None:
    """Half of a drawing may look like something of long ago."""
    found = _found(DUE, [(0, 7, 1), (100, 7, 50), (200, 7, 100), (310, 7, 3), (320, 7, 150)], 400)
    assert _since(found, 250, 315) == [None, 300]


def test_what_is_never_seen_is_old_to_the_end() -> None:
    assert _since(_found(DUE, [], 500), 0, 498) == [0, 0]
    assert screens.stretches(_log([]), _log([]), 0) is None


def test_what_is_outside_of_the_screen_is_not_old() -> None:
    """A screen that became smaller before anybody looked: what it had there will never be seen."""
    found = _found([(0, 7, 0), (100, 7, OUT), (300, 7, 100), (400, 7, 150)], [(350, 7, 100), (450, 7, 150)])
    assert _since(found, 50, 150, 320, 380, 420) == [0, None, 300, None, 400]


@pytest.mark.parametrize("leaves", [[], [(200, 7, OUT)]])
def test_what_stays_outside_of_the_screen_is_not_old(leaves: list[Record]) -> None:
    found = _found([(0, 7, 255), (100, 7, OUT), (300, 7, 100)], [(0, 7, 255), *leaves, (400, 7, 100)])
    assert _since(found, 150, 250, 350) == [None, None, 300]
    assert found[-1][1] == 400 * MS


def test_tiles_that_are_outside_are_unlike_all_others() -> None:
    """White is one less than OUTSIDE. A difference is that of the quarter that differs most."""
    for one, other, unlike in ((0xfffffffe, OUT, 512), (OUT, OUT, 0), (0x01020304, 0x01090304, 7), (0xff000000, 0, 255)):
        assert screens._unlike(*(screens._quarters(_log([(0, 0, means)])) for means in (one, other))).tolist() == [unlike]
