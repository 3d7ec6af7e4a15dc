"""Levels: a Poisson design as a queue, judged upward until a budget is spent.

A query has a rate r and the uniform number u of its id, every place of its items a rate r_i ≤ r and a
number v_i of its own. As a rate κ grows the query enters at t = u / r, so that by κ it is in with
probability min(1, κ r). A place comes with its parent or later,

    s_i = s_parent   if v_i < r_i / r_parent,      else v_i / r_i;

the parent is the query, or in a nested order the place before. By induction P(s_i < κ) = min(1, κ r_i): up to
κ = 1/r_parent the place has come if its parent has and v_i < r_i / r_parent, which is κ r_parent · r_i / r_parent;
beyond, the parent has come and v_i < κ r_i decides. An overhead of 0 puts its items before any query:
t = 0, items are drawn on their own.

Places of one query with one level are a *unit*, judged whole; the query's overhead is paid with its first unit.
*Threshold rule*: the first unit, by level, that the budget cannot pay ends the sample, and its level is T. T does not
change when the level of a sampled unit is lowered, so that the probabilities of the Poisson sample at the fixed
level T, π = min(1, T r) and a_i = min(1, T r_i), serve as if T had been chosen beforehand (Duffield, Lund and
Thorup, JACM 2007; Ohlsson 1998; Ting, KDD 2017).
"""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.bundles import SelectedRows
from activeeval.core.kernels.compiling import jit as _jit
from activeeval.core.kernels.numbers import number

_BINS = 64  # 16 take a third longer, 256 as long: 1,000 replications of 15 to 120 queries of 120 items
_HIGHEST = 1e300  # an infinite limit times a rate of 0 would not be a number


@_jit
def _come_freely(keys, entries, order, q, limit, numbers, places, levels, n, ends):
    """Write the places of a query that come below ``limit``, key by key, from position ``n`` on, and where each ends.

    Parameters
    ----------
    keys, entries : arrays
        Those under which the query comes, and at which levels.
    numbers : array
        Room for those of one query.
    """
    first, last, parent = order.offsets[q], order.offsets[q + 1], order.query_rates[q]
    hashes, rates = order.hashes[first:last], order.place_rates[first:last]
    within = max(1.0 / parent, limit)  # beyond it times its rate a place comes neither with the query nor so early
    for r in range(keys.size):
        key, start, end = keys[r], n, np.uint64(n)  # unsigned: an index that cannot count from behind
        for i in range(hashes.size):  # apart from what follows, so that the compiler makes several at once
            numbers[i] = number(key, hashes[i])
        for i in range(rates.size):
            places[end] = i
            end += np.uint64(numbers[i] < within * rates[i])
        n = np.int64(end)
        for k in range(start, n):
            v, rate = numbers[places[k]], rates[places[k]]
            alone = v / rate  # whether it is needed or not: no branch is taken that cannot be foreseen
            levels[k] = entries[r] if v * parent < rate else alone
            places[k] += first
        ends[r] = n


@_jit
def _come_nested(keys, entries, order, q, limit, places, levels, n, ends):
    """Write the prefixes of a query that come below ``limit``; everything else as in `_come_freely`."""
    first, last, rates, hashes = order.offsets[q], order.offsets[q + 1], order.place_rates, order.hashes
    for r in range(keys.size):
        level, parent = entries[r], order.query_rates[q]
        for i in range(first, last):
            rate = rates[i]
            if rate <= 0.0:
                break
            v = number(keys[r], hashes[i])
            if v * parent >= rate:
                if v >= limit * rate:  # whatever stands below comes later still
                    break
                level = v / rate
            places[n], levels[n] = i, level
            n += 1
            parent = rate
        ends[r] = n


@_jit
def come(keys, order, limit, out):
    """Write what comes below a level under each of several keys; return how many rows, or −1 if ``out`` has no room.

    Query by query, within it key by key: what belongs to a query is read from memory once for all keys.

    Parameters
    ----------
    keys : array of uint64
    order : OrderArrays
    limit : float
    out : Come
    """
    longest = 0
    for q in range(order.query_rates.size):
        longest = max(longest, order.offsets[q + 1] - order.offsets[q])
    row_keys, which = np.empty(keys.size, np.uint64), np.empty(keys.size, np.int64)
    entries, ends, numbers = np.empty(keys.size), np.empty(keys.size, np.int64), np.empty(longest)
    n_rows, n_places = 0, np.int64(0)  # for a bare 0 the functions below would be compiled once more
    limit = min(limit, _HIGHEST)
    for q in range(order.query_rates.size):
        rate, n = order.query_rates[q], 0
        if rate <= 0.0:
            continue
        for r in range(keys.size):
            entries[r] = number(keys[r], order.query_hashes[q]) / rate
        for r in range(keys.size):
            which[n], row_keys[n], entries[n] = r, keys[r], entries[r]
            n += entries[r] < limit
        if n_places + n * (order.offsets[q + 1] - order.offsets[q]) > out.places.size or n_rows + n > out.keys.size:
            return -1
        if order.nested:
            _come_nested(row_keys[:n], entries, order, q, limit, out.places, out.levels, n_places, ends)
        else:
            _come_freely(row_keys[:n], entries, order, q, limit, numbers, out.places, out.levels, n_places, ends)
        for r in range(n):
            if ends[r] > n_places:  # a query of which no place comes costs nothing
                out.keys[n_rows], out.queries[n_rows] = which[r], q
                n_places, n_rows = ends[r], n_rows + 1
                out.row_places[n_rows] = n_places
    return n_rows


