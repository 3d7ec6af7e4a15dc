"""What a value is expected to be as labels are revealed one by one, and how far each label moves it.

A query's items are revealed in an order that no label influences. Grades are independent given a
node u of the query factor, with weights ω_u; a model without a factor has one node. After k labels

    f_k = Σ_u ω⁽ᵏ⁾_u F_u,      ω⁽ᵏ⁾_u ∝ ω_u Π_{i ≤ k} p(y_i | u),

F_u the value expected at node u. For each measure F_u is a fraction whose numerator is affine in
the value v of the item that is revealed next (its gain, its stop probability, or 1 where it is
relevant): (α_u + β_u v) / ideal_u.

*Additive.* α_u = Σ_{i<k} c_i v_i + Σ_{i>k} c_i E[v_i | u], β_u = c_k; c of a comparison is Δc.

*Cascade.* A list is a composition of the maps T_i = c_i ℓ_i + (1 − ℓ_i) T_{i+1}; a segment tree of
maps (a, b): T ↦ a + b T, one for each list, holds revealed items with their ℓ and the others with
E[ℓ | u]. With the map (a, b) before the item's rank and the value T expected after it,
α_u = a + b T and β_u = b (c − T): O(log n) a reveal. Labels are independent given u and a list is
multilinear in them, so F_u is exact, also of a difference.

*Average precision.* With r the revealed or expected relevance, Σ_i (r_i / i)(1 + Σ_{j<i} r_j).

*Ideal.* 1, or for nDCG and AP a plug-in: with N_l the number of items of at least the l-th gain
level, known and expected, Σ_l (g_l − g_{l+1}) C(N_l), C(n) the discounts of the first n ranks summed up,
linear between whole numbers. Where no relevant item is known yet, N_l is divided by
the probability that there is one at all: a query without any scores 0.

For additive and cascade measures f_k is a martingale, D_k = f_k − f_{k−1}, and E[D_k² | the past] is a
sum over the grades of item k. For the plug-ins E[(L − f_{k−1})² − (L − f_k)²] takes its place, which
is the same for a martingale.
"""

from __future__ import annotations

import numba
import numpy as np

_jit = numba.njit(cache=True, error_model="numpy", nogil=True)

ADDITIVE, CASCADE, PRECISION = 0, 1, 2


@_jit
def _plant(list_items, places, expected, n, discounts, tree_a, tree_b):
    """Lay the tree of maps over a list of n ranks; return its number of leaves."""
    size = 1
    while size < n:
        size *= 2
    for j in range(size):
        for u in range(tree_a.shape[1]):
            e = expected[places[list_items[j]], u] if j < n else 0.0
            tree_a[size + j, u] = discounts[j] * e if j < n else 0.0
            tree_b[size + j, u] = 1.0 - e
    for node in range(size - 1, 0, -1):
        _compose(tree_a, tree_b, node)
    return size


@_jit
def _compose(tree_a, tree_b, node):
    for u in range(tree_a.shape[1]):
        tree_a[node, u] = tree_a[2 * node, u] + tree_b[2 * node, u] * tree_a[2 * node + 1, u]
        tree_b[node, u] = tree_b[2 * node, u] * tree_b[2 * node + 1, u]


@_jit
def _cascade_terms(tree_a, tree_b, size, rank, discount, sign, before, after, alpha, beta):
    """Add the α and β of one list for the item at ``rank``; −1 where the list does not hold it."""
    n_nodes = alpha.size
    if rank < 0:
        for u in range(n_nodes):
            alpha[u] += sign * tree_a[1, u]
        return
    for u in range(n_nodes):
        before[0, u], before[1, u] = 0.0, 1.0
        after[0, u], after[1, u] = 0.0, 1.0
    node = size + rank
    while node > 1:
        sibling = node ^ 1
        if node & 1:
            for u in range(n_nodes):
                before[0, u] = tree_a[sibling, u] + tree_b[sibling, u] * before[0, u]
                before[1, u] *= tree_b[sibling, u]
        else:
            for u in range(n_nodes):
                after[0, u] += after[1, u] * tree_a[sibling, u]
                after[1, u] *= tree_b[sibling, u]
        node >>= 1
    for u in range(n_nodes):
        alpha[u] += sign * (before[0, u] + before[1, u] * after[0, u])
        beta[u] += sign * before[1, u] * (discount - after[0, u])


