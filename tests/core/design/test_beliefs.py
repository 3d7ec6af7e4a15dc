"""Grades known beforehand, and values that no unknown grade can change: never asked for, exact in every estimate."""

from dataclasses import replace

import numpy as np
import pytest
from core_cases import LEVELLED, judge_all, uneven_pool
from each_once import each_once
from naive import (
    additive_value,
    cascade_value,
    expected_given,
    likelihood,
    over_thresholds,
    pool_of,
    random_lists,
    random_probs,
    rankings_of,
)

from activeeval import AP, DCG, ERR, METHODS, NDCG, Additive, Campaign, Cascade, InputError, Precision, Target
from activeeval.core.design import GradeProbs
from activeeval.core.grade_models.query_factor import QueryFactor
from activeeval.formats.sample_file import from_arrays, to_arrays

pytestmark = pytest.mark.kernel

LENGTHS = (2, 3, 2, 3)


def target_of(random, measure, lengths=LENGTHS, compare=False, query_costs=0.0):
    """Return a target on a pool with unequal costs and p, its lists at random."""
    pool = uneven_pool(random, lengths, query_costs)
    lists = [rankings_of(pool, random_lists(random, lengths, least=least)) for least in (2, 1)]
    return Target(measure, lists[0], lists[1] if compare else None)


def judged_campaign(design, labels, budget, **arguments):
    return judge_all(Campaign(design, budget, **arguments), labels)


# What is believed


@pytest.mark.parametrize("n_nodes", [1, 3])
def test_what_is_known_of_a_query_tells_its_nodes_apart(n_nodes):
    """ω ∝ ω⁰ Π p(y | u) over the known items by Bayes' rule; the rows of known items are certain, others as given."""
    random = np.random.default_rng(0)
    pool = pool_of([3, 2, 2])
    nodes = random.integers(1, 9, (n_nodes, 7, 4)) / 1.0
    nodes /= nodes.sum(axis=2, keepdims=True)
    prior = random.dirichlet(np.ones(n_nodes))
    known = np.array([2, -1, 0, -1, -1, 3, 1])
    beliefs = GradeProbs.of(pool, nodes, prior, known=known)
    plain = GradeProbs.of(pool, nodes, prior)
    grades = ({0: 2, 2: 0}, {}, {5: 3, 6: 1})
    for q, own in enumerate(grades):
        weights = [likelihood([one], [w], own) for w, one in zip(prior, plain.nodes, strict=True)]
        assert beliefs.weights[q] == pytest.approx(np.array(weights) / sum(weights), rel=1e-12)
    for z, grade in enumerate(known.tolist()):
        expected = plain.nodes[:, z] if grade < 0 else np.tile(np.eye(4)[grade], (n_nodes, 1))
        np.testing.assert_array_equal(beliefs.nodes[:, z], expected)


def test_a_known_grade_that_the_model_excludes_says_nothing():
    nodes = np.array([[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.1, 0.9]]])
    beliefs = GradeProbs.of(pool_of([2]), nodes, [0.25, 0.75], known=[1, -1])
    assert beliefs.weights.tolist() == [[0.25, 0.75]]
    assert GradeProbs.of(pool_of([2]), nodes, [0.25, 0.75], known=[1, 1]).weights == pytest.approx(
        np.array([[0.125, 0.675]]) / 0.8
    )


def test_a_defended_model_learns_from_what_is_known_too():
    """A uniform model, three of four items of a query known to be irrelevant: the pessimistic nodes gain weight."""
    pool = pool_of([4, 4])
    known = np.array([0, 0, 0, -1, -1, -1, -1, -1])
    plain, informed = (GradeProbs.of(pool, np.full((8, 5), 0.2), known=one).defended() for one in (None, known))
    assert informed.weights[1] == pytest.approx(plain.weights[1])
    weights = [w * nodes[:3, 0].prod() for w, nodes in zip(plain.prior, plain.nodes, strict=True)]
    assert informed.weights[0] == pytest.approx(np.array(weights) / sum(weights))
    assert informed.weights[0, 1] > 5 * plain.weights[0, 1]


