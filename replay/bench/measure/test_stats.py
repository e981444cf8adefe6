# SPDX-License-Identifier: LGPL-2.1-or-later
from __future__ import annotations

import math
import random
import statistics

import pytest

from bench.measure import stats
from bench.measure.stats import Verdict


def sample(seed: int, mean: float, spread: float, count: int = 10) -> list[float]:
    source = random.Random(seed)
    return [source.gauss(mean, spread) for _ in range(count)]


def test_quantiles() -> None:
    assert stats.quantile([4, 1, 3, 2], 0.5) == 2.5
    assert stats.quantile([5], 0.99) == 5
    assert stats.quantile(range(101), 0.95) == 95


def test_the_interval_of_one_sample() -> None:
    found = stats.interval(sample(1, 100, 5), 0.05)
    assert found is not None and 95 < found[0] < statistics.geometric_mean(sample(1, 100, 5)) < found[1] < 105
    lone = stats.interval([100], 0.05)
    assert lone is not None and lone[0] < 90 and lone[1] > 110      # of one value: by the usual spread
    assert stats.interval([0, 3], 0.05) is None


@pytest.mark.parametrize("count", [3, 10])
def test_the_interval_holds_the_true_value_about_as_often_as_it_says(count: int) -> None:
    held = [found[0] <= 100 <= found[1] for seed in range(200) if (found := stats.interval(sample(seed, 100, 5, count), 0.05))]
    assert 0.9 <= sum(held) / 200 < 1.0


def test_outliers_are_counted() -> None:
    assert stats.outliers([10, 11, 10, 11, 10, 11, 10, 50]) == 1 and stats.outliers([10, 11, 50]) == 0


def compare(before: list[float], after: list[float], noise: float, more: bool = False) -> stats.Comparison:
    found = stats.shift(before, after, 0.02)
    return found.judged(noise, more) if found else stats.Comparison(Verdict.UNKNOWN, None)


@pytest.mark.parametrize(("before", "after", "noise", "verdict"), [
    (sample(1, 100, 1), sample(2, 80, 1), 0.02, Verdict.BETTER),
    (sample(1, 100, 1), sample(2, 120, 1), 0.02, Verdict.WORSE),
    (sample(1, 100, 10), sample(2, 130, 10), 0.02, Verdict.WORSE),      # of ten runs some may overlap
    (sample(1, 100, 0.1), sample(2, 100.2, 0.1), 0.02, Verdict.SAME),
    (sample(1, 100, 20), sample(2, 103, 20), 0.02, Verdict.UNKNOWN),
    (sample(1, 100, 20), sample(2, 100, 20), 0.02, Verdict.UNKNOWN),
    ([100] * 3, [100] * 3, 0.0, Verdict.SAME),
    ([100, 100], [50, 50], 0.02, Verdict.BETTER),       # by the usual spread
    ([100], [50], 0.02, Verdict.UNKNOWN),               # what if one of them is an outlier?
    ([100, 100, 120], [119, 140, 140], 0.02, Verdict.UNKNOWN),
    ([], [50] * 5, 0.02, Verdict.UNKNOWN),
    ([0, 0, 0], [1, 1, 1], 0.02, Verdict.UNKNOWN),
])
def test_verdicts(before: list[float], after: list[float], noise: float, verdict: Verdict) -> None:
    assert compare(before, after, noise).verdict is verdict


def test_a_change_is_relative_to_the_first() -> None:
    found = compare([100] * 5, [80] * 5, 0.02)
    assert found.change == pytest.approx(-0.2) and found.low is not None and found.high is not None
    assert (1 + found.low) * (1 + found.high) == pytest.approx(0.64) and -0.23 < found.low < -0.2


def test_of_many_comparisons_those_stay_that_are_no_chance() -> None:
    def of(verdict: Verdict, chance: float) -> stats.Comparison:
        return stats.Comparison(verdict, 0.1, 0.05, 0.15, chance)

    same = [of(Verdict.SAME, 1.0)] * 95
    lone = stats.gated([*same, of(Verdict.WORSE, 0.01)])
    assert lone[-1].verdict is Verdict.UNKNOWN and lone[:-1] == same
    # of a hundred the first may be as likely as 0.05 / 100, the third as 0.05 / 98; what is unknown anyway is no comparison
    worse = stats.gated([*same, *(of(Verdict.WORSE, chance) for chance in (0.00051, 0.0001, 0.00049, 0.2)), of(Verdict.BETTER, 0.0002),
                         *[stats.Comparison(Verdict.UNKNOWN, None)] * 100])
    assert [one.verdict for one in worse[95:100]] == [Verdict.WORSE] * 3 + [Verdict.UNKNOWN, Verdict.BETTER]


