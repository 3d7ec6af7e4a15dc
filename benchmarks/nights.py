"""Ten nights of index updates, the labels of all earlier nights known: ``python -m benchmarks.nights``.

Each night 3 % of the items, by chance, are missing from the index, and those of the night before are back. The
question is DCG@10 of tonight's ranking less last night's, over this pool, by `items` without overheads. Night by night
a budget is looked for at which the mean half-width of intervals is that of a sample drawn afresh for the same night at
a share of judging everything; a sample of that budget is drawn, its labels are known from then on. Coverage is that of
repetitions on each night, given what is known. Stores benchmarks/results/nights.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby, product
from typing import Any

import numpy as np

from activeeval import Target, parse_measure
from activeeval.core.design import Design
from activeeval.core.pool import Rankings
from activeeval.core.simulation import replicate
from activeeval.inputs.loading import Inputs
from activeeval.inputs.modelling import GradeBeliefs, believe, uniform_beliefs
from benchmarks.frame.experiment import Experiment, Row, stored
from benchmarks.frame.report import figure, figures_table, plus_minus, show, table
from benchmarks.pools import POOLS, JudgedPool, judged, load

REMOVED, NIGHTS = 0.03, 10
STEPS = np.array([0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2])
MODELS = ("uniform, then learned from what is known", "a forest trained elsewhere", "uniform")
SHARES = (0.1, 0.2)
MOST, COVERED = 0.6, (93, 97)
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
    """Choose the beliefs of a night."""
    if model == MODELS[1]:
        return pool.beliefs
    taught = replace(inputs, training=None).taught_by(known)
    if model == MODELS[2] or taught.training is None:
        return uniform_beliefs(inputs.pool.n_items, pool.max_grade)
    return believe(taught, "forest", pool.max_grade, np.random.default_rng(seed), n_jobs=-1)


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
    """Run one night; return its labels, and the grades that are known after it."""
    inputs, nothing = pool.inputs, np.full(known.size, -1)
    grades = inputs.grades
    fresh = pool.design(target, "items", beliefs_of(pool, inputs, model, nothing, seed), judged=None)
    design = pool.design(target, "items", beliefs_of(pool, inputs, model, known, seed), judged=known)
    budget = np.floor(share * fresh.cost)
    width = float(widths(fresh, grades, np.array([budget]), repetitions, seed)[0])
    budgets = np.unique(np.maximum(np.round(STEPS * budget), 2.0))
    equal = round(equal_budget(budgets, widths(design, grades, budgets, repetitions, seed + 1), width))
    found = replicate(design, grades, [equal], repetitions, seed + 2, n_jobs=-1)
    truth = float(inputs.pool.query_probs @ target.values(grades))
    held = float(np.mean((found.lows <= truth) & (truth <= found.highs)))
    return Night(float(budget), float(equal), held), np.maximum(known, judge(design.with_budget(equal), seed, grades))


def by_library(design: Design, seed: int, grades: np.ndarray) -> np.ndarray:
    """Judge a sample; return the grade of each item, −1 where the sample does not ask for it."""
    return judged(design, grades, seed).grades


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
    """Make the figures with targets, for each model."""
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
    """Write the tables of a result: labels over those of a fresh sample of equal width, and coverage in per cent."""
    from benchmarks import watched

    lines = [f"{result['chains']} chains of ten nights, {result['repetitions']:,} repetitions a night.", ""]
    for section in result["sections"]:
        models = list(dict.fromkeys(row["model"] for row in section["nights"]))
        cells = {
            (row["night"], row["model"]): f"{plus_minus(row['ratio'], row['ratio_se'])}, {row['coverage']:.1f} %"
            for row in section["nights"]
        }
        body = [[night, *(cells[night, model] for model in models)] for night in range(1, NIGHTS + 1)]
        lines += [f"### {section['title']}", "", *figures_table(section["figures"]), ""]
        lines += [*table(["night", *models], body), ""]
    return "\n".join([*lines, *(watched.markdown(result["watched"]) if "watched" in result else [])])


def measure(options: argparse.Namespace) -> Row:
    """Measure every model at every share; what `benchmarks.watched` has put beside is kept."""
    sections = []
    for name, share in product(options.pool or ["mq2008"], options.share):
        pool, rows = load(name), []
        for model in options.model:
            seeds = range(options.seed, options.seed + options.chains)
            chains = [chain(pool, model, share, options.repetitions, seed) for seed in seeds]
            rows += rows_of(model, chains, options.repetitions)
        title, figures = f"{pool.name}, fresh samples of {share:.0%}", figures_of(rows)
        sections.append({"title": title, "share": share, "figures": figures, "nights": rows})
        show(title, figures)
    return {"sections": sections} | {key: value for key, value in stored(options.out).items() if key == "watched"}


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    measure,
    pool={"action": "append", "choices": tuple(POOLS), "help": "repeatable; mq2008 by default"},
    model=MODELS,
    share=SHARES,
    chains=10,
    repetitions=400,
    seed=1,
)


if __name__ == "__main__":
    EXPERIMENT.main()
