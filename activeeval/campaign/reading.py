"""Reading a judged sample for a question: its estimate, what cannot be judged bounded, the looks so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from activeeval.design import Design, Reading, Selection
from activeeval.estimation import Look, estimate, evaluate, judged_sample
from activeeval.measures import Target
from activeeval.results import Cannot, Estimate

Ints = NDArray[np.int64]


def read(
    design: Design,
    selection: Selection,
    grades: Ints,
    cannot: Sequence[int] = (),
    target: Target | None = None,
    scope: str = "pool",
    share: float = 1.0,
) -> Estimate:
    """Return the estimate that a judged selection gives of a target.

    Parameters
    ----------
    grades : ndarray of int64, shape (n_items,)
        Of the selected items; −1 where one cannot be judged.
    cannot : sequence of int
        Items that cannot be judged.
    share : float
        The part of the planned budget that has been judged.
    """
    reading = design.reading(target)
    found = _estimate(design, reading, selection, grades, scope)
    own = [item for item in cannot if item in set(reading.order.items[selection.slots].tolist())]
    if own:
        ends = [_estimate(design, reading, selection, g, scope).value for g in extreme_grades(reading, grades, own)]
        treated = "as no gain" if reading.kind == "whole" else "as predicted"
        found = replace(found, cannot=Cannot(n_items=len(own), low=min(ends), high=max(ends), treated=treated))
    return replace(found, share=share)


def _estimate(design: Design, reading: Reading, selection: Selection, grades: Ints, scope: str) -> Estimate:
    return estimate(judged_sample(design, reading, reading.judge(grades), selection), design.name, scope)


def extreme_grades(reading: Reading, grades: Ints, items: Sequence[int]) -> list[Ints]:
    """Return grades with each of some items at the grade that lowers, and that raises, its query's value most.

    Item by item, those before it at their extremes: exact where an item's effect has one sign whatever the others are.
    """
    pool, top = reading.target.pool, reading.max_grade
    scale = range((int(grades.max(initial=1)) if top is None else top) + 1)
    out = []
    for sign in (1.0, -1.0):
        chosen = grades.copy()
        for item in items:
            query, found = int(pool.item_queries[item]), []
            for grade in scale:
                chosen[item] = grade
                found.append(sign * float(reading.values(chosen)[query]))
            chosen[item] = int(np.argmin(found))
        out.append(chosen)
    return out


def looks_at(
    design: Design,
    selections: Sequence[Selection],
    shares: Sequence[float],
    grades: Ints,
    target: Target | None = None,
    scope: str = "pool",
) -> list[Look]:
    """Return a look for each of the selections that a growing sample had at the ends of its blocks."""
    reading = design.reading(target)
    judge = reading.judge(grades)
    samples = [judged_sample(design, reading, judge, selection) for selection in selections]
    return [
        Look(sample=sample, evaluated=evaluate(sample, scope), share=part)
        for sample, part in zip(samples, shares, strict=False)
    ]
