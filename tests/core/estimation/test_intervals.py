"""Intervals: against their formulas, published tables and a plain loop; coverage where a law promises it."""

import math

import numpy as np
import pytest
from core_cases import judge_all, sample_of
from naive import pool_of, random_lists, random_probs, rankings_of
from scipy import stats

from activeeval import DCG, ERR, METHODS, Campaign, InputError, Precision, Target, replicate
from activeeval.core.estimation import (
    INTERVALS,
    EstimatorResult,
    GroupSequential,
    InterimLook,
    Student,
    find_interval,
    half_widths,
    intervals,
)
from activeeval.core.estimation.intervals import crossing_probs, spending_boundaries
from activeeval.core.interval_ends import t_quantile


def labelled(seed=0, n_queries=60, measure=None, compare=False):
    """Return a target, grade probabilities and labels that follow them."""
    random = np.random.default_rng(seed)
    lengths = random.integers(2, 7, n_queries).tolist()
    pool = pool_of(lengths)
    lists = [rankings_of(pool, random_lists(random, lengths, least=2)) for _ in range(2)]
    probs = random_probs(random, pool.n_items, 4)
    labels = np.array([random.choice(4, p=row) for row in probs])
    return Target(measure or ERR(3), lists[0], lists[1] if compare else None), probs, labels


def evaluated(variance, degrees=24.0, value=1.0, contributions=()):
    u = np.asarray(contributions, dtype=float)
    fields = {"value": value, "variance": variance, "degrees_of_freedom": degrees}
    return EstimatorResult(**fields, observed=variance, planned=0.0, contributions=u, plain_variance=variance)


def look(contributions, *, share=1.0, **fields):
    """Return a sample of draws with replacement that was looked at, made of what each contributes to the error."""
    u = np.asarray(contributions, dtype=float)
    n, zeros, centred = u.size, np.zeros(u.size), u - u.mean()
    evidence = sample_of(
        range(n), np.full(n, 0.5), p=np.full(n, 0.01), values=zeros, means=zeros, with_replacement=True, pool_size=100.0
    )
    found = {"variance": float(centred @ centred) * n / (n - 1), "degrees": n - 1.0} | fields
    return InterimLook(evidence=evidence, evaluated=evaluated(**found, contributions=u), share=share)


def looks(*pairs):
    """Return looks of given shares and variances."""
    return [
        InterimLook(evidence=look([1.0, 2.0]).evidence, evaluated=evaluated(v, 1e9), share=share) for share, v in pairs
    ]


def t_half(found, level=0.95):
    return found.std_error * float(t_quantile(level, found.degrees_of_freedom))


# Every kind


def test_the_registry_holds_kinds_by_their_names():
    assert list(INTERVALS) == ["t", "group-sequential"]
    assert all(name == kind.name and kind.when for name, kind in INTERVALS.items())
    assert find_interval("group-sequential") is GroupSequential
    with pytest.raises(InputError, match="unknown interval 'z'; known: t, group-sequential"):
        find_interval("z")
    for gone in ("skewed", "logit"):
        with pytest.raises(InputError, match=f"^interval '{gone}' was removed: use t, the default$"):
            find_interval(gone)


@pytest.mark.parametrize("kind", [Student(), GroupSequential()], ids=lambda k: k.name)
def test_a_kind_says_nothing_where_nothing_is_known_and_a_point_where_all_is(kind):
    u = np.arange(25.0)
    for unknown in (look(u, variance=math.inf), look(u, degrees=0.0), look(u, degrees=-1.0)):
        interval = kind.interval([unknown], 0.9)
        assert (interval.low, interval.high) == (-math.inf, math.inf)
    known = kind.interval([look(0 * u, variance=0.0, degrees=math.inf)], 0.9)
    assert (known.low, known.high, known.confidence) == (1.0, 1.0, 0.9)
    for level in (95, 0.0, 1.0):
        with pytest.raises(InputError, match=f"confidence must lie strictly between 0 and 1, got {level}"):
            kind.interval([look(u)], level)


def test_unknown_spending_is_refused():
    with pytest.raises(InputError, match="unknown spending 'flat'; known: obrien-fleming, pocock"):
        GroupSequential("flat")


