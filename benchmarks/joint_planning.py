"""Plans of one sample for several questions beside what its samples show; section *joint* of `benchmarks.planning`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from activeeval import METHODS, Target, parse_measure
from activeeval.core.design.methods import default_method
from activeeval.core.errors import ActiveEvalError
from activeeval.core.planning import Forecast, PilotRatios, Planner
from activeeval.core.simulation import replicate
from activeeval.formats.loading import load_qrels, load_run
from activeeval.inputs.loading import from_tables
from activeeval.inputs.modelling import GradeBeliefs, believe, uniform_beliefs
from activeeval.inputs.prepared_case import target_weights
from benchmarks.few_topics import lightgbm_test, robust03
from benchmarks.frame.experiment import Options
from benchmarks.frame.report import Row, figure
from benchmarks.machine import data_folder
from benchmarks.pools import SEED, JudgedPool, generated, judged, load

INSIDE = (0.75, 0.9)
SHARES, PILOT_QUERIES, PILOTS = (0.1, 0.25), 50.0, 5
ENOUGH = 20.0
"""Judged queries from which on a cell counts, as in benchmarks/results/coverage.md."""
MODELS = ("learned", "given", "uniform")


@dataclass(frozen=True)
class Asked:
    """Questions of one sample: measures, of the difference and of each ranking, and how they are balanced."""

    measures: tuple[str, ...]
    questions: tuple[str, ...]
    weights: str = "equal"

    def __str__(self) -> str:
        what = f"{' + '.join(self.measures)}, {' + '.join(self.questions)}"
        return what if self.weights == "equal" else f"{what}, {self.weights}"

    def targets(self, pool: JudgedPool) -> list[Target]:
        """Return the questions as targets of one pool, in the order in which a sample has them."""
        whole = pool.target(self.measures[0], "two rankers", 0.0)
        pairs = {"difference": (whole.ranking, whole.versus), "run": (whole.ranking, None)}
        pairs["versus"] = (whole.other, None)
        return [
            Target(parse_measure(measure).bound_to(pool.max_grade), *pairs[question])
            for measure, question in product(self.measures, self.questions)
        ]


ASKED = (
    Asked(("DCG@10",), ("difference", "run", "versus")),
    Asked(("DCG@10", "nDCG@10"), ("difference",)),
    Asked(("DCG@10", "ERR@10"), ("difference", "run"), "minimax"),
)


def dl_passages() -> JudgedPool:
    """Return the 53 judged queries of TREC Deep Learning 2021, first 50 ranks of two runs of thirty; a third trains."""
    home = data_folder() / "dl-passage-llm"
    paths = sorted((home / "runs-dl21").glob("*.run.gz"))
    first = [path for path in paths if path.name.split(".")[0] in ("p_tct0", "paug_bm25")]
    runs = [load_run(str(path)) for path in (*first, *(path for path in paths if path not in first))]
    qrels = load_qrels(str(home / "human.dl21.qrels.gz"))
    whole = from_tables(qrels, runs, evaluated=2, unjudged="irrelevant").cut_at(50)
    inputs = whole.held_out(1 / 3, np.random.default_rng(SEED))
    beliefs = believe(inputs, "forest", 3, np.random.default_rng(SEED), n_jobs=-1)
    assert inputs.versus is not None
    return JudgedPool("DL passages", inputs, inputs.versus, beliefs, 3)


POOLS: dict[str, tuple[Callable[[], JudgedPool], bool]] = {
    "mq2008": (partial(load, "mq2008"), False),
    "mq2007-agg": (partial(load, "mq2007-agg"), False),
    "ohsumed": (partial(load, "ohsumed"), False),
    "lightgbm": (partial(load, "lightgbm"), True),
    "lightgbm test": (lightgbm_test, True),
    "robust03": (robust03, True),
    "dl-passages": (dl_passages, True),
    "generated": (partial(generated, n_queries=660), False),
}
"""And whether plans were never calibrated on them."""


def of_model(pool: JudgedPool, model: str) -> JudgedPool:
    """Return a pool with another model than the learned one: its word alone, given by somebody, or none."""
    if model == "learned":
        return pool
    if model == "uniform":
        return replace(pool, beliefs=uniform_beliefs(pool.inputs.pool.n_items, pool.max_grade))
    return replace(pool, beliefs=GradeBeliefs(pool.beliefs.probs))


def joint(key: str, options: Options) -> Iterator[Row]:
    """Count the samples of joint questions of a pool whose half-widths lie within the planned ranges."""
    load_pool, is_unseen = POOLS[key]
    pool = load_pool()
    for model, asked in product(MODELS, ASKED):
        try:
            yield from _rows(of_model(pool, model), model, asked, options, is_unseen=is_unseen)
        except ActiveEvalError as problem:
            print(f"{pool.name}, {model}, {asked}: {problem}", flush=True)


def _rows(pool: JudgedPool, model: str, asked: Asked, options: Options, *, is_unseen: bool) -> Iterator[Row]:
    targets = asked.targets(pool)
    name = default_method(*(target.measure for target in targets)).name
    planner = pool.planner(targets, weights=target_weights(asked.weights, len(targets)))
    forecasts, design = planner.rehearsed(METHODS[name]), planner.designs(METHODS[name])[0]
    grades = np.maximum(pool.inputs.grades, 0)
    budgets = [share * design.cost for share in SHARES if forecasts[0].works(share * design.cost)]
    if not budgets:
        return
    arguments: Any = (design, grades, budgets, options.repetitions, options.seed)
    halves = [replicate(*arguments, target=target).half_widths() for target in targets]
    lessons = _lessons(planner, design, forecasts[0], grades)
    for which, budget in enumerate(budgets):
        planned = [forecast.at(budget) for forecast in forecasts]
        if planned[0].queries < ENOUGH:
            continue
        common = {"model": model, "is_unseen": is_unseen, "asked": str(asked), "method": name}
        cell = f"{pool.name}, {model}, {asked}, {name}, {budget / design.cost:.0%}"
        shown = [of_target[:, which] for of_target in halves]
        yield _figure(cell, [prospect.half_widths() for prospect in planned], shown, planned, common)
        taught = [
            [forecast.taught(lesson).at(budget) for forecast, lesson in zip(forecasts, each, strict=True)]
            for each in lessons
        ]
        if taught:
            ranges = [prospect.half_widths() for each in taught for prospect in each]
            common |= {"of": "after a pilot", "pilots": len(taught)}
            yield _figure(
                f"{cell}, after a pilot",
                ranges,
                shown * len(taught),
                [prospect for each in taught for prospect in each],
                common,
            )


def _figure(
    name: str, ranges: Sequence[tuple[float, float]], halves: Sequence[Any], planned: Sequence[Any], common: Row
) -> Row:
    """Return the share of half-widths within ranges, the mean over questions and pilots."""
    pairs = list(zip(ranges, halves, strict=True))
    below = float(np.mean([np.mean(of_target < low) for (low, _), of_target in pairs]))
    above = float(np.mean([np.mean(of_target > high) for (_, high), of_target in pairs]))
    ratios = [np.median(of_target) / each.half_width() for of_target, each in zip(halves, planned, strict=True)]
    of_plan, width = float(np.exp(np.mean(np.log(ratios)))), float(np.mean([high / low for low, high in ranges]))
    note = f"{below:.2f} below, {above:.2f} above; {of_plan:.2f} times the plan; high over low {width:.2f}"
    details = {"below": below, "above": above, "of_plan": of_plan, "width": width, "note": note}
    return figure(name, 1 - below - above, "inside", **details, queries=planned[0].queries, **common)


def _lessons(planner: Planner, design: Any, forecast: Forecast, grades: Any) -> list[list[PilotRatios]]:
    """Learn from pilots of one joint sample, by question; leave out those that say nothing of one."""
    n = min(PILOT_QUERIES, design.pool.n_queries / 4)
    lowest, highest = forecast.least, forecast.cost
    while highest - lowest > 0.01:
        middle = (lowest + highest) / 2
        lowest, highest = (lowest, middle) if forecast.at(middle).queries > n else (middle, highest)
    lessons = []
    for seed in range(PILOTS):
        campaign = judged(design, grades, 10_000 + seed, highest)
        try:
            arguments = (campaign.design, campaign.selection, campaign.grades)
            lessons.append([planner.lesson(*arguments, which) for which in range(len(planner.targets))])
        except ActiveEvalError:
            continue
    return lessons


def overall(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the mean over cells of each model, without a pilot and after one, and of collections never seen before."""
    kinds: list[tuple[str, Callable[[Row], bool]]] = [("all", lambda row: True)]
    kinds += [(model, lambda row, model=model: row["model"] == model) for model in MODELS]
    kinds += [("unseen collections", lambda row: row["is_unseen"])]
    kinds += [
        (f"unseen, {model}", lambda row, model=model: row["is_unseen"] and row["model"] == model) for model in MODELS
    ]
    kinds += [(str(asked), lambda row, asked=asked: row["asked"] == str(asked)) for asked in ASKED]
    for (kind, belongs), is_taught in product(kinds, (False, True)):
        chosen = [row for row in rows if belongs(row) and ("of" in row) == is_taught]
        if chosen:
            low, middle, high = np.quantile([row["of_plan"] for row in chosen], (0.1, 0.5, 0.9))
            above = np.mean([row["above"] for row in chosen])
            note = f"{len(chosen)} cells; {above:.2f} above; half-widths {middle:.2f} times the plan, "
            note += f"{low:.2f} to {high:.2f} in four of five"
            what = f"joint, {kind}{', after a pilot' if is_taught else ''}"
            bounds = dict(zip(("at_least", "at_most"), INSIDE, strict=True))
            yield figure(what, np.mean([row["value"] for row in chosen]), "inside", **bounds, note=note)
