"""Validation kernels: each returns the index of the first bad row, or -1.

They read the input of public functions once, at memory speed.
"""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit


@_jit
def first_not_whole(values, bound):
    """Find the first value of ``values`` (n,) that is not whole or has |value| ≥ ``bound``; return its index, or -1."""
    for i in range(values.size):
        if not (values[i] == np.floor(values[i]) and abs(values[i]) < bound):
            return i
    return -1


@_jit
def first_bad_ranked_item(query_offsets, offsets, items):
    """Find the first bad entry of a ranking; return ``(query, place, kind)``, or ``(-1, -1, 0)`` if all are good.

    ``place`` is an index into ``items``, the ranked items of all queries, where those of query q are
    ``items[offsets[q]:offsets[q + 1]]``. Query q has the items ``query_offsets[q]`` to ``query_offsets[q + 1] - 1``.
    kind 1: the item belongs to another query; kind 2: it occurs twice in the query's list.
    """
    most = 0
    for q in range(query_offsets.size - 1):
        most = max(most, query_offsets[q + 1] - query_offsets[q])
    is_seen = np.zeros(most, np.bool_)
    for q in range(query_offsets.size - 1):
        is_seen[: query_offsets[q + 1] - query_offsets[q]] = False
        for place in range(offsets[q], offsets[q + 1]):
            z = items[place]
            if z < query_offsets[q] or z >= query_offsets[q + 1]:
                return q, place, 1
            if is_seen[z - query_offsets[q]]:
                return q, place, 2
            is_seen[z - query_offsets[q]] = True
    return -1, -1, 0


@_jit
def first_bad_probability_row(probs, tolerance):
    """Find the first row of ``probs`` (n, n_grades) that is not a distribution; return its index, or -1.

    A row fails if an entry is negative or NaN, or if its sum differs from 1 by more than ``tolerance``. The comparison
    is written so that NaN fails it.
    """
    n, n_grades = probs.shape
    for i in range(n):
        total = 0.0
        lowest = 0.0
        for y in range(n_grades):
            total += probs[i, y]
            lowest = min(lowest, probs[i, y])
        if not (abs(total - 1.0) <= tolerance and lowest >= 0.0):
            return i
    return -1
