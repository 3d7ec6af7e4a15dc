"""Two forecasts of one half-width beside what comes: ``python -m benchmarks.forecasters``.

Samples of judged pools, with a forest that was trained on other queries and the default method of each measure, are
read after a quarter of their budget. What is then expected of the t interval at the end of the budget, over what it is
once all is judged:

* *outlook*: the judged sample's own variance, which falls as planned (`activeeval.core.campaign.outlook`).
* *forecast*: the plan, rescaled by what that quarter teaches as a pilot (`activeeval.core.planning`).
* *plan*: the plan alone, which knows no label.

A figure is the root mean square of the logarithm of that ratio, 0 where each sample comes as expected; beside it are
the median, the 10 % and 90 % quantiles, and how many samples could not tell. Stores
benchmarks/results/forecasters.json.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from activeeval import Campaign
from activeeval.core.errors import ActiveEvalError
from benchmarks.frame.experiment import Experiment, Row
from benchmarks.frame.report import figure, section_tables
from benchmarks.planning import CASES, Question, questions
from benchmarks.pools import load

POOLS, MEASURES, OVERHEADS = ("mq2008", "ohsumed"), ("DCG@10", "ERR@10", "nDCG@10"), (0.0, 5.0)
SHARE, PART = 0.2, 0.25
"""The budget, of judging everything; how much of it is judged when the end is foreseen."""
FORECASTERS = ("outlook", "forecast", "plan")
Ratios = dict[str, list[float]]


def ratios(question: Question, repetitions: int) -> Ratios:
    """Return by forecaster the foreseen over the realised half-width of each sample; NaN where it cannot tell.

    Samples whose half-width at the end is 0 or infinite are left out.
    """
    plain = question.forecast(question.default)
    budget = SHARE * plain.cost
    by_forecaster: Ratios = {name: [] for name in FORECASTERS}
    if not plain.works(PART * budget):
        return by_forecaster
    design = question.design(question.default)
    for seed in range(repetitions):
        campaign = Campaign(design, budget, rng=seed, blocks=(PART * budget,))
        foreseen: dict[str, float] | None = None
        while (unit := campaign.ask()) is not None:
            if foreseen is None and campaign.complete_block[0] == 1:
                foreseen = _foreseen(question, campaign, budget)
            campaign.tell(unit, [int(question.grades[item]) for item in unit.items])
        interval = campaign.estimate().interval(0.95)
        realised = (interval.high - interval.low) / 2
        if foreseen is not None and 0 < realised < math.inf:
            for name, half_width in foreseen.items():
                by_forecaster[name].append(half_width / realised)
    return by_forecaster


def _foreseen(question: Question, campaign: Campaign, budget: float) -> dict[str, float]:
    """Forecast the half-width at the end by each forecaster, NaN where it cannot tell."""
    plain = question.forecast(question.default)
    try:
        lesson = question.planner.lesson(campaign.design, campaign.selection, campaign.grades)
        taught = plain.taught(lesson).at(budget).half_width()
    except ActiveEvalError:
        taught = math.nan
    return {"outlook": campaign.half_width_at_end(), "forecast": taught, "plan": plain.at(budget).half_width()}


def figures(name: str, by_forecaster: Ratios) -> Iterator[Row]:
    """Yield a figure for each forecaster, over the samples of which all of them say something."""
    table = np.array([by_forecaster[forecaster] for forecaster in FORECASTERS])
    tells = np.isfinite(table) & (table > 0)
    all_tell = tells.all(axis=0)
    if not all_tell.any():
        return
    for forecaster, row, row_tells in zip(FORECASTERS, np.log(np.where(tells, table, 1.0)), tells, strict=True):
        logs = row[all_tell]
        low, median, high = np.exp(np.quantile(logs, (0.1, 0.5, 0.9)))
        silent = int((~row_tells).sum())
        details = {"median": median, "low": low, "high": high, "samples": int(all_tell.sum()), "silent": silent}
        note = f"{median:.2f} times what came, {low:.2f} to {high:.2f} in four of five; {silent} say nothing"
        what = f"{name}, {forecaster}"
        yield figure(what, math.sqrt(np.mean(logs**2)), "rms of the log", note=note, of=forecaster, **details)


def joined(parts: Sequence[Ratios]) -> Ratios:
    """Return the ratios of several questions together."""
    return {name: [ratio for part in parts for ratio in part[name]] for name in FORECASTERS}


def measure(options: argparse.Namespace) -> Row:
    """Run all cells of the chosen pools."""
    by_pool: dict[str, list[Ratios]] = {}
    result: Row = {"overall": [], "cells": []}
    for key in options.pool:
        for question in questions(load(key), MEASURES, CASES[:2], OVERHEADS):
            of_cell = ratios(question, options.repetitions)
            by_pool.setdefault(key, []).append(of_cell)
            result["cells"] += figures(f"{question.name}, {question.default}", of_cell)
    together = {"all cells": joined(list(chain(*by_pool.values())))}
    together |= {pool: joined(parts) for pool, parts in by_pool.items()}
    result["overall"] = [row for name, parts in together.items() for row in figures(name, parts)]
    return result


def markdown(result: Row) -> str:
    """Write the figures of a result as tables."""
    return "\n".join(section_tables({name: {"title": name, "figures": result[name]} for name in ("overall", "cells")}))


EXPERIMENT = Experiment(__spec__, __doc__, measure, report=markdown, pool=POOLS, repetitions=16)


if __name__ == "__main__":
    EXPERIMENT.main()
