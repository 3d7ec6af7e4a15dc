"""Optimal sampling rates from variances and costs.

Judging item i of query x with probability a_i costs λ_i a_i and leaves V_i / a_i of the variance, so
without constraints a_i = κ sqrt(V_i / λ_i). Constraints between the items of a query pool them:
items that must share a rate have one ratio ΣV / Σλ. No pooled ratio depends on κ, so κ is computed last.

*Chain* (a prefix is judged): a non-increasing, the least-squares monotone fit of V / λ with weights λ by pool
adjacent violators; the first item carries the overhead of the query.

*Star* (any items are judged): a_i ≤ π, the rate of the query, which costs the overhead λ_0. Items in
the order of V_i / λ_i join the query's stage as long as their ratio exceeds the stage's.

*Chain above floors* (with labels in hand): place i is in hand with probability M_i, and only the excess over M_i has a
cost. Σ λ_i (a − M_i)⁺ + V_i / a is convex in the a of a block, with its optimum where a² Σ_{M_i < a} λ_i reaches Σ V:
with floors in ascending order, min_j max(M_j, sqrt(Σ V / Σ_{i ≤ j} λ_i)). Blocks are pooled as in a chain, here of
probabilities: κ is included in V.

*Level*: Σ cost · min(1, κ rate) increases with κ, rate = sqrt(pooled ratio), so bisection finds the κ of a cost.
"""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit

_HALVINGS = 100
_HIGHEST = 1e300
_LOWEST = 1e-300
_CLOSE = 1e-12
# bounds of the ratio of the remaining to the planned variance. A lower bound of .05 gains 4 to 10 % with good models of
# MQ2008 and TREC DL 2021 and loses 25 to 30 % with bad ones; .2 to .4 perform alike
_LEAST, _MOST = 0.25, 4.0
_RAREST = 1e-3  # smallest share of users, so that no place has a rate of 0


@_jit
def pool_chain(offsets, variances, costs, overheads, ratios):
    """Fill ``ratios`` (n_items,) with variance / cost of every item, made non-increasing within each query.

    Items that violate the order share the ratio Σ variance / Σ cost of adjacent items (pool adjacent violators). The
    first item of a query also carries the cost ``overheads`` (n_queries,) of opening it. ``variances`` and ``costs``
    (n_items,) are in judging order, and query q has the items ``offsets[q]`` to ``offsets[q + 1] - 1``.
    """
    longest = 0
    for q in range(offsets.size - 1):
        longest = max(longest, offsets[q + 1] - offsets[q])
    # Σ variance, Σ cost and end of each block of adjacent items that share a ratio
    top, bottom = np.empty(longest), np.empty(longest)
    ends = np.empty(longest, np.int64)
    for q in range(offsets.size - 1):
        n_blocks = 0
        for i in range(offsets[q], offsets[q + 1]):
            top[n_blocks] = max(variances[i], 0.0)
            bottom[n_blocks] = costs[i] + (overheads[q] if i == offsets[q] else 0.0)
            ends[n_blocks] = i + 1
            n_blocks += 1
            while n_blocks > 1 and top[n_blocks - 1] * bottom[n_blocks - 2] > top[n_blocks - 2] * bottom[n_blocks - 1]:
                top[n_blocks - 2] += top[n_blocks - 1]
                bottom[n_blocks - 2] += bottom[n_blocks - 1]
                ends[n_blocks - 2] = ends[n_blocks - 1]
                n_blocks -= 1
        i = offsets[q]
        for block in range(n_blocks):
            while i < ends[block]:
                ratios[i] = top[block] / bottom[block]
                i += 1


@_jit
def _best_above(variance, costs, floors):
    """Find the a that minimizes Σ costs (a − floor)⁺ + variance / a, the common judging probability of several items.

    ``floors`` (n,) are the probabilities with which the items are judged already, free of cost; the ``costs`` (n,) are
    paid only for the part of a above them.
    """
    best, bottom = np.inf, 0.0
    for j in np.argsort(floors):
        bottom += costs[j]
        best = min(best, max(floors[j], np.sqrt(variance / bottom)))
    return best


