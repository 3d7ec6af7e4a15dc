"""Preference pairs: numbered, so that a few of millions can be drawn, or listed with what each counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.errors import InputError
from activeeval.core.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class PreferencePairs:
    """All pairs of items of one query and different grades, numbered: item by item, the preferred one first.

    With items ordered by query and grade, an item is preferred to all from its query's first to the
    last of a lower grade: a run of positions, so that a number tells its pair.
    """

    items: Ints
    first: Ints
    ends: Ints

    @classmethod
    def of(cls, grades: Ints, codes: Ints) -> Self:
        order = np.lexsort((grades, codes))
        query, grade = codes[order], grades[order]
        new_query = np.append(True, query[1:] != query[:-1])
        new_grade = new_query | np.append(True, grade[1:] != grade[:-1])
        place = np.arange(order.size)
        first = np.maximum.accumulate(np.where(new_query, place, 0))
        n_lower = np.maximum.accumulate(np.where(new_grade, place, 0)) - first
        return cls(order, first, np.cumsum(n_lower))

    @property
    def n_pairs(self) -> int:
        return int(self.ends[-1]) if self.ends.size else 0

    def draw(self, max_pairs: int, random: np.random.Generator) -> tuple[Ints, Ints]:
        """Return the preferred and the other item of all pairs, or of `max_pairs` of them."""
        numbers = np.arange(min(self.n_pairs, max_pairs))
        if max_pairs < self.n_pairs:
            numbers = np.sort(random.choice(self.n_pairs, int(max_pairs), replace=False, shuffle=False))
        preferred = np.searchsorted(self.ends, numbers, side="right")
        before = np.where(preferred > 0, self.ends[preferred - 1], 0)
        return self.items[preferred], self.items[self.first[preferred] + numbers - before]


@dataclass(frozen=True, slots=True, eq=False)
class WeightedPairs:
    """Pairs of a preferred and another item, listed.

    Attributes
    ----------
    preferred, other : ndarray of int64, shape (n_pairs,)
        Places on the axis of scores.
    gaps : ndarray of float64, shape (n_pairs,)
        What a difference of scores is multiplied by: 1, or the difference of the grades.
    weights : ndarray of float64, shape (n_pairs,)
        Together 1.
    """

    preferred: Ints
    other: Ints
    gaps: Floats
    weights: Floats

    @classmethod
    def alike(cls, preferred: Ints, other: Ints) -> Self:
        """Return pairs that all count the same, such as preferences that clicks tell."""
        n = preferred.size
        return cls(preferred, other, np.ones(n), np.full(n, 1.0 / n))


def checked_pairs(pairs: ArrayLike, n_rows: int) -> Ints:
    """Return pairs of row numbers, the preferred one first, shape (n, 2).

    Raises
    ------
    InputError
        Where there are none, or names the first that is no pair of two rows.
    """
    try:
        held = np.asarray(pairs)
    except ValueError:
        raise InputError("pairs must have shape (n, 2), got rows of different lengths") from None
    if held.size == 0:
        raise InputError("pairs holds no pair, expected row numbers, the preferred one first")
    if held.ndim != 2 or held.shape[1] != 2:
        raise InputError(f"pairs must have shape (n, 2), the preferred row first, got {held.shape}")
    if held.dtype.kind not in "iu":
        raise InputError(f"pairs must be row numbers, whole numbers from 0, got {held.dtype} values")
    outside = np.argwhere((held < 0) | (held >= n_rows))
    if outside.size:
        place, side = outside[0]
        raise InputError(f"pairs must hold row numbers from 0 to {n_rows - 1}, got {held[place, side]} in pair {place}")
    alike = np.flatnonzero(held[:, 0] == held[:, 1])
    if alike.size:
        raise InputError(f"pairs must be of two rows, got row {held[alike[0], 0]} twice in pair {alike[0]}")
    return held.astype(np.int64)
