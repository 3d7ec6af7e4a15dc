"""The default interval: few values that differ, limits, the pool inside the population, and p values that agree."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, multinomial, norm, t, t as student

from activeeval import DCG, ERR, METHODS, RR, Campaign, Precision, QueryPool, Rankings, Success, compare, mean_interval
from activeeval.core.errors import InputError
from activeeval.core.estimation.significance import holm, holm_confidences
from activeeval.core.interval_ends import IntervalBasis, Shares, wilson_limits
from activeeval.core.measures import AP, NDCG, Additive, Recall, Target

DIFFERENCE = (-1.0, 1.0)


def basis(values, limits=DIFFERENCE):
    return mean_interval(values, limits=limits).basis


def counted(n, n_below, n_above):
    """Return differences of P@1: ``n_below`` of −1, ``n_above`` of 1, else 0."""
    return np.repeat([-1.0, 0.0, 1.0], [n_below, n - n_below - n_above, n_above])


def test_the_interval_where_all_queries_lose_is_that_of_the_share_that_might_not():
    low, high = basis(np.full(40, -1.0)).ends(0.95)
    z = norm.ppf(0.975)
    assert low == -1.0
    assert high == pytest.approx(-1 + 2 * z**2 / (40 + z**2))
    assert round(high, 3) == -0.825


def test_shares_of_no_value_are_refused_in_one_line():
    with pytest.raises(InputError, match="at least one judged value: judge a query first"):
        Shares.of(np.empty(0))


def test_shares_of_weights_that_are_alike_are_counts_and_others_are_of_an_effective_number():
    values = np.array([0.0, 0.0, 0.0, -1.0, -0.5, 1.0])
    assert Shares.of(values, np.full(6, 0.17)) == Shares.of(values)
    weights = np.array([3.0, 1.0, 1.0, 2.0, 1.0, 2.0])
    shares = Shares.of(values, weights)
    assert (shares.n, shares.mode, shares.below, shares.above) == pytest.approx((100 / 20, 0.0, 0.3, 0.2))
    assert (shares.size_below, shares.size_above) == pytest.approx((2.5 / 3, 1.0))
    assert shares.above * shares.size_above - shares.below * shares.size_below == pytest.approx(
        np.average(values, weights=weights)
    )
    assert Shares.of(np.array([0.0, 1.0, 1.0]), np.array([5.0, 1.0, 1.0])).mode == 0.0


@pytest.mark.parametrize("same", [0.0, -1.0])
def test_of_unequal_traffic_that_all_ties_the_population_may_still_differ(same):
    """All judged, P@1 of every query changes alike: the reach is that of (Σ p)² / Σ p² queries, by Wilson's limit."""
    p = np.array([4.0, 2.0, 1.0, 1.0] * 5)
    pool = QueryPool([f"q{k}" for k in range(20)], np.arange(0, 41, 2), ["a", "b"] * 20, query_probs=p / p.sum())
    new, old = (Rankings.from_ids(pool, {f"q{k}": ids for k in range(20)}) for ids in (["b", "a"], ["a", "b"]))
    campaign = Campaign(METHODS["random"].design(Target(Precision(1), new, versus=old), budget=1000.0), rng=1)
    campaign.run(lambda _, items: [int(same != 0 and item == "a") for item in items])
    low, high, *_ = campaign.estimate(scope="population").interval()
    share = wilson_limits(0.0, p.sum() ** 2 / (p @ p), norm.ppf(0.975))[1]
    assert low == pytest.approx(-share if same == 0 else -1.0)
    assert high == pytest.approx(share if same == 0 else 2 * share - 1)
    pool_low, pool_high, *_ = campaign.estimate().interval()
    assert pool_low == pytest.approx(same)
    assert pool_high == pytest.approx(same)


def test_wilson_limits_solve_the_score_equation():
    for share, n, z in ((0.1, 30, 1.96), (0.5, 7, 2.6), (1.0, 12, 1.0)):
        for limit in wilson_limits(share, n, z):
            assert (share - limit) ** 2 == pytest.approx(z**2 * limit * (1 - limit) / n, abs=1e-12)


