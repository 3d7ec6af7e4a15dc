"""Draws one at a time for a campaign, and many repetitions of a campaign for a simulation.

*With replacement.* A draw is the place of a uniform number u on the cumulated sampling
probabilities, so a sequence of uniforms determines a run; what u leaves within its place is uniform
too, whatever the query, and says how deep the draw reads: item k is judged while G_k exceeds it.
What was judged before is free; the first draw that the budget cannot pay ends the run
(skipping it would favour cheap queries). Runs for several budgets share one sequence: each is a
beginning of the run with the largest budget.

*Without replacement.* Queries that are left share their probabilities in proportion; a tree of sums
finds the next one and takes it out in O(log N).
"""

from __future__ import annotations

import numba
import numpy as np

from activeeval.kernels.estimates import linear_estimate, ratio_estimate, sequential_estimate, weighted_sum

_jit = numba.njit(cache=True, error_model="numpy", nogil=True)

RATIO, DIFFERENCE, REGRESSION, LEVELLED = 0, 1, 2, 3


@_jit
def locate(cumulative, u):
    """Return the first index whose cumulated probability exceeds ``u``; the last where none does."""
    return _locate_between(cumulative, u, 0, cumulative.size - 1)


@_jit
def _locate_between(cumulative, u, low, high):
    while low < high:
        middle = (low + high) >> 1
        if cumulative[middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


@_jit
def _signposts(cumulative):
    """Return where `locate` finds 0, 1/n … 1: between two of them few indices are left to search."""
    n = cumulative.size
    places = np.empty(n + 1, np.int64)
    for k in range(n + 1):
        places[k] = locate(cumulative, k / n)
    return places


@_jit
def _locate_by(signposts, cumulative, u):
    """Return what `locate` returns; one signpost more on either side, as u · n is rounded."""
    n = cumulative.size
    k = int(u * n)
    return _locate_between(cumulative, u, signposts[max(k - 1, 0)], signposts[min(k + 2, n)])


@_jit
def end_of_prefix(item_probs, first, last, left):
    """Return where a prefix ends whose items are judged while G exceeds ``left``; the first item always is."""
    if first == last or item_probs[last - 1] > left:
        return last
    low, high = first + 1, last - 1
    while low < high:
        middle = (low + high) >> 1
        if item_probs[middle] > left:
            low = middle + 1
        else:
            high = middle
    return low


@_jit
def reach(cumulative, query, u, item_probs, first, last):
    """Return where the prefix ends that the draw ``u`` of a query judges."""
    before = cumulative[query - 1] if query > 0 else 0.0
    width = cumulative[query] - before
    return end_of_prefix(item_probs, first, last, (u - before) / width if width > 0.0 else 0.0)


@_jit
def depths(firsts, lasts, item_probs, left, out):
    """Fill ``out`` (n,) with the number of items that each query of a sample is judged down to."""
    for j in range(out.size):
        out[j] = end_of_prefix(item_probs, firsts[j], lasts[j], left[j]) - firsts[j]


@_jit
def single_items(firsts, lasts, item_probs, uniforms, counts, slots):
    """Fill ``slots`` with the places judged of a sample's queries, ``counts`` with how many of each; return the total.

    ``uniforms`` holds one number for every place of these queries, in their order.
    """
    n_judged = 0
    k = 0
    for j in range(counts.size):
        before = n_judged
        for place in range(firsts[j], lasts[j]):
            if uniforms[k] < item_probs[place]:
                slots[n_judged] = place
                n_judged += 1
            k += 1
        counts[j] = n_judged - before
    return n_judged


@_jit
def sample_cost(queries, counts, slots, item_costs, overheads):
    """Return what a settled sample costs, summed up in the order of its queries."""
    total = 0.0
    k = 0
    for j in range(queries.size):
        cost = 0.0
        for _ in range(counts[j]):
            cost += item_costs[slots[k]]
            k += 1
        total += cost + overheads[queries[j]] if counts[j] > 0 else 0.0
    return total


@_jit
def sum_tree(weights):
    """Return a tree over weights, each node the sum of its two children, leaves in the second half."""
    size = 1
    while size < weights.size:
        size *= 2
    tree = np.zeros(2 * size)
    tree[size : size + weights.size] = weights
    for node in range(size - 1, 0, -1):
        tree[node] = tree[2 * node] + tree[2 * node + 1]
    return tree


@_jit
def take(tree, u):
    """Draw a leaf with probability in proportion to its weight, take it out; return it and its probability."""
    size = tree.size // 2
    left = u * tree[1]
    node = 1
    while node < size:
        node *= 2
        if left >= tree[node] and tree[node + 1] > 0.0:
            left -= tree[node]
            node += 1
    prob = tree[node] / tree[1]
    leaf = node - size
    tree[node] = 0.0
    while node > 1:
        node >>= 1
        tree[node] = tree[2 * node] + tree[2 * node + 1]
    return leaf, prob


@_jit
def _evaluate(code, t, weights, totals, within, omega, keep, population, nothing, contributions):
    """Return estimate, variance and degrees of freedom of the first t draws with replacement."""
    if code == RATIO:
        return ratio_estimate(weights[:t], totals[:t, 0], contributions[:t])
    for j in range(t):
        omega[j] = weights[j] / t
    fitted = code == REGRESSION
    arrays = (omega[:t], keep[:t], totals[:t], within[:t])
    return linear_estimate(*arrays, population, nothing[:t], fitted, True, contributions[:t])


@_jit
def replicate(
    uniforms,
    code,
    cumulative,
    query_probs,
    weights,
    regressors,
    population,
    offsets,
    item_probs,
    item_costs,
    overheads,
    prefixes,
    values,
    budgets,
    limits,
    out,
    complete,
):
    """Draw with replacement once for every row of ``uniforms`` (repetitions, n).

    Run k ends before the draw that would exceed ``budgets[k]`` or when ``limits[k]`` draws are
    done; both ascend. ``out`` (repetitions, budgets, 7) takes estimate, variance, draws, distinct
    queries, distinct items, spent, degrees of freedom. ``complete`` (repetitions,) turns False where a row of uniforms
    was too short.
    """
    n_queries = cumulative.size
    signposts = _signposts(cumulative)
    longest = uniforms.shape[1]
    last_seen = np.full(n_queries, -1, np.int64)
    ends = np.zeros(n_queries, np.int64)
    w = np.empty(longest)
    totals, within = np.zeros((longest, 4)), np.zeros((longest, 10))
    omega, keep, contributions = np.empty(longest), np.ones(longest), np.empty(longest)
    nothing = np.empty((longest, 0))
    for r in range(uniforms.shape[0]):
        spent = 0.0
        n_seen = 0
        n_items = 0
        k = 0
        t = 0
        while True:
            u = uniforms[r, t] if t < longest else 1.0
            query = _locate_by(signposts, cumulative, u)
            first, last = offsets[query], offsets[query + 1]
            is_new = last_seen[query] != r
            begin = first if is_new else ends[query]
            end = reach(cumulative, query, u, item_probs, first, last)
            cost = 0.0
            for i in range(begin, end):
                cost += item_costs[i]
            if is_new:
                cost += overheads[query]
            while k < budgets.size and (t == limits[k] or (t < longest and spent + cost > budgets[k])):
                if n_seen == n_queries and n_items == offsets[n_queries]:
                    found = (weighted_sum(query_probs, values), 0.0, np.inf)
                else:
                    found = _evaluate(code, t, w, totals, within, omega, keep, population, nothing, contributions)
                out[r, k, 0], out[r, k, 1], out[r, k, 6] = found
                out[r, k, 2], out[r, k, 3], out[r, k, 4], out[r, k, 5] = t, n_seen, n_items, spent
                k += 1
            if k == budgets.size or t == longest:
                break
            w[t] = weights[query]
            totals[t, 0] = prefixes[end - 1, 0] if end > first else 0.0
            totals[t, 1], totals[t, 2] = regressors[query, 0], regressors[query, 1]
            totals[t, 3] = prefixes[end - 1, 1] if end > first else 0.0
            t += 1
            if is_new:
                last_seen[query] = r
                ends[query] = first
                n_seen += 1
            spent += cost
            n_items += max(end - ends[query], 0)
            ends[query] = max(end, ends[query])
        complete[r] = k == budgets.size


@_jit
def replicate_sequential(
    uniforms, code, probs, query_probs, regressors, population, costs, item_counts, values, budgets, out
):
    """Draw without replacement once for every row of ``uniforms`` (repetitions, n_queries); see `replicate`."""
    n_queries = probs.size
    full = sum_tree(probs)
    p, rates = np.empty(n_queries), np.empty(n_queries)
    totals, contributions = np.empty((n_queries, 3)), np.empty(n_queries)
    levelled = code == LEVELLED
    for r in range(uniforms.shape[0]):
        tree = full.copy()
        spent = 0.0
        n_items = 0
        k = 0
        for t in range(n_queries + 1):
            query, prob, cost = -1, 0.0, np.inf
            if t < n_queries:
                query, prob = take(tree, uniforms[r, t])
                cost = costs[query]
            while k < budgets.size and spent + cost > budgets[k]:
                if t == n_queries:
                    found = (weighted_sum(query_probs, values), 0.0, np.inf)
                else:
                    found = sequential_estimate(
                        p[:t], rates[:t], totals[:t], n_queries, population[1], levelled, contributions[:t]
                    )
                out[r, k, 0], out[r, k, 1], out[r, k, 6] = found
                out[r, k, 2], out[r, k, 3], out[r, k, 4], out[r, k, 5] = t, t, n_items, spent
                k += 1
            if k == budgets.size:
                break
            p[t], rates[t] = query_probs[query], prob
            totals[t, 0] = values[query]
            totals[t, 1], totals[t, 2] = regressors[query, 0], regressors[query, 1]
            spent += cost
            n_items += item_counts[query]
