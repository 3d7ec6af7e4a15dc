"""What an estimate is made of: what judged queries show, and what it needs of those of a pool that nobody judges."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from activeeval.core.design.planned_variance import PlannedVariance
from activeeval.core.types import Bools, Floats


def n_products(width: int) -> int:
    """Return how many products y and its regressors have, ``width`` of them together: an upper triangle."""
    return width * (width + 1) // 2


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgedTotals:
    """What a judged selection says of a target, query by query.

    Attributes
    ----------
    totals : ndarray, shape (n, 1 + k)
        y, unbiased for what is unknown of each query's value, and its regressors z.
    within : ndarray, shape (n, (1 + k)(2 + k) / 2)
        Unbiased variance of what is seen within the query, the quadratic form of (y, z), its upper triangle row
        by row: yy, y0, y1 …
    beyond : ndarray of bool, shape (n,), or None
        Which queries were judged beyond the items that move a numerator, where a regressor is made of what lies there.
    """

    totals: Floats
    within: Floats
    beyond: Bools | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PoolSums:
    """What an estimate needs of all queries of a pool, judged or not; the totals of two parts add up.

    A query is *open* where an unknown label can change its value.

    Attributes
    ----------
    n_queries, n_open : int
        Queries, and open ones.
    population : ndarray, shape (k,)
        Σ p z over open queries, z their regressors.
    base : float
        What is known: Σ p L of queries that are not open, and the known terms of those that are.
    settled_squares : float
        Σ p L² of queries that are not open.
    open_squares : float
        Σ p of the squares of the known terms of open queries.
    open_share : float
        Σ p of open queries.
    squares : float
        Σ p² of all.
    planned, planned_blindly : Planned or None
        What the design plans, and would plan were all grades equally likely; of a part of a pool in chunks alone, for
        a whole pool says so itself.
    """

    n_queries: int
    n_open: int
    population: Floats
    base: float
    settled_squares: float
    open_squares: float
    open_share: float
    squares: float
    planned: PlannedVariance | None = None
    planned_blindly: PlannedVariance | None = None

    def __add__(self, other: PoolSums) -> PoolSums:
        """Return the totals of two parts together."""
        parts = ((f.name, getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        added: dict[str, Any] = {name: None if value is None else value + more for name, value, more in parts}
        return PoolSums(**added)