@pytest.mark.parametrize("compare", [False, True])
@pytest.mark.parametrize("method", ["whole", "depth_plain", "items_plain"])
def test_predictions_are_expectations_given_what_is_known(method, compare):
    random = np.random.default_rng(1)
    cascade = method != "items_plain"
    worth, discounts = [0.0, 0.4, 1.0], [1.0, 0.5, 0.3]
    value = cascade_value if cascade else additive_value
    target = target_of(random, (Cascade if cascade else Additive)(worth, discounts), compare=compare)
    known = np.array([1, -1, -1, 2, 0, -1, -1, 0, 0, 0])
    factor = QueryFactor(1.5)
    design = METHODS[method].design(target, random_probs(random, 10, 3), factor=factor, judged=known)
    beliefs, pool = design.beliefs, target.pool
    plain = GradeProbs.of(pool, beliefs.grade_probs, factor=factor)
    plain = plain.defended() if method == "depth_plain" else plain
    for q in range(4):
        own = slice(*pool.query_offsets[q : q + 2])
        lists = [
            (ranking.items[slice(*ranking.offsets[q : q + 2])] - own.start).tolist()
            for ranking in (target.ranking, target.other)
        ]
        given = {z: y for z, y in enumerate(known[own].tolist()) if y >= 0}

        def delta(grades, lists=lists):
            return value(grades, worth, discounts, lists[0]) - value(grades, worth, discounts, lists[1])

        expected = expected_given(delta, plain.nodes[:, own].tolist(), plain.prior.tolist(), given)
        assert design.readings[0].predictions[q] == pytest.approx(expected, rel=1e-10, abs=1e-13)


# What is asked, and what is made of it


@each_once(("compare", [False, True]), ("method", LEVELLED))
def test_known_items_are_never_asked_for_and_cost_nothing(method, compare):
    random = np.random.default_rng(2)
    lengths = random.integers(2, 6, 30).tolist()
    measure = DCG() if "items" in method else NDCG(cutoff=3)
    target = target_of(random, measure, lengths, compare, query_costs=np.full(30, 1.5))
    pool = target.pool
    labels = random.integers(0, 4, pool.n_items)
    known = np.where(random.random(pool.n_items) < 0.3, labels, -1)
    known[pool.item_queries < 3] = labels[pool.item_queries < 3]
    design = METHODS[method].design(target, random_probs(random, pool.n_items, 4), judged=known)
    order = design.order
    assert not order.place_rates[known[order.items] >= 0].any()
    assert set(order.items[order.place_rates > 0].tolist()) == set(
        np.flatnonzero(target.matters & (known < 0)).tolist()
    )
    assert order.overheads[:3].tolist() == [0, 0, 0]
    assert not order.is_open[:3].any()
    assert design.cost == pytest.approx(
        (pool.item_costs[target.matters & (known < 0)].sum() + 1.5 * order.is_open.sum()) / pool.item_costs.mean()
    )
    campaign = judged_campaign(design, labels, 0.5 * design.cost, rng=1)
    asked = [item for unit in campaign.units for item in unit.items]
    assert max(known[asked]) == -1
    whole = judged_campaign(design, labels, design.cost).estimate()
    assert whole.value == pytest.approx(pool.query_probs @ target.values(labels), rel=1e-12)
    assert whole.std_error == 0


