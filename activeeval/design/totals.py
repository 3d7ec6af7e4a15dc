"""What an estimate needs of the queries of a pool that nobody judges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PoolTotals:
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
    """

    n_queries: int
    n_open: int
    population: Floats
    base: float
    settled_squares: float
    open_squares: float
    open_share: float
    squares: float

    def __add__(self, other: PoolTotals) -> PoolTotals:
        """Return the totals of two parts together."""
        return PoolTotals(
            n_queries=self.n_queries + other.n_queries,
            n_open=self.n_open + other.n_open,
            population=self.population + other.population,
            base=self.base + other.base,
            settled_squares=self.settled_squares + other.settled_squares,
            open_squares=self.open_squares + other.open_squares,
            open_share=self.open_share + other.open_share,
            squares=self.squares + other.squares,
        )
