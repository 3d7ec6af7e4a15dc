"""Estimators: one value and its variance from the totals of the judged queries.

A judged query brings y, unbiased for its value L, and regressors z, unbiased for what is known
of them over the pool: (1, m), or (Σ c_i, Σ c_i μ_i) where items were drawn, and where a prefix was judged a third one
that is 0 in the mean (`kernels.reveal`). With
ω = p/(n q) for n draws with replacement, ω = p/π for Poisson sampling, and population Z̄ = Σ p z,

    R̂ = Z̄'B + Σ ω e,      e = y − z'B.

B = (0, 1, 0) is the *difference* estimator; fitted it is the *regression* estimator (GREG), which no
model can spoil much. What is seen within a query has an unbiased variance s(B), the quadratic form of
(y, z) in ``within``, so that e² − s is unbiased for the squared residual of the query and

    V̂ = Σ ω² (keep e² + (1 − keep) s),      keep = 1 − π, or 1 for draws with replacement,

unbiased for Poisson sampling; a balanced (cube) sample leaves of ω e only what the balancing variables do
not explain (Deville and Tillé 2005). Draws with replacement take the sample variance of n ω e instead. B minimises V̂:
least squares with weights ω² keep for whole queries. Fitted residuals are multiplied by the g-weights
g = 1 + (Z̄ − Σ ω z)' H⁻¹ ω keep z (where one exceeds 5 the fit reaches far beyond the sample, and the first regressor
stands alone), with which R̂ = Σ ω g y, and V̂ by n / (n − 2).

*Ratio* (Sawade et al., eq. (6)): Σ w L / Σ w with w = p/q.

*Sequential without replacement*, draw t of n with q_t over the N − t + 1 unseen queries:
Z_t = M + Σ_seen p (L − m) + p (L_t − m_t) / q_t is unbiased for R whatever was seen;
R̂ = (1/n) Σ c_t Z_t, V̂ = Σ c_t² (Z_t − R̂)² / (n (n − 1)), with c_t = 1, or levelled (LURE)
c_t = N(N − n) / ((N − t)(N − t + 1)).
"""

from __future__ import annotations

import numba
import numpy as np

_jit = numba.njit(cache=True, error_model="numpy", nogil=True)

_NO_SPREAD = 1e-12
_NO_RESIDUAL = 1e-14
_MANY = 12
_COLLINEAR = 1e-8
_ROUNDING = 1e-16
_FARTHEST = 4.0


@_jit
def degrees(shares, n_fitted):
    """Return the degrees of freedom of a variance Σ v, fewer where a few ``shares`` v ≥ 0 dwarf the others.

    1/df = 1/(n − k) + (Σ v² / (Σ v)² − 1/n) / 2: the second term is what the kurtosis of the
    contributions says of the variance's own uncertainty. Alone it would be Satterthwaite's, but from a
    sample without the rare large share it is too small; with both terms measured coverage is right.
    """
    n = shares.size
    if n <= n_fitted:
        return n - n_fitted
    total = 0.0
    squares = 0.0
    for j in range(n):
        v = max(shares[j], 0.0)
        total += v
        squares += v * v
    uneven = max(squares / (total * total) - 1.0 / n, 0.0) if total > 0.0 else 0.0
    return 1.0 / (1.0 / (n - n_fitted) + 0.5 * uneven)


@_jit
def ratio_estimate(weights, values, contributions):
    """Return R̂, its estimated variance and its degrees of freedom; the variance is infinite where there is no spread.

    Draws that all have one value, as draws of one query do, say nothing of the others.
    ``contributions`` (n,) takes w (L − R̂) / Σ w.
    """
    n = weights.size
    total_weight = 0.0
    total = 0.0
    for j in range(n):
        total_weight += weights[j]
        total += weights[j] * values[j]
    estimate = total / total_weight
    spread = 0.0
    for j in range(n):
        deviation = weights[j] * (values[j] - estimate)
        spread += deviation * deviation
        contributions[j] = deviation / total_weight
    mean_spread = spread / (total_weight * total_weight)
    freedom = degrees(contributions**2, 1.0)
    if n < 2 or mean_spread <= (_NO_SPREAD * estimate) ** 2:
        return estimate, np.inf, freedom
    return estimate, n / (n - 1.0) * mean_spread, freedom


@_jit
def weighted_sum(weights, values):
    """Return Σ w L, exact for a census with w = p."""
    total = 0.0
    for j in range(weights.size):
        total += weights[j] * values[j]
    return total


