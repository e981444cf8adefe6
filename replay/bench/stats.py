# SPDX-License-Identifier: LGPL-2.1-or-later
"""Medians with bootstrap intervals, and what two samples say about each other. Nothing is thrown away: outliers stay in
and are counted. The same values always give the same figures: the resampling has a fixed seed."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

SEED = 20170929
RESAMPLES = 1000
LEVEL = 0.95
FEWEST = 3      # with fewer values a spread cannot be told


@dataclass(frozen=True)
class Estimate:
    """A median and the interval that holds it with 95 % confidence; without an interval where values are too few. Of less than
    six values no interval can be as sure as that: from the least to the greatest of three it is 75 %, of five 94 %."""
    median: float
    low: float | None
    high: float | None
    count: int
    outliers: int


class Verdict(Enum):
    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    UNKNOWN = "unknown"     # collect more


@dataclass(frozen=True)
class Comparison:
    """The second sample against the first; change is relative, -0.1 is a tenth less."""
    verdict: Verdict
    change: float | None
    low: float | None = None
    high: float | None = None


def quantile(values: Sequence[float], part: float) -> float:
    """Linear between the neighbours; values need not be sorted."""
    ordered = sorted(values)
    at = part * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


def outliers(values: Sequence[float]) -> int:
    """How many lie further than one and a half times the middle half's width outside of it."""
    if len(values) < 4:
        return 0
    low, high = quantile(values, 0.25), quantile(values, 0.75)
    reach = 1.5 * (high - low)
    return sum(value < low - reach or value > high + reach for value in values)


def _resampled_medians(values: Sequence[float], random_source: random.Random) -> list[float]:
    return [statistics.median(random_source.choices(values, k=len(values))) for _ in range(RESAMPLES)]


def estimate(values: Sequence[float]) -> Estimate | None:
    """None for no values."""
    if not values:
        return None
    median = statistics.median(values)
    if len(values) < FEWEST:
        return Estimate(median, None, None, len(values), 0)
    medians = _resampled_medians(values, random.Random(SEED))
    return Estimate(median, quantile(medians, (1 - LEVEL) / 2), quantile(medians, (1 + LEVEL) / 2), len(values),
                    outliers(values))


def meet(one: Estimate | None, other: Estimate | None) -> bool | None:
    """Whether the intervals of two have a value in common; None when one has none. Of three runs each of the same, they do
    nine times in ten: six values in any order, and all of one before all of the other in 2 of 20."""
    if one is None or other is None or one.low is None or one.high is None or other.low is None or other.high is None:
        return None
    return one.low <= other.high and other.low <= one.high


def compare(before: Sequence[float], after: Sequence[float], noise: float) -> Comparison:
    """Less is better. `noise` is the relative difference that two measurements of one thing may show: the interval of
    the change lies within it (same), wholly beyond it (better, worse), or neither (unknown)."""
    if not before or not after:
        return Comparison(Verdict.UNKNOWN, None)
    base = statistics.median(before)
    change = statistics.median(after) / base - 1 if base else None
    if len(before) < FEWEST or len(after) < FEWEST:
        return Comparison(Verdict.UNKNOWN, change)
    if change is None:
        same = not any(before) and not any(after)
        return Comparison(Verdict.SAME if same else Verdict.UNKNOWN, 0.0 if same else None)
    source = random.Random(SEED)
    changes = [b / a - 1 for a, b in zip(_resampled_medians(before, source), _resampled_medians(after, source),
                                         strict=True) if a]
    low, high = quantile(changes, (1 - LEVEL) / 2), quantile(changes, (1 + LEVEL) / 2)
    if -noise <= low and high <= noise:
        verdict = Verdict.SAME
    elif high < -noise:
        verdict = Verdict.BETTER
    elif low > noise:
        verdict = Verdict.WORSE
    else:
        verdict = Verdict.UNKNOWN
    return Comparison(verdict, change, low, high)
