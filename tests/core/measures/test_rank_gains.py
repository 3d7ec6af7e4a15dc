"""Gains that depend on the rank: a measure that is scored, expected and sampled for."""

import itertools

import numpy as np
import pytest

from activeeval import QueryPool, RankGains, Rankings, default_method, parse_measure
from activeeval.core.design.methods import fitting_methods
from activeeval.core.errors import InputError
from activeeval.core.measures import Additive, SoftLabels

WEIGHTS = np.array([[0, 3, 4], [0, 0.5, 4], [0, 0, 1], [0.25, 0, -1]])


def made(seed=0, n_queries=4, n_items=5):
    random = np.random.default_rng(seed)
    sizes = random.integers(2, n_items + 1, n_queries)
    pool = QueryPool(np.arange(n_queries), np.concatenate(([0], np.cumsum(sizes))))
    rankings = [Rankings.from_scores(pool, random.normal(size=pool.n_items)).cut_at(n) for n in (4, 3)]
    return pool, *rankings, random.integers(0, 3, pool.n_items), random.dirichlet(np.ones(3), pool.n_items)


def plain(pool, grades, ranking, weights):
    """By a loop over queries and ranks."""
    values = []
    for q in range(pool.n_queries):
        items = ranking.items[ranking.offsets[q] : ranking.offsets[q + 1]]
        pairs = zip(weights, items, strict=False)
        values.append(sum(row[grades[item]] for row, item in pairs if grades[item] >= 0))
    return np.array(values)


@pytest.mark.parametrize("cutoff", [None, 2])
def test_scores_are_those_of_plain_loops(cutoff):
    pool, ranking, versus, grades, _ = made()
    grades[1] = -1
    measure, weights = RankGains(WEIGHTS, cutoff), WEIGHTS[:cutoff]
    expected = plain(pool, grades, ranking, weights)
    np.testing.assert_allclose(measure.score(pool, grades, ranking), expected, rtol=1e-12)
    apart = expected - plain(pool, grades, versus, weights)
    np.testing.assert_allclose(measure.score(pool, grades, ranking, versus), apart, rtol=1e-12, atol=1e-15)


def test_moments_are_those_of_all_gradings():
    pool, ranking, versus, _, probs = made(1, n_queries=2, n_items=4)
    measure, mean, second = RankGains(WEIGHTS), np.zeros(2), np.zeros(2)
    for grades in itertools.product(range(3), repeat=pool.n_items):
        chance = np.prod(probs[np.arange(pool.n_items), grades])
        value = measure.score(pool, np.array(grades), ranking, versus)
        mean, second = mean + chance * value, second + chance * value**2
    found = measure.moments(pool, probs, ranking, versus)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-9)
    np.testing.assert_allclose(found.second, second, rtol=1e-9)


def test_weights_of_rank_one_are_gains_and_discounts():
    pool, ranking, versus, grades, probs = made(2)
    gains, discounts = [0.0, 1.0, 3.0], [1.0, 0.6, 0.5]
    one, other = Additive(gains, discounts), RankGains(np.outer(discounts, gains))
    soft = SoftLabels(grades, np.arange(3), probs[:3])
    for labels in (grades, soft):
        np.testing.assert_allclose(
            one.score(pool, labels, ranking, versus), other.score(pool, labels, ranking, versus), rtol=1e-12
        )
    nodes, weights = np.stack((probs, probs[:, ::-1])), [0.3, 0.7]
    first, second = (measure.moments(pool, nodes, ranking, versus, weights) for measure in (one, other))
    np.testing.assert_allclose(first.mean, second.mean, rtol=1e-12)
    np.testing.assert_allclose(first.variance, second.variance, rtol=1e-12)


def test_it_is_sampled_for_by_queries_that_are_judged_whole():
    assert default_method(RankGains(WEIGHTS)).name == "whole"
    assert {"depth", "items"}.isdisjoint(fitting_methods(RankGains(WEIGHTS)))


def test_it_is_written_and_read():
    measure = RankGains([[0, 1, 3], [0, 0.5, 1.9]], 2)
    assert str(measure) == "RankGains(gains=[[0,1,3],[0,0.5,1.9]])@2"
    assert parse_measure(str(measure)) == measure
    assert measure.max_grade == 2


def test_grades_and_columns_must_fit():
    pool, ranking, _, grades, _ = made()
    with pytest.raises(InputError, match="is above the measure's largest, 2"):
        RankGains(WEIGHTS).score(pool, grades + 2, ranking)
    with pytest.raises(InputError, match="grade_probs must have 3 columns for RankGains, got 2"):
        RankGains(WEIGHTS).moments(pool, np.full((pool.n_items, 2), 0.5), ranking)
    with pytest.raises(InputError, match="RankGains needs a method that judges whole queries"):
        RankGains(WEIGHTS).terms(3, 4, 4)
    with pytest.raises(InputError, match="measure 'RankGains@3': gains must be a row of gains"):
        parse_measure("RankGains@3")
