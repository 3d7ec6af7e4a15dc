"""Several grade models in one sample against the best of them: ``python -m benchmarks.several_models``.

A forest, a logit and the rankers' own scores, and the mixture of all: the squared error of the best single one over
that of all, for DCG@10, ERR@10 and nDCG@10, of one ranking and of two compared, at a tenth of what judging the pool
whole costs and an overhead of one item a query. MQ2008, MQ2007-agg and OHSUMED as in benchmarks.pools. "all" is what
`believe` makes of several models: their mixture, and further regressors where training queries ask for them. Beside it
stand the mixture alone, with every model as a further regressor, and all with a model of random probabilities.

On the passages of TREC Deep Learning 2023 (25 queries) the models are the grades that four language models gave; no
runs exist for these ids, so the order by another language model's grades, ties by document id, stands in for a ranking.
Five splits, 10 queries to train and a pool of 15, and a budget of 30 %.

"The best" is the model that errs least over all six questions of a collection, found in the same repetitions: what it
owes to chance is not taken off. The best for each question alone is stored too; of few queries it is another each time.
Stores benchmarks/results/several-models.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from activeeval.core.design.methods import METHODS, default_method
from activeeval.core.pool.keyed import Qrels
from activeeval.core.simulation import replicate
from activeeval.formats.loading import load_qrels
from activeeval.formats.text.trec import Run
from activeeval.inputs.chosen_inputs import given_columns
from activeeval.inputs.grader_values import model_names, read_graders, with_graders
from activeeval.inputs.loading import Inputs, from_tables
from activeeval.inputs.modelling import GradeBeliefs, believe
from activeeval.report.message_lookup import text_of
from benchmarks.machine import ROOT, data_folder, describe, figure, figures_table, show, store
from benchmarks.pools import SEED, JudgedPool, load

MODULE = "benchmarks.several_models"
MEASURES, CASES = ("DCG@10", "ERR@10", "nDCG@10"), ("one ranking", "two rankers")
LETOR, JUDGES = ("mq2008", "mq2007-agg", "ohsumed"), "llmjudge"
MODELS = ("forest", "logit", "scores")
GRADED_BY = ("TREMA-CoT", "RMITIR-llama70B", "h2oloo-zeroshot1", "NISTRetrieval-instruct0")
RANKED_BY = ("Olz-gpt4o", "willia-umbrela1")
SPLITS, TRAINED = 5, 0.4
SHARE, SHARES, OVERHEAD = 0.1, {JUDGES: 0.3}, 1.0
ALL, USELESS = "all", "probs=useless"
LEAST = 0.98
Row = dict[str, Any]
Floats = np.ndarray


def letor(name: str) -> Iterator[tuple[JudgedPool, Inputs, tuple[str, ...]]]:
    """Yield a pool with the inputs that its models learn from, and these."""
    pool = load(name)
    yield pool, given_columns(pool.inputs, "scores"), MODELS


def judges() -> Iterator[tuple[JudgedPool, Inputs, tuple[str, ...]]]:
    """Yield splits of the queries that language models graded."""
    home = data_folder() / JUDGES
    qrels = load_qrels(str(home / "human.qrels.gz"))
    runs = [_as_run(load_qrels(str(home / f"{name}.qrels.gz")), name) for name in RANKED_BY]
    whole = from_tables(qrels, runs, evaluated=2)
    graders = read_graders([str(home / f"{name}.qrels.gz") for name in GRADED_BY])
    whole, names = with_graders(whole, graders), model_names(graders)
    for split in range(SPLITS):
        part = whole.held_out(TRAINED, np.random.default_rng(SEED + split)).in_id_order()
        assert part.versus is not None
        beliefs, first = GradeBeliefs(np.empty((0, 4))), replace(part, rankings=part.rankings[:1], names=())
        yield JudgedPool(f"{JUDGES} {split + 1}", first, part.versus, beliefs, 3), part, names


def _as_run(qrels: Qrels, name: str) -> Run:
    """Return somebody's grades as the scores of a run."""
    scores = qrels.grades.astype(np.float64)
    return Run(qrels.query_ids, qrels.doc_ids, scores, np.zeros(scores.size, dtype=np.int64), name)


def beliefs_of(inputs: Inputs, names: tuple[str, ...], top: int) -> dict[str, GradeBeliefs]:
    """Return what each model believes, what all together do, and with one beside them that knows nothing."""

    def of(*chosen: str, of: Inputs = inputs) -> GradeBeliefs:
        return believe(of, chosen, top, np.random.default_rng(SEED), n_jobs=-1)

    found = {_short(name): of(name) for name in names}
    together, everything = of(*names), tuple(one.probs for one in found.values())
    assert inputs.training is not None
    random = np.random.default_rng(SEED)
    useless = (random.dirichlet(np.ones(top + 1), n) for n in (inputs.pool.n_items, inputs.training.grades.size))
    beside = of(*names, USELESS, of=inputs.with_columns(USELESS, *useless))
    print("; ".join(map(text_of, (*together.notes, *beside.notes))).replace(str(data_folder()), ""), flush=True)
    return found | {
        ALL: together,
        "mixture alone": replace(together, extra_probs=()),
        "fitted to every model": replace(together, extra_probs=everything),
        "beside a useless one": beside,
    }


