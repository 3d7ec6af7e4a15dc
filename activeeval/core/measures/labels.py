"""Labels of a pool's items: one grade per item, or a distribution over grades if judges disagree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.core.checks import first_above
from activeeval.core.errors import InputError
from activeeval.core.measures.ranking_checks import checked_grades
from activeeval.core.pool import QueryPool
from activeeval.core.types import Floats, Ints, sealed


@dataclass(frozen=True, slots=True, eq=False)
class SoftLabels:
    """Labels of which some are distributions over grades; the value of such a label is the mean value of its grades.

    Attributes
    ----------
    grades : array of int, shape (n_items,)
        Grade of every item, negative if unjudged. For an item with a distribution, its lower median: used only for
        display, not for values.
    items : ndarray of int64, shape (n_soft,)
        Positions of the items with a distribution.
    weights : ndarray, shape (n_soft, n_grades)
        Weights of the grades of each, in any unit, for example the number of judges who gave the grade.

    Examples
    --------
    >>> labels = SoftLabels.of_judges([2, 0, -1], {1: (0, 1, 1)}, n_grades=3)
    >>> labels.values(np.array([0.0, 1.0, 3.0])).round(2)
    array([3.  , 0.67,  nan])
    """

    grades: NDArray[Any]
    items: Ints
    weights: Floats

    def __post_init__(self) -> None:
        """Raise InputError unless each item with a distribution has a row of weights ≥ 0, not all 0."""
        sums = self.weights.sum(axis=1)
        if sums.shape != self.items.shape or not ((self.weights >= 0).all() and (sums > 0).all()):
            n = self.items.size
            raise InputError(f"weights must be ≥ 0 and not all 0 in a row, a row for each of {n} items that have any")

    @classmethod
    def of(cls, labels: LabelsLike) -> Self:
        """Convert labels to SoftLabels; an array of grades (n_items,) becomes labels without distributions."""
        if isinstance(labels, cls):
            return labels
        return cls(np.asarray(labels), np.empty(0, dtype=np.int64), np.empty((0, 0)))

    @classmethod
    def of_judges(cls, grades: ArrayLike, by_item: Mapping[int, Sequence[int]], n_grades: int) -> Self:
        """Build labels from grades and, for some items, the grades of several judges with equal weights.

        ``grades`` (n_items,) are negative if unjudged; ``by_item`` maps an item's position to the grades of its judges,
        and ``n_grades`` is the number of grades on the scale.
        """
        weights = np.zeros((len(by_item), n_grades))
        cells = [(row, grade) for row, several in enumerate(by_item.values()) for grade in several]
        np.add.at(weights, tuple(np.array(cells, dtype=np.int64).reshape(-1, 2).T), 1.0)
        return cls(np.asarray(grades), np.array(list(by_item), dtype=np.int64), weights)

    @property
    def is_soft(self) -> bool:
        """True if any item has a distribution."""
        return self.items.size > 0

    @property
    def largest(self) -> int:
        """Largest grade in the labels, or in the scale of their distributions; at least 1."""
        return int(max(self.grades.max(initial=1), self.weights.shape[1] - 1))

    def over(self, known: Ints, items: Ints) -> Self:
        """Combine these labels for ``items`` (positions) with the grades `known` (n_items,) for all other items."""
        grades, is_of_these = known.copy(), np.isin(self.items, items)
        grades[items] = self.grades[items]
        return type(self)(grades, self.items[is_of_these], self.weights[is_of_these])

    def coded(self, table: Floats) -> tuple[Ints, Floats]:
        """Encode the labels for kernels: indices into a table of values, negative if unjudged.

        Parameters
        ----------
        table : ndarray, shape (n_grades,)
            Value of each grade.

        Returns
        -------
        codes : ndarray of int64, shape (n_items,)
            Index of each label's value; negative if unjudged.
        values : ndarray
            The table, followed by the mean value of each distinct distribution.
        """
        if not self.is_soft:
            return sealed(self.grades, np.int64), table
        # a checked distribution has no weight on grades beyond the table
        different, index = np.unique(self.weights, axis=0, return_inverse=True)
        codes, n = np.array(self.grades, dtype=np.int64), min(table.size, different.shape[1])
        codes[self.items] = table.size + index.ravel()
        means = (different[:, :n] * table[:n]).sum(axis=1) / different.sum(axis=1)
        return sealed(codes, np.int64), sealed(np.append(table, means))

    def values(self, table: Floats) -> Floats:
        """Compute the value of every item's label, shape (n_items,); NaN if unjudged.

        ``table`` (n_grades,) has the value of each grade; a distribution over grades has the mean of theirs.
        """
        codes, values = self.coded(table)
        return np.where(codes >= 0, values[np.maximum(codes, 0)], np.nan)

    def check(self, measure: Any) -> None:
        """Raise InputError if labels are distributions over grades but the measure has no value between two grades."""
        if self.is_soft and (between := measure.no_gain_between):
            raise InputError(f"{measure} has no gain between {between}: choose another policy than mean-gain")


LabelsLike = ArrayLike | SoftLabels
"""Accepted labels: an array of whole grades, negative if unjudged, or `SoftLabels`."""


def checked_labels(pool: QueryPool, labels: LabelsLike, max_grade: int | None) -> tuple[SoftLabels, int]:
    """Check labels for a kernel; return ``(labels, number of grades on the scale)``.

    Raises InputError if there is not one whole number for each item, or a grade is above the measure's ``max_grade``
    (None if it accepts any).
    """
    soft = SoftLabels.of(labels)
    grades, n_grades = checked_grades(pool, soft.grades, max_grade)
    if soft.is_soft:
        # highest grade of each distribution that has a weight
        tops = soft.weights.shape[1] - 1 - np.argmax(soft.weights[:, ::-1] > 0, axis=1)
        bad = -1 if max_grade is None else first_above(tops, max_grade)
        if bad >= 0:
            place = pool.place(int(soft.items[bad]))
            raise InputError(f"grade {tops[bad]} of {place} is above the measure's largest, {max_grade}")
        n_grades = max(n_grades, int(tops.max()) + 1)
    return replace(soft, grades=grades), n_grades
