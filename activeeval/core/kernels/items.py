"""Estimates of an additive query value from items that were each judged with their own probability.

Item i of a query, with contrast c_i and gain g_i, is judged with probability G_i, independently of the others. For any
prediction μ_i that depends only on items judged before i,

    L̃ = Σ_i c_i μ_i + Σ_{i judged} c_i (g_i − μ_i) / G_i

is unbiased. Its variance given the labels is Σ (1 − G_i)/G_i c_i² (g_i − μ_i)², with the unbiased estimate
Σ (1 − G_i)/G_i² c_i² (g_i − μ_i)² over the judged items. Here μ_i = Σ_u ω_u E[g_i | u] with the
posterior weights ω_u of the nodes of the query factor given the labels judged before i.

Two items can be judged together, with one G: then neither's μ may depend on the other's label, and the
variance has the squared sum of both, Σ (1 − G)/G² (Σ c_i (g_i − μ_i))² over units.

An estimator can replace μ_i by b_0 + b_1 μ_i. Therefore separate sums are computed: y = Σ_judged c g / G,
z_0 = Σ_judged c / G, z_1 = Σ_judged c μ_i / G − Σ_i c_i (μ_i − μ_i⁰) with μ⁰ the prediction before any
label, so that E z_1 = Σ c_i μ_i⁰; and the variance as the quadratic form of (g, 1, μ_i). Fixed predictions μ_i of
further models add z_2 … = Σ_judged c μ_i / G likewise, and their entries of the form.
"""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit

MEAN, SUM, LIKELIHOOD = 0, 1, 2
_SMALL = 1e-100


@_jit
def running_sums(offsets, contrast, predictions):
    """Fill the running sums, row SUM, of ``predictions`` (n_places, 3, n_nodes) from the expected gains, row MEAN.

    The sum of place i (an item in its query's judging order) at node u is Σ ``contrast``_j E[g_j | u] over the query's
    places j up to i, with g the gain; query q has the places ``offsets[q]`` to ``offsets[q + 1] - 1``. A node is a
    value of the query factor (a random effect shared by a query's items).
    """
    for q in range(offsets.size - 1):
        for u in range(predictions.shape[2]):
            total = 0.0
            for i in range(offsets[q], offsets[q + 1]):
                total += contrast[i] * predictions[i, MEAN, u]
                predictions[i, SUM, u] = total


