"""Graders that are machines, over a design without any model: ``python -m benchmarks.graders``.

Passages of TREC Deep Learning 2021: people's grades of 53 queries, four language models' grades, 30 runs; and of 2023
(llmjudge: 25 queries, no runs, so that the order by another language model's grades stands in for one). No label trains
anything. A tenth of what judging the pool whole costs, four questions of one run and four of two, DCG@10, ERR@10 and
nDCG@10; the geometric mean of how many times passive each is, over the same without a model. Beside the models stand a
grader that throws dice, and one that is turned round. "Alone" is what a grader's own grades would say, in per cent of
the truth.

PPI++ (ppi-python, where it is installed) is given the same expectations, on queries judged whole and on single items of
the first ten ranks, drawn uniformly at the same cost.
Stores benchmarks/results/graders.json.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from activeeval import Target
from activeeval.cases.grading import model_names, read_graders, with_graders
from activeeval.cases.inputs import Inputs, from_tables, on_scale, sampled_measure
from activeeval.cases.modelling import GradeBeliefs, believe, uniform_beliefs
from activeeval.design.methods import METHODS, default_method
from activeeval.graders import Grades
from activeeval.io.loading import load_qrels, load_run
from activeeval.io.text.trec import Qrels, Run
from activeeval.simulation import simulate
from benchmarks.machine import ROOT, data_folder, describe, figure, show, store

MODULE = "benchmarks.graders"
MEASURES = ("DCG@10", "ERR@10", "nDCG@10")
SHARE, TOP, SEED = 0.1, 3, 1
DL21 = ("binary-gpt4", "binary-gpt4o", "binary-llama3.2", "exam-max-gpt4")
GOOD, WEAK = (
    ("willia-umbrela1", "RMITIR-llama70B", "Olz-multiprompt"),
    ("TREMA-questions", "TREMA-other", "Olz-halfbin"),
)
STAND_INS = ("Olz-gpt4o", "h2oloo-zeroshot1", "NISTRetrieval-instruct0", "TREMA-CoT", "prophet-setting1")
PAIRS = ((0, 15), (5, 22), (9, 28), (12, 3))
USELESS = ("dice", "turned round")
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Collection:
    """People's grades, runs in pairs, and graders."""

    name: str
    people: Qrels
    pairs: Sequence[tuple[Run, Run]]
    graders: Mapping[str, str]
    turned: str


def dl21() -> Collection:
    """Return TREC Deep Learning 2021."""
    home = data_folder() / "dl-passage-llm"
    runs = sorted((home / "runs-dl21").glob("*.run.gz"))
    pairs = [(load_run(str(runs[a])), load_run(str(runs[b]))) for a, b in PAIRS]
    graders = {name: str(home / f"{name}.dl21.qrels.gz") for name in DL21}
    return Collection("DL21", load_qrels(str(home / "human.dl21.qrels.gz")), pairs, graders, DL21[0])


def llmjudge() -> Collection:
    """Return the passages of 2023."""
    home = data_folder() / "llmjudge"
    runs = [_as_run(load_qrels(str(home / f"{name}.qrels.gz")), name) for name in STAND_INS]
    graders = {name: str(home / f"{name}.qrels.gz") for name in (*GOOD, *WEAK)}
    people = load_qrels(str(home / "human.qrels.gz"))
    return Collection("llmjudge", people, list(pairwise(runs)), graders, GOOD[0])


def _as_run(qrels: Qrels, name: str) -> Run:
    scores = qrels.grades.astype(np.float64)
    return Run(qrels.query_ids, qrels.doc_ids, scores, np.zeros(scores.size, dtype=np.int64), name)


def beliefs_of(inputs: Inputs, collection: Collection) -> dict[str, GradeBeliefs]:
    """Return what is believed without a model and by each grader, useless ones too."""
    rng = np.random.default_rng(SEED)
    graders = list(read_graders(list(collection.graders.values())))
    whole = graders[list(collection.graders).index(collection.turned)]
    dice = rng.integers(0, TOP + 1, len(whole)).astype(np.float64)
    graders += [_other(whole, USELESS[0], dice), _other(whole, USELESS[1], -whole.values)]
    laid, names = with_graders(inputs, graders), model_names(graders)
    believed = {"no model": uniform_beliefs(inputs.pool.n_items, TOP)}
    for name, grader in zip(names, graders, strict=True):
        believed[grader.name.removesuffix(".dl21")] = believe(laid, name, TOP, rng)
    return believed


