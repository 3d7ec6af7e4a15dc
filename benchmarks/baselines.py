"""Our defaults beside the field's own ways of judging less, at equal cost: ``python -m benchmarks.baselines``.

DCG@10, ERR@10, nDCG@10 and AP × {one ranking, two rankers, index update} × overheads of 0, 1 and 5 items a query × a
forest that was trained on other queries, and the uniform model with its query factor × four judged pools, at a tenth of
what judging a pool whole costs. The baselines, all in numpy:

- documents of random queries, without a model: infAP, xinfAP, infNDCG, statAP, and the DCG of the same samples
  (benchmarks.document_samples, benchmarks.inferred); and the same samples with the model's predictions of the queries
  as a regressor, which nobody offers but is at hand;
- fixed-depth pooling: the first documents of random queries, what is not judged counting as not relevant.

Strata of whole queries and active statistical inference, with the model: benchmarks.peer_efficiency.

Each is run in several configurations, and the best one of each question counts, chosen after the event, which favours
baselines. Their budget is met on average, ours is a hard limit. Queries that no label can change count as known for
all. Stores benchmarks/results/baselines.json and the table benchmarks/results/baselines.md; rows of other questions are
kept.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from activeeval import Target
from activeeval.core.types import Floats, Ints
from activeeval.inputs.modelling import GradeBeliefs
from benchmarks import document_samples, efficiency
from benchmarks.baselines_report import KEYS, POOLING, REGRESSION, Row, markdown
from benchmarks.document_samples import best_ranks
from benchmarks.efficiency import GRID, SHARE, believed, on_pools
from benchmarks.frame.experiment import Experiment, Options
from benchmarks.peer_efficiency import whole_queries
from benchmarks.pools import JudgedPool

MEASURES = ("DCG@10", "ERR@10", "nDCG@10", "AP")
COLLECTIONS = ("mq2008", "mq2007-agg", "ohsumed", "lightgbm")
DEPTHS = (1, 2, 3, 5, 10)
"""To which fixed-depth pooling judges."""
Found = tuple[str, str, Floats, float]
"""What a baseline says in one configuration: both by name, estimates (repetitions,), and what it spent on average."""


def rows_of(pool: JudgedPool, measure: str, case: str, options: Options) -> list[Row]:
    """Return a row for our default and for each baseline's best configuration, by overhead and model."""
    started, rows, target = time.perf_counter(), [], pool.target(measure, case, 0.0)
    drawn = list(drawn_documents(target, pool, options.repetitions, options.seed))
    beliefs = {model: believed(pool, model) for model in options.model}
    asked = Options(method=None, share=[options.share], repetitions=options.repetitions, seed=options.seed)
    for overhead in options.overhead:
        for own in efficiency.rows_of(pool, beliefs, (measure, case, overhead), asked):
            where = {key: own[key] for key in KEYS}
            ours = {key: own[key] for key in ("efficiency", "efficiency_se", "coverage", "bias", "spent", "limit")}
            rows.append(where | {"baseline": "ours", "configuration": own["method"], "budget": own["budget"]} | ours)
            rows += best_of(where, own, pool, beliefs[own["model"]], drawn, options)
    print(f"{pool.name}, {measure}, {case}: {time.perf_counter() - started:.1f} s", flush=True)
    return rows


def drawn_documents(
    target: Target, pool: JudgedPool, repetitions: int, seed: int
) -> Iterator[tuple[str, str, Floats, Floats]]:
    """Return baseline, configuration, costs of documents (n_open,) and estimates (repetitions or 1, n_open) of queries.

    Neither depends on overhead and model, so that they are drawn once for all.
    """
    grades, rng, p = pool.inputs.grades, np.random.default_rng(seed), target.pool.query_probs
    is_open = np.bincount(target.pool.item_queries[target.matters], minlength=p.size) > 0
    weights = p.size * p[is_open]
    for way in document_samples.ways(target, grades, pool.max_grade):
        found = np.array([way.once(rng) for _ in range(repetitions)])
        yield way.baseline, way.configuration, way.costs, weights * found
    best, costs = best_ranks(target), target.pool.item_costs / target.pool.item_costs.mean()
    for depth in DEPTHS:
        is_judged = (best <= depth) & target.matters
        paid = np.bincount(target.pool.item_queries, is_judged * costs, minlength=p.size)[is_open]
        values = target.values(np.where(best <= depth, grades, 0))[is_open]
        yield POOLING, f"depth {depth}", paid, (weights * values)[None, :]


