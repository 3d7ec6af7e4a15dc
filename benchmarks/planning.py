"""What is planned beside what happens: ``python -m benchmarks.planning``.

On judged pools, with a forest that was trained on other queries, for passive and the default method of each measure:

* *prediction*: the half-width to expect at a tenth of what judging everything costs over 1.96 times the root mean
  squared error of repetitions, and over the mean half-width of their intervals; no pilot.
* *pilots*: the same of the default after a pilot of 50 queries, the median error over pilots.
* *power*: the budget that should detect the true difference of two rankings with power 0.8, and how often it does; with
  a pilot of 50 queries the mean over pilots, each of which plans a budget of its own.
* *time*: a plan of a generated pool of 31,531 queries, every method, in seconds of the clock and of the processor.

Stores benchmarks/results/planning.json; sections that are not run again are kept.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from activeeval import METHODS, Campaign, Rankings, Target, parse_measure
from activeeval.design import Design
from activeeval.errors import ActiveEvalError
from activeeval.generated import generate_pool
from activeeval.methods import default_method, fitting_methods
from activeeval.planning import Forecast, Goal, Planner
from activeeval.session.modelling import uniform_beliefs
from activeeval.simulation import Replications, replicate
from benchmarks.machine import ROOT, describe, figure, figures_table, show, store
from benchmarks.pools import JudgedPool, generated, load

MODULE = "benchmarks.planning"
POOLS = ("mq2008", "mq2007-agg", "generated")
MEASURES = ("DCG", "DCG@10", "ERR@10", "nDCG@10")
CASES = ("one ranking", "two rankers", "index update")
OVERHEADS = (0.0, 1.0, 5.0)
SHARE, PILOT_QUERIES, POWER = 0.1, 50.0, 0.8
OFF, OFF_AFTER_PILOT, POWERS = 0.3, 0.15, (0.75, 0.88)
DETECTABLE = (0.03, 0.8)
"""Shares of judging everything between which a budget for the true difference is tried: elsewhere the difference is so
large that any sample shows it, or so small that nearly everything has to be judged."""
LARGE, LARGE_SECONDS = 31531, 60
GENERATED = 660
"""Queries of the generated pool, an eleventh of which trains."""
NORMAL = 1.959963984540054
Row = dict[str, Any]


class Question:
    """A target of a judged pool with its planner, and what repetitions of its designs show."""

    def __init__(self, pool: JudgedPool, measure: str, case: str, overhead: float) -> None:
        self.pool, self.name = pool, f"{pool.name}, {measure}, {case}, overhead {overhead:g}"
        self.target = pool.target(measure, case, overhead)
        self.grades, n_grades = pool.workload.grades, pool.max_grade + 1
        self.truth = float(self.target.pool.query_probs @ self.target.values(self.grades))
        self.planner = Planner(
            targets=[self.target],
            believed=lambda method: pool.beliefs.for_method(method, n_grades),
            max_grade=pool.max_grade,
            held_out=pool.beliefs.held_out,
        )
        self.default = default_method(self.target.measure).name

    @cache  # noqa: B019  (a question lives as long as its figures are made)
    def forecast(self, name: str) -> Forecast:
        """Return the forecast of a method."""
        return self.planner.rehearsed(METHODS[name])[0]

    @cache  # noqa: B019  (a question lives as long as its figures are made)
    def design(self, name: str) -> Design:
        """Return a method's design."""
        method, n_grades = METHODS[name], self.pool.max_grade + 1
        believed = self.pool.beliefs.for_method(method, n_grades)
        return method.design(self.target, **believed, max_grade=self.pool.max_grade)

    def replayed(self, name: str, budget: float, repetitions: int, seed: int) -> Replications:
        """Return repetitions of a method at a budget."""
        return replicate(self.design(name), self.grades, [budget], repetitions, seed)

    def rmse(self, name: str, budget: float, repetitions: int, seed: int) -> float:
        """Return the root mean squared error at a budget."""
        run = self.replayed(name, budget, repetitions, seed)
        return float(np.sqrt(np.mean((run.values - self.truth) ** 2)))


