"""What is planned beside what happens: ``python -m benchmarks.planning``.

On judged pools, with a forest that was trained on other queries, for passive and the default method of each measure:

* *ranges*: the share of samples whose half-width lies within the range of the plan, at three budgets; no pilot. Beside
  it, how many lie below and above, the median half-width over the planned one, and the width of the range.
* *few*: the same with forests of 15, 30 and 60 training queries, a mean over cells, and with the uniform model.
* *pilots*: how far off the root mean squared error is after a pilot of 50 queries, the median over pilots, and the
  share of samples within the ranges.
* *power*: the budget that should detect the true difference of two rankings with power 0.8, and how often it does; with
  a pilot of 50 queries the mean over pilots, each of which plans a budget of its own.
* *joint*: one sample for several questions, learned, given and uniform models, without a pilot and after one, on these
  pools and on ones on which plans were never calibrated: `benchmarks.joint_planning`.
* *overall*: the same over all cells of what is stored.
* *time*: a plan of a generated pool of 31,531 queries, every method, in seconds of the clock and of the processor.

Stores benchmarks/results/planning.json; sections that are not run again are kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import product

import numpy as np

from activeeval import METHODS, Rankings, Target, parse_measure
from activeeval.core.design import Design
from activeeval.core.design.methods import default_method, fitting_methods
from activeeval.core.errors import ActiveEvalError
from activeeval.core.planning import Forecast, Goal, PilotRatios, Planner
from activeeval.core.pool.generated import generate_pool
from activeeval.core.simulation import Replications, replicate
from activeeval.inputs.modelling import GradeBeliefs, believe, uniform_beliefs
from benchmarks import joint_planning
from benchmarks.frame.experiment import Experiment, Options, Row, stored
from benchmarks.frame.report import figure
from benchmarks.pools import CASES, OVERHEADS, JudgedPool, generated, judged, load

POOLS = ("mq2008", "mq2007-agg", "ohsumed", "generated")
MEASURES = ("DCG", "DCG@10", "ERR@10", "nDCG@10")
SHARE, SHARES, PILOT_QUERIES, POWER = 0.1, (0.05, 0.1, 0.2), 50.0, 0.8
INSIDE, OFF_AFTER_PILOT, LEAST_POWER, IN_TEN = (0.75, 0.9), 0.15, 0.75, 0.9
FEW, SEEDS = (15, 30, 60), 3
"""Training queries of forests that have few, and how many of each are drawn; 0 queries: the uniform model."""
DETECTABLE = (0.03, 0.8)
"""Shares of judging everything between which a budget for the true difference is tried: elsewhere the difference is so
large that any sample shows it, or so small that nearly everything has to be judged."""
LARGE, LARGE_SECONDS = 31531, 60
GENERATED = 660
"""Queries of the generated pool, an eleventh of which trains."""


class Question:
    """A target of a judged pool with its planner, and what repetitions of its designs show."""

    def __init__(self, pool: JudgedPool, measure: str, case: str, overhead: float) -> None:
        self.pool, self.name = pool, f"{pool.name}, {measure}, {case}, overhead {overhead:g}"
        self.target = pool.target(measure, case, overhead)
        self.grades = pool.inputs.grades
        self.truth = pool.truth(self.target)
        self.planner = pool.planner([self.target])
        self.default = default_method(self.target.measure).name

    @cache  # noqa: B019  (a question lives as long as its figures are made)
    def forecast(self, name: str) -> Forecast:
        """Return the forecast of a method."""
        return self.planner.rehearsed(METHODS[name])[0]

    def design(self, name: str) -> Design:
        """Return a method's design."""
        return self.pool.design(self.target, name, max_grade=self.pool.max_grade)

    def replayed(self, name: str, budget: float, repetitions: int, seed: int) -> Replications:
        """Repeat a method at a budget."""
        return replicate(self.design(name), self.grades, [budget], repetitions, seed)

    def pilots(self, n: int) -> Iterator[PilotRatios | None]:
        """Judge pilots of the default method, and yield what each teaches; None where it says nothing."""
        budget = budget_of_queries(self.forecast(self.default), PILOT_QUERIES)
        for seed in range(n):
            campaign = judged(self.design(self.default), self.grades, 10_000 + seed, budget)
            try:
                yield self.planner.lesson(campaign.design, campaign.selection, campaign.grades)
            except ActiveEvalError:
                yield None


def questions(
    pool: JudgedPool, measures: tuple[str, ...], cases: tuple[str, ...], overheads: tuple[float, ...] = OVERHEADS
) -> Iterator[Question]:
    """Yield every question of a pool."""
    return (Question(pool, *question) for question in product(measures, cases, overheads))


