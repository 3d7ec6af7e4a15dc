"""Ten nights of index updates, the labels of all earlier nights known: ``python -m benchmarks.nights``.

Each night 3 % of the items, by chance, are missing from the index, and those of the night before are back. The
question is DCG@10 of tonight's ranking less last night's, over this pool, by `items` without overheads. Night by night
a budget is looked for at which the mean half-width of intervals is that of a sample drawn afresh for the same night at
a share of judging everything; a sample of that budget is drawn, its labels are known from then on. Coverage is that of
repetitions on each night, given what is known. Stores benchmarks/results/nights.json.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby, product
from pathlib import Path
from typing import Any

import numpy as np

from activeeval import Campaign, Target, parse_measure
from activeeval.core.design import Design
from activeeval.core.design.methods import METHODS
from activeeval.core.pool import Rankings
from activeeval.core.simulation import replicate
from activeeval.inputs.loading import Inputs
from activeeval.inputs.modelling import GradeBeliefs, believe, uniform_beliefs
from benchmarks.frame.report import figure, figures_table, show
from benchmarks.machine import ROOT, describe, store
from benchmarks.pools import POOLS, JudgedPool, load

MODULE = "benchmarks.nights"
REMOVED, NIGHTS = 0.03, 10
STEPS = np.array([0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2])
MODELS = ("uniform, then learned from what is known", "a forest trained elsewhere", "uniform")
SHARES = (0.1, 0.2)
MOST, COVERED = 0.6, (93, 97)
Row = dict[str, Any]
Judging = Callable[[Design, int, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Night:
    """What one night took: labels, those of a fresh sample of equal width, and how often intervals covered."""

    fresh: float
    labels: float
    covered: float

    @property
    def ratio(self) -> float:
        """Labels over those of a fresh sample."""
        return self.labels / self.fresh


def beliefs_of(pool: JudgedPool, inputs: Inputs, model: str, known: np.ndarray, seed: int) -> GradeBeliefs:
    """Return what is believed on a night."""
    if model == MODELS[1]:
        return pool.beliefs
    taught = replace(inputs, training=None).taught_by(known)
    if model == MODELS[2] or taught.training is None:
        return uniform_beliefs(inputs.pool.n_items, pool.max_grade)
    return believe(taught, "forest", pool.max_grade, np.random.default_rng(seed), n_jobs=-1)


def designed(pool: JudgedPool, beliefs: GradeBeliefs, target: Target, known: np.ndarray | None) -> Design:
    """Return the design of a night."""
    method = METHODS["items"]
    return method.design(target, **beliefs.for_method(method, pool.max_grade + 1), judged=known)


def widths(design: Design, grades: np.ndarray, budgets: np.ndarray, repetitions: int, seed: int) -> np.ndarray:
    """Return the mean half-width at each budget."""
    return replicate(design, grades, budgets, repetitions, seed, n_jobs=-1).half_widths().mean(axis=0)


def equal_budget(budgets: np.ndarray, found: np.ndarray, width: float) -> float:
    """Return the budget at which a falling curve of half-widths comes to a width, straight in logarithms between."""
    falling = np.minimum.accumulate(found)
    return float(np.exp(np.interp(-np.log(width), -np.log(falling), np.log(budgets))))


def one_night(
    pool: JudgedPool,
    model: str,
    target: Target,
    known: np.ndarray,
    share: float,
    repetitions: int,
    seed: int,
    judge: Judging,
) -> tuple[Night, np.ndarray]:
    """Return what a night took, and what is known after it."""
    inputs, nothing = pool.inputs, np.full(known.size, -1)
    grades = inputs.grades
    fresh = designed(pool, beliefs_of(pool, inputs, model, nothing, seed), target, None)
    design = designed(pool, beliefs_of(pool, inputs, model, known, seed), target, known)
    budget = np.floor(share * fresh.cost)
    width = float(widths(fresh, grades, np.array([budget]), repetitions, seed)[0])
    budgets = np.unique(np.maximum(np.round(STEPS * budget), 2.0))
    equal = round(equal_budget(budgets, widths(design, grades, budgets, repetitions, seed + 1), width))
    found = replicate(design, grades, [equal], repetitions, seed + 2, n_jobs=-1)
    truth = float(inputs.pool.query_probs @ target.values(grades))
    held = float(np.mean((found.lows <= truth) & (truth <= found.highs)))
    return Night(float(budget), float(equal), held), np.maximum(known, judge(design.with_budget(equal), seed, grades))


def by_library(design: Design, seed: int, grades: np.ndarray) -> np.ndarray:
    """Return what a sample asks for, judged, shape (n_items,); −1 where it asks for nothing."""
    campaign = Campaign(design, rng=seed)
    while (unit := campaign.ask()) is not None:
        campaign.tell(unit, grades[list(unit.items)].tolist())
    return campaign.grades


def chain(
    pool: JudgedPool, model: str, share: float, repetitions: int, seed: int, judge: Judging = by_library
) -> list[Night]:
    """Return ten nights, one after the other."""
    inputs = pool.inputs
    known, nights = np.full(inputs.pool.n_items, -1), []
    rngs = [np.random.default_rng((seed, night)) for night in range(NIGHTS + 1)]
    lists: list[Rankings] = [inputs.ranking.without(REMOVED, rng) for rng in rngs]
    measure = parse_measure("DCG@10").bound_to(pool.max_grade)
    for night in range(1, NIGHTS + 1):
        target = Target(measure, lists[night], lists[night - 1])
        done, known = one_night(pool, model, target, known, share, repetitions, 1000 * seed + 10 * night, judge)
        nights.append(done)
    return nights


def rows_of(model: str, chains: list[list[Night]], repetitions: int) -> list[Row]:
    """Return a row for each night."""
    rows = []
    for k in range(NIGHTS):
        own = [nights[k] for nights in chains]
        ratios, covered = (np.array([getattr(night, name) for night in own]) for name in ("ratio", "covered"))
        held = covered.mean()
        rows.append(
            {
                "model": model,
                "night": k + 1,
                "labels": float(np.mean([night.labels for night in own])),
                "ratio": float(ratios.mean()),
                "ratio_se": float(ratios.std(ddof=1) / np.sqrt(ratios.size)),
                "coverage": float(100 * held),
                "coverage_se": float(100 * np.sqrt(held * (1 - held) / (covered.size * repetitions))),
            }
        )
    return rows


def figures_of(rows: list[Row]) -> list[Row]:
    """Return what is to be reached, for each model."""
    found = []
    for model, own in groupby(rows, lambda row: row["model"]):
        nights = list(own)
        last, held = nights[-1], [row["coverage"] for row in nights]
        note = f"± {last['ratio_se']:.3f}"
        found.append(figure(f"{model}: labels of night {NIGHTS}", last["ratio"], "of fresh", note=note, at_most=MOST))
        found.append(figure(f"{model}: lowest coverage of a night", min(held), "%", at_least=COVERED[0]))
        found.append(figure(f"{model}: highest coverage of a night", max(held), "%", at_most=COVERED[1]))
    return found


def markdown(result: dict[str, Any]) -> str:
    """Return the tables of a result: labels over those of a fresh sample of equal width, and coverage in per cent."""
    lines = [f"{result['chains']} chains of ten nights, {result['repetitions']:,} repetitions a night.", ""]
    for section in result["sections"]:
        lines += [f"### {section['title']}", "", *figures_table(section["figures"]), ""]
        models = list(dict.fromkeys(row["model"] for row in section["nights"]))
        lines += [f"| night | {' | '.join(models)} |", f"| ---{' | ---' * len(models)} |"]
        for night in range(1, NIGHTS + 1):
            own = [row for row in section["nights"] if row["night"] == night]
            cells = [f"{row['ratio']:.2f} ± {row['ratio_se']:.2f}, {row['coverage']:.1f} %" for row in own]
            lines.append(f"| {night} | {' | '.join(cells)} |")
        lines.append("")
    if "watched" in result:
        from benchmarks import watched

        lines += watched.markdown(result["watched"])
    return "\n".join(lines)


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pool", action="append", choices=tuple(POOLS), help="repeatable; mq2008 by default")
    parser.add_argument("--model", action="append", choices=MODELS, help="repeatable; all by default")
    parser.add_argument("--share", action="append", type=float, help="of judging everything; .1 and .2 by default")
    parser.add_argument("--chains", type=int, default=10)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "nights.json")
    args = parser.parse_args()
    chosen = {"chains": args.chains, "repetitions": args.repetitions, "seed": args.seed}
    result = describe(MODULE) | chosen | {"sections": []}
    for name, share in product(args.pool or ["mq2008"], args.share or SHARES):
        pool, rows = load(name), []
        for model in args.model or MODELS:
            chains = [chain(pool, model, share, args.repetitions, args.seed + k) for k in range(args.chains)]
            rows += rows_of(model, chains, args.repetitions)
        title, figures = f"{pool.name}, fresh samples of {share:.0%}", figures_of(rows)
        result["sections"].append({"title": title, "share": share, "figures": figures, "nights": rows})
        show(title, figures)
    if args.out.exists():  # what `benchmarks.watched` has put beside
        result |= {name: rows for name, rows in json.loads(args.out.read_text()).items() if name == "watched"}
    store(args.out, result)


if __name__ == "__main__":
    main()
