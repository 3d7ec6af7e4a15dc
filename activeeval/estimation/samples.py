"""A judged sample: what was drawn, with which probabilities, and what judging it showed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from activeeval.design import Design
from activeeval.design import balancing as variables

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class JudgedSample:
    """Draws in their order with what judging them showed.

    Attributes
    ----------
    scheme : {"replacement", "sequential", "poisson", "cube"}
    queries : ndarray of int64, shape (n,)
        The query of each draw, by its number in the pool.
    query_probs, sampling_probs : ndarray, shape (n,)
        p of each drawn query, and its probability in its draw (q, or π of a settled sample).
    totals : ndarray, shape (n, 1 + k)
        y, unbiased for the value of the query, and its regressors z, two or three.
    within : ndarray, shape (n, (1 + k)(2 + k) / 2)
        Unbiased variance of what is seen within the query, the quadratic form of (y, z), its upper
        triangle row by row: yy, y0, y1 …. 0 where queries are judged whole.
    is_certain : ndarray of bool, shape (n,)
        Whether the query was sure to be judged whole: its value is known and no chance chose it.
    population : ndarray, shape (k,)
        Σ p z over the open queries of the pool, those that are not certain; the second is their M where z_0 is 1.
    balancing : ndarray, shape (n, k)
        What a cube sample is balanced on, over π; no column for other schemes.
    n_pool : int
        Queries of the pool.
    n_draws, n_queries, n_items : int
        Draws, distinct queries and distinct items judged.
    cost : float
        What was spent.
    open_share : float
        Σ p of the open queries. 0 is a census: all is judged, and every query but those without items is here once.
    pool_size : float
        1 / Σ p², the number of queries that the pool counts as in the estimate for a population.
    """

    scheme: str
    queries: Ints
    query_probs: Floats
    sampling_probs: Floats
    totals: Floats
    within: Floats
    is_certain: NDArray[np.bool_]
    population: Floats
    balancing: Floats
    n_pool: int
    n_draws: int
    n_queries: int
    n_items: int
    cost: float
    open_share: float = 1.0
    pool_size: float = float("inf")

    def __post_init__(self) -> None:
        for name in ("query_probs", "sampling_probs", "totals", "within", "population", "balancing"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))

    @property
    def is_census(self) -> bool:
        """Whether everything has been judged."""
        return self.open_share == 0

    @property
    def open_part(self) -> JudgedSample:
        """The sample without the queries that were certain to be in it: what chance chose, for the open queries."""
        if not self.is_certain.any():
            return self
        is_open = ~self.is_certain
        names = ("queries", "query_probs", "sampling_probs", "totals", "within", "is_certain", "balancing")
        return replace(self, **{name: getattr(self, name)[is_open] for name in names})

    @property
    def importance_weights(self) -> Floats:
        """p/q, or p/π."""
        return self.query_probs / self.sampling_probs

    @property
    def values(self) -> Floats:
        """y, an unbiased value of each draw."""
        return self.totals[:, 0]


def judged_sample(
    design: Design,
    queries: Ints,
    sampling_probs: Floats,
    totals: Floats,
    within: Floats,
    counts: tuple[int, int, int, float],
) -> JudgedSample:
    """Put together what a design says and what judging showed.

    Parameters
    ----------
    queries : ndarray of int64, shape (n,)
        The query of every draw.
    sampling_probs, totals, within : ndarray
        As the attributes of `JudgedSample`.
    counts : tuple
        Draws, distinct queries, distinct items and cost.
    """
    p = design.query_probs
    balancing = np.empty((queries.size, 0))
    if design.scheme == "cube":
        balancing = variables(design)[queries] / sampling_probs[:, None]
    return JudgedSample(
        design.scheme,
        queries,
        p[queries],
        sampling_probs,
        totals,
        within,
        design.is_certain[queries],
        design.population,
        balancing,
        design.pool.n_queries,
        *counts,
        open_share=design.open_share,
        pool_size=1.0 / float(p @ p),
    )


def census(design: Design, grades: Ints, counts: tuple[int, int, int, float]) -> JudgedSample:
    """Return the sample of a pool that has been judged whole."""
    values = design.values(grades)
    n = values.size
    p = design.query_probs
    totals = np.column_stack((values, np.zeros((n, 2))))
    nothing = np.empty((n, 0))
    return JudgedSample(
        design.scheme,
        np.arange(n),
        p,
        np.ones(n),
        totals,
        np.zeros((n, 6)),
        np.ones(n, dtype=np.bool_),
        np.zeros_like(design.population),
        nothing,
        n,
        *counts,
        open_share=0.0,
        pool_size=1.0 / float(p @ p),
    )
