"""Determine the kind of judging for measures (grades or comparisons), and the costs of comparisons."""

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
    """Determine how measures are judged: kNDCG by comparisons, all others by grades.

    Raises
    ------
    ChoiceError
        If both kinds occur.
    """
    return judging_of(sampled_measure(text) for text in measures)


def check_graded(measures: Sequence[str]) -> None:
    """Raise InputError if a measure is judged by comparing documents instead of grading them."""
    if not judging_for(measures).has_grades:
        problem = "judged by comparing two documents at a time, which `sample` and `plan` take"
        raise InputError(f"{', '.join(map(str, measures))}: {problem}; expected a measure of grades")


@singledispatch
def judging_costs(judging: Judging, pool: QueryPool) -> Floats:
    """Compute item costs, shape (n_items,): the pool's own for grades, `comparison_costs` for comparisons."""
    return pool.item_costs


@judging_costs.register
def _(judging: ByComparisons, pool: QueryPool) -> Floats:
    """Compute the cost of each item, in comparisons."""
    return comparison_costs(pool, judging.k)


@singledispatch
def cost_notes(judging: Judging, pool: QueryPool) -> list[Note]:
    """List notes on a pool's costs: none for grades; the version for comparisons notes what a budget means."""
    return []


@cost_notes.register
def _(judging: ByComparisons, pool: QueryPool) -> list[Note]:
    """Note what a budget means, in comparisons and minutes."""
    each = float(pool.item_costs.mean())
    per_query = float(np.add.reduceat(pool.item_costs, pool.query_offsets[:-1]).mean())
    numbers: dict[str, Told] = {"k": judging.k, "per_query": per_query, "per_hundred": 100 * each}
    numbers |= {"minutes": 100 * each * SECONDS_A_COMPARISON / 60, "seconds": SECONDS_A_COMPARISON}
    return [Note("comparisons", numbers)]


def comparison_costs(pool: QueryPool, k: int) -> Floats:
    """Divide the expected number of comparisons of each query equally among its items, shape (n_items,).

    Comparisons find the `k` best items of a query. The unit is one comparison. A query with one item needs none and
    counts as one.
    """
    sizes = np.diff(pool.query_offsets)
    costs = {n: max(expected_comparisons(n, min(k, n)).mean, 1.0) / n for n in set(sizes.tolist()) if n}
    return np.array([costs[n] for n in sizes.tolist() if n]).repeat(sizes[sizes > 0])
