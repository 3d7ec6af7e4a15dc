"""A model that is never sure of itself: extra nodes whose grades are lower, or higher."""

import math

import numpy as np
import pytest
from naive import pool_of, random_probs, rankings_of

from activeeval import ERR, METHODS, Rankings, Target, replicate
from activeeval.core.design import GradeProbs
from activeeval.core.design.beliefs import SHARE
from activeeval.core.design.expectations import expectations_of
from activeeval.core.design.nodes import SHIFTS
from activeeval.core.pool.generated import generate_pool


def logit(p):
    return math.log(p / (1 - p))


def test_shifts_are_those_of_cumulative_logits_of_the_whole_model():
    """By the formula, one item and one grade at a time: −4, −2, 2 on the logit of p(y > k)."""
    random = np.random.default_rng(2)
    own = GradeProbs.of(pool_of([5]), random.dirichlet(np.full(4, 2.0), (2, 5)), np.array([0.3, 0.7]))
    more = own.defended()
    assert SHIFTS == (-4.0, -2.0, 2.0)
    for shift, shifted in zip(SHIFTS, more.nodes[2:], strict=True):
        for z in range(5):
            marginal = own.prior @ own.nodes[:, z]
            above = [1 / (1 + math.exp(-logit(sum(marginal[k + 1 :])) - shift)) for k in range(3)]
            assert shifted[z] == pytest.approx([a - b for a, b in zip([1, *above], [*above, 0], strict=True)])
    np.testing.assert_array_equal(more.nodes[:2], own.nodes)
    assert more.prior == pytest.approx([*((1 - SHARE) * own.prior), *[SHARE / 3] * 3])
    np.testing.assert_array_equal(more.weights, [more.prior])
    means = more.nodes @ np.arange(4)
    marginal = own.prior @ means[:2]
    assert np.all(means[2] < means[3])
    assert np.all(means[3] < marginal)
    assert np.all(marginal < means[4])


@pytest.mark.kernel
def test_depth_designs_are_defended_and_others_are_not():
    pool = pool_of([3, 2])
    probs = random_probs(np.random.default_rng(1), 5, 3)
    target = Target(ERR(2), rankings_of(pool, [[0, 1], [1, 0]]))
    for name in ("depth", "depth_plain", "whole"):
        n_nodes = len(METHODS[name].design(target, probs).beliefs.nodes)
        assert n_nodes == (4 if "depth" in name else 1)


@pytest.mark.kernel
def test_a_few_labels_tell_which_node_it_is():
    """A uniform model expects a lot of every item; after a few irrelevant ones a defended model no longer does."""
    n = 20
    pool = pool_of([n])
    target = Target(ERR(4), rankings_of(pool, [list(range(n))]))
    uniform = GradeProbs.of(pool, np.full((n, 5), 0.2))
    labels = np.zeros(n, dtype=np.int64)
    plain, wary = (
        expectations_of(target, one, *target.judging_lists(), labels)[1] for one in (uniform, uniform.defended())
    )
    assert wary[3] < 0.3 * plain[3]


def generated(irrelevant):
    """Return a pool of the recipe with its grades lowered, ranked by its best features, and a uniform model."""
    made = generate_pool(200, rng=3)
    labels = np.maximum(made.grades - irrelevant, 0)
    ranking = Rankings.from_scores(made.pool, made.features[:, :4] @ [1, 0.7, 0.5, 0.4])
    return ranking, labels, np.full((made.pool.n_items, 5), 0.2)


def squared_error(design, labels, budget, repetitions=300):
    run = replicate(design, labels, [budget], repetitions, rng=0)
    truth = design.pool.query_probs @ design.target.values(labels)
    return float(((run.values - truth) ** 2).mean())


@pytest.mark.statistical
@pytest.mark.parametrize("irrelevant", [1, 2])
def test_depth_with_a_useless_model_is_not_worse_than_passive(irrelevant):
    """Five items of six, or 29 of 30, are irrelevant and the model takes all grades for equally likely.

    The ratio of squared errors is below 0.3 with a standard error of 0.03: fewer than 1 run in 1,000 would fail.
    Without the control h of the drift it is 3.
    """
    ranking, labels, uniform = generated(irrelevant)
    target = Target(ERR(4), ranking)
    designs = {name: METHODS[name].design(target, uniform) for name in ("passive", "depth")}
    budget = 0.1 * designs["passive"].cost
    assert squared_error(designs["depth"], labels, budget) < 0.6 * squared_error(designs["passive"], labels, budget)