def test_equations_of_the_rule_by_hand():
    """Of ten values seven are 0, two −0.25 and −0.75, and one 1."""
    values = np.array([0.0] * 7 + [-0.25, -0.75, 1.0])
    z = norm.ppf(0.975)
    (least_below, most_below), (least_above, most_above) = (wilson_limits(share, 10, z) for share in (0.2, 0.1))
    far_below, far_above = (2 * 0.5 + 1) / 3, (1 + 1) / 2
    of_sizes = z * 0.2 * np.std([0.25, 0.75], ddof=1) / math.sqrt(2)
    down = math.hypot((0.1 - least_above) * 1.0, (most_below - 0.2) * far_below, of_sizes)
    up = math.hypot((most_above - 0.1) * far_above, (0.2 - least_below) * 0.5, of_sizes)
    assert Shares.of(values).reaches(DIFFERENCE, z) == pytest.approx((down, up))
    t = mean_interval(values)
    low, high = basis(values).ends(0.95)
    assert (low, high) == pytest.approx((min(t.low, 0.0 - down), max(t.high, 0.0 + up)))


@pytest.mark.parametrize("n", [20, 40])
def test_coverage_of_differences_of_the_first_rank_is_right_by_enumeration(n):
    """Every sample of n queries with its probability: no simulation. A t interval covers .19 to .94 of these cells."""
    samples = [(below, above) for below in range(n + 1) for above in range(n + 1 - below)]
    ends = np.array([basis(counted(n, *sample)).ends(0.95) for sample in samples])
    counts = np.array([(below, above, n - below - above) for below, above in samples])
    for below, above in (
        (0.01, 0),
        (0.02, 0),
        (0.05, 0),
        (0.1, 0),
        (0.02, 0.02),
        (0.05, 0.05),
        (0.08, 0.02),
        (0.98, 0),
    ):
        probs = multinomial.pmf(counts, n, [below, above, 1 - below - above])
        truth = above - below
        tails = [probs @ (ends[:, 0] > truth + 1e-12), probs @ (ends[:, 1] < truth - 1e-12)]
        assert max(tails) <= 0.035, (below, above, tails)
        assert sum(tails) <= 0.06, (below, above, tails)


@pytest.mark.parametrize("n", [20, 40])
def test_values_of_one_ranking_by_the_first_rank_have_at_least_the_interval_of_wilson(n):
    for hits in range(n + 1):
        low, high = basis(np.repeat([1.0, 0.0], [hits, n - hits]), (0.0, 1.0)).ends(0.95)
        least, most = wilson_limits(hits / n, n, norm.ppf(0.975))
        assert low <= least + 1e-12
        assert high >= most - 1e-12
        assert 0 <= low <= high <= 1


@pytest.mark.parametrize("values", [
    counted(40, 40, 0), counted(40, 39, 0), counted(40, 3, 0), counted(40, 2, 7), counted(30, 0, 30),
    np.array([0.0] * 20 + [0.5, -1 / 3, 0.1]), np.linspace(-0.4, 0.7, 25), counted(2, 1, 0),
])  # fmt: skip
def test_p_is_the_smallest_error_whose_interval_leaves_nothing_out(values):
    one = basis(values)
    p = one.p_value
    for alpha in (p * (1 - 1e-6), p * (1 + 1e-6)):
        low, high = one.ends(1 - alpha) if 1 - alpha < 1 and alpha < 1 else (-1.0, 1.0)
        if alpha > 1e-9:
            assert (low > 0 or high < 0) == (alpha > p)


def test_more_losses_are_never_a_softer_verdict():
    high, p = zip(
        *((basis(counted(40, k, 0)).ends(0.95)[1], basis(counted(40, k, 0)).p_value) for k in range(41)), strict=True
    )
    assert list(high) == sorted(high, reverse=True)
    assert [max(each, 1e-9) for each in p] == sorted((max(each, 1e-9) for each in p), reverse=True)
    assert high[39] < -0.8