@_jit
def _binned(come, order, scale, spent, sizes, lowest):
    """Add up what is paid, and count the places, in bins of levels, (n_keys, _BINS); note the lowest of every row."""
    keys, queries, starts, places, levels = come
    costs, overheads = order.costs, order.overheads
    for row in range(keys.size):
        r, least = keys[row], np.inf
        for j in range(starts[row], starts[row + 1]):
            b = np.uint64(levels[j] * scale)
            spent[r, b] += costs[places[j]]
            sizes[r, b] += 1
            least = min(least, levels[j])
        spent[r, np.uint64(least * scale)] += overheads[queries[row]]
        lowest[row] = least


@_jit
def _ending(spent, sizes, budgets, bins, starts):
    """Find the bins in which budgets end, and where the places of each start among those of all such; count these.

    ``spent`` becomes what is spent below each bin.
    """
    n, bins[:], starts[:] = 0, _BINS, -1
    for r in range(spent.shape[0]):
        total, k = 0.0, 0
        for b in range(spent.shape[1]):
            before, total = total, total + spent[r, b]
            spent[r, b] = before
            if k < budgets.size and total > budgets[k]:
                starts[r, b] = n
                n += sizes[r, b]
            while k < budgets.size and total > budgets[k]:
                bins[r, k] = b
                k += 1
    return n


@_jit
def _listed(come, order, scale, lowest, ends, at, prices):
    """List levels and costs of the places of the bins that have an end, which moves on from their start."""
    keys, queries, starts, places, levels = come
    costs, overheads = order.costs, order.overheads
    for row in range(keys.size):
        r, overhead = keys[row], overheads[queries[row]]
        for j in range(starts[row], starts[row + 1]):
            b = np.uint64(levels[j] * scale)
            n = ends[r, b]
            if n >= 0:
                at[n], prices[n] = levels[j], costs[places[j]]
                if levels[j] == lowest[row]:
                    prices[n] += overhead
                    overhead = 0.0
                ends[r, b] += 1


@_jit
def _end(at, prices, spent, budget):
    """Return the level of the first place that a budget does not pay, of places by level: that of its unit."""
    for j in range(at.size):
        spent += prices[j]
        if spent > budget:
            return at[j]
    return at[-1]


@_jit
def settle(come, order, budgets, levels):
    """Fill ``levels`` (n_keys, n_budgets) with T.

    Places are counted out by level into a few bins; only those of a bin in which a budget ends are sorted.

    Parameters
    ----------
    come : Come
        More than every budget pays for, or all there is.
    order : OrderArrays
    budgets : array
        Ascending.
    """
    shape, scale = (levels.shape[0], _BINS), 0.0
    for level in come.levels:
        scale = max(scale, level)
    scale = (_BINS - 1) / scale if scale > 0.0 else 0.0
    spent, sizes, lowest = np.zeros(shape), np.zeros(shape, np.int64), np.empty(come.keys.size)
    _binned(come, order, scale, spent, sizes, lowest)
    bins, ends = np.empty(levels.shape, np.int64), np.empty(shape, np.int64)
    n = _ending(spent, sizes, budgets, bins, ends)
    at, prices = np.empty(n), np.empty(n)
    _listed(come, order, scale, lowest, ends, at, prices)
    for r in range(shape[0]):
        for k in range(budgets.size):
            b = bins[r, k]
            if b == _BINS:
                levels[r, k] = np.inf
                continue
            in_bin = slice(ends[r, b] - sizes[r, b], ends[r, b])
            by_level = np.argsort(at[in_bin])
            levels[r, k] = _end(at[in_bin][by_level], prices[in_bin][by_level], spent[r, b], budgets[k])


@_jit
def take(come, order, thresholds, costs):
    """Return what lies below the threshold of each key, (n_keys,), query by query, within it key by key.

    ``costs`` (n_keys,) takes what it costs, added up in this order: the same whatever other keys there are.
    """
    n_rows, n_places = 0, 0
    owners, queries = np.empty(come.keys.size, np.int64), np.empty(come.keys.size, np.int64)
    counts, places = np.empty(come.keys.size, np.int64), np.empty(come.places.size, np.int64)
    costs[:] = 0.0
    for row in range(come.keys.size):
        r, q, before, price = come.keys[row], come.queries[row], n_places, 0.0
        for j in range(come.row_places[row], come.row_places[row + 1]):
            if come.levels[j] < thresholds[r]:
                places[n_places] = come.places[j]
                price += order.costs[places[n_places]]
                n_places += 1
        if n_places > before:
            owners[n_rows], queries[n_rows], counts[n_rows] = r, q, n_places - before
            costs[r] += price + order.overheads[q]
            n_rows += 1
    levels = thresholds[owners[:n_rows]]
    return owners[:n_rows], SelectedRows(queries[:n_rows], levels, counts[:n_rows], places[:n_places])
