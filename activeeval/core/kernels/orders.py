"""Sorting of items by score descending, equal scores by item id descending, as in trec_eval.

A bottom-up merge sort for each query, from runs sorted by insertion. Ids are texts in one buffer of
bytes, and distinct within a query, so that the order is total.
"""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit
from activeeval.core.kernels.text.bytes import stands_after

_RUN = 8


@_jit
def rank_by_score(query_offsets, scores, data, texts, offsets, items):
    """Rank the items of each query by score, highest first; return the number of ranked items.

    Query q has the items ``query_offsets[q]`` to ``query_offsets[q + 1] - 1``. ``items`` receives those with a score,
    best first, from ``offsets[q]`` to ``offsets[q + 1] - 1``; ``offsets`` (n_queries + 1,) is filled too.

    Equal scores are ranked by item id descending, as in trec_eval. Items with score NaN are not ranked. The id of item
    z is ``data[texts[z]:texts[z + 1]]``.
    """
    longest = 0
    for q in range(query_offsets.size - 1):
        longest = max(longest, query_offsets[q + 1] - query_offsets[q])
    spare = np.empty(longest, np.int64)
    n = 0
    offsets[0] = 0
    for q in range(query_offsets.size - 1):
        for z in range(query_offsets[q], query_offsets[q + 1]):
            if scores[z] == scores[z]:
                items[n] = z
                n += 1
        _sort(items[offsets[q] : n], spare, scores, data, texts)
        offsets[q + 1] = n
    return n


@_jit
def _stands_before(scores, data, texts, a, b):
    """Check whether item ``a`` ranks before item ``b``: higher score, or equal score and larger id.

    The id of item z is ``data[texts[z]:texts[z + 1]]``.
    """
    if scores[a] != scores[b]:
        return scores[a] > scores[b]
    return stands_after(data, texts, a, b)


@_jit
def _sort(items, spare, scores, data, texts):
    """Sort items by score and id in place, by a bottom-up merge sort of short sorted runs; ``spare`` is workspace.

    Higher ``scores`` (by item) come first, at equal scores larger ids. The id of item z is ``data[texts[z]:texts[z +
    1]]`` (bytes).
    """
    n = items.size
    for start in range(0, n, _RUN):
        for i in range(start + 1, min(start + _RUN, n)):
            z = items[i]
            j = i - 1
            while j >= start and _stands_before(scores, data, texts, z, items[j]):
                items[j + 1] = items[j]
                j -= 1
            items[j + 1] = z
    length = _RUN
    while length < n:
        for start in range(0, n - length, 2 * length):
            _merge(items, spare, start, start + length, min(start + 2 * length, n), scores, data, texts)
        length *= 2


@_jit
def _merge(items, spare, start, middle, stop, scores, data, texts):
    """Merge the sorted ``items[start:middle]`` and ``items[middle:stop]`` in place; ``spare`` is workspace.

    The order is that of `_stands_before`: ``scores`` descending, equal ones by id (``data`` and ``texts``) descending.
    """
    if not _stands_before(scores, data, texts, items[middle], items[middle - 1]):
        return
    for i in range(start, middle):
        spare[i - start] = items[i]
    a = 0
    n_first = middle - start
    b = middle
    k = start
    while a < n_first and b < stop:
        if _stands_before(scores, data, texts, items[b], spare[a]):
            items[k] = items[b]
            b += 1
        else:
            items[k] = spare[a]
            a += 1
        k += 1
    while a < n_first:
        items[k] = spare[a]
        a += 1
        k += 1
