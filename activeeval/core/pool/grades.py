"""Grades of a pool's items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.core.errors import InputError
from activeeval.core.pool.id_checks import whole_grades
from activeeval.core.pool.queries import QueryPool
from activeeval.core.types import Ints, frozen

POOLED = -2
"""Grade of a pool's item that the judgments list without a grade; an item that they do not list has -1."""


@dataclass(frozen=True, slots=True, eq=False, init=False)
class PoolGrades:
    """Grades of a pool's items; a negative grade means that the item is not judged.

    Parameters
    ----------
    pool : QueryPool
    grades : array of int, shape (n_items,)
    max_grade : int, optional
        Largest grade of the scale. By default the largest grade that occurs.

    Raises
    ------
    InputError
        If there is not one whole number for each item, or a grade is above `max_grade`.

    Examples
    --------
    >>> from activeeval import QueryPool
    >>> pool = QueryPool(["q1", "q2"], [0, 2, 4], list("abab"))
    >>> judged = PoolGrades(pool, [2, -1, 0, 1], max_grade=3)
    >>> judged.max_grade, judged.is_judged
    (3, array([ True, False,  True,  True]))
    """

    pool: QueryPool
    grades: Ints
    max_grade: int

    def __init__(self, pool: QueryPool, grades: ArrayLike, max_grade: int | None = None) -> None:
        """Check the grades (n_items,), negative if unjudged, and store them read-only.

        ``max_grade`` is the largest grade of the scale; None: the largest that occurs. Raises InputError for a grade
        above it, or unless there is one whole number for each item.
        """
        checked = whole_grades(grades, pool.n_items)
        largest = int(checked.max())
        top = max(largest, 0) if max_grade is None else int(max_grade)
        if largest > top:
            place = pool.place(int(np.argmax(checked > top)))
            raise InputError(f"grade {largest} of {place} is above max_grade {top}")
        object.__setattr__(self, "pool", pool)
        object.__setattr__(self, "grades", frozen(checked))
        object.__setattr__(self, "max_grade", top)

    @classmethod
    def from_ids(
        cls, pool: QueryPool, grades: Mapping[str, Mapping[str, int]], max_grade: int | None = None
    ) -> PoolGrades:
        """Build grades from nested dicts, query id → item id → grade; all other items are unjudged.

        Raises InputError for an item that the pool lacks, a grade that is not whole, or one above `max_grade`.

        Examples
        --------
        >>> pool = QueryPool(["q", "r"], [0, 2, 4], ["a", "b", "a", "b"])
        >>> judgments = PoolGrades.from_ids(pool, {"r": {"a": 2}})
        >>> judgments.grades.tolist(), judgments.max_grade
        ([-1, -1, 2, -1], 2)
        """
        positions = pool.item_positions()
        query_index = {q: i for i, q in enumerate(pool.query_texts)}
        out = np.full(pool.n_items, -1, dtype=np.int64)
        for query, of_query in grades.items():
            for item, grade in of_query.items():
                key = (query_index.get(str(query), -1), str(item))
                if key not in positions:
                    raise InputError(f"a judgment names item {str(item)!r} of query {str(query)!r}, not in the pool")
                if isinstance(grade, bool) or int(grade) != grade:
                    raise InputError(f"the grade of item {str(item)!r} of query {str(query)!r} is {grade!r}, not whole")
                out[positions[key]] = int(grade)
        return cls(pool, out, max_grade)

    @property
    def is_judged(self) -> NDArray[np.bool_]:
        """True for each judged item, shape (n_items,)."""
        return self.grades >= 0


def check_judged(missing: Sequence[tuple[str, str]], n_items: int, purpose: str) -> None:
    """Raise InputError if required items have no judgment: treating them as irrelevant would bias the result.

    Parameters
    ----------
    missing : sequence of (query id, item id)
        The required items without a judgment.
    n_items : int
        Number of required items.
    purpose : str
        Why they are required, as in ``that DCG@10 needs``; part of the message.

    Raises
    ------
    InputError
        Gives their number and names the first.

    Examples
    --------
    >>> check_judged([], 40, "asked for")
    """
    if not missing:
        return
    n_queries, (query, item) = len({query for query, _ in missing}), missing[0]
    raise InputError(
        f"{len(missing)} of {n_items} items {purpose} are not judged, in {n_queries} queries, the first is item "
        f"{item!r} of query {query!r}: judge them, or have them count as grade 0 (`unjudged` irrelevant)",
        field="unjudged",
    )
