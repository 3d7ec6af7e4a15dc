"""Labels of a pool's items: a grade each, or a distribution of grades where judges differ."""

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
    """Grades of which some are distributions: such a label is worth the mean of what its grades are worth.

    Attributes
    ----------
    grades : array of int, shape (n_items,)
        The grade of every item, negative where there is none; of a distribution the one that stands for it where a
        grade has to be shown, the lower median. No value is computed from that.
    items : ndarray of int64, shape (n_soft,)
        Which items have a distribution.
    weights : ndarray, shape (n_soft, n_grades)
        Weights of the grades of each, in any unit, as how many judges gave it.

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
        sums = self.weights.sum(axis=1)
        if sums.shape != self.items.shape or not ((self.weights >= 0).all() and (sums > 0).all()):
            n = self.items.size
            raise InputError(f"weights must be ≥ 0 and not all 0 in a row, a row for each of {n} items that have any")

    @classmethod
    def of(cls, labels: LabelsLike) -> Self:
        """Return labels as such, of grades alone where they are an array."""
        if isinstance(labels, cls):
            return labels
        return cls(np.asarray(labels), np.empty(0, dtype=np.int64), np.empty((0, 0)))

    @classmethod
    def of_judges(cls, grades: ArrayLike, by_item: Mapping[int, Sequence[int]], n_grades: int) -> Self:
        """Return labels of which some items' are all the grades that judges gave them, who weigh alike."""
        weights = np.zeros((len(by_item), n_grades))
        cells = [(row, grade) for row, several in enumerate(by_item.values()) for grade in several]
        np.add.at(weights, tuple(np.array(cells, dtype=np.int64).reshape(-1, 2).T), 1.0)
        return cls(np.asarray(grades), np.array(list(by_item), dtype=np.int64), weights)

    @property
    def is_soft(self) -> bool:
        """Whether any item has a distribution."""
        return self.items.size > 0

    @property
    def largest(self) -> int:
        """The largest grade that the labels know, 1 at least."""
        return int(max(self.grades.max(initial=1), self.weights.shape[1] - 1))

    def over(self, known: Ints, items: Ints) -> Self:
        """Return these labels of some items, and known grades of all others."""
        grades, is_of_these = known.copy(), np.isin(self.items, items)
        grades[items] = self.grades[items]
        return type(self)(grades, self.items[is_of_these], self.weights[is_of_these])

    def coded(self, table: Floats) -> tuple[Ints, Floats]:
        """Return labels as kernels take them: places in a table of values, negative where there is no label.

        Parameters
        ----------
        table : ndarray, shape (n_grades,)
            What each grade is worth.

        Returns
        -------
        codes : ndarray of int64, shape (n_items,)
        values : ndarray
            The table, then what each of the different distributions is worth.
        """
        if not self.is_soft:
            return sealed(self.grades, np.int64), table
        different, which = np.unique(self.weights, axis=0, return_inverse=True)
        codes, n = np.array(self.grades, dtype=np.int64), min(table.size, different.shape[1])
        codes[self.items] = table.size + which.ravel()
        means = (different[:, :n] * table[:n]).sum(axis=1) / different.sum(axis=1)
        return sealed(codes, np.int64), sealed(np.append(table, means))

    def values(self, table: Floats) -> Floats:
        """Return what every item's label is worth by a table of grades, shape (n_items,); NaN where there is none."""
        codes, values = self.coded(table)
        return np.where(codes >= 0, values[np.maximum(codes, 0)], np.nan)

    def check(self, measure: Any) -> None:
        """Raise InputError where there are distributions and a measure knows no gain between those of grades."""
        if self.is_soft and (between := measure.no_gain_between):
            raise InputError(f"{measure} knows no gain between {between}: a mean gain is for other measures")


LabelsLike = ArrayLike | SoftLabels
"""Labels as they are taken everywhere: whole grades, negative where there is none, or `SoftLabels`."""


def checked_labels(pool: QueryPool, labels: LabelsLike, max_grade: int | None) -> tuple[SoftLabels, int]:
    """Return labels for a kernel and the number of grades on the scale; see `checked_grades`."""
    soft = SoftLabels.of(labels)
    grades, n_grades = checked_grades(pool, soft.grades, max_grade)
    if soft.is_soft:
        tops = soft.weights.shape[1] - 1 - np.argmax(soft.weights[:, ::-1] > 0, axis=1)
        bad = -1 if max_grade is None else first_above(tops, max_grade)
        if bad >= 0:
            place = pool.place(int(soft.items[bad]))
            raise InputError(f"grade {tops[bad]} of {place} is above the measure's largest, {max_grade}")
        n_grades = max(n_grades, int(tops.max()) + 1)
    return replace(soft, grades=grades), n_grades
