"""Judged items as one list for each query, and the parts of the lists that losses use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

import numpy as np

from activeeval.core.errors import InputError
from activeeval.core.types import Floats, Ints
from activeeval.rankers.pairs import PreferencePairs, WeightedPairs

Part = Literal["all", "top"]
""""all": all items of a query. "top": the items T of a grade above 0, or their pairs with the rest."""


class ListSpans(NamedTuple):
    """Lists as ranges of items, from `starts` to before `stops`, with weights that sum to 1."""

    starts: Ints
    stops: Ints
    weights: Floats


@dataclass(frozen=True, slots=True, eq=False)
class JudgedLists:
    """Items grouped by query, best grade first, without queries whose items all have one grade.

    Attributes
    ----------
    rows : ndarray of int64, shape (n,)
        Row number of each item in the input.
    grades : ndarray of int64, shape (n,)
        Grade of each item.
    offsets : ndarray of int64, shape (n_lists + 1,)
        List i has the items offsets[i] … offsets[i + 1] − 1.
    """

    rows: Ints
    grades: Ints
    offsets: Ints

    @classmethod
    def of(cls, grades: Ints, codes: Ints, ties: Floats | None = None) -> Self:
        """Group rows into lists by their query numbers (`codes`) and sort each list by grade, best first.

        Parameters
        ----------
        ties : array of float, shape (n,), optional
            Orders the rows of a query and a grade, smallest first; by default the input order.
        """
        order = np.lexsort((np.zeros(codes.size) if ties is None else ties, -grades, codes))
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        stops = np.append(starts[1:], order.size)
        differs = grades[order[starts]] > grades[order[stops - 1]]
        rows = order[np.repeat(differs, stops - starts)]
        return cls(rows, grades[rows], np.concatenate(([0], np.cumsum((stops - starts)[differs]))))

    @property
    def n_lists(self) -> int:
        """Number of lists."""
        return self.offsets.size - 1

    @property
    def tops(self) -> Ints:
        """Number of items of each list with a grade above 0, shape (n_lists,)."""
        return np.add.reduceat(self.grades > 0, self.offsets[:-1], dtype=np.int64)

    def spans(self, part: Part) -> ListSpans:
        """Compute the ranges of items of whole lists ("all"), or of their items above grade 0 ("top").

        Weights are equal. A top part with a single grade is left out.

        Raises
        ------
        InputError
            If no list is left.
        """
        starts, stops = self.offsets[:-1], self.offsets[1:]
        if part == "top":
            stops = starts + self.tops
            differs = self.grades[starts] > self.grades[stops - 1]
            starts, stops = starts[differs], stops[differs]
            if starts.size == 0:
                raise InputError("no query holds two items of different grades above 0: there is no order at the top")
        return ListSpans(starts, stops, np.full(starts.size, 1.0 / starts.size))

    def pairs(self, part: Part, graded: bool) -> WeightedPairs:
        """List the pairs of different grades ("all"), or of an item above grade 0 and one of grade 0 ("top").

        The pairs of each query have the same total weight.

        Parameters
        ----------
        graded : bool
            True: the gap of a pair is the difference of its grades; False: 1.

        Raises
        ------
        InputError
            If there is no pair.
        """
        codes = np.repeat(np.arange(self.n_lists), np.diff(self.offsets))
        numbered = PreferencePairs.of(self.grades if part == "all" else np.minimum(self.grades, 1), codes)
        if numbered.n_pairs == 0:
            raise InputError("no query holds items of grade 0 beside better ones: there is no rest below the top")
        preferred, other = numbered.draw(numbered.n_pairs, np.random.default_rng(0))
        n_pairs = np.bincount(codes[preferred], minlength=self.n_lists)
        weights = 1.0 / (np.count_nonzero(n_pairs) * n_pairs[codes[preferred]])
        gaps = (self.grades[preferred] - self.grades[other]).astype(np.float64) if graded else np.ones(preferred.size)
        return WeightedPairs(preferred, other, gaps, weights)
