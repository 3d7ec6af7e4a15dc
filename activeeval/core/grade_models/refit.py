"""Update of grade probabilities by a sample's own labels, cross-fitted over queries, for items of a few kinds.

For a query of fold f the probabilities of kind r are

    p_r^(−f) = (c_rk^(−f) + w p_rk) / (c_r^(−f) + w),

with the counts c of the labels of all other folds and a prior weight of w labels for the probabilities before the
sample. Folds consist of queries, and depend on their ids alone: a query's own labels do not affect its expected values,
so that the estimate is as unbiased as with fixed probabilities. Folds of items would not ensure this, because the items
of a query share one random number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.grade_models.values import MOST_VALUES, posterior
from activeeval.core.pool import QueryPool, pool_hashes
from activeeval.core.types import Floats, Ints

N_FOLDS = 5


@dataclass(frozen=True, slots=True, eq=False)
class ValueRefit:
    """Update of a pool's grade probabilities by a sample's own labels, cross-fitted over queries.

    Items with equal probabilities form a kind; labels of the other folds update the distribution of each kind, so that
    a query's own labels do not affect its expected values.

    Attributes
    ----------
    probs : ndarray, shape (n_items, n_grades)
        Probabilities of every item before the sample.
    kinds : ndarray of int64, shape (n_items,)
        Items with the same probabilities have the same kind; if that gives more than eleven kinds, ten bins by
        expected grade.
    expected : ndarray, shape (n_kinds, n_grades)
        Mean probabilities of each kind.
    folds : ndarray of int64, shape (n_items,)
        Fold of each item's query.
    are_alike : bool
        True if all items of a kind have the same probabilities.
    """

    probs: Floats
    kinds: Ints
    expected: Floats
    folds: Ints
    are_alike: bool

    @classmethod
    def of(cls, pool: QueryPool, grade_probs: ArrayLike) -> Self:
        """Group the items into kinds of equal or similar grade probabilities, and their queries into folds.

        ``grade_probs`` has shape (n_items, n_grades). A query's fold is a hash of its id, so that it does not depend on
        the other queries.

        Examples
        --------
        >>> pool = QueryPool(["q1", "q2"], [0, 2, 4], list("abab"))
        >>> ValueRefit.of(pool, [[0.8, 0.2], [0.4, 0.6], [0.8, 0.2], [0.8, 0.2]]).kinds.tolist()
        [0, 1, 0, 0]
        """
        probs = np.asarray(grade_probs, dtype=np.float64)
        probs = probs / probs.sum(axis=1, keepdims=True)
        grades = probs @ np.arange(probs.shape[1])
        # equal rows get one number, ascending with the expected grade
        kinds = np.unique(np.column_stack((grades, probs)), axis=0, return_inverse=True)[1].reshape(-1)
        are_alike = bool(kinds.max() <= MOST_VALUES)
        if not are_alike:
            places = np.linspace(0, 1, MOST_VALUES + 1)[1:-1]
            kinds = np.searchsorted(np.unique(np.quantile(grades, places)), grades, side="right")
            kinds = np.unique(kinds, return_inverse=True)[1]
        sums = np.zeros((int(kinds.max()) + 1, probs.shape[1]))
        np.add.at(sums, kinds, probs)
        folds = (pool_hashes(pool)[0] % np.uint64(N_FOLDS)).astype(np.int64)
        return cls(probs, kinds, sums / np.bincount(kinds)[:, None], folds[pool.item_queries], are_alike)

    def after(self, items: Ints, grades: Ints) -> tuple[Floats, Ints]:
        """Update the probabilities by labels of some items; return ``(probabilities, row of each item)``.

        The labels of a fold's queries update the probabilities of all other folds only.

        Parameters
        ----------
        items, grades : ndarray of int64, shape (n,)
            Positions of labelled items, and their grades from 0.

        Returns
        -------
        ndarray, shape (n_rows, n_grades), and ndarray of int64, shape (n_items,)
            One row for each fold and kind if the items of a kind are alike, else one for each item.
        """
        counts = np.zeros((N_FOLDS, *self.expected.shape))
        np.add.at(counts, (self.folds[items], self.kinds[items], grades), 1.0)
        learned = posterior(counts.sum(axis=0) - counts, self.expected)
        places = self.folds * len(self.expected) + self.kinds
        if self.are_alike:
            return learned.reshape(-1, self.expected.shape[1]), places
        with np.errstate(divide="ignore", invalid="ignore"):
            # kinds of different items: the factor by which labels change a kind's mean probabilities
            moved = np.where(self.expected > 0, learned / self.expected, 0.0)
        probs = self.probs * moved[self.folds, self.kinds]
        return np.asarray(probs / probs.sum(axis=1, keepdims=True)), np.arange(self.kinds.size)
