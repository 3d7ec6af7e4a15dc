"""Balanced sampling by the cube method: a random set whose estimated totals are the true ones.

A sample is a corner of the cube [0, 1]ⁿ, the inclusion probabilities π are a point inside. With
a_i = x_i / π_i the Horvitz-Thompson total Σ_S a_i is the true one, Σ x_i, where the walk from π to
a corner stays in {p : Σ a_i p_i = Σ x_i} (Deville and Tillé 2004, Biometrika 91).

A step takes a vector v with Σ a_i v_i = 0. Let α and β be the largest lengths with p + α v and
p − β v in the cube. The walk goes to the former with probability β/(α + β), else to the latter:
the mean of the move is αβ/(α + β) v − βα/(α + β) v = 0, so E[chosen_i] = π_i whatever v is, and at
least one coordinate is 0 or 1 from then on. Hence n uniforms suffice.

Fast flight (Chauvet and Tillé 2006, Comput. Stat. 21): k conditions on k + 1 coordinates leave a v,
so each step looks only at the first k + 1 undecided units, O(n k³) for the whole walk. Landing: m ≤ k
units that are left keep the first conditions of rank m − 1 and lose the later ones; the last unit
is a Bernoulli draw. So condition c (from 0) is kept until at most c + 1 units are undecided:
|Σ_S a_ic − Σ x_ic| is at most the sum of the c + 1 largest |a_ic|. With x_i0 = π_i the sample size is
Σ π, rounded up or down.

v comes from Gauss-Jordan elimination, conditions in their order, the largest entry of each as its
pivot. What is left of a condition is held against what it was in the same window, so the columns
may have any scales, and a zero column or a repeated one is no condition.
"""

from __future__ import annotations

import numba
import numpy as np

_jit = numba.njit(cache=True, error_model="numpy", nogil=True)

_SETTLED = 1e-12
_DEPENDENT = 1e-10
_STILL = 1e-100


@_jit
def _settle(p):
    """Return a probability, exactly 0 or 1 where it is so but for rounding."""
    if p < _SETTLED:
        return 0.0
    if p > 1.0 - _SETTLED:
        return 1.0
    return p


@_jit
def _refill(p, window, m, following):
    """Drop decided units from the window, take in the next undecided ones; return its size and what follows."""
    kept = 0
    for s in range(m):
        if 0.0 < p[window[s]] < 1.0:
            window[kept] = window[s]
            kept += 1
    while kept < window.size and following < p.size:
        if 0.0 < p[following] < 1.0:
            window[kept] = following
            kept += 1
        following += 1
    return kept, following


@_jit
def _reduce(a, window, m, rows, pivots, is_pivot):
    """Bring the first independent conditions on ``m`` units to reduced form; return their number, below ``m``."""
    is_pivot[:m] = False
    rank = 0
    for c in range(a.shape[1]):
        if rank == m - 1:
            break
        row = rows[rank]
        before = 0.0
        for s in range(m):
            row[s] = a[window[s], c]
            before = max(before, abs(row[s]))
        for r in range(rank):
            factor = row[pivots[r]]
            for s in range(m):
                row[s] -= factor * rows[r, s]
        pivot = -1
        largest = _DEPENDENT * before
        for s in range(m):
            if not is_pivot[s] and abs(row[s]) > largest:
                pivot, largest = s, abs(row[s])
        if pivot < 0:
            continue
        divisor = row[pivot]
        for s in range(m):
            row[s] = 0.0 if is_pivot[s] else row[s] / divisor
        for r in range(rank):
            factor = rows[r, pivot]
            for s in range(m):
                rows[r, s] -= factor * row[s]
        pivots[rank], is_pivot[pivot] = pivot, True
        rank += 1
    return rank


@_jit
def _direct(m, rank, rows, pivots, is_pivot, v):
    """Fill ``v`` with a solution of the reduced conditions whose first entry that is not 0 is positive."""
    free = 0
    while is_pivot[free]:
        free += 1
    v[:m] = 0.0
    v[free] = 1.0
    for r in range(rank):
        if abs(rows[r, free]) > _STILL:
            v[pivots[r]] = -rows[r, free]
    first = 0
    while v[first] == 0.0:
        first += 1
    if v[first] < 0.0:
        for s in range(m):
            v[s] = -v[s]


@_jit
def _move(u, p, window, m, v):
    """Go along ``v`` or against it to the face of the cube: along where ``u`` is below β/(α + β)."""
    up, down = np.inf, np.inf
    first_up, first_down = 0, 0
    for s in range(m):
        if v[s] != 0.0:
            here = p[window[s]]
            ahead, behind = (1.0 - here, here) if v[s] > 0.0 else (here, 1.0 - here)
            if ahead / abs(v[s]) < up:
                up, first_up = ahead / abs(v[s]), s
            if behind / abs(v[s]) < down:
                down, first_down = behind / abs(v[s]), s
    goes_up = u * (up + down) < down
    length = up if goes_up else -down
    fixed = first_up if goes_up else first_down
    for s in range(m):
        p[window[s]] = _settle(p[window[s]] + length * v[s])
    # the unit that ends the step is decided even where its own rounding would say otherwise
    p[window[fixed]] = 1.0 if goes_up == (v[fixed] > 0.0) else 0.0


@_jit
def cube(uniforms, probs, balancing, chosen):
    """Fill ``chosen`` (n,) with a balanced sample; return how many of the ``uniforms`` (n,) it took.

    ``probs`` (n,) are the inclusion probabilities, ``balancing`` (n, k) the values x whose totals
    the sample is to estimate without error, the most important column first; k = 0 is Poisson
    sampling. Units are decided about in the order given: permute them to have a random one.
    Probabilities within 1e-12 of 0 and 1 are 0 and 1. All arrays are C-contiguous.
    """
    n, k = balancing.shape
    p = np.empty(n)
    a = np.zeros((n, k))
    for i in range(n):
        p[i] = _settle(probs[i])
        if p[i] > 0.0:
            for c in range(k):
                a[i, c] = balancing[i, c] / p[i]
    window = np.empty(k + 1, np.int64)
    rows = np.empty((k, k + 1))
    pivots = np.empty(k, np.int64)
    is_pivot = np.empty(k + 1, np.bool_)
    v = np.empty(k + 1)
    n_steps = 0
    m, following = _refill(p, window, 0, 0)
    while m > 0:
        rank = _reduce(a, window, m, rows, pivots, is_pivot)
        _direct(m, rank, rows, pivots, is_pivot, v)
        _move(uniforms[n_steps], p, window, m, v)
        n_steps += 1
        m, following = _refill(p, window, m, following)
    for i in range(n):
        chosen[i] = p[i] == 1.0
    return n_steps
