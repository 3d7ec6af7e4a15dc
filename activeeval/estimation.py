"""Estimators: what a judged sample says about the pool, and how precisely."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from activeeval.errors import InputError, StateError
from activeeval.kernels import replication
from activeeval.results import Estimate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class JudgedSample:
    """Draws in their order with what judging them showed.

    Attributes
    ----------
    values : ndarray, shape (n_draws,), in a census (n_queries,)
        L or δ of the drawn query.
    importance_weights : ndarray, of the same shape
        p/q of the drawn query, in a census p of every query.
    n_draws, n_queries, n_items : int
        Draws, distinct queries and distinct items judged.
    cost : float
        What was spent.
    is_census : bool
        Whether every query of the pool has been judged.
    """

    values: Floats
    importance_weights: Floats
    n_draws: int
    n_queries: int
    n_items: int
    cost: float
    is_census: bool = False

    def __post_init__(self) -> None:
        for name in ("values", "importance_weights"):
            object.__setattr__(self, name, np.array(getattr(self, name), dtype=np.float64))


def ratio(sample: JudgedSample) -> tuple[float, float, float]:
    """Return estimate, variance and degrees of freedom of Σ w L / Σ w, eq. (6)."""
    value, variance = replication.ratio_estimate(sample.importance_weights, sample.values)
    return float(value), float(variance), sample.n_draws - 1.0


ESTIMATORS = {"ratio": ratio}


def estimate(sample: JudgedSample, estimator: str, method: str) -> Estimate:
    """Return the estimate that a judged sample gives.

    Raises
    ------
    StateError
        Where nothing has been judged yet.
    InputError
        Where the estimator is not known.

    Examples
    --------
    >>> sample = JudgedSample(np.array([1.0, 3.0]), np.array([1.0, 1.0]), 2, 2, 8, 8.0)
    >>> estimate(sample, "ratio", "passive").value
    2.0
    """
    if sample.values.size == 0:
        raise StateError("no query has been judged yet, so there is nothing to estimate from")
    if estimator not in ESTIMATORS:
        raise InputError(f"unknown estimator {estimator!r}; known: {', '.join(ESTIMATORS)}")
    if sample.is_census:
        value, variance, freedom = replication.weighted_sum(sample.importance_weights, sample.values), 0.0, math.inf
    else:
        value, variance, freedom = ESTIMATORS[estimator](sample)
    counts = (sample.n_draws, sample.n_queries, sample.n_items)
    return Estimate(value, math.sqrt(variance), *counts, cost=sample.cost, method=method, degrees_of_freedom=freedom)
