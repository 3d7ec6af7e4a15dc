"""How a case is judged: which judging its measures take, and what judging a query by comparisons costs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

import numpy as np

from activeeval.core.errors import InputError
from activeeval.core.judgments.judging import ByComparisons, Judging, judging_of
from activeeval.core.pool import QueryPool
from activeeval.core.results import Note, Told
from activeeval.core.types import Floats
from activeeval.inputs.loading import sampled_measure
from activeeval.topk import expected_comparisons
from activeeval.topk.assessors import SECONDS_A_COMPARISON


def judging_for(measures: Sequence[str]) -> Judging:
    """Find how the measures of some texts are judged: by grades, or kNDCG by comparisons.

    Raises
    ------
    ChoiceError
        Where some are of one and some of the other.
    """
    return judging_of(sampled_measure(text) for text in measures)


def check_graded(measures: Sequence[str]) -> None:
    """Raise InputError where a measure is judged by comparing documents and not by grades."""
    if not judging_for(measures).has_grades:
        problem = "judged by comparing two documents at a time, which `sample` and `plan` take"
        raise InputError(f"{', '.join(map(str, measures))}: {problem}; expected a measure of grades")


@singledispatch
def judging_costs(judging: Judging, pool: QueryPool) -> Floats:
    """Return what each item costs, shape (n_items,): of grades what the pool says."""
    return pool.item_costs


@judging_costs.register
def _(judging: ByComparisons, pool: QueryPool) -> Floats:
    return comparison_costs(pool, judging.k)


@singledispatch
def cost_notes(judging: Judging, pool: QueryPool) -> list[Note]:
    """Return what to know of a pool's costs: of comparisons what a budget means."""
    return []


@cost_notes.register
def _(judging: ByComparisons, pool: QueryPool) -> list[Note]:
    each = float(pool.item_costs.mean())
    per_query = float(np.add.reduceat(pool.item_costs, pool.query_offsets[:-1]).mean())
    numbers: dict[str, Told] = {"k": judging.k, "per_query": per_query, "per_hundred": 100 * each}
    numbers |= {"minutes": 100 * each * SECONDS_A_COMPARISON / 60, "seconds": SECONDS_A_COMPARISON}
    return [Note("comparisons", numbers)]


def comparison_costs(pool: QueryPool, k: int) -> Floats:
    """Return what each item costs where its query is judged by comparisons, shape (n_items,): an equal part of it.

    The unit is a comparison; a query of one item, of which nothing is asked, counts as one.
    """
    sizes = np.diff(pool.query_offsets)
    costs = {n: max(expected_comparisons(n, min(k, n)).mean, 1.0) / n for n in set(sizes.tolist()) if n}
    return np.array([costs[n] for n in sizes.tolist() if n]).repeat(sizes[sizes > 0])
