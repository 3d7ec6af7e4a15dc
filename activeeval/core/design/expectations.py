"""Expected values of a target as the labels of a query arrive, place by place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from activeeval.core.design.beliefs import GradeProbs
from activeeval.core.kernels import sequential_values
from activeeval.core.kernels.bundles import Lists, MeasureTerms, Model
from activeeval.core.measures import LabelsLike, SoftLabels, Target
from activeeval.core.measures.terms import Terms
from activeeval.core.types import Floats, Ints, sealed

NO_DEPTHS = sealed(np.empty(0), np.int64)
"""Placeholder for ``depths``: all places of a query are visited."""


def walked(target: Target, terms: Terms, beliefs: GradeProbs, offsets: Ints, items: Ints) -> tuple[Any, ...]:
    """Collect the arguments common to all kernels that walk over a target's items.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n_queries + 1,)
        Start of each query's places (positions in the judging order) in ``items``.
    items : ndarray of int64, shape (n_places,)
        The item at each place.

    Returns
    -------
    tuple
        Terms of the measure, lists of both rankings, nodes and weights of the grade model, item offsets of the pool's
        queries, ``offsets`` and ``items``.
    """
    measure = MeasureTerms(terms.numerator, terms.values, terms.discounts, terms.steps, terms.reaches, terms.cumulative)
    lists = Lists(target.ranking.offsets, target.ranking.items, target.other.offsets, target.other.items)
    model = Model(sealed(beliefs.nodes), sealed(beliefs.weights))
    return measure, lists, model, target.pool.query_offsets, sealed(offsets, np.int64), sealed(items, np.int64)


def expectations_of(
    target: Target,
    beliefs: GradeProbs,
    offsets: Ints,
    items: Ints,
    labels: LabelsLike,
    queries: Ints | None = None,
    depths: Ints = NO_DEPTHS,
) -> tuple[Floats, Floats]:
    """Compute each query's expected value before any label, and after the labels of its first k places.

    A place is an item in the judging order of its query.

    Parameters
    ----------
    beliefs : GradeProbs
        The grade model.
    offsets, items : ndarray of int64, shape (n_queries + 1,) and (n_places,)
        Start of each query's places, and the item at each place.
    labels : ndarray of int64, shape (n_items,), or SoftLabels
        An item without a label (−1) keeps the model's expectation.
    queries : ndarray of int64, optional
        Indices of the queries to compute; by default all. The results of other queries are 0.
    depths : ndarray of int64, shape (n_queries,), optional
        Number of places to visit of each query; by default all. The results of later places are 0.

    Returns
    -------
    f_0, f : ndarray, shape (n_queries,) and (n_places,)
        Expected value of each query before any label; expected value of its query after the label of each place.
    """
    f, f0 = np.zeros(items.size), np.zeros(offsets.size - 1)
    # empty arrays: labels are not simulated
    no_hashes, no_samples, no_spread = np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0)
    terms = target.terms(beliefs.max_grade + 1)
    codes, values = SoftLabels.of(labels).coded(terms.values)  # labels as indices into values, −1 for none
    arrays = walked(target, replace(terms, values=values), beliefs, offsets, items)
    blocks = [(0, f0.size)] if queries is None else [(q, q + 1) for q in queries.tolist()]
    for block in blocks:
        sequential_values.reveal(*(*arrays, block, depths, codes, no_hashes, no_samples, f0, f, no_spread))
    return f0, f
