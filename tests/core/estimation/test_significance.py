import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from activeeval.core.errors import InputError
from activeeval.core.estimation.significance import CORRECTIONS, compare_scores, corrected, holm, mean_interval


def pairs(n, seed, decimals=None):
    random = np.random.default_rng(seed)
    first, second = random.random(n), random.random(n)
    return (first, second) if decimals is None else (first.round(decimals), second.round(decimals))


@pytest.mark.parametrize("n", [2, 7, 60, 500])
def test_t_test_and_interval_are_scipys(n):
    first, second = pairs(n, n)
    ours, theirs = compare_scores(first, second, confidence=0.9, n_permutations=10), stats.ttest_rel(first, second)
    low, high = theirs.confidence_interval(0.9)
    assert ours.p_t == pytest.approx(theirs.pvalue, rel=1e-10)
    assert (ours.low, ours.high) == pytest.approx((low, high), rel=1e-10)
    assert ours.difference == pytest.approx((first - second).mean())
    assert ours.std_error == pytest.approx(stats.sem(first - second))


@pytest.mark.parametrize(("n", "method"), [(5, "exact"), (20, "exact"), (50, "exact"), (51, "approx"), (400, "approx")])
def test_signed_rank_is_scipys(n, method):
    first, second = pairs(n, n)
    ours = compare_scores(first, second, n_permutations=10).p_wilcoxon
    assert ours == pytest.approx(_scipy_wilcoxon(first - second, method), rel=1e-9)


def test_signed_rank_of_many_ties_is_scipys():
    first, second = pairs(400, 1, decimals=1)
    difference = (first - second).round(1)
    ours = compare_scores(first, second, n_permutations=10).p_wilcoxon
    assert ours == pytest.approx(_scipy_wilcoxon(difference[difference != 0], "approx"), rel=1e-9)


def _scipy_wilcoxon(difference, method):
    """SciPy 1.16 calls "approx" "asymptotic"."""
    try:
        return stats.wilcoxon(difference, method=method, correction=False).pvalue
    except ValueError:
        return stats.wilcoxon(difference, method="asymptotic", correction=False).pvalue


def enumerated(difference, statistic):
    """Share of all sign flips whose statistic is at least as far from its mean as the observed one."""
    flips = [statistic(difference * signs) for signs in itertools.product([-1, 1], repeat=difference.size)]
    least = abs(statistic(difference)) - 1e-9
    return np.mean([abs(value) >= least for value in flips])


def signed_rank(difference):
    return (np.sign(difference) * stats.rankdata(np.abs(difference))).sum()


@given(st.lists(st.integers(-4, 4).filter(bool), min_size=1, max_size=7))
def test_both_exact_tests_are_their_enumeration(values):
    difference = np.array(values, dtype=float)
    ours = compare_scores(difference, np.zeros(difference.size))
    assert ours.p_randomization == pytest.approx(enumerated(difference, np.sum), abs=1e-12)
    assert ours.p_wilcoxon == pytest.approx(enumerated(difference, signed_rank), abs=1e-12)


@pytest.mark.statistical
def test_drawn_flips_come_near_the_enumeration():
    """20,000 draws at p near 0.2: standard error 0.003, bound four of them; false-alarm rate 6e-5."""
    first, second = pairs(13, 3)
    exact = compare_scores(first, second, n_permutations=2**13)
    drawn = compare_scores(np.tile(first, 1), second, n_permutations=8191, rng=1)
    bound = 4 * math.sqrt(exact.p_randomization * (1 - exact.p_randomization) / 8191)
    assert drawn.p_randomization != exact.p_randomization
    assert drawn.p_randomization == pytest.approx(exact.p_randomization, abs=bound)


def test_drawn_flips_are_seeded_and_never_give_zero():
    first, second = pairs(300, 3)
    one, two, other = (compare_scores(first, second, rng=seed).p_randomization for seed in (5, 5, 6))
    assert one == two != other
    assert compare_scores(first + 9, second, n_permutations=99, rng=0).p_randomization == 1 / 100


@pytest.mark.slow
@pytest.mark.statistical
def test_p_values_are_uniform_where_nothing_differs():
    """2,000 pairs of 15: the share of p ≤ 0.1 has standard error 0.0067; bound four, false-alarm rate 2e-4."""
    random = np.random.default_rng(0)
    results = [compare_scores(*random.normal(size=(2, 15)), n_permutations=199, rng=random) for _ in range(2000)]
    for test in ("p_t", "p_wilcoxon", "p_randomization"):
        assert np.mean([getattr(r, test) <= 0.1 for r in results]) == pytest.approx(0.1, abs=0.027)


@pytest.mark.parametrize("n", [1, 2, 100])
def test_equal_runs_have_p_one(n):
    result = compare_scores(np.full(n, 0.3), np.full(n, 0.3))
    assert (result.p_t, result.p_wilcoxon, result.p_randomization) == (1, 1, 1)
    assert (result.wins, result.ties, result.losses, result.n) == (0, n, 0, n)
    assert result.difference == 0


def test_rounding_is_a_tie():
    result = compare_scores([0.1 + 0.2, 1.0], [0.3, 0.5])
    assert (result.wins, result.ties, result.losses) == (1, 1, 0)


def test_swapping_the_runs_swaps_the_signs():
    first, second = pairs(30, 8)
    ours, theirs = compare_scores(first, second, rng=1), compare_scores(second, first, rng=1)
    assert ours.difference == -theirs.difference
    assert (ours.low, ours.high) == (-theirs.high, -theirs.low)
    assert (ours.wins, ours.losses) == (theirs.losses, theirs.wins)
    assert (ours.p_t, ours.p_wilcoxon) == (theirs.p_t, theirs.p_wilcoxon)
    assert ours.p_randomization == theirs.p_randomization


def test_one_query_and_constant_differences():
    one = compare_scores([0.5], [0.2])
    assert (one.low, one.high, one.std_error, one.p_t, one.p_randomization) == (-math.inf, math.inf, math.inf, 1, 1)
    constant = compare_scores([1.0, 2.0, 3.0], [0.0, 1.0, 2.0])
    assert (constant.low, constant.high, constant.p_t) == (1, 1, 0)


def test_mean_interval_is_scipys():
    scores = pairs(40, 2)[0]
    ours = mean_interval(scores, 0.8)
    expected = stats.t.interval(0.8, 39, loc=scores.mean(), scale=stats.sem(scores))
    assert (ours.low, ours.high) == pytest.approx(expected, rel=1e-10)
    assert mean_interval([3.0]).high == math.inf
    assert mean_interval([0.1] * 3).std_error == 0


def test_holm_is_statsmodels():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    random = np.random.default_rng(0)
    for n in (1, 2, 5, 30):
        for p_values in (random.random(n), random.random(n).round(1), random.random(n) ** 6):
            expected = multitest.multipletests(p_values, method="holm")[1]
            np.testing.assert_allclose(holm(p_values), expected, atol=1e-15)


def test_p_values_are_corrected_as_asked():
    plain = [0.01, 0.4, 0.03]
    assert corrected(plain, "none").tolist() == plain
    assert corrected(plain, "bonferroni") == pytest.approx([0.03, 1.0, 0.09])
    assert corrected(plain).tolist() == corrected(plain, "holm").tolist() == holm(plain).tolist()
    with pytest.raises(InputError, match="correction must be one of holm, bonferroni, none, got 'hommel'"):
        corrected(plain, "hommel")
    for correction in CORRECTIONS:
        with pytest.raises(InputError, match=r"p_values must lie in \[0, 1\], got 1.5 at position 0"):
            corrected([1.5], correction)
