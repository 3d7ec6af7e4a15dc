"""Simulation of a pool's labels from grade probabilities, for rehearsals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from activeeval.core.design import GradeProbs
from activeeval.core.pool import Seed
from activeeval.core.types import Ints

_STEP = 0.35
"""Frequency ratio of each grade to the one below, for models without training: the mean grades of MQ2008, MQ2007-agg,
OHSUMED and the generated pool correspond to .23, .26, .37 and .41. Error of the log ratio of the remaining variance to
the variance expected by uniform models there (joint questions), root mean square: .58, .41, .38, .41 and .73 with .6,
.4, .35, .3 and .2; a constant ratio of 1.2 for all measures has .79."""


def drawn_labels(beliefs: GradeProbs, rng: Seed) -> Ints:
    """Simulate a grade of every item from a grade model, shape (n_items,).

    A node (a value of the query factor, a random effect shared by a query's items) is drawn for each query, then the
    grades of its items given the node. ``beliefs.weights`` (n_queries, n_nodes) are the probabilities of the nodes,
    ``beliefs.nodes`` (n_nodes, n_items, n_grades) those of the grades at each node.
    """
    random = np.random.default_rng(rng)
    offsets = beliefs.query_offsets
    n_queries, n_items = offsets.size - 1, int(offsets[-1])
    cumulated = np.cumsum(beliefs.weights, axis=1)
    nodes = (random.random((n_queries, 1)) * cumulated[:, -1:] >= cumulated).sum(axis=1)
    nodes = np.minimum(nodes, beliefs.weights.shape[1] - 1)
    probs = beliefs.nodes[np.repeat(nodes, np.diff(offsets)), np.arange(n_items)]
    tails = np.cumsum(probs, axis=1)
    return np.asarray((random.random((n_items, 1)) * tails[:, -1:] >= tails).sum(axis=1), dtype=np.int64)


def skewed(beliefs: GradeProbs) -> GradeProbs:
    """Copy the model with rarer high grades, as in judged collections: p(grade k) ∝ its former value · `_STEP` ** k.

    ``beliefs.nodes`` (n_nodes, n_items, n_grades) are the grade probabilities at each value of the query factor.
    """
    nodes = beliefs.nodes * _STEP ** np.arange(beliefs.nodes.shape[2])
    return replace(beliefs, nodes=nodes / nodes.sum(axis=2, keepdims=True))


def n_taught(beliefs: GradeProbs) -> int:
    """Count the grades that a model can predict: those from 0 up to the highest with a positive probability."""
    return int(np.flatnonzero(beliefs.nodes.any(axis=(0, 1)))[-1]) + 1


def spread_above(labels: Ints, n_taught: int, n_grades: int, rng: Seed) -> Ints:
    """Replace the highest grade that a model was trained on by random grades from it to the highest of the scale.

    A model trained on binary relevance has no information about higher grades.

    Parameters
    ----------
    labels : ndarray of int64, shape (n_items,)
        Simulated grades.
    n_taught, n_grades : int
        Number of grades that the model can predict, and number of grades of the scale.

    Returns
    -------
    ndarray of int64, shape (n_items,)
        The labels; other grades than ``n_taught`` − 1 stay as they are.
    """
    is_top = labels == n_taught - 1
    drawn = np.random.default_rng(rng).integers(n_taught - 1, n_grades, size=int(is_top.sum()))
    spread = labels.copy()
    spread[is_top] = drawn
    return spread