def _other(grader: Grades, name: str, values: np.ndarray) -> Grades:
    """Return a grader of the same items who says something else."""
    return Grades(query_ids=grader.query_ids, item_ids=grader.item_ids, values=values, name=name)


def cells(collection: Collection, pair: tuple[Run, Run], options: argparse.Namespace) -> Iterator[Row]:
    """Yield the figures of one run and of two, of each measure and each belief."""
    for n in (1, 2):
        loaded = from_tables(collection.people, pair[:n], evaluated=n, unjudged="irrelevant")
        inputs = loaded.in_id_order().with_costs(None, 0.0)
        believed = beliefs_of(inputs, collection)
        for text in options.measure or MEASURES:
            measure = on_scale(sampled_measure(text), TOP)
            target, method = Target(measure, *inputs.rankings), default_method(measure)
            designs = {"passive": METHODS["passive"].design(target)}
            designs |= {
                name: method.design(target, **each.for_method(method, TOP + 1)) for name, each in believed.items()
            }
            budget = SHARE * designs["passive"].cost
            _, *summaries = simulate(designs, inputs.grades, [budget], options.repetitions, SEED)
            truth = float(inputs.pool.query_probs @ target.values(inputs.grades))
            for name, summary in zip(believed, summaries, strict=True):
                row = summary.row()
                kept = {key: row[key] for key in ("efficiency", "coverage", "bias", "rmse", "width", "queries")}
                where = {"collection": collection.name, "pair": pair[0].name, "runs": n, "measure": text}
                yield where | {"grader": name, "truth": truth} | kept
            if n == 1 and text == MEASURES[0]:
                yield from _peers(collection, pair, target, inputs, believed, budget, options)


def _peers(
    collection: Collection,
    pair: tuple[Run, Run],
    target: Target,
    inputs: Inputs,
    believed: Mapping[str, GradeBeliefs],
    budget: float,
    options: argparse.Namespace,
) -> Iterator[Row]:
    """Yield the mean squared errors of PPI++ with the same expectations, on whole queries and on single items."""
    if find_spec("ppi_py") is None:
        return
    from ppi_py import ppi_mean_pointestimate

    gains = target.terms(TOP + 1).values
    matters = np.flatnonzero(target.matters)
    share, weights = inputs.pool.query_probs[0], target.contrast
    truth = float(inputs.pool.query_probs @ target.values(inputs.grades))
    for name, belief in believed.items():
        expected = belief.probs @ gains
        of_items = (weights * gains[inputs.grades] * share, weights * expected * share)
        owners, n_queries = inputs.pool.item_queries[matters], inputs.pool.n_queries
        of_queries = [np.bincount(owners, values[matters], minlength=n_queries) for values in of_items]
        for unit, (labels, predictions), n in (
            ("items", [values[matters] for values in of_items], round(budget)),
            ("queries", of_queries, max(round(budget * n_queries / matters.size), 2)),
        ):
            rng = np.random.default_rng(SEED)
            errors = []
            for _ in range(options.repetitions):
                chosen = rng.choice(labels.size, n, replace=False)
                rest = np.delete(predictions, chosen)
                mean = float(np.squeeze(ppi_mean_pointestimate(labels[chosen], predictions[chosen], rest, lam=None)))
                # where predictions are all alike its λ is no number: nothing is taken off then
                mean = mean if math.isfinite(mean) else float(labels[chosen].mean())
                errors.append(mean * labels.size - truth)
            where = {"collection": collection.name, "pair": pair[0].name, "runs": 1, "measure": MEASURES[0]}
            yield where | {"grader": name, "peer": f"PPI++ on {unit}", "rmse": math.sqrt(np.mean(np.square(errors)))}


