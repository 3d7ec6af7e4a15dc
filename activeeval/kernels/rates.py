"""How often to judge: rates from variances and costs.

Judging item i of query x with probability a_i costs λ_i a_i and leaves V_i / a_i of the variance, so
without constraints a_i = κ sqrt(V_i / λ_i). Constraints between the items of a query pool them:
what must share a rate has one ratio ΣV / Σλ. No pooled ratio depends on κ, so κ is left to the end.

*Chain* (a prefix is judged): a non-increasing, the least-squares monotone fit of V / λ with weights λ by pool
adjacent violators; the first item carries the overhead of the query.

*Star* (any items are judged): a_i ≤ π, the rate of the query, which costs the overhead λ_0. Items in
the order of V_i / λ_i join the query's stage as long as their ratio exceeds the stage's.

*Water-filling*: Σ cost · min(1, κ root) = Λ, solved exactly, root = sqrt(pooled ratio).
"""

from __future__ import annotations

import numba
import numpy as np

_jit = numba.njit(cache=True, error_model="numpy", nogil=True)

_FREE = 1e12
_HALVINGS = 100


@_jit
def pool_chain(offsets, variances, costs, overheads, ratios):
    """Fill ``ratios`` (n_items,) with the pooled V / λ of every item, non-increasing within a query."""
    longest = 0
    for q in range(offsets.size - 1):
        longest = max(longest, offsets[q + 1] - offsets[q])
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
def pool_star(offsets, variances, costs, stage_variances, overheads, query_ratios, ratios):
    """Fill ``query_ratios`` (n_queries,) and ``ratios`` (n_items,), none above its query's.

    ``stage_variances`` is what is left at a query's own stage once all its items are judged. Without an
    overhead the query costs nothing: its ratio is so large that π = 1, pure item sampling.
    """
    for q in range(offsets.size - 1):
        own = ratios[offsets[q] : offsets[q + 1]]
        best = 0.0
        for i in range(own.size):
            own[i] = variances[offsets[q] + i] / costs[offsets[q] + i]
            best = max(best, own[i])
        if overheads[q] == 0.0:
            query_ratios[q] = _FREE * best
            continue
        top, bottom = stage_variances[q], overheads[q]
        for i in np.argsort(-own):
            if own[i] * bottom <= top:
                break
            top += variances[offsets[q] + i]
            bottom += costs[offsets[q] + i]
        query_ratios[q] = top / bottom
        for i in range(own.size):
            own[i] = min(own[i], query_ratios[q])


@_jit
def water_level(roots, costs, order, budget):
    """Return κ with Σ cost · min(1, κ root) = budget; ``order`` sorts the roots, largest first.

    The budget must not exceed Σ cost over positive roots; where it reaches it, κ makes all rates 1.
    """
    rest = np.zeros(order.size + 1)  # summed up from the smallest: a difference would leave its rounding
    for i in range(order.size - 1, -1, -1):
        rest[i] = rest[i + 1] + costs[order[i]] * roots[order[i]]
    left = budget
    for i in range(order.size):
        if rest[i] <= 0.0:
            break
        level = left / rest[i]
        if level * roots[order[i]] <= 1.0:
            return level
        left -= costs[order[i]]
    return np.inf


@_jit
def star_cost(offsets, query_roots, roots, overheads, costs, level):
    """Return the expected cost of independent items: the overhead is paid where at least one of a query is judged."""
    total = 0.0
    for q in range(offsets.size - 1):
        pi = min(1.0, level * query_roots[q])
        none = 1.0
        for i in range(offsets[q], offsets[q + 1]):
            a = min(pi, level * roots[i])
            none *= 1.0 - (a / pi if pi > 0.0 else 0.0)
            total += a * costs[i]
        total += pi * (1.0 - none) * overheads[q]
    return total


@_jit
def star_level(offsets, query_roots, roots, overheads, costs, level, budget):
    """Return κ whose `star_cost` is the budget, by halving from ``level`` on, whose cost is at most the budget."""
    low, high = level, 2.0 * level
    while star_cost(offsets, query_roots, roots, overheads, costs, high) < budget and high < 1e6 * level:
        low, high = high, 2.0 * high
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            break
        if star_cost(offsets, query_roots, roots, overheads, costs, middle) < budget:
            low = middle
        else:
            high = middle
    return low
