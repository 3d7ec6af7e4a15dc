"""Preferences between documents as pairs of item numbers of a pool."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from activeeval.core.errors import InputError, shown
from activeeval.core.judgments.comparisons import Comparison
from activeeval.core.pool import QueryPool
from activeeval.core.types import Ints


def item_pairs(
    pool: QueryPool,
    comparisons: Iterable[Comparison],
    source: str = "the pairs",
    *,
    places: Sequence[str] | None = None,
    documents: str = "the pool",
    advice: str = "",
) -> Ints:
    """Convert comparisons to item numbers of a pool, shape (n, 2), the preferred item first.

    Ties are left out. A comparison that occurs several times in the same direction is repeated.

    Parameters
    ----------
    pool : QueryPool
    comparisons : iterable of Comparison
    source : str
        Name of the comparisons in messages, such as their file.
    places : sequence of str, optional
        Name of each comparison in messages, such as its file and line.
    documents, advice : str
        Name of the pool in messages, and advice appended if it lacks a document.

    Raises
    ------
    InputError
        At the first comparison with a query or document outside the pool, or with a pair that occurs in both
        directions.

    Examples
    --------
    >>> pool = QueryPool(["q", "r"], [0, 2, 4], ["a", "b", "a", "b"])
    >>> item_pairs(pool, [Comparison("r", "b", "a"), Comparison("q", "a", "b", is_tie=True)]).tolist()
    [[3, 2]]
    """
    positions = pool.item_positions()
    numbers = {query: number for number, query in enumerate(pool.query_texts)}
    first_rows: dict[tuple[int, int], int] = {}
    pairs = []

    def place(row: int) -> str:
        """Name the comparison of a row number in a message."""
        return f"{source}: pair {row + 1}" if places is None else places[row]

    lacking = f"which {documents} does not hold{advice}"
    for row, comparison in enumerate(comparisons):
        query, sides = comparison.query, (comparison.preferred, comparison.other)
        if query not in numbers:
            raise InputError(f"{place(row)} names query {shown(query)}, {lacking}")
        for doc in sides:
            if (numbers[query], doc) not in positions:
                raise InputError(f"{place(row)} names document {shown(doc)} of query {shown(query)}, {lacking}")
        if comparison.is_tie:
            continue
        first, second = (positions[numbers[query], doc] for doc in sides)
        if (second, first) in first_rows:
            preference = f"prefers {shown(sides[0])} to {shown(sides[1])} for query {shown(query)}"
            earlier = first_rows[second, first]
            before = f"pair {earlier + 1}" if places is None else places[earlier]
            raise InputError(f"{place(row)} {preference}, {before} the other way round; expected one way")
        first_rows.setdefault((first, second), row)
        pairs.append((first, second))
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)
