"""The slope of people's grades on expected ones: by hand where all is judged, over samples of what is known."""

import numpy as np
import pytest
from core_cases import judge_all

from activeeval.core.campaign import Campaign
from activeeval.core.design.methods import METHODS
from activeeval.core.estimation import grade_slope
from activeeval.core.measures import DCG, Target
from activeeval.core.pool import QueryPool, Rankings

N_QUERIES, N_ITEMS = 40, 5


def design_of(probs, budget, method="items"):
    ids = [f"q{q:02d}" for q in range(N_QUERIES)]
    pool = QueryPool(ids, np.arange(N_QUERIES + 1) * N_ITEMS, [f"d{j}" for j in range(N_ITEMS)] * N_QUERIES)
    scores = np.random.default_rng(0).normal(size=pool.n_items)
    return METHODS[method].design(Target(DCG(), Rankings.from_scores(pool, scores)), probs, budget=budget)


def probs_of(expected):
    return np.column_stack((1 - expected, expected))


def judged(design, grades, seed=0):
    return judge_all(Campaign(design, rng=seed), grades)


def test_of_all_items_it_is_plain_least_squares():
    rng = np.random.default_rng(1)
    expected, grades = rng.uniform(0.1, 0.9, N_QUERIES * N_ITEMS), rng.integers(0, 2, N_QUERIES * N_ITEMS)
    slope = judged(design_of(probs_of(expected), N_QUERIES * N_ITEMS), grades).grade_slope
    expected = expected.astype(np.float32)
    assert slope.value == pytest.approx(np.polyfit(expected, grades, 1)[0], rel=1e-6)
    x = expected - expected.mean()
    residuals = x * (grades - grades.mean() - slope.value * x)
    by_query = residuals.reshape(N_QUERIES, N_ITEMS).sum(axis=1)
    assert slope.std_error == pytest.approx(np.sqrt((by_query**2).sum()) / (x**2).sum(), rel=1e-6)
    assert (slope.n_items, slope.n_queries) == (N_QUERIES * N_ITEMS, N_QUERIES)


@pytest.mark.parametrize("method", ["items", "depth"])
def test_weights_make_it_about_the_pool(method):
    """The mean over 100 samples is the pool's slope within four standard errors: a false alarm in 16,000."""
    rng = np.random.default_rng(2)
    expected = rng.uniform(0.1, 0.9, N_QUERIES * N_ITEMS)
    grades = (rng.random(expected.size) < expected).astype(np.int64)
    design = design_of(probs_of(expected), 80, method)
    slopes = np.array([judged(design, grades, seed).grade_slope.value for seed in range(100)])
    whole = np.polyfit(expected, grades, 1)[0]
    # a ratio: its bias is of order 1/n
    assert abs(slopes.mean() - whole) < 4 * slopes.std() / np.sqrt(slopes.size) + 0.05


def test_a_model_that_means_what_it_says_one_turned_round_and_noise():
    rng = np.random.default_rng(3)
    expected = rng.uniform(0.02, 0.98, N_QUERIES * N_ITEMS)
    grades = (rng.random(expected.size) < expected).astype(np.int64)
    models = {"true": expected, "turned": 1 - expected, "noise": rng.permutation(expected)}
    slopes = {name: judged(design_of(probs_of(p), 100), grades).grade_slope for name, p in models.items()}
    assert not slopes["true"].is_turned
    assert not slopes["true"].says_little
    assert slopes["turned"].is_turned
    assert slopes["noise"].says_little
    assert not slopes["noise"].is_turned


def test_nothing_is_said_without_a_model_or_of_few_queries():
    grades = np.zeros(N_QUERIES * N_ITEMS, dtype=np.int64)
    assert judged(design_of(None, 80, "random"), grades).grade_slope is None
    assert judged(design_of(np.full((200, 2), 0.5), 80), grades).grade_slope is None
    few = design_of(probs_of(np.linspace(0.1, 0.9, 200)), 8)
    campaign = judged(few, grades)
    assert grade_slope(few, campaign.selection, campaign.labels.grades) is None
