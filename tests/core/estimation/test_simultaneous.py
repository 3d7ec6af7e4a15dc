"""Covariances of all differences by enumeration, max-t against known distributions, certain orders by all that fit."""

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest
from core_cases import judge_all
from naive import pool_of, random_lists, random_probs, rankings_of, roots_of, selection_of, threshold_samples
from scipy.special import stdtrit
from scipy.stats import studentized_range

from activeeval import DCG, ERR, METHODS, Campaign, InputError, Rankings, Target
from activeeval.core.estimation import (
    certainly_better,
    evaluate,
    evidence_of,
    hold_at_once,
    pair_roots,
    rank_ranges,
    simultaneous_confidence,
)
from activeeval.core.simulation import simulate_contrasts
from activeeval.core.simulation.replications import repetition_seeds

TRIO = [(0, 1), (0, 2), (1, 2)]


def correlations(variances, pairs):
    rows = pair_roots(variances, pairs)
    return rows @ rows.T


def quantile(level, degrees):
    return stdtrit(degrees, 0.5 + level / 2)


# Covariances


@pytest.mark.parametrize(("method", "measure"), [("items_plain", DCG()), ("depth_plain", ERR(2)), ("whole", ERR(2))])
def test_covariances_of_differences_are_exactly_unbiased(method, measure):
    """All samples of a hard budget, integrated over T: what the variances of pairs say is the covariance, in the mean.

    A sample in which chance chose no query says what is known and predicted.
    """
    random = np.random.default_rng(3)
    lengths = (3, 2, 3)
    pool = pool_of(lengths, item_costs=random.uniform(0.5, 2, 8), query_costs=[1, 0, 0.5])
    lists = [rankings_of(pool, random_lists(random, lengths, least=2)) for _ in range(3)]
    targets, labels = [Target(measure, lists[i], lists[j]) for i, j in TRIO], random.integers(0, 3, 8)
    design = METHODS[method].design(targets, random_probs(random, 8, 3))
    design = replace(design, is_fitted=False)
    readings = [(reading, reading.judge(labels)) for reading in design.readings]
    rows = []
    for chance, below, level in threshold_samples(roots_of(design.order), design.order.two_dearest * 1.001, 8):
        selection = selection_of(design.order, below, level)
        for reading, judge in readings:
            sample = evidence_of(design, reading, judge, selection)
            if sample.values.size or sample.is_census:
                found = evaluate(sample)
                rows.append((chance, found.value, found.plain_variance))
            else:
                rows.append((chance, sample.base + sample.population[1], 0.0))
    chances, values, variances = np.array(rows).reshape(-1, 3, 3).transpose(2, 1, 0)
    mass = chances[0]
    means = values @ mass
    exact = ((values - means[:, None]) * mass) @ (values - means[:, None]).T
    v = variances @ mass
    assert np.diag(exact) == pytest.approx(v, abs=1e-10)
    # Cov(D_01, D_02) = (V_02 + V_01 - V_12) / 2 as V_00 = 0, and so on
    assert exact[0, 1] == pytest.approx((v[1] + v[0] - v[2]) / 2, abs=1e-10)
    assert exact[0, 2] == pytest.approx((v[1] - v[0] - v[2]) / 2, abs=1e-10)
    assert exact[1, 2] == pytest.approx((v[1] + v[2] - v[0]) / 2, abs=1e-10)
    assert np.abs(exact).min() > 1e-9
    matrix = np.zeros((3, 3))
    for (i, j), one in zip(TRIO, v, strict=True):
        matrix[i, j] = matrix[j, i] = one
    sd = np.sqrt(v)
    assert correlations(matrix, TRIO) == pytest.approx(exact / np.outer(sd, sd), abs=1e-7)


@pytest.mark.parametrize("scope", ["population"])
def test_once_all_is_judged_correlations_are_those_of_the_queries(scope):
    """S² / N of every pair: the correlations of the per-query differences themselves, computed without this package."""
    random = np.random.default_rng(4)
    pool, labels = pool_of([6] * 40), random.integers(0, 3, 240)
    lists = [Rankings.from_scores(pool, random.random(240)) for _ in range(4)]
    pairs = list(combinations(range(4), 2))
    targets = [Target(DCG([0, 1, 3]), lists[i], lists[j]) for i, j in pairs]
    campaign = Campaign(METHODS["items"].design(targets, random_probs(random, 240, 3), budget=240))
    judge_all(campaign, labels)
    variances = np.zeros((4, 4))
    for (i, j), target in zip(pairs, targets, strict=True):
        variances[i, j] = variances[j, i] = campaign.estimate(target, scope=scope).std_error ** 2
    values = np.array([target.values(labels) for target in targets])
    assert correlations(variances, pairs) == pytest.approx(np.corrcoef(values), abs=1e-9)
    assert np.sqrt(variances[0, 1]) == pytest.approx(values[0].std(ddof=1) / np.sqrt(40))


