"""Intervals of many repetitions, and the samples that kinds need which a variance does not tell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from activeeval.design import Design, picks
from activeeval.estimation import (
    INTERVALS,
    AsymptoticSequence,
    Betting,
    Bootstrap,
    GroupSequential,
    JudgedSample,
    Skewed,
    Student,
    find_interval,
    judged_sample,
)
from activeeval.estimation.intervals import IntervalKind
from activeeval.measures import value_bounds

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_N_RESAMPLES = 499


def interval_kind(name: str, design: Design, budgets: Sequence[float]) -> IntervalKind:
    """Return an interval kind, planned for budgets: the last is where it is to be tightest, all are its looks.

    Raises
    ------
    InputError
        Where the name is not known, or the kind not one for the design.
    """
    find_interval(name)
    if name in ("t", "skewed"):
        return INTERVALS[name]()
    if name == "bootstrap":
        return Bootstrap(n_resamples=_N_RESAMPLES)
    cost = design.expected_cost
    looks = [max(int(budget / cost), 1) if cost > 0 else design.most_draws for budget in budgets]
    kind: IntervalKind
    if name == "asympcs":
        kind = AsymptoticSequence(planned=looks[-1])
    elif name == "group-sequential":
        kind = GroupSequential(tuple(looks))
    else:
        kind = Betting(design, *value_bounds(design.target, design.stage.max_grade), planned=looks[-1])
    kind.check(design.scheme, design.estimator)
    return kind


def ends(kind: IntervalKind, values: Floats, variances: Floats, degrees: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Return the ends of 95 % intervals, each of shape (repetitions, budgets); a look is a budget."""
    if not isinstance(kind, (Student, AsymptoticSequence, GroupSequential)):
        raise TypeError(f"the interval {kind.name!r} needs samples")
    looks = np.broadcast_to(kind.looks, n.shape) if isinstance(kind, GroupSequential) else n
    half = kind.half_widths(variances, degrees, looks, 0.95)
    return values - half, values + half


def needs_samples(kind: IntervalKind) -> bool:
    """Whether a kind needs the sample itself, beside the estimate and its variance."""
    return isinstance(kind, (Skewed, Bootstrap, Betting))


def samples_of_a_run(design: Design, grades: Ints, bounds: Floats, rng: np.random.Generator) -> list[JudgedSample]:
    """Return the judged sample of one run at each hard budget, ascending."""
    stage = design.stage
    queries: list[int] = []
    probs: list[float] = []
    slots: list[Ints] = []
    ends_seen = np.full(design.pool.n_queries, -1, dtype=np.int64)
    spent, n_items = 0.0, 0
    samples: list[JudgedSample] = []
    observe = stage.observer(grades, design.item_probs)

    def sample() -> JudgedSample:
        counts = np.array([one.size for one in slots], dtype=np.int64)
        drawn = np.array(queries, dtype=np.int64)
        judged = np.concatenate(slots) if slots else np.empty(0, dtype=np.int64)
        tally = (len(queries), int((ends_seen >= 0).sum()), n_items, spent)
        return judged_sample(design, drawn, np.array(probs), *observe(drawn, counts, judged), tally)

    for pick in picks(design, rng):
        first = int(design.offsets[pick.query])
        begin = max(int(ends_seen[pick.query]), first)
        new = pick.slots[pick.slots >= begin]
        cost = float(stage.slot_costs[new].sum())
        cost += float(stage.overheads[pick.query]) if ends_seen[pick.query] < 0 else 0.0
        while len(samples) < bounds.size and spent + cost > bounds[len(samples)]:
            samples.append(sample())
        if len(samples) == bounds.size or len(queries) == design.most_draws:
            break
        queries.append(pick.query)
        probs.append(pick.prob)
        slots.append(pick.slots)
        ends_seen[pick.query] = max(begin, first + pick.slots.size)
        spent += cost
        n_items += new.size
    while len(samples) < bounds.size:
        samples.append(sample())
    return samples