def questions(pool: JudgedPool, measures: tuple[str, ...], cases: tuple[str, ...]) -> Iterator[Question]:
    """Yield every question of a pool."""
    for measure, case, overhead in product(measures, cases, OVERHEADS):
        yield Question(pool, measure, case, overhead)


def predictions(pool: JudgedPool, options: argparse.Namespace) -> Iterator[Row]:
    """Yield planned half-widths over what repetitions show."""
    for one in questions(pool, MEASURES, CASES):
        for name in ("passive", one.default):
            budget = SHARE * one.forecast("passive").cost
            planned = one.forecast(name).at(budget).half_width()
            run = one.replayed(name, budget, options.repetitions, options.seed)
            rmse = float(np.sqrt(np.mean((run.values - one.truth) ** 2)))
            halves = run.half_widths()
            shown = planned / float(np.mean(halves[np.isfinite(halves)]))
            bounds = {"at_least": 1 - OFF, "at_most": 1 + OFF}
            yield figure(f"{one.name}, {name}", planned / (NORMAL * rmse), "1.96 rmse", **bounds, of_intervals=shown)


def pilots(pool: JudgedPool, options: argparse.Namespace) -> Iterator[Row]:
    """Yield the median error of half-widths that are rescaled by a pilot."""
    for one in questions(pool, MEASURES, CASES[:2]):
        plain = one.forecast(one.default)
        goal_budget, budget = SHARE * plain.cost, _budget_of_queries(plain, PILOT_QUERIES)
        realised = one.rmse(one.default, goal_budget, options.repetitions, options.seed)
        errors, untold = [], 0
        for seed in range(options.pilots):
            campaign = judged_campaign(one, budget, seed)
            try:
                lesson = one.planner.lesson(campaign.design, campaign.selection, campaign.grades)
            except ActiveEvalError:
                untold += 1
                continue
            scaled = plain.taught(lesson)
            errors.append(abs(np.sqrt(scaled.at(goal_budget).of_pool) / realised - 1))
        before = abs(np.sqrt(plain.at(goal_budget).of_pool) / realised - 1)
        details = {"before": before, "ninth_tenth": float(np.quantile(errors, 0.9)), "say_nothing": untold}
        yield figure(f"{one.name}, {one.default}", np.median(errors), "off", at_most=OFF_AFTER_PILOT, **details)


def _budget_of_queries(forecast: Forecast, n_queries: float) -> float:
    """Return the budget at which so many queries are judged on average."""
    lowest, highest = forecast.least, forecast.cost
    while highest - lowest > 0.01:
        middle = (lowest + highest) / 2
        lowest, highest = (lowest, middle) if forecast.at(middle).queries > n_queries else (middle, highest)
    return highest


def judged_campaign(one: Question, budget: float, seed: int) -> Campaign:
    """Return a campaign of the default method that was judged to its end."""
    campaign = Campaign(one.design(one.default), budget, rng=10_000 + seed)
    while (unit := campaign.ask()) is not None:
        campaign.tell(unit, [int(one.grades[item]) for item in unit.items])
    return campaign


def powers(pool: JudgedPool, options: argparse.Namespace) -> Iterator[Row]:
    """Yield how often a budget that was planned for it detects the true difference, without a pilot and with one."""
    for one in questions(pool, MEASURES, CASES[1:]):
        goal = Goal(difference=abs(one.truth), power=POWER)
        forecast = one.forecast(one.default)
        needed = goal.budget(forecast)
        if needed is None or not DETECTABLE[0] * forecast.cost <= needed <= DETECTABLE[1] * forecast.cost:
            continue
        bounds = {"at_least": POWERS[0], "at_most": POWERS[1]}
        share = needed / forecast.cost
        found = detected(one, needed, options.repetitions, options.seed)
        yield figure(f"{one.name}, {one.default}", found, "power", **bounds, share=share)
        if (taught := _after_pilots(one, goal, options)) is not None:
            yield figure(f"{one.name}, {one.default}, after a pilot", taught, "power", **bounds)


