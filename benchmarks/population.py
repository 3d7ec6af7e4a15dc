"""How often intervals for the population hold its truth: ``python -m benchmarks.population``.

The queries of a collection stand for the population; pools of some of them are drawn, and a sample of each. The choice
of the pool from N queries without replacement leaves 1 − (n − 1) / (N − 1) of what the interval allows for it, which is
taken off. Beside the joint degrees of freedom stand those of the pool's part alone. Stored in results/population.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval import Target
from activeeval.core.design.methods import default_method
from activeeval.core.errors import BudgetError
from activeeval.core.estimation import half_widths
from activeeval.core.simulation import replicate
from benchmarks.coverage import MODELS
from benchmarks.coverage_cells import number_of
from benchmarks.frame.experiment import Experiment, spread
from benchmarks.pools import JudgedPool, load

Floats = NDArray[np.float64]
POOLS = ("mq2008", "mq2007-agg")
SIZES, SHARES, OVERHEAD = (40, 100), (0.15, 0.5), 1.0
QUESTIONS = (
    ("DCG@10", "one ranking", "forest"),
    ("DCG@10", "two rankers", "uniform"),
    ("ERR@10", "one ranking", "forest"),
    ("ERR@10", "two rankers", "forest"),
    ("nDCG@10", "two rankers", "forest"),
    ("ERR", "index update", "forest"),
    ("AP", "one ranking", "uniform"),
)
SAMPLES = 5
"""Of each pool."""


def drawn(pool: JudgedPool, whole: Target, model: str, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return the design, without a budget, and the grades of a pool of n queries."""
    population = pool.inputs.pool
    queries = np.sort(rng.choice(population.n_queries, n, replace=False))
    items = np.flatnonzero(np.isin(population.item_queries, queries))
    inputs = pool.inputs.of_queries(queries).with_costs(None, OVERHEAD)
    versus = None if whole.versus is None else whole.versus.restricted_to(inputs.pool, items)
    beliefs = MODELS[model](pool.beliefs)
    beliefs = replace(beliefs, probs=beliefs.probs[items])
    method = default_method(whole.measure)
    target = Target(whole.measure, inputs.ranking, versus)
    return method.design(target, **beliefs.for_method(method, beliefs.probs.shape[1])), inputs.grades


def row_of(
    pool: JudgedPool, measure: str, case: str, model: str, n: int, share: float, n_pools: int
) -> Iterator[dict[str, Any]]:
    """Yield the figures of one cell."""
    name = f"{pool.name}, {n} queries, {measure}, {case}, {model}, {share:.0%}"
    rng, whole = np.random.default_rng(number_of(name)), pool.target(measure, case, OVERHEAD)
    truth, total = float(whole.values(pool.inputs.grades).mean()), pool.inputs.pool.n_queries
    held: list[Floats] = []
    for k in range(n_pools):
        design, grades = drawn(pool, whole, model, n, rng)
        try:
            wide, own = (
                replicate(design, grades, [share * design.cost], SAMPLES, rng=k, scope=scope)
                for scope in ("population", "pool")
            )
        except BudgetError:
            continue
        added = np.nan_to_num(np.maximum(wide.variances - own.variances, 0.0)) * (1 - (n - 1) / (total - 1))
        errors = np.abs(wide.values - truth)
        both = (wide.degrees_of_freedom, own.degrees_of_freedom)
        halves = [half_widths(own.variances + added, degrees, 0.95) for degrees in both]
        held.append(np.column_stack([*(errors <= half for half in halves), *halves]))
    found = np.concatenate(held)
    joint, alone, widths, before = found.T
    yield {
        "name": name,
        "repetitions": len(found),
        "coverage": float(joint.mean()),
        "coverage_by_degrees_of_the_pool": float(alone.mean()),
        "width_ratio": float(np.median(widths) / np.median(before)),
    }


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run all cells."""
    rows = []
    for pool in map(load, POOLS):
        cases = ((pool, *question, n, share, options.pools) for question, n, share in product(QUESTIONS, SIZES, SHARES))
        rows += spread(row_of, cases, 2)
    return {"rows": rows}


EXPERIMENT = Experiment(__spec__, __doc__, measure, pools=100)


if __name__ == "__main__":
    EXPERIMENT.main()
