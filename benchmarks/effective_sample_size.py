"""How right an effective sample size is, and how often one is given: ``python -m benchmarks.effective_sample_size``.

The default method of each measure × {one ranking, two rankers, index update} × grade models, good and bad, × overheads
of 0 and 5 items × budgets of 5, 10 and 20 % × five judged pools. Of every cell: the share of samples that have an n,
and how their Ŝ² compares with the pool's S², and their n with S² over the variance that the estimates of all samples
had. Stores every cell in benchmarks/results/effective-sample-size.json.
"""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from activeeval.core.design import Design, Reading, Selection, Selections
from activeeval.core.design.methods import default_method
from activeeval.core.errors import BudgetError
from activeeval.core.estimation import effective_sample_size, evaluate, evidence_arrays
from activeeval.core.estimation.effective import value_variance
from activeeval.core.measures.ranking_checks import checked_grades
from activeeval.core.pool import key_of, known_digest, pool_hashes
from activeeval.core.simulation.replications import repetition_seeds
from activeeval.core.types import Floats, Ints
from activeeval.inputs.chosen_inputs import from_letor
from activeeval.inputs.modelling import believe
from benchmarks.coverage import MODELS
from benchmarks.few_topics import robust03
from benchmarks.frame.experiment import Experiment, Options, Row, spread
from benchmarks.frame.report import table
from benchmarks.machine import data_folder
from benchmarks.pools import CASES, SEED, JudgedPool, load, ranked_by_model

OVERHEADS, SHARES = (0.0, 5.0), (0.05, 0.1, 0.2)
MEASURES = ("DCG", "DCG@10", "ERR@10", "nDCG@10", "RR", "P@10")
FACTOR, WIDE = 1.5, 2.0
ENOUGH = 0.9
"""Of the samples that have an n: as many are to have Ŝ² within the factor, the wide one after an index update."""
MEDIAN = 0.15
OFTEN = 0.5
"""Share of a cell's samples with an n from which on its figures are those of the estimator, not of lucky samples."""


def mslr_excerpt() -> JudgedPool:
    """Return the excerpt's 53 training queries, a forest trained on its 18 validation queries."""
    home = data_folder() / "mslr-sample"
    paths = [str(home / f"mslr_fold1_{name}.txt.gz") for name in ("train_sample.from_pickle", "valid_sample")]
    with gzip.open(paths[0], "rt") as lines, tempfile.NamedTemporaryFile("w", suffix=".txt") as zeros:
        zeros.write("0\n" * sum(1 for _ in lines))
        zeros.flush()
        inputs = from_letor(paths[:1], [[zeros.name]], train=paths[1:])
    beliefs = believe(inputs, "forest", 4, np.random.default_rng(SEED), n_jobs=-1)
    return ranked_by_model("MSLR excerpt", inputs, beliefs, 4)


LOADERS: dict[str, Callable[[], JudgedPool]] = {
    "MQ2008": partial(load, "mq2008"),
    "OHSUMED": partial(load, "ohsumed"),
    "LightGBM": partial(load, "lightgbm"),
    "MSLR excerpt": mslr_excerpt,
    "Robust03": robust03,
}


def samples_of(
    design: Design, reading: Reading, grades: Ints, budget: float, repetitions: int, seed: int
) -> Iterator[tuple[Any, Selection]]:
    """Yield the judged sample and the selection of each repetition."""
    design.with_budget(budget, ())
    digest = known_digest(pool_hashes(design.pool)[1], design.known)
    keys = np.array([key_of(one, digest) for one in repetition_seeds(seed, repetitions)])
    judge = reading.judge(checked_grades(design.pool, grades, design.max_grade)[0])
    budgets = np.array([budget])
    for which, (paid,) in design.scheme.samples(design.order, keys, budgets, design.scheme.limit(design.order, budget)):
        judged = evidence_arrays(design, reading, judge, paid)
        for k in range(which.size):
            yield judged.of_selection(k), _one_of(paid, k)


def _one_of(paid: Selections, k: int) -> Selection:
    own = paid.owners == k
    slots = paid.places[np.repeat(own, paid.counts)]
    level = float(paid.levels[own][0]) if own.any() else 0.0
    return Selection(
        queries=paid.queries[own], counts=paid.counts[own], places=slots, level=level, cost=float(paid.costs[k])
    )