def budget_of_queries(forecast: Forecast, n_queries: float) -> float:
    """Find the budget at which a number of queries is judged on average."""
    lowest, highest = forecast.least, forecast.cost
    while highest - lowest > 0.01:
        middle = (lowest + highest) / 2
        lowest, highest = (lowest, middle) if forecast.at(middle).queries > n_queries else (middle, highest)
    return highest


def ranges(pool: JudgedPool, options: Options) -> Iterator[Row]:
    """Count the samples whose half-widths lie within the planned range."""
    for one in questions(pool, MEASURES, CASES):
        for name, share in (*product([one.default], SHARES), ("passive", SHARE)):
            if (found := inside(one, name, share, options)) is not None:
                yield found


def inside(one: Question, name: str, share: float, options: Options) -> Row | None:
    """Count the samples of a share of judging everything within their range; None where it is too little."""
    forecast = one.forecast(name)
    budget = share * forecast.cost
    if not forecast.works(budget):
        return None
    planned = forecast.at(budget)
    halves = one.replayed(name, budget, options.repetitions, options.seed).half_widths()
    low, high = planned.half_widths()
    of_plan, width = float(np.median(halves)) / planned.half_width(), high / low
    below, above = float(np.mean(halves < low)), float(np.mean(halves > high))
    note = f"{below:.2f} below, {above:.2f} above; {of_plan:.2f} times the plan; high over low {width:.2f}"
    details = {"below": below, "above": above, "of_plan": of_plan, "width": width, "note": note}
    return figure(f"{one.name}, {name}, {share:.0%}", 1 - below - above, "inside", **details)


def few(pool: JudgedPool, options: Options) -> Iterator[Row]:
    """Yield ranges, and powers, of models that have learned from few queries or none."""
    if pool.inputs.training is None:
        return
    for n, seed in ((0, 0), *product(FEW, range(SEEDS))):
        if n < np.unique(pool.inputs.training.queries).size:
            own = replace(pool, name=f"{pool.name}, {n} queries, {seed}", beliefs=_beliefs_of(pool, n, seed))
            for one in questions(own, MEASURES[1:], CASES, (0.0, 5.0)):
                yield from filter(None, [inside(one, one.default, SHARE, options)])
                yield from _detected(one, options) if one.target.versus is not None else ()


def _beliefs_of(pool: JudgedPool, n: int, seed: int) -> GradeBeliefs:
    """Train a forest on n of the training queries; return its beliefs."""
    rows = pool.inputs.training
    if not n or rows is None:
        return uniform_beliefs(pool.inputs.pool.n_items, pool.max_grade)
    rng = np.random.default_rng((n, seed, 7))
    is_taken = np.isin(rows.queries, rng.choice(np.unique(rows.queries), n, replace=False))
    taken = {name: getattr(rows, name)[is_taken] for name in ("features", "grades", "queries")}
    inputs = replace(pool.inputs, training=replace(rows, **taken, scores=None))
    return believe(inputs, "forest", pool.max_grade, np.random.default_rng(seed), n_jobs=-1)


def pilots(pool: JudgedPool, options: Options) -> Iterator[Row]:
    """Yield the median error of half-widths that are rescaled by a pilot."""
    for one in questions(pool, MEASURES, CASES[:2]):
        plain = one.forecast(one.default)
        goal_budget = SHARE * plain.cost
        run = one.replayed(one.default, goal_budget, options.repetitions, options.seed)
        realised, halves = float(np.sqrt(np.mean((run.values - one.truth) ** 2))), run.half_widths()
        errors, within, untold = [], [], 0
        for lesson in one.pilots(options.pilots):
            if lesson is None:
                untold += 1
                continue
            scaled = plain.taught(lesson).at(goal_budget)
            errors.append(abs(np.sqrt(scaled.of_pool) / realised - 1))
            low, high = scaled.half_widths()
            within.append(float(np.mean((low <= halves) & (halves <= high))))
        if not errors:  # everything is judged by then
            continue
        before = abs(np.sqrt(plain.at(goal_budget).of_pool) / realised - 1)
        details = {"before": before, "ninth_tenth": float(np.quantile(errors, 0.9)), "say_nothing": untold}
        details |= {"inside": float(np.mean(within)), "note": f"{np.mean(within):.2f} inside"}
        yield figure(f"{one.name}, {one.default}", np.median(errors), "off", at_most=OFF_AFTER_PILOT, **details)


def powers(pool: JudgedPool, options: Options) -> Iterator[Row]:
    """Count how often a planned budget detects the true difference, without a pilot and with one."""
    for one in questions(pool, MEASURES, CASES[1:]):
        for row in _detected(one, options):
            yield row
            if (taught := _after_pilots(one, Goal(difference=abs(one.truth), power=POWER), options)) is not None:
                name = f"{one.name}, {one.default}, after a pilot"
                yield figure(name, taught, "power", at_least=LEAST_POWER, of="after a pilot")