def test_what_is_no_covariance_becomes_one_and_what_is_not_known_stays_so():
    broken = correlations([[0, 1, 9], [1, 0, 1], [9, 1, 0]], TRIO)  # sd 1 + 1 < 3
    assert np.diag(broken) == pytest.approx(1)
    assert broken == pytest.approx(1)  # the three on a line
    assert pair_roots([[0, 1, np.inf], [1, 0, 1], [np.inf, 1, 0]], [(0, 1), (1, 2)]) is None
    assert correlations([[0, 4], [4, 0]], [(0, 1)]) == pytest.approx(1)


# Max-t


@pytest.mark.parametrize(("n", "degrees"), [(3, 10), (8, 5), (8, 20), (8, 1e9), (17, 30)])
def test_pairs_of_equal_systems_have_the_quantiles_of_the_studentised_range(n, degrees):
    """Tukey's: all pairs of n independent means of equal variance."""
    pairs = list(combinations(range(n), 2))
    level = simultaneous_confidence(pair_roots(2.0 * (1 - np.eye(n)), pairs), [degrees] * len(pairs))
    assert quantile(level, degrees) == pytest.approx(studentized_range.ppf(0.95, n, degrees) / np.sqrt(2), rel=0.012)


def test_independent_and_perfectly_correlated_estimates():
    for n in (2, 10):
        alone = simultaneous_confidence(np.eye(n), [np.inf] * n, 0.9)
        assert quantile(alone, np.inf) == pytest.approx(quantile(0.9 ** (1 / n), np.inf), rel=0.01)
        assert simultaneous_confidence(np.ones((n, 1)), [7.0] * n, 0.9) == pytest.approx(0.9, abs=0.004)
        assert simultaneous_confidence(None, [7.0] * n, 0.9) == pytest.approx(1 - 0.1 / n)
    assert simultaneous_confidence(np.ones((1, 1)), [3.0], 0.9) == 0.9
    two_groups = np.kron(np.eye(2), np.ones((3, 1)))  # as two alone
    found = quantile(simultaneous_confidence(two_groups, [np.inf] * 6), np.inf)
    assert found == pytest.approx(quantile(0.95**0.5, np.inf), rel=0.01)


def test_levels_lie_between_bonferroni_and_one_alone_however_unlike_the_degrees():
    """From one degree of freedom, and fewer, to infinitely many; a wider family never has a lower level."""
    random = np.random.default_rng(5)
    for _ in range(5):
        roots = random.normal(size=(6, 3))
        rows = pair_roots(((roots[:, None] - roots) ** 2).sum(axis=2), list(combinations(range(6), 2)))
        degrees = random.choice([0.4, 1.0, 2.5, 9.0, 40.0, np.inf], 15)
        level = simultaneous_confidence(rows, degrees)
        assert 0.95 <= level <= 1 - 0.05 / 15 + 1e-12
        some = simultaneous_confidence(rows[:5], degrees[:5])
        assert some <= level + 0.004
    with pytest.raises(InputError, match="confidence must lie strictly between 0 and 1"):
        simultaneous_confidence(np.eye(2), [3.0, 3.0], 1.0)


def simulated(repetitions, n_queries, seed):
    """Means of queries of five systems, very unlike in variance and correlated, and whether all intervals hold."""
    random, pairs = np.random.default_rng(seed), list(combinations(range(5), 2))
    roots = random.normal(size=(5, 5)) * np.array([1, 1, 3, 0.3, 1])[:, None]
    held = []
    for _ in range(repetitions):
        queries = random.normal(size=(n_queries, 5)) @ roots.T
        differences = np.array([queries[:, i] - queries[:, j] for i, j in pairs])
        own, variances = differences.var(axis=1, ddof=1) / n_queries, np.zeros((5, 5))
        for (i, j), one in zip(pairs, own, strict=True):
            variances[i, j] = variances[j, i] = one
        degrees, errors = np.full(10, n_queries - 1.0), differences.mean(axis=1)
        held.append(hold_at_once(errors, variances, pairs, degrees))
        if len(held) <= 20:
            level = simultaneous_confidence(pair_roots(variances, pairs), degrees)
            assert held[-1] == bool((np.abs(errors) <= quantile(level, n_queries - 1) * np.sqrt(own)).all())
    return np.mean(held)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("n_queries", [8, 60])
def test_all_differences_hold_as_often_as_they_say(n_queries):
    """Of normal queries at 95 %: within 4 standard errors of 800 repetitions, missed by chance once in 16,000 runs.

    Of eight queries a little more often: the variances of the pairs are not all wrong alike.
    """
    slack = 4 * np.sqrt(0.95 * 0.05 / 800)
    assert 0.95 - slack <= simulated(800, n_queries, 6) <= 0.95 + slack + 0.01