@each_once(
    ("compare", [False, True]),
    (
        ("method", "measure"),
        [("random", ERR(2)), ("whole", NDCG()), ("depth_plain", ERR(2)), ("depth_plain", AP()), ("items_plain", DCG())],
    ),
)
def test_given_what_is_known_value_and_variance_are_exactly_unbiased(method, measure, compare):
    """All samples of a hard budget, integrated over T: some items known, one query wholly, labels as they will.

    The known grades are no draw of the model, which excludes some of them.
    """
    random = np.random.default_rng(3)
    target = target_of(random, measure, (2, 3, 2, 2, 2, 2), compare, query_costs=[1, 0, 1, 0.5, 1, 0])
    pool = target.pool
    labels = random.integers(0, 3, pool.n_items)
    probs = random_probs(random, pool.n_items, 3)
    known = np.where(np.isin(np.arange(pool.n_items), [0, 1, 3, 6]), labels, -1)
    probs[3] = np.eye(3)[(labels[3] + 1) % 3]
    factor = None if method == "random" else QueryFactor(1.0)
    design = METHODS[method].design(target, probs, factor=factor, judged=known)
    design = replace(design, is_fitted=False)
    truth = pool.query_probs @ target.values(labels)
    order = design.order
    for budget in (order.dearest_units.max() * 1.001, order.two_dearest * 1.001, 0.95 * order.cost):
        assert budget < order.cost
        mass, mean, variance, estimated = over_thresholds(design, design.readings[0], labels, budget)
        assert mass == pytest.approx(1, abs=1e-12)
        assert mean == pytest.approx(truth, abs=1e-10)
        if budget > order.two_dearest:
            assert estimated == pytest.approx(variance, abs=1e-10)
            assert variance > 1e-8


@pytest.mark.parametrize("method", LEVELLED)
def test_equal_lists_and_empty_lists_are_certain(method):
    """Equal down to the cutoff in a comparison, or nothing ranked: no label can change them, so nobody is asked."""
    random = np.random.default_rng(5)
    pool = pool_of([4] * 20, query_costs=np.ones(20))
    first = [random.permutation(4).tolist() for _ in range(20)]
    second = [one[::-1] for one in first]
    second[0], second[1] = first[0], [*first[1][:2], *first[1][:1:-1]]
    first[2] = second[2] = []
    measures = [DCG(cutoff=2), Precision(2)] if "items" in method else [ERR(3, cutoff=2), NDCG(cutoff=2), AP(cutoff=2)]
    probs, labels = random_probs(random, 80, 4), random.integers(0, 4, 80)
    for measure in measures:
        target = Target(measure, rankings_of(pool, first), rankings_of(pool, second))
        design = METHODS[method].design(target, probs)
        assert design.order.is_open.tolist() == [False] * 3 + [True] * 17
        assert not target.values(labels)[:3].any()
        campaign = judged_campaign(design, labels, 0.99 * design.cost, rng=2)
        assert min(unit.query for unit in campaign.units) >= 3
        reading = design.readings[0]
        assert not np.nan_to_num(reading.predictions[:3]).any()
        assert not reading.is_open[:3].any()
        alone = Target(measure, rankings_of(pool, first))
        assert METHODS[method].design(alone, probs).order.is_open.tolist() == [True, True, False] + [True] * 17


def test_a_sample_on_file_keeps_what_was_known():
    random = np.random.default_rng(8)
    target = target_of(random, ERR(3), (3,) * 12)
    labels = random.integers(0, 4, 36)
    known = np.where(random.random(36) < 0.4, labels, -1)
    design = METHODS["depth"].design(target, random_probs(random, 36, 4), factor=QueryFactor(1.2), judged=known)
    live = judged_campaign(design, labels, 0.6 * design.cost, rng=9)
    again = from_arrays(to_arrays(live))
    assert again.design.known.tolist() == known.tolist()
    assert again.planned == live.planned
    judge_all(again, labels)
    assert again.estimate() == live.estimate()


@pytest.mark.parametrize("method", LEVELLED)
def test_known_grades_off_the_scale_are_refused(method):
    random = np.random.default_rng(9)
    target = target_of(random, DCG([0, 1, 3]))
    known = np.full(10, -1)
    known[4] = 3
    with pytest.raises(InputError, match="item '3' of query 'q1'"):
        METHODS[method].design(target, random_probs(random, 10, 3), judged=known)
