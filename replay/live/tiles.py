# SPDX-License-Identifier: LGPL-2.1-or-later
"""Screens as logged by screen/tiles.h: mean brightness of quarters of tiles, and a log of those that change."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy

from bench.measure.screens import ALIKE, OUTSIDE, RECORD
from guest.picture import Pixels

Means = numpy.ndarray[Any, Any]     # rows x columns of quarters, 0 to 255

TILE, ROW = 16, 512
_QUARTER = TILE // 2


def means_of(pixels: Pixels) -> Means:
    """Brightness: 2/8 red, 5/8 green, 1/8 blue. A quarter that is partly outside the screen has only its own pixels."""
    height, width = pixels.shape[:2]
    grey = pixels.astype(numpy.uint32) @ numpy.array([2, 5, 1], numpy.uint32)
    rows, columns = (-(-size // TILE) * 2 for size in (height, width))
    padded = numpy.zeros((rows * _QUARTER, columns * _QUARTER), numpy.uint32)
    padded[:height, :width] = grey
    sums = padded.reshape(rows, _QUARTER, columns, _QUARTER).sum((1, 3))
    counts = numpy.outer(_within(height, rows), _within(width, columns)) * 8
    known = numpy.maximum(counts, 1)
    return numpy.asarray((sums + known // 2) // known, numpy.int16)


def _within(size: int, quarters: int) -> Means:
    return numpy.clip(size - numpy.arange(quarters) * _QUARTER, 0, _QUARTER)


def differing(one: Means, other: Means, masked: Means | None = None) -> Means:
    """The quarters that differ; all of them if the sizes differ."""
    if one.shape != other.shape:
        return numpy.ones(other.shape, bool)
    found = numpy.abs(one - other) > ALIKE
    return found if masked is None or masked.shape != found.shape else found & ~masked


def alike(one: Means, other: Means, masked: Means | None = None) -> bool:
    return not differing(one, other, masked).any()


@dataclass
class Look:
    """The changes that one look at the client's screen found."""

    when: int       # ns, of the monotonic clock
    tiles: Means    # numbers of the changed quarters
    means: Means    # their values, as in the log


@dataclass
class Log:
    """Follows a log that is being written."""

    path: Path
    width: int
    height: int
    looks: list[Look] = field(default_factory=list)     # looks since forget()
    means: Means = field(init=False)                    # the present screen
    base: Means = field(init=False)                     # the screen before the first look
    _rest: bytes = b""
    _at: int = 0

    def __post_init__(self) -> None:
        self.means = numpy.full((-(-self.height // TILE) * 2, -(-self.width // TILE) * 2), -1, numpy.int16)
        self.base = self.means.copy()

    @property
    def last(self) -> int:
        """When the screen changed last; 0: not since forget()."""
        return self.looks[-1].when if self.looks else 0

    def forget(self) -> None:
        self.looks, self.base = [], self.means.copy()

    def follow(self) -> bool:
        """Reads new entries; returns whether there were any."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._at)
                data = file.read()
        except FileNotFoundError:
            return False
        self._at += len(data)
        data = self._rest + data
        whole = len(data) // RECORD.itemsize * RECORD.itemsize
        self._rest = data[whole:]
        records = numpy.frombuffer(data[:whole], RECORD)
        if not len(records):
            return False
        for when in numpy.unique(records["when"]):
            mine = records[records["when"] == when]
            look = Look(int(when), mine["tile"].astype(numpy.int64), mine["means"])
            apply(self.means, look)
            if self.looks and self.looks[-1].when == look.when:     # the first half had been read before
                look.tiles = numpy.concatenate([self.looks[-1].tiles, look.tiles])
                look.means = numpy.concatenate([self.looks[-1].means, look.means])
                self.looks.pop()
            self.looks.append(look)
        return True


def apply(means: Means, look: Look) -> None:
    """Applies the changes of a look to a screen."""
    rows, columns = look.tiles // ROW, look.tiles % ROW
    inside = (rows * 2 < means.shape[0]) & (columns * 2 < means.shape[1])
    rows, columns, seen = rows[inside] * 2, columns[inside] * 2, look.means[inside]
    outside = seen == OUTSIDE
    for quarter in range(4):
        value = (seen >> numpy.uint32(8 * quarter) & numpy.uint32(255)).astype(numpy.int16)
        means[rows + quarter // 2, columns + quarter % 2] = numpy.where(outside, -1, value)


def shown_at(base: Means, looks: list[Look], wanted: Means, masked: Means | None = None) -> int | None:
    """When a screen that began as `base` became the wanted one for good. None: it is not; 0: it was before."""
    means = base.copy()
    when: int | None = 0 if alike(means, wanted, masked) else None
    for look in looks:
        apply(means, look)
        if not alike(means, wanted, masked):
            when = None
        elif when is None:
            when = look.when
    return when
