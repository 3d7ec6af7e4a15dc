"""What an item's label tells of a value that is divided by an ideal, and what it makes of orders and rates."""

from dataclasses import replace

import numpy as np
import pytest

from activeeval import METHODS, Target, parse_measure
from activeeval.core.design import DesignInput, GradeProbs, RatePlan, stages
from activeeval.core.design.inputs import joint_variances
from activeeval.core.design.label_values import label_values
from activeeval.core.design.stages import DEPTH
from activeeval.core.measures.target import common_lists
from tests import naive

MEASURES = ("nDCG@3", "nDCG", "R@2", "AP", "AP@3")
RATIO = 1e-4


def target_of(text, seed=0, n_grades=3, is_compared=True):
    random = np.random.default_rng(seed)
    lengths = [6, 5, 1, 8, 4]
    pool = naive.pool_of(lengths)
    lists = [naive.rankings_of(pool, naive.random_lists(random, lengths, least=1)) for _ in range(2)]
    probs = naive.random_probs(random, pool.n_items, n_grades)
    target = Target(parse_measure(text), lists[0], lists[1] if is_compared else None)
    return target, GradeProbs.of(pool, probs)


def expected_value(target, means, relevant):
    """N and I of every query, by plain loops, of gains that are what is expected of them."""
    pool, found = target.pool, []
    n_grades = 3
    terms = target.terms(n_grades)
    for q in range(pool.n_queries):
        own = range(*pool.query_offsets[q : q + 2])
        total = 0.0
        for sign, ranking in ((1, target.ranking), (-1, target.other)):
            listed = ranking.items[ranking.offsets[q] : ranking.offsets[q + 1]][: terms.discounts.size].tolist()
            above = 0.0
            for k, item in enumerate(listed):
                is_precision = str(target.measure).startswith("AP")
                total += sign * means[item] * ((1 + above) / (k + 1) if is_precision else terms.discounts[k])
                above += means[item]
        number = sum(relevant[item] for item in own)
        any_left = 1 - np.prod([1 - relevant[item] for item in own])
        gain = sum(means[item] for item in own) / number
        ranks = [min(number / any_left + more, len(own)) for more in (0, 1)]
        ideal = np.interp(ranks, range(terms.cumulative.size), terms.cumulative)
        found.append((total, gain * ideal[0], ideal[1] - ideal[0]))
    return np.array(found)


