"""Rounds of judging that learn from each other, against one sample: ``python -m benchmarks.adaptive``.

Nothing is known at first: the first round, a fifth of the budget, is drawn with the uniform model and its query factor.
What it says trains a mixture (a logit of the features and one of the rankers' own scores, recalibrated by a query
factor), which the next round is drawn with; weights are planned (`activeeval.core.campaign.joint_estimates`). Total
budget a tenth of judging everything, an overhead of one item a query, one ranking; MQ2008 and MQ2007-agg; DCG, DCG@10
and ERR@10.

Efficiency is the squared error of passive over a design's, at the same budget. *Informed* is the design with a forest
that was trained on labels of other queries, which cost nothing here, *fixed* the one with the uniform model and its
factor for the whole budget. What the informed design gains is its efficiency less passive's 1; the share of it that is
kept is (efficiency − 1) / (informed − 1). The part of the way from fixed to informed stands beside it. *Taught* are
readings by the mixture, out of fold by query, from all labels so far: of both rounds, and of one, the fixed sample.

The squared error of rounds is Σ w² of each round's own, the second's a mean over first rounds that were played out,
each with 100 repetitions of the second; what teaching takes away is the ratio of squared errors with and without, in
the same plays. Stores benchmarks/results/adaptive.json.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from activeeval import Target
from activeeval.core.campaign.joint_estimates import planned_weights
from activeeval.core.campaign.rounds import Rounds
from activeeval.core.design import Design
from activeeval.core.design.methods import METHODS, Method, default_method
from activeeval.core.simulation import replicate
from activeeval.inputs.chosen_inputs import given_columns
from activeeval.inputs.loading import Inputs
from activeeval.inputs.modelling import uniform_beliefs
from activeeval.sampling.rounds import teaching
from benchmarks.machine import ROOT, describe, figure, figures_table, show, store
from benchmarks.pools import JudgedPool, load

MODULE = "benchmarks.adaptive"
POOLS, MEASURES = ("mq2008", "mq2007-agg"), ("DCG", "DCG@10", "ERR@10")
SHARE, OVERHEAD, FIRST = 0.1, 1.0, 0.2
MODELS = ("logit", "scores")
FORMS = ("two rounds", "two rounds, taught", "one round, taught")
LEAST, COVERED, INNER, REPETITIONS = 0.8, (93, 97), 100, 4000
Row = dict[str, Any]
Floats = np.ndarray
Figure = tuple[float, float]
Case = tuple[Inputs, Target, Method, int, float]


def played(case: Case, budgets: tuple[float, ...], seed: int) -> tuple[Rounds, Floats]:
    """Return rounds that were judged to their end; the error and whether the interval holds, as drawn and taught."""
    inputs, target, method, top, truth = case
    rounds = Rounds(method, target, budgets, teaching(inputs, MODELS, top, method, seed), rng=seed)
    while (campaign := rounds.next()) is not None:
        while (unit := campaign.ask()) is not None:
            campaign.tell(unit, inputs.grades[list(unit.items)].tolist())
    found = [rounds.estimate(taught=taught) for taught in (False, True)]
    ends = [one.interval(0.95) for one in found]
    own = [(one.value - truth, end.low <= truth <= end.high) for one, end in zip(found, ends, strict=True)]
    return rounds, np.array(own, dtype=np.float64)


def play(case: Case, budget: float, first: float, seed: int) -> tuple[float, Floats, Floats]:
    """Return the second round's mean squared error given one first round, and what `played` says of two and of one."""
    rounds, two = played(case, (first * budget, (1 - first) * budget), 2 * seed)
    second = replicate(rounds.campaigns[1].design, case[0].grades, [(1 - first) * budget], INNER, seed)
    return float(np.mean((second.values - case[4]) ** 2)), two, played(case, (budget,), 2 * seed + 1)[1]


