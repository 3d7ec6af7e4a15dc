"""A watch night after night without its store: the same draws, the same intervals, the model taught by its own labels.

Every step of `activeeval.monitoring` but the store and the judges: `case_of`, `in_hand`, `going_on`, `change_of`.
Forests have `TREES` trees in place of 100, for time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from joblib import parallel_config

from activeeval import Rankings, Target
from activeeval.core.answers import Answer
from activeeval.core.campaign import Campaign
from activeeval.core.design.carried_samples import going_on
from activeeval.core.grade_models import ForestGradeModel
from activeeval.core.pool import QueryPool, key_of
from activeeval.core.results import Estimate
from activeeval.formats.loading import load_run
from activeeval.formats.text.trec import Run
from activeeval.monitoring.cases import case_of
from activeeval.monitoring.night_outputs import ItemHistory, Pair, held_after, in_hand
from activeeval.monitoring.series import PLAIN, change_of, same_lists
from activeeval.monitoring.settings import Settings
from benchmarks.pools import JudgedPool, load
from benchmarks.watched import MEASURE
from benchmarks.watched_alarms import scores_of, settings_of, some_queries, value_of

TREES, LOST, TURNED, BEFORE_BAD = 15, 0.03, 0.25, 3
"""Trees; the share of items that is missing on a night, and of lists upside down on a bad one; nights before that."""
TONIGHT, BEFORE, FIRST = "tonight", "before", "first"


def run_of(pool: QueryPool, scores: np.ndarray) -> Run:
    """Make the run of some scores; NaN are not ranked."""
    run: dict[str, dict[str, float]] = {}
    for (query, doc), score in zip(pool.pairs_of(np.arange(pool.n_items)), scores.tolist(), strict=True):
        if score == score:
            run.setdefault(query, {})[doc] = score
    return load_run(run)


def value_by(pool: JudgedPool, scores: np.ndarray) -> float:
    """Compute the true value of the lists that scores make."""
    return value_of(pool, Rankings.from_scores(pool.inputs.pool, scores))


@dataclass(eq=False)
class Series:
    """A watch of a part of a judged pool, one night after the other."""

    whole: JudgedPool
    settings: Settings
    held: dict[Pair, ItemHistory] = field(default_factory=dict)
    labels: dict[Pair, int] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    truths: list[float] = field(default_factory=list)
    n_steps: int = 0
    n_labels: int = 0

    def night(self, scores: np.ndarray) -> Night:
        """Draw and read a night, and where it looks bad draw and read its labels on suspicion."""
        self.runs.append(run_of(self.whole.inputs.pool, scores))
        self.truths.append(value_by(self.whole, scores))
        n = self.n_labels
        taught = dict(self.labels)
        value, changes, looks_bad = self._step(self.settings.budget, 0, taught)
        alarms, value_first, is_more = _alarms(changes), value, False
        if looks_bad and self.settings.on_suspicion:
            value, changes, _ = self._step(self.settings.on_suspicion, 1, taught)
            alarms, is_more = _alarms(changes), True
        return Night(self.truths[-1], value_first, value, tuple(changes), alarms, is_more, self.n_labels - n)

    def going_on(self, settings: Settings) -> Series:
        """Copy the series as it is, to go on by other settings."""
        copied = {name: copy(getattr(self, name)) for name in ("held", "labels", "runs", "truths")}
        return replace(self, settings=settings, **copied)

    def _step(self, budget: float, look: int, taught: dict[Pair, int]) -> tuple[Estimate, list[Answer], bool]:
        settings, self.n_steps = self.settings, self.n_steps + 1
        runs = {TONIGHT: self.runs[-1]}
        if len(self.runs) > 1:
            runs[BEFORE] = self.runs[-2]
        if len(self.runs) > 2 and settings.reference == "first":
            runs[FIRST] = self.runs[0]
        case = case_of(runs, settings, {}, taught, self.whole.max_grade)
        asked = [
            each
            for each in case.asked(settings.measures, ["run", "difference"] if len(runs) > 1 else ["run"])
            if each.system == TONIGHT and (not each.versus or each.target.matters.any())
        ]
        pool = case.inputs.pool
        hand = in_hand(pool, self.held, self.labels)
        base = case.design(settings.method, [each.target for each in asked], weights="equal")
        design, probs = going_on(base, hand, budget)
        campaign = Campaign(design, key=int(key_of(settings.seed)))
        grades = self._grades(pool)
        while (unit := campaign.ask()) is not None:
            campaign.tell(unit, grades[list(unit.items)].tolist())
        new = [item for unit in campaign.units for item in unit.items]
        pairs = pool.pairs_of(np.array(new, dtype=int))
        self.labels |= dict(zip(pairs, grades[new].tolist(), strict=True)) if new else {}
        self.n_labels += len(new)
        self.held = held_after(pool, self.held, probs, {}, self.n_steps)
        names, changes, looks_bad = list(runs)[1:], [], False
        estimates = {each.versus: self._read(campaign, each.target) for each in asked}
        targets = {each.versus: each.target for each in asked}
        for name in names:
            if name not in estimates:
                changes.append(same_lists(TONIGHT, name, MEASURE, settings, pool.n_queries))
                continue
            confidence = settings.confidence(len(names), look)
            changes.append(change_of(TONIGHT, name, campaign, targets[name], estimates[name], settings, confidence))
            plain = estimates[name][settings.scope]
            is_below = plain.bounds(plain.interval(PLAIN))[1] < 0
            looks_bad |= changes[-1].verdict == "undecided" and is_below
        return estimates[""][settings.scope], changes, looks_bad

    def _read(self, campaign: Campaign, target: Target) -> dict[str, Estimate]:
        return {scope: campaign.estimate(target, scope=scope) for scope in ("pool", "population")}

    def _grades(self, pool: QueryPool) -> np.ndarray:
        all_of_it = self.whole.inputs.pool
        pairs = all_of_it.pairs_of(np.arange(all_of_it.n_items))
        known = dict(zip(pairs, self.whole.inputs.grades.tolist(), strict=True))
        return np.array([known[pair] for pair in pool.pairs_of(np.arange(pool.n_items))])


@dataclass(frozen=True, slots=True)
class Night:
    """A night of a series: the true value, what was read of it, its changes, and what it took."""

    truth: float
    value_first: Estimate
    value: Estimate
    changes: tuple[Answer, ...]
    alarm: bool
    is_more: bool
    n_labels: int


def _alarms(changes: list[Answer]) -> bool:
    return any(change.verdict == "worse" for change in changes)


@contextmanager
def small_forests() -> Iterator[None]:
    """Let forests have few trees, grown one after the other."""
    made = ForestGradeModel.__init__
    before = made.__defaults__
    assert before is not None
    made.__defaults__ = (TREES, *before[1:])
    try:
        with parallel_config(backend="sequential"):
            yield
    finally:
        made.__defaults__ = before


def world(n_queries: int, seed: int) -> tuple[JudgedPool, np.ndarray, np.random.Generator]:
    """Draw queries of MQ2008; return this part, scores that rank its items, and what later chances come from."""
    part = some_queries(_mq2008(), n_queries, np.random.default_rng(seed))
    return part, scores_of(part.inputs.ranking), np.random.default_rng(seed)


@cache
def _mq2008() -> JudgedPool:
    return load("mq2008")


def settings_of_part(part: JudgedPool, seed: int, margin: float) -> Settings:
    """Return the settings of a watch of a part, without labels on suspicion."""
    return settings_of(100.0, margin, max_grade=part.max_grade, seed=seed, budget_on_suspicion=0.0)


def bad_nights(seeds: Iterable[int], n_queries: int) -> tuple[np.ndarray, np.ndarray]:
    """Test for alarms, shape (n_seeds, without or with suspicion, that night or by the next).

    And the share of the value that is lost on the bad nights, shape (n_seeds,). The nights before are the same in both,
    none of them with labels on suspicion.
    """
    found, losses = [], []
    for seed in seeds:
        part, scores, rng = world(n_queries, seed)
        upside_down = (rng.random(n_queries) < TURNED)[part.inputs.pool.item_queries]
        turned = np.where(upside_down, -scores, scores)
        best = value_by(part, scores)
        losses.append(1 - value_by(part, turned) / best)
        nights = [scores] * BEFORE_BAD + [turned] * 2
        nights = [np.where(rng.random(each.size) < LOST, np.nan, each) for each in nights]
        series, rows = Series(part, settings_of_part(part, seed, losses[-1] * best / 3)), []
        with small_forests():
            for scores in nights[:BEFORE_BAD]:
                series.night(scores)
            for on_suspicion in (0.0, 200.0):
                then = series.going_on(replace(series.settings, budget_on_suspicion=on_suspicion))
                alarms = [then.night(scores).alarm for scores in nights[BEFORE_BAD:]]
                rows.append([alarms[0], any(alarms)])
        found.append(rows)
        print(seed, f"{losses[-1]:.3f}", rows, flush=True)
    return np.array(found), np.array(losses)


def quiet_values(seeds: Iterable[int], n_nights: int, n_queries: int) -> np.ndarray:
    """Test whether the intervals of values hold, shape (n_seeds, n_nights)."""
    held = []
    for seed in seeds:
        part, scores, rng = world(n_queries, seed)
        series, row = Series(part, settings_of_part(part, seed, 0.1)), []
        with small_forests():
            for _ in range(n_nights):
                night = series.night(np.where(rng.random(scores.size) < LOST, np.nan, scores))
                low, high = night.value.bounds(night.value.interval(PLAIN))
                row.append(low <= night.truth <= high)
        held.append(row)
        print(seed, "".join(".x"[not ok] for ok in row), flush=True)
    return np.array(held)
