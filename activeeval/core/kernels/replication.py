"""The paper's draws with replacement: single draws for a campaign, and many repetitions for a simulation.

A draw is the position of a uniform number u in the cumulated sampling probabilities, so a sequence of uniforms
determines a run. Repeated draws cost nothing; the first draw that the budget cannot pay ends the run
(skipping it would favour cheap queries). Runs for several budgets share one sequence: each is a
prefix of the run with the largest budget.
"""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit
from activeeval.core.kernels.estimates import ratio_estimate


@_jit
def locate(cumulative, u):
    """Find the first index whose cumulated probability exceeds ``u``; the last if none does.

    ``cumulative`` (n,) are the cumulated sampling probabilities of the queries.
    """
    return _locate_between(cumulative, u, 0, cumulative.size - 1)


@_jit
def _locate_between(cumulative, u, low, high):
    """Find the first index from ``low`` to ``high`` whose ``cumulative`` probability exceeds ``u``, by bisection."""
    while low < high:
        middle = (low + high) >> 1
        if cumulative[middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


@_jit
def _signposts(cumulative):
    """Find the first index whose ``cumulative`` probability (n,) exceeds each of 0, 1/n … 1, to narrow later searches.

    The result has shape (n + 1,).
    """
    n = cumulative.size
    places = np.empty(n + 1, np.int64)
    for k in range(n + 1):
        places[k] = locate(cumulative, k / n)
    return places


@_jit
def _locate_by(signposts, cumulative, u):
    """Find the first index whose ``cumulative`` probability (n,) exceeds ``u``, between two known indices.

    ``signposts`` (n + 1,) are these indices for 0, 1/n … 1 in place of ``u``. The range is widened by one on each side
    because u · n is rounded.
    """
    n = cumulative.size
    k = int(u * n)
    return _locate_between(cumulative, u, signposts[max(k - 1, 0)], signposts[min(k + 2, n)])


@_jit
def replicate(uniforms, truth, cumulative, weights, costs, item_counts, values, budgets, limits, out, complete):
    """Simulate runs of draws with replacement, one for each row of ``uniforms`` (repetitions, n), for several budgets.

    A run draws queries by the uniform numbers of its row. It ends before the draw that would exceed ``budgets[k]``, or
    after ``limits[k]`` draws. A query is paid only at its first draw.

    Parameters
    ----------
    truth : float
        Σ p L, which is the estimate once every query has been drawn.
    cumulative : array, shape (n_queries,)
        Cumulated sampling probabilities q.
    weights, values : arrays, shape (n_queries,)
        w = p/q, share in the mean over sampling probability, and value L.
    costs, item_counts : arrays, shape (n_queries,)
        Cost of judging a query, and number of its items.
    budgets, limits : arrays, shape (n_budgets,)
        Ascending.
    out : array, shape (repetitions, n_budgets, 7)
        Out: estimate, variance, degrees of freedom, draws, distinct queries, distinct items, cost.
    complete : array of bool, shape (repetitions,)
        Out: False if a row of uniforms was too short.
    """
    n_queries = cumulative.size
    signposts = _signposts(cumulative)
    longest = uniforms.shape[1]
    last_seen = np.full(n_queries, -1, np.int64)
    w, drawn, contributions = np.empty(longest), np.empty(longest), np.empty(longest)
    for r in range(uniforms.shape[0]):
        spent = 0.0
        n_seen = 0
        n_items = 0
        k = 0
        t = 0
        while True:
            # after the last number: any query, only to report budgets whose number of draws is reached
            query = _locate_by(signposts, cumulative, uniforms[r, t] if t < longest else 1.0)
            is_new = last_seen[query] != r
            cost = costs[query] if is_new else 0.0
            while k < budgets.size and (t == limits[k] or (t < longest and spent + cost > budgets[k])):
                if n_seen == n_queries:
                    estimate = (truth, 0.0, np.inf)
                else:
                    estimate = ratio_estimate(w[:t], drawn[:t], contributions[:t])
                out[r, k, 0], out[r, k, 1], out[r, k, 2] = estimate
                out[r, k, 3], out[r, k, 4], out[r, k, 5], out[r, k, 6] = t, n_seen, n_items, spent
                k += 1
            if k == budgets.size or t == longest:
                break
            w[t], drawn[t] = weights[query], values[query]
            t += 1
            if is_new:
                last_seen[query] = r
                n_seen += 1
                n_items += item_counts[query]
            spent += cost
        complete[r] = k == budgets.size
