"""The best that a peer offers on the same predictions and budget: ``python -m benchmarks.peer_efficiency``.

The questions of benchmarks.efficiency (pools, measures, cases, overheads, the same grade probabilities, a tenth of the
pool): what PPI++ (ppi_py), GLIDE's active statistical inference and its stratified PPI++ make of them, with whole
queries, with items, and with heads of 1, 2, 3 and 5 items as units. Peers run in every configuration that stands in
benchmarks/peer_worker.py, in an environment of their own (``python -m benchmarks.peer_environment``), and the best one
of each question counts, chosen after the event.

What a peer is given, in one line: values of the units that it samples, the model's mean and standard deviation of each
unit, their costs, and the budget, to be met on average; queries that no label can change count as known.

Heads are told apart. What is below a head stays as the model predicts it, however much is judged: where the model is
right on average that errs little, where it is not the error is a bias that no interval shows. So they stand beside the
others, which need no such luck. Only those count whose 95 % intervals hold the truth in nine samples of ten, heads with
every model that is run.

xinfAP's estimator is published as a script (sample_eval.pl) and in no package: items are stratified by rank
with GLIDE's code in its place. Stores benchmarks/results/peer-efficiency.json; rows of other questions are kept.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np

from activeeval import METHODS, Target
from activeeval.core.design import Design
from activeeval.core.design.expectations import expectations_of
from activeeval.core.measures.target import common_lists
from activeeval.core.simulation import simulate
from activeeval.inputs.modelling import GradeBeliefs
from benchmarks import peer_environment
from benchmarks.efficiency import GRID, SHARE, Question, believed, on_pools
from benchmarks.efficiency_report import PEER_KEYS as KEYS, Row, best
from benchmarks.frame.experiment import Experiment, Options
from benchmarks.frame.report import plus_minus
from benchmarks.machine import ROOT
from benchmarks.pools import JudgedPool

MEASURES = ("DCG@10", "ERR@10", "nDCG@10", "P@10", "DCG", "ERR")
DEPTHS = (1, 2, 3, 5)
WORKER = ROOT / "benchmarks" / "peer_worker.py"


def question_arrays(target: Target, beliefs: GradeBeliefs, n_grades: int, grades: np.ndarray, budget: float) -> dict:
    """Make the arrays of a question for the peers; costs and budget are in mean items."""
    design, is_open, arrays = whole_queries(target, beliefs, n_grades, grades)
    depth, n, p = heads(design, grades, is_open), target.pool.n_queries, target.pool.query_probs
    arrays |= {
        "budget": budget,
        "depths": np.array(DEPTHS),
        "heads": np.array([n * p[is_open] * one for one, _ in depth]),
        "head_costs": np.array([one for _, one in depth]),
    }
    if METHODS["items"].fits(target.measure):
        arrays |= items(target, design, grades, is_open, target.pool.item_costs.mean())
    return arrays


def whole_queries(
    target: Target, beliefs: GradeBeliefs, n_grades: int, grades: np.ndarray
) -> tuple[Design, np.ndarray, dict]:
    """Return a design, which queries a label can change, and these queries' columns with what the others are worth.

    The truth is ``known`` and ``scale`` times the mean of the columns ``values``.
    """
    design = METHODS["whole"].design(target, **beliefs.for_method(METHODS["whole"], n_grades))
    reading, p, n = design.reading(), target.pool.query_probs, target.pool.n_queries
    values, is_open, moments = reading.values(grades), reading.is_open, design.stage.moments(target, design.beliefs)
    columns = {"values": n * p * values, "predictions": n * p * moments.mean}
    columns |= {"spreads": n * p * np.sqrt(moments.variance), "overheads": design.order.overheads}
    columns |= {"costs": whole_costs(design)}
    known = {"truth": float(p @ values), "known": float(p[~is_open] @ values[~is_open]), "scale": float(is_open.mean())}
    return design, is_open, {name: column[is_open] for name, column in columns.items()} | known


def whole_costs(design: Design) -> np.ndarray:
    """Compute the cost of judging each query whole, in mean items."""
    order = design.order
    costs = np.where(order.place_rates > 0, order.costs, 0.0)
    return np.bincount(order.place_queries, costs, minlength=order.n_queries) + order.overheads


def heads(design: Design, grades: np.ndarray, is_open: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return, for each depth, the value expected of each open query once its head is judged, and what that costs."""
    order, target = design.order, design.target
    f = expectations_of(target, design.beliefs, order.offsets, order.items, grades)[1]
    first, lengths = order.offsets[:-1][is_open], np.diff(order.offsets)[is_open]
    spent = np.cumsum(np.where(order.place_rates > 0, order.costs, 0.0))
    before = np.where(first > 0, spent[first - 1], 0.0)
    last = [first + np.minimum(depth, lengths) - 1 for depth in DEPTHS]
    return [(f[one], spent[one] - before + order.overheads[is_open]) for one in last]