def _detected(one: Question, options: Options) -> Iterator[Row]:
    """Yield the power of the budget for the true difference, where that is neither plain nor out of reach."""
    forecast, difference = one.forecast(one.default), abs(one.truth)
    needed = Goal(difference=difference, power=POWER).budget(forecast)
    if needed is not None and DETECTABLE[0] * forecast.cost <= needed <= DETECTABLE[1] * forecast.cost:
        found = detected(one, needed, options.repetitions, options.seed)
        planned, (low, high) = forecast.at(needed), forecast.at(needed).powers(difference)
        details = {"share": needed / forecast.cost, "planned": planned.power(difference), "low": low, "high": high}
        note = f"planned {details['planned']:.2f}, {low:.2f} to {high:.2f}, at {details['share']:.0%} of everything"
        yield figure(f"{one.name}, {one.default}", found, "power", at_least=LEAST_POWER, note=note, **details)


def detected(one: Question, budget: float, repetitions: int, seed: int) -> float:
    """Compute the share of repetitions whose interval leaves out 0 on the side of the true difference."""
    run = one.replayed(one.default, budget, repetitions, seed)
    return float(np.mean(run.lows > 0 if one.truth > 0 else run.highs < 0))


def _after_pilots(one: Question, goal: Goal, options: Options) -> float | None:
    """Return the mean power of budgets that pilots have planned; None where most of them say nothing."""
    plain, found = one.forecast(one.default), []
    for seed, lesson in enumerate(one.pilots(options.pilots // 5)):
        if lesson is None:
            continue
        needed = goal.budget(plain.taught(lesson))
        if needed is not None:
            found.append(detected(one, needed, max(options.repetitions // 10, 20), options.seed + seed))
    return float(np.mean(found)) if len(found) > options.pilots // 10 else None


def large_plan(options: Options) -> Iterator[Row]:
    """Time every method's plan for a large pool, two rankings, from the grade model on."""
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


def overall(options: Options) -> Iterator[Row]:
    """Yield figures over all cells of the sections that are stored."""
    cells = {name: section["figures"] for name, section in stored(options.out).get("sections", {}).items()}
    for name, unit in product(("ranges", "few", "power"), ("inside", "power")):
        rows = [row for row in cells.get(name, []) if row["unit"] == unit]
        for kind in sorted({_kind(row) for row in rows}):
            own = [row for row in rows if _kind(row) == kind]
            values = np.array([row["value"] for row in own])
            if unit == "power":
                note = f"{len(own)} cells; median {np.median(values):.2f}, least {values.min():.2f}"
                what = f"{name}, {kind}: cells of .75 or more"
                yield figure(what, np.mean(values >= LEAST_POWER), "of cells", at_least=IN_TEN, note=note)
                continue
            low, middle, high = np.quantile([row["of_plan"] for row in own], (0.1, 0.5, 0.9))
            note = f"{len(own)} cells; half-widths {middle:.2f} times the plan, {low:.2f} to {high:.2f} in four of five"
            bounds = dict(zip(("at_least", "at_most"), INSIDE, strict=True))
            yield figure(f"{name}, {kind}", values.mean(), "inside", **bounds, note=note)
    yield from joint_planning.overall(cells.get("joint", []))


def _kind(row: Row) -> str:
    """Name the cells that a figure is put together with."""
    parts = row["what"].split(", ")
    kind = next((part for part in parts if part.endswith(" queries")), "")
    return ", ".join(filter(None, [kind, "passive" if "passive" in parts else "default", row.get("of", "")]))


@cache
def pool_of(key: str) -> JudgedPool:
    """Return a pool by its name, the generated one smaller than elsewhere."""
    return generated(n_queries=GENERATED) if key == "generated" else load(key)


def on_pools(options: Options, measure: Callable[[JudgedPool, Options], Iterator[Row]]) -> Iterator[Row]:
    """Measure a section on the chosen pools."""
    for key in (key for key in options.pool or POOLS if key in POOLS):
        yield from measure(pool_of(key), options)


def joint(options: Options) -> Iterator[Row]:
    """Measure plans of several questions on the chosen pools."""
    for key in options.pool or joint_planning.POOLS:
        yield from joint_planning.joint(key, options)


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    sections={
        **{
            name: (name.capitalize(), partial(on_pools, measure=measure))
            for name, measure in (("ranges", ranges), ("few", few), ("pilots", pilots), ("power", powers))
        },
        "joint": ("Joint", joint),
        "time": ("Time", large_plan),
        "overall": ("Overall", overall),
    },
    pool={"action": "append", "choices": sorted({*POOLS, *joint_planning.POOLS}), "help": "repeatable"},
    repetitions=1000,
    pilots=200,
    seed=1,
)


if __name__ == "__main__":
    EXPERIMENT.main()
