"""Advice that is followed: ``python -m benchmarks.advice``.

A sample of MQ2008 is read, and where the difference of its two rankers is open the top-up that is advised is drawn, up
to three times (`activeeval.planning.deciding`). Labels are those of the collection; the estimate is shifted so that the
true difference is 0, or a half, three quarters or the whole of the mean half-width of the first reading. Items design,
a forest that was trained on other queries, a tenth of the budget of judging everything.

* of d > 0: how many of the differences that were open are decided after one advised top-up, beside the mean chance that
  the advice prints; how many top-ups add nothing to judge, and would be refused.
* of d = 0: false verdicts over a first reading and three advised top-ups, beside those of plain intervals.
* ranges: how many of the top-ups that bring the half-width below what is wanted are within what was printed.

Stores benchmarks/results/advice.json.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from activeeval.answers import Needed
from activeeval.campaign.outlook import Outlook
from activeeval.design import Design, Selection
from activeeval.estimation import confidence_after, evaluate, evidence_of, half_widths
from activeeval.planning.deciding import needed_of_outlook
from activeeval.pool import key_of, known_digest, pool_hashes
from benchmarks.machine import ROOT, describe, figure, section_tables, show, store
from benchmarks.planning import Question
from benchmarks.pools import load

MODULE = "benchmarks.advice"
POOL, MEASURES, SHARE, CONFIDENCE = "mq2008", ("DCG@10", "P@10"), 0.1, 0.95
TRUE = (0.5, 0.75, 1.0)
"""True differences, as shares of the mean half-width of the first reading."""
MOST_LOOKS = 4
OFF, ERROR = 0.1, 0.05
Row = dict[str, Any]


@dataclass
class Sample:
    """A sample that grows as it is advised, read for a difference that is shifted by a number."""

    design: Design
    grades: np.ndarray
    seed: int
    shift: float
    budget: float
    is_plain: bool = False
    variances: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.key = key_of(
            np.random.SeedSequence(self.seed), known_digest(pool_hashes(self.design.pool)[1], self.design.known)
        )
        self.read()

    def units(self, budget: float) -> Selection:
        """Return what a budget judges."""
        return self.design.scheme.drawn(self.design.order, self.key, [budget], expected=False)

    def read(self) -> None:
        """Read the sample at its budget."""
        drawn = self.units(self.budget)
        self.n_units, self.selection = drawn.block_ends[0], drawn.selection(drawn.block_ends[0])
        reading = self.design.reading()
        now = evaluate(evidence_of(self.design, reading, reading.judge(self.grades), self.selection))
        self.value = now.value + self.shift
        looks = [] if self.is_plain else self.variances
        each = confidence_after((*looks, now.variance), CONFIDENCE)
        self.half = float(half_widths(np.array(now.variance), np.array(now.degrees_of_freedom), each))
        self.variances.append(now.variance)

    @property
    def is_open(self) -> bool:
        """Whether the interval holds 0."""
        return abs(self.value) <= self.half

    def advice(self) -> Needed | None:
        """Return what should decide it."""
        before = [] if self.is_plain else self.variances[:-1]
        outlook = Outlook.of(self.design, self.selection, self.grades, None, "pool", before)
        least = self.design.scheme.least(self.design.order)
        return needed_of_outlook(outlook, abs(self.value), CONFIDENCE, budget=self.budget, least=least)

    def top_up(self, more: float) -> bool:
        """Add to the budget; return whether that adds something to judge."""
        before, self.budget = self.n_units, self.budget + more
        self.read()
        return self.n_units > before


def question(measure: str) -> tuple[Question, Design, float]:
    """Return a question with its design and first budget."""
    one = Question(load(POOL), measure, "two rankers", 0.0)
    design = one.design("items")
    return one, design, SHARE * design.cost


def decided(one: Question, design: Design, budget: float, repetitions: int) -> Iterator[Row]:
    """Yield how many open differences one advised top-up decides, by the true difference."""
    samples = [Sample(design, one.grades, seed, -one.truth, budget) for seed in range(repetitions)]
    half = float(np.mean([sample.half for sample in samples]))
    for share in TRUE:
        chances, came, refused, inside = [], [], 0, []
        for seed, first in enumerate(samples):
            sample = Sample(design, one.grades, seed, share * half - one.truth, budget)
            if not sample.is_open or (needed := sample.advice()) is None:
                continue
            wanted = abs(sample.value)
            refused += not sample.top_up(needed.budget)
            chances.append(needed.chance)
            came.append(not sample.is_open)
            if needed.low is not None:
                at = []
                for more in (needed.low, needed.high):
                    other = Sample(design, one.grades, seed, share * half - one.truth, budget)
                    other.top_up(more)
                    at.append(other.half <= wanted)
                inside.append((at[0], at[1]))
        inside = np.array(inside)
        note = f"{len(came)} open; printed {np.mean(chances):.3f}; reached at low {inside[:, 0].mean():.3f}, at high {inside[:, 1].mean():.3f}"
        yield figure(
            f"true {share:g}",
            float(np.mean(came)),
            "decided",
            printed=float(np.mean(chances)),
            refused=refused,
            note=note,
        )


def false_verdicts(one: Question, design: Design, budget: float, repetitions: int, is_plain: bool) -> Row:
    """Return how many verdicts are false where the true difference is 0."""
    false = np.zeros(MOST_LOOKS)
    refused = 0
    for seed in range(repetitions):
        sample = Sample(design, one.grades, seed, -one.truth, budget, is_plain)
        for look in range(MOST_LOOKS):
            if not sample.is_open:
                false[look] += 1
                break
            if look == MOST_LOOKS - 1 or (needed := sample.advice()) is None or not needed.budget:
                break
            refused += not sample.top_up(needed.budget)
            if sample.budget >= design.cost:
                break
    note = ", ".join(f"{x / repetitions:.4f}" for x in false)
    return figure(
        "plain" if is_plain else "shared", float(false.sum() / repetitions), "false", refused=refused, note=note
    )


if __name__ == "__main__":
    import sys, time

    n = int(sys.argv[1])
    for measure in MEASURES:
        one, design, budget = question(measure)
        print(measure, "cost", design.cost, "budget", budget, "queries", design.pool.n_queries)
        t = time.time()
        for row in decided(one, design, budget, n):
            print(row)
        print(time.time() - t)
        t = time.time()
        for plain in (False, True):
            print(false_verdicts(one, design, budget, n, plain))
            print(time.time() - t, flush=True)
