# SPDX-License-Identifier: LGPL-2.1-or-later
"""When the client's screen lacked what was due: the log of what was seen (screen/tiles.h) against the ground truth. It does not depend on
how pixels were sent, or whether they were.

A tile shows the newest due state that looks like it. If none does (half of a drawing, losses), it shows the newest of those that look most
like it, but none older than before. It is stale since the next state was due. The screen is as stale as its stalest tile. When the screen
shrinks, nothing outside it is missing, whatever is shown there: an X window keeps its old pixels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy

from bench.measure.staleness import Stretch

Array = numpy.ndarray[Any, Any]

RECORD = numpy.dtype([("when", "<i8"), ("tile", "<u4"), ("means", "<u4")])      # TileRecord: ns, place, mean brightness of the quarters
ALIKE = 6                   # two means of the same picture differ by at most so much, of 255
OUTSIDE = 0xFFFFFFFF        # the means of a tile outside a screen that has shrunk
STEP = 2_000_000            # ns: the result is as exact as this
_FAR = 512                  # the difference of a tile outside from any other
_NEVER = numpy.iinfo(numpy.int64).max


def read(path: Path) -> Array:
    return numpy.fromfile(path, RECORD)


def _quarters(log: Array) -> Array:
    """The four means of each record."""
    found = (log["means"][:, None] >> numpy.array([0, 8, 16, 24], "<u4") & 255).astype(numpy.int16)
    found[log["means"] == OUTSIDE] = 2 * _FAR
    return found


def _unlike(one: Array, other: Array) -> Array:
    return numpy.minimum(numpy.abs(one - other).max(1), _FAR)


def _sorted(log: Array) -> Array:
    """By tile, then by time; stable."""
    return log[numpy.lexsort((log["when"], log["tile"]))]


def _stale(due: Array, seen: Array) -> tuple[Array, Array]:
    """The records of both as events, by tile; and since when the tile is stale after each, or _NEVER. Both are sorted."""
    kinds = numpy.concatenate([numpy.ones(len(due), bool), numpy.zeros(len(seen), bool)])
    both = numpy.concatenate([due, seen])
    order = numpy.lexsort((both["when"], both["tile"]))     # of two at once the due one first
    both, is_due = both[order], kinds[order]
    # places in due and seen: of what came last, and of the tile's first
    newest, looked = numpy.cumsum(is_due) - 1, numpy.cumsum(~is_due) - 1
    first, first_look = (numpy.searchsorted(log["tile"], both["tile"]) for log in (due, seen))
    wanted, screen = _quarters(due), _quarters(seen)
    known = (newest >= first) & (looked >= first_look)
    alike = known & (_unlike(wanted[newest], screen[looked]) <= ALIKE) if len(seen) else known
    shown = numpy.where(alike, newest, first - 1)       # place in due
    for event in numpy.flatnonzero(known & ~alike).tolist():
        shown[event] = last = max(shown[event - 1], first[event])
        alike[event] = is_due[event] and alike[event - 1] and last == shown[event - 1]
        if alike[event] or last == newest[event]:
            continue
        unlike = _unlike(wanted[last:newest[event] + 1], screen[looked[event]])
        least = unlike.min()
        alike[event] = least <= ALIKE
        shown[event] += numpy.flatnonzero(unlike <= (ALIKE if alike[event] else least + ALIKE))[-1] if least < _FAR else 0
    outside = numpy.maximum.accumulate(numpy.where(due["means"] == OUTSIDE, numpy.arange(len(due)), -1))
    missing = numpy.maximum(shown, outside[newest]) + 1
    is_stale = (newest >= first) & (missing <= newest)
    return both, numpy.where(is_stale, due["when"][numpy.minimum(missing, len(due) - 1)], _NEVER)


def stretches(due: Array, seen: Array, end: int) -> list[Stretch] | None:
    """For staleness.report(). due: the ground truth, with the times at which states are due. end: the last known moment. Time after the
    last due state is left out once everything is shown. None if nothing is due."""
    if not len(due):
        return None
    begin, last = int(due["when"][0]), int(due["when"][-1])
    end = max(end, last)
    both, stale = _stale(_sorted(due), _sorted(seen[numpy.isin(seen["tile"], due["tile"])]))
    until = numpy.append(both["when"][1:], end)
    until[:-1][both["tile"][1:] != both["tile"][:-1]] = end
    start, stop = ((numpy.maximum(times, begin) - begin) // STEP for times in (both["when"], until))
    since = numpy.full((end - begin) // STEP + 1, _NEVER)
    is_stale = numpy.flatnonzero((stale != _NEVER) & (start < stop))
    for event in is_stale[numpy.argsort(-stale[is_stale])].tolist():        # the stalest last
        since[start[event]:stop[event]] = stale[event]
    steps = max(int(numpy.flatnonzero(since != _NEVER)[-1:].sum()), (last - begin) // STEP) + 1
    changes = [0, *(numpy.flatnonzero(numpy.diff(since[:steps])) + 1).tolist(), steps]
    return [*((begin + one * STEP, begin + other * STEP, int(since[one])) for one, other in zip(changes, changes[1:], strict=False)
              if since[one] != _NEVER), (begin, begin + steps * STEP, None)]