@_jit
def _moment_matrix(omega, keep, totals, within, k):
    """Return H = Σ ω² (keep t t' + (1 − keep) S) of the totals t = (y, z_0, z_1 …) with k regressors."""
    h = np.zeros((k + 1, k + 1))
    width = totals.shape[1]
    for j in range(omega.size):
        square = omega[j] * omega[j]
        place = 0
        for a in range(width):
            for b in range(a, width):
                if b <= k:
                    own = totals[j, a] * totals[j, b]
                    h[a, b] += square * (keep[j] * own + (1.0 - keep[j]) * within[j, place])
                place += 1
    for a in range(k + 1):
        for b in range(a):
            h[a, b] = h[b, a]
    return h


@_jit
def _eliminate(left, right, own):
    """Solve ``left`` x = ``right`` in place by Gauss-Jordan; return the rank.

    A row that says nothing beyond those before it, against ``own`` its diagonal, gives 0.
    """
    k, rank = own.size, 0
    for a in range(k):
        if left[a, a] <= max(_COLLINEAR * own[a], 0.0):  # an estimated variance can be negative
            for b in range(k):
                left[a, b] = left[b, a] = 0.0
            for c in range(right.shape[1]):
                right[a, c] = 0.0
            continue
        rank += 1
        pivot = left[a, a]
        for b in range(k):
            factor = left[b, a] / pivot
            if b == a or factor == 0.0:
                continue
            for c in range(k):
                left[b, c] -= factor * left[a, c]
            for c in range(right.shape[1]):
                right[b, c] -= factor * right[a, c]
        for c in range(k):
            left[a, c] /= pivot
        for c in range(right.shape[1]):
            right[a, c] /= pivot
    return rank


@_jit
def _inverse(h, k):
    """Return the inverse of the regressors' part of H and its rank."""
    left, inverse, own = np.zeros((k, k)), np.zeros((k, k)), np.zeros(k)
    for a in range(k):
        inverse[a, a] = 1.0
        own[a] = h[a + 1, a + 1]
        for b in range(k):
            left[a, b] = h[a + 1, b + 1]
        if own[a] <= _ROUNDING * h[0, 0]:  # nothing but rounding: no coefficient can be told
            left[a, a] = 0.0
    return inverse, _eliminate(left, inverse, own)


@_jit
def _fit(h, k, omega, keep, totals, population, coefficients, lift):
    """Fill B and what the g-weights need for the first k regressors; return how many say anything."""
    inverse, rank = _inverse(h, k)
    for a in range(k):
        coefficients[a] = 0.0
        lift[a] = 0.0
        for b in range(k):
            coefficients[a] += inverse[a, b] * h[0, b + 1]
            gap = population[b]
            for j in range(omega.size):
                gap -= omega[j] * totals[j, b + 1]
            lift[a] += inverse[a, b] * gap
    return rank


@_jit
def _largest_weight(omega, keep, totals, lift):
    """Return the largest |g − 1|: how far beyond what was seen the fit has to reach for the pool."""
    largest = 0.0
    for j in range(omega.size):
        g = 0.0
        for a in range(lift.size):
            g += omega[j] * keep[j] * lift[a] * totals[j, a + 1]
        largest = max(largest, abs(g))
    return largest


@_jit
def _quadratic(within, coefficients):
    """Return the quadratic form of (1, −B), ``within`` its upper triangle row by row; B may be shorter."""
    total = 0.0
    k = coefficients.size
    width = int((np.sqrt(8.0 * within.size + 1.0) - 1.0) / 2.0 + 0.5)
    place = 0
    for a in range(width):
        for b in range(a, width):
            if b <= k:
                left = 1.0 if a == 0 else -coefficients[a - 1]
                right = 1.0 if b == 0 else -coefficients[b - 1]
                total += (1.0 if a == b else 2.0) * left * right * within[place]
            place += 1
    return total


