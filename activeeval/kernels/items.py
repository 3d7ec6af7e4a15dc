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


@_jit
def observe_items(
    offsets, contrast, gains, node_means, likelihoods, node_weights, item_probs, judged, queries, totals, within
):
    """Fill ``totals`` (n, 3) with y, z_0, z_1 and ``within`` (n, 6) with the quadratic form, for n queries.

    ``judged`` (n_slots,) marks the judged items of the queries; ``gains`` (n_slots,) and
    ``likelihoods`` p(y_i | u) (n_slots, n_nodes) are read for those alone.
    """
    n_nodes = node_weights.size
    omega = np.empty(n_nodes)
    for row in range(queries.size):
        q = queries[row]
        for u in range(n_nodes):
            omega[u] = node_weights[u]
        totals[row, :] = 0.0
        within[row, :] = 0.0
        for i in range(offsets[q], offsets[q + 1]):
            c = contrast[i]
            before = 0.0
            mu = 0.0
            for u in range(n_nodes):
                before += node_weights[u] * node_means[i, u]
                mu += omega[u] * node_means[i, u]
            totals[row, 2] -= c * (mu - before)
            if not judged[i]:
                continue
            chance = item_probs[i]
            g = gains[i]
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
            for u in range(n_nodes):
                omega[u] *= likelihoods[i, u]
                total += omega[u]
            if total > 1e-300:
                for u in range(n_nodes):
                    omega[u] /= total
            else:
                for u in range(n_nodes):
                    omega[u] = node_weights[u]
