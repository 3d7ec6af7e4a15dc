"""Depth that follows a query's own labels, over depth that is planned: ``python -m benchmarks.history``.

MQ2008, OHSUMED and passages of TREC Deep Learning 2021 (lists condensed to what was judged); one ranking, two, an index
update; overheads of 0 and 5 items; 10 and 20 % of what judging everything costs, as hard budgets. The grade model is a
forest that learned on other queries (of the passages a language model's grades), the uniform one, or the first turned
round. A figure is the squared error of today's depth over that of the one that follows, by the same seeds; a cell
counts as below 1 where its logarithm is by 2.5 standard errors. Stores benchmarks/results/history.json.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from activeeval import METHODS, Target
from activeeval.core.design.histories import LOOKS
from activeeval.core.simulation import replicate
from activeeval.formats.text.trec import Run
from activeeval.inputs.loading import Inputs, from_tables
from activeeval.inputs.modelling import GradeBeliefs
from benchmarks.coverage import MODELS
from benchmarks.frame.experiment import Experiment, Options, Row, spread
from benchmarks.frame.report import figure
from benchmarks.graders import DL21, TOP, beliefs_of, dl21
from benchmarks.machine import data_folder
from benchmarks.pools import CASES, JudgedPool, mq2008, ohsumed

MEASURES = ("nDCG@10", "RR@10", "Success@10", "ERR@10", "AP", "R@20")
OVERHEADS, SHARES, SEED = (0.0, 5.0), (0.1, 0.2), 1
BELIEFS = {"good": "forest", "uniform": "uniform", "reversed": "reversed"}
BELOW, ROUNDING, COVERED, ENOUGH = 2.5, 1e-24, 0.9, 100
BARS = {
    "MQ2008": {"good": 1.6, "uniform": 1.55, "reversed": 1.5},
    "DL 2021": {"good": 2.0, "uniform": 2.0, "reversed": 1.7},
    "OHSUMED": {"good": 2.2, "uniform": 1.9, "reversed": 1.5},
}


def passages() -> JudgedPool:
    """Return TREC Deep Learning 2021: two runs, without what nobody judged."""
    collection = dl21()
    pair = tuple(_condensed(run, collection.people) for run in collection.pairs[0])
    inputs = from_tables(collection.people, pair, evaluated=2, unjudged="irrelevant").in_id_order()
    first, second = inputs.rankings
    believed = beliefs_of(inputs, collection)[DL21[0]]
    return JudgedPool("DL 2021", Inputs(inputs.pool, (first,), inputs.grades, inputs.features), second, believed, TOP)


def _condensed(run: Run, people: Any) -> Run:
    judged = set(zip(people.query_ids.tolist(), people.doc_ids.tolist(), strict=True))
    kept = np.array([pair in judged for pair in zip(run.query_ids.tolist(), run.doc_ids.tolist(), strict=True)])
    return Run(run.query_ids[kept], run.doc_ids[kept], run.scores[kept], run.ranks[kept], run.name)


POOLS = {"MQ2008": lambda: mq2008(data_folder()), "DL 2021": passages, "OHSUMED": lambda: ohsumed(data_folder())}


def cells(name: str, model: str, options: Options) -> Iterator[Row]:
    """Yield the figures of one pool under one model."""
    pool = POOLS[name]()
    beliefs = MODELS[BELIEFS[model]](pool.beliefs)
    for measure, case, overhead in product(options.measure, CASES, OVERHEADS):
        target = pool.target(measure, case, overhead)
        where = {"collection": pool.name, "model": model, "measure": measure, "case": case, "overhead": overhead}
        yield from (where | row for row in _compared(target, beliefs, pool, options))


def _compared(target: Target, beliefs: GradeBeliefs, pool: JudgedPool, options: Options) -> Iterator[Row]:
    method = METHODS["depth"]
    asked = beliefs.for_method(method, pool.max_grade + 1)
    truth, cost = pool.truth(target), METHODS["passive"].design(target).cost
    runs, seconds = {}, {}
    for looks in ("off", *options.looks):
        design = method.looking(looks).design(target, **asked)
        started = time.perf_counter()
        budgets = [share * cost for share in SHARES]
        runs[looks] = replicate(design, pool.inputs.grades, budgets, options.repetitions, SEED)
        seconds[looks] = time.perf_counter() - started
    for looks, (k, share) in product(options.looks, enumerate(SHARES)):
        static, history = ((runs[name].values[:, k] - truth) ** 2 for name in ("off", looks))
        exact = [each.mean() <= ROUNDING for each in (static, history)]
        row = {"share": share, "looks": looks}
        row |= {"rmse": math.sqrt(history.mean()), "rmse_today": math.sqrt(static.mean())}
        if any(exact):  # what stops costs nothing, so that a budget may pay for everything
            yield row | {"exact": "both" if all(exact) else "today" if exact[0] else "history"}
            continue
        ratio = float(static.mean() / history.mean())
        relative = static / static.mean() - history / history.mean()
        run, errors = runs[looks], runs[looks].values[:, k] - truth
        covers = (run.lows[:, k] <= truth) & (truth <= run.highs[:, k])
        plain = (runs["off"].lows[:, k] <= truth) & (truth <= runs["off"].highs[:, k])
        row |= {"ratio": ratio, "ratio_se": ratio * float(relative.std()) / math.sqrt(relative.size)}
        row |= {"bias_over_rmse": float(errors.mean() / math.sqrt(history.mean()))}
        row |= {"coverage": float(covers.mean()), "coverage_today": float(plain.mean())}
        row |= {"queries": float(run.n_queries[:, k].mean()), "items": float(run.n_items[:, k].mean())}
        row |= {"queries_today": float(runs["off"].n_queries[:, k].mean())}
        row |= {"spent": float(run.spent[:, k].mean() / (share * cost))}
        yield row | {"seconds": seconds[looks], "seconds_today": seconds["off"]}


def figures_of(rows: Sequence[Row], options: Options) -> list[Row]:
    """Return geometric means over cells with the bars, how many cells are below 1, and coverage."""
    out = []
    for measure, looks in product(options.measure, options.looks):
        every = [row for row in rows if row["measure"] == measure and row["looks"] == looks]
        chosen = [row for row in every if "exact" not in row]
        for name, model in product(options.collection, BELIEFS):
            part = [row for row in chosen if (row["collection"], row["model"]) == (name, model)]
            if part:
                ratios = np.array([row["ratio"] for row in part])
                bar = BARS[name][model] if (measure, looks) == ("nDCG@10", "each") else None
                what, mean = f"{measure}, {name}, {model}, looks {looks}", float(np.exp(np.log(ratios).mean()))
                out.append(figure(what, mean, "times today", at_least=bar, least=float(ratios.min())))
        z = [math.log(row["ratio"]) / (row["ratio_se"] / row["ratio"]) for row in chosen]
        what, exact = f"{measure}, looks {looks}", [row["exact"] for row in every if "exact" in row]
        if exact:
            n_new = exact.count("history")
            out.append(figure(f"{what}: cells without an error, not of today's", n_new, ""))
            out.append(figure(f"{what}: cells without an error of today's", len(exact) - n_new, ""))
        n_below = sum(each < -BELOW for each in z) + exact.count("today")
        out.append(figure(f"{what}: cells below 1, of {len(z)}", n_below, "", at_most=0))
        out += _told(what, chosen, options.repetitions)
    return out


def _told(what: str, rows: Sequence[Row], repetitions: int) -> list[Row]:
    """Make the figures of coverage, of bias from a hundred judged queries on, and of time."""
    covered = np.array([row["coverage"] for row in rows])
    n_low = int((covered < COVERED - BELOW * math.sqrt(COVERED * (1 - COVERED) / repetitions)).sum())
    biases = np.array([row["bias_over_rmse"] for row in rows if row["queries"] >= ENOUGH])
    out = [
        figure(f"{what}: mean coverage", float(covered.mean()), "", at_least=0.94),
        figure(f"{what}: least coverage", float(covered.min()), ""),
        figure(f"{what}: cells significantly below {COVERED:g}", n_low, "", at_most=0),
    ]
    if biases.size:
        mean = math.sqrt(max(float((biases**2).mean()) - 1 / repetitions, 0.0))  # less what chance adds to a mean of 0
        out.append(figure(f"{what}: bias from {ENOUGH} queries on", mean, "of the error", at_most=0.05, n=biases.size))
    ratios = [row["seconds"] / row["seconds_today"] for row in rows]
    out.append(figure(f"{what}: time of all repetitions, median", float(np.median(ratios)), "times today", at_most=2))
    return out


def compare(options: Options) -> Row:
    """Compare on the chosen collections, under every model."""
    options.measure, options.looks = options.measure or ["nDCG@10"], options.looks or ["each"]
    rows = spread(cells, ((name, model, options) for name, model in product(options.collection, BELIEFS)), options.jobs)
    return {"figures": figures_of(rows, options), "rows": rows}


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    compare,
    repetitions=600,
    measure={"action": "append", "choices": MEASURES, "default": []},
    looks={"action": "append", "choices": LOOKS[:-1], "default": []},
    collection=tuple(POOLS),
    jobs=2,
)


if __name__ == "__main__":
    EXPERIMENT.main()