def test_intervals_of_several_measures_say_what_holm_says():
    several = [basis(counted(40, k, 0)) for k in (40, 6, 5, 1)]
    p_values = [each.p_value for each in several]
    for each, adjusted, confidence in zip(several, holm(p_values), holm_confidences(p_values), strict=True):
        assert (each.ends(float(confidence))[1] < 0) == (adjusted <= 0.05)


def test_intervals_grow_with_their_confidence():
    one = basis(counted(30, 2, 1))
    lows, highs = zip(*(one.ends(c) for c in (0.5, 0.8, 0.95, 0.99, 0.9999)), strict=True)
    assert list(lows) == sorted(lows, reverse=True)
    assert list(highs) == sorted(highs)


def test_a_population_contains_its_pool_on_each_side_and_is_no_surer():
    pool = IntervalBasis(value=0.1, std_error=0.04, degrees_of_freedom=2.0, limits=DIFFERENCE)
    alone = IntervalBasis(value=0.1, std_error=0.05, degrees_of_freedom=40.0, limits=DIFFERENCE)
    assert alone.ends(0.95)[0] > pool.ends(0.95)[0]
    both = replace(alone, inner=pool)
    assert both.ends(0.95) == pool.ends(0.95)
    assert both.p_value == pool.p_value > alone.p_value
    wide = replace(alone, std_error=0.5, inner=pool)
    assert wide.ends(0.95) == replace(wide, inner=None).ends(0.95)


def test_every_interval_lies_inside_what_the_measure_can_be():
    assert 0.999 < IntervalBasis(value=0.9, std_error=0.2, degrees_of_freedom=5, limits=(0.0, 1.0)).ends(0.95)[1] <= 1.0
    assert IntervalBasis(value=0.9, std_error=0.2, degrees_of_freedom=5, limits=DIFFERENCE).ends(0.95)[1] == 1.0
    assert (
        IntervalBasis(value=0.2, std_error=math.inf, degrees_of_freedom=0, limits=DIFFERENCE).ends(0.95) == DIFFERENCE
    )
    beyond = IntervalBasis(value=1.2, std_error=0.01, degrees_of_freedom=50, limits=(0.0, 1.0)).ends(0.95)
    assert beyond == pytest.approx((1 - 0.01 * student.ppf(0.975, 50), 1.0))  # that of the nearest value there can be


def test_the_most_frequent_value_of_many_different_ones_is_near_their_middle():
    values = np.array([0.9, 0.1, 0.2, 0.30000000000000004, 0.3, 0.5, 0.6, 0.8, 0.8])
    assert Shares.of(values).mode == 0.8 or Shares.of(values).mode == pytest.approx(0.3)
    assert Shares.of(np.array([0.1, 0.9, 0.4])).mode == 0.4
    assert Shares.of(np.array([0.1 + 0.2, 0.3, 0.7])).mode == pytest.approx(0.3)


@pytest.fixture
def lists():
    pool = QueryPool(["a", "b"], [0, 3, 8], [f"d{k}" for k in range(8)])
    scores = np.arange(8.0)
    return pool, Rankings.from_scores(pool, scores), Rankings.from_scores(pool, -scores)


@pytest.mark.parametrize(("measure", "top"), [
    (Precision(1), 1.0), (Precision(5), 1.0), (Success(5), 1.0), (RR(), 1.0), (ERR(4), 1.0), (NDCG(cutoff=3), 1.0),
    (AP(), 1.0), (Recall(2), 1.0), (Additive([0, 1, 3], [1.0, 0.5]), 4.5),
])  # fmt: skip
def test_limits_hold_every_value_and_the_best_reaches_them(lists, measure, top):
    pool, ranking, other = lists
    low, high = Target(measure, ranking).limits(2)
    assert (low, high) == pytest.approx((0.0, top))
    assert Target(measure, ranking, other).limits(2) == pytest.approx((-top, top))
    rng = np.random.default_rng(0)
    for _ in range(50):
        values = measure.score(pool, rng.integers(0, 3, 8), ranking)
        assert (values >= low).all()
        assert (values <= high + 1e-12).all()


