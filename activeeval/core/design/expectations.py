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
    """Collect the arguments common to all kernels that walk over a target's items: measure, lists, model and places."""
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
    """Compute each query's expected value before any label, and after the labels of all items up to each place.

    Returns f_0 of every query and f_k of every place. An item without a label keeps the model's expectation. If only
    some ``queries`` are given, all other entries are 0, and so are places below their ``depths``, shape (n_queries,).
    """
    f, f0 = np.zeros(items.size), np.zeros(offsets.size - 1)
    no_hashes, no_samples = np.empty(0, np.uint64), np.empty(0, np.int64)
    terms = target.terms(beliefs.max_grade + 1)
    codes, values = SoftLabels.of(labels).coded(terms.values)
    arrays = walked(target, replace(terms, values=values), beliefs, offsets, items)
    blocks = [(0, f0.size)] if queries is None else [(q, q + 1) for q in queries.tolist()]
    for block in blocks:
        sequential_values.reveal(*(*arrays, block, depths, codes, no_hashes, no_samples, f0, f, np.empty(0)))
    return f0, f
