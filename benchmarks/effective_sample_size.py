"""How right an effective sample size is, and how often one is given: ``python -m benchmarks.effective_sample_size``.

The default method of each measure × {one ranking, two rankers, index update} × grade models, good and bad, × overheads
of 0 and 5 items × budgets of 5, 10 and 20 % × five judged pools. Of every cell: the share of samples that have an n,
and how their Ŝ² compares with the pool's S², and their n with S² over the variance that the estimates of all samples
had. Stores every cell in benchmarks/results/effective-sample-size.json.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from activeeval import Target
from activeeval.core.design import Design, Reading, Selection, Selections
from activeeval.core.design.methods import METHODS, default_method
from activeeval.core.errors import BudgetError
from activeeval.core.estimation import effective_sample_size, evaluate, evidence_arrays
from activeeval.core.estimation.effective import value_variance
from activeeval.core.measures.ranking_checks import checked_grades
from activeeval.core.pool import key_of, known_digest, pool_hashes
from activeeval.core.simulation.replications import repetition_seeds
from activeeval.inputs.choices import Choices
from activeeval.inputs.chosen_inputs import from_letor
from activeeval.inputs.loading import Inputs
from activeeval.inputs.modelling import believe
from activeeval.inputs.prepared_case import prepare
from benchmarks.coverage import MODELS
from benchmarks.machine import ROOT, data_folder, describe, store
from benchmarks.pools import SEED, JudgedPool, load, ranked_by_model

MODULE = "benchmarks.effective_sample_size"
MEASURES = ("DCG", "DCG@10", "ERR@10", "nDCG@10", "RR", "P@10")
CASES = ("one ranking", "two rankers", "index update")
OVERHEADS, SHARES = (0.0, 5.0), (0.05, 0.1, 0.2)
FACTOR, WIDE = 1.5, 2.0
ENOUGH = 0.9
"""Of the samples that have an n: as many are to have Ŝ² within the factor, the wide one after an index update."""
MEDIAN = 0.15
OFTEN = 0.5
"""Share of a cell's samples with an n from which on its figures are those of the estimator, not of lucky samples."""
Row = dict[str, Any]


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


def robust03() -> JudgedPool:
    """Return 60 of the track's 100 topics and two of its runs; a forest on the other runs learns on 40."""
    home = data_folder() / "trec-robust03"
    runs = {path.name.split(".")[1]: str(path) for path in sorted((home / "runs").glob("input.*.gz"))}
    first, second = runs.pop("pircRBa1"), runs.pop("THUIRr0301")
    given = {"qrels": str(home / "robust03_qrels.txt.gz"), "runs": [first], "versus_run": second}
    choices = Choices(**given, pool_runs=list(runs.values()), train=(0.4,), unjudged="irrelevant", pool_depth=50)
    case = prepare(choices, use_labels=True)
    own = case.inputs
    inputs = Inputs(own.pool, (own.ranking,), np.maximum(own.grades, 0), own.features)
    assert own.versus is not None
    return JudgedPool("Robust03", inputs, own.versus, case.beliefs, case.max_grade)


LOADERS: dict[str, Callable[[], JudgedPool]] = {
    "MQ2008": partial(load, "mq2008"),
    "OHSUMED": partial(load, "ohsumed"),
    "LightGBM": partial(load, "lightgbm"),
    "MSLR excerpt": mslr_excerpt,
    "Robust03": robust03,
}