def best_of(
    where: Row, own: Row, pool: JudgedPool, beliefs: GradeBeliefs, drawn: Sequence, options: Options
) -> Iterator[Row]:
    """Return the row of each baseline's best configuration on one question."""
    target = pool.target(where["measure"], where["case"], where["overhead"])
    _, _, columns = whole_queries(target, beliefs, pool.max_grade + 1, pool.inputs.grades)
    rng, rows, budget = np.random.default_rng(options.seed), {}, own["budget"]
    for one in drawn:
        found = of_documents(one, columns["overheads"], columns["predictions"], budget, options.repetitions, rng)
        for baseline, configuration, estimates, spent in found:
            errors = columns["known"] + columns["scale"] * estimates - columns["truth"]
            row = where | {"baseline": baseline, "configuration": configuration}
            row |= figures(errors, own) | {"spent": spent, "budget": budget}
            rows[baseline] = max(rows.get(baseline, row), row, key=lambda each: each["efficiency"] or np.inf)
    yield from rows.values()


def of_documents(
    drawn: tuple, overheads: Floats, predictions: Floats, budget: float, repetitions: int, rng: np.random.Generator
) -> Iterator[Found]:
    """Estimate from random queries whose documents were drawn, alone and by regression on predictions."""
    name, configuration, costs, estimates = drawn
    cost = float((costs + overheads).mean())
    n = min(int(budget / cost), costs.size)
    if n < 3:
        return
    chosen = subsets(costs.size, n, repetitions, rng)
    own = estimates[np.arange(repetitions)[:, None] % len(estimates), chosen]
    yield name, f"{configuration}; {n} queries", own.mean(axis=1), n * cost
    if name != POOLING:
        adjusted = own.mean(axis=1) + regressed(own, predictions[chosen], predictions.mean())
        yield f"{name}{REGRESSION}", f"{configuration}; {n} queries", adjusted, n * cost


def subsets(size: int, n: int, repetitions: int, rng: np.random.Generator) -> Ints:
    """Draw random subsets of n of ``size``, shape (repetitions, n)."""
    if n >= size:
        return np.broadcast_to(np.arange(size), (repetitions, size))
    return np.argpartition(rng.random((repetitions, size)), n, axis=1)[:, :n]


def regressed(values: Floats, predictions: Floats, mean: float) -> Floats:
    """Compute the regression term that predictions add to the mean of values; ``mean`` is of all queries."""
    gaps = predictions - predictions.mean(axis=1, keepdims=True)
    squares = (gaps**2).sum(axis=1)
    slope = np.divide((gaps * values).sum(axis=1), squares, out=np.zeros(squares.size), where=squares > 0)
    return slope * (mean - predictions.mean(axis=1))


def figures(errors: Floats, own: Row) -> Row:
    """Compute passive's mean squared error over that of the errors, its standard error, and the bias."""
    squares = errors**2
    mse, se = float(squares.mean()), float(squares.std(ddof=1) / np.sqrt(squares.size))
    bias = {"bias": float(errors.mean()), "bias_se": float(errors.std(ddof=1) / np.sqrt(errors.size))}
    bias["rmse"] = float(np.sqrt(mse))
    if mse <= (1e-12 * own["passive_rmse"]) ** 2:
        return {"efficiency": None, "efficiency_se": None} | bias
    ratio = own["passive_rmse"] ** 2 / mse
    error = np.hypot(2 * own["passive_rmse_se"] / own["passive_rmse"], se / mse)
    return {"efficiency": ratio, "efficiency_se": float(ratio * error)} | bias


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    lambda options: {"rows": on_pools(rows_of, options)},
    report=markdown,
    is_written=True,
    row_keys=KEYS,
    measure=MEASURES,
    share=SHARE,
    repetitions=1000,
    **GRID | {"pool": COLLECTIONS},
)


if __name__ == "__main__":
    EXPERIMENT.main()
