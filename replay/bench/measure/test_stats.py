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


def test_an_estimate_repeats_exactly_and_holds_its_median() -> None:
    values = sample(1, 100, 5)
    found = stats.estimate(values)
    assert found and found == stats.estimate(values)
    assert found.low is not None and found.high is not None
    assert min(values) <= found.low <= found.median <= found.high <= max(values)


def test_the_interval_holds_the_true_median_about_as_often_as_it_says() -> None:
    held = 0
    for seed in range(200):
        found = stats.estimate(sample(seed, 100, 5))
        assert found and found.low is not None and found.high is not None
        held += found.low <= 100 <= found.high
    assert 0.88 <= held / 200 <= 1.0


def test_few_values_have_no_interval() -> None:
    assert stats.estimate([]) is None
    assert stats.estimate([3, 5]) == stats.Estimate(4, None, None, 2, 0)


def test_outliers_are_counted_and_kept() -> None:
    values = [10, 11, 10, 11, 10, 11, 10, 50]
    found = stats.estimate(values)
    assert found and found.outliers == 1 and found.count == 8
    assert found.median == statistics.median(values)


@pytest.mark.parametrize(("before", "after", "noise", "verdict"), [
    (sample(1, 100, 1), sample(2, 80, 1), 0.02, Verdict.BETTER),
    (sample(1, 100, 1), sample(2, 120, 1), 0.02, Verdict.WORSE),
    (sample(1, 100, 0.1), sample(2, 100.2, 0.1), 0.02, Verdict.SAME),
    (sample(1, 100, 20), sample(2, 103, 20), 0.02, Verdict.UNKNOWN),
    (sample(1, 100, 1), sample(2, 102, 1), 0.02, Verdict.UNKNOWN),
    ([100] * 3, [100] * 3, 0.0, Verdict.SAME),
    ([100, 100], [50, 50], 0.02, Verdict.UNKNOWN),
    ([], [50] * 5, 0.02, Verdict.UNKNOWN),
    ([0, 0, 0], [0, 0, 0], 0.02, Verdict.SAME),
    ([0, 0, 0], [1, 1, 1], 0.02, Verdict.UNKNOWN),
])
def test_verdicts(before: list[float], after: list[float], noise: float, verdict: Verdict) -> None:
    assert stats.compare(before, after, noise).verdict is verdict


def test_a_change_is_relative_to_the_first() -> None:
    found = stats.compare([100] * 5, [80] * 5, 0.02)
    assert found.change == pytest.approx(-0.2) and found.low == pytest.approx(-0.2)


def test_the_chance_of_ranks() -> None:
    assert stats.chance([1, 2, 3], [4, 5, 6]) == pytest.approx(1 / 20)
    assert stats.chance([4, 5, 6], [1, 2, 3]) == 1
    assert stats.chance([1] * 5, [2] * 5) == pytest.approx(1 / 252)
    assert stats.chance([1, 1, 1], [1, 1, 1]) == 1      # as many ways as there are
    assert stats.chance([1, 3], [2, 4]) == pytest.approx(2 / 6)     # (2, 4) and (3, 4) of six


def test_of_many_comparisons_those_stay_that_are_no_chance() -> None:
    def of(verdict: Verdict, chance: float) -> stats.Comparison:
        return stats.Comparison(verdict, 0.1, 0.05, 0.15, chance)

    same = [of(Verdict.SAME, 1.0)] * 95
    lone = stats.corrected([*same, of(Verdict.WORSE, 0.01)])
    assert lone[-1].verdict is Verdict.UNKNOWN and lone[:-1] == same
    # the third of a hundred may be as likely as 3 x 0.05 / 100
    worse = stats.corrected([*same, *(of(Verdict.WORSE, chance) for chance in (0.0015, 0.0001, 0.0014, 0.2)),
                             of(Verdict.BETTER, 0.001)])
    assert [one.verdict for one in worse[95:]] == [Verdict.WORSE] * 3 + [Verdict.UNKNOWN] * 2


def test_two_measurements_of_one_thing_are_seldom_worse_anywhere() -> None:
    for family in range(2):
        found = [stats.compare(sample(2 * seed, 100, 3, 5), sample(2 * seed + 1, 100, 3, 5), 0.0)
                 for seed in range(200 * family, 200 * family + 200)]
        assert any(one.verdict is Verdict.WORSE for one in found)
        assert not any(one.verdict is Verdict.WORSE for one in stats.corrected(found))


def test_more_can_be_better() -> None:
    assert stats.compare([100] * 5, [80] * 5, 0.02, more=True).verdict is Verdict.WORSE
    assert stats.compare([100] * 5, [120] * 5, 0.02, more=True).verdict is Verdict.BETTER


def test_equal_samples_are_seldom_called_different() -> None:
    wrong = sum(stats.compare(sample(2 * seed, 100, 2), sample(2 * seed + 1, 100, 2), 0.02).verdict
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
