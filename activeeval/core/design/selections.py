"""Selections: the places that a sample takes from an order, and the sampling level that it reaches.

A place is the position of one item in the judging order of its query. At level T, a place with rate r is taken with
probability min(1, T r).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from activeeval.core.design.orders import Order
from activeeval.core.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Selection:
    """Queries taken from an order, with the taken places of each.

    Attributes
    ----------
    queries : ndarray of int64, shape (n,)
        Indices of the queries: ascending, or in the order of the draws if queries are drawn with replacement.
    counts : ndarray of int64, shape (n,)
        Number of places of each query.
    places : ndarray of int64, shape (Σ counts,)
        The places, ascending within a query.
    level : float
        T: a place with rate r is taken with probability min(1, T r); infinite if everything is taken.
    cost : float
        Cost of judging the selection, in mean items.
    """

    queries: Ints
    counts: Ints
    places: Ints
    level: float
    cost: float

    @property
    def levels(self) -> Floats:
        """The sampling level T, repeated for every selected query, shape (n,)."""
        return np.full(self.queries.size, self.level)

    def within(self, queries: NDArray[np.bool_]) -> Selection:
        """Restrict the selection to the queries flagged in ``queries`` (n_queries,); the cost becomes NaN."""
        is_kept = queries[self.queries]
        parts = {"queries": self.queries[is_kept], "counts": self.counts[is_kept]}
        return Selection(**parts, places=self.places[np.repeat(is_kept, self.counts)], level=self.level, cost=math.nan)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Selections:
    """Several selections of one order (as in repetitions), one row for each query of each selection.

    Attributes
    ----------
    owners : ndarray of int64, shape (n,)
        Index of each row's selection.
    queries, counts, places : ndarray of int64
        As in `Selection`.
    levels : ndarray, shape (n,)
        T of each row's selection.
    costs, thresholds : ndarray, shape (n_selections,)
        Cost and T of each selection.
    """

    owners: Ints
    queries: Ints
    counts: Ints
    places: Ints
    levels: Floats
    costs: Floats
    thresholds: Floats

    @classmethod
    def of(cls, selection: Selection) -> Selections:
        """Build the `Selections` that hold this single selection."""
        return cls(
            owners=np.zeros(selection.queries.size, dtype=np.int64),
            queries=selection.queries,
            counts=selection.counts,
            places=selection.places,
            levels=selection.levels,
            costs=np.array([selection.cost]),
            thresholds=np.array([selection.level]),
        )


def whole(order: Order, queries: Ints, cost: float, level: float = math.inf) -> Selection:
    """Build the selection (places taken) of all items of some queries (indices); ``cost`` is in mean items.

    ``level`` is the sampling level to record: infinite if everything is taken. A place is an item in the judging order
    of its query. The mean item costs 1. At the level T, a place of rate r is judged with probability min(1, T r).
    """
    counts = np.diff(order.offsets)[queries]
    first = order.offsets[queries]
    # the successive places of each query, one query after the other
    places = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    return Selection(queries=queries, counts=counts, places=places, level=level, cost=cost)
