"""Calibration of a grade model on labelled queries that it was not trained on.

The position of a label in its predicted distribution, uniform between p(y < label) and p(y ≤ label), shows the model's
errors: clustered positions mean overconfidence, correlated positions within a query mean an effect shared by its items.
To simulate labels of another pool with the same errors, these positions are transferred: every query of the pool takes
those of a held-out query of similar length, its items by rank in expected grade, and the pool's own probabilities
convert them to grades. So a sample of the pool can be simulated for any measure, rankings and design, even if the
held-out queries do not have these.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from activeeval.core.design import GradeProbs
from activeeval.core.errors import InputError
from activeeval.core.pool import Seed
from activeeval.core.types import Floats, Ints

_NEAR, _FEWEST_NEAR = 0.125, 5
"""Window of held-out queries, sorted by length, from which a query's positions are drawn: its share on either side, and
its smallest size; of 157 queries on MQ2008 these are 19 to 39."""


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOut:
    """Labelled items with out-of-fold predictions of a model.

    Attributes
    ----------
    probs : ndarray, shape (n, n_grades)
        Probability of each grade of every item, from a model trained without the labels of its query.
    grades : ndarray of int64, shape (n,)
        The true grade of every item.
    queries : ndarray of int64, shape (n,)
        Query of every item, in any order.

    Raises
    ------
    InputError
        If the shapes do not match or a grade is out of range.

    Examples
    --------
    >>> HeldOut(probs=np.full((4, 2), 0.5), grades=np.array([0, 1, 1, 0]), queries=np.array([7, 7, 8, 8])).n_queries
    2
    """

    probs: Floats
    grades: Ints
    queries: Ints

    def __post_init__(self) -> None:
        """Raise InputError unless the arrays belong to the same items and the grades are on the scale."""
        n = self.grades.size
        if self.probs.ndim != 2 or not 0 < n == len(self.probs) == self.queries.size:
            shapes = f"{self.probs.shape}, {self.grades.shape} and {self.queries.shape}"
            raise InputError(f"held-out probs, grades and queries must be of the same items, got shapes {shapes}")
        if self.grades.min() < 0 or self.grades.max() >= self.probs.shape[1]:
            raise InputError(f"held-out grades must lie between 0 and {self.probs.shape[1] - 1}")

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self._starts.size

    @cached_property
    def _by_rank(self) -> Ints:
        """Indices of the items sorted by query and, within a query, by expected grade, highest first, shape (n,)."""
        return _by_rank(self.probs, np.unique(self.queries, return_inverse=True)[1])

    @cached_property
    def _starts(self) -> Ints:
        """Start of each query in `_by_rank`, shape (n_queries,)."""
        return np.flatnonzero(np.diff(self.queries[self._by_rank], prepend=self.queries.min() - 1))

    @cached_property
    def _sizes(self) -> Ints:
        """Number of items of each query, shape (n_queries,)."""
        return np.diff(np.append(self._starts, self.grades.size))

    def drawn_labels(self, beliefs: GradeProbs, rng: Seed) -> Ints:
        """Simulate grades of a pool with model errors like those on the held-out queries, shape (n_items,).

        Each query of the pool takes, by rank of expected grade, the positions of true grades in the predicted
        distributions of a held-out query of similar length: numbers in (0, 1], uniform between p(y < grade) and p(y ≤
        grade). The pool's own distributions turn them into grades. ``beliefs`` is the grade model of the pool.
        """
        random = np.random.default_rng(rng)
        offsets, probs = beliefs.query_offsets, _marginals(beliefs)
        owners = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
        sizes, donors = np.diff(offsets), self._donors(np.diff(offsets), random)  # donors: a held-out query for each
        ranks = np.arange(owners.size) - offsets[owners]
        donor_ranks = (ranks + 0.5) * (self._sizes[donors] / np.maximum(sizes, 1))[owners]
        source_items = self._by_rank[self._starts[donors][owners] + donor_ranks.astype(np.int64)]
        grades, below = self.grades[source_items], np.cumsum(self.probs, axis=1)[source_items]
        chances = self.probs[source_items, grades]
        positions = below[np.arange(source_items.size), grades] - chances * random.random(source_items.size)
        items, labels = _by_rank(probs, owners), np.empty(source_items.size, dtype=np.int64)
        labels[items] = (positions[:, None] >= np.cumsum(probs, axis=1)[items, :-1]).sum(axis=1)
        return labels

    def _donors(self, sizes: Ints, random: np.random.Generator) -> Ints:
        """Draw a held-out query (index) for each of ``sizes``, numbers of items, from those nearest in size; (n,)."""
        last = self.n_queries - 1
        width = min(max(int(_NEAR * self.n_queries), _FEWEST_NEAR), last)
        by_size = np.argsort(self._sizes, kind="stable")
        nearest = np.searchsorted(self._sizes[by_size], sizes) + random.integers(-width, width + 1, size=sizes.size)
        inside = np.abs(nearest)  # positions beyond an end are reflected
        return np.asarray(by_size[np.where(inside > last, np.maximum(2 * last - inside, 0), inside)])


def _by_rank(probs: Floats, owners: Ints) -> Ints:
    """Sort item indices by query and, within a query, by expected grade, highest first, shape (n_items,).

    ``probs`` (n_items, n_grades): grade probabilities; ``owners`` (n_items,): index of each item's query.
    """
    return np.lexsort((-(probs @ np.arange(probs.shape[1])), owners))


def _marginals(beliefs: GradeProbs) -> Floats:
    """Compute the probability of each grade of every item, shape (n_items, n_grades).

    It is averaged over the nodes (values of the query factor, a random effect shared by a query's items), whose
    probabilities are ``beliefs.weights``, shape (n_queries, n_nodes).
    """
    owners = np.repeat(np.arange(beliefs.query_offsets.size - 1), np.diff(beliefs.query_offsets))
    probs = np.zeros(beliefs.nodes.shape[1:])
    for of_query, node in zip(beliefs.weights.T, beliefs.nodes, strict=True):
        probs += of_query[owners, None] * node
    return probs
