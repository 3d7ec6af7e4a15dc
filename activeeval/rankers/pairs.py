"""Preference pairs: implicitly numbered, to sample a few of millions, or listed with weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.errors import InputError
from activeeval.core.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class PreferencePairs:
    """All pairs of items of one query and different grades, numbered item by item, the preferred one first.

    With items sorted by query and grade, an item is preferred to those from its query's first to the last of a lower
    grade. They are a contiguous run, so that a pair's number determines the pair.

    Attributes
    ----------
    items : ndarray of int, shape (n,)
        Row numbers of the items, sorted by query, then by ascending grade.
    first : ndarray of int, shape (n,)
        Place of the first item of each item's query.
    ends : ndarray of int, shape (n,)
        Number of pairs of each preferred item and all items before it.
    """

    items: Ints
    first: Ints
    ends: Ints

    @classmethod
    def of(cls, grades: Ints, codes: Ints) -> Self:
        """Sort the items by query number (`codes`) and grade, and count the pairs of each preferred item.

        An item is preferred to the items of its query with a lower grade, which stand before it.
        """
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
        """Number of pairs."""
        return int(self.ends[-1]) if self.ends.size else 0

    def draw(self, max_pairs: int, random: np.random.Generator) -> tuple[Ints, Ints]:
        """List the preferred and the other item, shape (n_pairs,) each, of all pairs or of `max_pairs` random ones.

        Pairs are numbered item by item: ``ends`` has the number of pairs up to each preferred item, ``first`` the place
        of the first item of its query, where the items of lower grades begin.
        """
        numbers = np.arange(min(self.n_pairs, max_pairs))
        if max_pairs < self.n_pairs:
            numbers = np.sort(random.choice(self.n_pairs, int(max_pairs), replace=False, shuffle=False))
        preferred = np.searchsorted(self.ends, numbers, side="right")
        before = np.where(preferred > 0, self.ends[preferred - 1], 0)
        return self.items[preferred], self.items[self.first[preferred] + numbers - before]


@dataclass(frozen=True, slots=True, eq=False)
class WeightedPairs:
    """Explicit pairs of a preferred and another item.

    Attributes
    ----------
    preferred, other : ndarray of int64, shape (n_pairs,)
        Item numbers, as indices of the scores.
    gaps : ndarray of float64, shape (n_pairs,)
        Factor of the difference of scores: 1, or the difference of the grades.
    weights : ndarray of float64, shape (n_pairs,)
        With sum 1.
    """

    preferred: Ints
    other: Ints
    gaps: Floats
    weights: Floats

    @classmethod
    def alike(cls, preferred: Ints, other: Ints) -> Self:
        """Build pairs of equal weight, such as preferences from clicks, from item numbers (n_pairs,)."""
        n = preferred.size
        return cls(preferred, other, np.ones(n), np.full(n, 1.0 / n))


def checked_pairs(pairs: ArrayLike, n_rows: int) -> Ints:
    """Validate pairs of row numbers, the preferred one first, shape (n, 2).

    Raises
    ------
    InputError
        If there are no pairs, or at the first that is not a pair of two rows.
    """
    try:
        rows = np.asarray(pairs)
    except ValueError:
        raise InputError("pairs must have shape (n, 2), got rows of different lengths") from None
    if rows.size == 0:
        raise InputError("pairs holds no pair, expected row numbers, the preferred one first")
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise InputError(f"pairs must have shape (n, 2), the preferred row first, got {rows.shape}")
    if rows.dtype.kind not in "iu":
        raise InputError(f"pairs must be row numbers, whole numbers from 0, got {rows.dtype} values")
    outside = np.argwhere((rows < 0) | (rows >= n_rows))
    if outside.size:
        place, side = outside[0]
        raise InputError(f"pairs must hold row numbers from 0 to {n_rows - 1}, got {rows[place, side]} in pair {place}")
    alike = np.flatnonzero(rows[:, 0] == rows[:, 1])
    if alike.size:
        raise InputError(f"pairs must be of two rows, got row {rows[alike[0], 0]} twice in pair {alike[0]}")
    return rows.astype(np.int64)
