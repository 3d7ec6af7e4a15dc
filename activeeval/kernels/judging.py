"""Which items a judge has to see to know a value, and in which order."""

from __future__ import annotations

import numba
import numpy as np

_jit = numba.njit(cache=True, error_model="numpy", nogil=True)


@_jit
def judging_lists(query_offsets, depth, everything, offsets1, items1, offsets2, items2, offsets, items):
    """Fill ``offsets`` and ``items`` with the union of two lists down to ``depth``; return its size.

    Items come by better rank, at equal rank the first list's before the second's; with
    ``everything`` the query's other items follow.
    """
    seen = np.zeros(query_offsets[-1], np.bool_)
    n = 0
    offsets[0] = 0
    for q in range(query_offsets.size - 1):
        n1 = min(offsets1[q + 1] - offsets1[q], depth)
        n2 = min(offsets2[q + 1] - offsets2[q], depth)
        for i in range(max(n1, n2)):
            if i < n1 and not seen[items1[offsets1[q] + i]]:
                items[n] = items1[offsets1[q] + i]
                seen[items[n]] = True
                n += 1
            if i < n2 and not seen[items2[offsets2[q] + i]]:
                items[n] = items2[offsets2[q] + i]
                seen[items[n]] = True
                n += 1
        if everything:
            for z in range(query_offsets[q], query_offsets[q + 1]):
                if not seen[z]:
                    items[n] = z
                    n += 1
        offsets[q + 1] = n
    return n
