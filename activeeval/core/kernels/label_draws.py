"""Simulation of a query's labels for every node of a query factor, and the variance of its value over them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit
from activeeval.core.kernels.numbers import mixed, number
from activeeval.core.kernels.sequential_values import ADDITIVE, CASCADE

_SEED = np.uint64(20261124)
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFF)
_NO_WEIGHT = 1e-9


class QueryLists(NamedTuple):
    """The two lists of one query, in terms of its n places (positions in judging order)."""

    contrast: Any  # (n,)
    ranked1: Any  # (depth,) place of the item at each rank, −1 if it has none
    ranked2: Any
    counts: Any  # (n,) True if the numerator depends on the label


class LabelDraws(NamedTuple):
    """Simulated labels of one query by place (item in judging order); in the last column all have the lowest grade."""

    values: Any  # (n, draws + 1)
    grades: Any  # (n, draws + 1) int32
    numerators: Any  # (draws + 1,) of an additive measure
    levels: Any  # (draws + 1, levels) int64, number of items that reach each level of gain


@_jit
def stratified(seed, word, s, n):
    """Compute number ``s`` of ``n`` stratified numbers derived from a seed and a hash ``word``, n a power of two.

    Over s = 0 … n − 1 there is one number in each n-th part of (0, 1), in shuffled order.
    """
    bits = mixed(seed ^ word)
    first, step = np.int64(bits >> _HALF) & (n - 1), np.int64(bits & _LOW) | 1  # odd steps visit all of a power of two
    return (((first + s * step) & (n - 1)) + number(seed + np.uint64(s), word)) / n


@_jit
def grade_at(probs, u):
    """Find the grade whose interval of cumulative probability contains ``u``; ``probs`` (n_grades,) sums to 1."""
    left, last = u, 0
    for y in range(probs.size):
        if probs[y] > 0.0:
            last = y
            if left < probs[y]:
                break
        left -= probs[y]
    return last


@_jit
def _read_list(lists, ranked, sign, items, place, start, discounts):
    """Add one ranking of a query to its `QueryLists`; return the number of ranks that count.

    ``items`` are the ranking's, best first, ``discounts`` (depth,) the weights of its ranks. Records the place
    (position in judging order, −1 if not to be judged) of the item at each rank in ``ranked``, adds ``sign`` times the
    rank's discount to the contrast, and marks which places count. ``place`` maps an item minus ``start`` (the query's
    first item) to its place.
    """
    n = min(items.size, discounts.size)
    for i in range(n):
        k = place[items[i] - start]
        ranked[i] = k
        if k >= 0:
            lists.contrast[k] += sign * discounts[i]
            lists.counts[k] = True
    return n


@_jit
def _list_value(numerator, values, d, ranked, n, discounts):
    """Compute the numerator of one list in draw ``d``: a cascade's value, or the sum of precisions at relevant ranks.

    ``values`` (n_places, draws) are the stop probabilities (for a cascade, whose users leave at an item with that
    probability) or relevances of the simulated labels of items in judging order. ``ranked`` has the place in that order
    of the item at each of the first ``n`` ranks; −1, for an item that is not to be judged, counts 0. ``numerator`` is
    CASCADE or another kind, ``discounts`` (depth,) are those of ranks.
    """
    total, state = 0.0, 1.0
    for i in range(n):
        v = values[ranked[i], d] if ranked[i] >= 0 else 0.0
        if numerator == CASCADE:
            total += discounts[i] * state * v
            state *= 1.0 - v
            if state == 0.0:
                break
        else:
            total += v / (i + 1.0) * state
            state += v
    return total


@_jit
def lists_value(kind, values, d, ranked1, ranked2, lengths, discounts):
    """Compute the numerator of the first list minus that of the second in draw ``d``, one set of simulated labels.

    ``values`` (n_places, draws) are the stop probabilities or relevances of the labels by place (item in judging
    order), ``ranked1`` and ``ranked2`` the place at each rank, of which the first ``lengths`` count. The arguments are
    not bundled into tuples, because that is far slower.
    """
    first = _list_value(kind, values, d, ranked1, lengths[0], discounts)
    return first - _list_value(kind, values, d, ranked2, lengths[1], discounts)


@_jit
def ideal_value(steps, cumulative, counts, d, more):
    """Compute the value of the ideal (best) ranking in draw ``d``, with ``more`` further items of the highest gain.

    The value is Σ_l steps_l · cumulative[number of items of at least the l-th gain level]: ``steps`` (levels,) are the
    differences of successive gains, ``cumulative`` the sums of the first discounts, ``counts`` (draws, levels) the
    items.
    """
    total, last = 0.0, cumulative.size - 1
    for level in range(steps.size):
        total += steps[level] * cumulative[min(counts[d, level] + more, last)]
    return total


@_jit
def reveal_label(measure, reaches, lists, draws, n_rows, k, y):
    """Replace the simulated label of an item by the known grade ``y`` in the first ``n_rows`` draws.

    ``k`` is the item's place in judging order; ``reaches`` (grades, levels) is 1 where a grade has at least the gain of
    a level. ``measure`` is a `MeasureTerms`, ``lists`` the query's `QueryLists`, ``draws`` its `LabelDraws`, whose
    numerators and counts are updated too.
    """
    for d in range(n_rows):
        previous = draws.grades[k, d]
        if previous == y:
            continue
        draws.numerators[d] += lists.contrast[k] * (measure.values[y] - draws.values[k, d])
        for level in range(measure.steps.size):
            draws.levels[d, level] += reaches[y, level] - reaches[previous, level]
        draws.grades[k, d], draws.values[k, d] = y, measure.values[y]


@_jit
def draw_labels(measure, reaches, model, lists, draws, start_places, hashes, per_node):
    """Fill ``draws`` (`LabelDraws`) with simulated labels of a query's items in judging order.

    There are ``per_node`` sets of labels for each quadrature node of the query factor (a random effect shared by a
    query's items), and a last one with the lowest grade everywhere. ``start_places`` are the items, ``hashes`` the
    hashes of their ids, from which the random numbers come; ``reaches`` (grades, levels) is 1 where a grade has at
    least the gain of a level.
    """
    n, n_grades, n_nodes = start_places.size, model.nodes.shape[2], model.nodes.shape[0]
    lowest = 0
    for y in range(n_grades):
        if measure.values[y] < measure.values[lowest]:
            lowest = y
    n_draws = n_nodes * per_node
    draws.numerators[:] = 0.0
    draws.levels[:] = 0
    for k in range(n):
        for d in range(n_draws + 1):
            y = lowest
            if d < n_draws:
                at = stratified(_SEED + np.uint64(d // per_node), hashes[k], d % per_node, per_node)
                y = grade_at(model.nodes[d // per_node, start_places[k]], at)
            draws.grades[k, d], draws.values[k, d] = y, measure.values[y]
            draws.numerators[d] += lists.contrast[k] * measure.values[y]
            for level in range(measure.steps.size):
                draws.levels[d, level] += reaches[y, level]


@_jit
def drawn_variance(measure, lists, lengths, draws, omega, per_node):
    """Compute the variance of a query's value over simulated labels.

    ``draws`` has ``per_node`` draws for each quadrature node of the query factor (a random effect shared by a query's
    items), ``omega`` (n_nodes,) are the nodes' weights, and ``lengths`` the numbers of ranks of both lists that count.
    """
    # values minus the first one are summed, which limits cancellation in the difference of squares
    centre, mean, square, is_centred = 0.0, 0.0, 0.0, False
    kind, steps, cumulative, discounts = measure.numerator, measure.steps, measure.cumulative, measure.discounts
    numerators, values, levels = draws.numerators, draws.values, draws.levels
    ranked1, ranked2 = lists.ranked1, lists.ranked2
    for u in range(omega.size):
        if omega[u] <= _NO_WEIGHT:
            continue
        weight = omega[u] / per_node
        for d in range(u * per_node, (u + 1) * per_node):
            value = numerators[d]
            if kind != ADDITIVE:
                value = lists_value(kind, values, d, ranked1, ranked2, lengths, discounts)
            if steps.size:
                ideal = ideal_value(steps, cumulative, levels, d, 0)
                value = value / ideal if ideal > 0.0 else 0.0
            if not is_centred:
                centre, is_centred = value, True
            mean += weight * (value - centre)
            square += weight * (value - centre) ** 2
    return max(square - mean * mean, 0.0)


@_jit
def lists_of(lists, q, query_items, place, start, discounts):
    """Build the lists of query ``q`` in terms of its places; return ``(QueryLists, (length1, length2))``.

    The lengths are the numbers of ranks that count: those with a discount. ``query_items`` are the query's items in
    judging order; ``place`` is workspace, −1 throughout, indexed by item minus ``start``, the query's first item.
    """
    n = query_items.size
    at = QueryLists(
        np.zeros(n), np.full(discounts.size, -1, np.int64), np.full(discounts.size, -1, np.int64), np.zeros(n, np.bool_)
    )
    for k in range(n):
        place[query_items[k] - start] = k
    list1 = lists.items1[lists.offsets1[q] : lists.offsets1[q + 1]]
    list2 = lists.items2[lists.offsets2[q] : lists.offsets2[q + 1]]
    n1 = _read_list(at, at.ranked1, 1.0, list1, place, start, discounts)
    n2 = _read_list(at, at.ranked2, -1.0, list2, place, start, discounts)
    for k in range(n):
        place[query_items[k] - start] = -1
    return at, (n1, n2)
