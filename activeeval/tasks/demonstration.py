"""The demonstration: the generated pool, a forest trained on its first tenth, the methods compared."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from activeeval.cases.modelling import GradeBeliefs
from activeeval.design.methods import METHODS, default_method
from activeeval.generated import GeneratedPool, generate_pool, ranked_by_expected_grade
from activeeval.grade_models import ForestGradeModel, cross_fitted_probs
from activeeval.measures import DCG, ERR, SampledMeasure, Target
from activeeval.pool import Rankings
from activeeval.simulation import Summary, simulate

MAX_GRADE = 4
NAMES = ("passive", "active", "whole")
SHARES = (0.01, 0.02, 0.04, 0.08)
"""Budgets, of judging everything."""


def recipe_forest(seed: int) -> ForestGradeModel:
    """Return the recipe's model: one multi-output forest of 60 trees."""
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
    """Return what the recipe's model, trained on some queries, believes of the grades of others."""
    forest, queries = recipe_forest(seed), training.pool.item_queries
    out_of_fold = cross_fitted_probs(forest, training.features, training.grades, queries, rng=seed)
    probs = forest.fit(training.features, training.grades).predict_proba(evaluated.features)
    return GradeBeliefs(probs).taught(out_of_fold, training.grades, queries)


def cases(n_queries: int, repetitions: int, seed: int) -> dict[str, Callable[[], list[Summary]]]:
    """Return the cases by title, each to be run by a call; the pool and the model are made at the first."""
    pool_rng, update_rng, simulation_rng = np.random.default_rng(seed).spawn(3)
    training, evaluated = generate_pool(n_queries, pool_rng).split(max(n_queries // 10, 1))
    beliefs = recipe_beliefs(training, evaluated, seed)
    ranking = ranked_by_expected_grade(evaluated.pool, beliefs.probs)
    updated = ranking.without(0.1, update_rng)

    def case(measure: SampledMeasure, versus: Rankings | None, seeds: np.random.Generator) -> list[Summary]:
        target = Target(measure, ranking, versus)
        methods = [METHODS[name] for name in (*NAMES, default_method(measure).name)]
        designs = {m.name: m.design(target, **beliefs.for_method(m, MAX_GRADE + 1)) for m in methods}
        cost, dearest = designs["passive"].cost, float(designs["passive"].order.dearest_units.max())
        payable = [share * cost for share in SHARES if share * cost >= dearest]
        return simulate(designs, evaluated.grades, payable, repetitions, seeds, n_jobs=-1)

    named = [
        (f"{measure}, {what}", measure, versus)
        for what, versus in (("one ranking", None), ("index update", updated))
        for measure in (DCG(), ERR(MAX_GRADE))
    ]
    seeds = simulation_rng.spawn(len(named))
    return {
        title: lambda measure=measure, versus=versus, s=s: case(measure, versus, s)  # type: ignore[misc]
        for (title, measure, versus), s in zip(named, seeds, strict=True)
    }