@pytest.mark.parametrize("is_compared", [False, True])
@pytest.mark.parametrize("text", MEASURES)
def test_worths_are_the_squares_of_what_a_label_moves(text, is_compared):
    """Against numerical derivatives of the numerator, and loops for the ideal."""
    target, beliefs = target_of(text, is_compared=is_compared)
    pool, items = target.pool, common_lists([target])[1]
    gains = np.asarray(target.terms(3).values)
    probs = beliefs.nodes[0]
    means, relevant = probs @ gains, probs @ (gains > 0)
    variances = probs @ gains**2 - means**2
    n, ideal, discount = expected_value(target, means, relevant).T
    slopes = np.empty(pool.n_items)
    for item in range(pool.n_items):
        moved = means.copy()
        moved[item] += RATIO
        q = pool.item_queries[item]
        slopes[item] = (expected_value(target, moved, relevant)[q, 0] - n[q]) / RATIO
    expected = []
    for item in items:
        q = pool.item_queries[item]
        own = slice(*pool.query_offsets[q : q + 2])
        m, spread = n[q] / ideal[q], (slopes[own] ** 2 * variances[own]).sum() / ideal[q] ** 2
        side = (slopes[item] - m * discount[q]) ** 2 + spread * discount[q] ** 2
        expected.append(variances[item] * side / ideal[q] ** 2)
    assert label_values(target, beliefs, items) == pytest.approx(expected, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("text", MEASURES)
def test_what_tells_most_comes_first(text):
    target, beliefs = target_of(text, seed=1)
    order = METHODS["depth"].design(target, beliefs.nodes[0]).order
    offsets, items = common_lists([target])
    told = dict(zip(items.tolist(), label_values(target, DEPTH.model(beliefs), items).tolist(), strict=True))
    for q in range(target.pool.n_queries):
        own = order.items[order.offsets[q] : order.offsets[q + 1]].tolist()
        values = [told[item] for item in own if target.matters[item]]
        assert values == sorted(values, reverse=True)
        assert sorted(own) == sorted(items[offsets[q] : offsets[q + 1]].tolist())


def test_one_question_without_an_ideal_keeps_the_order_of_ranks():
    target, beliefs = target_of("nDCG@3", seed=2)
    other = Target(parse_measure("DCG@3"), target.ranking, target.versus)
    order = METHODS["depth"].design([target, other], beliefs.nodes[0], max_grade=2).order
    expected = METHODS["whole"].design([target, other], beliefs.nodes[0], max_grade=2).order
    assert order.items.tolist() == expected.items.tolist()


def test_items_that_no_label_can_move_are_worth_nothing():
    target, beliefs = target_of("nDCG@3")
    certain = np.tile([1.0, 0.0, 0.0], (target.pool.n_items, 1))
    found = label_values(target, GradeProbs.of(target.pool, certain), np.arange(target.pool.n_items))
    assert found.tolist() == [0.0] * target.pool.n_items
    mixed = beliefs.nodes[0].copy()
    mixed[0] = [0.0, 1.0, 0.0]
    assert label_values(target, GradeProbs.of(target.pool, mixed), np.arange(target.pool.n_items))[0] == 0.0


def part_of(text):
    target, beliefs = target_of(text, seed=3)
    known = np.full(target.pool.n_items, -1)
    places = DEPTH.places([target], beliefs, known)
    return DesignInput(stage=DEPTH, targets=(target,), beliefs=beliefs, known=known, places=places)


def test_a_share_of_a_query_s_variance_lies_on_all_of_its_places_by_cost():
    part = part_of("nDCG@3")
    (spread,) = part.target_variances
    places, found = part.places, stages._as_doubted(part.places, part.target_variances[0])
    assert spread.misplaced == stages.MISPLACED_SHARE > 0
    for q in range(part.targets[0].pool.n_queries):
        own = places.open_queries == q
        costs = places.open_costs[own]
        even = spread.of_open[own].sum() * costs / costs.sum() if own.any() else costs
        assert found[own] == pytest.approx(0.75 * spread.of_open[own] + 0.25 * even)
    assert part_of("ERR(max_rel=2)@3").target_variances[0].misplaced == 0.0


def test_several_questions_are_doubted_as_the_most_doubted_one():
    target, beliefs = target_of("nDCG@3", seed=3)
    other = Target(parse_measure("ERR(max_rel=2)@3"), target.ranking, target.versus)
    known = np.full(target.pool.n_items, -1)
    places = DEPTH.places([target, other], beliefs, known)
    part = DesignInput(stage=DEPTH, targets=(target, other), beliefs=beliefs, known=known, places=places)
    assert joint_variances(part.target_variances, [1.0, 2.0], places).misplaced == stages.MISPLACED_SHARE
    assert part.rates([1.0, 2.0], alike=False).is_doubted


def test_no_place_of_such_a_query_falls_below_what_the_least_query_gets():
    """A model that is sure of a query leaves it the least root, and all of its places with it."""
    target, beliefs = target_of("nDCG@3", seed=4, is_compared=False)
    sure = beliefs.nodes[0].copy()
    sure[:6] = [[0.0, 0.0, 1.0]] + 5 * [[1 - 1e-9, 1e-9, 0.0]]
    order = METHODS["depth"].design(target, sure).order
    least = order.query_rates.min()
    own = order.place_rates[: order.offsets[1]]
    assert order.query_rates[0] == pytest.approx(least)
    assert own[own > 0] == pytest.approx(least)


def test_the_limit_is_of_the_variances_as_the_model_sees_them():
    target, beliefs = target_of("nDCG@3", seed=3)
    design = METHODS["depth"].design(target, beliefs.nodes[0])
    plan, budget = RatePlan.of(design), 0.4 * design.cost
    part = part_of("nDCG@3")
    pure = DEPTH.pooled(part.places, replace(part.target_variances[0], misplaced=0.0))
    doubted = DEPTH.pooled(part.places, part.target_variances[0])
    assert plan.least(budget) <= plan.at_budget(budget)
    assert not np.allclose(pure.of_open, doubted.of_open)
    owners = part.places.open_queries
    assert RatePlan.of_input(part, design.order).place_rates == pytest.approx(
        design.order.query_probs[owners] * pure.of_open
    )
