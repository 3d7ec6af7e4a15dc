"""Intervals that need more than a variance: resampled contributions, the capital of a bet, boundaries of several looks.

*Studentised bootstrap.* Draw j adds u_j to the error of R̂ (``contributions``) and keep_j u_j² to V̂. Draws
that come one after the other are resampled n from n; in a settled sample each is there 0, 1, 2 … times on its
own, as in the Poisson bootstrap. Resample b with counts k gives, with u centred where draws follow each other,

    T = Σ (k − 1) sqrt(keep) u / sqrt(Σ k keep u² − [draws] (Σ k u)² / n).

*Betting.* Draw t of a sequential sample brings Z_t = base_t + p (L − m) / q_t, of mean R whatever was seen, and
with value bounds l ≤ L ≤ h of every query it lies between

    A_t = base_t + min over the unseen of p (l − m) / q_t,     B_t = base_t + max over the unseen of p (h − m) / q_t.

Where R = μ, K⁺_t = Π (1 + η_t (Z_t − μ)) is a martingale that starts at 1, and it stays positive while
η_t (μ − A_t) ≤ c < 1; η_t may depend on everything before draw t. By Ville's inequality it ever reaches 2/α
with probability at most α/2; so does K⁻ = Π (1 − η_t (Z_t − μ)) with η_t (B_t − μ) ≤ c. Clipped like that K⁺
falls in μ and K⁻ rises, so that the values that neither bet has ever refuted are an interval, whose ends
bisection finds.

*Several looks.* B(τ) is a Brownian motion over the information fraction τ, Z_k = B(τ_k)/sqrt(τ_k). With f_k the
density of B(τ_k) on the paths that stayed inside, |B(τ_j)| < c_j (Armitage, McPherson and Rowe 1969),

    P(first out at look k) = ∫ f_{k−1}(x) [Φ((−c_k − x)/s) + Φ((x − c_k)/s)] dx,      s² = τ_k − τ_{k−1},
    f_k(y) = ∫ f_{k−1}(x) φ((y − x)/s)/s dx,

by Gauss-Legendre quadrature on [−c_k, c_k]; c_k is found by bisection.

*Bounds of a cascade.* V_i = c_i ℓ_i + (1 − ℓ_i) V_{i+1} rises in V_{i+1} and is linear in ℓ_i: its extremes
are at the extremes of ℓ_i and of V_{i+1}. Two lists that agree on their first k items differ by
S_k (V_{k+1} − V'_{k+1}) with 0 ≤ S_k ≤ 1.
"""

from __future__ import annotations

import math

import numba
import numpy as np

_jit = numba.njit(cache=True, error_model="numpy", nogil=True)

_LARGEST_BET = 0.5
_HALVINGS = 60
_LARGEST_BOUNDARY = 8.0
_ROOT2 = math.sqrt(2.0)


@_jit
def _count(u):
    """Return the Poisson number of mean 1 whose probabilities cumulated exceed ``u``."""
    k = 0
    prob = math.exp(-1.0)
    total = prob
    while u >= total and k < 20:
        k += 1
        prob /= k
        total += prob
    return k


@_jit
def bootstrap_statistics(contributions, keep, settled, rng, out):
    """Fill ``out`` (resamples,) with T, infinite where a resample shows no spread; ``rng`` is a numpy Generator."""
    n = contributions.size
    counts = np.empty(n, np.int64)
    for b in range(out.size):
        counts[:] = 0
        for j in range(n):
            if settled:
                counts[j] = _count(rng.random())
            else:
                counts[min(int(rng.random() * n), n - 1)] += 1
        error, total, spread = 0.0, 0.0, 0.0
        for j in range(n):
            u = contributions[j]
            error += (counts[j] - 1) * math.sqrt(keep[j]) * u
            total += counts[j] * u
            spread += counts[j] * keep[j] * u * u
        if not settled:
            spread = (spread - total * total / n) * n / (n - 1.0)
        if spread > 0.0:
            out[b] = error / math.sqrt(spread)
        else:
            out[b] = 0.0 if error == 0.0 else math.copysign(np.inf, error)


@_jit
def bet_terms(
    queries, rates, gaps, query_probs, probs, lowest, highest, orders, prior, planned, bet, z, low, high, sizes
):
    """Fill Z_t, A_t, B_t and the size of each bet, shape (n,) each, with what is known before draw t.

    Parameters
    ----------
    queries, rates, gaps : arrays, shape (n,)
        Query, q_t and L − m of each draw.
    query_probs, probs : arrays, shape (n_queries,)
        p, and q of the first draw, in proportion to which the unseen share.
    lowest, highest : arrays, shape (n_queries,)
        p (l − m) / q and p (h − m) / q.
    orders : array of int64, shape (2, n_queries)
        The queries by ascending ``lowest``, and by descending ``highest``.
    prior, planned, bet : float
        A variance of Z that counts as one draw, the planned number of draws, log(2/α).
    z, low, high, sizes : arrays, shape (n,)
        Out. Z_t, A_t and B_t are less M. η_t = sqrt(2 log(2/α) / (σ̂² n*)), σ̂² the mean of ``prior`` and the
        squared deviations of the draws so far.
    """
    is_seen = np.zeros(query_probs.size, np.bool_)
    by_lowest, by_highest = orders
    first_low, first_high = 0, 0
    base, mean, squares = 0.0, 0.0, prior
    for t in range(queries.size):
        query = queries[t]
        while is_seen[by_lowest[first_low]]:
            first_low += 1
        while is_seen[by_highest[first_high]]:
            first_high += 1
        left = probs[query] / rates[t]
        low[t] = base + lowest[by_lowest[first_low]] * left
        high[t] = base + highest[by_highest[first_high]] * left
        variance = squares / (t + 1.0)
        sizes[t] = math.sqrt(2.0 * bet / (variance * planned)) if variance > 0.0 else np.inf
        gap = query_probs[query] * gaps[t]
        z[t] = base + gap / rates[t]
        base += gap
        is_seen[query] = True
        before = mean
        mean += (z[t] - mean) / (t + 1.0)
        squares += (z[t] - before) * (z[t] - mean)