@_jit
def linear_estimate(omega, keep, totals, within, population, balancing, fitted, centred, contributions):
    """Return R̂, V̂ and its degrees of freedom; ``contributions`` (n,) takes g ω e, what each draw adds to the error.

    ``fitted`` chooses regression over difference, ``centred`` the sample variance of draws with
    replacement. V̂ is infinite where there are not more draws than coefficients.
    """
    n = omega.size
    k = totals.shape[1] - 1
    if n < _MANY:
        k = min(k, 2)
    coefficients, lift = np.zeros(k), np.zeros(k)
    coefficients[1] = 1.0
    rank = 0
    if fitted and n > 2:
        h = _moment_matrix(omega, keep, totals, within, k)
        rank = _fit(h, k, omega, keep, totals, population, coefficients, lift)
        if rank > 1 and _largest_weight(omega, keep, totals, lift) > _FARTHEST:
            coefficients[:] = 0.0
            lift[:] = 0.0
            rank = _fit(h, 1, omega, keep, totals, population, coefficients, lift)
        if rank == 0:
            coefficients[1] = 1.0
    estimate = 0.0
    for a in range(k):
        estimate += coefficients[a] * population[a]
    total = 0.0
    shares = np.zeros(n)
    conservative = 0.0
    for j in range(n):
        e = totals[j, 0]
        g = 1.0
        for a in range(k):
            e -= coefficients[a] * totals[j, a + 1]
            g += omega[j] * keep[j] * lift[a] * totals[j, a + 1]
        estimate += omega[j] * e
        contributions[j] = g * omega[j] * e
        total += contributions[j]
        if keep[j] < 1.0:
            shares[j] = (g * omega[j]) ** 2 * (1.0 - keep[j]) * _quadratic(within[j], coefficients)
        if keep[j] > 0.0 or within[j, 0] != 0.0:
            conservative += contributions[j] ** 2
    n_fitted = float(max(rank, 2)) if fitted else 1.0 if centred else 0.0
    if balancing.shape[1] > 0:
        n_fitted = max(n_fitted, float(balancing.shape[1]))
        _clear(contributions, keep, balancing)
    if n <= n_fitted or n < 2:
        return estimate, np.inf, n - n_fitted
    variance = 0.0
    for j in range(n):
        shares[j] += keep[j] * contributions[j] ** 2
        variance += shares[j]
    if centred:
        variance -= total * total / n
    if variance <= 0.0:
        variance = conservative
    if (fitted or centred) and _is_constant(omega, totals, variance):
        return estimate, np.inf, degrees(shares, n_fitted)
    return estimate, variance * n / (n - n_fitted), degrees(shares, n_fitted)


@_jit
def _is_constant(omega, totals, variance):
    """Return whether there is no variance because every query looks alike, which says nothing of the others.

    Alike but for rounding: y is a multiple of z_0.
    """
    top, bottom, size, scale = 0.0, 0.0, 0.0, 0.0
    for j in range(omega.size):
        square = omega[j] * omega[j]
        top += square * totals[j, 0] * totals[j, 1]
        bottom += square * totals[j, 1] ** 2
        size += square * totals[j, 0] ** 2
        scale += square * (totals[j, 0] ** 2 + totals[j, 2] ** 2)
    least = _NO_RESIDUAL * scale
    return variance <= least and (size - top * top / bottom if bottom > 0.0 else size) <= least


@_jit
def _clear(contributions, keep, balancing):
    """Take out of the contributions what the balancing variables explain, by least squares with weights ``keep``."""
    n, k = balancing.shape
    left, right, own = np.zeros((k, k)), np.zeros((k, 1)), np.zeros(k)
    for j in range(n):
        for a in range(k):
            for b in range(k):
                left[a, b] += keep[j] * balancing[j, a] * balancing[j, b]
            right[a, 0] += keep[j] * balancing[j, a] * contributions[j]
    for a in range(k):
        own[a] = left[a, a]
    _eliminate(left, right, own)
    for j in range(n):
        for a in range(k):
            contributions[j] -= right[a, 0] * balancing[j, a]


@_jit
def sequential_estimate(query_probs, rates, totals, n_queries, base, levelled, contributions):
    """Return R̂, V̂ and its degrees of freedom for draws without replacement, in their order; ``base`` is M.

    ``levelled`` weights the draws with c_t, else c_t = 1, whose variance estimator is exactly
    unbiased. ``contributions`` (n,) takes c_t (Z_t − R̂).
    """
    n = rates.size
    seen = 0.0
    estimate = 0.0
    for t in range(n):
        gap = query_probs[t] * (totals[t, 0] - totals[t, 2])
        contributions[t] = base + seen + gap / rates[t]
        estimate += _level(levelled, t, n, n_queries) * contributions[t] / n
        seen += gap
    spread = 0.0
    for t in range(n):
        contributions[t] = _level(levelled, t, n, n_queries) * (contributions[t] - estimate)
        spread += contributions[t] * contributions[t]
    freedom = degrees(contributions**2, 1.0)
    if n < 2 or _is_constant(query_probs, totals, spread):
        return estimate, np.inf, freedom
    return estimate, spread / (n * (n - 1.0)), freedom


@_jit
def _level(levelled, t, n, n_queries):
    """Return c of draw t, counted from 0."""
    left = float(n_queries - t - 1)
    if not levelled:
        return 1.0
    return n_queries * (n_queries - n) / (left * (left + 1.0)) if left > 0.0 else float(n_queries)
