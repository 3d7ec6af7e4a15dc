"""Expected value of a query as its labels are revealed one by one, and the variance reduction by each label.

A query's items are revealed in an order that does not depend on labels. Grades are independent given a
node u of the query factor, with weights ω_u; a model without a factor has one node. After k labels

    f_k = Σ_u ω⁽ᵏ⁾_u F_u,      ω⁽ᵏ⁾_u ∝ ω_u Π_{i ≤ k} p(y_i | u),

with F_u the expected value at node u (`kernels.partly_judged`). So with P(y) = Σ_u ω_u p(y | u) and label y of the next
item, f(y) = Σ_u ω_u p(y | u) (α_u + β_u v_y) / ideal_u(y) / P(y).

For additive and cascade measures F_u is exact and f_k a martingale, D_k = f_k − f_{k−1}, with
E[D_k² | the past] = Σ_y P(y) (f(y) − f_{k−1})². For the plug-in values of nDCG, R and AP the mean of
(L − f_{k−1})² − (L − f_k)² is used instead, which is the same for a martingale.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit
from activeeval.core.kernels.numbers import mixed, number
from activeeval.core.kernels.partly_judged import cascade_terms, ideal_value, plant, precision_terms, settle

ADDITIVE, CASCADE = 0, 1
_IMPOSSIBLE = 1e-300
_SEED = np.uint64(20130301)
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFF)


class _Query(NamedTuple):
    """Arrays of the current query, by place (item in judging order) unless noted; v is the value of a label."""

    p: Any  # (n, nodes, grades)
    expected: Any  # (n, nodes) E[v | u], or v once revealed
    prior: Any  # (n, nodes) E[v | u]
    contrast: Any  # (n,)
    ranks1: Any  # (n,) rank in the first list, −1 if not in it
    ranks2: Any
    ranked1: Any  # (depth,) place of the item at each rank of the first list
    ranked2: Any
    place: Any  # (items of the query,) place in judging order, −1 if the item is not judged
    tail: Any  # (n + 1, nodes) Σ c E[v | u] from a place on
    rest: Any  # (n + 1, nodes, levels) expected counts from a place on
    none_left: Any  # (n + 1, nodes) probability that no relevant item follows


class _State(NamedTuple):
    """Arrays that change as the labels of the current query are revealed."""

    omega: Any  # (nodes,)
    known: Any  # (levels,) counts of revealed items
    a1: Any  # (tree, nodes) maps T ↦ a + b T of the first list
    b1: Any
    a2: Any
    b2: Any
    around: Any  # (4, nodes)
    alpha: Any  # (nodes,)
    beta: Any
    ideal: Any  # (nodes, grades)
    value: Any  # (grades,) f(y)
    prob: Any  # (grades,) P(y)
    path: Any  # (n + 1,) f_0 … f_n


@_jit
def _workspace(n, width, depth, n_nodes, n_grades, n_levels, has_tree):
    """Allocate the arrays for queries of up to ``width`` items, ``n`` of them to judge; return ``(_Query, _State)``.

    ``depth`` ranks count; an ideal has ``n_levels`` distinct gains (0: no ideal). ``has_tree`` is True for a cascade.
    """
    query = _Query(
        np.empty((n, n_nodes, n_grades)), np.empty((n, n_nodes)), np.empty((n, n_nodes)), np.empty(n),
        np.empty(n, np.int64), np.empty(n, np.int64), np.empty(depth, np.int64), np.empty(depth, np.int64),
        np.full(width, -1, np.int64), np.empty((n + 1, n_nodes)), np.empty((n + 1, n_nodes, n_levels)),
        np.empty((n + 1, n_nodes)),
    )  # fmt: skip
    n_tree = 4 * depth + 4 if has_tree else 1
    state = _State(
        np.empty(n_nodes), np.empty(n_levels), np.empty((n_tree, n_nodes)), np.empty((n_tree, n_nodes)),
        np.empty((n_tree, n_nodes)), np.empty((n_tree, n_nodes)), np.empty((4, n_nodes)), np.empty(n_nodes),
        np.empty(n_nodes), np.empty((n_nodes, n_grades)), np.empty(n_grades), np.empty(n_grades), np.empty(n + 1),
    )  # fmt: skip
    return query, state


@_jit
def _read_items(query, items, start, nodes, values):
    """Fill the arrays of ``query`` for its ``items`` in judging order: places, probabilities, expected values.

    ``start`` is the query's first item. ``nodes`` (nodes, n_items, grades) are the model's probabilities at each value
    of the query's random effect, ``values`` (grades,) those of labels; a grade unknown to the model has probability 0.
    """
    for k in range(items.size):
        query.place[items[k] - start] = k
        query.ranks1[k] = query.ranks2[k] = -1
        query.contrast[k] = 0.0
        for u in range(nodes.shape[0]):
            total = 0.0
            for y in range(values.size):
                query.p[k, u, y] = nodes[u, items[k], y] if y < nodes.shape[2] else 0.0
                total += query.p[k, u, y] * values[y]
            query.prior[k, u] = total


@_jit
def _read_list(query, ranks, places, sign, ranked, start, discounts):
    """Record the ranks of a list's items, and the place of each rank (−1 if not judged); return the number of ranks.

    ``ranked`` are the list's items, best first, and ``start`` is the query's first item. ``places`` is by rank,
    ``ranks`` by place (item in judging order); ``sign`` is −1 for the list that is subtracted.
    """
    n = min(ranked.size, discounts.size)
    for i in range(n):
        k = query.place[ranked[i] - start]
        places[i] = k
        if k >= 0:
            ranks[k] = i
            query.contrast[k] += sign * discounts[i]
    return n


@_jit
def _sum_up(query, n, reaches):
    """Fill sums over the items from each place (item in judging order) to the last of the ``n``, in ``query``.

    They are the expected value (`tail`), expected counts by gain level (`rest`; ``reaches[y, l]`` is 1 if grade y has
    at least the l-th gain), and the probability that no item is relevant (`none_left`).
    """
    n_grades, n_levels = reaches.shape
    query.tail[n] = 0.0
    query.rest[n] = 0.0
    query.none_left[n] = 1.0
    for k in range(n - 1, -1, -1):
        for u in range(query.tail.shape[1]):
            query.tail[k, u] = query.tail[k + 1, u] + query.contrast[k] * query.prior[k, u]
            relevant = 0.0
            for level in range(n_levels):
                share = 0.0
                for y in range(n_grades):
                    share += query.p[k, u, y] * reaches[y, level]
                query.rest[k, u, level] = query.rest[k + 1, u, level] + share
                relevant = max(relevant, share)
            query.none_left[k, u] = query.none_left[k + 1, u] * (1.0 - min(relevant, 1.0))


@_jit
def _over(top, bottom):
    """Divide two numbers; 0 if the divisor is not positive."""
    return top / bottom if bottom > 0.0 else 0.0


@_jit
def _without_label(omega, alpha, known, rest, none_left, steps, cumulative, nothing):
    """Compute a query's expected value before a label: ``alpha`` / `ideal_value`, averaged over its random effect.

    ``omega``: weights; by gain level ``known`` counts revealed items, ``rest`` (nodes, levels) others; ``nothing``: 0.
    """
    total = 0.0
    for u in range(omega.size):
        value = alpha[u]
        if steps.size:
            value = _over(value, ideal_value(known, nothing, rest[u], none_left[u], steps, cumulative))
        total += omega[u] * value
    return total


@_jit
def _with_labels(omega, p, alpha, beta, values, ideal, has_ideal, value, prob):
    """Fill a query's expected value for each grade y of the next item, and P(y), from its probabilities ``p``.

    At value u of the query's random effect, of weight ``omega[u]``, it is (alpha_u + beta_u values_y) / ideal_{u,y}.
    """
    for y in range(values.size):
        total, weight, plain = 0.0, 0.0, 0.0
        for u in range(omega.size):
            outcome = alpha[u] + beta[u] * values[y]
            if has_ideal:
                outcome = _over(outcome, ideal[u, y])
            share = omega[u] * p[u, y]
            total += share * outcome
            weight += share
            plain += omega[u] * outcome
        prob[y] = weight
        value[y] = total / weight if weight > _IMPOSSIBLE else plain


@_jit
def _ideals(known, rest, none_left, steps, reaches, cumulative, ideal):
    """Fill ``ideal`` (nodes, grades) with the best ranking's expected value for each grade y of the next item.

    By gain level (levels,): ``known`` counts the revealed items, ``reaches[y]`` the next one, and ``rest`` (nodes,
    levels) is expected of later ones, none of which is relevant with probability ``none_left`` (nodes,). ``steps`` and
    ``cumulative`` are those of `ideal_value`.
    """
    for y in range(reaches.shape[0]):
        for u in range(ideal.shape[0]):
            ideal[u, y] = ideal_value(known, reaches[y], rest[u], none_left[u], steps, cumulative)


@_jit
def _drawn_grade(prob, u):
    """Find the grade whose interval of cumulative probability contains ``u``; ``prob`` need not sum to 1."""
    total = 0.0
    for y in range(prob.size):
        total += prob[y]
    left = u * total
    last = 0
    for y in range(prob.size):
        if prob[y] > 0.0:
            last = y
            if left < prob[y]:
                break
        left -= prob[y]
    return last


@_jit
def _learn(omega, p, y, node_weights):
    """Update the weights ``omega`` of a random effect by label y (Bayes); reset to ``node_weights`` if all p are 0."""
    total = 0.0
    for u in range(omega.size):
        omega[u] *= p[u, y]
        total += omega[u]
    for u in range(omega.size):
        omega[u] = omega[u] / total if total > _IMPOSSIBLE else node_weights[u]


@_jit
def _walk(measure, prior_weights, query, state, lengths, n_steps, grades, uniforms, spread):
    """Reveal ``n_steps`` items of a query, and fill ``state.path`` with its expected value before and after each label.

    ``lengths`` are the number of items to process, and the number of ranks of each list that count. Labels are
    ``grades`` (−1: none), or simulated by ``uniforms``: E[(change by one)² | before] is added to ``spread``, by item;
    with an ideal, how much one reduces the squared distance to the last value. ``prior_weights`` (nodes,): the model's.
    """
    numerator, values, discounts, steps, reaches, cumulative = measure
    n, n1, n2 = lengths
    p, expected, prior, contrast, ranks1, ranks2, ranked1, ranked2, _, tail, rest, none_left = query
    omega, known, a1, b1, a2, b2, around, alpha, beta, ideal, value, prob, path = state
    draws, has_ideal = uniforms.size > 0, steps.size > 0
    nothing = np.zeros(steps.size)
    size1 = size2 = 1
    known[:] = 0.0
    for u in range(omega.size):
        omega[u] = prior_weights[u]
        for k in range(n):
            expected[k, u] = prior[k, u]
    if numerator == CASCADE:
        size1 = plant(ranked1, n1, expected, discounts, a1, b1)
        size2 = plant(ranked2, n2, expected, discounts, a2, b2)
    collected = np.zeros(omega.size)
    for k in range(-1, n_steps):  # −1: before the first label
        rank1 = ranks1[k] if k >= 0 else -1
        rank2 = ranks2[k] if k >= 0 else -1
        for u in range(omega.size):
            alpha[u] = collected[u] + tail[k + 1, u] if numerator == ADDITIVE else 0.0
            beta[u] = contrast[k] if numerator == ADDITIVE and k >= 0 else 0.0
        if numerator == CASCADE:
            cascade_terms(a1, b1, size1, rank1, discounts, 1.0, around, alpha, beta)
            if n2:
                cascade_terms(a2, b2, size2, rank2, discounts, -1.0, around, alpha, beta)
        elif numerator != ADDITIVE:
            precision_terms(ranked1, n1, expected, rank1, 1.0, alpha, beta)
            precision_terms(ranked2, n2, expected, rank2, -1.0, alpha, beta)
        y = grades[k] if k >= 0 and not draws else -1
        if k >= 0 and (draws or y >= 0):
            if has_ideal:
                _ideals(known, rest[k + 1], none_left[k + 1], steps, reaches, cumulative, ideal)
            _with_labels(omega, p[k], alpha, beta, values, ideal, has_ideal, value, prob)
        if k >= 0 and draws:
            y = _drawn_grade(prob, uniforms[k])
            if not has_ideal:
                for g in range(values.size):
                    spread[k] += prob[g] * (value[g] - path[k]) ** 2
        if y >= 0:
            path[k + 1] = value[y]
            _learn(omega, p[k], y, prior_weights)
            for level in range(steps.size):
                known[level] += reaches[y, level]
            for u in range(omega.size):
                collected[u] += contrast[k] * values[y]
                expected[k, u] = values[y]
            if numerator == CASCADE:
                settle(a1, b1, size1, rank1, discounts, values[y])
                settle(a2, b2, size2, rank2, discounts, values[y])
        elif k < 0:
            path[0] = _without_label(omega, alpha, known, rest[0], none_left[0], steps, cumulative, nothing)
        else:  # the item cannot be judged: it keeps the model's expectation
            path[k + 1] = path[k]
            for u in range(omega.size):
                collected[u] += contrast[k] * prior[k, u]
                for level in range(steps.size):
                    known[level] += omega[u] * (rest[k, u, level] - rest[k + 1, u, level])
    if draws and has_ideal:
        for k in range(n):
            spread[k] += (path[n] - path[k]) ** 2 - (path[n] - path[k + 1]) ** 2


@_jit
def _stratified(word, s, n):
    """Compute stratified number ``s`` of ``n`` of a hash, n a power of two: one in each n-th of (0, 1), shuffled."""
    bits = mixed(_SEED ^ word)
    first, step = np.int64(bits >> _HALF) & (n - 1), np.int64(bits & _LOW) | 1  # odd steps visit all of a power of two
    return (((first + s * step) & (n - 1)) + number(_SEED + np.uint64(s), word)) / n


@_jit
def reveal(
    measure, lists, model, query_offsets, offsets, items, block, depths, grades, hashes, n_samples, f0, f, spread
):
    """Reveal labels in judging order, and fill each query's expected value, or the reduction of its variance, by label.

    Parameters
    ----------
    measure, lists, model : MeasureTerms, Lists, Model
    query_offsets, offsets, items : arrays of int64
        Offsets of queries on the item axis; places of each query: its items in judging order.
    block : (int, int)
        First query, and last query plus 1.
    depths : array of int64, shape (n_queries,)
        Number of a query's places to process; empty for all. Simulated labels always process all.
    grades : array of int64, shape (n_items,)
        The labels, if ``n_samples`` is empty; −1 if an item cannot be judged. A label with a value in ``measure`` but
        no grade in the model, as when judges differ, resets the query's random effect to its prior.
    hashes, n_samples : arrays of uint64 by place and of int64, shape (n_queries,)
        If not empty: number of sets of labels, a power of two, to simulate from the model with stratified numbers
        made from the hashes (Latin hypercube: 8 are as accurate as 16 independent ones).
    f0, f, spread : arrays, by query, by place, by place
        Out: expected value before any label; after each known label; mean variance reduction by each simulated label.
    """
    first, last = block
    longest = widest = 1
    for q in range(first, last):
        longest = max(longest, offsets[q + 1] - offsets[q])
        widest = max(widest, query_offsets[q + 1] - query_offsets[q])
    n_nodes, n_grades = model.nodes.shape[0], measure.values.size
    shape = (longest, widest, measure.discounts.size, n_nodes, n_grades, measure.steps.size)
    query, state = _workspace(*shape, measure.numerator == CASCADE)
    labels, total, drawn, nothing = np.empty(longest, np.int64), np.empty(longest), np.empty(longest), np.empty(0)
    for q in range(first, last):
        start, base = query_offsets[q], offsets[q]
        n = offsets[q + 1] - base
        query_items = items[base : base + n]
        list1 = lists.items1[lists.offsets1[q] : lists.offsets1[q + 1]]
        list2 = lists.items2[lists.offsets2[q] : lists.offsets2[q + 1]]
        _read_items(query, query_items, start, model.nodes, measure.values)
        n1 = _read_list(query, query.ranks1, query.ranked1, 1.0, list1, start, measure.discounts)
        n2 = _read_list(query, query.ranks2, query.ranked2, -1.0, list2, start, measure.discounts)
        _sum_up(query, n, measure.reaches)
        prior, lengths = model.weights[q], (n, n1, n2)
        if n_samples.size == 0:
            n_steps = depths[q] if depths.size else n
            for k in range(n_steps):
                labels[k] = grades[query_items[k]]
            _walk(measure, prior, query, state, lengths, n_steps, labels, nothing, total)
            for k in range(n_steps):
                f[base + k] = state.path[k + 1]
        else:
            total[:n] = 0.0
            for s in range(n_samples[q]):
                for k in range(n):
                    drawn[k] = _stratified(hashes[base + k], s, n_samples[q])
                _walk(measure, prior, query, state, lengths, n, labels, drawn[:n], total)
            for k in range(n):
                spread[base + k] = total[k] / n_samples[q]
        f0[q] = state.path[0]
        for k in range(n):
            query.place[query_items[k] - start] = -1
