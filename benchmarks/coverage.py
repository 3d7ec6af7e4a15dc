"""How often 95 % intervals hold the truth, and how far off estimates are: ``python -m benchmarks.coverage``.

Runs the default method of each measure in every cell of benchmarks/coverage_cells.py: collections × measures ×
questions × overheads × grade models, good and bad, × budgets; a second list is of 30 to 50 queries, what most teams
have. Stores every row in benchmarks/results/coverage.json and the summary, the worst cells named, in
benchmarks/results/coverage.md. Cells of the first list on fewer than 20 judged queries are stored too, and marked; the
summary leaves them out. Each cell has a seed of its own, made from its name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from activeeval import Target
from activeeval.core.design.methods import default_method
from activeeval.core.errors import BudgetError
from activeeval.core.estimation import half_widths
from activeeval.core.results import MORE_SPREAD
from activeeval.core.simulation import Replications, replicate
from activeeval.core.types import Bools, Floats, Ints
from activeeval.inputs.modelling import GradeBeliefs, uniform_beliefs
from benchmarks.coverage_cells import CASES, COLLECTIONS, FEW_TOPICS, WORST_COLLECTIONS, Cell, cells, cells_of_few
from benchmarks.coverage_report import markdown
from benchmarks.few_topics import POOLS_OF_FEW
from benchmarks.frame.experiment import RESULTS, Experiment, Options, spread, stored
from benchmarks.pools import JudgedPool, load
from benchmarks.special_pools import SPECIAL_POOLS

FEWEST_JUDGED = 20
"""Mean number of judged queries from which on a cell counts."""
ROUNDING = 1e-10
"""What estimate and truth may differ by and still be equal, as a share of the mean absolute value of a query."""
NARROW = 0.02
"""Of the root mean squared error: an interval that is narrower and misses was sure for no reason."""
CODES = ("no spread", "more spread")
"""Cautions whose worth is measured."""

LOADERS: dict[str, Callable[[], JudgedPool]] = {
    **{name: partial(load, name.lower()) for name in COLLECTIONS if name not in SPECIAL_POOLS},
    **SPECIAL_POOLS,
    **POOLS_OF_FEW,
}
MODELS: dict[str, Callable[[GradeBeliefs], GradeBeliefs]] = {
    "forest": lambda trained: trained,
    "uniform": lambda trained: uniform_beliefs(len(trained.probs), trained.probs.shape[1] - 1),
    "reversed": lambda trained: GradeBeliefs(np.ascontiguousarray(trained.probs[:, ::-1]), trained.factor),
    "overconfident": lambda trained: GradeBeliefs(trained.probs**3 / (trained.probs**3).sum(axis=1, keepdims=True)),
}


def replays(
    target: Target, beliefs: GradeBeliefs, grades: Ints, shares: dict[float, int], repetitions: int
) -> Iterator[tuple[float, Replications | None]]:
    """Design once, then yield budget and replications for every share and its seed; None where it is refused.

    A share is one of what judging everything that the design may judge costs.
    """
    method = default_method(target.measure)
    design = method.design(target, **beliefs.for_method(method, beliefs.probs.shape[1]))
    for share, seed in shares.items():
        budget = share * design.cost
        try:
            yield budget, replicate(design, grades, [budget], repetitions, seed)
        except BudgetError:
            yield budget, None


def rows_of(pool: JudgedPool, listed: list[Cell], repetitions: int) -> list[dict[str, Any]]:
    """Return the rows of cells that share a design; `nonzero_queries` tells how few queries may make the truth."""
    cell, grades = listed[0], pool.inputs.grades
    target = pool.target(cell.measure, cell.case, cell.overhead)
    values = target.values(grades)
    truth, scale = (float(target.pool.query_probs @ v) for v in (values, np.abs(values)))
    seeds = {one.share: one.seed for one in listed}
    runs = replays(target, MODELS[cell.model](pool.beliefs), grades, seeds, repetitions)
    common = {"method": default_method(target.measure).name, "repetitions": repetitions}
    common |= {"is_few": cell.collection in FEW_TOPICS, "pool_queries": target.pool.n_queries}
    common |= {"truth": truth, "nonzero_queries": int(np.count_nonzero(np.abs(values) > ROUNDING * scale))}
    rows = []
    for one, (budget, found) in zip(listed, runs, strict=True):
        row = {"name": one.name, **asdict(one), **common, "budget": budget, "is_refused": found is None}
        row |= {"is_counted": False} if found is None else figures(found, truth, scale, budget, is_few=common["is_few"])
        rows.append(row)
    return rows


def figures(found: Replications, truth: float, scale: float, budget: float, *, is_few: bool = False) -> dict[str, Any]:
    """Return the figures of a cell; every ``…_se`` is a Monte-Carlo standard error.

    An infinite interval holds the truth; `width` and `degrees_of_freedom` are means over those that are finite, and
    `width_to_rmse` is the median width over 2 · 1.96 RMSE. ``above`` and ``below`` are the shares of runs whose
    interval begins above the truth, and ends below it.
    """
    errors = found.values[:, 0] - truth
    lows, highs, degrees = found.lows[:, 0], found.highs[:, 0], found.degrees_of_freedom[:, 0]
    slack = ROUNDING * scale
    above, below = lows > truth + slack, highs < truth - slack
    misses = above | below
    n, n_queries, n_open = errors.size, float(found.n_queries.mean()), found.n_open[:, 0]
    width, spent = highs - lows, found.spent[:, 0] / budget
    rmse = math.sqrt(np.mean(errors**2))
    freedom = _mean_of(degrees)
    return {
        "is_counted": is_few or n_queries >= FEWEST_JUDGED,
        "coverage": float(1 - misses.mean()),
        "coverage_se": math.sqrt(misses.mean() * (1 - misses.mean()) / n),
        "above": float(above.mean()),
        "below": float(below.mean()),
        "bias": float(errors.mean()),
        "bias_se": float(errors.std(ddof=1)) / math.sqrt(n),
        "rmse": rmse,
        "bias_to_rmse": float(errors.mean()) / rmse if rmse > slack else 0.0,
        "bias_to_rmse_se": float(errors.std(ddof=1)) / math.sqrt(n) / rmse if rmse > slack else 0.0,
        "width": _mean_of(width),
        "width_to_rmse": float(np.median(width)) / (2 * 1.96 * rmse) if rmse > slack else None,
        "queries": n_queries,
        "items": float(found.n_items.mean()),
        "open_queries": float(n_open.mean()),
        "spent_to_budget": float(spent.mean()),
        "most_spent_to_budget": float(spent.max()),
        "degrees_of_freedom": freedom,
        "undetermined": float(np.isinf(width).mean()),
        "wrong_and_narrow": int(((width < 2 * NARROW * rmse) & misses).sum()) if rmse > slack else int(misses.sum()),
        **_cautions(found, errors, misses, slack),
    }


def _cautions(found: Replications, errors: Floats, misses: Bools, slack: float) -> dict[str, Any]:
    """Count how often each caution comes, the interval then misses, and V̂ alone would have missed."""
    observed, planned, degrees = found.observed[:, 0], found.planned[:, 0], found.degrees_of_freedom[:, 0]
    alone = np.abs(errors) > half_widths(observed, degrees, 0.95) + slack
    shows = np.isfinite(observed)
    is_told = {"no spread": ~shows, "more spread": shows & (planned > 0) & (observed > MORE_SPREAD * planned)}
    rows: dict[str, Any] = {"misses_alone": float(alone.mean())}
    for code in CODES:
        told = is_told[code]
        rows[code] = {
            "told": float(told.mean()),
            "misses": float((told & misses).mean()),
            "misses_alone": float((told & alone).mean()),
        }
    return rows


def _mean_of(values: Floats) -> float | None:
    """Compute the mean of the finite values; None where there are none."""
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else None


def run(listed: list[Cell], repetitions: int, jobs: int) -> list[dict[str, Any]]:
    """Run cells; their rows come in their order."""
    rows: list[dict[str, Any]] = []
    for collection, of_collection in groupby(listed, key=lambda cell: cell.collection):
        pool = LOADERS[collection]()
        plans = (list(group) for _, group in groupby(of_collection, key=lambda cell: cell.plan))
        rows += spread(rows_of, ((pool, group, repetitions) for group in plans), jobs)
        print(f"{collection}: {len(rows)} of {len(listed)}", flush=True)
    return rows


def measure(options: Options) -> dict[str, Any]:
    """Run the chosen cells."""
    listed = [cell for cell in (*cells(), *cells_of_few()) if cell.collection in options.collection]
    listed = [cell for cell in listed if cell.case in options.case]
    return {"rows": run(listed, options.repetitions, options.jobs)}


def report(result: dict[str, Any]) -> str:
    """Write the summary, with what is stored of plans."""
    plans = stored(RESULTS / "planning.json").get("sections", {})
    return markdown(result, plans["overall"]["figures"] if "overall" in plans else ())


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    measure,
    report=report,
    is_written=True,
    collection=(*COLLECTIONS, *WORST_COLLECTIONS, *FEW_TOPICS),
    repetitions=1000,
    jobs=2,
    case=CASES,
)


if __name__ == "__main__":
    EXPERIMENT.main()
