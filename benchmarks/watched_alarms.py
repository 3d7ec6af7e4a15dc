"""Alarms of a watch: false ones over ninety quiet nights, and how many nights a loss takes to be found.

Both go by the rule of a watch: an alarm where the interval of tonight less an earlier night, over queries like these,
at confidence 1 − 2 · .05 / (nights · measures · runs) lies below 0. Pools are parts of MQ2008, DCG@10, beliefs of a
forest that was trained elsewhere; each night 3 % of the items are missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from activeeval import Rankings, Target, parse_measure
from activeeval.design import Design
from activeeval.design.carried import InHand, going_on
from activeeval.design.methods import METHODS
from activeeval.errors import StateError
from activeeval.estimation import estimate, evidence_of
from activeeval.pool import hashed_uniforms, key_of, pool_hashes
from activeeval.simulation import replicate
from benchmarks.machine import figure
from benchmarks.nights import REMOVED
from benchmarks.pools import JudgedPool, load
from benchmarks.watched import selections

HORIZON, FALSE = 90, 0.05
DROPS, BEFORE, AFTER, BUDGETS = (0.01, 0.02, 0.03, 0.05), 10, 30, (60.0, 150.0, 400.0)
Row = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """A part of a pool: its ranking, grades and beliefs."""

    whole: JudgedPool
    ranking: Rankings
    grades: np.ndarray
    probs: np.ndarray
    scores: np.ndarray

    @classmethod
    def of(cls, whole: JudgedPool, queries: np.ndarray) -> Part:
        """Return the part of some queries."""
        pool, items = whole.inputs.pool.subset(queries)
        ranking = whole.inputs.ranking.restricted_to(pool, items)
        model = whole.beliefs.for_method(METHODS["items"], whole.max_grade + 1)
        return cls(whole, ranking, whole.inputs.grades[items], model["grade_probs"][items], scores_of(ranking))

    def design(self, targets: list[Target]) -> Design:
        """Return the design of some questions."""
        return METHODS["items"].design(targets, self.probs)

    def target(self, ranking: Rankings, versus: Rankings | None = None) -> Target:
        """Return a question."""
        return Target(parse_measure("DCG@10").bound_to(self.whole.max_grade), ranking, versus)

    def numbers(self, seed: int, n_keys: int) -> np.ndarray:
        """Return the fixed numbers of items under each key, shape (n_keys, n_items)."""
        items = pool_hashes(self.ranking.pool)[1]
        return np.array([hashed_uniforms(int(key_of(10_000 * seed + k)), items, 1)[0] for k in range(n_keys)])

    def worse(self, share: float, seed: int) -> Rankings:
        """Return the ranking with so much noise that it loses a share of its DCG@10."""
        noise = np.random.default_rng(seed).standard_normal(self.scores.size)
        best = self.value(self.ranking)
        low, high = 0.0, 50.0
        for _ in range(40):
            middle = (low + high) / 2
            lost = 1 - self.value(Rankings.from_scores(self.ranking.pool, self.scores + middle * noise)) / best
            low, high = (middle, high) if lost < share else (low, middle)
        return Rankings.from_scores(self.ranking.pool, self.scores + high * noise)

    def value(self, ranking: Rankings) -> float:
        """Return the true value of a ranking."""
        return float(ranking.pool.query_probs @ self.target(ranking).values(self.grades))


def scores_of(ranking: Rankings) -> np.ndarray:
    """Return scores by which items rank as they do: minus their ranks."""
    scores = np.full(ranking.pool.n_items, np.nan)
    sizes = np.diff(ranking.offsets)
    scores[ranking.items] = -(np.arange(ranking.items.size) - np.repeat(ranking.offsets[:-1], sizes)).astype(float)
    return scores


def uppers(design: Design, k: int, grades: np.ndarray, numbers: np.ndarray, confidence: float) -> np.ndarray:
    """Return the upper end of question k over queries like these under each key; infinite where none can be given."""
    reading = design.readings[k]
    judge, ends = reading.judge(grades), []
    for selection in selections(design, numbers):
        try:
            said = estimate(evidence_of(design, reading, judge, selection), "items", "population")
        except StateError:
            ends.append(np.inf)
            continue
        ends.append(said.bounds(said.interval(confidence))[1])
    return np.array(ends)


def quiet_series(part: Part, seed: int, n_keys: int, n_nights: int, budget: float) -> np.ndarray:
    """Return on which nights of each series there was an alarm, shape (n_nights, n_keys); there is nothing to find."""
    rngs = [np.random.default_rng((seed, night)) for night in range(n_nights + 1)]
    lists = [part.ranking.without(REMOVED, rng) for rng in rngs]
    numbers, hand = part.numbers(seed, n_keys), InHand.nothing(part.ranking.pool.n_items)
    confidence = 1 - 2 * FALSE / HORIZON
    alarms = np.zeros((n_nights, n_keys), dtype=bool)
    for night in range(n_nights):
        change = part.target(lists[night + 1], lists[night])
        targets = [part.target(lists[night + 1]), *([change] if night and change.matters.any() else [])]
        design, probs = going_on(part.design(targets), hand, budget)
        hand = replace(hand, probs=probs)
        if len(targets) > 1:
            alarms[night] = uppers(design, 1, part.grades, numbers, confidence) < 0
    return alarms


def found_after(part: Part, seed: int, drop: float, n_keys: int, budget: float) -> tuple[np.ndarray, np.ndarray]:
    """Return on which night after a lasting loss the watch, and the gate, first raise an alarm against the first night.

    The loss comes on the night after `BEFORE` nights; nights are counted from 1, `AFTER` + 1 stands for later ones.
    """
    rng = np.random.default_rng((seed, 99))
    good, bad = part.ranking, part.worse(drop, seed)
    numbers, hand = part.numbers(seed, n_keys), InHand.nothing(part.ranking.pool.n_items)
    confidence = 1 - 2 * FALSE / (2 * HORIZON)
    first = last = good.without(REMOVED, rng)
    watch, gate = np.full(n_keys, AFTER + 1), np.full(n_keys, AFTER + 1)
    for night in range(1, BEFORE + AFTER + 1):
        since = night - BEFORE
        tonight = first if night == 1 else (bad if since > 0 else good).without(REMOVED, rng)
        targets = [part.target(tonight)]
        if night > 1:
            targets += [part.target(tonight, last), part.target(tonight, first)]
        design, probs = going_on(part.design(targets), hand, budget)
        hand, last = replace(hand, probs=probs), tonight
        if since > 0:
            is_found = uppers(design, 2, part.grades, numbers, confidence) < 0
            watch[is_found & (watch > AFTER)] = since
            alarms = gate_alarms(part, tonight, first, budget, n_keys, 1000 * seed + night, confidence)
            gate[alarms & (gate > AFTER)] = since
            if (watch <= AFTER).all() and (gate <= AFTER).all():
                break
    return watch, gate


def gate_alarms(
    part: Part, tonight: Rankings, first: Rankings, budget: float, n_keys: int, seed: int, confidence: float
) -> np.ndarray:
    """Return whether two separate samples, of a night's budget each, give an alarm, shape (n_keys,).

    Their variances over these queries add up; that of the queries is counted for the true difference query by query,
    which favours the gate.
    """
    from scipy.stats import norm

    values, variances = np.zeros(n_keys), np.zeros(n_keys)
    for sign, ranking in ((1, tonight), (-1, first)):
        design = part.design([part.target(ranking)])
        drawn = replicate(design, part.grades, [budget], n_keys, seed + sign)
        values += sign * drawn.values[:, 0]
        variances += drawn.variances[:, 0]
    differences = part.target(tonight, first).values(part.grades)
    p = part.ranking.pool.query_probs
    variances += float(p**2 @ (differences - p @ differences) ** 2)
    return values + norm.ppf((1 + confidence) / 2) * np.sqrt(variances) < 0


def quiet_section(seed: int, n_pools: int, n_keys: int, n_nights: int, n_queries: int) -> Row:
    """Return how many series had a false alarm."""
    whole, rng = load("mq2008"), np.random.default_rng(seed)
    budget, alarmed, by_pool = 0.25 * n_queries, [], []
    for k in range(n_pools):
        queries = np.sort(rng.choice(whole.inputs.pool.n_queries, n_queries, replace=False))
        alarms = quiet_series(Part.of(whole, queries), seed + k, n_keys, n_nights, budget)
        alarmed += alarms.any(axis=0).tolist()
        by_pool.append(float(100 * alarms.any(axis=0).mean()))
    error = 100 * float(np.std(np.array(by_pool) / 100, ddof=1) / np.sqrt(n_pools)) if n_pools > 1 else float("nan")
    note = (
        f"± {error:.2f} over {n_pools} pools of {n_queries} queries with {n_keys} keys each; {budget:g} labels a night"
    )
    figures = [figure("series with a false alarm", 100 * np.mean(alarmed), "%", note=note, at_most=100 * FALSE)]
    return {"title": f"{len(alarmed):,} series of {n_nights} quiet nights", "figures": figures, "by_pool": by_pool}


def delay_section(seed: int, n_pools: int, n_keys: int, budget: float, drops: tuple[float, ...] = DROPS) -> Row:
    """Return how many nights a lasting loss takes to be found."""
    whole, rows = load("mq2008"), []
    part = Part.of(whole, np.arange(whole.inputs.pool.n_queries))
    for drop in drops:
        pairs = [found_after(part, seed + k, drop, n_keys, budget) for k in range(n_pools)]
        watch, gate = (np.concatenate([pair[k] for pair in pairs]) for k in (0, 1))
        row: Row = {"drop": f"{drop:.0%}", "if all were judged, z": surest(part, drop, seed, n_pools)}
        for name, nights in (("watch", watch), ("gate", gate)):
            row |= {f"{name}: median nights": float(np.median(nights)), f"{name}: mean nights": float(nights.mean())}
            row[f"{name}: within {AFTER}"] = f"{np.mean(nights <= AFTER):.0%}"
        rows.append(row)
    figures = [
        figure(
            f"nights to find a drop of {row['drop']}: watch over gate",
            row["watch: mean nights"] / row["gate: mean nights"],
            "",
            note=f"later than {AFTER} counts as {AFTER + 1}",
            **({"at_most": 0.5} if row["drop"] == "3%" else {}),
        )
        for row in rows
    ]
    return {"title": f"MQ2008, a lasting loss, {budget:g} labels a night", "figures": figures, "delays": rows}


def surest(part: Part, drop: float, seed: int, n_pools: int) -> float:
    """Return by how many standard errors over queries a loss would stand out were everything judged, on average."""
    p, ratios = part.ranking.pool.query_probs, []
    for k in range(n_pools):
        differences = part.target(part.worse(drop, seed + k), part.ranking).values(part.grades)
        mean = p @ differences
        ratios.append(mean / np.sqrt(p**2 @ (differences - mean) ** 2))
    return float(np.mean(ratios))


def alarm_sections(seed: int, *, quick: bool) -> Iterator[Row]:
    """Yield false alarms."""
    yield quiet_section(seed, 2, 4, 4, 30) if quick else quiet_section(seed, 20, 100, HORIZON, 80)


def delay_sections(seed: int, *, quick: bool) -> Iterator[Row]:
    """Yield delays, for several budgets."""
    if quick:
        yield delay_section(seed, 1, 4, 60.0, (0.05,))
        return
    for budget in BUDGETS:
        yield delay_section(seed, 3, 20, budget)
