"""Pairs of items of one query that are judged together: one that gained a place value, and one that lost."""

from __future__ import annotations

import math

from activeeval.core.kernels.compiling import jit as _jit


@_jit
def match(queries, gained, lost, variances, costs, correlation, partners):
    """Match, query by query, gained with lost items of similar size where judging both together costs less.

    Both lists are walked once, by falling size; where two items differ too much, the larger stays alone. Alone, the
    variances V and costs c of two items cost in proportion to (√(V₁ c₁) + √(V₂ c₂))² for a given precision, together to
    (V₁ + V₂ − 2 ρ √(V₁ V₂)) (c₁ + c₂).

    Parameters
    ----------
    queries : array of int64, shape (n,)
        Query of each item.
    gained, lost : arrays of int64
        Items of both kinds, as indices into `queries`: by query, then by falling size.
    variances, costs : arrays, shape (n,)
        Variance that each item's label removes, and the cost of judging it.
    correlation : float
        ρ, the correlation between what the labels of two items of a query add to what the model expects.
    partners : array of int64, shape (n,)
        Out: the other item of each matched one; others are not changed.
    """
    i, j = 0, 0
    while i < gained.size and j < lost.size:
        a, b = gained[i], lost[j]
        if queries[a] != queries[b]:
            i, j = (i + 1, j) if queries[a] < queries[b] else (i, j + 1)
            continue
        product = math.sqrt(variances[a] * variances[b])
        together = (variances[a] + variances[b] - 2.0 * correlation * product) * (costs[a] + costs[b])
        alone = (math.sqrt(variances[a] * costs[a]) + math.sqrt(variances[b] * costs[b])) ** 2
        if together < alone:
            partners[a], partners[b] = b, a
            i, j = i + 1, j + 1
        elif variances[a] * costs[b] > variances[b] * costs[a]:
            i += 1
        else:
            j += 1
