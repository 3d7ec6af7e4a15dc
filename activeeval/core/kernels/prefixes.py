"""Estimates from judged prefixes: unbiased values, and a regressor that corrects the drift of a model.

With f_k the expected value once k labels are known (`activeeval.core.kernels.sequential_values`), D_k = f_k − f_{k−1},
and place k judged with probability G_k given that its query is selected, y = m + Σ_judged D_k / G_k is unbiased for L
under any model.
"""

from __future__ import annotations

from activeeval.core.kernels.compiling import jit as _jit


@_jit
def prefix_totals(offsets, predictions, f, drift, rates, selected, totals, within):
    """Fill the totals of n sampled queries that were judged from the top down to some place, and their variances.

    Place k is judged with probability G_k given its query. f_k is the query's expected value once k labels are known,
    m = f_0 that before judging, and D_k = f_k − f_{k−1} the step by label k.

    Parameters
    ----------
    offsets : array of int64, shape (n_queries + 1,)
        Offsets of the places (items in judging order).
    predictions : array, shape (n_queries,)
        m.
    f, drift : arrays, shape (n_places,)
        f_k with the labels of the sample; and Σ e up to each place, e the steps D if all labels had the lowest grade.
    rates : Rates
        Sampling rates, from which G follows.
    selected : SelectedRows
        The n sampled queries and their judged places.
    totals : array, shape (n, w), w ≥ 4
        Out: y = m + Σ D_k / G_k, unbiased for the query's value under any model; 1; m; and h = Σ e_k / G_k − Σ_all e_k
        with mean 0. If the model expects too much, D is close to e, and y − h has little of the noise that G adds to y.
        Columns from the fifth on are not changed.
    within : array, shape (n, w (w + 1) / 2)
        Out: unbiased variances and covariance of y and h given the labels, by
        Var = (Σ D_k / G_k)² − Σ ((f_k − m)² − (f_{k−1} − m)²) / G_k; the other terms are 0.
    """
    both = 3 * totals.shape[1] - 3  # index of (h, h) in the upper triangle
    for row in range(selected.queries.size):
        q = selected.queries[row]
        m = predictions[q]
        first, last = offsets[q], offsets[q + 1]
        rate = min(1.0, selected.levels[row] * rates.query_rates[q])
        ends_at = drift[last - 1] if last > first else 0.0
        # d, e: f_k − m and drift at the last place; t, h: their steps over G; dd, de, ee: steps of products over G
        d, e = 0.0, 0.0
        t, h = 0.0, 0.0
        dd, de, ee = 0.0, 0.0, 0.0
        for k in range(first, first + selected.counts[row]):
            chance = min(1.0, selected.levels[row] * rates.place_rates[k]) / rate
            next_d, next_e = f[k] - m, drift[k]
            t += (next_d - d) / chance
            h += (next_e - e) / chance
            dd += (next_d * next_d - d * d) / chance
            de += (next_d * next_e - d * e) / chance
            ee += (next_e * next_e - e * e) / chance
            d, e = next_d, next_e
        totals[row, 0], totals[row, 1], totals[row, 2], totals[row, 3] = m + t, 1.0, m, h - ends_at
        within[row, :] = 0.0
        within[row, 0], within[row, 3], within[row, both] = t * t - dd, t * h - de, h * h - ee
