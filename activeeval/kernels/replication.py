"""Algorithm 1 and its estimator: one draw at a time for a campaign, many repetitions for a simulation.

A draw is the place of a uniform number u on the cumulated sampling probabilities, so a sequence
of uniforms determines a run. A query that is drawn again is free; the first draw that the budget
cannot pay ends the run (skipping it would favour cheap queries). Runs for several budgets share
one sequence: each is a beginning of the run with the largest budget.

Ratio estimator, eq. (6): R̂ = Σ_j w_j L_j / Σ_j w_j with w = p/q, and its variance by the delta
method, n/(n − 1) · Σ_j w_j² (L_j − R̂)² / (Σ_j w_j)².
"""

from __future__ import annotations

import numba
import numpy as np

_jit = numba.njit(cache=True, error_model="numpy", nogil=True)

_NO_SPREAD = 1e-12


@_jit
def locate(cumulative, u):
    """Return the first index whose cumulated probability exceeds ``u``; the last where none does."""
    low, high = 0, cumulative.size - 1
    while low < high:
        middle = (low + high) >> 1
        if cumulative[middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


@_jit
def ratio_estimate(weights, values):
    """Return R̂ and its estimated variance, infinite where the values show no spread.

    Draws that all have one value, as draws of one query do, say nothing of the others.
    """
    n = weights.size
    total_weight = 0.0
    total = 0.0
    for j in range(n):
        total_weight += weights[j]
        total += weights[j] * values[j]
    estimate = total / total_weight
    spread = 0.0
    for j in range(n):
        deviation = weights[j] * (values[j] - estimate)
        spread += deviation * deviation
    mean_spread = spread / (total_weight * total_weight)
    if n < 2 or mean_spread <= (_NO_SPREAD * estimate) ** 2:
        return estimate, np.inf
    return estimate, n / (n - 1.0) * mean_spread


@_jit
def weighted_sum(weights, values):
    """Return Σ w L, exact for a census with w = p."""
    total = 0.0
    for j in range(weights.size):
        total += weights[j] * values[j]
    return total


@_jit
def replicate(uniforms, cumulative, query_probs, weights, values, costs, item_counts, budgets, limits, out, complete):
    """Run Algorithm 1 once for every row of ``uniforms`` (repetitions, n).

    Run k ends before the draw that would exceed ``budgets[k]`` or when ``limits[k]`` draws are
    done; both ascend. ``out`` (repetitions, budgets, 6) takes estimate, variance, draws, distinct
    queries, distinct items, spent. ``complete`` (repetitions,) turns False where a row of uniforms
    was too short.
    """
    n_queries = cumulative.size
    longest = uniforms.shape[1]
    last_seen = np.full(n_queries, -1, np.int64)
    w = np.empty(longest)
    v = np.empty(longest)
    for r in range(uniforms.shape[0]):
        spent = 0.0
        n_seen = 0
        n_items = 0
        k = 0
        t = 0
        while True:
            u = uniforms[r, t] if t < longest else 1.0
            query = locate(cumulative, u)
            is_new = last_seen[query] != r
            cost = costs[query] if is_new else 0.0
            while k < budgets.size and (t == limits[k] or (t < longest and spent + cost > budgets[k])):
                if n_seen == n_queries:
                    out[r, k, 0], out[r, k, 1] = weighted_sum(query_probs, values), 0.0
                else:
                    out[r, k, 0], out[r, k, 1] = ratio_estimate(w[:t], v[:t])
                out[r, k, 2], out[r, k, 3], out[r, k, 4], out[r, k, 5] = t, n_seen, n_items, spent
                k += 1
            if k == budgets.size or t == longest:
                break
            w[t], v[t] = weights[query], values[query]
            t += 1
            if is_new:
                last_seen[query] = r
                spent += cost
                n_seen += 1
                n_items += item_counts[query]
        complete[r] = k == budgets.size
