"""Pairs of ranked lists with a preference: the training data of a measure."""

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
        True: neither list is preferred, and the order of the two is arbitrary.
    queries : array of str or int, shape (n,), optional
        The query of every pair. Splits and resamples keep pairs of one query together.
    max_grade : int, optional
        Largest grade of the scale; by default the largest that occurs, at least 1.
    moved : array of int, shape (n,), optional
        Number of ranks at which the two lists hold different documents, for the margin "documents".
    places : sequence of str, optional
        Name of each pair in messages, as ``prefs.jsonl:17``.

    Attributes
    ----------
    n_levels : int
        Grades of the scale, or documents of `from_documents`.
    documents : tuple of str
        The documents of lists without grades, else empty.
    gaps : ndarray of int64, shape (n, 2)
        Positions of both lists with an unjudged item, and positions without an item: both count as grade 0.

    Raises
    ------
    InputError
        At the first invalid pair.

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
        """Validate the pairs, raising InputError at the first invalid one, and store them as read-only arrays.

        ``preferred`` and ``other`` (n, K) are grades by rank, up to ``max_grade`` (None: the largest that occurs);
        ``ties`` flags pairs without preference; ``queries`` names the query of each pair; ``moved`` is the number of
        ranks with different documents; ``places`` are names of the pairs in messages.
        """
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
        self._set_fields(preferred=frozen(first), other=frozen(second), ties=sealed_here(tied), queries=named)
        self._set_fields(n_levels=top + 1, moved=counts, places=places, documents=(), gaps=np.zeros((n, 2), np.int64))

    def _set_fields(self, **fields: Any) -> Self:
        """Set attributes of the frozen instance, and return it."""
        for name, value in fields.items():
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
        """Build pairs from side-by-side preferences between runs whose items are judged.

        Lists that no preference names are ignored.

        Parameters
        ----------
        grades : array of int, shape (n_items,)
            A negative grade means unjudged: it counts as grade 0, and in `n_unjudged`.
        rankings : dict of name → Rankings
        preferences : iterable of (query, preferred, other) or (query, preferred, other, tie)
            A query id and the names of two rankings.
        depth : int
            K: the number of ranks shown. A shorter list is padded with grade 0 (`n_missing`).

        Raises
        ------
        InputError
            If there is no preference, or one names an unknown query or run.

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
        side_grades = [whole[items] for items in sides]
        ties = [row[3] if len(row) > 3 else False for row in rows]
        top = max_grade if max_grade is not None else max(1, int(whole.max()))
        moved = np.count_nonzero(sides[0] != sides[1], axis=1)
        first, second = (np.maximum(side, 0) for side in side_grades)
        gaps = [sum((side < 0).sum(axis=1) for side in both) for both in (side_grades, sides)]
        return cls(first, second, ties, pool.query_texts[queries].array(), top, moved, places)._set_fields(
            gaps=np.stack(gaps, axis=1, dtype=np.int64)
        )

    @classmethod
    def from_documents(
        cls, preferred: Sequence[Sequence[str]], other: Sequence[Sequence[str]], ties: ArrayLike | None = None
    ) -> Self:
        """Build pairs of lists of ungraded documents; the weight of each document at each rank is then learned.

        All lists share one set of documents, such as those of one query.

        Raises
        ------
        InputError
            If a list holds a document twice, or lists differ in length.

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
        data = cls(sides[0], sides[1], ties, max_grade=max(len(codes) - 1, 1))
        return data._set_fields(documents=tuple(codes), moved=np.count_nonzero(data.preferred != data.other, axis=1))

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
        """Largest grade of the scale."""
        return self.n_levels - 1

    @property
    def n_unjudged(self) -> int:
        """Number of list positions with an unjudged item."""
        return int(self.gaps[:, 0].sum())

    @property
    def n_missing(self) -> int:
        """Number of list positions without an item."""
        return int(self.gaps[:, 1].sum())

    @property
    def query_numbers(self) -> Ints:
        """Query of every pair, numbered from 0; all 0 if queries are unknown; shape (n,)."""
        if self.queries is None:
            return np.zeros(self.n_pairs, dtype=np.int64)
        return np.unique(self.queries, return_inverse=True)[1].astype(np.int64)

    @property
    def is_grouped(self) -> bool:
        """True if the pairs belong to at least two queries."""
        return self.queries is not None and bool(np.any(self.queries != self.queries[0]))

    def place(self, row: int) -> str:
        """Return the name of a pair in messages, as "prefs.jsonl:17", or "pair 1" for row 0."""
        return namer(self.places)(row)

    def subset(self, rows: ArrayLike) -> Self:
        """Select pairs by row numbers or a mask, raising InputError if none is chosen; the grade scale stays."""
        chosen = self._numbers_of(rows)
        return self.answered(chosen, np.where(self.ties[chosen], 0, 1))

    def answered(self, rows: ArrayLike, answers: ArrayLike) -> Self:
        """Select pairs and replace their answers: 1 prefers the first list of the pair, −1 the second, 0 neither.

        Raises
        ------
        InputError
            If there is no such pair, or an answer is not 1, −1 or 0.
        """
        chosen, signs = self._numbers_of(rows), np.asarray(answers)
        if signs.shape != chosen.shape or not np.isin(signs, (-1, 0, 1)).all():
            raise InputError(f"answers must be 1, -1 or 0 for each of the {chosen.size} pairs, got {answers!r:.60}")
        swap = (signs < 0)[:, None]
        first, second = self.preferred[chosen], self.other[chosen]
        return object.__new__(type(self))._set_fields(
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
        """Convert row numbers or a mask of pairs to row numbers.

        Raise InputError if none is chosen or one does not exist.
        """
        numbers = np.asarray(rows)
        if numbers.dtype == bool and numbers.shape == (self.n_pairs,):
            numbers = np.flatnonzero(numbers)
        if numbers.size == 0:
            raise InputError("there is no pair of lists among those chosen")
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= self.n_pairs:
            raise InputError(f"pairs are chosen by numbers from 0 to {self.n_pairs - 1} or a mask, got {rows!r:.60}")
        return numbers.astype(np.int64)

    def joined(self, others: Self) -> Self:
        """Append other pairs; raise InputError if their number of ranks, grade scale or documents differ."""
        if (self.depth, self.n_levels, self.documents) != (others.depth, others.n_levels, others.documents):
            raise InputError(
                f"pairs of {others.depth} ranks and {others.n_levels} grades cannot join pairs of {self.depth} ranks "
                f"and {self.n_levels} grades, or their documents differ"
            )

        def both(name: str) -> Any:
            """Concatenate the array called `name` of both data sets; None if one lacks it."""
            parts = [getattr(self, name), getattr(others, name)]
            return None if any(part is None for part in parts) else sealed_here(np.concatenate(parts))

        names = ("preferred", "other", "ties", "queries", "moved", "gaps")
        places = [data.place(row) for data in (self, others) for row in range(data.n_pairs)]
        return object.__new__(type(self))._set_fields(
            **{name: both(name) for name in names}, n_levels=self.n_levels, places=places, documents=self.documents
        )

    def differences(self) -> csr_array:
        """Compute s(preferred) − s(other), where s indicates the grade at each rank; sparse, shape (n, K · n_levels).

        Column rank · n_levels + grade (both from 0) is 1 if only the preferred list has this grade there, −1 if only
        the other.
        """
        rows, ranks = np.nonzero(self.preferred != self.other)
        block = ranks * self.n_levels
        columns = np.concatenate((block + self.preferred[rows, ranks], block + self.other[rows, ranks]))
        signs = np.repeat([1.0, -1.0], rows.size)
        shape = (self.n_pairs, self.depth * self.n_levels)
        return csr_array((signs, (np.concatenate((rows, rows)), columns)), shape=shape)

    def distances(self, kind: str) -> Ints:
        """Count the ranks at which the two lists hold different ``"grades"`` or different ``"documents"``, shape (n,).

        InputError is raised if documents are asked for and not known.
        """
        if kind == "grades":
            return np.asarray(np.count_nonzero(self.preferred != self.other, axis=1))
        if self.moved is None:
            raise InputError("the distance of documents is not known: these preferences hold grades alone")
        return self.moved

    def groups(self) -> Ints:
        """Number the units that are resampled or held out together: the query of each pair, from 0, shape (n,).

        If there is one query alone, or none is known, every pair is its own unit.
        """
        return self.query_numbers if self.is_grouped else np.arange(self.n_pairs)


def _whole_entries(values: ArrayLike, n: int, name: str, largest: int, places: Sequence[str] | None) -> Ints:
    """Check that the values are whole numbers from 0 to ``largest``, one for each pair, and return them, shape (n,).

    `name` and `places` name the values and the pairs in the InputError.
    """
    array = one_each(values, n, name)
    bad = np.flatnonzero(~np.isin(array, np.arange(largest + 1)))
    if bad.size:
        row = int(bad[0])
        raise InputError(
            f"{namer(places)(row)}: {name} is {plain(array[row])!r:.100}, expected a whole number from 0 to {largest}"
        )
    return np.asarray(array, dtype=np.int64)
