"""Preferences between documents on the item axis of a pool."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from activeeval.errors import InputError, shown
from activeeval.io.comparisons import Comparison
from activeeval.pool import QueryPool

Ints = NDArray[np.int64]


def item_pairs(pool: QueryPool, comparisons: Iterable[Comparison], source: str = "the pairs") -> Ints:
    """Return the items of each preference, shape (n, 2), the preferred one first.

    Ties are left out, as they prefer none; a pair that is said several times the same way is there as often.

    Parameters
    ----------
    pool : QueryPool
    comparisons : iterable of Comparison
    source : str
        What messages call them, as the name of their file.

    Raises
    ------
    InputError
        Names the first pair of a query or document that the pool does not hold, and of one that is there both ways.

    Examples
    --------
    >>> pool = QueryPool(["q", "r"], [0, 2, 4], ["a", "b", "a", "b"])
    >>> item_pairs(pool, [Comparison("r", "b", "a"), Comparison("q", "a", "b", is_tie=True)]).tolist()
    [[3, 2]]
    """
    positions = pool.item_positions()
    numbers = {query: number for number, query in enumerate(pool.query_texts)}
    found: dict[tuple[int, int], int] = {}
    pairs = []
    for row, one in enumerate(comparisons, start=1):
        place = f"{source}: pair {row}"
        if one.query not in numbers:
            raise InputError(f"{place} names query {shown(one.query)}, which the pool does not hold")
        for doc in (one.preferred, one.other):
            if (numbers[one.query], doc) not in positions:
                problem = f"names document {shown(doc)} of query {shown(one.query)}, which the pool does not hold"
                raise InputError(f"{place} {problem}")
        if one.is_tie:
            continue
        first, second = (positions[numbers[one.query], doc] for doc in (one.preferred, one.other))
        if (second, first) in found:
            said = f"prefers {shown(one.preferred)} to {shown(one.other)} for query {shown(one.query)}"
            raise InputError(f"{place} {said}, pair {found[second, first]} the other way round; expected one way")
        found.setdefault((first, second), row)
        pairs.append((first, second))
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)
