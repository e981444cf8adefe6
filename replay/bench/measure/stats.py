# SPDX-License-Identifier: LGPL-2.1-or-later
"""Comparison of two samples: a moderated t of their logarithms, and Holm's correction for the number of comparisons. Outliers are kept and
counted."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

LEVEL = 0.95
FALSE = 0.05    # probability that any of the verdicts "worse" is due to chance; and of those "better"


def median(values: Iterable[float | None]) -> float | None:
    """Of those that are known."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


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
    chance: float = 1.0     # p-value: one-sided probability of such a difference between two samples of the same thing


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
_KNOWN_FREEDOM = 4      # weight of the prior knowledge of a metric's spread, as a number of runs
_MANY = 5               # runs of a side: with fewer, values that overlap tell nothing alone


@dataclass(frozen=True)
class Shift:
    """A relative change as a difference of logarithms, with its standard error."""
    log: float
    error: float
    freedom: int
    lone: bool = False      # one value on a side, or few overlapping values: significant only together with other rows

    @property
    def interval(self) -> tuple[float, float, float]:
        """The change, and the least and largest with 95 % confidence."""
        reach = _quantile_of_t(self.freedom) * self.error
        return math.expm1(self.log), math.expm1(self.log - reach), math.expm1(self.log + reach)

    def judged(self, noise: float, more: bool = False) -> Comparison:
        """Less is better, unless more is. The change must also exceed `noise`: a certain change may still be too small to matter."""
        change, low, high = self.interval
        within = max(noise, _SAME_WITHIN)
        verdict = Verdict.SAME if -within <= low and high <= within else Verdict.UNKNOWN
        if not self.lone and (low > 0 or high < 0) and abs(change) > noise:
            verdict = Verdict.BETTER if (change > 0) == more else Verdict.WORSE
        return Comparison(verdict, change, low, high, tail(abs(self.log) / self.error, self.freedom))

    def less(self, other: Shift) -> Shift:
        """What is left of it beside a change of everything."""
        return replace(self, log=self.log - other.log, error=math.hypot(self.error, other.error), freedom=min(self.freedom, other.freedom))


def _spread(samples: Sequence[Sequence[float]], usual: float) -> tuple[float, int]:
    """Of logarithms about their samples' means: variance, and its degrees of freedom. What the samples show is weighed against what is usual
    (a moderated t, as of Smyth 2004): two or three runs tell little about the spread; with the usual spread, even one run tells something."""
    own = sum((value - statistics.fmean(values)) ** 2 for values in samples for value in values)
    freedom = _KNOWN_FREEDOM + sum(len(values) - 1 for values in samples)
    return (_KNOWN_FREEDOM * usual ** 2 + own) / freedom, freedom


def interval(values: Sequence[float], spread: float) -> tuple[float, float] | None:
    """That of the geometric mean, with 95 % confidence. None if a value is not above 0."""
    if min(values) <= 0:
        return None
    logs = [math.log(value) for value in values]
    variance, freedom = _spread([logs], spread)
    _, low, high = Shift(statistics.fmean(logs), math.sqrt(variance / len(logs)), freedom).interval
    return low + 1, high + 1


def shift(before: Sequence[float], after: Sequence[float], spread: float) -> Shift | None:
    """spread: the relative standard deviation that a metric usually has from run to run. None without runs or where a value is not above 0."""
    if not before or not after or min(*before, *after) <= 0:
        return None
    old, new = ([math.log(value) for value in values] for values in (before, after))
    variance, freedom = _spread([old, new], spread)
    few = min(len(old), len(new))
    lone = few < 2 or few < _MANY and max(old) >= min(new) and max(new) >= min(old)
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
    is due to chance is at most `level`, and so of "better". The others become unknown."""
    tried = [one for one in found if one.low is not None]
    allowed = -1.0
    for rank, one in enumerate(sorted(tried, key=lambda one: one.chance)):
        if one.chance > level / (len(tried) - rank):
            break
        allowed = one.chance
    return [replace(one, verdict=Verdict.UNKNOWN) if one.verdict in (Verdict.BETTER, Verdict.WORSE) and one.chance > allowed else one
            for one in found]
