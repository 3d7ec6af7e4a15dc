"""Sums behind an estimate: totals of judged queries, and sums over all queries of a pool."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from activeeval.core.design.planned_variance import PlannedVariance
from activeeval.core.types import Bools, Floats


def n_products(width: int) -> int:
    """Count the pairwise products of ``width`` variables, squares included: the size of an upper triangle."""
    return width * (width + 1) // 2


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgedTotals:
    """Totals of a judged selection for a target, query by query.

    Attributes
    ----------
    totals : ndarray, shape (n, 1 + k)
        First column: y, an unbiased estimate of the unknown part of the query's value. Other columns: its k
        regressors z (quantities whose sum over the pool is known).
    within : ndarray, shape (n, (1 + k)(2 + k) / 2)
        Unbiased variance within the query, the quadratic form of (y, z), its upper triangle row by row:
        yy, y0, y1 …
    beyond : ndarray of bool, shape (n,), or None
        True for queries judged beyond the items that move a numerator; None if no regressor uses that part.
    """

    totals: Floats
    within: Floats
    beyond: Bools | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PoolSums:
    """Sums that an estimate needs over all queries of a pool, judged or not; sums of two parts add up.

    A query is *open* if an unknown label can change its value. p is the probability of a query, L its value.

    Attributes
    ----------
    n_queries, n_open : int
        Numbers of queries and of open queries.
    population : ndarray, shape (k,)
        Σ p z over open queries, z their regressors.
    base : float
        Known part: Σ p L of queries that are not open, plus the known terms of open queries.
    settled_squares : float
        Σ p L² of queries that are not open.
    open_squares : float
        Σ p of the squares of the known terms of open queries.
    open_share : float
        Σ p of open queries.
    squares : float
        Σ p² over all queries.
    planned, planned_blindly : PlannedVariance or None
        Variance that the design plans, and would plan if all grades were equally likely. Set only for parts of a pool
        in chunks; a whole pool computes it itself.
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
        """Add the sums of two parts of a pool, field by field; a planned variance that is None stays None."""
        parts = ((f.name, getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        added: dict[str, Any] = {name: None if value is None else value + more for name, value, more in parts}
        return PoolSums(**added)