@_jit
def chain_above(offsets, variances, costs, floors, probs):
    """Fill ``probs`` (n_items,) with the cheapest judging probabilities of items that are partly judged already.

    Item i is judged already with probability ``floors[i]``, free of cost. The result a minimizes
    Σ costs (a − floor)⁺ + variances / a, is non-increasing within each query, and can exceed 1. Query q has the items
    ``offsets[q]`` to ``offsets[q + 1] - 1``, in judging order.
    """
    longest = 0
    for q in range(offsets.size - 1):
        longest = max(longest, offsets[q + 1] - offsets[q])
    top, best = np.empty(longest), np.empty(longest)
    # blocks of adjacent items with one probability: first item, Σ variances, and that probability; a block is merged
    # with the one before while its probability is larger
    starts = np.empty(longest + 1, np.int64)
    for q in range(offsets.size - 1):
        n_blocks = 0
        for i in range(offsets[q], offsets[q + 1]):
            starts[n_blocks], top[n_blocks] = i, max(variances[i], 0.0)
            best[n_blocks] = _best_above(top[n_blocks], costs[i : i + 1], floors[i : i + 1])
            n_blocks += 1
            while n_blocks > 1 and best[n_blocks - 1] > best[n_blocks - 2]:
                n_blocks -= 1
                first = starts[n_blocks - 1]
                top[n_blocks - 1] += top[n_blocks]
                best[n_blocks - 1] = _best_above(top[n_blocks - 1], costs[first : i + 1], floors[first : i + 1])
        starts[n_blocks] = offsets[q + 1]
        for block in range(n_blocks):
            for i in range(starts[block], starts[block + 1]):
                probs[i] = best[block]


@_jit
def pool_star(offsets, variances, costs, stage_variances, overheads, query_ratios, ratios):
    """Limit the ``ratios`` variance / cost of items (n_items,) to the pooled ratio of their query, in place.

    The sampling rate of an item cannot exceed its query's. Items in descending order of ratio are pooled with the
    query's own costs as long as their ratio is larger. ``stage_variances`` (n_queries,) is the variance that remains
    once all items of a query are judged, ``overheads`` (n_queries,) the cost of opening it. ``query_ratios``
    (n_queries,) receives the pooled ratio; it is not changed for a query without overhead, which is always selected.
    Query q has the items ``offsets[q]`` to ``offsets[q + 1] - 1``.
    """
    for q in range(offsets.size - 1):
        item_ratios = ratios[offsets[q] : offsets[q + 1]]
        if overheads[q] == 0.0:
            continue
        top, bottom = stage_variances[q], overheads[q]
        for i in np.argsort(-item_ratios):
            if item_ratios[i] * bottom <= top:
                break
            top += variances[offsets[q] + i]
            bottom += costs[offsets[q] + i]
        query_ratios[q] = top / bottom
        for i in range(item_ratios.size):
            item_ratios[i] = min(item_ratios[i], query_ratios[q])


@_jit
def never_rising(offsets, values):
    """Make ``values`` non-increasing within each query, in place: each becomes the maximum from it to the query's end.

    Query q has the values ``offsets[q]`` to ``offsets[q + 1] - 1``.
    """
    for q in range(offsets.size - 1):
        for i in range(offsets[q + 1] - 2, offsets[q] - 1, -1):
            values[i] = max(values[i], values[i + 1])


