"""Verdicts on claims: that they say what the intervals say, and how often they are false."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchmarks.frame.claims import EXCLUDED, HOLDS, NOT_SHOWN, Gap, ahead, holm, joined, level, size_note
from benchmarks.topk.claims import rises_then_falls


def test_gaps_are_those_of_students_test():
    apart = np.random.default_rng(0).normal(0.3, 1, 40)
    gap = Gap.of_independent(apart)
    test = stats.ttest_1samp(apart, 0.1, alternative="greater")
    assert gap.p_above(0.1) == pytest.approx(test.pvalue)
    assert gap.interval(0.9) == pytest.approx(tuple(stats.ttest_1samp(apart, 0).confidence_interval(0.9)))
    folds = Gap.of_folds(apart[:5])
    assert folds.se == pytest.approx(1.5 * Gap.of_independent(apart[:5]).se)
    assert folds.over(2).mean == pytest.approx(folds.mean / 2)


@pytest.mark.parametrize(
    ("mean", "size", "verdict", "note"),
    [
        (0.03, 0.02, HOLDS, ""),
        (0.03, 0.2, HOLDS, ", smaller than the paper's"),
        (0.03, 0.001, HOLDS, ", larger than the paper's"),
        (0.01, 0.02, NOT_SHOWN, ""),
        (0.01, 0.2, EXCLUDED, ", smaller than the paper's"),
        (-0.01, None, NOT_SHOWN, ""),
        (-0.03, None, EXCLUDED, ""),
    ],
)
def test_a_claim_of_being_ahead(mean, size, verdict, note):
    gap = Gap(mean, 0.01, 500)
    assert (ahead(gap, size), size_note(gap, size)) == (verdict, note)


def test_a_claim_of_being_level_needs_a_bound_on_both_sides():
    assert level(Gap(0.0, 0.005, 500), 0.01) == HOLDS
    assert level(Gap(0.0, 0.01, 500), 0.01) == NOT_SHOWN
    assert level(Gap(-0.03, 0.005, 500), 0.01) == level(Gap(0.03, 0.005, 500), 0.01) == EXCLUDED
    assert joined([HOLDS, NOT_SHOWN, EXCLUDED]) == EXCLUDED
    assert joined([HOLDS, NOT_SHOWN]) == NOT_SHOWN
    assert joined([HOLDS, HOLDS]) == HOLDS


def test_holm_by_hand():
    """.01 ≤ .05/4, .013 ≤ .05/3, .03 > .05/2, so that .04 is not rejected either."""
    assert holm([0.03, 0.01, 0.04, 0.013]) == [False, True, False, True]


def test_few_flat_curves_rise_and_fall():
    """Five folds of 21 noisy values around one mean: 1,000 curves, of which 5 % at most may hold.

    Both ends must lose, so that fewer do; above .067 a binomial of .05 comes in 1 of 200 runs. An inside maximum alone
    has 19 of 21 of them.
    """
    random = np.random.default_rng(0)
    curves = 0.6 + 0.02 * random.normal(size=(1000, 5, 1)) + 0.01 * random.normal(size=(1000, 5, 21))
    verdicts = [rises_then_falls(curve).verdict for curve in curves]
    assert verdicts.count(HOLDS) < 67
    peak = np.minimum(np.arange(21), 20 - np.arange(21)) / 10
    assert rises_then_falls(curves[0] + 0.1 * peak).verdict == HOLDS
    assert rises_then_falls(curves[0] + 0.1 * (np.arange(21) == 20)).verdict == EXCLUDED
