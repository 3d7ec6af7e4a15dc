"""Levels: a Poisson design as a queue, judged upward until a budget is spent.

A query has a root r and the uniform number u of its id, every place of its items a root r_i ≤ r and a
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

import numba
import numpy as np

from activeeval.kernels.bundles import Taken
from activeeval.kernels.numbers import number

_jit = numba.njit(cache=True, error_model="numpy", nogil=True)

_HIGHEST = 1e300  # an infinite limit times a root of 0 would not be a number


@_jit
def _come_freely(key, hashes, roots, first, last, entry, parent, limit, numbers, slots, levels, n):
    """Write the places of a query that come below ``limit`` from position ``n`` on; return where they end.

    ``numbers`` is room for those of one query.
    """
    for i in range(last - first):  # apart from what follows, so that the compiler makes several at once
        numbers[i] = number(key, hashes[first + i])
    within = max(1.0 / parent, limit)  # beyond it times its root a place comes neither with the query nor so early
    start = n
    for i in range(last - first):
        slots[n] = first + i
        n += numbers[i] < within * roots[first + i]
    for k in range(start, n):
        v, root = numbers[slots[k] - first], roots[slots[k]]
        levels[k] = entry if v * parent < root else v / root
    return n


@_jit
def _come_nested(key, hashes, roots, first, last, entry, parent, limit, slots, levels, n):
    """Write the prefix of a query that comes below ``limit``; everything else as in `_come_freely`."""
    level = entry
    for i in range(first, last):
        root = roots[i]
        if root <= 0.0:
            break
        v = number(key, hashes[i])
        if v * parent >= root:
            if v >= limit * root:  # whatever stands below comes later still
                break
            level = v / root
        slots[n], levels[n] = i, level
        n += 1
        parent = root
    return n


@_jit
def _group(slots, levels, first, last, costs, overhead, nested, at, prices, owners, n):
    """Write the units of a query's places ``first … last − 1`` from unit ``n`` on; return where they end.

    The unit that comes first bears the overhead. In a nested order levels never fall; else only the unit that comes
    with the query, which is the lowest, can hold more than one place.
    """
    lowest = n
    owners[first], at[n], prices[n] = n, levels[first], costs[slots[first]]
    for k in range(first + 1, last):
        shared = n if nested else lowest
        if at[shared] == levels[k]:
            prices[shared] += costs[slots[k]]
            owners[k] = shared
            continue
        n += 1
        at[n], prices[n], owners[k] = levels[k], costs[slots[k]], n
        if levels[k] < at[lowest]:
            lowest = n
    prices[lowest] += overhead
    return n + 1


@_jit
def come(keys, order, limit, found, numbers):
    """Write what comes below a level under each of several keys; return how many rows, or −1 if ``found`` has no room.

    Query by query, within it key by key: what belongs to a query is read from memory once for all keys.

    Parameters
    ----------
    keys : array of uint64
    order : Path
    limit : float
    found : Come
        Out; its places and levels with room for the longest query beyond what fits its units.
    numbers : array
        Room for those of the longest query.
    """
    offsets, query_roots, roots, query_hashes, hashes, overheads, costs, nested = order
    row_keys, row_queries, row_slots, row_units, slots, levels, owners, at, prices = found
    n_rows, n_slots, n_units = 0, 0, 0
    limit = min(limit, _HIGHEST)
    for q in range(query_roots.size):
        root, first, last = query_roots[q], offsets[q], offsets[q + 1]
        if root <= 0.0:
            continue
        for r in range(keys.size):
            entry = number(keys[r], query_hashes[q]) / root
            if entry >= limit:
                continue
            place = (first, last, entry, root, limit)
            if nested:
                end = _come_nested(keys[r], hashes, roots, *place, slots, levels, n_slots)
            else:
                end = _come_freely(keys[r], hashes, roots, *place, numbers, slots, levels, n_slots)
            if end == n_slots:  # a query of which no place comes costs nothing
                continue
            if n_rows == row_keys.size or end > owners.size:
                return -1
            n_units = _group(slots, levels, n_slots, end, costs, overheads[q], nested, at, prices, owners, n_units)
            row_keys[n_rows], row_queries[n_rows] = r, q
            n_slots, n_rows = end, n_rows + 1
            row_slots[n_rows], row_units[n_rows] = n_slots, n_units
    return n_rows


@_jit
def settle(come, budgets, levels, costs):
    """Fill ``levels`` and ``costs`` (n_keys, n_budgets) with T and with what is spent below it.

    Parameters
    ----------
    come : Come
        More than every budget pays for, or all there is.
    budgets : array
        Ascending.
    """
    n_keys = levels.shape[0]
    ends = np.zeros(n_keys + 1, np.int64)
    for row in range(come.keys.size):
        ends[come.keys[row] + 1] += come.row_units[row + 1] - come.row_units[row]
    ends = np.cumsum(ends)
    at, prices, filled = np.empty(come.at.size), np.empty(come.at.size), ends[:-1].copy()
    for row in range(come.keys.size):
        r = come.keys[row]
        for j in range(come.row_units[row], come.row_units[row + 1]):
            at[filled[r]], prices[filled[r]] = come.at[j], come.prices[j]
            filled[r] += 1
    for r in range(n_keys):
        own, paid = at[ends[r] : ends[r + 1]], prices[ends[r] : ends[r + 1]]
        by_level = np.argsort(own)
        spent, k = 0.0, 0
        for j in by_level:
            while k < budgets.size and spent + paid[j] > budgets[k]:
                levels[r, k], costs[r, k] = own[j], spent
                k += 1
            spent += paid[j]
        levels[r, k:], costs[r, k:] = np.inf, spent


@_jit
def take(come, thresholds):
    """Return what lies below the threshold of each key, (n_keys,), query by query, within it key by key."""
    n_rows, n_slots = 0, 0
    owners, queries = np.empty(come.keys.size, np.int64), np.empty(come.keys.size, np.int64)
    counts, slots = np.empty(come.keys.size, np.int64), np.empty(come.slots.size, np.int64)
    for row in range(come.keys.size):
        level, before = thresholds[come.keys[row]], n_slots
        for j in range(come.row_slots[row], come.row_slots[row + 1]):
            if come.levels[j] < level:
                slots[n_slots] = come.slots[j]
                n_slots += 1
        if n_slots > before:
            owners[n_rows], queries[n_rows], counts[n_rows] = come.keys[row], come.queries[row], n_slots - before
            n_rows += 1
    levels = thresholds[owners[:n_rows]]
    return owners[:n_rows], Taken(queries[:n_rows], levels, counts[:n_rows], slots[:n_slots])
