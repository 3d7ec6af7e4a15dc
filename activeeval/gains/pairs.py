"""Pairs of ranked lists of which one is preferred: what a measure is learned from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from activeeval.core.checks import whole_number
from activeeval.core.errors import InputError
from activeeval.core.measures.ranking_checks import check_pool
from activeeval.core.pool import QueryPool, Rankings, whole_grades
from activeeval.core.pool.id_checks import as_ids
from activeeval.core.types import Bools, Ints, frozen, sealed_here
from activeeval.gains.graded_lists import grade_matrix, namer, one_each, plain, top_lists


@dataclass(frozen=True, slots=True, eq=False, init=False)
class PreferenceData:
    """Pairs of lists of K grades, the preferred list first; pairs may be tied.

    Parameters
    ----------
    preferred, other : array of int, shape (n, K)
        Grades by rank, best rank first; 0 … max_grade, higher is better. All lists have the same length.
    ties : array of bool, shape (n,), optional
        Where true neither list is preferred, and the order of the two says nothing.
    queries : array of str or int, shape (n,), optional
        The query of every pair. Pairs of one query stay together where data are split or resampled.
    max_grade : int, optional
        Largest grade of the scale; by default the largest that occurs, at least 1.
    moved : array of int, shape (n,), optional
        At how many ranks the two lists hold different documents, for the margin that wants to know.
    places : sequence of str, optional
        What messages call each pair, as ``prefs.jsonl:17``.

    Attributes
    ----------
    n_levels : int
        Grades of the scale, or documents of `from_documents`.
    documents : tuple of str
        The documents that the lists are made of where there are no grades, else empty.
    gaps : ndarray of int64, shape (n, 2)
        Places of both lists whose item nobody judged, and places without any item: both count as grade 0.

    Raises
    ------
    InputError
        Names the first pair that is wrong.

    Examples
    --------
    >>> data = PreferenceData([[2, 1, 0], [1, 1, 0]], [[0, 2, 1], [1, 0, 0]])
    >>> data.n_pairs, data.depth, data.n_levels
    (2, 3, 3)
    """

    preferred: Ints
    other: Ints
    ties: Bools
    queries: NDArray[Any] | None
    n_levels: int
    moved: Ints | None
    places: Sequence[str] | None
    documents: tuple[str, ...]
    gaps: Ints

    def __init__(
        self,
        preferred: Any,
        other: Any,
        ties: ArrayLike | None = None,
        queries: ArrayLike | None = None,
        max_grade: int | None = None,
        moved: ArrayLike | None = None,
        places: Sequence[str] | None = None,
    ) -> None:
        n = len(preferred)
        if n == 0:
            raise InputError("there is no pair of lists to learn from")
        if len(other) != n:
            raise InputError(f"preferred holds {n} lists, other {len(other)}: expected one of each for every pair")
        if places is not None and len(places) != n:
            raise InputError(f"places must hold one entry for each of the {n} pairs, got {len(places)}")
        max_grade = None if max_grade is None else whole_number(max_grade, "max_grade", 1)
        first = grade_matrix(preferred, "preferred", max_grade, namer(places))
        second = grade_matrix(other, "other", max_grade, namer(places), first.shape[1])
        top = max(1, int(first.max()), int(second.max())) if max_grade is None else max_grade
        named = None if queries is None else one_each(as_ids(queries, "queries"), n, "queries")
        tied = _whole_entries(np.zeros(n) if ties is None else ties, n, "ties", 1, places).astype(bool)
        counts = None if moved is None else sealed_here(_whole_entries(moved, n, "moved", first.shape[1], places))
        self._hold(preferred=frozen(first), other=frozen(second), ties=sealed_here(tied), queries=named)
        self._hold(n_levels=top + 1, moved=counts, places=places, documents=(), gaps=np.zeros((n, 2), np.int64))

    def _hold(self, **values: Any) -> Self:
        for name, value in values.items():
            object.__setattr__(self, name, value)
        return self

    @classmethod
    def from_rankings(
        cls,
        pool: QueryPool,
        grades: ArrayLike,
        rankings: Mapping[str, Rankings],
        preferences: Iterable[Sequence[Any]],
        depth: int,
        max_grade: int | None = None,
        places: Sequence[str] | None = None,
    ) -> Self:
        """Take side-by-side preferences between runs whose items are judged.

        Only the lists that a preference names are looked at.

        Parameters
        ----------
        grades : array of int, shape (n_items,)
            A negative grade means not judged: it counts as grade 0, and is counted in `n_unjudged`.
        rankings : dict of name → Rankings
        preferences : iterable of (query, preferred, other) or (query, preferred, other, tie)
            A query id and the names of two rankings.
        depth : int
            K: the ranks that were seen. A list that ends before it is filled up with grade 0 (`n_missing`).

        Examples
        --------
        >>> pool = QueryPool(["q"], [0, 3], ["a", "b", "c"])
        >>> runs = {run: Rankings.from_ids(pool, {"q": ids}) for run, ids in (("new", ["b", "a"]), ("old", ["c"]))}
        >>> data = PreferenceData.from_rankings(pool, [2, 1, -1], runs, [("q", "new", "old")], depth=2)
        >>> data.preferred.tolist(), data.other.tolist(), data.n_unjudged, data.n_missing
        ([[1, 2]], [[0, 0]], 1, 1)
        """
        rows = list(preferences)
        if not rows:
            raise InputError("there is no pair of lists to learn from")
        check_pool(pool, *rankings.values())
        for row, preference in enumerate(rows):
            if not 3 <= len(preference) <= 4:
                raise InputError(
                    f"{namer(places)(row)} must be query, preferred, other and perhaps tie, got {preference!r:.60}"
                )
        whole = np.append(whole_grades(grades, pool.n_items), 0)
        queries, *sides = top_lists(pool, rankings, rows, depth, namer(places))
        held = [whole[items] for items in sides]
        ties = [row[3] if len(row) > 3 else False for row in rows]
        top = max_grade if max_grade is not None else max(1, int(whole.max()))
        moved = np.count_nonzero(sides[0] != sides[1], axis=1)
        first, second = (np.maximum(side, 0) for side in held)
        gaps = [sum((side < 0).sum(axis=1) for side in both) for both in (held, sides)]
        return cls(first, second, ties, pool.query_texts[queries].array(), top, moved, places)._hold(
            gaps=np.stack(gaps, axis=1, dtype=np.int64)
        )

    @classmethod
    def from_documents(
        cls, preferred: Sequence[Sequence[str]], other: Sequence[Sequence[str]], ties: ArrayLike | None = None
    ) -> Self:
        """Take lists of documents that nobody graded; what a document is worth at each rank is then learned itself.

        All lists are of the same documents, those of one query, say.

        Examples
        --------
        >>> data = PreferenceData.from_documents([["b", "a", "c"]], [["c", "b", "a"]])
        >>> data.documents, data.preferred.tolist(), data.other.tolist()
        (('a', 'b', 'c'), [[1, 0, 2]], [[2, 1, 0]])
        """
        for row, documents in enumerate(chain(preferred, other)):
            if len(set(map(str, documents))) < len(documents):
                raise InputError(f"{namer(None)(row % len(preferred))} holds a document twice: {list(documents)}")
        names = np.unique(as_ids(list(chain.from_iterable(chain(preferred, other))), "documents"))
        codes = {str(name): code for code, name in enumerate(names)}
        sides = [[[codes[str(name)] for name in documents] for documents in lists] for lists in (preferred, other)]
        made = cls(sides[0], sides[1], ties, max_grade=max(len(codes) - 1, 1))
        return made._hold(documents=tuple(codes), moved=np.count_nonzero(made.preferred != made.other, axis=1))

    @property
    def n_pairs(self) -> int:
        """Number of pairs, tied ones included."""
        return len(self.preferred)

    @property
    def depth(self) -> int:
        """K, the length of the lists."""
        return int(self.preferred.shape[1])

    @property
    def max_grade(self) -> int:
        """The largest grade of the scale."""
        return self.n_levels - 1

    @property
    def n_unjudged(self) -> int:
        """Places of the lists whose item nobody judged."""
        return int(self.gaps[:, 0].sum())

    @property
    def n_missing(self) -> int:
        """Places of the lists that hold no item."""
        return int(self.gaps[:, 1].sum())

    @property
    def query_numbers(self) -> Ints:
        """The query of every pair, numbered from 0; all 0 where queries are not known; shape (n,)."""
        if self.queries is None:
            return np.zeros(self.n_pairs, dtype=np.int64)
        return np.unique(self.queries, return_inverse=True)[1].astype(np.int64)

    @property
    def is_grouped(self) -> bool:
        """Whether the pairs are known to be of two queries or more."""
        return self.queries is not None and bool(np.any(self.queries != self.queries[0]))

    def place(self, row: int) -> str:
        """Name a pair for a message."""
        return namer(self.places)(row)

    def subset(self, rows: ArrayLike) -> Self:
        """Return some of the pairs, by their numbers or a mask; the scale stays."""
        chosen = self._numbers_of(rows)
        return self.answered(chosen, np.where(self.ties[chosen], 0, 1))

    def answered(self, rows: ArrayLike, answers: ArrayLike) -> Self:
        """Return some pairs with new answers: 1 prefers the first list of the pair, −1 the second, 0 neither.

        Raises
        ------
        InputError
            Where there is no such pair, or an answer is another one.
        """
        chosen, signs = self._numbers_of(rows), np.asarray(answers)
        if signs.shape != chosen.shape or not np.isin(signs, (-1, 0, 1)).all():
            raise InputError(f"answers must be 1, -1 or 0 for each of the {chosen.size} pairs, got {answers!r:.60}")
        swap = (signs < 0)[:, None]
        first, second = self.preferred[chosen], self.other[chosen]
        return object.__new__(type(self))._hold(
            preferred=frozen(np.where(swap, second, first)),
            other=frozen(np.where(swap, first, second)),
            ties=sealed_here(signs == 0),
            queries=None if self.queries is None else self.queries[chosen],
            n_levels=self.n_levels,
            moved=None if self.moved is None else self.moved[chosen],
            places=[self.place(row) for row in chosen.tolist()],
            documents=self.documents,
            gaps=self.gaps[chosen],
        )

    def _numbers_of(self, rows: ArrayLike) -> Ints:
        """Return the numbers of pairs that are given by their numbers or a mask."""
        asked = np.asarray(rows)
        if asked.dtype == bool and asked.shape == (self.n_pairs,):
            asked = np.flatnonzero(asked)
        if asked.size == 0:
            raise InputError("there is no pair of lists among those chosen")
        if asked.ndim != 1 or asked.dtype.kind not in "iu" or asked.min() < 0 or asked.max() >= self.n_pairs:
            raise InputError(f"pairs are chosen by numbers from 0 to {self.n_pairs - 1} or a mask, got {rows!r:.60}")
        return asked.astype(np.int64)

    def joined(self, others: Self) -> Self:
        """Return these pairs with others of the same ranks, scale and documents behind them."""
        if (self.depth, self.n_levels, self.documents) != (others.depth, others.n_levels, others.documents):
            raise InputError(
                f"pairs of {others.depth} ranks and {others.n_levels} grades cannot join pairs of {self.depth} ranks "
                f"and {self.n_levels} grades, or their documents differ"
            )

        def both(name: str) -> Any:
            parts = [getattr(self, name), getattr(others, name)]
            return None if any(part is None for part in parts) else sealed_here(np.concatenate(parts))

        names = ("preferred", "other", "ties", "queries", "moved", "gaps")
        places = [data.place(row) for data in (self, others) for row in range(data.n_pairs)]
        return object.__new__(type(self))._hold(
            **{name: both(name) for name in names}, n_levels=self.n_levels, places=places, documents=self.documents
        )

    def differences(self) -> csr_array:
        """Return s(preferred) − s(other), sparse, shape (n, K · n_levels); s is 1 at (rank, grade), row by row."""
        rows, ranks = np.nonzero(self.preferred != self.other)
        block = ranks * self.n_levels
        columns = np.concatenate((block + self.preferred[rows, ranks], block + self.other[rows, ranks]))
        signs = np.repeat([1.0, -1.0], rows.size)
        shape = (self.n_pairs, self.depth * self.n_levels)
        return csr_array((signs, (np.concatenate((rows, rows)), columns)), shape=shape)

    def distances(self, kind: str) -> Ints:
        """Return at how many ranks the two lists differ, in ``"grades"`` or in ``"documents"``, shape (n,)."""
        if kind == "grades":
            return np.asarray(np.count_nonzero(self.preferred != self.other, axis=1))
        if self.moved is None:
            raise InputError("the distance of documents is not known: these preferences hold grades alone")
        return self.moved

    def groups(self) -> Ints:
        """Return what is drawn or set aside as one: the query of each pair, numbered from 0, shape (n,).

        Where there is one query alone, or none is known, every pair is one of its own.
        """
        return self.query_numbers if self.is_grouped else np.arange(self.n_pairs)


def _whole_entries(values: ArrayLike, n: int, what: str, largest: int, places: Sequence[str] | None) -> Ints:
    """Return whole numbers from 0 to the largest, one for each pair."""
    array = one_each(values, n, what)
    bad = np.flatnonzero(~np.isin(array, np.arange(largest + 1)))
    if bad.size:
        row = int(bad[0])
        raise InputError(
            f"{namer(places)(row)}: {what} is {plain(array[row])!r:.100}, expected a whole number from 0 to {largest}"
        )
    return np.asarray(array, dtype=np.int64)
