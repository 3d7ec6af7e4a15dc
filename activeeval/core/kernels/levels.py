"""Levels: a Poisson design as a queue that is judged upward until a budget is spent.

A query has a rate r and the uniform number u of its id; every place of its items has a rate r_i ≤ r and a
number v_i. The level of the query is t = u / r, so that it is below κ with
probability min(1, κ r). The level of a place is that of its parent or larger,

    s_i = s_parent   if v_i < r_i / r_parent,      else v_i / r_i;

the parent is the query, or in a nested order the place before. By induction P(s_i < κ) = min(1, κ r_i): up to
κ = 1/r_parent the place is below κ if its parent is and v_i < r_i / r_parent, which has probability κ r_parent · r_i /
r_parent; beyond, the parent is below κ and v_i < κ r_i decides. If the overhead of a query is 0, its level is t = 0 and
its items are sampled individually.

Places of one query with the same level are a *unit*, judged together; the query's overhead is paid with its first unit.
*Threshold rule*: the first unit, by level, that the budget cannot pay ends the sample, and its level is T. T does not
change if the level of a sampled unit is lowered. Therefore the probabilities of the Poisson sample at the fixed
level T, π = min(1, T r) and a_i = min(1, T r_i), are valid as if T had been chosen beforehand (Duffield, Lund and
Thorup, JACM 2007; Ohlsson 1998; Ting, KDD 2017).
"""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.bundles import SelectedRows
from activeeval.core.kernels.compiling import jit as _jit
from activeeval.core.kernels.numbers import number

_BINS = 64  # 16 take a third longer, 256 as long: 1,000 replications of 15 to 120 queries of 120 items
_HIGHEST = 1e300  # an infinite limit times a rate of 0 would be NaN


@_jit
def _freely_below(keys, entries, order, q, limit, numbers, places, levels, n, ends):
    """Find the places of query ``q`` with levels below ``limit`` under several keys, for independently sampled items.

    A place is an item in its query's judging order. A key determines one random sample; a place's level is the
    threshold above which that sample contains it. With the place's uniform number v, its rate r_i and the query's rate
    r it is the query's level if v < r_i / r, else v / r_i. Places and levels are written key by key from position ``n``
    on, and ``ends[r]`` is where those of key r end.

    Parameters
    ----------
    keys, entries : arrays
        The keys under which the query's level is below the limit, and the query's level under each.
    order : OrderArrays
    numbers : array
        Workspace of at least the query's number of places.
    places, levels : arrays
        Out.
    """
    first, last, parent = order.offsets[q], order.offsets[q + 1], order.query_rates[q]
    hashes, rates = order.hashes[first:last], order.place_rates[first:last]
    within = max(1.0 / parent, limit)  # larger numbers per rate give no level below the limit
    for r in range(keys.size):
        key, start, end = keys[r], n, np.uint64(n)  # unsigned: an index without wraparound for negative values
        for i in range(hashes.size):  # a separate loop, so that the compiler can vectorize it
            numbers[i] = number(key, hashes[i])
        for i in range(rates.size):
            places[end] = i
            end += np.uint64(numbers[i] < within * rates[i])
        n = np.int64(end)
        for k in range(start, n):
            v, rate = numbers[places[k]], rates[places[k]]
            alone = v / rate  # computed in any case, to avoid an unpredictable branch
            levels[k] = entries[r] if v * parent < rate else alone
            places[k] += first
        ends[r] = n


@_jit
def _nested_below(keys, entries, order, q, limit, places, levels, n, ends):
    """Find the prefixes of query ``q`` with levels below ``limit``, if a place is judged only with all before it.

    A place is an item in its query's judging order; its level is the threshold above which the sample contains it. With
    the place's uniform number v, its rate r_i and the rate r of the place before it (of the query for the first place),
    it is that place's level if v < r_i / r, else v / r_i. ``keys`` are the keys (seeds) under which the query's level
    is below the limit, ``entries`` that level under each. ``places`` and ``levels`` are written key by key from
    position ``n`` on, and ``ends[r]`` is where those of key r end.
    """
    first, last, rates, hashes = order.offsets[q], order.offsets[q + 1], order.place_rates, order.hashes
    for r in range(keys.size):
        level, parent = entries[r], order.query_rates[q]
        for i in range(first, last):
            rate = rates[i]
            if rate <= 0.0:
                break
            v = number(keys[r], hashes[i])
            if v * parent >= rate:
                if v >= limit * rate:  # all later places have larger levels
                    break
                level = v / rate
            places[n], levels[n] = i, level
            n += 1
            parent = rate
        ends[r] = n


@_jit
def come(keys, order, limit, out):
    """Find the places with levels below a limit under each of several keys; return the number of rows written.

    A place is an item in its query's judging order. A key determines one random sample; the level of a place is the
    threshold above which the sample contains it. The result is −1 if ``out`` is too small. Rows are sorted by query,
    then key, so that the data of a query are read from memory once for all keys.

    Parameters
    ----------
    keys : array of uint64
        Seeds of the samples.
    order : OrderArrays
        Sampling rates and hashes of queries and places.
    limit : float
    out : BundlesBelow
        Out: a row for each query and key with places below the limit, and these places with their levels.
    """
    longest = 0
    for q in range(order.query_rates.size):
        longest = max(longest, order.offsets[q + 1] - order.offsets[q])
    row_keys, which = np.empty(keys.size, np.uint64), np.empty(keys.size, np.int64)
    entries, ends, numbers = np.empty(keys.size), np.empty(keys.size, np.int64), np.empty(longest)
    n_rows, n_places = 0, np.int64(0)  # typed, else the functions below would be compiled a second time
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
            _nested_below(row_keys[:n], entries, order, q, limit, out.places, out.levels, n_places, ends)
        else:
            _freely_below(row_keys[:n], entries, order, q, limit, numbers, out.places, out.levels, n_places, ends)
        for r in range(n):
            if ends[r] > n_places:  # a query without any place below the limit costs nothing
                out.keys[n_rows], out.queries[n_rows] = which[r], q
                n_places, n_rows = ends[r], n_rows + 1
                out.row_places[n_rows] = n_places
    return n_rows


