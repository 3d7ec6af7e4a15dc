"""A model that is never sure of itself: extra nodes whose grades are lower, or higher."""

from __future__ import annotations

import math

import numpy as np
import pytest
from naive import pool_of, random_lists, random_probs, rankings_of

from activeeval import ERR, METHODS, NDCG, Target, replicate
from activeeval.design import defended_nodes, random_prefixes


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
        random_prefixes(target, *model).prefix_totals(labels, ones, np.array([n]))[0]
        for model in (uniform, defended_nodes(*uniform))
    )
    assert wary[3] < 0.3 * plain[3]


@pytest.mark.statistical
@pytest.mark.parametrize("measure", [ERR(4, cutoff=10), NDCG(cutoff=10)], ids=str)
def test_depth_with_a_useless_model_is_not_worse_than_passive(measure):
    """A pool of which one item in 25 is relevant and a model that takes all grades for equally likely.

    Mean squared errors of 600 repetitions at a tenth of the pool; the ratio here is MEASURED with a standard error of
    about 0.1, so fewer than 1 run in 1,000 would fail with other seeds. Without the defence it is UNDEFENDED.
    """
    random = np.random.default_rng(3)
    lengths = random.integers(10, 30, 300).tolist()
    pool = pool_of(lengths, query_costs=np.full(300, 5.0))
    labels = random.choice(5, pool.n_items, p=[0.96, 0.02, 0.01, 0.005, 0.005])
    target = Target(measure, rankings_of(pool, random_lists(random, lengths, least=10)))
    truth = float(target.values(labels).mean())
    uniform = np.full((pool.n_items, 5), 0.2)
    errors = {}
    for name in ("passive", "depth"):
        plan = METHODS[name].plan(target, uniform)
        run = replicate(plan, labels, [0.1 * float(plan.stage.costs.sum())], 600, rng=0)
        errors[name] = float(((run.values - truth) ** 2).mean())
    assert errors["depth"] < errors["passive"]
