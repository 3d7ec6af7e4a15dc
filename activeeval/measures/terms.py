"""What the kernels of depth designs must know of a measure: a numerator, and an ideal where there is one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from activeeval.types import Floats, sealed

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
    steps : ndarray, shape (n_levels,)
        How much the gain of each level exceeds that of the next one; empty where the ideal is 1.
    reaches : ndarray, shape (n_grades, n_levels)
        1 where an item of the grade counts at the level.
    cumulative : ndarray, shape (n + 1,)
        What the first 0, 1 … n ranks of an ideal ranking are worth at a gain of 1.
    """

    numerator: int
    values: Floats
    discounts: Floats
    steps: Floats
    reaches: Floats
    cumulative: Floats

    @property
    def is_exact(self) -> bool:
        """Whether the expected value is exact under the model: no ideal to divide by."""
        return self.steps.size == 0


def plain_terms(numerator: int, values: Floats, discounts: Floats) -> Terms:
    """Return the terms of a measure without an ideal."""
    return Terms(numerator, values, discounts, sealed([]), sealed(np.empty((values.size, 0))), sealed([0.0]))


def normalised_terms(numerator: int, values: Floats, discounts: Floats, ideal_discounts: Floats) -> Terms:
    """Return the terms of a measure that is divided by the value of the best ranking."""
    levels = np.unique(values[values > 0])[::-1]
    steps = levels - np.append(levels[1:], 0.0)
    reaches = (values[:, None] >= levels).astype(np.float64)
    cumulative = np.concatenate(([0.0], np.cumsum(ideal_discounts)))
    return Terms(numerator, values, discounts, sealed(steps), sealed(reaches), sealed(cumulative))