def _short(name: str) -> str:
    return Path(name.partition("=")[2]).name.partition(".")[0] or name


def squares_of(
    pool: JudgedPool, beliefs: Mapping[str, GradeBeliefs], question: tuple[str, str], options: argparse.Namespace
) -> dict[str, tuple[Floats, float]]:
    """Return the squared error of every repetition under each belief, and the share of intervals that hold."""
    target = pool.target(*question, OVERHEAD)
    method, grades = default_method(target.measure), pool.inputs.grades
    truth = float(target.pool.query_probs @ target.values(grades))
    budget = SHARES.get(pool.name.split()[0], SHARE) * METHODS["passive"].design(target).cost
    out = {}
    for name, belief in beliefs.items():
        design = method.design(target, **belief.for_method(method, pool.max_grade + 1))
        found = replicate(design, grades, [budget], options.repetitions, options.seed, n_jobs=-1)
        held = (found.lows <= truth) & (truth <= found.highs)
        out[name] = (found.values[:, 0] - truth) ** 2, float(held.mean())
    return out


def rows_of(name: str, options: argparse.Namespace) -> list[Row]:
    """Return a row for each question of a collection: mean squares under each belief, over splits their geometric mean.

    The standard error is that of the logarithm of the mean square of all over that of each; repetitions share seeds.
    """
    rows = [{"pool": name, "measure": measure, "case": case} for measure, case in product(MEASURES, CASES)]
    found: list[list[dict[str, tuple[Floats, float]]]] = [[] for _ in rows]
    singles: tuple[str, ...] = ()
    for pool, inputs, names in judges() if name == JUDGES else letor(name):
        beliefs, singles = beliefs_of(inputs, names, pool.max_grade), tuple(map(_short, names))
        for own, row in zip(found, rows, strict=True):
            own.append(squares_of(pool, beliefs, (row["measure"], row["case"]), options))
    for row, splits in zip(rows, found, strict=True):
        row["singles"] = singles
        row["coverage"] = float(np.mean([split[ALL][1] for split in splits]))
        for one in splits[0]:
            logs = [np.log(split[one][0].mean()) for split in splits]
            apart = [split[one][0] / split[one][0].mean() - split[ALL][0] / split[ALL][0].mean() for split in splits]
            noise = [own.var(ddof=1) / own.size for own in apart]
            row.setdefault("mse", {})[one] = float(np.exp(np.mean(logs)))
            row.setdefault("log_se", {})[one] = float(np.sqrt(np.sum(noise)) / len(splits))
    return rows


def figures_of(rows: list[Row]) -> list[Row]:
    """Return for a collection what is to be reached: not more than two per cent worse than the best single model."""
    singles = rows[0]["singles"]

    def mean_ratio(one: str, other: str) -> float:
        return float(np.exp(np.mean([np.log(row["mse"][one] / row["mse"][other]) for row in rows])))

    best = min(singles, key=lambda one: mean_ratio(one, singles[0]))
    beside = [f"{one} {mean_ratio(best, one):.3f}" for one in rows[0]["mse"] if one not in (ALL, best)]
    se = float(np.sqrt(np.mean([row["log_se"][best] ** 2 for row in rows]) / len(rows)))
    what, lead = rows[0]["pool"], f"best: {best}; ± {se:.3f}; {', '.join(beside)}"
    found = [figure(f"{what}, mean of six questions", mean_ratio(best, ALL), "of best", at_least=LEAST, note=lead)]
    for row in rows:
        ratio, for_it = row["mse"][best] / row["mse"][ALL], min(singles, key=lambda one, row=row: row["mse"][one])
        own = f"{row['mse'][for_it] / row['mse'][ALL]:.3f} of {for_it}, the best for it"
        note = f"± {row['log_se'][best]:.3f}; {own}; intervals hold {row['coverage']:.1%}"
        found.append(figure(f"{what}, {row['measure']}, {row['case']}", ratio, "of best", at_least=LEAST, note=note))
    return found


def markdown(result: Row) -> str:
    """Return the table of a result."""
    lead = f"{result['repetitions']:,} repetitions; ± is the Monte-Carlo standard error."
    return "\n".join([lead, "", *figures_table(result["figures"]), ""])


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pool", action="append", choices=(*LETOR, JUDGES), help="repeatable; all by default")
    parser.add_argument("--repetitions", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "several-models.json")
    args = parser.parse_args()
    result = describe(MODULE) | {"repetitions": args.repetitions, "seed": args.seed, "figures": [], "rows": []}
    for name in args.pool or (*LETOR, JUDGES):
        rows = rows_of(name, args)
        figures = figures_of(rows)
        show(f"Several grade models against the best of them, {name}", figures)
        result["rows"] += rows
        result["figures"] += figures
    store(args.out, result)


if __name__ == "__main__":
    main()