@_jit
def log_capital(mu, sign, z, low, high, sizes):
    """Return the logarithm of the most that a bet on Z > μ (sign 1) or Z < μ (sign −1) has ever been worth."""
    now, most = 0.0, 0.0
    for t in range(z.size):
        room = mu - low[t] if sign > 0.0 else high[t] - mu
        if room < 0.0:
            return np.inf
        size = sizes[t]
        if room > 0.0 and size * room > _LARGEST_BET:
            size = _LARGEST_BET / room
        win = sign * (z[t] - mu)
        now += math.log1p(size * win) if win != 0.0 else 0.0
        most = max(most, now)
    return most


@_jit
def bet_end(least, most, sign, bet, z, low, high, sizes):
    """Return the end of the interval of μ on the side of ``sign``, between ``least`` and ``most``.

    The lowest μ that the bet on Z > μ has not refuted (sign 1), or the highest that the bet on Z < μ has not.
    """
    refuted, standing = (least, most) if sign > 0.0 else (most, least)
    if log_capital(refuted, sign, z, low, high, sizes) < bet:
        return refuted
    for _ in range(_HALVINGS):
        middle = 0.5 * (refuted + standing)
        if log_capital(middle, sign, z, low, high, sizes) < bet:
            standing = middle
        else:
            refuted = middle
    return refuted


@_jit
def _first_out(points, masses, step, c):
    """Return the probability that paths at ``points`` are beyond ±c after a further ``step``."""
    total = 0.0
    for i in range(points.size):
        outside = math.erfc((c + points[i]) / (step * _ROOT2)) + math.erfc((c - points[i]) / (step * _ROOT2))
        total += 0.5 * masses[i] * outside
    return total


@_jit
def _move_on(points, masses, step, nodes):
    """Return the density at ``nodes`` of paths at ``points`` after a further ``step``."""
    density = np.zeros(nodes.size)
    for j in range(nodes.size):
        for i in range(points.size):
            distance = (nodes[j] - points[i]) / step
            density[j] += masses[i] * math.exp(-0.5 * distance * distance)
        density[j] /= step * math.sqrt(2.0 * math.pi)
    return density


@_jit
def boundaries(fractions, spent, nodes, weights, given, probs):
    """Fill the boundaries of |Z| at each look, and the probabilities to be first out there.

    Parameters
    ----------
    fractions : array, shape (n_looks,)
        τ_k, ascending to 1.
    spent : array, shape (n_looks,)
        The probability that may have been spent by each look; where it is negative, ``given`` holds.
    nodes, weights : arrays, shape (n,)
        A quadrature rule on [−1, 1].
    given, probs : arrays, shape (n_looks,)
        Out.
    """
    points, masses = np.zeros(1), np.ones(1)
    before, total = 0.0, 0.0
    for k in range(fractions.size):
        step, root = math.sqrt(fractions[k] - before), math.sqrt(fractions[k])
        if spent[k] >= 0.0:
            low, given[k] = 0.0, _LARGEST_BOUNDARY
            for _ in range(_HALVINGS):
                middle = 0.5 * (low + given[k])
                if total + _first_out(points, masses, step, middle * root) > spent[k]:
                    low = middle
                else:
                    given[k] = middle
        c = given[k] * root
        probs[k] = _first_out(points, masses, step, c)
        total += probs[k]
        density = _move_on(points, masses, step, c * nodes)
        points, masses, before = c * nodes, c * weights * density, fractions[k]


@_jit
def cascade_bounds(offsets, items, other_offsets, other_items, discounts, least, most, low, high):
    """Fill bounds of a cascade, or of its difference from another list, shape (n_queries,).

    ``least`` and ``most`` are the extremes of the stop probability.
    """
    for query in range(low.size):
        first, other = offsets[query], other_offsets[query]
        n = min(offsets[query + 1] - first, discounts.size)
        n_other = min(other_offsets[query + 1] - other, discounts.size)
        same = 0
        while same < min(n, n_other) and items[first + same] == other_items[other + same]:
            same += 1
        own_low, own_high = _tail_bounds(same, n, discounts, least, most)
        other_low, other_high = _tail_bounds(same, n_other, discounts, least, most)
        low[query], high[query] = own_low - other_high, own_high - other_low
        if same > 0:
            low[query], high[query] = min(low[query], 0.0), max(high[query], 0.0)
        if same == n and same == n_other:
            low[query], high[query] = 0.0, 0.0


@_jit
def _tail_bounds(first, last, discounts, least, most):
    """Return the extremes of V from rank ``first`` (counted from 0) to ``last``."""
    low, high = 0.0, 0.0
    for i in range(last - 1, first - 1, -1):
        c = discounts[i]
        low = min(c * least + (1.0 - least) * low, c * most + (1.0 - most) * low)
        high = max(c * least + (1.0 - least) * high, c * most + (1.0 - most) * high)
    return low, high
