"""Queries whose labels are known, predicted by a model that had seen none of them: how far its word may be taken.

Where a label fell in its predicted distribution, uniform between p(y < label) and p(y ≤ label), says what the model
does not know: bunched numbers that it is too sure, numbers of a query that go together what its items share. Labels of
another pool that err in the same way are made by handing these numbers on: every query of the pool takes those of a
held-out query that is about as long, its items by their rank in expected grade, and the pool's own probabilities turn
them into grades. So what a sample of the pool should show is tried out for any measure, rankings and design, none of
which the held-out queries need to have.
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
"""Of the held-out queries, by their length, those that a query's numbers may come from on either side, and the least
number of them: of 157 queries on MQ2008 these are 19 to 39."""


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOut:
    """Labelled items as a model predicted them out of fold.

    Attributes
    ----------
    probs : ndarray, shape (n, n_grades)
        p(y = k) of every item, from a model that saw no label of its query.
    grades : ndarray of int64, shape (n,)
    queries : ndarray of int64, shape (n,)
        The query of every item, in any order.

    Raises
    ------
    InputError
        Where the three do not go together.

    Examples
    --------
    >>> HeldOut(probs=np.full((4, 2), 0.5), grades=np.array([0, 1, 1, 0]), queries=np.array([7, 7, 8, 8])).n_queries
    2
    """

    probs: Floats
    grades: Ints
    queries: Ints

    def __post_init__(self) -> None:
        n = self.grades.size
        if self.probs.ndim != 2 or not 0 < n == len(self.probs) == self.queries.size:
            shapes = f"{self.probs.shape}, {self.grades.shape} and {self.queries.shape}"
            raise InputError(f"held-out probs, grades and queries must be of the same items, got shapes {shapes}")
        if self.grades.min() < 0 or self.grades.max() >= self.probs.shape[1]:
            raise InputError(f"held-out grades must lie between 0 and {self.probs.shape[1] - 1}")

    @property
    def n_queries(self) -> int:
        """How many queries there are."""
        return self._starts.size

    @cached_property
    def _by_rank(self) -> Ints:
        """The items, query by query, in each the highest expected grade first."""
        return _by_rank(self.probs, np.unique(self.queries, return_inverse=True)[1])

    @cached_property
    def _starts(self) -> Ints:
        """Where each query begins among these."""
        return np.flatnonzero(np.diff(self.queries[self._by_rank], prepend=self.queries.min() - 1))

    @cached_property
    def _sizes(self) -> Ints:
        return np.diff(np.append(self._starts, self.grades.size))

    def drawn_labels(self, beliefs: GradeProbs, rng: Seed) -> Ints:
        """Return grades of a pool that its model errs about as it erred about the held-out ones, shape (n_items,)."""
        random = np.random.default_rng(rng)
        offsets, probs = beliefs.query_offsets, _marginals(beliefs)
        owners = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
        sizes, donors = np.diff(offsets), self._donors(np.diff(offsets), random)
        places = np.arange(owners.size) - offsets[owners]
        rows = (places + 0.5) * (self._sizes[donors] / np.maximum(sizes, 1))[owners]
        taken = self._by_rank[self._starts[donors][owners] + rows.astype(np.int64)]
        grades, below = self.grades[taken], np.cumsum(self.probs, axis=1)[taken]
        chances = self.probs[taken, grades]
        numbers = below[np.arange(taken.size), grades] - chances * random.random(taken.size)
        items, labels = _by_rank(probs, owners), np.empty(taken.size, dtype=np.int64)
        labels[items] = (numbers[:, None] >= np.cumsum(probs, axis=1)[items, :-1]).sum(axis=1)
        return labels

    def _donors(self, sizes: Ints, random: np.random.Generator) -> Ints:
        """Return a held-out query for each of some sizes, one of those that are nearest in size."""
        last = self.n_queries - 1
        width = min(max(int(_NEAR * self.n_queries), _FEWEST_NEAR), last)
        by_size = np.argsort(self._sizes, kind="stable")
        nearest = np.searchsorted(self._sizes[by_size], sizes) + random.integers(-width, width + 1, size=sizes.size)
        inside = np.abs(nearest)  # what is beyond an end is reflected there
        return np.asarray(by_size[np.where(inside > last, np.maximum(2 * last - inside, 0), inside)])


def _by_rank(probs: Floats, owners: Ints) -> Ints:
    """Return items query by query, in each the highest expected grade first."""
    return np.lexsort((-(probs @ np.arange(probs.shape[1])), owners))


def _marginals(beliefs: GradeProbs) -> Floats:
    """Return p(y = k) of every item, shape (n_items, n_grades), over the nodes of its query."""
    owners = np.repeat(np.arange(beliefs.query_offsets.size - 1), np.diff(beliefs.query_offsets))
    probs = np.zeros(beliefs.nodes.shape[1:])
    for of_query, node in zip(beliefs.weights.T, beliefs.nodes, strict=True):
        probs += of_query[owners, None] * node
    return probs