@_jit
def _binned(below, order, scale, spent, sizes, lowest):
    """Sum the costs and count the places (items) of each key (sample) in ``_BINS`` equal bins of their levels.

    A level is the threshold above which a key's sample contains the place. ``spent`` and ``sizes`` (n_keys, _BINS)
    receive costs and counts, ``lowest`` (rows,) the lowest level of each row of ``below`` (a query under a key), at
    which the query's overhead (in ``order``, as the costs) is paid. ``scale`` is bins per unit of level.
    """
    keys, queries, starts, places, levels = below
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
    """Find the bin of levels in which each budget ends, and lay out a list of the places (items) in such bins.

    Return the list's length. ``bins`` (n_keys, n_budgets) receives the bin by key (sample), or ``_BINS`` if everything
    can be paid; ``starts`` (n_keys, _BINS) the start of a bin's places in the list, −1 if not needed. ``spent`` is
    changed from the cost in each bin to that below it; ``sizes``, of the same shape, are numbers of places.
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
def _listed(below, order, scale, lowest, ends, at, prices):
    """List levels (``at``) and costs (``prices``) of the places in those bins of levels in which a budget ends.

    The level of a place is the threshold above which a key's sample contains it; both arrays are filled.

    ``below`` has the places (items) of each query and key (sample), ``lowest`` (rows,) the lowest level of each such
    row, to whose place the query's overhead is added. A bin's list starts at its entry of ``ends`` (n_keys, _BINS), −1
    for other bins; the entry is moved on to the end. ``scale`` is bins per unit of level.
    """
    keys, queries, starts, places, levels = below
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
    """Find the level of the first place (item) that a budget cannot pay, after the cost ``spent`` of all lower levels.

    ``at`` and ``prices`` (n,) are levels and costs of places in ascending order of level, the order of judging. If
    rounding lets the budget pay all, the last level is used.
    """
    for j in range(at.size):
        spent += prices[j]
        if spent > budget:
            return at[j]
    return at[-1]


@_jit
def settle(below, order, budgets, levels):
    """Fill ``levels`` (n_keys, n_budgets) with the threshold T of each budget: the lowest level that it cannot pay.

    A key determines one random sample. Its places (items of queries) are judged in the order of their levels; T is
    infinite if all can be paid. They are counted by level into a few bins; only bins in which a budget ends are sorted.

    Parameters
    ----------
    below : BundlesBelow
        Places that cost more than every budget, or all places.
    order : OrderArrays
        Costs of places and overheads of queries.
    budgets : array, shape (n_budgets,)
        Ascending.
    """
    shape, scale = (levels.shape[0], _BINS), 0.0
    for level in below.levels:
        scale = max(scale, level)
    scale = (_BINS - 1) / scale if scale > 0.0 else 0.0
    spent, sizes, lowest = np.zeros(shape), np.zeros(shape, np.int64), np.empty(below.keys.size)
    _binned(below, order, scale, spent, sizes, lowest)
    bins, ends = np.empty(levels.shape, np.int64), np.empty(shape, np.int64)
    n = _ending(spent, sizes, budgets, bins, ends)
    at, prices = np.empty(n), np.empty(n)
    _listed(below, order, scale, lowest, ends, at, prices)
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
def take(below, order, thresholds, costs):
    """Select the places with levels below the threshold of each key; return ``(key index of each row, SelectedRows)``.

    A place is an item in its query's judging order, a key determines one random sample. A row is one query under one
    key, and rows are sorted by query, then key. ``thresholds`` has shape (n_keys,). ``costs`` (n_keys,) receives the
    cost of each selection, summed in the order of rows, so that it does not depend on other keys.
    """
    n_rows, n_places = 0, 0
    owners, queries = np.empty(below.keys.size, np.int64), np.empty(below.keys.size, np.int64)
    counts, places = np.empty(below.keys.size, np.int64), np.empty(below.places.size, np.int64)
    costs[:] = 0.0
    for row in range(below.keys.size):
        r, q, before, price = below.keys[row], below.queries[row], n_places, 0.0
        for j in range(below.row_places[row], below.row_places[row + 1]):
            if below.levels[j] < thresholds[r]:
                places[n_places] = below.places[j]
                price += order.costs[places[n_places]]
                n_places += 1
        if n_places > before:
            owners[n_rows], queries[n_rows], counts[n_rows] = r, q, n_places - before
            costs[r] += price + order.overheads[q]
            n_rows += 1
    levels = thresholds[owners[:n_rows]]
    return owners[:n_rows], SelectedRows(queries[:n_rows], levels, counts[:n_rows], places[:n_places])