@_jit
def _cascade_reveal(tree_a, tree_b, size, rank, discount, value):
    if rank < 0:
        return
    node = size + rank
    for u in range(tree_a.shape[1]):
        tree_a[node, u] = discount * value
        tree_b[node, u] = 1.0 - value
    while node > 1:
        node >>= 1
        _compose(tree_a, tree_b, node)


@_jit
def _precision_terms(list_items, places, r, n, rank, sign, alpha, beta):
    """Add the α and β of one list's Σ_i (r_i / i)(1 + Σ_{j<i} r_j); ``rank`` −1: it does not hold the item."""
    for u in range(alpha.size):
        found = 0.0
        for i in range(n):
            if i == rank:
                beta[u] += sign * (1.0 + found) / (i + 1.0)
                continue
            value = r[places[list_items[i]], u]
            alpha[u] += sign * value / (i + 1.0) * (1.0 + found)
            if 0 <= rank < i:
                beta[u] += sign * value / (i + 1.0)
            found += value


@_jit
def _ideal(known, rest, none_left, has_known, steps, cumulative):
    """Return Σ_l step_l C(N_l), at least the smallest positive number."""
    any_left = 1.0 if has_known else 1.0 - none_left
    if any_left <= 0.0:
        return 0.0
    total = 0.0
    last = cumulative.size - 1
    for level in range(steps.size):
        n = min((known[level] + rest[level]) / any_left, float(last))
        whole = int(n)
        reached = cumulative[whole]
        if whole < last:
            reached += (n - whole) * (cumulative[whole + 1] - reached)
        total += steps[level] * reached
    return total


@_jit
def _predicted(f, k, omega, p, alpha, beta, ideal, values, n_levels, prob):
    """Fill f[y] and prob[y] for every grade y of item k; a grade of probability 0 gets its F all the same."""
    n_nodes, n_grades = omega.size, values.size
    for y in range(n_grades):
        total, weight, plain = 0.0, 0.0, 0.0
        for u in range(n_nodes):
            value = alpha[u] + beta[u] * values[y]
            if n_levels:
                value = value / ideal[u, y] if ideal[u, y] > 0.0 else 0.0
            share = omega[u] * p[k, u, y]
            total += share * value
            weight += share
            plain += omega[u] * value
        prob[y] = weight
        f[y] = total / weight if weight > 1e-300 else plain


@_jit
def _locate_grade(prob, u):
    total = 0.0
    for y in range(prob.size):
        total += prob[y]
    left = u * total
    last = 0
    for y in range(prob.size):
        if prob[y] > 0.0:
            last = y
            if left < prob[y]:
                return y
        left -= prob[y]
    return last


