"""What is believed of the grades: where nothing was trained, and how far what was trained may be trusted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from naive import pool_of
from scipy.special import expit, logit

from activeeval import METHODS, QueryPool, Rankings, Target, default_method, generate_pool, parse_measure, replicate
from activeeval.core.design import GradeProbs
from activeeval.core.planning import Planner
from activeeval.core.pool.generated import noisy_scores
from activeeval.inputs.loading import Inputs, TrainingRows
from activeeval.inputs.modelling import UNTRAINED_FACTOR, believe, uniform_beliefs
from activeeval.quickstart.demonstration import recipe_beliefs

pytestmark = pytest.mark.usefixtures("whole_rehearsals")

PAPER = [name for name, method in METHODS.items() if method.ignores_factor]


def test_the_uniform_model_by_hand():
    """p(y ≤ k | u) = s(c · logit((k + 1)/5) − 1.2 u) with c² = 1 + 0.346 · 1.2², up to the smoothing of 1e-4."""
    given = uniform_beliefs(3, 4).for_method(METHODS["items"], 5)
    assert np.array_equal(given["grade_probs"], np.full((3, 5), 0.2))
    beliefs = GradeProbs.of(pool_of([2, 1]), **given)
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


def test_the_paper_s_methods_take_grades_as_independent():
    assert len(PAPER) == 4
    for name in PAPER:
        given = uniform_beliefs(2, 3).for_method(METHODS[name], 4)
        assert given["factor"] is None
        assert np.array_equal(given["grade_probs"], np.full((2, 4), 0.25))


def test_the_factor_of_the_uniform_model_can_be_left_out():
    made = generate_pool(5, 0)
    ranking = Rankings.from_scores(made.pool, made.features[:, 0])
    inputs = Inputs(made.pool, (ranking,), made.grades, made.features)
    with_factor, without = (
        believe(inputs, "uniform", 4, np.random.default_rng(0), with_factor=x) for x in (True, False)
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
    inputs = Inputs(pool, (ranking,), np.full(180, -1), given)
    own = np.arange(180) < 6
    other = np.where(own & (known >= 0), (known + 1) % 3, known)
    for kind in ("probs=x", "logit"):
        one, two = (
            believe(inputs.taught_by(grades), kind, 2, np.random.default_rng(0), with_factor=False).probs
            for grades in (known, other)
        )
        assert np.array_equal(one[own], two[own]), kind
        assert not np.array_equal(one, two), kind


def test_what_a_model_said_of_its_training_queries_is_out_of_fold_and_has_the_factor():
    """Means of grades as predicted and seen within a twentieth; a label of a query does not move what is said of it."""
    training, rest = generate_pool(120, 3).split(60)
    rows = TrainingRows(training.features, training.grades, training.pool.item_queries)
    inputs = Inputs(rest.pool, (Rankings.empty(rest.pool),), rest.grades, rest.features, rows)
    found = believe(inputs, "logit", 4, np.random.default_rng(0))
    held_out, scale = found.held_out, np.arange(5)
    assert np.array_equal(held_out.grades, rows.grades)
    assert held_out.n_queries == 60
    assert (held_out.probs @ scale).mean() == pytest.approx(rows.grades.mean(), rel=0.05)
    own = rows.queries == 7
    moved = replace(rows, grades=np.where(own, 4 - rows.grades, rows.grades))
    other = believe(replace(inputs, training=moved), "logit", 4, np.random.default_rng(0)).held_out
    # the factor has three parameters for all queries: it moves a little with each
    assert np.abs(other.probs[own] - held_out.probs[own]).max() < 0.05
    few = replace(rows, **{name: getattr(rows, name)[rows.queries < 9] for name in ("features", "grades", "queries")})
    assert believe(replace(inputs, training=few), "logit", 4, np.random.default_rng(0)).held_out is None
    assert believe(inputs, "logit", 4, np.random.default_rng(0), with_factor=False).held_out is None


ADDITIVE_OR_NOT = ("DCG@10", "ERR@10", "nDCG@10")


@pytest.mark.parametrize(
    ("n_training", "n_queries", "measures"),
    [
        (20, 100, ADDITIVE_OR_NOT[:2]),
        *(pytest.param(n, 400, ADDITIVE_OR_NOT, marks=pytest.mark.slow) for n in (20, 150)),  # minutes, by nDCG
    ],
)
def test_samples_have_half_widths_within_the_range_of_their_plan(n_training, n_queries, measures):
    """Mean over the questions: four in five of one forest; that of other seeds lay between .7 and .95."""
    training, rest = generate_pool(n_training + n_queries, 8).split(n_training)
    beliefs, shares = recipe_beliefs(training, rest, 0), []
    scores = beliefs.probs @ np.arange(5)
    lists = [Rankings.from_scores(rest.pool, s) for s in (scores, noisy_scores(scores, 1))]
    for text in measures:
        for versus in (None, lists[1]):
            target = Target(parse_measure(text).bound_to(4), lists[0], versus)
            method, told = default_method(target.measure), {"max_grade": 4, "held_out": beliefs.held_out}
            planner = Planner(targets=[target], believed=lambda method: beliefs.for_method(method, 5), **told)
            forecast = planner.rehearsed(method)[0]
            budget = 0.1 * forecast.cost
            halves = replicate(planner.designs(method)[0], rest.grades, [budget], 100, 1).half_widths()
            low, high = forecast.at(budget).half_widths()
            shares.append(np.mean((low <= halves) & (halves <= high)))
    assert 0.65 < np.mean(shares) < 0.97
