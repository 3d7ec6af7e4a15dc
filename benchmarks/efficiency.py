"""How many times the labels passive needs for the precision of the defaults: ``python -m benchmarks.efficiency``.

The default method of each measure × {one ranking, two rankers, index update} × overheads of 0, 1 and 5 items a query ×
a forest that was trained on other queries, and the uniform model with its query factor × five judged pools, at a tenth
of what judging a pool whole costs; other methods, models, overheads and budgets by options. Depths that usually follow
labels look at each, as in campaigns. The generated pool has 2,000 queries of 120 items on average. Passive is
Algorithm 1 with q = p and full lists, simulated too.
Stores every row in benchmarks/results/efficiency.json and the tables in benchmarks/results/efficiency.md, beside the
limit (`activeeval.core.simulation.Summary`), the best that a peer offers (benchmarks.peer_efficiency, run it before)
and the rows of the yardstick in benchmarks/results/efficiency-poisson.json: Poisson samples of the same rates, as they
were before levels took their place. Rows of other questions that are stored already are kept.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from activeeval.core.design.methods import METHODS, default_method
from activeeval.core.errors import BudgetError
from activeeval.core.simulation import Summary, simulate
from activeeval.inputs.modelling import GradeBeliefs, uniform_beliefs
from activeeval.sampling.adaptive_depth import OF_CAMPAIGNS, adaptive_depth_of
from benchmarks.efficiency_report import KEYS, MEASURES, Row, markdown
from benchmarks.machine import ROOT, describe, store
from benchmarks.pools import POOLS, JudgedPool, load

CASES = ("one ranking", "two rankers", "index update")
OVERHEADS = (0.0, 1.0, 5.0)
MODELS = ("forest", "uniform + factor")
SHARE = 0.1
RESULTS = ROOT / "benchmarks" / "results"
KEPT = ("method", "budget", "rmse", "rmse_se", "bias", "bias_se", "coverage", "coverage_se", "width", "undetermined")
KEPT += ("less_spread", "queries", "items", "spent", "spent_sd", "spent_max", "efficiency", "efficiency_se", "limit")
Question = tuple[str, str, float]


def believed(pool: JudgedPool, model: str) -> GradeBeliefs:
    """Return what a model believes of a pool's grades."""
    if model == "forest":
        return pool.beliefs
    return uniform_beliefs(pool.inputs.pool.n_items, pool.max_grade, with_factor=model == "uniform + factor")


def rows_of(
    pool: JudgedPool, beliefs: Mapping[str, GradeBeliefs], question: Question, options: argparse.Namespace
) -> list[Row]:
    """Return the rows of one question under each belief, by its name.

    Parameters
    ----------
    question : tuple of str, str and float
        Measure, case and overhead.
    options : Namespace
        ``method`` (empty: the default), ``share``, ``repetitions`` and ``seed``.
    """
    target, started = pool.target(*question), time.perf_counter()
    names = options.method or [default_method(target.measure).name]
    methods = [METHODS[name] for name in names if METHODS[name].fits(target.measure)]
    designs = {"passive": METHODS["passive"].design(target)}
    origins = []
    for (model, belief), method in product(beliefs.items(), methods):
        looks = adaptive_depth_of(method, [target.measure], None, OF_CAMPAIGNS)
        asked = belief.for_method(method, pool.max_grade + 1)
        followed = method if looks == "off" else method.looking(looks)
        designs[f"{method.name}, {model}"] = followed.design(target, **asked)
        origins.append({"model": model, "method": method.name, "looks": looks})
    where = {"pool": pool.name, **dict(zip(("measure", "case", "overhead"), question, strict=True))}
    rows = []
    for share in options.share:
        budget = share * designs["passive"].cost
        try:
            passive, *own = simulate(designs, pool.inputs.grades, [budget], options.repetitions, options.seed)
        except BudgetError as refusal:
            print(f"{pool.name}, {question}, {share:.0%}: {refusal}", flush=True)
            continue
        pairs = zip(origins, own, strict=True)
        rows += [where | {"share": share} | _row(summary, passive) | origin for origin, summary in pairs]
    print(f"{pool.name}, {question}: {time.perf_counter() - started:.1f} s", flush=True)
    return rows


def _row(summary: Summary, passive: Summary) -> Row:
    values = summary.row()
    kept = {name: values[name] for name in KEPT}
    kept |= {"passive_rmse": passive.rmse.value, "passive_rmse_se": passive.rmse.se}
    return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in kept.items()}


def merged(stored: Sequence[Row], fresh: Sequence[Row]) -> list[Row]:
    """Return fresh rows and those stored ones whose questions were not asked again."""
    asked = {tuple(row[key] for key in KEYS) for row in fresh}
    return [row for row in stored if tuple(row[key] for key in KEYS) not in asked] + list(fresh)


def stored_rows(name: str) -> dict[str, Any]:
    """Return a stored result; one without rows where there is none."""
    path = RESULTS / name
    return json.loads(path.read_text()) if path.exists() else {"rows": []}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pool", action="append", choices=tuple(POOLS))
    parser.add_argument("--model", action="append", choices=(*MODELS, "uniform"))
    parser.add_argument("--overhead", action="append", type=float)
    parser.add_argument("--method", action="append", choices=tuple(METHODS), help="in place of the default")
    parser.add_argument("--measure", action="append", help=f"by default {', '.join(MEASURES)}")
    parser.add_argument("--case", action="append", choices=CASES)
    parser.add_argument("--share", action="append", type=float, help="of the cost of the whole pool; by default 0.1")
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--dry", action="store_true", help="print the tables, store nothing")
    options = parser.parse_args()
    options.share = options.share or [SHARE]
    return options


def main() -> None:
    """Run what the options choose, beside what is stored."""
    options = _options()
    origin, started, fresh = describe("benchmarks.efficiency"), time.perf_counter(), []
    questions = list(product(options.measure or MEASURES, options.case or CASES, options.overhead or OVERHEADS))
    for name in options.pool or POOLS:
        pool = load(name)
        beliefs = {model: believed(pool, model) for model in options.model or MODELS}
        calls = (delayed(rows_of)(pool, beliefs, question, options) for question in questions)
        fresh += [row for rows in Parallel(n_jobs=options.jobs)(calls) for row in rows]
    kept = [] if options.dry else stored_rows("efficiency.json")["rows"]
    result = origin | {"repetitions": options.repetitions, "seed": options.seed}
    result |= {"seconds": round(time.perf_counter() - started), "rows": merged(kept, fresh)}
    text = markdown(result, stored_rows("efficiency-poisson.json"), stored_rows("peer-efficiency.json"))
    print(text)
    if not options.dry:
        store(RESULTS / "efficiency.json", result)
        (RESULTS / "efficiency.md").write_text(text + "\n")


if __name__ == "__main__":
    main()
