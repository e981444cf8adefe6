# SPDX-License-Identifier: LGPL-2.1-or-later
"""Medians with bootstrap intervals, and comparison of two samples. Outliers are kept and counted. Resampling has a
fixed seed, so the same values give the same figures."""

from __future__ import annotations

import collections
import functools
import math
import random
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

SEED = 20170929
RESAMPLES = 1000
LEVEL = 0.95
FALSE = 0.05    # false discovery rate: share of the reported differences that may be chance
FEWEST = 3      # with fewer values the spread is unknown


def median(values: Iterable[float | None]) -> float | None:
    """Of those that are known."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


@dataclass(frozen=True)
class Estimate:
    """A median and the interval that holds it with 95 % confidence; without an interval where values are too few. With fewer than
    six values no interval reaches 95 %: the range of three values has a confidence of 75 %, that of five 94 %."""
    median: float
    low: float | None
    high: float | None
    count: int
    outliers: int


class Verdict(Enum):
    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    UNKNOWN = "unknown"     # more runs are needed


@dataclass(frozen=True)
class Comparison:
    """The second sample against the first; change is relative, -0.1 is a tenth less."""
    verdict: Verdict
    change: float | None
    low: float | None = None
    high: float | None = None
    chance: float = 1.0     # p-value: probability of such a difference between two samples of the same thing


def quantile(values: Sequence[float], part: float) -> float:
    """Interpolates linearly; values need not be sorted."""
    ordered = sorted(values)
    at = part * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


def outliers(values: Sequence[float]) -> int:
    """The number of values more than 1.5 interquartile ranges outside the middle half."""
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


@functools.cache
def _sums(ranks: tuple[int, ...], size: int) -> collections.Counter[int]:
    """The number of ways to choose so many ranks that have each sum."""
    found: list[collections.Counter[int]] = [collections.Counter() for _ in range(size + 1)]
    found[0][0] = 1
    for rank in ranks:
        for chosen in range(size, 0, -1):
            for total, ways in found[chosen - 1].items():
                found[chosen][total + rank] += ways
    return found[size]


def chance(lower: Sequence[float], higher: Sequence[float]) -> float:
    """One-sided p-value of the exact rank sum test: the probability that the second sample ranks as high above the first by
    chance. With three values each it is at least 1/20."""
    both = sorted((*lower, *higher))
    # twice the mean rank of tied values, so that it is an integer
    ranks = {value: 2 * both.index(value) + both.count(value) + 1 for value in both}
    sums = _sums(tuple(ranks[value] for value in both), len(higher))
    seen = sum(ranks[value] for value in higher)
    return sum(ways for total, ways in sums.items() if total >= seen) / math.comb(len(both), len(higher))


def corrected(found: Sequence[Comparison]) -> list[Comparison]:
    """Controls the false discovery rate (Benjamini and Hochberg): of the differences that remain better or worse, at most a share
    of FALSE is expected to be chance. The others become unknown."""
    tried = sum(one.low is not None for one in found)
    allowed: dict[Verdict, float] = {}
    for verdict in (Verdict.BETTER, Verdict.WORSE):
        chances = sorted(one.chance for one in found if one.verdict is verdict)
        allowed[verdict] = max((each for rank, each in enumerate(chances, 1) if each <= rank * FALSE / tried), default=-1.0)
    return [replace(one, verdict=Verdict.UNKNOWN) if one.verdict in allowed and one.chance > allowed[one.verdict] else one
            for one in found]


def _verdict(change: float, changes: Sequence[float], noise: float, more: bool, less_by_chance: Callable[[], float],
             more_by_chance: Callable[[], float]) -> Comparison:
    """`changes` is the confidence interval of the change. Same: it is within the noise. Better or worse: wholly beyond it.
    Unknown: neither."""
    low, high = quantile(changes, (1 - LEVEL) / 2), quantile(changes, (1 + LEVEL) / 2)
    if -noise <= low and high <= noise:
        return Comparison(Verdict.SAME, change, low, high)
    if high < -noise:
        return Comparison(Verdict.WORSE if more else Verdict.BETTER, change, low, high, less_by_chance())
    if low > noise:
        return Comparison(Verdict.BETTER if more else Verdict.WORSE, change, low, high, more_by_chance())
    return Comparison(Verdict.UNKNOWN, change, low, high)


def compare(before: Sequence[float], after: Sequence[float], noise: float, more: bool = False) -> Comparison:
    """Less is better, unless more is. `noise` is the relative difference that two measurements of one thing may show."""
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
    return _verdict(change, changes, noise, more, lambda: chance(after, [value * (1 - noise) for value in before]),
                    lambda: chance([value * (1 + noise) for value in before], after))


def tail(t: float, freedom: int) -> float:
    """Probability that Student's t exceeds t >= 0, by Wallace's approximation (1959); relative error below 0.01 from four degrees
    of freedom on."""
    z = (8 * freedom + 1) / (8 * freedom + 3) * math.sqrt(freedom * math.log1p(t * t / freedom))
    return 1 - statistics.NormalDist().cdf(z)


def _quantile_of_t(freedom: int) -> float:
    """The t below which |t| has probability LEVEL; the inverse of tail()."""
    z = statistics.NormalDist().inv_cdf((1 + LEVEL) / 2) * (8 * freedom + 3) / (8 * freedom + 1)
    return math.sqrt(freedom * math.expm1(z * z / freedom))


_SAME_WITHIN = 0.1      # if the change is surely smaller, more runs are not worth it


@dataclass(frozen=True)
class Shift:
    """A relative change as a difference of logarithms, with its standard error."""
    log: float
    error: float
    freedom: int
    lone: bool = False      # one value on a side, or overlapping values: significant only together with other rows

    def judged(self, noise: float, more: bool) -> Comparison:
        """`chance` is the one-sided probability that chance alone gives a change as large as this. The change must also exceed
        `noise`: a certain change may still be too small to matter."""
        reach = _quantile_of_t(self.freedom) * self.error
        change, low, high = (math.expm1(value) for value in (self.log, self.log - reach, self.log + reach))
        within = max(noise, _SAME_WITHIN)
        verdict = Verdict.SAME if -within <= low and high <= within else Verdict.UNKNOWN
        if not self.lone and (low > 0 or high < 0) and abs(change) > noise:
            verdict = Verdict.BETTER if (change > 0) == more else Verdict.WORSE
        return Comparison(verdict, change, low, high, tail(abs(self.log) / self.error, self.freedom))

    def less(self, other: Shift) -> Shift:
        """What is left of it beside a change of everything."""
        return replace(self, log=self.log - other.log, error=math.hypot(self.error, other.error), freedom=min(self.freedom, other.freedom))


_KNOWN_FREEDOM = 4      # weight of the prior knowledge of a metric's spread, as a number of runs


def shift(before: Sequence[float], after: Sequence[float], spread: float) -> Shift | None:
    """spread: the relative standard deviation that a metric usually has from run to run. A row's own is weighed against it (a
    moderated t, as of Smyth 2004): two or three runs tell little about the spread; with the usual spread, even one run per side
    tells something. None without runs or where a value is not above 0."""
    if not before or not after or min(*before, *after) <= 0:
        return None
    old, new = ([math.log(value) for value in values] for values in (before, after))
    own = sum((value - statistics.fmean(values)) ** 2 for values in (old, new) for value in values)
    freedom = _KNOWN_FREEDOM + len(old) + len(new) - 2
    variance = (_KNOWN_FREEDOM * spread ** 2 + own) / freedom
    lone = min(len(old), len(new)) < 2 or max(old) >= min(new) and max(new) >= min(old)
    return Shift(statistics.fmean(new) - statistics.fmean(old), math.sqrt(variance * (1 / len(old) + 1 / len(new))), freedom, lone)


def pooled(shifts: Sequence[Shift]) -> Shift:
    """The common change of several rows, each weighted by its precision. Where rows disagree by more than their errors explain, the error
    of the common change grows with the disagreement. If a row's error is estimated from few runs, the mean of
    1 / error ** 2 is freedom / (freedom - 2) times that of the true error. As a part of freedom is prior knowledge, this is a little too
    careful, as it should be: spreads differ between rows, and there are outliers (test_gate.py)."""
    if len(shifts) == 1:
        return shifts[0]
    weights = [max(one.freedom - 2, 1) / one.freedom / one.error ** 2 for one in shifts]
    log = sum(weight * one.log for weight, one in zip(weights, shifts, strict=True)) / sum(weights)
    apart = sum(weight * (one.log - log) ** 2 for weight, one in zip(weights, shifts, strict=True))
    freedom, more = sum(one.freedom for one in shifts), len(shifts) - 1
    wider = max(1.0, (freedom + apart) / (freedom + more))
    return Shift(log, math.sqrt(wider / sum(weights)), freedom + more)


def gated(found: Sequence[Comparison], level: float = FALSE) -> list[Comparison]:
    """Controls the probability of any false verdict (Holm): of verdicts "worse" only those remain of which the probability that any
    is due to chance is at most `level`, and so of "better". The others become unknown. For decisions of a program; corrected()
    allows one false verdict in twenty."""
    tried = [one for one in found if one.low is not None]
    allowed = -1.0
    for rank, one in enumerate(sorted(tried, key=lambda one: one.chance)):
        if one.chance > level / (len(tried) - rank):
            break
        allowed = one.chance
    return [replace(one, verdict=Verdict.UNKNOWN) if one.verdict in (Verdict.BETTER, Verdict.WORSE) and one.chance > allowed else one
            for one in found]
