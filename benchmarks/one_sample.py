"""One sample read for many questions, read early, and what it spends: ``python -m benchmarks.one_sample``.

MQ2008, parts 2 to 5, a forest that learned on part 1. *Questions*: one sample for A, B, A - B and A@5 (RankBoost,
ListNet) against four samples of the same budget, each made for one of them. *Early*: the same sample read at the ends
of its blocks, quarters of the budget; and by the intervals that may look at every one of them. *Budget*: what samples
for one ranking and for two spend of a hard budget. Stores benchmarks/results/one-sample.json.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from activeeval import Target
from activeeval.core.simulation import Replications, replicate
from benchmarks.frame.experiment import Experiment, Options, Row
from benchmarks.frame.report import figure
from benchmarks.pools import OVERHEADS, POOLS, JudgedPool, load

SAMPLES = (("items", "DCG"), ("depth", "ERR"))
WEIGHTS = {None: "equal losses", "minimax": "minimax"}
"""How questions are balanced: the default, and what makes the largest loss of all least."""
SHARES = (0.05, 0.1, 0.2)
BUDGET_SHARE = 0.1
CUTOFF = 5
MOST_LOST, MOST_MISSED, LEAST_SPENT = 1.5, 5.5, 99
COVERAGE = {"at_least": 93, "at_most": 97}
ROUNDING = 1e-9


def questions(pool: JudgedPool, measure: str, overhead: float) -> dict[str, Target]:
    """Return A, B, A - B and A@5, all on one pool."""
    both = pool.target(measure, "two rankers", overhead)
    top = replace(both.measure, cutoff=CUTOFF)
    return {
        "A": Target(both.measure, both.ranking),
        "B": Target(both.measure, both.versus),
        "A - B": both,
        f"A@{CUTOFF}": Target(top, both.ranking),
    }


def rmse(found: Replications, truth: float) -> np.ndarray:
    """Return the root mean squared error at each budget."""
    return np.sqrt(np.mean((found.values - truth) ** 2, axis=0))


def covered(found: Replications, truth: float) -> np.ndarray:
    """Test whether intervals hold the truth, shape (repetitions, budgets)."""
    return (found.lows <= truth) & (truth <= found.highs)


def four_questions(pool: JudgedPool, overhead: float, repetitions: int, seed: int) -> Iterator[Row]:
    """Compare one sample with a sample for each question: the loss, and how often its intervals hold."""
    grades = pool.inputs.grades
    for (name, measure), (weights, said) in product(SAMPLES, WEIGHTS.items()):
        targets = questions(pool, measure, overhead)
        joint = pool.design(list(targets.values()), name, weights=weights)
        budgets = [share * joint.cost for share in SHARES]
        for question, target in targets.items():
            truth = pool.truth(target)
            one = replicate(joint, grades, budgets, repetitions, seed, target=target)
            alone = pool.design(target, name)
            own = replicate(alone, grades, budgets, repetitions, seed + 1)
            lost, held = rmse(one, truth) / rmse(own, truth), covered(one, truth).mean(axis=0)
            for k, share in enumerate(SHARES):
                what = f"{name}, {measure}, {said}, overhead {overhead:g}, {share:.0%}: {question}"
                note = f"its own judges {budgets[k] / alone.cost:.0%} of what it needs"
                yield figure(f"{what}, RMSE", lost[k], "own sample's", at_most=MOST_LOST, note=note)
                yield _share(f"{what}, coverage", held[k], repetitions, **COVERAGE)


def early_readings(pool: JudgedPool, overhead: float, repetitions: int, seed: int) -> Iterator[Row]:
    """Count how often intervals at the ends of blocks hold, and how often any of them misses."""
    for name, measure in SAMPLES:
        targets = questions(pool, measure, overhead)
        grades, joint = pool.inputs.grades, pool.design(list(targets.values()), name)
        joint = joint.with_budget(SHARES[-1] * joint.cost)
        for question, target in targets.items():
            truth = pool.truth(target)
            looks = {"target": target, "interval": "group-sequential"}
            found = replicate(joint, grades, joint.blocks, repetitions, seed, **looks)
            what = f"{name}, {measure}, overhead {overhead:g}: {question}"
            held = (np.abs(found.values - truth) <= found.half_widths()).mean(axis=0)
            for block, share in zip(joint.blocks, held, strict=True):
                yield _share(f"{what}, at {block / joint.blocks[-1]:.0%}", share, repetitions, **COVERAGE)
            missed = 1 - covered(found, truth).all(axis=1).mean()
            yield _share(f"{what}, missed at any look", missed, repetitions, at_most=MOST_MISSED)


def hard_budgets(pool: JudgedPool, overhead: float, repetitions: int, seed: int) -> Iterator[Row]:
    """Yield the largest and the mean part of a budget that samples spend."""
    for name, measure in (*SAMPLES, ("whole", "ERR")):
        for case in ("one ranking", "two rankers"):
            design = pool.design(pool.target(measure, case, overhead), name)
            budget = BUDGET_SHARE * design.cost
            spent = replicate(design, pool.inputs.grades, [budget], repetitions, seed).spent[:, 0] / budget
            what = f"{name}, {measure}, {case}, overhead {overhead:g}"
            within, note = np.mean(spent <= 1 + ROUNDING), f"at most {spent.max():.4%} spent"
            yield figure(f"{what}: runs within the budget", 100 * within, "%", at_least=100, note=note)
            note = f"± {spent.std(ddof=1):.2%} from run to run"
            yield figure(f"{what}: mean spend / budget", 100 * spent.mean(), "%", at_least=LEAST_SPENT, note=note)


def _share(what: str, share: float, repetitions: int, **bounds: float) -> Row:
    """Return the figure of a share of the repetitions, in per cent, with its Monte-Carlo standard error."""
    return figure(what, 100 * share, "%", **bounds, note=f"± {100 * np.sqrt(share * (1 - share) / repetitions):.2f}")


def section(options: Options, measure: Callable[..., Iterator[Row]]) -> Iterator[Row]:
    """Yield the figures of a section at every overhead."""
    pool = load(options.pool)
    for overhead in options.overhead:
        yield from measure(pool, overhead, options.repetitions, options.seed)


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    sections={
        name: (title, partial(section, measure=measure))
        for name, title, measure in (
            ("questions", "One sample for A, B, A - B and A@5 against four of the same budget", four_questions),
            ("early", "Read at the ends of blocks", early_readings),
            ("budget", f"A hard budget, {BUDGET_SHARE:.0%} of judging everything", hard_budgets),
        )
    },
    pool={"choices": list(POOLS), "default": "mq2008"},
    overhead=OVERHEADS,
    repetitions=2000,
    seed=1,
)


if __name__ == "__main__":
    EXPERIMENT.main()
