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

from activeeval.kernels.numbers import number

_jit = numba.njit(cache=True, error_model="numpy", nogil=True)


@_jit
def enter(key, hashes, roots, first, last, limit, queries, levels):
    """Fill ``queries`` and ``levels`` with those of ``first … last − 1`` that enter below ``limit``; return how many.

    Parameters
    ----------
    key : uint64
    hashes, roots : arrays, shape (n_queries,)
        Hash of the id, and r; 0 for a query that is never judged, infinite where turning to it is free.
    """
    n = 0
    for q in range(first, last):
        if roots[q] <= 0.0:
            continue
        t = number(key, hashes[q]) / roots[q]
        if t < limit:
            queries[n] = q
            levels[n] = t
            n += 1
    return n


@_jit
def count_places(offsets, queries):
    """Return how many places the queries have together."""
    n = 0
    for j in range(queries.size):
        n += offsets[queries[j] + 1] - offsets[queries[j]]
    return n


@_jit
def place_levels(key, hashes, offsets, query_roots, roots, nested, queries, query_levels, limit, slots, levels):
    """Fill ``slots`` and ``levels`` with the places of queries that come below ``limit``; return how many.

    Places ascend within their query, queries stand as in ``queries``. ``hashes`` and ``roots`` are those of places; a
    place with root 0 never comes.
    """
    n = 0
    for j in range(queries.size):
        q = queries[j]
        level, parent = query_levels[j], query_roots[q]
        for i in range(offsets[q], offsets[q + 1]):
            root = roots[i]
            if root <= 0.0:
                if nested:
                    break
                continue
            v = number(key, hashes[i])
            if v * parent < root:
                own = level
            elif v < limit * root:  # what comes later needs no division
                own = v / root
            elif nested:  # whatever stands below comes later still
                break
            else:
                continue
            slots[n] = i
            levels[n] = own
            n += 1
            if nested:
                level, parent = own, root
    return n


@_jit
def units_of(offsets, slot_costs, overheads, hashes, nested, entered, slots, levels, owners, queries, costs, at, ties):
    """Group places into units; return how many.

    Parameters
    ----------
    slot_costs, hashes : arrays by place
        Cost and hash of every place of the order.
    overheads : array, shape (n_queries,)
    entered : array of int64
        Queries that the places belong to, ascending; some may have none.
    slots, levels : arrays, shape (n,)
        Places below a limit and their levels, as `place_levels` gives them.
    owners : array of int64, shape (n,)
        Out: the unit of each place.
    queries, costs, at, ties : arrays, shape (n,)
        Out: query of each unit, its cost, its level, the hash of its first place. The unit that comes
        first of a query bears the overhead.
    """
    n_units = 0
    lowest = 0  # the unit with the least level: where any place has come with its query, that one
    q, j = -1, 0
    for k in range(slots.size):
        is_first = q < 0 or slots[k] >= offsets[q + 1]
        if is_first and k > 0:
            costs[lowest] += overheads[q]
        while is_first and slots[k] >= offsets[entered[j] + 1]:
            j += 1
        q = entered[j]
        shared = n_units - 1 if nested else lowest
        if not is_first and at[shared] == levels[k]:
            owners[k] = shared
            costs[shared] += slot_costs[slots[k]]
            continue
        if is_first or levels[k] < at[lowest]:
            lowest = n_units
        queries[n_units], costs[n_units], at[n_units] = q, slot_costs[slots[k]], levels[k]
        ties[n_units] = hashes[slots[k]]
        owners[k] = n_units
        n_units += 1
    if n_units:
        costs[lowest] += overheads[q]
    return n_units
