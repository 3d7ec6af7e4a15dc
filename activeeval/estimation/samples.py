"""A judged sample: what was taken of an order, with which probabilities, and what judging it showed of one target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from activeeval.design import Design, Judge, Reading, Replacement, Selection
from activeeval.kernels import estimates

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedSample:
    """What judging a selection showed of a target.

    A query is *certain* where no chance was in its choice: nothing of it was unknown, it cannot matter, or its places
    all have probability 1 at the level of the sample. The others are *open*; estimators are for these, and
    certain ones add what is known of them.

    Attributes
    ----------
    with_replacement : bool
        Whether queries were drawn with replacement, else by levels.
    is_fitted : bool
        Of levels: whether regressors are fitted to the sample.
    query_probs, inclusion_probs : ndarray, shape (n,)
        p of each open query of the sample, and its q (a row for each draw) or π.
    totals, within : ndarray
        As in `activeeval.design.Totals`, a row for each open query.
    values : ndarray, shape (n,)
        Unbiased for L of each.
    population : ndarray, shape (k,)
        Σ p z over the open queries of the pool.
    base : float
        What is known: Σ p L of certain queries, and the known terms of open ones.
    certain_squares : float
        Σ p L² of certain queries.
    open_share : float
        Σ p of the pool's open queries; 0 where nothing is open: a census.
    pool_size : float
        1 / Σ p², the number of queries that the pool counts as in an estimate for a population.
    n_draws, n_queries, n_items : int
        Draws, distinct queries and distinct items judged.
    cost : float
        In mean items.
    """

    with_replacement: bool
    is_fitted: bool
    query_probs: Floats
    inclusion_probs: Floats
    totals: Floats
    within: Floats
    values: Floats
    population: Floats
    base: float
    certain_squares: float
    open_share: float
    pool_size: float
    n_draws: int
    n_queries: int
    n_items: int
    cost: float

    @property
    def is_census(self) -> bool:
        """Whether nothing is left to chance."""
        return self.open_share == 0.0

    @property
    def importance_weights(self) -> Floats:
        """p/q, or p/π."""
        return self.query_probs / self.inclusion_probs


def judged_sample(design: Design, reading: Reading, judge: Judge, selection: Selection) -> JudgedSample:
    """Return what judging a selection showed of a reading.

    Parameters
    ----------
    judge : Judge
        ``reading.judge(grades)``.
    """
    if isinstance(design.scheme, Replacement):
        return _drawn(design, design.scheme, reading, judge, selection)
    return _levelled(design, reading, judge, selection)


def _levelled(design: Design, reading: Reading, judge: Judge, selection: Selection) -> JudgedSample:
    pool, shown = reading.pool_totals, judge.totals(selection)
    own = reading.settled_by(selection)
    settled, is_open = selection.queries[own], ~own & reading.is_open[selection.queries] & (selection.counts > 0)
    values = reading.sums[selection.queries] + shown.totals[:, 0]
    p, queries = reading.order.query_probs, selection.queries[is_open]
    with np.errstate(invalid="ignore"):
        pi = np.minimum(1.0, selection.level * reading.order.query_roots[queries])
    return JudgedSample(
        with_replacement=False,
        is_fitted=design.is_fitted,
        query_probs=p[queries],
        inclusion_probs=pi,
        totals=np.ascontiguousarray(shown.totals[is_open]),
        within=np.ascontiguousarray(shown.within[is_open]),
        values=values[is_open],
        population=pool.population - p[settled] @ reading.regressors[settled],
        base=pool.base + float(p[settled] @ (values[own] - reading.sums[settled])),
        certain_squares=pool.settled_squares + float(p[settled] @ values[own] ** 2),
        # a difference would leave a rounding error of a census
        open_share=0.0 if settled.size == pool.n_open else pool.open_share - float(p[settled].sum()),
        pool_size=1.0 / pool.squares,
        n_draws=int(np.count_nonzero(selection.counts)),
        n_queries=int(np.count_nonzero(selection.counts)),
        n_items=selection.slots.size,
        cost=selection.cost,
    )


def _drawn(design: Design, scheme: Replacement, reading: Reading, judge: Judge, selection: Selection) -> JudgedSample:
    p, pool = reading.order.query_probs, reading.pool_totals
    queries, first = np.unique(selection.queries, return_index=True)
    shown = judge.totals(selection)
    is_census = queries.size == pool.n_queries
    values = shown.totals[:, 0]
    return JudgedSample(
        with_replacement=True,
        is_fitted=False,
        query_probs=p[selection.queries],
        inclusion_probs=scheme.sampling_probs[selection.queries],
        totals=shown.totals,
        within=shown.within,
        values=values,
        population=pool.population,
        # as replications sum, to the last bit
        base=estimates.weighted_sum(p[queries], values[first]) if is_census else 0.0,
        certain_squares=float(p[queries] @ values[first] ** 2) if is_census else 0.0,
        open_share=0.0 if is_census else 1.0,
        pool_size=1.0 / pool.squares,
        n_draws=selection.queries.size,
        n_queries=queries.size,
        n_items=int(np.diff(reading.order.offsets)[queries].sum()),
        cost=selection.cost,
    )