def items(target: Target, design: Design, grades: np.ndarray, is_open: np.ndarray, unit: float) -> dict:
    """Return the columns of items, whose mean is that of the open queries: c g times the number of items a query."""
    offsets, listed = common_lists([target])
    own = listed[target.matters[listed]]
    owners, gains = target.pool.item_queries[own], target.terms(design.beliefs.max_grade + 1).values
    place = np.arange(listed.size) - offsets[target.pool.item_queries[listed]]
    probs = np.einsum("u,uik->ik", design.beliefs.prior, design.beliefs.nodes[:, own])
    means = probs @ gains
    n, p = target.pool.n_queries, target.pool.query_probs[owners]
    factor = n * p * target.contrast[own] * own.size / is_open.sum()
    numbers = np.cumsum(is_open) - 1
    return {
        "item_values": factor * gains[grades[own]],
        "item_predictions": factor * means,
        "item_spreads": np.abs(factor) * np.sqrt(np.maximum(probs @ gains**2 - means**2, 0.0)),
        "item_costs": target.pool.item_costs[own] / unit,
        "item_ranks": place[target.matters[listed]] + 1,
        "item_owners": numbers[owners],
    }


def asked(pool: JudgedPool, question: Question, model: str, share: float) -> tuple[Row, dict, Design]:
    """Return where a question stands, what peers are given of it, and the design of passive."""
    target = pool.target(*question)
    passive = METHODS["passive"].design(target)
    where = {"pool": pool.name, "model": model, "share": share}
    where |= dict(zip(("measure", "case", "overhead"), question, strict=True))
    arguments = (pool.max_grade + 1, pool.inputs.grades, share * passive.cost)
    return where, question_arrays(target, believed(pool, model), *arguments), passive


def rows_of(pool: JudgedPool, measure: str, case: str, options: Options) -> list[Row]:
    """Return a row for each configuration of a peer on a measure and case, at each overhead and under each model."""
    rows, started = [], time.perf_counter()
    choices = product(options.overhead, options.model)
    questions = [asked(pool, (measure, case, overhead), model, options.share) for overhead, model in choices]
    answers = run_peers([arrays for _, arrays, _ in questions], options.repetitions, options.seed, options.environment)
    for (where, arrays, passive), found in zip(questions, answers, strict=True):
        designs, budgets = {"passive": passive}, [arrays["budget"]]
        (reference,) = simulate(designs, pool.inputs.grades, budgets, options.passive, options.seed)
        rows += [where | one | against(one, reference.rmse.value, reference.rmse.se) for one in found]
    print(f"{pool.name}, {measure}, {case}: {time.perf_counter() - started:.1f} s", flush=True)
    return rows


def against(found: Row, rmse: float, rmse_se: float) -> Row:
    """Compute passive's mean squared error over the peer's, and its Monte-Carlo standard error."""
    if "missing" in found or not found["mse"]:
        return {}
    ratio = rmse**2 / found["mse"]
    return {
        "efficiency": ratio,
        "efficiency_se": ratio * float(np.hypot(2 * rmse_se / rmse, found["mse_se"] / found["mse"])),
    }


def run_peers(questions: Sequence[dict], repetitions: int, seed: int, environment: Path) -> list[list[Row]]:
    """Run the peers on each question, in a process of their environment."""
    with tempfile.TemporaryDirectory() as name:
        paths = [Path(name) / f"{k:03}.npz" for k in range(len(questions))]
        for path, arrays in zip(paths, questions, strict=True):
            np.savez(path, **arrays)
        command = [str(peer_environment.python(environment)), "-I", str(WORKER), name, str(repetitions), str(seed)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
        return [json.loads(path.with_suffix(".json").read_text()) for path in paths]


def measure_peers(options: Options) -> Row:
    """Run the chosen questions by the peers' Python, which is made where it is not there."""
    if not peer_environment.python(options.environment).exists():
        peer_environment.make(options.environment)
    return {"peers": peer_environment.versions(options.environment), "rows": on_pools(rows_of, options)}


def report(result: Row) -> str:
    """Write a line for the best peer of each question."""
    ways = [row for is_head in (False, True) for row in best(result["rows"], heads=is_head).values()]
    return "\n".join(
        f"{', '.join(str(row[key]) for key in KEYS)}, {row['peer']}, {row['units']}: "
        + plus_minus(row["efficiency"], row["efficiency_se"])
        for row in ways
    )


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    measure_peers,
    report=report,
    row_keys=KEYS,
    measure=MEASURES,
    share=SHARE,
    repetitions=300,
    passive=1000,
    environment={"type": Path, "default": peer_environment.FOLDER},
    **GRID,
)


if __name__ == "__main__":
    EXPERIMENT.main()
