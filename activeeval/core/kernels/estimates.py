"""Estimators: one value and its variance from the totals of the judged queries.

A judged query brings y, unbiased for its value L, and regressors z, unbiased for what is known
of them over the pool: (1, m), or (Σ c_i, Σ c_i μ_i) where items were drawn, where a prefix was judged a third one
that is 0 in the mean (`kernels.prefixes`), and what further models predict. With
ω = p/π and population Z̄ = Σ p z,

    R̂ = Z̄'B + Σ ω e,      e = y − z'B.

B = (0, 1, 0) is the *difference* estimator; fitted it is the *regression* estimator (GREG), which no
model can spoil much. What is seen within a query has an unbiased variance s(B), the quadratic form of
(y, z) in ``within``, so that e² − s is unbiased for the squared residual of the query and

    V̂ = Σ ω² (keep e² + (1 − keep) s),      keep = 1 − π,

unbiased. How B is fitted, how many regressors it has, and the g-weights are in `kernels.regression`; V̂ is then
multiplied by n / (n − 2).

All sums go over the *open* queries, those that chance chose; what is judged whole with certainty is known, adds its
p L to both R̂ and the truth, and would count as evidence that it is not: n is the number of open ones, Z̄ their total.

*No spread.* A sample says how far the rest may be from what is predicted by its own residuals. Where they vanish
beside Σ ω² (y² + m²), in which no fit has a part, it has seen one kind of query and says nothing of how many others
there are: V̂ is infinite, not 0, for every form alike. A third regressor explains a sample without a relevant label
exactly: y = h + L, L one value. Where it is not fitted the sample has seen one kind of query too if y − h is a multiple
of z_0.

*Ratio* (Sawade et al., eq. (6)), for draws with replacement: Σ w L / Σ w with w = p/q.
"""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit
from activeeval.core.kernels.regression import (
    NO_RESIDUAL,
    fitted_coefficients,
    residual_direction,
    residual_of,
    seen_scale,
)

_NO_SPREAD = 1e-12


@_jit
def degrees(shares, n_fitted):
    """Return the degrees of freedom of a variance Σ v, fewer where a few ``shares`` v ≥ 0 dwarf the others.

    1/df = 1/(n − k) + (Σ v² / (Σ v)² − 2/n)₊, at least one degree. Σ v² / (Σ v)² is 1 over the number of shares that
    matter: K equal ones among many that are nothing leave K degrees, equal ones throughout n − k. Normal residuals
    have 3/n, which leaves half of n.
    """
    # Satterthwaite's df, from the variance of V̂ alone, has half that slope. But the share that is missing from V̂ is
    # missing from R̂ too: with skewness γ Edgeworth's expansion adds 0.9 γ²/n to 1/df at 95 %, and of rare large shares
    # γ²/n is Σ v² / (Σ v)². Tried on 344 cells (generated pools with rare relevance, certain queries and empty lists,
    # MQ2008 and MQ2007 with forest and uniform model, 2,000 repetitions each): below 90 % were 49 cells with half the
    # slope, 28 with this, 22 with − 1/n in place of − 2/n, which makes intervals 3 % wider where all was well.
    n = shares.size
    if n <= n_fitted:
        return n - n_fitted
    total = 0.0
    squares = 0.0
    for j in range(n):
        v = max(shares[j], 0.0)
        total += v
        squares += v * v
    uneven = max(squares / (total * total) - 2.0 / n, 0.0) if total > 0.0 else 0.0
    return max(1.0 / (1.0 / (n - n_fitted) + uneven), 1.0)


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
def residuals(omega, keep, totals, within, population, fitted, out, beyond):
    """Return B of `linear_estimate`, and fill ``out`` (n, 2) with e and s of each query."""
    coefficients = fitted_coefficients(omega, keep, totals, within, population, fitted, n_beyond(beyond))[0]
    direction, products = residual_direction(coefficients, totals.shape[1])
    for j in range(omega.size):
        out[j, 0], out[j, 1] = residual_of(j, keep, totals, within, direction, products)
    return coefficients


