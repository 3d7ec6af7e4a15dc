"""Labels that a pool may turn out to have: of a model, of one that has seen no high grade, of none."""

from dataclasses import replace

import numpy as np
import pytest

from activeeval import DCG, METHODS, Rankings, Target
from activeeval.core.design import GradeProbs
from activeeval.core.planning import Planner
from activeeval.core.planning.drawn_labels import drawn_labels, n_taught, skewed, spread_above
from activeeval.core.planning.scales import UNREHEARSED, Scale, rehearsed_scale
from activeeval.core.pool.generated import generate_pool
from activeeval.inputs.modelling import GradeBeliefs, uniform_beliefs


@pytest.fixture(scope="module")
def pool():
    return generate_pool(80, 5).pool


def beliefs_of(pool, row):
    return GradeProbs.of(pool, np.tile(row, (pool.n_items, 1)))


def planner_of(pool, beliefs, max_grade=2, **others):
    rng = np.random.default_rng(0)
    lists = [Rankings.from_scores(pool, rng.standard_normal(pool.n_items)) for _ in range(2)]
    target = Target(DCG(cutoff=10).bound_to(max_grade), *lists)
    believed = {"believed": lambda method: beliefs.for_method(method, max_grade + 1)}
    return Planner(targets=[target], max_grade=max_grade, is_uniform=beliefs.is_uniform, **believed, **others)


def test_high_grades_of_a_skewed_model_are_rare_and_known_ones_stay(pool):
    known = np.full(pool.n_items, -1)
    known[:3] = 2
    beliefs = GradeProbs.of(pool, np.full((pool.n_items, 3), 1 / 3), known=known)
    rare = skewed(beliefs).nodes
    assert rare[0, 5] == pytest.approx(np.array([1, 0.35, 0.35**2]) / (1 + 0.35 + 0.35**2))
    assert np.array_equal(rare[:, :3], beliefs.nodes[:, :3])
    shares = np.bincount(drawn_labels(skewed(beliefs), 1)[3:], minlength=3) / (pool.n_items - 3)
    assert shares == pytest.approx(rare[0, 5], abs=4 * np.sqrt(0.25 / pool.n_items))


def test_the_highest_grade_that_is_known_may_be_any_above(pool):
    beliefs = beliefs_of(pool, [0.6, 0.4, 0.0, 0.0])
    assert n_taught(beliefs) == 2
    assert n_taught(beliefs_of(pool, [0.6, 0.0, 0.0, 0.4])) == 4
    labels = drawn_labels(beliefs, 3)
    spread = spread_above(labels, 2, 4, 4)
    assert np.array_equal(spread[labels == 0], labels[labels == 0])
    shares = np.bincount(spread[labels == 1], minlength=4) / (labels == 1).sum()
    assert shares == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3], abs=4 * np.sqrt(0.25 / (labels == 1).sum()))
    assert np.array_equal(spread_above(labels, 2, 2, 4), labels)
    assert labels.max() == 1  # those that came in are as they were


@pytest.mark.usefixtures("whole_rehearsals")
def test_what_a_uniform_model_leaves_is_learned_from_labels_of_rare_high_grades(pool):
    planner = planner_of(pool, uniform_beliefs(pool.n_items, 4), max_grade=4)
    assert planner.forecasts(METHODS["items"])[0].scale == UNREHEARSED
    forecast = planner.rehearsed(METHODS["items"])[0]
    assert forecast.scale == rehearsed_scale(forecast.rehearsal.ratio)
    assert 0.15 < forecast.scale.value < 0.5  # five grades, of gains up to 15, most of them far rarer than a fifth
    taken = replace(planner, is_uniform=False, scale=Scale(value=1.5))
    assert taken.rehearsed(METHODS["items"])[0].scale == Scale(value=1.5)


@pytest.mark.usefixtures("whole_rehearsals")
def test_a_model_that_has_seen_no_highest_grade_is_expected_to_err_by_it(pool):
    """Gains 0, 1 and 3: a relevant item's is 1 or 3 where 1 was expected, 5 times its square."""
    probs = np.tile([0.9, 0.1], (pool.n_items, 1))
    planner = planner_of(pool, GradeBeliefs(probs))
    forecast = planner.rehearsed(METHODS["items_plain"])[0]
    assert forecast.scale == rehearsed_scale(forecast.rehearsal.ratio)
    assert forecast.scale.value == pytest.approx(5.0, rel=0.25)
    assert planner.drawn(planner.designs(METHODS["items_plain"])[0])[0].of_pool == 0.0  # all is judged