@pytest.mark.parametrize("method", METHODS)
def test_kinds_fit_every_method(method):
    target, probs, labels = labelled(measure=DCG([0, 1, 2, 4]))
    campaign = judge_all(Campaign(METHODS[method].design(target, probs, budget=80.0), rng=1), labels)
    found, t = campaign.estimate(), campaign.interval(Student())
    assert t == found.interval()
    half, sequential = t_half(found), campaign.interval(GroupSequential())
    if METHODS[method].with_replacement:  # a single look
        assert (sequential.low, sequential.high) == pytest.approx((found.value - half, found.value + half), rel=1e-5)
    else:
        assert sequential.low <= found.value - half < found.value + half <= sequential.high
        assert sequential.high - sequential.low < 2.5 * half
    beyond = campaign.interval(Student(), target=target, scope="population")
    assert beyond.high - beyond.low > t.high - t.low


def test_half_widths_are_quantiles_of_t():
    found = half_widths(np.array([0.04, 0.04, np.inf, 0.04, 0.0, 0.04]), np.array([7, 0.4, 9, 0, -2, np.inf]), 0.9)
    expected = [0.2 * stats.t.ppf(0.95, 7), 0.2 * stats.t.ppf(0.95, 1), np.inf, np.inf, 0, 0.2 * stats.norm.ppf(0.95)]
    assert found.tolist() == pytest.approx(expected, rel=1e-9)


# A few planned looks


@pytest.mark.kernel
def test_boundaries_are_the_published_ones():
    """Five equal looks: spending as in Lan and DeMets (1983), then Pocock's and O'Brien and Fleming's own."""
    equal = (0.2, 0.4, 0.6, 0.8, 1.0)
    published = {"obrien-fleming": [4.877, 3.357, 2.680, 2.290, 2.031], "pocock": [2.438, 2.427, 2.410, 2.397, 2.386]}
    for spending, expected in published.items():
        found = spending_boundaries(equal, equal, 0.05, spending)
        np.testing.assert_allclose(found, expected, atol=6e-4)
        np.testing.assert_allclose(crossing_probs(equal, found).sum(), 0.05, rtol=1e-9)
    assert crossing_probs(equal, [2.413] * 5).sum() == pytest.approx(0.05, abs=5e-5)
    assert crossing_probs(equal, 2.040 * np.sqrt(1 / np.array(equal))).sum() == pytest.approx(0.05, abs=5e-5)
    assert spending_boundaries((1.0,), (1.0,), 0.05, "pocock") == pytest.approx((1.959964,), abs=1e-6)


@pytest.mark.kernel
def test_boundaries_spend_by_the_budget_what_the_information_lets_cross():
    """Both spending functions by their formulas; looks of unequal information."""
    shares, information = (0.1, 0.5, 1.0), (3.0, 4.0, 12.0)
    formulas = {
        "obrien-fleming": [4 * stats.norm.sf(stats.norm.ppf(1 - 0.1 / 4) / math.sqrt(tau)) for tau in shares],
        "pocock": [0.1 * math.log(1 + (math.e - 1) * tau) for tau in shares],
    }
    for spending, spent in formulas.items():
        found = spending_boundaries(information, shares, 0.1, spending)
        crossed = crossing_probs(np.array(information) / 12, found)
        # no boundary is above 8: of O'Brien and Fleming's first look less than 1e-9 is asked for
        np.testing.assert_allclose(np.cumsum(crossed), spent, rtol=1e-6, atol=1e-9)


@pytest.mark.kernel
@pytest.mark.statistical
def test_crossing_probabilities_are_those_of_paths():
    """40,000 paths of a Brownian motion at three times: each share within 4 standard errors, 1 seed in 5,000 fails."""
    times, bounds = np.array([0.3, 0.5, 1.0]), np.array([2.0, 1.8, 1.7])
    steps = np.random.default_rng(0).normal(size=(40_000, 3)) * np.sqrt(np.diff(times, prepend=0))
    out = np.abs(np.cumsum(steps, axis=1) / np.sqrt(times)) > bounds
    first = np.bincount(np.where(out.any(axis=1), out.argmax(axis=1), 3), minlength=4)[:3] / 40_000
    expected = crossing_probs(times, bounds)
    assert np.all(np.abs(first - expected) < 4 * np.sqrt(expected / 40_000))


