"""Values of measures for known grades, one per query.

A grade below 0 means unjudged: the item has no gain and keeps its rank.
"""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit


@_jit
def first_grade_above(grades, max_grade):
    """Find the first item whose grade is above ``max_grade``; return its position in ``grades`` (n_items,), or -1."""
    for z in range(grades.size):
        if grades[z] > max_grade:
            return z
    return -1


@_jit
def additive_scores(grades, gains, discounts, offsets, items, out):
    """Fill ``out`` (n_queries,) with Σ_i c_i g(y_i), eq. (1): the discounted gains of a ranking's known grades.

    ``grades`` (n_items,) are negative if unjudged, without gain. ``gains`` (n_grades,) are those of the grades,
    ``discounts`` (depth,) those of the ranks, and query q ranks the items ``items[offsets[q]:offsets[q + 1]]``.
    """
    for q in range(offsets.size - 1):
        total = 0.0
        for i in range(min(offsets[q + 1] - offsets[q], discounts.size)):
            y = grades[items[offsets[q] + i]]
            if y >= 0:
                total += discounts[i] * gains[y]
        out[q] = total


@_jit
def cascade_scores(grades, stop_probs, discounts, offsets, items, out):
    """Fill ``out`` (n_queries,) with Σ_i c_i ℓ(y_i) Π_{l<i} (1 − ℓ(y_l)), eq. (2): the cascade value of a ranking.

    ``stop_probs`` (n_grades,) are the stop probabilities ℓ, ``discounts`` (depth,) the c of the ranks. ``grades``
    (n_items,) are negative if unjudged: users pass such an item. Query q ranks ``items[offsets[q]:offsets[q + 1]]``.
    """
    for q in range(offsets.size - 1):
        total = 0.0
        reach = 1.0
        for i in range(min(offsets[q + 1] - offsets[q], discounts.size)):
            y = grades[items[offsets[q] + i]]
            if y >= 0:
                total += discounts[i] * reach * stop_probs[y]
                reach *= 1.0 - stop_probs[y]
        out[q] = total


@_jit
def ideal_scores(grades, gains, by_gain, discounts, query_offsets, out):
    """Fill ``out`` (n_queries,) with the largest Σ_i c_i g(y_i) over all rankings of a query's judged items.

    ``gains`` (n_grades,) are the g, ``discounts`` (depth,) the c of the ranks that count. ``by_gain`` lists the grades
    with positive gain, largest gain first. Query q has the items ``query_offsets[q]`` to
    ``query_offsets[q + 1] - 1``; ``grades`` (n_items,) are negative if unjudged.
    """
    counts = np.zeros(gains.size, np.int64)
    for q in range(query_offsets.size - 1):
        counts[:] = 0
        for z in range(query_offsets[q], query_offsets[q + 1]):
            if grades[z] >= 0:
                counts[grades[z]] += 1
        total = 0.0
        rank = 0
        for y in by_gain:
            for _ in range(min(counts[y], discounts.size - rank)):
                total += discounts[rank] * gains[y]
                rank += 1
        out[q] = total


@_jit
def average_precisions(grades, rel, cutoff, query_offsets, offsets, items, out):
    """Fill ``out`` with average precision: the sum of precision at relevant ranks over the number of relevant items.

    ``grades`` (n_items,) from ``rel`` on are relevant; only the first ``cutoff`` ranks count. 0 for a query without
    relevant items. Query q has the items ``query_offsets[q]`` to ``query_offsets[q + 1] - 1``, and ranks
    ``items[offsets[q]:offsets[q + 1]]``.
    """
    for q in range(offsets.size - 1):
        n_relevant = 0
        for z in range(query_offsets[q], query_offsets[q + 1]):
            if grades[z] >= rel:
                n_relevant += 1
        n_above = 0
        total = 0.0
        for i in range(min(offsets[q + 1] - offsets[q], cutoff)):
            if grades[items[offsets[q] + i]] >= rel:
                n_above += 1
                total += n_above / (i + 1.0)
        out[q] = total / n_relevant if n_relevant else 0.0


@_jit
def judged_shares(grades, cutoff, offsets, items, out):
    """Fill ``out`` (n_queries,) with the share of judged items (grade ≥ 0) in the first ``cutoff`` ranks.

    0 for an empty list. Query q ranks the items ``items[offsets[q]:offsets[q + 1]]``.
    """
    for q in range(offsets.size - 1):
        n = min(offsets[q + 1] - offsets[q], cutoff)
        judged = 0
        for i in range(n):
            if grades[items[offsets[q] + i]] >= 0:
                judged += 1
        out[q] = judged / n if n else 0.0