@_jit
def observe_items(
    offsets, contrast, gains, joined, predictions, node_weights, extra_means, rates, selected, totals, within
):
    """Fill the totals of n sampled queries, from items that were each judged with their own probability.

    For a query: y = Σ_judged c g / G, unbiased for its value, with the contrast c of an item (its discount, or the
    difference of its discounts in two lists), its gain g and its judging probability G given the query; the regressors
    z_0 = Σ_judged c / G and z_1, from the expected gains μ given the labels judged before; and a z_a = Σ_judged c μ_a /
    G for the predictions of each further model.

    Parameters
    ----------
    offsets : array of int64, shape (n_queries + 1,)
        Offsets of the places (items in judging order).
    contrast : array, shape (n_places,)
    gains : array, shape (n_places,)
        Gain of each place; only those of judged places are read. NaN: the item cannot be judged and keeps the
        model's expectation.
    joined : array of bool, shape (n_places,)
        True for a place that is judged together with the one before it: neither's label predicts the other.
    predictions : array, shape (n_places, 3, n_nodes)
        By the model, for each node u of the query factor (random effect of a query): E[g_i | u], its running sum of
        c_i E[g_i | u] from the query's first place on, and p(y_i | u) > 0, the likelihood of the label.
        One array, because reading it from memory dominates the time of a replication.
    node_weights : array, shape (n_queries, n_nodes)
        Weights of the nodes before any label of the sample.
    extra_means : array, shape (n_places, w − 3)
        Expected gains by other models.
    rates : Rates
        Sampling rates, from which G follows.
    selected : SelectedRows
        The n sampled queries and their judged places.
    totals : array, shape (n, w)
        Out: y, z_0, z_1 ….
    within : array, shape (n, w (w + 1) / 2)
        Out: upper triangle, row by row, of their estimated covariance within the query: weights (1 − G) (c / G)² on the
        products of (g, 1, μ …).
    """
    n_nodes, width = node_weights.shape[1], totals.shape[1]
    # omega: weights of the nodes after the labels so far, up to a factor; before: running sums at the last judged place
    omega, before = np.empty(n_nodes), np.empty(n_nodes)
    k = 0
    for row in range(selected.queries.size):
        q = selected.queries[row]
        last = offsets[q + 1]
        for u in range(n_nodes):
            omega[u], before[u] = node_weights[q, u], 0.0
        rate = min(1.0, selected.levels[row] * rates.query_rates[q])
        # z1: Σ c μ / G over judged items, minus the change of the expected Σ c μ by the labels
        y, z0, z1 = 0.0, 0.0, 0.0
        follows, first_share, first_gain, first_mu = False, 0.0, 0.0, 0.0
        yy, y0, y1, s00, s01, s11 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        totals[row, 3:] = 0.0
        within[row, :] = 0.0
        for _ in range(selected.counts[row]):
            i = selected.places[k]
            k += 1
            g = gains[i]
            follows = follows and joined[i]  # the label of the place before has not moved the nodes yet
            if np.isnan(g):
                continue
            leads = i + 1 < last and joined[i + 1] and not np.isnan(gains[i + 1])
            size, mean, moved = 0.0, 0.0, 0.0
            for u in range(n_nodes):
                w = omega[u]
                size += w
                mean += w * predictions[i, MEAN, u]
                moved += w * (predictions[i, SUM, u] - before[u])
                before[u] = predictions[i, SUM, u]
                if not leads:
                    omega[u] = w * predictions[i, LIKELIHOOD, u]
                    if follows:
                        omega[u] *= predictions[i - 1, LIKELIHOOD, u]
            scale = 1.0 / size
            mu = mean * scale
            chance = min(1.0, selected.levels[row] * rates.place_rates[i]) / rate
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
            place = 3 * width - 3  # index of the first pair of extra predictions in the upper triangle
            for a in range(width - 3):
                extra = extra_means[i, a]
                totals[row, 3 + a] += share * extra
                within[row, 3 + a] += weight * g * extra
                within[row, width + 2 + a] += weight * extra
                within[row, 2 * width + a] += weight * mu * extra
                for b in range(a, width - 3):
                    within[row, place] += weight * extra * extra_means[i, b]
                    place += 1
            if follows:  # products of both places of a unit
                weight = (1.0 - chance) * share * first_share
                yy += 2.0 * weight * g * first_gain
                y0 += weight * (g + first_gain)
                y1 += weight * (g * first_mu + first_gain * mu)
                s00 += 2.0 * weight
                s01 += weight * (mu + first_mu)
                s11 += 2.0 * weight * mu * first_mu
                place = 3 * width - 3
                for a in range(width - 3):
                    extra, first_extra = extra_means[i, a], extra_means[i - 1, a]
                    within[row, 3 + a] += weight * (g * first_extra + first_gain * extra)
                    within[row, width + 2 + a] += weight * (extra + first_extra)
                    within[row, 2 * width + a] += weight * (mu * first_extra + first_mu * extra)
                    for b in range(a, width - 3):
                        within[row, place] += weight * (extra * extra_means[i - 1, b] + first_extra * extra_means[i, b])
                        place += 1
            follows, first_share, first_gain, first_mu = leads, share, g, mu
            if size < _SMALL:  # rescaling every time would take a third of the whole time
                for u in range(n_nodes):
                    omega[u] *= scale
        # the part after the last judged place, minus the total expected beforehand
        size, moved, whole = 0.0, 0.0, 0.0
        for u in range(n_nodes):
            size += omega[u]
            moved += omega[u] * (predictions[last - 1, SUM, u] - before[u])
            whole += node_weights[q, u] * predictions[last - 1, SUM, u]
        z1 += whole - moved / size
        totals[row, 0], totals[row, 1], totals[row, 2] = y, z0, z1
        within[row, 0], within[row, 1], within[row, 2] = yy, y0, y1
        within[row, width], within[row, width + 1], within[row, 2 * width - 1] = s00, s01, s11