def test_a_look_takes_the_boundary_of_its_place_in_the_timetable():
    """Information 1/V̂ against the last look's, shares of the planned budget; at few degrees the same tail of t."""
    kind = GroupSequential("pocock")
    seen = looks((0.25, 4.0), (0.5, 2.0), (1.0, 1.0))
    bounds = spending_boundaries((0.25, 0.5, 1.0), (0.25, 0.5, 1.0), 0.05, "pocock")
    for k in (1, 2, 3):
        at = kind.interval(seen[:k], 0.95)
        fractions = tuple(seen[k - 1].evaluated.variance / one.evaluated.variance for one in seen[:k])
        own = spending_boundaries(fractions, (0.25, 0.5, 1.0)[:k], 0.05, "pocock")[-1]
        assert own == pytest.approx(bounds[k - 1], rel=1e-9)  # a look does not depend on later ones
        half = own * math.sqrt(seen[k - 1].evaluated.variance)
        assert (at.low, at.high) == pytest.approx((1 - half, 1 + half), rel=1e-6)
    few = InterimLook(evidence=seen[0].evidence, evaluated=evaluated(1.0, 5.0), share=1.0)
    wide = kind.interval([*seen[:2], few], 0.95).high - 1
    assert stats.t.sf(wide, 5.0) == pytest.approx(stats.norm.sf(bounds[2]), rel=1e-6)


def test_a_timetable_keeps_its_looks_apart():
    """Variances that do not fall, and far too many looks for what is known: information ascends to 1 all the same."""
    assert intervals._timetable(looks((0.25, 4.0), (0.5, 2.004), (1.0, 1.0))) == ((0.25, 0.5, 1.0), (0.25, 0.5, 1.0))
    assert intervals._timetable(looks((0.5, 3.0), (1.0, 3.0)))[0] == (0.995, 1.0)
    assert intervals._timetable(looks((0.2, 1.0), (0.5, 3.0), (1.0, 2.0)))[0] == pytest.approx((0.99, 0.995, 1.0))
    assert intervals._timetable(looks((0.3, 1e9), (0.5, 1e8), (1.0, 1.0)))[0] == pytest.approx((0.005, 0.01, 1.0))
    kind = GroupSequential()
    for seen in (looks((0.5, 3.0), (1.0, 3.0)), looks((0.2, 1.0), (0.5, 3.0), (1.0, 2.0))):
        interval = kind.interval(seen, 0.95)
        ratio = (interval.high - 1) / (1.959964 * math.sqrt(seen[-1].evaluated.variance))
        assert 0.9999 < ratio < 1.2


def test_a_look_that_knew_nothing_leaves_what_it_might_have_spent_to_the_next():
    kind, later = GroupSequential(), looks((0.5, 2.0), (1.0, 1.0))
    for nothing in (
        looks((0.25, math.inf)),
        [InterimLook(evidence=later[0].evidence, evaluated=evaluated(1.0, 0.0), share=0.25)],
    ):
        assert kind.interval(nothing, 0.95).high == math.inf
        assert kind.interval([*nothing, *later], 0.95) == kind.interval(later, 0.95)
    assert kind.interval([*later, *looks((1.0, math.inf))], 0.95).low == -math.inf
    assert kind.interval([*later, *looks((1.0, 0.0))], 0.95).low == 1.0


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("method", ["items", "whole"])
def test_looks_at_the_ends_of_blocks_miss_no_more_often_than_promised(method):
    """At any of three looks 5.0 % are promised, 5.5 % allowed; the plain interval misses in 12 %.

    The bound is 5.5 % and two standard errors of 5.0 %: a kind that keeps its promise fails in 1 of 300 seeds and more.
    Of 4,000 samples one that misses in 7.5 % passes in 1 of 1,000.
    """
    random = np.random.default_rng(0)
    pool = pool_of([3] * 400)
    probs = random.dirichlet(np.full(3, 2.0), 1200)
    labels = np.array([random.choice(3, p=row) for row in probs])
    target = Target(Precision(3), rankings_of(pool, [[0, 1, 2]] * 400))
    truth = float(pool.query_probs @ target.values(labels))
    design = METHODS[method].design(target, probs)
    budgets = [share * design.cost for share in (0.15, 0.3, 0.45)]
    missed = {}
    for kind, repetitions in (("t", 1000), ("group-sequential", 4000)):
        run = replicate(design, labels, budgets, repetitions, 0, interval=kind)
        missed[kind] = float(((run.lows > truth) | (run.highs < truth)).any(axis=1).mean())
    assert missed["t"] > 0.09
    assert missed["group-sequential"] <= 0.055 + 2 * math.sqrt(0.05 * 0.95 / 4000)
    assert missed["group-sequential"] > 0.025  # no wider than need be