def test_limits_of_a_gain_that_rises_with_the_grade_need_the_largest_grade(lists):
    _, ranking, other = lists
    assert Target(DCG(cutoff=2), ranking).limits(2) == pytest.approx((0.0, 3 * (1 + 1 / math.log2(3))))
    assert Target(DCG(cutoff=2), ranking).limits(None) == (0.0, math.inf)
    assert Target(DCG(cutoff=2), ranking, other).limits(None) == (-math.inf, math.inf)


def test_limits_of_learned_gains_below_0_are_on_both_sides(lists):
    _, ranking, _ = lists
    assert Target(Additive([-1, 0, 2], [1.0, 0.5]), ranking).limits(None) == (-1.5, 3.0)


@pytest.mark.parametrize("losses", [40, 3])
def test_a_sample_of_everything_says_what_compare_says(losses):
    """Of 40 queries of which all lose, or three: judged one by one, or looked up."""
    qrels = {f"q{q:02}": {"a": int(q < losses), "b": 0, "c": 1} for q in range(40)}
    old = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    new = {query: {"a": 1.0, "b": 2.0} for query in qrels}
    scored = compare(old, new, judgments=qrels, measure="P@1")
    judged = compare(old, new, judgments=lambda q, items: [qrels[q][i] for i in items], measure="P@1", max_grade=1)
    assert tuple(judged.interval) == pytest.approx(tuple(scored.interval), rel=1e-9)
    assert judged.p_value == pytest.approx(scored.p_value, rel=1e-9)
    assert judged.cautions == scored.cautions == ()


def test_false_alarms_where_nothing_differs_are_rare_by_enumeration():
    """Of 30 queries, 5 % change either way: worse is said in at most 2.5 %."""
    n, share = 30, 0.05
    alarms = 0.0
    for changed in range(n + 1):
        for below in range(changed + 1):
            if basis(counted(n, below, changed - below)).ends(0.95)[1] < 0:
                alarms += binom.pmf(changed, n, 2 * share) * binom.pmf(below, changed, 0.5)
    assert alarms <= 0.025


@pytest.mark.parametrize("seed", range(40))
def test_values_with_their_signs_turned_have_the_interval_turned(seed):
    """Ties of the mode included: half of the queries lose, all values differ."""
    rng = np.random.default_rng(seed)
    values = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], rng.integers(2, 20)) if seed % 2 else rng.uniform(-1, 1, seed + 2)
    ends = [mean_interval(each, limits=(-1.0, 1.0)) for each in (values, -values)]
    assert (ends[0].low, ends[0].high) == pytest.approx((-ends[1].high, -ends[1].low), abs=1e-12)


def test_one_query_that_did_not_change_decides_nothing():
    assert Shares.of(np.array([-1.0] * 39 + [0.0])).largest == 0
    assert Shares.of(np.array([0.0] * 39 + [-1.0])).largest > 0.9


@pytest.mark.parametrize(("value", "limits"), [(1.2, (0.0, 1.0)), (-0.3, (0.0, 1.0)), (-1.2, DIFFERENCE)])
def test_an_estimate_beyond_a_limit_has_the_interval_of_the_limit(value, limits):
    """It holds the part of the plain interval that is possible, and is never of no width."""
    beyond = IntervalBasis(value=value, std_error=0.05, degrees_of_freedom=30.0, limits=limits)
    at_limit = replace(beyond, value=float(np.clip(value, *limits)))
    low, high = beyond.ends(0.95)
    assert (low, high) == at_limit.ends(0.95)
    assert limits[0] <= low < high <= limits[1]
    assert high - low == pytest.approx(t.isf(0.025, 30) * 0.05)
    assert beyond.p_value == at_limit.p_value