def samples_of(
    design: Design, reading: Reading, grades: NDArray[np.int64], budget: float, repetitions: int, seed: int
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


def row_of(cell: Row, pool: JudgedPool, repetitions: int, seed: int) -> Row | None:
    """Return the figures of a cell; None where its budget is refused or nothing is left to chance."""
    target = pool.target(cell["measure"], cell["case"], cell["overhead"])
    method = METHODS[cell["method"]] if "method" in cell else default_method(target.measure)
    beliefs = MODELS[cell["model"]](pool.beliefs)
    design = method.design(target, **beliefs.for_method(method, beliefs.probs.shape[1]))
    reading, grades, found = design.reading(), pool.inputs.grades, []
    try:
        for sample, selection in samples_of(design, reading, grades, cell["share"] * design.cost, repetitions, seed):
            found.append(_figures(sample, reading, selection))
    except BudgetError:
        return None
    value, squares, size, queries = np.array(found, dtype=np.float64).T
    spread, is_given = _true_spread(target, grades), np.isfinite(size)
    if spread <= 0 or value.var() <= 0:
        return None
    of_squares, of_size = squares[is_given] / spread, size[is_given] * value.var() / spread
    return cell | {
        "method": method.name,
        "repetitions": len(found),
        "queries": float(queries.mean()),
        "true": spread / float(value.var()),
        "given": float(is_given.mean()),
        "squares": _summary(of_squares),
        "size": _summary(of_size),
    }


def _figures(sample: Any, reading: Reading, selection: Selection) -> tuple[float, float, float, int]:
    result, size = evaluate(sample), effective_sample_size(sample, reading, selection)[0]
    squares = np.nan if size is None else value_variance(sample, result, reading, selection).value
    return result.value, squares, np.nan if size is None else size, sample.n_queries


def _true_spread(target: Target, grades: NDArray[np.int64]) -> float:
    values, p = target.values(grades), target.pool.query_probs
    return float(p @ (values - p @ values) ** 2)


def _summary(ratios: NDArray[np.float64]) -> dict[str, float | None]:
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


def markdown(result: dict[str, Any]) -> str:
    """Return the table of ratios, and the cells that fall short."""
    rows = result["rows"]
    lines = [
        f"{len(rows)} cells, {result['repetitions']} samples each, a seed for each collection. `given`: share of "
        f"samples with an n. Of these Ŝ² / S²: median, share within a factor of {FACTOR:g} ({WIDE:g}); n over the true "
        f"S² / Var R̂: the same. Cells: those of which {OFTEN:.0%} of the samples have an n, and of them those where "
        f"the median of Ŝ² / S² is off by more than {MEDIAN:.0%} or fewer than {ENOUGH:.0%} lie within {FACTOR:g} "
        f"(index update: {WIDE:g}).",
        "",
        "| collection | case | budget | given | Ŝ² / S² | within | n / true | within | cells | fall short |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for collection, case, share in product(LOADERS, CASES, SHARES):
        own = [r for r in rows if (r["collection"], r["case"], r["share"]) == (collection, case, share)]
        lines += [f"| {collection} | {case} | {share:.0%} | {_cells(own)} |"] if own else []
    short = [row for row in rows if row["given"] >= OFTEN and _failed(row)]
    lines += ["", "Cells that fall short: " + ("; ".join(map(_named, short)) or "none") + "."]
    return "\n".join(lines)


def _cells(rows: Sequence[Row]) -> str:
    weights = np.array([row["given"] for row in rows])
    told = [row for row in rows if row["given"] > 0]

    def mean(of: str, name: str) -> float:
        return float(np.average([row[of][name] for row in told], weights=[row["given"] for row in told]))

    parts = [f"{weights.mean():.2f}"]
    for of in ("squares", "size"):
        ways = f"{mean(of, 'within'):.2f} ({mean(of, 'within_wide'):.2f})" if told else ""
        parts += [f"{mean(of, 'median'):.2f}" if told else "", ways]
    often = [row for row in rows if row["given"] >= OFTEN]
    return " | ".join([*parts, str(len(often)), str(sum(map(_failed, often)))])


def _named(row: Row) -> str:
    names = ("collection", "measure", "case", "model")
    question = ", ".join([*(row[name] for name in names), f"overhead {row['overhead']:g}", f"{row['share']:.0%}"])
    return f"{question} (given {row['given']:.2f}, {row['squares']['median']:.2f}, {row['squares']['within']:.2f})"


def main() -> None:
    """Run the cells of the collections that the options choose."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collection", action="append", choices=tuple(LOADERS))
    parser.add_argument("--model", action="append", choices=tuple(MODELS))
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "effective-sample-size.json")
    args = parser.parse_args()
    result = describe(MODULE) | {"seconds": 0, "repetitions": args.repetitions, "rows": []}
    started = time.perf_counter()
    for collection in args.collection or LOADERS:
        pool = LOADERS[collection]()
        calls = (delayed(row_of)(c, pool, args.repetitions, SEED) for c in cells_of(collection, args.model or MODELS))
        result["rows"] += [row for row in Parallel(n_jobs=args.jobs)(calls) if row is not None]
        result["seconds"] = round(time.perf_counter() - started)
        print(f"{collection}: {len(result['rows'])} rows, {result['seconds']} s", flush=True)
        store(args.out, result)
    print(markdown(result))


if __name__ == "__main__":
    main()