def test_two_measurements_of_one_thing_are_seldom_worse_anywhere() -> None:
    """Of 200 comparisons some are, if each is looked at alone."""
    for family in range(2):
        found = [compare(sample(2 * seed, 100, 3, 5), sample(2 * seed + 1, 100, 3, 5), 0.0)
                 for seed in range(200 * family, 200 * family + 200)]
        assert any(one.verdict is Verdict.WORSE for one in found)
        assert not any(one.verdict is Verdict.WORSE for one in stats.gated(found))


def test_more_can_be_better() -> None:
    assert compare([100] * 5, [80] * 5, 0.02, more=True).verdict is Verdict.WORSE
    assert compare([100] * 5, [120] * 5, 0.02, more=True).verdict is Verdict.BETTER


def test_equal_samples_are_seldom_called_different() -> None:
    wrong = sum(compare(sample(2 * seed, 100, 2), sample(2 * seed + 1, 100, 2), 0.02).verdict
                in (Verdict.BETTER, Verdict.WORSE) for seed in range(100))
    assert wrong <= 3


def test_three_runs_tell_when_their_spread_is_known() -> None:
    found = stats.shift([100, 101, 99], [106, 107, 105], 0.02)
    assert found is not None and found.judged(0.02, more=False).verdict is Verdict.WORSE
    assert found.judged(0.02, more=True).verdict is Verdict.BETTER
    assert found.judged(0.10, more=False).verdict is not Verdict.WORSE       # certain, but too little to matter
    wide = stats.shift([100, 150, 99], [106, 170, 105], 0.02)
    assert wide is not None and wide.judged(0.02, more=False).verdict is Verdict.UNKNOWN
    assert stats.shift([0.0, 1.0], [1.0], 0.02) is None and stats.shift([], [1.0], 0.02) is None


def test_one_run_of_a_side_says_nothing_alone_and_something_among_others() -> None:
    one = stats.shift([100], [110], 0.02)
    assert one is not None and one.judged(0.02, more=False).verdict is Verdict.UNKNOWN
    assert stats.pooled([one] * 4).judged(0.02, more=False).verdict is Verdict.WORSE
    back = stats.shift([110], [100], 0.02)
    assert back is not None and stats.pooled([one, back, one, back]).judged(0.02, more=False).verdict is not Verdict.WORSE


def test_weights_from_few_runs_are_smaller() -> None:
    """With those of exact errors the common change would seem better known than it is."""
    few, many = (stats.pooled([stats.Shift(0.1, 0.05, freedom)] * 4) for freedom in (6, 600))
    assert few.error == pytest.approx(math.sqrt(6 / 4) * 0.025) and many.error == pytest.approx(0.025, rel=0.01)


def test_rows_that_disagree_make_the_common_change_uncertain() -> None:
    agreed, lone = ([stats.Shift(log, 0.04, 8) for log in logs] for logs in ([0.1] * 8, [0.0] * 7 + [0.8]))
    assert stats.pooled(agreed).log == pytest.approx(stats.pooled(lone).log) == pytest.approx(0.1)
    assert stats.pooled(agreed).judged(0.02, more=False).verdict is Verdict.WORSE
    assert stats.pooled(lone).error > 2 * stats.pooled(agreed).error
    exact = stats.pooled([stats.Shift(0.3, 0.3, 8), stats.Shift(0.0, 0.01, 8)])
    assert exact.log == pytest.approx(0.0, abs=0.001)       # the row that is known well counts for more


def test_the_tail_of_students_t_is_near_enough() -> None:
    for freedom, t, known in ((4, 2.776, 0.025), (10, 2.228, 0.025), (10, 3.169, 0.005), (30, 3.385, 0.001)):
        assert stats.tail(t, freedom) == pytest.approx(known, rel=0.03)


def test_a_gate_calls_something_worse_by_chance_once_in_twenty_times_at_most() -> None:
    source = random.Random(7)

    def page() -> list[stats.Comparison]:
        found = [stats.shift([source.gauss(100, 3) for _ in range(3)], [source.gauss(100, 3) for _ in range(3)], 0.03)
                 for _ in range(40)]
        return stats.gated([one.judged(0.01, more=False) for one in found if one])

    wrong = sum(any(one.verdict is Verdict.WORSE for one in page()) for _ in range(200))
    assert wrong <= 10