@_jit
def reveal(
    numerator,
    values,
    discounts,
    steps,
    reaches,
    cumulative,
    query_offsets,
    nodes,
    node_weights,
    offsets1,
    items1,
    offsets2,
    items2,
    offsets,
    items,
    first_query,
    last_query,
    grades,
    n_known,
    uniforms,
    f0,
    f,
    spread,
):
    """Walk the items of the queries ``first_query … last_query − 1`` in their order.

    ``n_samples = uniforms.shape[0]``. Where it is 0, the labels are ``grades`` and ``f`` takes f_k for
    the first ``n_known[q]`` items of each query; f0 takes f_0. Else every row of ``uniforms``
    (samples, items of these queries) draws labels from the model and ``spread`` takes the mean
    of E[D_k² | the past], for a measure with an ideal that of (L − f_{k−1})² − (L − f_k)².
    """
    n_samples = uniforms.shape[0]
    n_nodes, n_grades, n_levels = node_weights.size, values.size, steps.size
    longest = 1
    widest = 1
    for q in range(first_query, last_query):
        longest = max(longest, offsets[q + 1] - offsets[q])
        widest = max(widest, query_offsets[q + 1] - query_offsets[q])
    p = np.empty((longest, n_nodes, n_grades))
    expected = np.empty((longest + 1, n_nodes))
    start_expected = np.empty((longest + 1, n_nodes))
    rest = np.zeros((longest + 1, n_nodes, n_levels))
    none_left = np.ones((longest + 1, n_nodes))
    tail = np.zeros((longest + 1, n_nodes))
    contrast = np.zeros(longest)
    rank1, rank2 = np.empty(longest, np.int64), np.empty(longest, np.int64)
    places = np.full(widest, -1, np.int64)
    local1, local2 = np.empty(discounts.size, np.int64), np.empty(discounts.size, np.int64)
    n_tree = 4 * discounts.size + 4 if numerator == CASCADE else 1
    a1, b1 = np.empty((n_tree, n_nodes)), np.empty((n_tree, n_nodes))
    a2, b2 = np.empty((n_tree, n_nodes)), np.empty((n_tree, n_nodes))
    before, after = np.empty((2, n_nodes)), np.empty((2, n_nodes))
    alpha, beta, omega = np.empty(n_nodes), np.empty(n_nodes), np.empty(n_nodes)
    ideal, known = np.ones((n_nodes, n_grades)), np.zeros(n_levels)
    trial = np.zeros(n_levels)
    predicted, prob, path = np.empty(n_grades), np.empty(n_grades), np.empty(longest + 1)
    for q in range(first_query, last_query):
        start = query_offsets[q]
        n = offsets[q + 1] - offsets[q]
        for k in range(n):
            z = items[offsets[q] + k]
            places[z - start] = k
            rank1[k] = rank2[k] = -1
            contrast[k] = 0.0
            for u in range(n_nodes):
                total = 0.0
                for y in range(n_grades):
                    p[k, u, y] = nodes[u, z, y]
                    total += nodes[u, z, y] * values[y]
                start_expected[k, u] = total
        n1 = min(offsets1[q + 1] - offsets1[q], discounts.size)
        n2 = min(offsets2[q + 1] - offsets2[q], discounts.size)
        for i in range(n1):
            local1[i] = items1[offsets1[q] + i] - start
            k = places[local1[i]]
            if k >= 0:
                rank1[k] = i
                contrast[k] += discounts[i]
        for i in range(n2):
            local2[i] = items2[offsets2[q] + i] - start
            k = places[local2[i]]
            if k >= 0:
                rank2[k] = i
                contrast[k] -= discounts[i]
        for u in range(n_nodes):
            tail[n, u] = 0.0
            none_left[n, u] = 1.0
            for level in range(n_levels):
                rest[n, u, level] = 0.0
            for k in range(n - 1, -1, -1):
                tail[k, u] = tail[k + 1, u] + contrast[k] * start_expected[k, u]
                relevant = 0.0
                for level in range(n_levels):
                    share = 0.0
                    for y in range(n_grades):
                        share += p[k, u, y] * reaches[y, level]
                    rest[k, u, level] = rest[k + 1, u, level] + share
                    relevant = max(relevant, share)
                none_left[k, u] = none_left[k + 1, u] * (1.0 - min(relevant, 1.0))
        for s in range(max(n_samples, 1)):
            size1 = size2 = 0
            for k in range(n):
                for u in range(n_nodes):
                    expected[k, u] = start_expected[k, u]
            if numerator == CASCADE:
                size1 = _plant(local1, places, expected, n1, discounts, a1, b1)
                size2 = _plant(local2, places, expected, n2, discounts, a2, b2)
            for u in range(n_nodes):
                omega[u] = node_weights[u]
            known[:] = 0.0
            collected = 0.0
            n_steps = n if n_samples else n_known[q]
            for k in range(-1, n_steps):
                # k = -1 is the look before the first label
                alpha[:] = 0.0
                beta[:] = 0.0
                if numerator == ADDITIVE:
                    for u in range(n_nodes):
                        alpha[u] = collected + tail[k + 1, u]
                        if k >= 0:
                            beta[u] = contrast[k]
                elif numerator == CASCADE:
                    r1 = rank1[k] if k >= 0 else -1
                    r2 = rank2[k] if k >= 0 else -1
                    _cascade_terms(a1, b1, size1, r1, discounts[max(r1, 0)], 1.0, before, after, alpha, beta)
                    if n2:
                        _cascade_terms(a2, b2, size2, r2, discounts[max(r2, 0)], -1.0, before, after, alpha, beta)
                else:
                    r1 = rank1[k] if k >= 0 else -1
                    r2 = rank2[k] if k >= 0 else -1
                    _precision_terms(local1, places, expected, n1, r1, 1.0, alpha, beta)
                    _precision_terms(local2, places, expected, n2, r2, -1.0, alpha, beta)
                if k < 0:
                    value = 0.0
                    for u in range(n_nodes):
                        own = alpha[u]
                        if n_levels:
                            bottom = _ideal(known, rest[0, u], none_left[0, u], False, steps, cumulative)
                            own = own / bottom if bottom > 0.0 else 0.0
                        value += omega[u] * own
                    path[0] = value
                    f0[q] = value
                    continue
                for y in range(n_grades):
                    has_known = False
                    for level in range(n_levels):
                        trial[level] = known[level] + reaches[y, level]
                        has_known = has_known or trial[level] > 0.0
                    if n_levels:
                        for u in range(n_nodes):
                            ideal[u, y] = _ideal(
                                trial, rest[k + 1, u], none_left[k + 1, u], has_known, steps, cumulative
                            )
                _predicted(predicted, k, omega, p, alpha, beta, ideal, values, n_levels, prob)
                if n_samples:
                    y = _locate_grade(prob, uniforms[s, offsets[q] - offsets[first_query] + k])
                    if n_levels == 0:
                        total = 0.0
                        for g in range(n_grades):
                            total += prob[g] * (predicted[g] - path[k]) ** 2
                        spread[offsets[q] + k] += total / n_samples
                else:
                    y = grades[items[offsets[q] + k]]
                if y >= 0:
                    path[k + 1] = predicted[y]
                    value = values[y]
                    total = 0.0
                    for u in range(n_nodes):
                        omega[u] *= p[k, u, y]
                        total += omega[u]
                    if total > 1e-300:
                        for u in range(n_nodes):
                            omega[u] /= total
                    else:  # the model excludes this label: it teaches nothing of the query
                        for u in range(n_nodes):
                            omega[u] = node_weights[u]
                    for level in range(n_levels):
                        known[level] += reaches[y, level]
                else:  # it could not be judged: it earns nothing and teaches nothing
                    value = 0.0
                    has_known = False
                    for level in range(n_levels):
                        has_known = has_known or known[level] > 0.0
                    total = 0.0
                    for u in range(n_nodes):
                        own = alpha[u]
                        if n_levels:
                            bottom = _ideal(known, rest[k + 1, u], none_left[k + 1, u], has_known, steps, cumulative)
                            own = own / bottom if bottom > 0.0 else 0.0
                        total += omega[u] * own
                    path[k + 1] = total
                collected += contrast[k] * value
                for u in range(n_nodes):
                    expected[k, u] = value
                if numerator == CASCADE:
                    _cascade_reveal(a1, b1, size1, rank1[k], discounts[max(rank1[k], 0)], value)
                    _cascade_reveal(a2, b2, size2, rank2[k], discounts[max(rank2[k], 0)], value)
            if n_samples == 0:
                for k in range(n_steps):
                    f[offsets[q] + k] = path[k + 1]
            elif n_levels:
                truth = path[n]
                for k in range(n):
                    gained = (truth - path[k]) ** 2 - (truth - path[k + 1]) ** 2
                    spread[offsets[q] + k] += gained / n_samples
        for k in range(n):
            places[items[offsets[q] + k] - start] = -1


@_jit
def prefix_totals(offsets, n_known, predictions, f, item_probs, y, s):
    """Fill y and s of every prefix of up to ``n_known`` items: L̃ and an unbiased estimate of its variance.

    With t = Σ_{i ≤ k} D_i / G_i, y = m + t and s = t² − Σ_{i ≤ k} ((f_i − m)² − (f_{i−1} − m)²) / G_i.
    """
    for q in range(offsets.size - 1):
        m = predictions[q]
        before = m
        t = 0.0
        square = 0.0
        for k in range(offsets[q], offsets[q] + n_known[q]):
            t += (f[k] - before) / item_probs[k]
            square += ((f[k] - m) ** 2 - (before - m) ** 2) / item_probs[k]
            before = f[k]
            y[k] = m + t
            s[k] = t * t - square