def detected(one: Question, budget: float, repetitions: int, seed: int) -> float:
    """Return in which share of repetitions the interval leaves out 0 on the side of the true difference."""
    run = one.replayed(one.default, budget, repetitions, seed)
    return float(np.mean(run.lows > 0 if one.truth > 0 else run.highs < 0))


def _after_pilots(one: Question, goal: Goal, options: argparse.Namespace) -> float | None:
    """Return the mean power of budgets that pilots have planned; None where most of them say nothing."""
    plain, found = one.forecast(one.default), []
    budget = _budget_of_queries(plain, PILOT_QUERIES)
    for seed in range(options.pilots // 5):
        campaign = judged_campaign(one, budget, seed)
        try:
            lesson = one.planner.lesson(campaign.design, campaign.selection, campaign.grades)
        except ActiveEvalError:
            continue
        needed = goal.budget(plain.taught(lesson))
        if needed is not None:
            found.append(detected(one, needed, max(options.repetitions // 10, 20), options.seed + seed))
    return float(np.mean(found)) if len(found) > options.pilots // 10 else None


def large_plan(options: argparse.Namespace) -> Iterator[Row]:
    """Yield how long every method's plan takes for a large pool, two rankings, from the grade model on."""
    made = generate_pool(LARGE, 1)
    rng, score = np.random.default_rng(0), made.features[:, 0]
    lists = [Rankings.from_scores(made.pool, score + x * rng.standard_normal(score.size)) for x in (1.0, 1.2)]
    beliefs = uniform_beliefs(made.pool.n_items, 4)
    for text in ("DCG@10", "ERR@10", "nDCG@10"):
        target = Target(parse_measure(text).bound_to(4), *lists)
        started, processor = time.perf_counter(), time.process_time()
        planner = Planner(targets=[target], believed=lambda method: beliefs.for_method(method, 5), max_grade=4)
        names = fitting_methods(target.measure)
        for name in names:
            forecast = planner.forecasts(METHODS[name])[0]
            half = [forecast.at(share * forecast.cost).half_width() for share in (0.02, 0.05, 0.1, 0.2, 0.4)]
            assert Goal(half_width=half[2]).budget(forecast)
        details = {"processor": time.process_time() - processor, "methods": len(names)}
        what, seconds = f"{text}, {LARGE} queries, {made.pool.n_items} items", time.perf_counter() - started
        yield figure(what, seconds, "s", at_most=LARGE_SECONDS, **details)


OF_POOLS: dict[str, Callable[[JudgedPool, argparse.Namespace], Iterator[Row]]] = {
    "prediction": predictions,
    "pilots": pilots,
    "power": powers,
}
SECTIONS = (*OF_POOLS, "time")


def markdown(result: dict[str, Any]) -> str:
    """Return the figures of a result as tables."""
    parts = []
    for name in SECTIONS:
        rows = result.get(name, [])
        if rows:
            reached = sum(row["reached"] for row in rows)
            table = "\n".join(figures_table(rows))
            parts.append(f"### {name}\n\n{reached} of {len(rows)} within what was to be reached.\n\n{table}")
    return "\n\n".join(parts)


def main() -> None:
    """Run the sections that the options choose, beside what is stored."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=SECTIONS, help="repeatable; all by default")
    parser.add_argument("--pool", action="append", choices=POOLS, help="repeatable; all by default")
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--pilots", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "planning.json")
    options = parser.parse_args()
    chosen = options.only or SECTIONS
    stored = json.loads(options.out.read_text()) if options.out.exists() else {}
    result = describe(MODULE) | {name: [] if name in chosen else stored.get(name, []) for name in SECTIONS}
    for key in options.pool or POOLS:
        pool = generated(n_queries=GENERATED) if key == "generated" else load(key)
        for name in (name for name in OF_POOLS if name in chosen):
            rows = list(OF_POOLS[name](pool, options))
            show(f"{name}, {pool.name}", rows)
            result[name] += rows
            store(options.out, result)
    if "time" in chosen:
        result["time"] = list(large_plan(options))
        show("time", result["time"])
    store(options.out, result)


if __name__ == "__main__":
    main()
