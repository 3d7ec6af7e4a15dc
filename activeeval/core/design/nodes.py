"""Nodes of a query factor: build them, reweight them by known grades, shift and reverse them.

A query factor is a random effect shared by the grades of a query's items. It is integrated numerically: each node is
one value of the factor, with a weight and with its own grade probabilities of every item.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from activeeval.core.errors import InputError
from activeeval.core.kernels import known_grades as known_kernel
from activeeval.core.measures.ranking_checks import checked_nodes
from activeeval.core.pool import QueryPool
from activeeval.core.types import Floats, Ints

SHIFTS = (-4.0, -2.0, 2.0)
"""Shifts of the logits of p(y > k): further down than up, because overestimates are the dangerous error."""
_SMALLEST = 1e-6
"""Least distance of a probability p(y > k) from 0 and 1 before its logit is taken."""
_LEAST_TURNED = 1e-3
"""Least probability of any grade at the reversed nodes: a certain prediction carries no information on the others."""


class Factor(Protocol):
    """Interface of a query factor (a random effect shared by a query's items), integrated over n_nodes values.

    `activeeval.core.grade_models.QueryFactor` implements it.
    """

    @property
    def node_weights(self) -> Floats:
        """Weight of each node (a value of the random effect that a query's items share), (n_nodes,); the sum is 1."""

    def node_probs(self, probs: ArrayLike) -> Floats:
        """Compute grade probabilities at each node, a value of the random effect that a query's items share.

        ``probs`` (n_items, n_grades) are those of the grade model; the result has shape (n_nodes, n_items, n_grades).
        """


def nodes_of(grade_probs: NDArray[np.float32], factor: Factor | None) -> Floats:
    """Compute the grade probabilities of every item at each node of the query factor; in 64 bits, rows sum to 1.

    Parameters
    ----------
    grade_probs : ndarray, shape (n_items, n_grades) or (n_nodes, n_items, n_grades)
    factor : Factor or None
        The query factor (a random effect shared by a query's items), for ``grade_probs`` without a node axis. None:
        ``grade_probs`` already have nodes, or are a single one.

    Returns
    -------
    ndarray, shape (n_nodes, n_items, n_grades)
    """
    probs = np.asarray(grade_probs, dtype=np.float64)
    probs = np.asarray(probs / probs.sum(axis=-1, keepdims=True), dtype=np.float64)
    if factor is None:
        return probs if probs.ndim == 3 else probs[None]
    # grades that the model has never seen stay impossible at every node
    n_seen = int(np.flatnonzero(probs.any(axis=0)).max()) + 1
    nodes: Floats = factor.node_probs(probs[:, :n_seen])
    n_unseen = probs.shape[1] - n_seen
    return np.pad(nodes, ((0, 0), (0, 0), (0, n_unseen))) if n_unseen else nodes


def rounded_probs(pool: QueryPool, extra_probs: Sequence[ArrayLike], n_grades: int) -> NDArray[np.float32]:
    """Check the grade probabilities of further models and round them to 32 bits, as a sample stores them.

    Parameters
    ----------
    extra_probs : sequence of arrays, each of shape (n_items, n_grades)
    n_grades : int
        Number of grades of the main model.

    Returns
    -------
    ndarray of float32, shape (n_models, n_items, n_grades)

    Raises
    ------
    InputError
        If a model does not fit the pool, has another number of grades, or a row is not a distribution.
    """
    out = np.empty((len(extra_probs), pool.n_items, n_grades), dtype=np.float32)
    for rounded, grade_probs in zip(out, extra_probs, strict=True):
        probs = checked_nodes(pool, np.asarray(grade_probs, dtype=np.float32), None)[0][0]
        if probs.shape[1] != n_grades:
            raise InputError(f"extra models must know the {n_grades} grades of the first, got {probs.shape[1]}")
        rounded[:] = probs
    return out


def informed_weights(offsets: Ints, nodes: Floats, weights: Floats, known: Ints) -> Floats:
    """Compute the posterior node weights of each query, given its known grades, shape (n_queries, n_nodes).

    Changes ``nodes`` in place: the row of an item with a known grade puts all probability on that grade.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n_queries + 1,)
        Start of each query's items.
    nodes : ndarray, shape (n_nodes, n_items, n_grades)
        Grade probabilities at each node (value of a random effect shared by a query's items).
    weights : ndarray, shape (n_nodes,)
        Prior weights of the nodes.
    known : ndarray of int64, shape (n_items,)
        Known grades, −1 for unknown.
    """
    of_queries = np.broadcast_to(weights, (offsets.size - 1, weights.size))
    if (known >= 0).any():
        of_queries = of_queries.copy()
        known_kernel.learn_known(offsets, nodes, known, of_queries)
        known_kernel.settle_known(nodes, known)
    return of_queries


def shifted_probs(probs: Floats) -> Floats:
    """Shift grade probabilities (n_items, n_grades) up or down: the logits of p(y > k) move by each of `SHIFTS`.

    Returns one model for each shift, shape (n_shifts, n_items, n_grades).
    """
    out = np.empty((len(SHIFTS), *probs.shape))
    odds = np.clip(1.0 - np.cumsum(probs, axis=1)[:, :-1], _SMALLEST, 1 - _SMALLEST)
    odds /= 1.0 - odds
    for shift, shifted in zip(SHIFTS, out, strict=True):
        tail = odds * np.exp(shift)
        tail /= 1.0 + tail
        shifted[:, 0] = 1.0 - tail[:, 0]
        shifted[:, 1:-1] = tail[:, :-1] - tail[:, 1:]
        shifted[:, -1] = tail[:, -1]
    return np.maximum(out, 0.0, out=out)


def turned_probs(grade_probs: NDArray[np.float32]) -> NDArray[np.float32]:
    """Reverse grade probabilities (n_items, n_grades), so that items with high expected grades get low ones.

    The logit of each p(y > k) is mirrored at the logit of the mean of p(y > k) over the items.
    """
    probs = np.asarray(grade_probs, dtype=np.float64)
    tails = 1.0 - np.cumsum(probs / probs.sum(axis=1, keepdims=True), axis=1)[:, :-1]
    tails = np.clip(tails, _SMALLEST, 1 - _SMALLEST)
    # an exactly rounded sum does not depend on the order of the items
    means = np.array([math.fsum(tail.tolist()) for tail in tails.T]) / len(tails)
    other = np.minimum.accumulate(expit(2 * logit(means) - logit(tails)), axis=1)
    return np.maximum(-np.diff(other, axis=1, prepend=1.0, append=0.0), _LEAST_TURNED).astype(np.float32)
