"""Expected gains and stop probabilities of tied items of a truth, averaged over the orders of every tie.

A tie of m items with κ-grade y stands for the labels y, y − 1, …, y − m + 1, with negative ones set to 0. All orders of
its items are equally likely, and the orders of different ties are independent.

*Additive.* The mean of a sum is the sum of the means, so the gain of an item is the mean gain of the labels of its tie.

*Cascade.* Let w_1 … w_m be 1 − ℓ of the labels, and E_j the mean of Π w over the sets of j of them. The items of a tie
among the first i ranks have such a set of labels, so a user passes rank i with probability R_i = Π E_j
over the ties, with j the number of each tie's items among them. The user stops at rank i with R_{i−1} − R_i, in which
only one tie's factor changes, from E_j to E_{j+1}: it is R_{i−1} h_j with h_j = 1 − E_{j+1} / E_j. So the cascade of
h_j, with j the number of items of the same tie above, has the mean value.

E_j of t labels follows from that of t − 1: a set of j contains the last label with probability j / t,
E_j ← (1 − j / t) E_j + (j / t) w_t E_{j−1}.
"""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit


@_jit
def _count(grades, first, last, counts):
    """Count a query's items ``first`` to ``last − 1`` by grade into ``counts`` (n_grades,); grades ≤ 0 are left out."""
    counts[:] = 0
    for z in range(first, last):
        if grades[z] > 0:
            counts[grades[z]] += 1


@_jit
def tied_gains(grades, gains, query_offsets, label_values):
    """Fill ``label_values`` with the expected gain of every judged item, over the possible orders of ties.

    The κ-grade is k + 1 − rank for the k best items of a query. A tie of m items with κ-grade y shares the labels y, y
    − 1 … y − m + 1 (at least 0), so each has their mean gain.

    Parameters
    ----------
    grades : array of int, shape (n_items,)
        κ-grades: k + 1 − rank, for a tie that of its first rank; 0 below the top, negative if unjudged.
    gains : array of float, shape (k + 1,)
        Gain of each label.
    query_offsets : array of int, shape (n_queries + 1,)
    label_values : array of float, shape (n_items,)
        Out.
    """
    counts = np.zeros(gains.size, np.int64)
    means = np.zeros(gains.size)
    for q in range(query_offsets.size - 1):
        _count(grades, query_offsets[q], query_offsets[q + 1], counts)
        means[0] = gains[0]
        for y in range(1, gains.size):
            total = 0.0
            for t in range(counts[y]):
                total += gains[max(y - t, 0)]
            means[y] = total / max(counts[y], 1)
        for z in range(query_offsets[q], query_offsets[q + 1]):
            if grades[z] >= 0:
                label_values[z] = means[grades[z]]


@_jit
def _stops_of_tie(stop_probs, y, passed, stops):
    """Fill ``stops`` (m,) with the mean stop probabilities h_0 … h_{m−1} of the items of a tie, by rank.

    The tie of m items has κ-grade y, which is k + 1 − rank for the k best items of a query. Its items share the labels
    y, y − 1 … y − m + 1 (at least 0) in random order; h_j is the probability that a user stops at the item with j
    others of the tie above it. ``passed`` (m + 1,) is workspace.
    """
    # passed[j]: mean probability to pass j of the items, E_j, over the sets of j labels
    passed[:] = 0.0
    passed[0] = 1.0
    for t in range(1, stops.size + 1):
        w = 1.0 - stop_probs[max(y + 1 - t, 0)]
        for j in range(t, 0, -1):
            passed[j] += j / t * (w * passed[j - 1] - passed[j])
    for j in range(stops.size):
        stops[j] = 1.0 - passed[j + 1] / passed[j] if passed[j] > 0.0 else 0.0


@_jit
def tied_stops(grades, stop_probs, query_offsets, offsets, items, label_values):
    """Fill ``label_values`` with the mean stop probability of every ranked and judged item, over the orders of ties.

    In a cascade measure it depends on the number j of items of the same tie above the item; see `_stops_of_tie`.

    Parameters
    ----------
    grades : array of int, shape (n_items,)
        κ-grades: k + 1 − rank, for a tie that of its first rank; 0 below the top, negative if unjudged.
    stop_probs : array of float, shape (k + 1,)
        Stop probability of each label.
    query_offsets, offsets : array of int, shape (n_queries + 1,)
        Offsets of queries on the item axis, and of the ranking.
    items : array of int, shape (n_ranked,)
        Items of the ranking.
    label_values : array of float, shape (n_items,)
        Out.
    """
    counts = np.zeros(stop_probs.size, np.int64)
    starts = np.zeros(stop_probs.size + 1, np.int64)
    widest = 0
    for q in range(query_offsets.size - 1):
        widest = max(widest, query_offsets[q + 1] - query_offsets[q])
    stops = np.empty(widest)
    passed = np.empty(widest + 1)
    for q in range(offsets.size - 1):
        _count(grades, query_offsets[q], query_offsets[q + 1], counts)
        starts[1] = 0
        for y in range(1, stop_probs.size):
            starts[y + 1] = starts[y] + counts[y]
            if counts[y] == 1:  # the usual case for simulated truths
                stops[starts[y]] = stop_probs[y]
            elif counts[y] > 1:
                _stops_of_tie(stop_probs, y, passed[: counts[y] + 1], stops[starts[y] : starts[y + 1]])
        for i in range(offsets[q], offsets[q + 1]):
            y = grades[items[i]]
            if y > 0:
                label_values[items[i]] = stops[starts[y]]
                starts[y] += 1
            elif y == 0:
                label_values[items[i]] = stop_probs[0]
