"""Ten nights of index updates, the labels of all earlier nights known: ``python -m benchmarks.nights``.

Each night 3 % of the items, by chance, are missing from the index, and those of the night before are back. The
question is DCG@10 of tonight's ranking less last night's, over this pool, by `items` without overheads. Night by night
a budget is looked for at which the mean half-width of intervals is that of a sample drawn afresh for the same night at
a share of judging everything; a sample of that budget is drawn, its labels are known from then on. Coverage is that of
repetitions on each night, given what is known. Stores benchmarks/results/nights.json.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from activeeval import Campaign, Target, parse_measure
from activeeval.design import Design
from activeeval.methods import METHODS
from activeeval.pool import Rankings
from activeeval.session.modelling import GradeBeliefs, believe, uniform_beliefs
from activeeval.session.workload import Workload
from activeeval.simulation import replicate
from benchmarks.machine import ROOT, describe, figure, figures_table, show, store
from benchmarks.pools import POOLS, JudgedPool, load

MODULE = "benchmarks.nights"
REMOVED, NIGHTS = 0.03, 10
STEPS = np.array([0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2])
MODELS = ("uniform, then learned from what is known", "a forest trained elsewhere", "uniform")
MOST = 0.6
COVERAGE = {"at_least": 93, "at_most": 97}
Row = dict[str, Any]


@dataclass(frozen=True)
class Night:
    """What one night took: labels, the share of those of a fresh sample at equal width, and how often it covered."""

    fresh: float
    labels: float
    covered: float


def beliefs_of(pool: JudgedPool, workload: Workload, model: str, known: np.ndarray, seed: int) -> GradeBeliefs:
    """Return what is believed on a night."""
    if model == MODELS[1]:
        return pool.beliefs
    taught = replace(workload, training=None).taught_by(known)
    if model == MODELS[2] or taught.training is None:
        return uniform_beliefs(workload.pool.n_items, pool.max_grade)
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
    pool: JudgedPool, model: str, target: Target, known: np.ndarray, share: float, repetitions: int, seed: int
) -> tuple[Night, np.ndarray]:
    """Return what a night took, and what is known after it."""
    workload, nothing = pool.workload, np.full(known.size, -1)
    grades = workload.grades
    fresh = designed(pool, beliefs_of(pool, workload, model, nothing, seed), target, None)
    design = designed(pool, beliefs_of(pool, workload, model, known, seed), target, known)
    budget = np.floor(share * fresh.cost)
    width = float(widths(fresh, grades, np.array([budget]), repetitions, seed)[0])
    budgets = np.unique(np.maximum(np.round(STEPS * budget), 2.0))
    equal = round(equal_budget(budgets, widths(design, grades, budgets, repetitions, seed + 1), width))
    found = replicate(design, grades, [equal], repetitions, seed + 2, n_jobs=-1)
    truth = float(workload.pool.query_probs @ target.values(grades))
    held = float(np.mean((found.lows <= truth) & (truth <= found.highs)))
    campaign = Campaign(design.with_budget(equal), rng=seed)
    while (unit := campaign.ask()) is not None:
        campaign.tell(unit, grades[list(unit.items)].tolist())
    return Night(float(budget), float(equal), held), np.maximum(known, campaign.grades)


def chain(pool: JudgedPool, model: str, share: float, repetitions: int, seed: int) -> list[Night]:
    """Return ten nights, one after the other."""
    workload = pool.workload
    known, nights = np.full(workload.pool.n_items, -1), []
    rngs = [np.random.default_rng((seed, night)) for night in range(NIGHTS + 1)]
    lists: list[Rankings] = [workload.ranking.without(REMOVED, rng) for rng in rngs]
    measure = parse_measure("DCG@10").bound_to(pool.max_grade)
    for night in range(1, NIGHTS + 1):
        target = Target(measure, lists[night], lists[night - 1])
        done, known = one_night(pool, model, target, known, share, repetitions, 1000 * seed + 10 * night)
        nights.append(done)
    return nights


def rows_of(model: str, chains: list[list[Night]], repetitions: int) -> list[Row]:
    """Return the figures of every night."""
    rows = []
    for k in range(NIGHTS):
        own = [nights[k] for nights in chains]
        ratio = np.array([night.labels / night.fresh for night in own])
        covered = np.array([night.covered for night in own])
        error = ratio.std(ddof=1) / np.sqrt(ratio.size) if ratio.size > 1 else np.nan
        note = f"± {error:.3f}, {np.mean([night.labels for night in own]):.0f} labels"
        bound = {"at_most": MOST} if k == NIGHTS - 1 else {}
        rows.append(figure(f"{model}: night {k + 1}, labels", ratio.mean(), "of fresh", note=note, **bound))
        error = 100 * np.sqrt(covered.mean() * (1 - covered.mean()) / (covered.size * repetitions))
        rows.append(
            figure(f"{model}: night {k + 1}, coverage", 100 * covered.mean(), "%", note=f"± {error:.2f}", **COVERAGE)
        )
    return rows


def markdown(result: dict[str, Any]) -> str:
    """Return the tables of a result."""
    lines = [f"{result['chains']} chains of ten nights, {result['repetitions']:,} repetitions a night.", ""]
    for section in result["sections"].values():
        lines += [f"### {section['title']}", "", *figures_table(section["figures"]), ""]
    return "\n".join(lines)


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pool", action="append", choices=tuple(POOLS), help="repeatable; mq2008 by default")
    parser.add_argument("--model", action="append", choices=MODELS, help="repeatable; all by default")
    parser.add_argument("--share", type=float, default=0.2, help="of judging everything, of a fresh sample")
    parser.add_argument("--chains", type=int, default=10)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "nights.json")
    args = parser.parse_args()
    result = describe(MODULE) | {
        "share": args.share,
        "chains": args.chains,
        "repetitions": args.repetitions,
        "seed": args.seed,
    }
    result["sections"] = {}
    for name in args.pool or ["mq2008"]:
        pool, rows = load(name), []
        for model in args.model or MODELS:
            chains = [chain(pool, model, args.share, args.repetitions, args.seed + k) for k in range(args.chains)]
            rows += rows_of(model, chains, args.repetitions)
        title = f"{pool.name}: labels of a night over those of a fresh sample of equal width"
        result["sections"][name] = {"title": title, "figures": rows}
        show(title, rows)
    store(args.out, result)


if __name__ == "__main__":
    main()
