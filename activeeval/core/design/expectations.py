"""What is expected of a target's values as the labels of a query come in, place by place."""

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
"""All places of a query are walked."""


def walked(target: Target, terms: Terms, beliefs: GradeProbs, offsets: Ints, items: Ints) -> tuple[Any, ...]:
    """Return what every walk over the items of a target is given: measure, lists, model and places."""
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
    """Return what is expected of every query at first, and at every place once all items up to it have their labels.

    f_0 of every query and f_k of every place.

    An item without a label stays as the model expects it. Of some ``queries`` alone the rest is 0, and so is what lies
    below the ``depths`` of these, shape (n_queries,), where they are given.
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
