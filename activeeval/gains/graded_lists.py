"""Validation of lists of grades, and extraction of lists from runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.core.checks import is_number, whole_number
from activeeval.core.errors import InputError
from activeeval.core.pool import QueryPool, Rankings
from activeeval.core.types import Ints

Place = Callable[[int], str]

_LARGEST_WHOLE = 2**53  # beyond it consecutive whole numbers are no longer distinct floats


def namer(places: Sequence[str] | None) -> Place:
    """Return a function from a pair's row number to its name in messages.

    The name is the row's entry in `places`; if that is None, "pair 1" for row 0.
    """
    return (lambda row: f"pair {row + 1}") if places is None else places.__getitem__


def plain(value: Any) -> Any:
    """Convert a numpy scalar to a Python one for a message; other values stay."""
    return value.item() if isinstance(value, np.generic) else value


def one_each(values: ArrayLike, n: int, name: str) -> NDArray[Any]:
    """Convert values to an array of shape (n,), one entry for each pair; raise InputError if the shape is another.

    `name` is the name of the values in the message.
    """
    array = np.array(values)
    if array.shape != (n,):
        raise InputError(f"{name} must hold one entry for each of the {n} pairs, got shape {array.shape}")
    return array


def grade_matrix(lists: Any, name: str, max_grade: int | None, place: Place, depth: int | None = None) -> Ints:
    """Convert lists of grades to an int matrix, shape (n, K).

    Parameters
    ----------
    name : str
        Name of the lists in messages.
    max_grade : int or None
        Largest valid grade; None for no limit.
    place : callable
        From a row number to the name of its pair in messages.
    depth : int, optional
        K, if other lists fix it; by default the length of the first list.

    Raises
    ------
    InputError
        If there is no list, a list is empty or has another length, or a grade is no whole number of the scale.
    """
    top = "on" if max_grade is None else f"to {max_grade}"

    def refuse(row: int, rank: int, grade: Any) -> InputError:
        """Build the error for an invalid grade, given its row and rank (from 0)."""
        return InputError(
            f"{place(row)}: {name} holds {plain(grade)!r:.100} at rank {rank + 1}, expected a whole grade from 0 {top}"
        )

    if not (isinstance(lists, np.ndarray) and lists.ndim == 2 and lists.dtype.kind in "iu"):
        for row, grades in enumerate(lists):
            if not isinstance(grades, (Sequence, np.ndarray)) or isinstance(grades, (str, bytes)):
                raise InputError(
                    f"{place(row)}: {name} is {plain(grades)!r:.100}, expected a list of grades, one for each rank"
                )
            for rank, grade in enumerate(grades):
                if not _is_whole(grade):
                    raise refuse(row, rank, grade)
            if depth is not None and len(grades) != depth:
                length = f"{name} holds {len(grades)} grades"
                raise InputError(f"{place(row)}: {length}, expected {depth}, as the lists before")
            depth = len(grades)
    matrix = np.array(lists, dtype=np.float64).astype(np.int64)
    if len(matrix) == 0:
        raise InputError("there is no list of grades")
    if matrix.shape[1] == 0:
        raise InputError(f"{place(0)}: {name} is an empty list, expected a grade for each rank")
    if depth is not None and matrix.shape[1] != depth:
        raise InputError(f"{place(0)}: {name} holds {matrix.shape[1]} grades, expected {depth}, as the lists before")
    bad = np.argwhere((matrix < 0) | (False if max_grade is None else matrix > max_grade))
    if bad.size:
        row, rank = map(int, bad[0])
        raise refuse(row, rank, matrix[row, rank].item())
    return matrix


def _is_whole(grade: Any) -> bool:
    """Check whether a value is a whole number that a float holds exactly."""
    return (type(grade) is int or is_number(grade)) and abs(grade) < _LARGEST_WHOLE and float(grade).is_integer()


def top_lists(
    pool: QueryPool, rankings: Mapping[str, Rankings], preferences: Sequence[Sequence[Any]], depth: int, place: Place
) -> tuple[Ints, Ints, Ints]:
    """Look up the query of each side-by-side preference, shape (n,), and the items of its two lists, each (n, depth).

    A list that ends before ``depth`` is padded with −1.

    Parameters
    ----------
    rankings : mapping of str to Rankings
        By name of the run.
    preferences : sequence of (query, preferred, other, …)
        A query id and the names of two runs.
    place : callable
        From a row number to the name of its pair in messages.

    Raises
    ------
    InputError
        If a preference names an unknown query or run.
    """
    depth = whole_number(depth, "depth", 1)
    numbers = {name: number for number, name in enumerate(pool.query_texts)}
    for row, (query, *_) in enumerate(preferences):
        if str(query) not in numbers:
            raise InputError(f"{place(row)} names query {str(query)!r:.100}, which the judgments do not hold")
    queries = np.array([numbers[str(query)] for query, *_ in preferences], dtype=np.int64)
    sides = []
    for side, role in ((1, "preferred"), (2, "other")):
        names = [row[side] for row in preferences]
        for row, name in enumerate(names):
            if name not in rankings:
                known = ", ".join(map(repr, rankings)) or "none"
                raise InputError(f"{place(row)}: {role} is {name!r:.100}, expected one of the runs: {known}")
        sides.append(_top_items(rankings, np.array(names, dtype=object), queries, depth))
    return queries, sides[0], sides[1]


def _top_items(rankings: Mapping[str, Rankings], names: NDArray[Any], queries: Ints, depth: int) -> Ints:
    """Collect the first ``depth`` items of each row's ranking for its query, padded with −1; shape (n, depth).

    `names`, shape (n,), has the run of each row, `queries`, shape (n,), its query's number in the pool.
    """
    items = np.full((queries.size, depth), -1)
    for name, ranking in rankings.items():
        rows = np.flatnonzero(names == name)
        places = ranking.offsets[queries[rows]][:, None] + np.arange(depth)  # positions in the ranking's items
        is_ranked = places < ranking.offsets[queries[rows] + 1][:, None]
        items[rows] = np.append(ranking.items, -1)[np.where(is_ranked, places, -1)]
    return items