@_jit
def go_on(
    offsets, wanted, depths, query_rates, slopes, floors, ratios, shares, looks, stops, fixed, place_rates, living
):
    """Compute the sampling rates of items judged one after the other, as far as the labels so far determine them.

    A place is the position of an item in its query's judging order; its rates follow from the labels before it:

        r_1 = r of the query,    r_{k+1} = min(r_k, max(s floor, sqrt(ρ) slope)).

    ρ is the ratio of the remaining to the planned variance of the query's value, s the share of users who reach the
    place. Both are those of the last re-planning after an earlier label: ρ is clipped to `_LEAST` and `_MOST`, and
    equal to `_LEAST` once no label matters; s is at most 1.

    Parameters
    ----------
    offsets : array of int64, shape (n_queries + 1,)
        Offsets of the places.
    wanted, depths : arrays of int64, shape (n_queries,)
        Number of places of each query that can be judged (its first ones), and number with labels. Places after the
        next re-planning point have no rate yet, 0.
    query_rates : array, shape (n_queries,)
        r.
    slopes, floors : arrays by place
        sqrt(variance / cost) of the item, made non-increasing, and minimum rates, in the unit of the rates.
    ratios : array by place
        ρ given the labels up to the place, before clipping.
    shares : array by place
        s given the labels up to the place: expected share of users who reach the next place.
    looks : array of bool by place
        True if rates are re-planned after the label of the place.
    stops : array of int64, shape (n_queries,)
        Number of labels after which no other can matter.
    fixed : array by place
        Rates that are fixed already, regardless of labels; 0 if none.
    place_rates : array
        Out.
    living : array of int64, shape (n_queries,)
        Out: number of places, from the first, whose labels can matter; the others need no labels.
    """
    for q in range(wanted.size):
        first, n = offsets[q], wanted[q]
        living[q] = n
        for i in range(first, offsets[q + 1]):
            place_rates[i] = 0.0
        if n == 0:
            continue
        rate, ratio, share = query_rates[q], 1.0, 1.0
        place_rates[first] = rate
        for k in range(1, n):
            if looks[first + k - 1] and k > depths[q] and k <= living[q]:
                break
            if looks[first + k - 1] and k < living[q]:
                ratio = min(max(ratios[first + k - 1], _LEAST), _MOST)
                share = min(max(shares[first + k - 1], _RAREST), 1.0)
                if k >= stops[q]:
                    ratio, living[q] = _LEAST, k
            rate = min(rate, max(share * floors[first + k], np.sqrt(ratio) * slopes[first + k]))
            if fixed[first + k] > 0.0:
                rate = fixed[first + k]
            place_rates[first + k] = rate


@_jit
def expected_cost(offsets, query_rates, place_rates, overheads, costs, nested, level):
    """Compute the expected cost of a sample at threshold ``level``; inclusion probabilities are min(1, level · rate).

    ``costs`` and ``place_rates`` (n_places,) are those of places (items in judging order), ``query_rates`` and
    ``overheads`` (n_queries,) those of queries; an overhead is the cost of opening a query. It is paid with the query's
    first place if ``nested`` (a place is judged only with all before it), else if at least one of its places is judged.
    Query q has the places ``offsets[q]`` to ``offsets[q + 1] - 1``.
    """
    total = 0.0
    for q in range(offsets.size - 1):
        if query_rates[q] <= 0.0:
            continue
        pi = min(1.0, level * query_rates[q])
        none = 1.0
        for i in range(offsets[q], offsets[q + 1]):
            a = min(1.0, level * place_rates[i])
            none *= 1.0 - (a / pi if pi > 0.0 else 0.0)
            total += a * costs[i]
        total += overheads[q] * (pi if nested else pi * (1.0 - none))
    return total


@_jit
def level_of_cost(offsets, query_rates, place_rates, overheads, costs, nested, budget):
    """Find by bisection the threshold at which `expected_cost` equals a budget below the cost of everything.

    ``costs`` and ``place_rates`` (n_places,) are those of places (items in judging order), ``query_rates`` and
    ``overheads`` (n_queries,) those of queries; ``nested``: a place is judged only with all before it in its query.
    """
    high = 1.0
    while expected_cost(offsets, query_rates, place_rates, overheads, costs, nested, high) < budget and high < _HIGHEST:
        high *= 2.0
    # rates can be arbitrarily large: a hundred bisections from 1 could end at 0
    while (
        high > _LOWEST
        and expected_cost(offsets, query_rates, place_rates, overheads, costs, nested, 0.5 * high) >= budget
    ):
        high *= 0.5
    low = 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if high - low <= _CLOSE * high:
            break
        if expected_cost(offsets, query_rates, place_rates, overheads, costs, nested, middle) < budget:
            low = middle
        else:
            high = middle
    return low
