"""What the kernels of depth designs must know of a measure: a numerator, and an ideal where there is one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from activeeval.core.types import Floats, sealed

ADDITIVE, CASCADE, PRECISION = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """A value as (numerator) / (ideal), both expected from what is known of the items.

    Attributes
    ----------
    numerator : int
        `ADDITIVE`, `CASCADE` or `PRECISION` (of average precision).
    values : ndarray, shape (n_grades,)
        Gain, stop probability or relevance of each grade.
    discounts : ndarray, shape (depth,)
        Weight of each rank that counts; of average precision only the length matters.
    cumulative : ndarray, shape (n + 1,)
        What the first 0, 1 … n ranks of an ideal ranking are worth at a gain of 1; the 0 alone where there is no ideal.
    """

    numerator: int
    values: Floats
    discounts: Floats
    cumulative: Floats

    @property
    def _levels(self) -> Floats:
        """The gains above 0 that there are, largest first; none without an ideal."""
        levels = np.unique(self.values[self.values > 0])[::-1]
        return levels if self.cumulative.size > 1 else levels[:0]

    @property
    def steps(self) -> Floats:
        """How much the gain of each level exceeds that of the next one, shape (n_levels,)."""
        return sealed(self._levels - np.append(self._levels, 0.0)[1:])

    @property
    def reaches(self) -> Floats:
        """1 where an item of the grade counts at the level, shape (n_grades, n_levels)."""
        return sealed(self.values[:, None] >= self._levels)

    @property
    def is_exact(self) -> bool:
        """Whether the expected value is exact under the model: no ideal to divide by."""
        return self._levels.size == 0


def plain_terms(numerator: int, values: Floats, discounts: Floats) -> Terms:
    """Return the terms of a measure without an ideal."""
    return Terms(numerator, values, discounts, sealed([0.0]))


def normalised_terms(numerator: int, values: Floats, discounts: Floats, ideal_discounts: Floats) -> Terms:
    """Return the terms of a measure that is divided by the value of the best ranking."""
    return Terms(numerator, values, discounts, sealed(np.concatenate(([0.0], np.cumsum(ideal_discounts)))))
