"""Advice that is followed: ``python -m benchmarks.advice``.

A sample of MQ2008 (items, a forest that was trained on other queries, a tenth of the budget of judging everything) is
read for the difference of two rankers, and where it is open the top-up that is advised is drawn and read
(`activeeval.core.campaign.more_needed`). Estimates are shifted so that the true difference is a half, three quarters or
the whole of the mean half-width of the first reading, or 0:

* of true differences: how many that were open are decided by one advised top-up, beside the mean chance that the advice
  printed; how many of the top-ups at the ends of its range bring the half-width below what is wanted (.1 and .9).
* of none: false verdicts over a first reading and three advised top-ups, beside those of plain intervals. Those of the
  first reading are of many more samples than can be followed.
* top-ups that add nothing to judge, which the command that is named would refuse.

Stores benchmarks/results/advice.json.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from activeeval.core.answers import MoreNeeded
from activeeval.core.campaign.more_needed import needed_of_outlook
from activeeval.core.campaign.outlook import Outlook
from activeeval.core.design import Design
from activeeval.core.estimation import confidence_after, evaluate, evidence_of, half_widths
from activeeval.core.pool import key_of, known_digest, pool_hashes
from activeeval.core.simulation import replicate
from benchmarks.frame.experiment import Experiment, Options, Row
from benchmarks.frame.report import figure
from benchmarks.planning import Question
from benchmarks.pools import load

POOL, MEASURES, SHARE, CONFIDENCE = "mq2008", ("DCG@10", "P@10"), 0.1, 0.95
TRUE = (0.5, 0.75, 1.0)
"""True differences, as shares of the mean half-width of the first reading."""
MOST_READINGS, FIRST = 4, 6000
OFF, ERROR = 0.1, 0.05


@dataclass
class NextBatch:
    """A sample that grows as it is advised, read for a difference that is shifted; ``is_plain`` forgets readings."""

    design: Design
    grades: np.ndarray
    seed: int
    shift: float
    budget: float
    is_plain: bool = False
    variances: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        digest = known_digest(pool_hashes(self.design.pool)[1], self.design.known)
        self.key = key_of(np.random.SeedSequence(self.seed), digest)
        self.read()

    def read(self) -> None:
        """Read the sample at its budget."""
        scheme, reading = self.design.scheme, self.design.reading()
        drawn = scheme.drawn(self.design.order, self.key, [self.budget], expected=False)
        (self.n_units,) = drawn.block_ends
        self.selection = drawn.selection(self.n_units)
        now = evaluate(evidence_of(self.design, reading, reading.judge(self.grades), self.selection))
        self.variances = [now.variance] if self.is_plain else [*self.variances, now.variance]
        each = confidence_after(self.variances, CONFIDENCE)
        self.value = now.value + self.shift
        self.half = float(half_widths(np.array(now.variance), np.array(now.degrees_of_freedom), each))

    @property
    def is_open(self) -> bool:
        """Whether the interval holds 0; what is judged to the last item is not left open."""
        return self.half > 0 and abs(self.value) <= self.half

    def advice(self) -> MoreNeeded | None:
        """Advise a top-up that should decide it."""
        outlook = Outlook.of(self.design, self.selection, self.grades, None, "pool", self.variances[:-1])
        least = self.design.scheme.least(self.design.order)
        assert outlook is not None
        return needed_of_outlook(outlook, abs(self.value), CONFIDENCE, budget=self.budget, least=least)

    def topped_up(self, more: float | None) -> bool:
        """Add to the budget and read; return whether that added something to judge."""
        before, self.budget = self.n_units, self.budget + (more or 0.0)
        self.read()
        return self.n_units > before


def decided(one: Question, design: Design, budget: float, repetitions: int) -> Iterator[Row]:
    """Count the open differences that one advised top-up decides, by the true difference."""

    def drawn(seed: int, true: float) -> NextBatch:
        return NextBatch(design, one.grades, seed, true - one.truth, budget)

    half = float(np.mean([drawn(seed, 0.0).half for seed in range(repetitions)]))
    for share in TRUE:
        chances, came, reached, refused = [], [], [], 0
        for seed in range(repetitions):
            sample = drawn(seed, share * half)
            needed = sample.advice() if sample.is_open else None
            if needed is None or needed.chance is None:
                continue
            wanted = abs(sample.value)
            ends = [drawn(seed, share * half) for _ in range(2)]
            for end, more in zip(ends, (needed.low or needed.budget, needed.high or needed.budget), strict=True):
                end.topped_up(more)
            reached.append([end.half <= wanted for end in ends])
            refused += not sample.topped_up(needed.budget)
            chances.append(needed.chance)
            came.append(not sample.is_open)
        printed, of_low, of_high = float(np.mean(chances)), *np.mean(reached, axis=0).tolist()
        note = f"of {len(came)} open; narrow enough at the low end {of_low:.2f}, at the high end {of_high:.2f}"
        name, value = f"{one.name}, {share:g} half-widths", float(np.mean(came))
        yield figure(f"{name}: decided", value, "share", note=note)
        yield figure(f"{name}: printed", printed, "share", off=abs(printed - value), refused=refused)
        yield figure(f"{name}: difference of the two", abs(printed - value), "share", at_most=OFF)
        yield figure(f"{name}: refused", refused, "top-ups", at_most=0)


def false_verdicts(one: Question, design: Design, budget: float, repetitions: int, *, is_plain: bool) -> Iterator[Row]:
    """Count the false verdicts where the true difference is 0."""
    repeated = replicate(design, one.grades, [budget], FIRST, 1)
    first = float(np.mean(np.abs(repeated.values[:, 0] - one.truth) > repeated.half_widths()[:, 0]))
    later, refused = np.zeros(MOST_READINGS - 1), 0
    for seed in range(repetitions):
        sample = NextBatch(design, one.grades, seed, -one.truth, budget, is_plain)
        for reading in range(MOST_READINGS - 1):
            needed = sample.advice() if sample.is_open else None
            if needed is None:
                break
            refused += not sample.topped_up(needed.budget)
            later[reading] += not sample.is_open and sample.budget < design.cost
    shares = later / repetitions
    note = f"{first:.4f} at the first, then {', '.join(f'{share:.4f}' for share in shares)}"
    name = f"{one.name}, no difference, {'plain' if is_plain else 'shared'}"
    most = {} if is_plain else {"at_most": ERROR}
    yield figure(f"{name}: false verdicts", first + float(shares.sum()), "share", note=note, **most)
    yield figure(f"{name}: refused", refused, "top-ups", at_most=0)


def followed(options: Options, measure: str) -> Iterator[Row]:
    """Yield the figures of a measure."""
    one = Question(load(POOL), measure, "two rankers", 0.0)
    design = one.design("items")
    budget = SHARE * design.cost
    yield from decided(one, design, budget, options.repetitions)
    for is_plain in (False, True):
        yield from false_verdicts(one, design, budget, options.repetitions, is_plain=is_plain)


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    sections={one: (f"{one}: advice that is followed", partial(followed, measure=one)) for one in MEASURES},
    repetitions=300,
)


if __name__ == "__main__":
    EXPERIMENT.main()