def row_of(pool: JudgedPool, measure: str, options: argparse.Namespace) -> Row:
    """Return efficiencies, their standard errors and coverage for one measure."""
    target, top = pool.target(measure, "one ranking", OVERHEAD), pool.max_grade
    inputs = replace(given_columns(pool.inputs, "scores"), training=None, pool=target.pool)
    method, passive = default_method(target.measure), METHODS["passive"].design(target)
    budget, truth = SHARE * passive.cost, float(target.pool.query_probs @ target.values(inputs.grades))
    uniform = uniform_beliefs(inputs.pool.n_items, top)
    fixed, informed = (
        method.design(target, **beliefs.for_method(method, top + 1)) for beliefs in (uniform, pool.beliefs)
    )

    def square(design: Design, spent: float) -> Figure:
        found = replicate(design, inputs.grades, [spent], REPETITIONS, options.seed, n_jobs=options.jobs)
        return mean_of((found.values[:, 0] - truth) ** 2)

    case = (inputs, target, method, top, truth)
    seeds = range(options.seed, options.seed + options.plays)
    calls = (delayed(play)(case, budget, options.first, seed) for seed in seeds)
    seconds, two, one = (np.array(own) for own in zip(*Parallel(n_jobs=options.jobs)(calls), strict=True))
    weights = planned_weights(fixed, (options.first * budget, (1 - options.first) * budget))
    first, second, alone = square(fixed, options.first * budget), mean_of(seconds), square(fixed, budget)
    parts = weights[0] ** 2 * first[0], weights[1] ** 2 * second[0]
    error = float(np.hypot(parts[0] * first[1], parts[1] * second[1]) / sum(parts))
    rounds = float(sum(parts)), error
    squares = {
        "passive": square(passive, budget),
        "fixed": alone,
        "informed": square(informed, budget),
        "two rounds": rounds,
        "two rounds, taught": _times(rounds, ratio_of(two[:, 1, 0] ** 2, two[:, 0, 0] ** 2)),
        "one round, taught": _times(alone, ratio_of(one[:, 1, 0] ** 2, one[:, 0, 0] ** 2)),
    }
    row: Row = {"pool": pool.name, "measure": measure, "budget": budget, "weights": weights.tolist()}
    row["coverage"] = {"two rounds": two[:, 0, 1].mean(), "two rounds, taught": two[:, 1, 1].mean()}
    row["bias_in_se"] = [float(e.mean() / e.std(ddof=1) * np.sqrt(e.size)) for e in two[:, :, 0].T]
    times = {name: squares["passive"][0] / value for name, (value, _) in squares.items()}
    for name, (_, own) in squares.items():
        kept, way = (times[name] - 1) / (times["informed"] - 1), times["informed"] - times["fixed"]
        error = times[name] * own / (times["informed"] - 1)
        row[name] = {
            "efficiency": times[name],
            "kept": kept,
            "kept_se": error,
            "way": (times[name] - times["fixed"]) / way,
        }
    return row


def mean_of(squares: Floats) -> Figure:
    """Return a mean and its relative standard error."""
    return float(squares.mean()), float(squares.std(ddof=1) / np.sqrt(squares.size) / squares.mean())


def ratio_of(own: Floats, other: Floats) -> Figure:
    """Return the ratio of two means over the same plays and its relative standard error."""
    apart = own / own.mean() - other / other.mean()
    return float(own.mean() / other.mean()), float(apart.std(ddof=1) / np.sqrt(own.size))


def _times(one: Figure, other: Figure) -> Figure:
    return one[0] * other[0], float(np.hypot(one[1], other[1]))


def figures_of(row: Row) -> list[Row]:
    """Return what is to be reached for one measure."""
    what, found = f"{row['pool']}, {row['measure']}", []
    lead = f"times passive: fixed {row['fixed']['efficiency']:.2f}, informed {row['informed']['efficiency']:.2f}"
    for name in FORMS:
        own = row[name]
        note = f"± {own['kept_se']:.2f}; {lead}, these {own['efficiency']:.2f}; of the way {own['way']:.2f}"
        found.append(figure(f"{what}: share kept by {name}", own["kept"], "", note=note, at_least=LEAST))
    for name, share in row["coverage"].items():
        found.append(figure(f"{what}: coverage of {name}", 100 * share, "%"))
    return found


def figures_of_all(rows: list[Row], plays: int) -> list[Row]:
    """Return the means over all questions."""
    found = []
    for name in (*FORMS, "fixed"):
        kept, error = (np.array([row[name][key] for row in rows]) for key in ("kept", "kept_se"))
        note = f"± {np.sqrt(np.sum(error**2)) / len(rows):.2f}"
        bound = {} if name == "fixed" else {"at_least": LEAST}
        found.append(figure(f"mean share kept by {name}", kept.mean(), "", note=note, **bound))
    for name in rows[0]["coverage"]:
        held = float(np.mean([row["coverage"][name] for row in rows]))
        note = f"± {100 * np.sqrt(held * (1 - held) / (plays * len(rows))):.1f}"
        bounds = {"at_least": COVERED[0], "at_most": COVERED[1]}
        found.append(figure(f"coverage of {name}, all questions", 100 * held, "%", note=note, **bounds))
    return found


def markdown(result: Row) -> str:
    """Return the table of a result."""
    lead = f"{result['plays']:,} plays; ± is the Monte-Carlo standard error."
    return "\n".join([lead, "", *figures_table(result["figures"]), ""])


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pool", action="append", choices=POOLS, help="repeatable; both by default")
    parser.add_argument("--measure", action="append", help=f"repeatable; {', '.join(MEASURES)} by default")
    parser.add_argument("--first", type=float, default=FIRST, help="share of the budget of the first round")
    parser.add_argument("--plays", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "adaptive.json")
    args = parser.parse_args()
    chosen = {"plays": args.plays, "seed": args.seed, "first": args.first}
    result = describe(MODULE) | chosen | {"figures": [], "rows": []}
    for name, measure in product(args.pool or POOLS, args.measure or MEASURES):
        row = row_of(load(name), measure, args)
        figures = figures_of(row)
        show(f"Rounds against one sample, {name}, {measure}", figures)
        result["rows"].append(row)
        result["figures"] += figures
    whole = figures_of_all(result["rows"], args.plays)
    show("All questions", whole)
    result["figures"] += whole
    store(args.out, result)


if __name__ == "__main__":
    main()
