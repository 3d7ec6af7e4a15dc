"""What the judged items of a query say of an additive value when each was judged with its own probability.

Item i of a query, with contrast c_i and gain g_i, is judged with probability G_i, independently of the others. Any
prediction μ_i that depends on what was judged before i alone gives an unbiased value,

    L̃ = Σ_i c_i μ_i + Σ_{i judged} c_i (g_i − μ_i) / G_i,

whose variance given the labels is Σ (1 − G_i)/G_i c_i² (g_i − μ_i)², estimated without bias by the sum of
(1 − G_i)/G_i² c_i² (g_i − μ_i)² over the judged items. Here μ_i = Σ_u ω_u E[g_i | u] with the
weights ω_u that the labels judged before i leave to the nodes of the query factor.

An estimator may replace μ_i by b_0 + b_1 μ_i. So the sums are kept apart: y = Σ_judged c g / G,
z_0 = Σ_judged c / G, z_1 = Σ_judged c μ_i / G − Σ_i c_i (μ_i − μ_i⁰) with μ⁰ the prediction before any
label, so that E z_1 = Σ c_i μ_i⁰; and the variance as the quadratic form of (g, 1, μ_i). Predictions μ_i of other
models, known beforehand, bring z_2 … = Σ_judged c μ_i / G likewise, and their part of the form.
"""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit

MEAN, SUM, LIKELIHOOD = 0, 1, 2
_SMALL = 1e-100


@_jit
def running_sums(offsets, contrast, word):
    """Fill the sums of ``word`` (n_places, 3, n_nodes) from its means; see `observe_items`."""
    for q in range(offsets.size - 1):
        for u in range(word.shape[2]):
            total = 0.0
            for i in range(offsets[q], offsets[q + 1]):
                total += contrast[i] * word[i, MEAN, u]
                word[i, SUM, u] = total


@_jit
def observe_items(offsets, contrast, gains, word, node_weights, extra_means, rates, taken, totals, within):
    """Fill ``totals`` (n, w) with y, z_0, z_1 … and ``within`` (n, w (w + 1) / 2) with the form, for n queries.

    Parameters
    ----------
    gains : array, shape (n_places,)
        Gain of each place; read for judged places alone. NaN is an item that cannot be judged: it stays as the model
        expects it, whatever takes the model's place.
    word : array, shape (n_places, 3, n_nodes)
        The model's: E[g_i | u], its running sum of c_i E[g_i | u] from the query's first place on, and p(y_i | u) > 0.
        One array, as reading it from memory is what a replication waits for.
    node_weights : array, shape (n_queries, n_nodes)
        Weights of the nodes before any label of the sample.
    extra_means : array, shape (n_places, w − 3)
        Predictions of other models.
    rates, taken : Rates, Taken
    """
    n_nodes, width = node_weights.shape[1], totals.shape[1]
    omega, before = np.empty(n_nodes), np.empty(n_nodes)
    k = 0
    for row in range(taken.queries.size):
        q = taken.queries[row]
        last = offsets[q + 1]
        for u in range(n_nodes):
            omega[u], before[u] = node_weights[q, u], 0.0
        rate = min(1.0, taken.levels[row] * rates.query_rates[q])
        y, z0, z1 = 0.0, 0.0, 0.0
        yy, y0, y1, s00, s01, s11 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        totals[row, 3:] = 0.0
        within[row, :] = 0.0
        for _ in range(taken.counts[row]):
            i = taken.places[k]
            k += 1
            g = gains[i]
            if np.isnan(g):
                continue
            size, mean, moved = 0.0, 0.0, 0.0
            for u in range(n_nodes):
                w = omega[u]
                size += w
                mean += w * word[i, MEAN, u]
                moved += w * (word[i, SUM, u] - before[u])
                omega[u] = w * word[i, LIKELIHOOD, u]
                before[u] = word[i, SUM, u]
            scale = 1.0 / size
            mu = mean * scale
            chance = min(1.0, taken.levels[row] * rates.place_rates[i]) / rate
            share = contrast[i] / chance
            y += share * g
            z0 += share
            z1 += share * mu - moved * scale
            weight = (1.0 - chance) * share * share
            yy += weight * g * g
            y0 += weight * g
            y1 += weight * g * mu
            s00 += weight
            s01 += weight * mu
            s11 += weight * mu * mu
            place = 3 * width - 3  # of the first of them twice in the upper triangle
            for a in range(width - 3):
                extra = extra_means[i, a]
                totals[row, 3 + a] += share * extra
                within[row, 3 + a] += weight * g * extra
                within[row, width + 2 + a] += weight * extra
                within[row, 2 * width + a] += weight * mu * extra
                for b in range(a, width - 3):
                    within[row, place] += weight * extra * extra_means[i, b]
                    place += 1
            if size < _SMALL:  # weights are scaled anew only when they get small: that would be a third of all time
                for u in range(n_nodes):
                    omega[u] *= scale
        # what follows the last judged place, less all of it as expected beforehand
        size, moved, whole = 0.0, 0.0, 0.0
        for u in range(n_nodes):
            size += omega[u]
            moved += omega[u] * (word[last - 1, SUM, u] - before[u])
            whole += node_weights[q, u] * word[last - 1, SUM, u]
        z1 += whole - moved / size
        totals[row, 0], totals[row, 1], totals[row, 2] = y, z0, z1
        within[row, 0], within[row, 1], within[row, 2] = yy, y0, y1
        within[row, width], within[row, width + 1], within[row, 2 * width - 1] = s00, s01, s11
