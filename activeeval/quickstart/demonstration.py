"""The demonstration: a comparison of two rankers on a generated pool, by random queries and by the default methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from activeeval.core.design.methods import METHODS, default_method
from activeeval.core.grade_models import ForestGradeModel, cross_fitted_probs
from activeeval.core.measures import DCG, NDCG, SampledMeasure, Target
from activeeval.core.pool import QueryPool, Rankings
from activeeval.core.pool.generated import GeneratedPool, generate_pool, noisy_scores
from activeeval.core.simulation import Saving, saving_of, simulate
from activeeval.core.types import Floats, Ints
from activeeval.inputs.modelling import GradeBeliefs

MAX_GRADE = 4
LISTED = 20
"""Pool depth: documents of each ranker in the pool, a usual depth for two runs."""
LEAST_SHARE, MOST_SHARE = 0.01, 0.5
"""Smallest and largest budget as a share of the whole pool, before rounding; each budget doubles the one before."""
MEASURES: dict[str, SampledMeasure] = {"DCG@10": DCG(cutoff=10), "nDCG@10": NDCG(cutoff=10)}


def recipe_forest(seed: int) -> ForestGradeModel:
    """Build the default grade model: one multi-output forest of 60 trees."""
    return ForestGradeModel(
        n_estimators=60,
        min_samples_leaf=20,
        max_features=0.5,
        max_samples=0.5,
        max_grade=MAX_GRADE,
        random_state=seed,
        n_jobs=-1,
    )


def recipe_beliefs(training: GeneratedPool, evaluated: GeneratedPool, seed: int) -> GradeBeliefs:
    """Predict grade probabilities of a pool by a forest fitted to another one, and calibrated out of fold on that."""
    forest, queries = recipe_forest(seed), training.pool.item_queries
    out_of_fold = cross_fitted_probs(forest, training.features, training.grades, queries, rng=seed)
    probs = forest.fit(training.features, training.grades).predict_proba(evaluated.features)
    return GradeBeliefs(probs).taught(out_of_fold, training.grades, queries)


def pooled(pool: QueryPool, scores: Sequence[Floats], listed: int = LISTED) -> tuple[QueryPool, Ints, list[Rankings]]:
    """Restrict a pool to the first `listed` items of each ranker; all items then have the same cost.

    `scores` has an array of shape (n_items,) for each ranker. Return the smaller pool, the row numbers of its items in
    the original pool, and the rankers' lists.

    Examples
    --------
    >>> pool = QueryPool(["q"], [0, 3], ["a", "b", "c"])
    >>> smaller, rows, (first, second) = pooled(pool, [np.array([3.0, 2, 1]), np.array([2.0, 3, 1])], listed=1)
    >>> rows.tolist(), first.items.tolist(), second.items.tolist()
    ([0, 1], [0], [1])
    """
    lists = [Rankings.from_scores(pool, item_scores).cut_at(listed) for item_scores in scores]
    rows = np.unique(np.concatenate([run.items for run in lists]))
    offsets = np.searchsorted(rows, pool.query_offsets)
    smaller = QueryPool(pool.query_ids, offsets, [pool.item_ids[row] for row in rows])
    return smaller, rows, [run.restricted_to(smaller, rows) for run in lists]


def savings(n_queries: int, repetitions: int, seed: int) -> dict[str, Callable[[], Saving]]:
    """Prepare the demonstration; return, by the measure's title, functions that run its simulation.

    A simulation draws `repetitions` samples. The new ranker orders by the expected grade of a forest trained on a tenth
    of the queries, the old one by the same with noise. The pool holds the first 20 items of either, and all items have
    the same cost. Pool and model are built before the functions are returned.
    """
    pool_rng, noise_rng, simulation_rng = np.random.default_rng(seed).spawn(3)
    training, others = generate_pool(n_queries, pool_rng).split(max(n_queries // 10, 1))
    beliefs = recipe_beliefs(training, others, seed)
    scores = beliefs.probs @ np.arange(MAX_GRADE + 1)
    pool, rows, (new, old) = pooled(others.pool, [scores, noisy_scores(scores, noise_rng)])
    beliefs, grades = replace(beliefs, probs=beliefs.probs[rows]), others.grades[rows]
    budgets = round_budgets(pool.n_items, float(np.diff(pool.query_offsets).max()))

    def saving(title: str, measure: SampledMeasure, seeds: np.random.Generator) -> Saving:
        """Simulate random queries and the default method for the measure called `title`, drawing from `seeds`."""
        methods = {"passive": METHODS["passive"], "sampled": default_method(measure)}
        target = Target(measure, new, old)
        designs = {name: m.design(target, **beliefs.for_method(m, MAX_GRADE + 1)) for name, m in methods.items()}
        return saving_of(title, simulate(designs, grades, budgets, repetitions, seeds, n_jobs=-1))

    return {
        title: partial(saving, title, measure, rng)
        for (title, measure), rng in zip(MEASURES.items(), simulation_rng.spawn(len(MEASURES)), strict=True)
    }


def round_budgets(n_items: int, dearest: float) -> list[float]:
    """List budgets of round numbers, doubling, each at least the cost of the most expensive query.

    Parameters
    ----------
    n_items : int
        Number of items of the pool.
    dearest : float
        Cost of the most expensive query, in items.

    Examples
    --------
    >>> round_budgets(17_825, 40.0)
    [200.0, 400.0, 800.0, 1600.0, 3200.0, 6400.0]
    """
    least = max(LEAST_SHARE * n_items, dearest)
    power = 10.0 ** np.floor(np.log10(least))
    first = min(digit for digit in (1, 2, 5, 10) if digit * power >= least) * power
    n_budgets = int(np.log2(max(MOST_SHARE * n_items / first, 1))) + 1
    return [float(first * 2**k) for k in range(n_budgets)]
