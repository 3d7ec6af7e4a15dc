"""How many times the labels passive needs for the precision of the defaults: ``python -m benchmarks.efficiency``.

The default method of each measure × {one ranking, two rankers, index update} × overheads of 0, 1 and 5 items a query ×
a forest that was trained on other queries, and the uniform model with its query factor × five judged pools, at a tenth
of what judging a pool whole costs; other methods, models, overheads and budgets by options. Depths that usually follow
labels look at each, as in campaigns. The generated pool has 2,000 queries of 120 items on average. Passive is
Algorithm 1 with q = p and full lists, simulated too.
Stores every row in benchmarks/results/efficiency.json and the tables in benchmarks/results/efficiency.md, beside the
limit (`activeeval.core.simulation.Summary`) and the best that a peer offers (benchmarks.peer_efficiency, run it
before). Rows of other questions that are stored already are kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from itertools import product

import numpy as np

from activeeval.core.design.methods import METHODS, default_method
from activeeval.core.errors import BudgetError
from activeeval.core.simulation import Summary, simulate
from activeeval.inputs.modelling import GradeBeliefs, uniform_beliefs
from activeeval.sampling.adaptive_depth import OF_CAMPAIGNS, adaptive_depth_of
from benchmarks.efficiency_report import KEYS, MEASURES, Row, markdown
from benchmarks.frame.experiment import RESULTS, Experiment, Options, spread, stored
from benchmarks.pools import CASES, OVERHEADS, POOLS, JudgedPool, load

MODELS = ("forest", "uniform + factor")
SHARE = 0.1
KEPT = ("method", "budget", "rmse", "rmse_se", "bias", "bias_se", "coverage", "coverage_se", "width", "undetermined")
KEPT += ("less_spread", "queries", "items", "spent", "spent_sd", "spent_max", "efficiency", "efficiency_se", "limit")
Question = tuple[str, str, float]


def believed(pool: JudgedPool, model: str) -> GradeBeliefs:
    """Return a model's beliefs of a pool's grades."""
    if model == "forest":
        return pool.beliefs
    return uniform_beliefs(pool.inputs.pool.n_items, pool.max_grade, with_factor=model == "uniform + factor")


def rows_of(pool: JudgedPool, beliefs: Mapping[str, GradeBeliefs], question: Question, options: Options) -> list[Row]:
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


def report(result: Row) -> str:
    """Write the tables, beside what is stored of peers."""
    return markdown(result, {"rows": []} | stored(RESULTS / "peer-efficiency.json"))


def measure(options: Options) -> Row:
    """Run the chosen questions."""
    rows = []
    for name in options.pool:
        pool = load(name)
        beliefs = {model: believed(pool, model) for model in options.model}
        questions = product(options.measure, options.case, options.overhead)
        rows += spread(rows_of, ((pool, beliefs, question, options) for question in questions), options.jobs)
    return {"rows": rows}


def on_pools(work: Callable[..., Iterable[Row]], options: Options) -> list[Row]:
    """Work on each measure and case of the chosen pools."""
    rows = []
    for name in options.pool:
        pool = load(name)
        cases = ((pool, *question, options) for question in product(options.measure, options.case))
        rows += spread(work, cases, options.jobs)
    return rows


GRID = {"pool": tuple(POOLS), "model": MODELS, "case": CASES, "overhead": OVERHEADS, "seed": 1, "jobs": 2}
"""Options of all experiments on these questions."""
EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    measure,
    report=report,
    is_written=True,
    row_keys=KEYS,
    measure=MEASURES,
    method={"action": "append", "choices": tuple(METHODS), "help": "in place of the default"},
    share=(SHARE,),
    repetitions=1000,
    **GRID | {"model": {"action": "append", "choices": (*MODELS, "uniform"), "default": list(MODELS)}},
)


if __name__ == "__main__":
    EXPERIMENT.main()
