"""Pairs of items that are judged together: what they are, and that no labels, model or budget biases the answer."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from naive import fixed_samples, poisson_variance, pool_of, rankings_of, roots_of, selection_of, threshold_samples

from activeeval import METHODS, Additive, Campaign, InputError, Rankings, Target, replicate
from activeeval.core.design import Levels
from activeeval.core.design.carried_samples import EarlierLabels, going_on
from activeeval.core.design.item_stage import Items
from activeeval.core.estimation import evaluate, evidence_of
from activeeval.core.kernels import pairing
from activeeval.formats.sample_file import from_arrays, to_arrays

GAINS = [0.5, 1.0, 3.0]
PLAIN = replace(METHODS["items"], stage=Items(learns=False, in_pairs=True), is_fitted=False)
NEW, OLD = [[1, 0], [2, 0, 1, 3], [0]], [[0, 1], [1, 3, 0, 2], []]
LABELS = ((0,) * 7, (2, 0, 1, 2, 0, 1, 2), (0, 2, 2, 1, 1, 0, 1), (2, 2, 0, 1, 0, 2, 0))


def case_of(seed, method=METHODS["items"], n_nodes=2, costs=None, queries=None):
    """Design the difference of two rankings of a query of two items, one of four and one of one, without overheads."""
    random = np.random.default_rng(seed)
    costs = random.uniform(0.5, 2, 7) if costs is None else costs
    pool = pool_of([2, 4, 1], query_probs=[0.3, 0.5, 0.2], item_costs=costs, query_costs=queries)
    target = Target(Additive(GAINS, [1.0, 0.7, 0.5, 0.4]), *(rankings_of(pool, lists) for lists in (NEW, OLD)))
    nodes = random.dirichlet(np.full(3, 0.7), (n_nodes, 7))
    return method.design(target, nodes, node_weights=random.dirichlet(np.full(n_nodes, 3.0)))


def units_of(order):
    """List the places of each unit, counted within their query, query by query."""
    units = []
    for first, last in itertools.pairwise(order.offsets.tolist()):
        starts = [i for i in range(first, last) if not order.joined[i]]
        units.append([tuple(range(a - first, b - first)) for a, b in itertools.pairwise([*starts, last])])
    return units


def united(order):
    """Build the naive queries of an order in which each unit is one place of their joint cost."""
    queries = []
    for query, units in zip(roots_of(order), units_of(order), strict=True):
        costs = tuple(sum(query.costs[i] for i in unit) for unit in units)
        queries.append(replace(query, places=tuple(query.places[unit[0]] for unit in units), costs=costs))
    return queries


def selected(order, below, level):
    """Build the selection of units, given by their numbers within each query."""
    places = [[i for k in own for i in units[k]] for own, units in zip(below, units_of(order), strict=True)]
    return selection_of(order, [tuple(own) for own in places], level)


def value_by_definition(design, query, grades, chosen, level):
    """Compute y, the regressors z and the variance form of a query by loops over its units, from the definition."""
    order, (reading,), beliefs = design.order, design.readings, design.beliefs
    first, units = int(order.offsets[query]), units_of(order)[query]
    weights, by_node = beliefs.weights[query].copy(), beliefs.nodes @ np.array(GAINS)
    prior = beliefs.weights[query] @ by_node[:, order.items]
    total, z1, form, columns = np.zeros(3), 0.0, np.zeros((3, 3)), reading.contrast
    for k, unit in enumerate(units):
        places = [first + i for i in unit]
        means = {i: weights @ by_node[:, order.items[i]] / weights.sum() for i in places}
        z1 -= sum(columns[i] * (means[i] - prior[i]) for i in places)
        if k not in chosen:
            continue
        chance = min(1.0, level * order.place_rates[places[0]])
        parts = [columns[i] * np.array([GAINS[grades[order.items[i]]], 1.0, means[i]]) for i in places]
        total += sum(parts) / chance
        form += (1 - chance) * np.outer(sum(parts), sum(parts)) / chance**2
        if design.stage.learns:
            for i in places:
                weights *= beliefs.nodes[:, order.items[i], grades[order.items[i]]]
    return total + np.array([0, 0, z1]), form[np.triu_indices(3)]


@pytest.mark.kernel
@pytest.mark.parametrize("method", [METHODS["items"], PLAIN], ids=["learns", "plain"])
@pytest.mark.parametrize("n_nodes", [1, 3])
def test_totals_are_those_of_plain_loops_over_units(n_nodes, method):
    design = case_of(1, method, n_nodes)
    assert design.order.joined.sum() == 3
    for labels, query in itertools.product(LABELS, range(2)):
        judge, units = design.readings[0].judge(np.array(labels)), units_of(design.order)[query]
        for n in range(1, len(units) + 1):
            for chosen in itertools.combinations(range(len(units)), n):
                below = [chosen if q == query else () for q in range(3)]
                totals = judge.totals(selected(design.order, below, 0.9))
                expected, form = value_by_definition(design, query, labels, chosen, 0.9)
                np.testing.assert_allclose(totals.totals[0], expected, rtol=1e-10, atol=1e-12)
                np.testing.assert_allclose(totals.within[0], form, rtol=1e-10, atol=1e-12)


@pytest.mark.kernel
@pytest.mark.parametrize("method", [METHODS["items"], PLAIN], ids=["learns", "plain"])
@pytest.mark.parametrize("level", [0.9, 2.5])
def test_value_and_variance_are_unbiased_at_a_level_for_any_labels(method, level):
    design = case_of(2, method)
    order, (reading,) = design.order, design.readings
    p, predicted = order.query_probs, reading.predictions
    for labels in LABELS:
        truth, judge = p @ reading.target.values(np.array(labels)), reading.judge(np.array(labels))
        mean = second = variance = 0.0
        for chance, below in fixed_samples(united(order), level):
            selection, value, own = selected(order, below, level), float(p @ predicted), 0.0
            if selection.queries.size:
                sample = evidence_of(replace(design, is_fitted=False), reading, judge, selection)
                found = evaluate(sample)
                residuals = sample.totals @ [1, 0, -1]
                own = poisson_variance(
                    sample.importance_weights, sample.inclusion_probs, residuals, sample.within @ [1, 0, -2, 0, 0, 1]
                )
                value = found.value if sample.values.size or sample.is_census else value
            mean, second, variance = mean + chance * value, second + chance * value**2, variance + chance * own
        assert mean == pytest.approx(truth, rel=1e-10, abs=1e-12)
        assert variance == pytest.approx(second - mean**2, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", [0, 1])
def test_value_and_variance_are_exactly_unbiased_under_a_hard_budget(seed):
    """All samples that a budget may end with, integrated over the level of the unit that it cannot pay."""
    design = case_of(seed, PLAIN)
    order, (reading,) = design.order, design.readings
    dearest, two, total = order.dearest_units.max(), order.two_dearest, design.cost
    assert dearest == max(max(query.costs) for query in united(order))
    for budget in (dearest * (1 + 1e-9), two * (1 + 1e-9), 0.5 * (two + total)):
        for labels in LABELS[1:]:
            judge, truth = (
                reading.judge(np.array(labels)),
                design.pool.query_probs @ reading.target.values(np.array(labels)),
            )
            rows = []
            for chance, below, level in threshold_samples(united(order), budget):
                sample = evidence_of(design, reading, judge, selected(order, below, level))
                if sample.values.size or sample.is_census:
                    found = evaluate(sample)
                    rows.append((chance, found.value, found.plain_variance))
                else:
                    rows.append(
                        (chance, float(sample.base + sample.population @ [0, 1][: sample.population.size]), 0.0)
                    )
            chances, values, variances = np.array(rows).T
            assert chances.sum() == pytest.approx(1, abs=1e-12)
            assert chances @ values == pytest.approx(truth, abs=1e-10)
            if budget > two:
                assert chances @ variances == pytest.approx(chances @ values**2 - truth**2, abs=1e-10)


def test_a_pair_is_one_unit_of_opposite_items_of_one_query():
    random = np.random.default_rng(5)
    pool = pool_of([9] * 30)
    rankings = [Rankings.from_scores(pool, random.normal(size=270)) for _ in range(2)]
    design = METHODS["items"].design(Target(Additive(GAINS), *rankings), random.dirichlet(np.ones(3), 270), budget=60)
    order, contrast = design.order, design.target.contrast[design.order.items]
    second = np.flatnonzero(order.joined)
    assert second.size > 60
    assert (contrast[second] * contrast[second - 1] < 0).all()
    assert not order.joined[second - 1].any()
    assert (order.place_queries[second] == order.place_queries[second - 1]).all()
    np.testing.assert_array_equal(order.place_rates[second], order.place_rates[second - 1])
    queue = Levels().queue(order, np.uint64(3), 60.0)
    by_unit = [queue.places_of(k) for k in range(queue.unit_levels.size)]
    assert {len(places) for places in by_unit} == {1, 2}
    assert all(len(places) == 1 + order.joined[places[-1]] for places in by_unit)


@pytest.mark.parametrize("with_costs", [False, True])
def test_pairs_are_formed_where_judging_both_costs_less(with_costs):
    """The two-pointer match against its rule, and sizes that differ too much stay alone."""
    queries, costs = np.zeros(6, np.int64), np.array([1.0, 1, 1, 1, 1, 1 + 29.0 * with_costs])
    variances = np.array([9.0, 1.0, 0.01, 8.0, 1.1, 0.012])
    partners = np.full(6, -1)
    pairing.match(queries, np.arange(3), np.arange(3, 6), variances, costs, 0.2, partners)
    assert partners.tolist() == [3, 4, -1 if with_costs else 5, 0, 1, -1 if with_costs else 2]
    partners[:] = -1
    pairing.match(
        queries[:4], np.array([0]), np.array([1, 2, 3]), np.array([4.0, 40.0, 3.9, 1.0]), costs, 0.2, partners
    )
    assert partners[:4].tolist() == [2, -1, 0, -1]


def test_nothing_is_paired_with_an_overhead_a_known_grade_or_a_target_that_both_raise():
    design = case_of(1)
    (pair,) = (design.order.items[[i - 1, i]] for i in np.flatnonzero(design.order.joined[:2]))
    assert case_of(1, queries=[1, 1, 1]).order.joined.sum() == 0
    assert case_of(1, queries=[1, 0, 1]).order.joined[:2].sum() == 0
    judged = np.full(7, -1)
    judged[pair[0]] = 1
    model = np.full((7, 3), 1 / 3)
    known = METHODS["items"].design(design.target, model, judged=judged)
    assert not known.order.joined[:2].any()
    one = Target(design.target.measure, design.target.ranking)
    assert METHODS["items"].design([design.target, one], model).order.joined.sum() == 0
    alone = METHODS["items"].design(one, model)
    np.testing.assert_array_equal(alone.order.hashes, METHODS["items"].design(one, model).order.hashes)


def test_an_item_that_cannot_be_judged_leaves_the_other_of_its_pair_as_if_alone():
    design = case_of(3)
    order, (reading,) = design.order, design.readings
    labels = np.array([2, 0, 1, 2, 0, 1, 2])
    second = int(np.flatnonzero(order.joined)[0])
    query = int(order.place_queries[second])
    below = [tuple(range(len(units))) if q == query else () for q, units in enumerate(units_of(order))]
    apart = replace(order, hashes=np.arange(order.items.size, dtype=np.uint64))
    for lacking in (second - 1, second):
        changed = labels.copy()
        changed[order.items[lacking]] = -1
        alone = design.stage.reading(design.target, apart, design.beliefs, design.known)
        results = [each.judge(changed).totals(selected(order, below, 0.7)) for each in (reading, alone)]
        np.testing.assert_allclose(results[0].totals, results[1].totals, rtol=1e-12)
        np.testing.assert_allclose(results[0].within, results[1].within, rtol=1e-12)


def test_a_sample_of_pairs_comes_back_from_its_file_and_is_the_repetition_with_its_key():
    random = np.random.default_rng(8)
    pool = pool_of([6] * 40)
    rankings = [Rankings.from_scores(pool, random.normal(size=240)) for _ in range(2)]
    target, grades = Target(Additive(GAINS), *rankings), random.integers(0, 3, 240)
    design = METHODS["items"].design(target, random.dirichlet(np.ones(3), 240), budget=50)
    campaign = Campaign(design, rng=4)
    restored = from_arrays(to_arrays(campaign))
    np.testing.assert_array_equal(restored.design.order.joined, design.order.joined)
    sizes, index = set(), {name: q for q, name in enumerate(pool.query_texts)}
    for each in (campaign, restored):
        while (drawn := each.ask()) is not None:
            sizes.add(len(drawn.item_ids))
            rows = [grades[pool.item_positions()[index[drawn.query_id], item]] for item in drawn.item_ids]
            each.tell(drawn, rows)
    assert sizes == {1, 2}
    assert campaign.estimate().value == restored.estimate().value
    repeated = replicate(design, grades, [50.0], 1, rng=4)
    assert math.isfinite(repeated.values[0, 0])


def test_samples_that_continue_earlier_ones_refuse_pairs():
    design = case_of(1)
    with pytest.raises(InputError, match="judges no pairs"):
        going_on(design, EarlierLabels.nothing(7), 3.0)