@_jit
def linear_estimate(omega, keep, totals, within, population, fitted, contributions, beyond):
    """Return R̂, V̂, its degrees of freedom and the plain V̂ for the open queries; to R̂ the others' total is to be added.

    The plain V̂ is the sum above: unbiased where nothing is fitted, and may come out negative.

    Parameters
    ----------
    omega, keep : arrays, shape (n,)
        ω, and 1 − π or 1.
    totals, within : arrays, shape (n, 1 + k) and (n, (1 + k)(2 + k) / 2)
        y and the regressors z, and the upper triangle of their unbiased variance within the query.
    population : array, shape (k,)
        Σ p z over the open queries of the pool.
    fitted : bool
        Regression in place of difference.
    contributions : array, shape (n,)
        Out: g ω e, what each draw adds to the error.
    beyond : array of int64, shape (n,)
        Where the third regressor is made of what lies beyond the items that move a numerator: 1 for each query that was
        judged there, else 0; −1 throughout where it is not. What the former add to the variance rests on them alone.

    V̂ is infinite where there are not more draws than coefficients and where the sample shows no spread.
    """
    n, n_tail = omega.size, n_beyond(beyond)
    coefficients, lift, rank, gap = fitted_coefficients(omega, keep, totals, within, population, fitted, n_tail)
    k = coefficients.size
    estimate = 0.0
    for a in range(k):
        estimate += coefficients[a] * population[a]
    conservative, scale = 0.0, seen_scale(omega, totals)
    shares = np.zeros(n)
    direction, products = residual_direction(coefficients, totals.shape[1])
    for j in range(n):
        e, s = residual_of(j, keep, totals, within, direction, products)
        g = 1.0
        for a in range(k):
            g += omega[j] * keep[j] * lift[a] * totals[j, a + 1]
        estimate += omega[j] * e
        contributions[j] = g * omega[j] * e
        shares[j] = (g * omega[j]) ** 2 * (1.0 - keep[j]) * s
        if keep[j] > 0.0 or within[j, 0] != 0.0:
            conservative += contributions[j] ** 2
    n_fitted = float(max(rank, 2)) if fitted else 0.0
    plain = 0.0
    for j in range(n):
        shares[j] += keep[j] * contributions[j] ** 2
        plain += shares[j]
    if n <= n_fitted or n < 2:
        return estimate, np.inf, n - n_fitted, plain
    variance = conservative if plain < -NO_RESIDUAL * scale else plain  # what is but rounding has no sign
    freedom = degrees(shares, n_fitted)
    is_alike = fitted and totals.shape[1] > 3 and (k < 3 or coefficients[2] == 0.0) and _is_alike(omega, totals)
    if variance <= NO_RESIDUAL * scale or is_alike:
        return estimate, np.inf, freedom, plain
    factor = n / (n - n_fitted)
    if fitted and n_tail > 1:
        factor, freedom = _with_tail(shares, beyond, n_tail, factor, freedom)
    return estimate, variance * factor + gap * gap, freedom, plain


@_jit
def n_beyond(beyond):
    """Return how many rows were judged beyond what moves a numerator, or −1 where that does not count."""
    total = np.int64(0)
    for each in beyond:
        if each < 0:
            return np.int64(-1)
        total += each
    return total


@_jit
def _with_tail(shares, beyond, n_tail, factor, freedom):
    """Return the factor and the degrees of freedom of a variance of which the tail's part rests on few queries.

    With V_t of the n_t queries that were judged beyond and V_r of the rest, V_r n / (n − k) + V_t n_t / (n_t − 1), and
    after Satterthwaite (V_r + V_t)² / (V_r² / df + V_t² / (n_t − 1)) degrees. To give all of the variance n_t − 1
    degrees doubles intervals of small budgets, whose tails are a small part of it.
    """
    rest, tail = 0.0, 0.0
    for j in range(shares.size):
        if beyond[j] > 0:
            tail += max(shares[j], 0.0)
        else:
            rest += max(shares[j], 0.0)
    total = rest + tail
    if total <= 0.0 or freedom <= 0.0:
        return factor, freedom
    of_tail = max(factor, n_tail / (n_tail - 1.0))
    lost = rest * rest / freedom + tail * tail / min(freedom, n_tail - 1.0)
    return (rest * factor + tail * of_tail) / total, max(min(freedom, total * total / lost), 1.0)


@_jit
def _is_alike(omega, totals):
    """Return whether every query looks alike: y − h is a multiple of z_0 but for rounding."""
    top, bottom, size, scale = 0.0, 0.0, 0.0, 0.0
    for j in range(omega.size):
        square = omega[j] * omega[j]
        y, h = totals[j, 0], totals[j, 3]
        top += square * (y - h) * totals[j, 1]
        bottom += square * totals[j, 1] ** 2
        size += square * (y - h) ** 2
        scale += square * (y * y + h * h + totals[j, 2] ** 2)
    return (size - top * top / bottom if bottom > 0.0 else size) <= NO_RESIDUAL * scale
