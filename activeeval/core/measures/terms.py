"""Description of a measure for the kernels of depth designs: a numerator, and an ideal if it is a ratio."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from activeeval.core.types import Floats, sealed

ADDITIVE, CASCADE, PRECISION = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """The numerator and ideal of a measure, for the computation of expected values from partial judgments.

    Attributes
    ----------
    numerator : int
        `ADDITIVE`, `CASCADE` or `PRECISION` (of average precision).
    values : ndarray, shape (n_grades,)
        Gain, stop probability or relevance of each grade.
    discounts : ndarray, shape (depth,)
        Weight of each rank that counts; for average precision only the length matters.
    cumulative : ndarray, shape (n + 1,)
        Value of the first 0, 1 … n ranks of an ideal ranking at a gain of 1; only the 0 if there is no ideal.
    """

    numerator: int
    values: Floats
    discounts: Floats
    cumulative: Floats

    @property
    def _levels(self) -> Floats:
        """Distinct gains above 0, largest first; empty if the measure has no ideal to divide by."""
        levels = np.unique(self.values[self.values > 0])[::-1]
        return levels if self.cumulative.size > 1 else levels[:0]

    @property
    def steps(self) -> Floats:
        """Difference between each distinct gain and the next lower one (0 after the last), shape (n_levels,).

        The gains descend; there are no levels without an ideal to divide by.
        """
        return sealed(self._levels - np.append(self._levels, 0.0)[1:])

    @property
    def reaches(self) -> Floats:
        """1 if a grade's gain is at least that of the level (a distinct gain), else 0, shape (n_grades, n_levels)."""
        return sealed(self.values[:, None] >= self._levels)

    @property
    def is_exact(self) -> bool:
        """True if the expected value is exact under the model: there is no ideal to divide by."""
        return self._levels.size == 0


def plain_terms(numerator: int, values: Floats, discounts: Floats) -> Terms:
    """Build the terms of a measure that is not divided by an ideal.

    ``numerator`` is `ADDITIVE`, `CASCADE` or `PRECISION`, ``values`` (n_grades,) are the gain, stop probability or
    relevance of each grade, and ``discounts`` (depth,) the weights of the ranks that count.
    """
    return Terms(numerator, values, discounts, sealed([0.0]))


def normalised_terms(numerator: int, values: Floats, discounts: Floats, ideal_discounts: Floats) -> Terms:
    """Build the terms of a measure that is divided by the value of the best ranking.

    ``numerator`` is `ADDITIVE` or `PRECISION`, ``values`` (n_grades,) are the gain or relevance of each grade,
    ``discounts`` (depth,) the weights of the ranks that count and ``ideal_discounts`` (n,) those of the best ranking.
    """
    return Terms(numerator, values, discounts, sealed(np.concatenate(([0.0], np.cumsum(ideal_discounts)))))
