"""Selections: the places taken from an order, and the level reached."""

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
        In the order of the pool for levels, in the order of the draws with replacement.
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
        """Sampling level, repeated for every query."""
        return np.full(self.queries.size, self.level)

    def within(self, queries: NDArray[np.bool_]) -> Selection:
        """Restrict the selection to some queries of the pool; the cost becomes NaN."""
        is_kept = queries[self.queries]
        parts = {"queries": self.queries[is_kept], "counts": self.counts[is_kept]}
        return Selection(**parts, places=self.places[np.repeat(is_kept, self.counts)], level=self.level, cost=math.nan)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Selections:
    """Several selections of one order, with one row per selected query.

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
        """Wrap a single selection."""
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
    """Build the selection of all places of the given queries."""
    counts = np.diff(order.offsets)[queries]
    first = order.offsets[queries]
    places = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    return Selection(queries=queries, counts=counts, places=places, level=level, cost=cost)