def row_of(cell: Row, pool: JudgedPool, repetitions: int, seed: int) -> Iterator[Row]:
    """Yield the figures of a cell; nothing where its budget is refused or nothing is left to chance."""
    target = pool.target(cell["measure"], cell["case"], cell["overhead"])
    design = pool.design(target, cell.get("method", ""), MODELS[cell["model"]](pool.beliefs))
    reading, grades, found = design.reading(), pool.inputs.grades, []
    try:
        for sample, selection in samples_of(design, reading, grades, cell["share"] * design.cost, repetitions, seed):
            found.append(_figures(sample, reading, selection))
    except BudgetError:
        return
    value, squares, size, queries = np.array(found, dtype=np.float64).T
    values, p, is_given = target.values(grades), target.pool.query_probs, np.isfinite(size)
    spread_of_pool = float(p @ (values - p @ values) ** 2)
    if spread_of_pool <= 0 or value.var() <= 0:
        return
    of_squares, of_size = squares[is_given] / spread_of_pool, size[is_given] * value.var() / spread_of_pool
    yield cell | {
        "method": cell.get("method") or default_method(target.measure).name,
        "repetitions": len(found),
        "queries": float(queries.mean()),
        "true": spread_of_pool / float(value.var()),
        "given": float(is_given.mean()),
        "squares": _summary(of_squares),
        "size": _summary(of_size),
    }


def _figures(sample: Any, reading: Reading, selection: Selection) -> tuple[float, float, float, int]:
    result, size = evaluate(sample), effective_sample_size(sample, reading, selection)[0]
    squares = np.nan if size is None else value_variance(sample, result, reading, selection).value
    return result.value, squares, np.nan if size is None else size, sample.n_queries


def _summary(ratios: Floats) -> dict[str, float | None]:
    if ratios.size == 0:
        return {"median": None, "within": None, "within_wide": None}
    within = {
        name: float(np.mean((ratios > 1 / most) & (ratios < most)))
        for name, most in (("within", FACTOR), ("within_wide", WIDE))
    }
    return {"median": float(np.median(ratios)), **within}


def cells_of(collection: str, models: Sequence[str]) -> list[Row]:
    """Return the cells of a collection."""
    names = ("measure", "case", "model", "overhead", "share")
    listed = product(MEASURES, CASES, models, OVERHEADS, SHARES)
    return [{"collection": collection, **dict(zip(names, cell, strict=True))} for cell in listed]


def _failed(row: Row) -> bool:
    within = row["squares"]["within_wide" if row["case"] == "index update" else "within"]
    return within < ENOUGH or abs(row["squares"]["median"] - 1) > MEDIAN


def markdown(result: Row) -> str:
    """Write the table of ratios, and the cells that fall short."""
    rows = result["rows"]
    lead = (
        f"{len(rows)} cells, {result['repetitions']} samples each, a seed for each collection. `given`: share of "
        f"samples with an n. Of these Ŝ² / S²: median, share within a factor of {FACTOR:g} ({WIDE:g}); n over the true "
        f"S² / Var R̂: the same. Cells: those of which {OFTEN:.0%} of the samples have an n, and of them those where "
        f"the median of Ŝ² / S² is off by more than {MEDIAN:.0%} or fewer than {ENOUGH:.0%} lie within {FACTOR:g} "
        f"(index update: {WIDE:g})."
    )
    head = ["collection", "case", "budget", "given", "Ŝ² / S²", "within", "n / true", "within", "cells", "fall short"]
    body = [
        [collection, case, f"{share:.0%}", *_cells(of_cell)]
        for collection, case, share in product(LOADERS, CASES, SHARES)
        if (of_cell := [r for r in rows if (r["collection"], r["case"], r["share"]) == (collection, case, share)])
    ]
    short = [row for row in rows if row["given"] >= OFTEN and _failed(row)]
    named = "; ".join(map(_named, short)) or "none"
    return "\n".join([lead, "", *table(head, body), "", f"Cells that fall short: {named}."])


def _cells(rows: Sequence[Row]) -> list[str]:
    weights = np.array([row["given"] for row in rows])
    told = [row for row in rows if row["given"] > 0]

    def mean(of: str, name: str) -> float:
        return float(np.average([row[of][name] for row in told], weights=[row["given"] for row in told]))

    parts = [f"{weights.mean():.2f}"]
    for of in ("squares", "size"):
        ways = f"{mean(of, 'within'):.2f} ({mean(of, 'within_wide'):.2f})" if told else ""
        parts += [f"{mean(of, 'median'):.2f}" if told else "", ways]
    often = [row for row in rows if row["given"] >= OFTEN]
    return [*parts, str(len(often)), str(sum(map(_failed, often)))]


def _named(row: Row) -> str:
    names = ("collection", "measure", "case", "model")
    question = ", ".join([*(row[name] for name in names), f"overhead {row['overhead']:g}", f"{row['share']:.0%}"])
    return f"{question} (given {row['given']:.2f}, {row['squares']['median']:.2f}, {row['squares']['within']:.2f})"


def measure(options: Options) -> Row:
    """Run the cells of the chosen collections."""
    rows = []
    for collection in options.collection:
        pool = LOADERS[collection]()
        cases = ((cell, pool, options.repetitions, SEED) for cell in cells_of(collection, options.model))
        rows += spread(row_of, cases, options.jobs)
    return {"rows": rows}


EXPERIMENT = Experiment(
    __spec__, __doc__, measure, report=markdown, collection=tuple(LOADERS), model=tuple(MODELS), repetitions=200, jobs=2
)


if __name__ == "__main__":
    EXPERIMENT.main()
