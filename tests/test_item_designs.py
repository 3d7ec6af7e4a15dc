"""Any items of a query: totals, rates, and that neither a model nor what was judged before biases the answer."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from naive import (
    items_value,
    optimal_rates,
    poisson_samples,
    poisson_variance,
    pool_of,
    random_lists,
    random_probs,
    rankings_of,
    subsets,
)

from activeeval import DCG, ERR, METHODS, RBP, Additive, InputError, Precision, Target, replicate
from activeeval.design import Design, draw_sample, inclusion_probs, roots, single_items
from activeeval.estimation import evaluate, judged_sample
from activeeval.kernels import rates

GAINS = [0.5, 1.0, 3.0]  # an item that could not be judged is not one of grade 0


def model_of(random, n_nodes, n_items, zeros):
    nodes = random.dirichlet(np.full(3, 0.7), (n_nodes, n_items))
    if zeros:
        nodes = random.integers(0, 3, nodes.shape) + np.array([1.0, 0, 0])
        nodes /= nodes.sum(axis=2, keepdims=True)
    return nodes, random.dirichlet(np.full(n_nodes, 3.0))


def case_of(seed, n_nodes=2, compare=False, zeros=False, lists=None):
    """Return the random number generator and the stage of a query of two items and one of three."""
    random = np.random.default_rng(seed)
    pool = pool_of([2, 3], query_probs=[0.3, 0.7], item_costs=random.uniform(0.5, 2, 5), query_costs=[2, 1])
    lists = lists or [[[1, 0], [2, 0, 1]], [[0], [1, 2]]]
    target = Target(Additive(GAINS, [1.0, 0.6, 0.3]), *(rankings_of(pool, one) for one in lists[: 1 + compare]))
    return random, single_items(target, *model_of(random, n_nodes, 5, zeros))


def by_hand(stage, random, estimator="difference"):
    """Return a Poisson design of random rates."""
    pi, g = random.uniform(0.2, 0.9, stage.offsets.size - 1), random.uniform(0.2, 1, stage.items.size)
    return Design("by hand", "poisson", estimator, stage, pi, g, 1.0)


def sample_of(design, observe, queries, counts, slots):
    return judged_sample(
        design, queries, design.sampling_probs[queries], *observe(queries, counts, slots), (queries.size, 0, 0, 0.0)
    )


def posterior_means(stage, query, grades, judged):
    """E[g_i | the judged labels before i] by Bayes' rule, item by item in the stage's order."""
    means = []
    for i in range(stage.offsets[query], stage.offsets[query + 1]):
        before = [stage.items[j] for j in judged if j < i and grades[stage.items[j]] >= 0]
        omega = [
            w * math.prod(probs[z][grades[z]] for z in before)
            for w, probs in zip(stage.node_weights, stage.nodes, strict=True)
        ]
        of_node = [sum(p * g for p, g in zip(probs[stage.items[i]], GAINS, strict=True)) for probs in stage.nodes]
        means.append(sum(o * e for o, e in zip(omega, of_node, strict=True)) / sum(omega))
    return means


# Against loops and enumeration


@pytest.mark.kernel
@pytest.mark.parametrize("compare", [False, True])
@pytest.mark.parametrize("n_nodes", [1, 3])
def test_totals_are_those_of_plain_loops(n_nodes, compare):
    random, stage = case_of(1, n_nodes, compare)
    g = random.uniform(0.2, 1, stage.items.size)
    for labels in ((0, 1, 2, 0, 2), (2, -1, 0, 2, -1), (1, 1, 1, 1, 1)):
        grades = np.array(labels)
        observe = stage.observer(grades, g)
        for query in (0, 1):
            first, last = stage.offsets[query], stage.offsets[query + 1]
            items = stage.items[first:last]
            gains = [GAINS[y] if y >= 0 else 0.0 for y in grades[items]]
            c, prior = stage.contrast[first:last], stage.means[first:last]
            for _, chosen in subsets(first, [0.5] * (last - first)):
                totals, within = observe(np.array([query]), np.array([len(chosen)]), np.array(chosen, dtype=np.int64))
                means = posterior_means(stage, query, grades, chosen)
                for b0, b1 in ((0.0, 1.0), (0.4, -0.7), (1.0, 0.0)):
                    predicted = [b0 + b1 * mu for mu in means]
                    y, s = items_value(c, predicted, gains, g[first:last], [i - first for i in chosen])
                    start = sum(ci * (b0 + b1 * mu) for ci, mu in zip(c, prior, strict=True))
                    assert start + totals[0] @ [1, -b0, -b1] == pytest.approx(y, rel=1e-10, abs=1e-12)
                    form = [1, -2 * b0, -2 * b1, b0**2, 2 * b0 * b1, b1**2]
                    assert within[0] @ form == pytest.approx(s, rel=1e-10, abs=1e-12)


@pytest.mark.kernel
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("compare", [False, True])
@pytest.mark.parametrize("n_nodes", [1, 2])
def test_value_and_variance_are_unbiased_for_any_labels(n_nodes, compare, zeros):
    """All subsets of queries and items; the model has nothing to do with the labels, and may exclude them."""
    random, stage = case_of(2, n_nodes, compare, zeros)
    design = by_hand(stage, random)
    p, m = stage.target.pool.query_probs, stage.regressors[:, 1]
    samples = list(poisson_samples(design.sampling_probs, stage.offsets, design.item_probs, subsets))
    assert sum(chance for chance, *_ in samples) == pytest.approx(1)
    for labels in ((0, 0, 0, 0, 0), (2, 0, 1, 2, 0), (-1, 2, 2, -1, 1), (1, 2, 2, 2, 2), (2, 2, 0, 1, 0)):
        grades = np.array(labels)
        truth = stage.target.values(grades)
        observe = stage.observer(grades, design.item_probs)
        mean = second = variance = squares = 0.0
        for chance, *drawn in samples:
            sample = sample_of(design, observe, *drawn)
            found, omega = evaluate(sample, "difference"), sample.importance_weights
            residuals = sample.values - sample.totals[:, 2]
            value = p @ m + omega @ residuals
            assert found.value == pytest.approx(value, rel=1e-12, abs=1e-13)
            s = sample.within @ [1, 0, -2, 0, 0, 1]
            own = poisson_variance(omega, sample.sampling_probs, residuals, s)
            if sample.queries.size > 1 and own > 1e-13:  # no residual at all tells nothing
                assert found.variance == pytest.approx(own, rel=1e-10)
            mean, second, variance = mean + chance * value, second + chance * value**2, variance + chance * own
            squares += chance * (omega @ (sample.values**2 - sample.within[:, 0]))
        assert mean == pytest.approx(p @ truth, rel=1e-10, abs=1e-12)
        assert variance == pytest.approx(second - mean**2, rel=1e-9, abs=1e-12)
        assert squares == pytest.approx(p @ truth**2, rel=1e-10, abs=1e-12)


@pytest.mark.kernel
def test_an_item_that_could_not_be_judged_earns_nothing_and_teaches_nothing():
    random, stage = case_of(3, 3)
    ones = np.ones(5)
    unjudged, zero = np.array([-1] * 5), np.array([0] * 5)
    everything = (np.arange(2), np.array([2, 3]), np.arange(5))
    totals, _ = stage.observer(unjudged, ones)(*everything)
    assert totals[:, 0].tolist() == [0, 0]
    assert totals[:, 2] == pytest.approx(stage.regressors[:, 1])  # no label, no news
    taught, _ = stage.observer(zero, ones)(*everything)
    assert taught[:, 0] == pytest.approx(0.5 * stage.regressors[:, 0])
    assert not np.allclose(stage.observer(zero, np.full(5, 0.5))(*everything)[0][:, 2], 2 * stage.regressors[:, 1])
    assert replicate(by_hand(stage, random), unjudged, [1.0], 3, 0).values.shape == (3, 1)


# What may be judged, and how often


@pytest.mark.kernel
def test_items_that_no_list_weighs_are_never_judged():
    """Equal ranks cancel, a cutoff cuts; the others come by what they may teach."""
    lists = [[[1, 0], [2, 0, 1]], [[1], [2, 1, 0]]]
    _, stage = case_of(4, compare=True, lists=lists)
    assert sorted(stage.items.tolist()) == [0, 2, 3]
    assert stage.offsets.tolist() == [0, 1, 3]
    weight = {0: 0.6, 2: 0.6 - 0.3, 3: 0.3 - 0.6}
    assert stage.contrast == pytest.approx([weight[z] for z in stage.items.tolist()])
    pool = pool_of([4])
    probs = random_probs(np.random.default_rng(0), 4, 2)
    cut = single_items(Target(Precision(2), rankings_of(pool, [[3, 0, 1, 2]])), probs[None], np.ones(1))
    assert sorted(cut.items.tolist()) == [0, 3]
    assert cut.spreads == pytest.approx(sorted(probs[[0, 3], 0] * probs[[0, 3], 1] / 4, reverse=True))


@pytest.mark.kernel
@pytest.mark.parametrize("n_nodes", [1, 3])
def test_spreads_are_between_what_one_node_and_what_no_label_leaves(n_nodes):
    """c² Var[g] by enumeration where grades are independent; with a factor the labels before take part of it away."""
    _, stage = case_of(5, n_nodes, compare=True)
    gains = np.array(GAINS)
    for i, z in enumerate(stage.items.tolist()):
        p = stage.node_weights @ stage.nodes[:, z]
        inner = sum(
            w * (own @ gains**2 - (own @ gains) ** 2)
            for w, own in zip(stage.node_weights, stage.nodes[:, z], strict=True)
        )
        low, high = (stage.contrast[i] ** 2 * v for v in (inner, p @ gains**2 - (p @ gains) ** 2))
        assert stage.means[i] == pytest.approx(p @ gains)
        assert low * (1 - 1e-12) <= stage.spreads[i] <= high * (1 + 1e-12)
        assert (n_nodes == 1) == (low == pytest.approx(high))
    for query in (0, 1):
        own = stage.spreads[stage.offsets[query] : stage.offsets[query + 1]]
        assert own.tolist() == sorted(own, reverse=True)


def star_case(random):
    lengths = random.integers(1, 5, 3)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    variances, costs = random.uniform(0.05, 3, offsets[-1]), random.uniform(0.5, 2, offsets[-1])
    return offsets, variances, costs, random.uniform(0.2, 3, 3), random.uniform(0.1, 4, 3)


@pytest.mark.kernel
@pytest.mark.parametrize("share", [0.15, 0.5, 0.8])
@pytest.mark.parametrize("seed", range(6))
def test_pooled_stars_are_the_numerical_optimum(seed, share):
    """Minimise Σ A/π + Σ B/a subject to Σ λ_0 π + Σ λ a = Λ and a ≤ π ≤ 1."""
    offsets, variances, costs, left, overheads = star_case(np.random.default_rng(seed))
    of_query, of_item = np.empty(3), np.empty(variances.size)
    rates.pool_star(offsets, variances, costs, left, overheads, of_query, of_item)
    both, all_costs = np.concatenate((of_query, of_item)), np.concatenate((overheads, costs))
    budget = share * all_costs.sum()
    a = np.minimum(1, np.sqrt(both) * rates.water_level(np.sqrt(both), all_costs, np.argsort(-both), budget))
    owners = np.repeat(np.arange(3), np.diff(offsets))
    assert all_costs @ a == pytest.approx(budget, rel=1e-12)
    assert np.all(a[3:] <= a[owners])
    total = np.concatenate((left, variances))
    theirs = optimal_rates(total, all_costs, budget, 3 + np.arange(variances.size), owners)
    assert (total / a).sum() <= (total / theirs).sum() * (1 + 1e-9)
    np.testing.assert_allclose(a, theirs, atol=1e-6)


@pytest.mark.kernel
@pytest.mark.parametrize("overhead", [0.0, 0.5, 5.0])
@pytest.mark.parametrize("share", [0.05, 0.4, 1.0])
def test_the_design_costs_its_budget(overhead, share):
    """Also where turning to a query costs nothing: no division by zero, and items are what is paid for."""
    random = np.random.default_rng(6)
    pool = pool_of([3, 1, 4], query_costs=np.full(3, overhead), item_costs=random.uniform(0.5, 2, 8))
    stage = single_items(Target(DCG(), rankings_of(pool, [[0, 1, 2], [], [3, 1]])), *model_of(random, 2, 8, False))
    total = pool.item_costs[[0, 1, 2, 5, 7]].sum() + 2 * overhead
    pi, g = inclusion_probs(stage, *roots(stage, np.zeros(3), 0.1), share * total)
    assert max(pi.max(), g.max()) <= 1
    assert min(pi.min(), g.min()) > 0
    spent = pi @ [overhead, 0, overhead] + (pi[stage.slot_queries] * g) @ pool.item_costs[stage.items]
    assert spent == pytest.approx(share * total, rel=1e-12)


def test_a_cascade_has_no_item_design():
    pool = pool_of([2])
    with pytest.raises(InputError, match="item designs are for additive measures"):
        single_items(Target(ERR(2), rankings_of(pool, [[0, 1]])), np.full((1, 2, 3), 1 / 3), np.ones(1))


# The fitted form


@pytest.mark.kernel
@pytest.mark.parametrize("measure", [Additive([0, 1, 2], [1, 0.7, 0.4, 0.2]), RBP(0.6, gains="linear")], ids=str)
@pytest.mark.parametrize("method", ["items", "items_cube"])
def test_gains_that_are_affine_in_the_models_means_leave_no_error(method, measure):
    """g = 2 μ − 1 for every item: whatever is drawn, the estimate is the truth; the plain form is off."""
    random = np.random.default_rng(7)
    lengths = random.integers(2, 7, 25).tolist()
    pool = pool_of(lengths, query_costs=np.ones(25))
    labels = random.integers(0, 3, pool.n_items)
    probs = np.array([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]])[labels]
    target = Target(measure, rankings_of(pool, random_lists(random, lengths, least=2)))
    truth = float(target.values(labels).mean())
    plan = METHODS[method].plan(target, probs)
    budget = 0.3 * plan.stage.costs.sum()
    run = replicate(plan, labels, [budget], 30, rng=1)
    is_fitted = run.n_queries > 2  # two queries cannot tell two coefficients
    assert is_fitted.mean() > 0.9
    np.testing.assert_allclose(run.values[is_fitted], truth, rtol=1e-9)
    np.testing.assert_allclose(run.variances[is_fitted & np.isfinite(run.variances)], 0, atol=1e-14)
    plain = replicate(METHODS["items_plain"].plan(target, probs), labels, [budget], 30, rng=1)
    assert np.abs(plain.values - truth).min() > 1e-6


@pytest.mark.kernel
def test_the_fitted_form_is_least_squares_over_what_was_seen():
    """B by numpy from rows p/π · sqrt(1 − π) (y, z) for queries and p sqrt((1 − G)/π) c/G (g, 1, μ) for items."""
    random = np.random.default_rng(8)
    lengths = random.integers(2, 6, 12).tolist()
    pool = pool_of(lengths, query_probs=random.dirichlet(np.full(12, 4.0)))
    lists = [rankings_of(pool, random_lists(random, lengths, least=2)) for _ in range(2)]
    nodes, weights = model_of(random, 1, pool.n_items, False)
    target = Target(Additive(GAINS, 1 / np.arange(1, 7)), *lists)
    design = by_hand(single_items(target, nodes, weights), random, "regression")
    stage, grades = design.stage, random.integers(0, 3, pool.n_items)
    observe = stage.observer(grades, design.item_probs)
    for seed in range(10):
        drawn = draw_sample(design, np.random.default_rng(seed))
        sample = sample_of(design, observe, drawn.queries, drawn.counts, drawn.slots)
        omega, pi = sample.importance_weights, sample.sampling_probs
        rows = [o * math.sqrt(1 - one) * t for o, one, t in zip(omega, pi, sample.totals, strict=True)]
        for slot in drawn.slots:
            q, g, c = stage.slot_queries[slot], design.item_probs[slot], stage.contrast[slot]
            one = design.sampling_probs[q]
            own = np.array([GAINS[grades[stage.items[slot]]], 1.0, stage.means[slot]])
            rows.append(pool.query_probs[q] / one * math.sqrt(one * (1 - g)) * c / g * own)
        table = np.array(rows)
        b = np.linalg.lstsq(table[:, 1:], table[:, 0])[0]
        e = sample.totals @ [1, -b[0], -b[1]]
        found = evaluate(sample, "regression")
        assert found.value == pytest.approx(sample.population @ b + omega @ e, rel=1e-9)
        h = table[:, 1:].T @ table[:, 1:]
        gap = sample.population - omega @ sample.totals[:, 1:]
        lift = 1 + omega * (1 - pi) * (sample.totals[:, 1:] @ np.linalg.solve(h, gap))
        s = sample.within @ [1, -2 * b[0], -2 * b[1], b[0] ** 2, 2 * b[0] * b[1], b[1] ** 2]
        n = sample.open_part.queries.size  # equal lists have no items
        assert found.variance == pytest.approx(n / (n - 2) * poisson_variance(lift * omega, pi, e, s), rel=1e-8)
        assert found.degrees_of_freedom <= (n - 2) * (1 + 1e-9)


# Draws


@pytest.mark.statistical
def test_items_are_judged_as_often_as_their_rates_say_each_on_its_own():
    """Frequencies of 4,000 samples within 4.5 standard errors, pairs of a query's items within 4.5 too.

    With other seeds fewer than 1 run in 1,000 would fail; one U for all items of a query gives 30 and more.
    """
    random, stage = case_of(9)
    design = replace(by_hand(stage, random), sampling_probs=np.array([0.5, 0.8]))
    rng = np.random.default_rng(0)
    seen = np.zeros((4000, 5))
    for row in seen:
        sample = draw_sample(design, rng)
        row[sample.slots] = 1
        assert sample.counts.sum() == sample.slots.size
        assert np.all(np.repeat(sample.queries, sample.counts) == stage.slot_queries[sample.slots])
    g, pi = design.item_probs, design.sampling_probs[stage.slot_queries]
    for i, j in itertools.combinations_with_replacement(range(5), 2):
        together = pi[i] * (g[i] if i == j else g[i] * g[j])
        together *= pi[j] if stage.slot_queries[i] != stage.slot_queries[j] else 1
        std_error = math.sqrt(together * (1 - together) / 4000)
        assert abs((seen[:, i] * seen[:, j]).mean() - together) <= 4.5 * std_error
