"""What the judged items of a query say of an additive value when each was judged with its own probability.

Item i of a query, with contrast c_i and gain g_i, is judged with probability G_i, independently of the others. Any
prediction μ_i that depends on what was judged before i alone gives an unbiased value,

    L̃ = Σ_i c_i μ_i + Σ_{i judged} c_i (g_i − μ_i) / G_i,

whose variance given the labels is Σ (1 − G_i)/G_i c_i² (g_i − μ_i)², estimated without bias by the sum of
(1 − G_i)/G_i² c_i² (g_i − μ_i)² over the judged items. Here μ_i = Σ_u ω_u E[g_i | u] with the
weights ω_u that the labels judged before i leave to the nodes of the query factor.

An estimator may replace μ_i by b_0 + b_1 μ_i. So the sums are kept apart: y = Σ_judged c g / G,
z_0 = Σ_judged c / G, z_1 = Σ_judged c μ_i / G − Σ_i c_i (μ_i − μ_i⁰) with μ⁰ the prediction before any
label, so that E z_1 = Σ c_i μ_i⁰; and the variance as the quadratic form of (g, 1, μ_i).
"""

from __future__ import annotations

import numba
import numpy as np

_jit = numba.njit(cache=True, error_model="numpy", nogil=True)

_IMPOSSIBLE = 1e-300


@_jit
def running_sums(offsets, contrast, node_means, sums):
    """Fill ``sums`` (n_slots, n_nodes) with Σ c_i E[g_i | u] from a query's first place to each place."""
    for q in range(offsets.size - 1):
        for u in range(node_means.shape[1]):
            total = 0.0
            for i in range(offsets[q], offsets[q + 1]):
                total += contrast[i] * node_means[i, u]
                sums[i, u] = total


@_jit
def _shift(sums, first, begin, end, omega, node_weights):
    """Return Σ c_i (μ_i − μ_i⁰) of the places ``begin … end − 1`` of a query for weights ω of the nodes."""
    total = 0.0
    if end > begin:
        for u in range(omega.size):
            before = sums[begin - 1, u] if begin > first else 0.0
            total += (omega[u] - node_weights[u]) * (sums[end - 1, u] - before)
    return total


@_jit
def observe_items(
    offsets,
    contrast,
    gains,
    node_means,
    likelihoods,
    node_weights,
    sums,
    query_roots,
    roots,
    level,
    queries,
    counts,
    slots,
    totals,
    within,
):
    """Fill ``totals`` (n, 3) with y, z_0, z_1 and ``within`` (n, 6) with the quadratic form, for n queries.

    Parameters
    ----------
    gains, likelihoods : arrays, shape (n_slots,) and (n_slots, n_nodes)
        Gain of each place and p(y_i | u); read for judged places alone. NaN is an item that cannot be judged: it
        stays as the model expects it, whatever takes the model's place.
    node_weights : array, shape (n_queries, n_nodes)
        Weights of the nodes before any label of the sample.
    query_roots, roots, level : arrays by query and by place, and T
        G_i = min(1, T r_i) / min(1, T r).
    queries, counts, slots : arrays of int64
        The sample: its queries, how many places of each are judged, and these, ascending within a query.
    """
    omega = np.empty(node_weights.shape[1])
    k = 0
    for row in range(queries.size):
        first, last = offsets[queries[row]], offsets[queries[row] + 1]
        prior = node_weights[queries[row]]
        omega[:] = prior
        rate = min(1.0, level * query_roots[queries[row]])
        totals[row, :] = 0.0
        within[row, :] = 0.0
        begin = first
        for _ in range(counts[row]):
            i = slots[k]
            k += 1
            if np.isnan(gains[i]):
                continue
            totals[row, 2] -= _shift(sums, first, begin, i + 1, omega, prior)
            begin = i + 1
            mu = 0.0
            for u in range(omega.size):
                mu += omega[u] * node_means[i, u]
            c, g, chance = contrast[i], gains[i], min(1.0, level * roots[i]) / rate
            totals[row, 0] += c * g / chance
            totals[row, 1] += c / chance
            totals[row, 2] += c * mu / chance
            weight = (1.0 - chance) / (chance * chance) * c * c
            within[row, 0] += weight * g * g
            within[row, 1] += weight * g
            within[row, 2] += weight * g * mu
            within[row, 3] += weight
            within[row, 4] += weight * mu
            within[row, 5] += weight * mu * mu
            total = 0.0
            for u in range(omega.size):
                omega[u] *= likelihoods[i, u]
                total += omega[u]
            for u in range(omega.size):
                omega[u] = omega[u] / total if total > _IMPOSSIBLE else prior[u]
        totals[row, 2] -= _shift(sums, first, begin, last, omega, prior)