def test_replayed_systems_are_campaigns_whose_intervals_hold_or_not():
    """Every repetition is a campaign with that seed, read for all pairs; contrasts with the first as well."""
    random = np.random.default_rng(8)
    pool, labels = pool_of([6] * 30), random.integers(0, 3, 180)
    lists = [Rankings.from_scores(pool, random.random(180)) for _ in range(3)]
    targets = {(i, j): Target(DCG([0, 1, 3]), lists[i], lists[j]) for i, j in TRIO}
    probs, truths = random_probs(random, 180, 3), {p: t.values(labels).mean() for p, t in targets.items()}
    for asked in (TRIO, TRIO[:2]):
        design = METHODS["items"].design([targets[pair] for pair in asked], probs)
        passive = {pair: METHODS["passive"].design(targets[pair]) for pair in asked}
        found, (told,) = simulate_contrasts({"items": design}, passive, targets, labels, [40.0], 30, 10)
        held = []
        for seed in repetition_seeds(10, 30):
            campaign = Campaign(design, 40.0, rng=seed, blocks=())
            judge_all(campaign, labels)
            own, variances = {pair: campaign.estimate(target) for pair, target in targets.items()}, np.zeros((3, 3))
            for (i, j), one in own.items():
                variances[i, j] = variances[j, i] = one.std_error**2
            level = simultaneous_confidence(pair_roots(variances, asked), [own[p].degrees_of_freedom for p in asked])
            ends = [own[pair].interval(level) for pair in asked]
            held.append(all(one.low <= truths[p] <= one.high for one, p in zip(ends, asked, strict=True)))
        assert 0 < sum(held) < 30 or asked != TRIO
        assert (told.coverage.value, told.contrasts) == (pytest.approx(np.mean(held)), len(asked))
        efficiencies = [summaries[1].efficiency.value for summaries in found.values()]
        assert told.efficiency.value == pytest.approx(np.mean(efficiencies))
        assert list(found) == asked


def test_certain_and_unknown_differences_hold_or_not_by_themselves():
    known = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    assert hold_at_once([0.0, 0.1, 0.1], known, TRIO, [np.inf, 20, 20])
    assert not hold_at_once([0.01, 0.1, 0.1], known, TRIO, [np.inf, 20, 20])
    unknown = np.array([[0.0, np.inf, 1.0], [np.inf, 0.0, 1.0], [1.0, 1.0, 0.0]])
    edge = quantile(1 - 0.05 / 2, 20)  # Bonferroni over the two that are known
    assert hold_at_once([99.0, 0.99 * edge, 0.1], unknown, TRIO, [1, 20, 20])
    assert not hold_at_once([0.0, 1.01 * edge, 0.1], unknown, TRIO, [1, 20, 20])
    assert hold_at_once([5.0], np.array([[0, np.inf], [np.inf, 0]]), [(0, 1)], [1.0])


# Orders


def test_ranks_are_those_of_all_orders_that_the_intervals_allow():
    """Against every permutation of five systems in which who is certainly better stands above."""
    random, pairs = np.random.default_rng(7), list(combinations(range(5), 2))
    for _ in range(40):
        values, half = random.normal(size=5), random.uniform(0, 3, 10)
        differences = np.array([values[i] - values[j] for i, j in pairs])
        is_better = certainly_better(5, pairs, differences - half, differences + half)
        told = [
            (i, j) if d > h else (j, i) for (i, j), d, h in zip(pairs, differences, half, strict=True) if abs(d) > h
        ]
        fitting = [order for order in permutations(range(5)) if all(order.index(a) < order.index(b) for a, b in told)]
        for k, (first, last) in enumerate(rank_ranges(is_better)):
            places = [order.index(k) + 1 for order in fitting]
            assert (first, last) == (min(places), max(places))
        assert all(
            all(o.index(a) < o.index(b) for o in fitting) == is_better[a, b] for a, b in permutations(range(5), 2)
        )


def test_a_circle_orders_nobody_and_nothing_known_orders_nobody():
    circle = certainly_better(4, [(0, 1), (1, 2), (0, 2), (2, 3)], [1, 1, -2, 1], [2, 2, -1, 2])
    assert circle.astype(int).tolist() == [[0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    assert rank_ranges(circle) == [(1, 3), (1, 3), (1, 3), (4, 4)]
    nothing = certainly_better(3, TRIO, [-np.inf, -1, 0], [np.inf, 1, 2])
    assert rank_ranges(nothing) == [(1, 3)] * 3
    assert rank_ranges(certainly_better(2, [], [], [])) == [(1, 2)] * 2
