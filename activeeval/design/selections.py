"""Selections: what has been taken of an order, and at which level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Selection:
    """Queries that were taken, with the places of each that were.

    Attributes
    ----------
    queries : ndarray of int64, shape (n,)
        In the order of the pool for levels, in that of the draws with replacement.
    counts : ndarray of int64, shape (n,)
        How many places of each query.
    slots : ndarray of int64, shape (Σ counts,)
        The places, ascending within a query.
    level : float
        T: a place with root r is taken with probability min(1, T r); infinite where everything is.
    cost : float
        What judging it costs, in mean items.
    """

    queries: Ints
    counts: Ints
    slots: Ints
    level: float
    cost: float
