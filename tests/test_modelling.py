"""What is believed of the grades where nothing was trained."""

from __future__ import annotations

import numpy as np
import pytest
from naive import pool_of
from scipy.special import expit, logit

from activeeval import METHODS, QueryPool, Rankings, Target, generate_pool, parse_measure, replicate
from activeeval.design import Beliefs
from activeeval.session.modelling import UNTRAINED_FACTOR, believe, uniform_beliefs
from activeeval.session.workload import Workload

PAPER = [name for name, method in METHODS.items() if method.ignores_factor]


def test_the_uniform_model_by_hand():
    """p(y ≤ k | u) = s(c · logit((k + 1)/5) − 1.2 u) with c² = 1 + 0.346 · 1.2², up to the smoothing of 1e-4."""
    given = uniform_beliefs(3, 4).for_method(METHODS["items"], 5)
    assert np.array_equal(given["grade_probs"], np.full((3, 5), 0.2))
    beliefs = Beliefs.of(pool_of([2, 1]), **given)
    nodes, weights = beliefs.nodes, beliefs.weights[0]
    assert (nodes.shape, beliefs.weights.shape) == ((9, 3, 5), (2, 9))
    u, omega = np.polynomial.hermite_e.hermegauss(9)
    assert weights == pytest.approx(omega / omega.sum())
    levels = np.sqrt(1 + 0.346 * 1.44) * logit(np.arange(1, 5) / 5)
    expected = expit(levels[None, :] - 1.2 * u[:, None])
    for item in range(3):
        assert np.cumsum(nodes[:, item], axis=1)[:, :-1] == pytest.approx(expected, abs=1e-12)
    # any one item is as likely to have one grade as another, to the 0.011 that the factor promises for p(y ≤ k)
    assert np.cumsum(weights @ nodes[:, 0]) == pytest.approx(np.arange(1, 6) / 5, abs=0.011)


def test_a_longer_scale_is_uniform_too_before_the_factor():
    short, long = (uniform_beliefs(2, top).for_method(METHODS["depth"], 5)["grade_probs"] for top in (2, 4))
    assert np.array_equal(short, long)


@pytest.mark.parametrize("name", PAPER)
def test_the_paper_s_methods_take_grades_as_independent(name):
    assert len(PAPER) == 4
    given = uniform_beliefs(2, 3).for_method(METHODS[name], 4)
    assert given["factor"] is None
    assert np.array_equal(given["grade_probs"], np.full((2, 4), 0.25))


def test_the_factor_of_the_uniform_model_can_be_left_out():
    made = generate_pool(5, 0)
    ranking = Rankings.from_scores(made.pool, made.features[:, 0])
    workload = Workload(made.pool, (ranking,), made.grades, made.features)
    with_factor, without = (
        believe(workload, "uniform", 4, np.random.default_rng(0), with_factor=x) for x in (True, False)
    )
    assert (with_factor.factor, without.factor) == (UNTRAINED_FACTOR, None)
    assert (UNTRAINED_FACTOR.sigma, UNTRAINED_FACTOR.slope, UNTRAINED_FACTOR.shift) == (1.2, 1.0, 0.0)
    assert without.for_method(METHODS["items"], 5)["grade_probs"].shape == (made.pool.n_items, 5)


def test_items_of_queries_that_cost_a_turn_are_chosen_better_with_the_factor():
    """The mean squared errors differ by a factor of 2.4; that of 300 repetitions each falls below 1.5 by chance with
    a probability below 1e-6 (the logarithm of the ratio has a standard error of 0.05)."""
    made = generate_pool(300, 0)
    pool = made.pool.replace(query_costs=np.full(300, 5.0))
    scores = made.grades + np.random.default_rng(0).normal(0, 1.5, pool.n_items)
    target = Target(parse_measure("DCG"), Rankings.from_scores(pool, scores))
    truth, budget = pool.query_probs @ target.values(made.grades), 0.1 * pool.n_items
    errors = []
    for with_factor in (False, True):
        given = uniform_beliefs(pool.n_items, 4, with_factor=with_factor).for_method(METHODS["items"], 5)
        found = replicate(METHODS["items"].design(target, **given, budget=budget), made.grades, [budget], 300, 1)
        errors.append(((found.values - truth) ** 2).mean())
    assert errors[0] > 1.5 * errors[1]


def test_known_grades_recalibrate_given_probabilities_out_of_fold():
    """A query's own known grades do not move what is believed of it, whatever the model."""
    random = np.random.default_rng(5)
    pool = QueryPool([f"q{q}" for q in range(30)], np.arange(0, 181, 6))
    ranking = Rankings.from_scores(pool, random.random(180))
    given = random.dirichlet(np.ones(3), 180)
    known = np.where(random.random(180) < 0.6, random.integers(0, 3, 180), -1)
    workload = Workload(pool, (ranking,), np.full(180, -1), given)
    own = np.arange(180) < 6
    other = np.where(own & (known >= 0), (known + 1) % 3, known)
    for kind in ("probs=x", "forest", "logit"):
        one, two = (
            believe(workload.taught_by(grades), kind, 2, np.random.default_rng(0), with_factor=False).probs
            for grades in (known, other)
        )
        assert np.array_equal(one[own], two[own]), kind
        assert not np.array_equal(one, two), kind
