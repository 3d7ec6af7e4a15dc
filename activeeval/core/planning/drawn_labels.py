"""Labels that a pool may turn out to have, drawn from what is believed of them: what rehearsals are run on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from activeeval.core.design import GradeProbs
from activeeval.core.pool import Seed
from activeeval.core.types import Ints

_STEP = 0.35
"""How many times as frequent a grade is as the one below, where nothing is known: the mean grades of MQ2008,
MQ2007-agg, OHSUMED and the generated pool are those of .23, .26, .37 and .41. The logarithm of what uniform models left
there of the variance that they expected (joint questions) was off what such labels tell by a root mean square of .58,
.41, .38, .41 and .73 with .6, .4, .35, .3 and .2, and off 1.2 for all measures alike by .79."""


def drawn_labels(beliefs: GradeProbs, rng: Seed) -> Ints:
    """Return grades drawn from a model, shape (n_items,): a node for each query, then its items' grades given that."""
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
    """Return beliefs by which high grades are rare, as they are in judged collections: of a uniform model."""
    nodes = beliefs.nodes * _STEP ** np.arange(beliefs.nodes.shape[2])
    return replace(beliefs, nodes=nodes / nodes.sum(axis=2, keepdims=True))


def n_taught(beliefs: GradeProbs) -> int:
    """Return how many grades a model has been taught, from 0 on: those above it takes for impossible."""
    return int(np.flatnonzero(beliefs.nodes.any(axis=(0, 1)))[-1]) + 1


def spread_above(labels: Ints, n_taught: int, n_grades: int, rng: Seed) -> Ints:
    """Return labels in which the highest grade that a model was taught may as well be any grade above it.

    Who has only seen which items are relevant knows nothing of which are very relevant.
    """
    is_top = labels == n_taught - 1
    drawn = np.random.default_rng(rng).integers(n_taught - 1, n_grades, size=int(is_top.sum()))
    spread = labels.copy()
    spread[is_top] = drawn
    return spread
