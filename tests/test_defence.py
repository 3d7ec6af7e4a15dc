"""A model that is never sure of itself: extra nodes whose grades are lower, or higher."""

from __future__ import annotations

import math

import numpy as np
import pytest
from naive import pool_of, random_probs, rankings_of

from activeeval import ERR, METHODS, Rankings, Target, methods, replicate
from activeeval.design import defended_nodes, random_prefixes
from activeeval.generated import generate_pool


def logit(p):
    return math.log(p / (1 - p))


@pytest.mark.parametrize("n_grades", [2, 3, 5])
@pytest.mark.parametrize("n_nodes", [1, 3])
def test_every_node_is_a_distribution(n_nodes, n_grades):
    random = np.random.default_rng(0)
    nodes = random.dirichlet(np.full(n_grades, 0.05), (n_nodes, 200))  # many probabilities of 0 and 1
    nodes[0, 0] = np.eye(n_grades)[0]
    nodes[:, 1] = np.eye(n_grades)[-1]
    weights = random.dirichlet(np.ones(n_nodes))
    for share in (0.05, 0.5, 1.0):
        more, their = defended_nodes(nodes, weights, share)
        assert more.shape == (n_nodes + 3, 200, n_grades)
        assert more.min() >= 0
        np.testing.assert_allclose(more.sum(axis=2), 1, rtol=1e-12)
        assert their.sum() == pytest.approx(1)
        assert their[n_nodes:] == pytest.approx([share / 3] * 3)
        np.testing.assert_array_equal(more[:n_nodes], nodes)
        assert their[:n_nodes] == pytest.approx((1 - share) * weights)


def test_no_share_is_the_model_itself():
    nodes, weights = random_probs(np.random.default_rng(1), 4, 3)[None], np.ones(1)
    more, their = defended_nodes(nodes, weights, 0)
    assert more is nodes
    assert their is weights


def test_shifts_are_those_of_cumulative_logits_of_the_whole_model():
    """By the formula, one item and one grade at a time: −4, −2, 2 on the logit of p(y > k)."""
    random = np.random.default_rng(2)
    nodes, weights = random.dirichlet(np.full(4, 2.0), (2, 5)), np.array([0.3, 0.7])
    more, _ = defended_nodes(nodes, weights)
    for shift, shifted in zip((-4.0, -2.0, 2.0), more[2:], strict=True):
        for z in range(5):
            marginal = weights @ nodes[:, z]
            above = [1 / (1 + math.exp(-logit(sum(marginal[k + 1 :])) - shift)) for k in range(3)]
            assert shifted[z] == pytest.approx([a - b for a, b in zip([1, *above], [*above, 0], strict=True)])
    means = more @ np.arange(4)
    own = weights @ means[:2]
    assert np.all(means[2] < means[3])
    assert np.all(means[3] < own)
    assert np.all(own < means[4])


@pytest.mark.kernel
def test_a_few_labels_tell_which_node_it_is():
    """A uniform model expects a lot of every item; after a few irrelevant ones a defended model no longer does."""
    n = 20
    pool = pool_of([n])
    target = Target(ERR(4), rankings_of(pool, [list(range(n))]))
    uniform = np.full((1, n, 5), 0.2), np.ones(1)
    labels, ones = np.zeros(n, dtype=np.int64), np.ones(n)
    plain, wary = (
        random_prefixes(target, *model).prefix_totals(labels, ones, np.array([n]))[0][:, 0]
        for model in (uniform, defended_nodes(*uniform))
    )
    assert wary[3] < 0.3 * plain[3]


def generated(irrelevant):
    """Return a pool of the recipe with its grades lowered, ranked by its best features, and a uniform model."""
    made = generate_pool(200, rng=3)
    labels = np.maximum(made.grades - irrelevant, 0)
    ranking = Rankings.from_scores(made.pool, made.features[:, :4] @ [1, 0.7, 0.5, 0.4])
    return ranking, labels, np.full((made.pool.n_items, 5), 0.2)


def squared_error(plan, labels, budget, repetitions=300):
    run = replicate(plan, labels, [budget], repetitions, rng=0)
    truth = plan.target.pool.query_probs @ plan.target.values(labels)
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
    plans = {name: METHODS[name].plan(target, uniform) for name in ("passive", "depth")}
    budget = 0.1 * float(plans["passive"].stage.costs.sum())
    assert squared_error(plans["depth"], labels, budget) < 0.6 * squared_error(plans["passive"], labels, budget)


@pytest.mark.statistical
def test_the_defence_is_worth_its_share(monkeypatch):
    """ERR where one item in six is relevant: the squared error without the defence is about twice as large.

    Standard error of the ratio 0.2: fewer than 1 run in 1,000 would fail.
    """
    ranking, labels, uniform = generated(1)
    target = Target(ERR(4), ranking)
    budget = 0.1 * float(METHODS["passive"].plan(target).stage.costs.sum())
    own = squared_error(METHODS["depth"].plan(target, uniform), labels, budget, 1000)
    monkeypatch.setattr(methods, "defended_nodes", lambda nodes, weights, *_: (nodes, weights))
    assert squared_error(METHODS["depth"].plan(target, uniform), labels, budget, 1000) > 1.3 * own
