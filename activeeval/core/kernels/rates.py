"""How often to judge: rates from variances and costs.

Judging item i of query x with probability a_i costs λ_i a_i and leaves V_i / a_i of the variance, so
without constraints a_i = κ sqrt(V_i / λ_i). Constraints between the items of a query pool them:
what must share a rate has one ratio ΣV / Σλ. No pooled ratio depends on κ, so κ is left to the end.

*Chain* (a prefix is judged): a non-increasing, the least-squares monotone fit of V / λ with weights λ by pool
adjacent violators; the first item carries the overhead of the query.

*Star* (any items are judged): a_i ≤ π, the rate of the query, which costs the overhead λ_0. Items in
the order of V_i / λ_i join the query's stage as long as their ratio exceeds the stage's.

*Chain above floors* (some of it is in hand): place i has come with probability M_i, and only what lies above costs
anything. Σ λ_i (a − M_i)⁺ + V_i / a is convex in the a of a block, its best where a² Σ_{M_i < a} λ_i passes Σ V: with
floors that rise, min_j max(M_j, sqrt(Σ V / Σ_{i ≤ j} λ_i)). Blocks are pooled as in a chain, now of probabilities: that
κ is in V.

*Level*: Σ cost · min(1, κ rate) rises with κ, rate = sqrt(pooled ratio), so halving finds the κ of a cost.
"""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit

_HALVINGS = 100
_HIGHEST = 1e300
_LOWEST = 1e-300
_CLOSE = 1e-12
# of what labels leave open over what was planned. A lower bound of .05 gains 4 to 10 % with good models of MQ2008 and
# TREC DL 2021 and loses 25 to 30 % with bad ones; .2 to .4 are alike
_LEAST, _MOST = 0.25, 4.0
_RAREST = 1e-3  # of the users: no place has a rate of 0


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
def _best_above(variance, costs, floors):
    """Return the a of a block of which λ (n,) is paid above M (n,) alone."""
    best, bottom = np.inf, 0.0
    for j in np.argsort(floors):
        bottom += costs[j]
        best = min(best, max(floors[j], np.sqrt(variance / bottom)))
    return best


@_jit
def chain_above(offsets, variances, costs, floors, probs):
    """Fill ``probs`` (n_items,) with the best a above ``floors``, non-increasing within a query, not clipped."""
    longest = 0
    for q in range(offsets.size - 1):
        longest = max(longest, offsets[q + 1] - offsets[q])
    top, best = np.empty(longest), np.empty(longest)
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
    """Pool the ``ratios`` V / λ (n_items,) with their query's, in place, so that none is above it.

    ``stage_variances`` is what is left at a query's own stage once all its items are judged. Without an
    overhead the query costs nothing and is always in, items come on their own: its ratio, in ``query_ratios``
    (n_queries,), stays its best item's.
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
    """Give every place the largest of the values from it to the end of its query, in place."""
    for q in range(offsets.size - 1):
        for i in range(offsets[q + 1] - 2, offsets[q] - 1, -1):
            values[i] = max(values[i], values[i + 1])


@_jit
def go_on(
    offsets, wanted, depths, query_rates, slopes, floors, ratios, shares, looks, stops, kept, place_rates, living
):
    """Fill the rates of places that are judged one after the other, as far as a query's own labels have them known.

    r_1 = r of the query,    r_{k+1} = min(r_k, max(s floor, sqrt(ρ) slope)),

    ρ and s by the last look at the labels before: ρ within `_LEAST` and `_MOST`, and the least once no label matters;
    s is 1 at most.

    Parameters
    ----------
    offsets : array of int64, shape (n_queries + 1,)
        Of the places.
    wanted, depths : arrays of int64, shape (n_queries,)
        How many places of each query may be judged, its first ones, and how many have their labels: behind the next
        place after which labels are looked at none has a rate yet, 0.
    query_rates : array, shape (n_queries,)
    slopes, floors : arrays by place
        sqrt(V/λ), pooled, and least rates, in the unit of the rates.
    ratios : array by place
        ρ once it has its label, before clipping.
    shares : array by place
        s once it has: of the users, how many are expected to come to the next place.
    looks : array of bool by place
        Whether labels are looked at once it has its own.
    stops : array of int64, shape (n_queries,)
        After how many labels no other can matter.
    kept : array by place
        Rates that places have already, whatever their labels are by now; 0 where there is none.
    place_rates : array
        Out.
    living : array of int64, shape (n_queries,)
        Out: of how many places, the first ones, labels are asked: the rest are dead.
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
            if kept[first + k] > 0.0:
                rate = kept[first + k]
            place_rates[first + k] = rate


@_jit
def expected_cost(offsets, query_rates, place_rates, overheads, costs, nested, level):
    """Return Σ of what is judged at a level, on average.

    A nested query is turned to with its first place; else where at least one of its places is judged.
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
    """Return κ whose `expected_cost` is the budget, which is below the cost of everything, by halving."""
    high = 1.0
    while expected_cost(offsets, query_rates, place_rates, overheads, costs, nested, high) < budget and high < _HIGHEST:
        high *= 2.0
    # rates may be as large as they like: a hundred halvings alone would end at 0, which no doubling leaves again
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
