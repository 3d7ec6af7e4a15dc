"""κ-grades: k + 1 less the rank of an item among the k best of its query, and whether they go as far as is asked."""

from __future__ import annotations

import numpy as np

from activeeval.core.errors import InputError
from activeeval.core.judgments.comparisons import Truth
from activeeval.core.pool import QueryPool
from activeeval.core.types import Ints


def check_truths(pool: QueryPool, grades: Ints, k: int, source: str) -> None:
    """Raise InputError where judged κ-grades of a query skip a rank, or too few of its best have one.

    They are k, k − 1, …; m items that are alike share one, and the next is m smaller.

    Parameters
    ----------
    grades : array of int, shape (n_items,)
        −1 where nobody has judged.
    """
    for query in np.unique(pool.item_queries[grades >= 0]).tolist():
        of_query = grades[pool.query_offsets[query] : pool.query_offsets[query + 1]]
        held = np.sort(of_query[of_query > 0])[::-1]
        where = f"{source}: query {pool.query_texts[query]!r}"
        n_above = np.searchsorted(-held, -held)
        wrong = np.flatnonzero(held != k - n_above)
        if wrong.size:
            rank = int(n_above[wrong[0]]) + 1
            raise InputError(f"{where} has κ-grade {held[rank - 1]} for rank {rank}, expected {k + 1 - rank}")
        if held.size < k and (of_query < 0).any():
            raise InputError(f"{where} has ranks 1 … {held.size} and documents without one, expected the {k} best")


def check_depth(where: str, truth: Truth, k: int) -> None:
    """Raise where a truth has fewer than k ranks and names documents that would deserve one."""
    if len(truth.top) < k and truth.below:
        others = f"{len(truth.below)} documents without one that are not `bad`"
        raise InputError(f"{where} has ranks 1 … {len(truth.top)} and {others}, expected the {k} best")
