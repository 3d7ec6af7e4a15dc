"""The items to judge for a value, in judging order."""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit


@_jit
def judging_lists(query_offsets, depths, rest, starts, list_offsets, ranked, offsets, items):
    """Fill ``offsets`` and ``items`` with the items to judge per query: the union of its lists; return their number.

    Each list counts down to its depth. Items are sorted by better rank, at equal rank in the order of the lists; the
    query's other items of ``rest`` follow.

    Parameters
    ----------
    query_offsets : array of int64, shape (n_queries + 1,)
        Offsets of the queries on the pool's item axis.
    depths, starts : arrays of int64, shape (n_lists,)
        Number of ranks of each list that count, and the start of its items in ``ranked``.
    rest : array of int64, shape (n_items,) or (0,)
        All items, query by query, if all of them are to be judged; else empty.
    list_offsets : array of int64, shape (n_lists, n_queries + 1)
        Offsets of each list's queries among its items.
    ranked : array of int64
        The items of all lists, one list after the other.
    offsets, items : arrays of int64, shapes (n_queries + 1,) and (n_items,)
        Out.
    """
    seen = np.zeros(query_offsets[-1], np.bool_)
    n = 0
    offsets[0] = 0
    n_lists = depths.size
    for q in range(query_offsets.size - 1):
        longest = 0
        for ranking in range(n_lists):
            longest = max(longest, min(list_offsets[ranking, q + 1] - list_offsets[ranking, q], depths[ranking]))
        for i in range(longest):
            for ranking in range(n_lists):
                if i < min(list_offsets[ranking, q + 1] - list_offsets[ranking, q], depths[ranking]):
                    z = ranked[starts[ranking] + list_offsets[ranking, q] + i]
                    if not seen[z]:
                        items[n] = z
                        seen[z] = True
                        n += 1
        if rest.size:
            for z in rest[query_offsets[q] : query_offsets[q + 1]]:
                if not seen[z]:
                    items[n] = z
                    n += 1
        offsets[q + 1] = n
    return n


@_jit
def differing_queries(offsets1, items1, offsets2, items2, depth, differs):
    """Fill ``differs`` (n_queries,) with True if the two lists of a query differ in their first ``depth`` ranks.

    List 1 of query q is ``items1[offsets1[q]:offsets1[q + 1]]``, list 2 likewise.
    """
    for q in range(differs.size):
        n1 = min(offsets1[q + 1] - offsets1[q], depth)
        n2 = min(offsets2[q + 1] - offsets2[q], depth)
        differs[q] = n1 != n2
        for i in range(min(n1, n2)):
            if items1[offsets1[q] + i] != items2[offsets2[q] + i]:
                differs[q] = True
                break
