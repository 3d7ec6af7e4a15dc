"""Half-widths by segment: what the least budget saves over a sample that knows of none, and whether samples get there.

MQ2008, RankBoost's ranking, a forest trained on one part of five. Four segments by chance hold about 50, 30, 15 and 5 %
of the queries; each is to come to the same half-width, twice the one that an ordinary sample of 15 % of everything
plans for all queries. *In proportion*: the ordinary sample, large enough that every segment gets there. Samples are
replayed on the real labels: the mean half-width over the one asked for (1 is as planned, the model may be wrong), and
how often the intervals of all four segments, of 95 % together, hold the truth at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from activeeval import replicate
from activeeval.core.design.methods import default_method
from activeeval.core.interval_ends import t_quantile
from activeeval.core.planning import BoundedPlan, Goal, Planner, least_budget
from benchmarks.frame.experiment import Experiment, Options, Row
from benchmarks.frame.report import figure
from benchmarks.pools import SEED, JudgedPool, load

SHARES = (0.5, 0.3, 0.15, 0.05)
MEASURES, OVERHEADS = ("DCG@10", "ERR@10", "nDCG@10"), (0.0, 1.0, 5.0)
CONFIDENCE = 0.95
BUDGET, WIDER = 0.15, 2.0


def planned(pool: JudgedPool, measure: str, overhead: float) -> tuple[Planner, BoundedPlan, float]:
    """Plan equal half-widths of all segments; return planner, plan and half-width."""
    whole = pool.target(measure, "one ranking", overhead)
    segments = np.random.default_rng(SEED).choice(len(SHARES), whole.pool.n_queries, p=SHARES)
    parts = [replace(whole, within=segments == k) for k in range(len(SHARES))]
    method = default_method(whole.measure)
    planner = pool.planner([whole, *parts])
    weights = [1.0] + [0.0] * len(SHARES)
    ordinary = planner.weighing(weights).rehearsed(method)[0]
    half_width = WIDER * ordinary.at(BUDGET * ordinary.cost).half_width()
    each = 1 - (1 - CONFIDENCE) / len(SHARES)
    goals = {k + 1: Goal(half_width=half_width, confidence=each) for k in range(len(SHARES))}
    plan = least_budget(planner, method, goals, weights, lambda which, _: AssertionError(which))
    return planner, plan, half_width


def rows(pool: JudgedPool, options: Options) -> Iterator[Row]:
    """Plan and replay samples, cell by cell."""
    for measure, overhead in product(MEASURES, OVERHEADS):
        planner, plan, half_width = planned(pool, measure, overhead)
        cell, cost = f"{measure}, overhead {overhead:g}", plan.forecasts[0].cost
        note = f"{plan.budget:,.0f} against {plan.alike:,.0f} of {cost:,.0f}; half-widths {half_width:.3g}"
        saved = plan.budget / plan.alike
        yield figure(f"{cell}: least budget over in proportion", saved, "times", at_most=1.0, note=note)
        yield from _shown(planner, plan, half_width, pool, cell, options)


def _shown(
    planner: Planner, plan: BoundedPlan, half_width: float, pool: JudgedPool, cell: str, options: Options
) -> Iterator[Row]:
    """Replay samples of a plan, and compare the segments with it."""
    method, grades = default_method(planner.targets[0].measure), np.maximum(pool.inputs.grades, 0)
    design = planner.weighing(plan.weights.tolist()).designs(method)[0]
    each, halves, hold = 1 - (1 - CONFIDENCE) / len(SHARES), [], np.ones(options.repetitions, dtype=bool)
    for target in planner.targets[1:]:
        runs = replicate(design, grades, [plan.budget], options.repetitions, options.seed, target=target)
        freedom = np.maximum(runs.degrees_of_freedom[:, 0], 1.0)
        wide = t_quantile(each, freedom) * np.sqrt(runs.variances[:, 0])
        p = np.where(target.within, planner.targets[0].pool.query_probs, 0.0)
        truth = p @ target.values(grades) / p.sum()
        hold &= np.abs(runs.values[:, 0] - truth) <= wide + 1e-12
        halves.append(float(np.mean(wide)) / half_width)
    shown = ", ".join(f"{share:.0%}: {half:.2f}" for share, half in zip(SHARES, halves, strict=True))
    yield figure(f"{cell}: mean half-width over asked", float(np.mean(halves)), "times", note=f"by segment {shown}")
    of = "of 95 % together"
    yield figure(f"{cell}: all four intervals hold", float(hold.mean()), "share", at_least=0.93, note=of)


TITLE = "Four segments by chance, about 50, 30, 15 and 5 % of MQ2008, each to come to the same half-width"
EXPERIMENT = Experiment(
    __spec__, __doc__, sections={"segments": (TITLE, lambda o: rows(load("mq2008"), o))}, repetitions=400, seed=2014
)


if __name__ == "__main__":
    EXPERIMENT.main()