def figures_of(rows: Sequence[Row]) -> list[Row]:
    """Return the geometric means over questions of each grader over no model, with the bars."""
    ours = {(r["collection"], r["pair"], r["runs"], r["measure"], r["grader"]): r for r in rows if "peer" not in r}
    found: dict[tuple[str, str, int, str], list[tuple[float, float, float]]] = {}
    for (collection, pair, n, measure, grader), row in ours.items():
        free = ours[collection, pair, n, measure, "no model"]["efficiency"]
        key = (collection, measure, n, grader)
        found.setdefault(key, []).append((row["efficiency"], row["efficiency"] / free, row["coverage"]))
    out = []
    for (collection, measure, n, grader), values in found.items():
        times, over, coverage = (np.array(column) for column in zip(*values, strict=True))
        what = f"{collection}, {measure}, {'one run' if n == 1 else 'two runs'}, {grader}"
        details = {"times_passive": _mean(times), "coverage": float(coverage.mean()), "least_coverage": coverage.min()}
        if grader == "no model":
            out.append(figure(what, _mean(times), "times passive", **details))
        else:
            out.append(figure(what, _mean(over), "over none", at_least=_bar(collection, measure, grader), **details))
    return out


def _mean(values: np.ndarray) -> float:
    return float(np.exp(np.log(values).mean()))


def _bar(collection: str, measure: str, grader: str) -> float | None:
    """Return what is to be reached, where a bar is named."""
    if grader in USELESS:
        return 0.93 if grader == USELESS[0] else 0.95
    if measure == "ERR@10":
        return 0.92
    if collection == "llmjudge" and measure == "DCG@10":
        return 1.12 if grader in GOOD else 0.97
    return None


def peers_table(rows: Sequence[Row]) -> list[Row]:
    """Return how many times PPI++'s squared error is ours, by grader."""
    ours = {(r["collection"], r["pair"], r["grader"]): r["rmse"] for r in rows if _is_first(r) and "peer" not in r}
    ratios: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        if "peer" in row:
            ratio = (row["rmse"] / ours[row["collection"], row["pair"], row["grader"]]) ** 2
            ratios.setdefault((row["collection"], row["peer"], row["grader"]), []).append(ratio)
    return [
        figure(
            f"{collection}, {MEASURES[0]}, one run, {grader}: {peer}",
            _mean(np.array(values)),
            "times ours",
            at_least=0.97,
        )
        for (collection, peer, grader), values in ratios.items()
    ]


def _is_first(row: Row) -> bool:
    return row["runs"] == 1 and row["measure"] == MEASURES[0]


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=300)
    parser.add_argument("--measure", action="append", choices=MEASURES)
    parser.add_argument("--collection", action="append", choices=("DL21", "llmjudge"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "graders.json")
    options = parser.parse_args()
    about = describe(MODULE, ("ppi-python",))
    asked = [make for name, make in (("DL21", dl21), ("llmjudge", llmjudge)) if name in (options.collection or (name,))]
    jobs = [(make, k) for make in asked for k in range(len(PAIRS))]
    parts = Parallel(n_jobs=options.jobs)(delayed(_part)(make, k, options) for make, k in jobs)
    rows = [row for part in parts for row in part]
    figures = figures_of(rows)
    peers = peers_table(rows)
    show("Graders over no model", figures)
    if peers:
        show("PPI++ with the same expectations", peers)
    coverages = [row["coverage"] for row in rows if "peer" not in row]
    covered = [
        figure("coverage of 95 % intervals, mean over cells", float(np.mean(coverages)), "", at_least=0.94),
        figure("the least of a cell", float(np.min(coverages)), "", at_least=0.93),
    ]
    show("Coverage", covered)
    store(options.out, {**about, "repetitions": options.repetitions, "figures": figures, "peers": peers,
                        "coverage": covered, "rows": rows})  # fmt: skip


def _part(make: Any, k: int, options: argparse.Namespace) -> list[Row]:
    collection = make()
    return list(cells(collection, collection.pairs[k], options))


if __name__ == "__main__":
    main()
