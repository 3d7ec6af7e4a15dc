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

unbiased. B minimises V̂: least squares with weights ω² keep for whole queries. Of the regressors, in their order, as
many are fitted as predict the judged queries best that have no part in the fit (PRESS): a coefficient that one or two
queries decide explains these and no other. Fitted residuals are multiplied by the
g-weights g = 1 + (Z̄ − Σ ω z)' H⁻¹ ω keep z, with which R̂ = Σ ω g y, and V̂ by n / (n − 2). Where a g exceeds 5 the fit
reaches far beyond the sample, and the first regressor stands alone, unless the fit leaves no residual: for any g it
then says the same of the sample. For the same reason nothing is fitted where y = m throughout.
Without m, whether it was left out there or could not be told from the first regressor, what was seen stands for queries
of which the model says that they are unlike. By how much m would move R̂ with B_1 = 1, Z̄_1 − Z̄_0 b − Σ ω (z_1 − z_0 b)
with b of z_1 on z_0, is a bias that may be there: its square is added to V̂.

All sums go over the *open* queries, those that chance chose; what is judged whole with certainty is known, adds its
p L to both R̂ and the truth, and would count as evidence that it is not: n is the number of open ones, Z̄ their total.

*No spread.* A sample says how far the rest may be from what is predicted by its own residuals. Where they vanish
beside Σ ω² (y² + m²), in which no fit has a part, it has seen one kind of query and says nothing of how many others
there are: V̂ is infinite, not 0, for every form alike. A third regressor explains a sample without a relevant label
exactly: y = h + L, L one value. Where it is not fitted the sample has seen one kind of query too if y − h is a multiple
of z_0. From twelve queries on there may be a third regressor; each further one needs as many more.

*Ratio* (Sawade et al., eq. (6)), for draws with replacement: Σ w L / Σ w with w = p/q.
"""

from __future__ import annotations

import numpy as np

from activeeval.kernels.compiling import jit as _jit

_NO_SPREAD = 1e-12
_NO_RESIDUAL = 1e-14
_MANY = 12
# PRESS chooses among these. Tried on 583 cells of depths (432 of 30 to 50 queries; 300 repetitions): always three from
# twelve queries on (before) had 33 % of the cells of few queries below 92 %, with V* 7 %. At most 1 + eff / 4 of them,
# eff queries that matter to the difference estimator, 5 %, but 7 % more error on the large pools (up to 2.4 times where
# the model is reversed: there few queries matter until the third is fitted); PRESS 7 %, with 1 % more error.
_LEAST_LEFT = 1e-6
_COLLINEAR = 1e-8
_ROUNDING = 1e-16
_FARTHEST = 4.0


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
                    product = totals[j, a] * totals[j, b]
                    h[a, b] += square * (keep[j] * product + (1.0 - keep[j]) * within[j, place])
                place += 1
    for a in range(k + 1):
        for b in range(a):
            h[a, b] = h[b, a]
    return h


@_jit
def _eliminate(left, right, diagonal):
    """Solve ``left`` x = ``right`` in place by Gauss-Jordan; return the rank.

    A row that says nothing beyond those before it, against its ``diagonal`` as it was, gives 0.
    """
    k, rank = diagonal.size, 0
    for a in range(k):
        if left[a, a] <= max(_COLLINEAR * diagonal[a], 0.0):  # an estimated variance can be negative
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
    left, inverse, diagonal = np.zeros((k, k)), np.zeros((k, k)), np.zeros(k)
    for a in range(k):
        inverse[a, a] = 1.0
        diagonal[a] = h[a + 1, a + 1]
        for b in range(k):
            left[a, b] = h[a + 1, b + 1]
        if diagonal[a] <= _ROUNDING * h[0, 0]:  # nothing but rounding: no coefficient can be told
            left[a, a] = 0.0
    return inverse, _eliminate(left, inverse, diagonal)


@_jit
def _least_squares(inverse, h):
    """Return B of the regressors whose part of H has this inverse."""
    k = len(inverse)
    coefficients = np.zeros(k)
    for a in range(k):
        for b in range(k):
            coefficients[a] += inverse[a, b] * h[0, b + 1]
    return coefficients


@_jit
def _fit(h, k, omega, totals, population, coefficients, lift):
    """Fill B and what the g-weights need for the first k regressors; return how many say anything."""
    inverse, rank = _inverse(h, k)
    gap = population[:k].copy()
    for j in range(omega.size):
        for b in range(k):
            gap[b] -= omega[j] * totals[j, b + 1]
    coefficients[:k] = _least_squares(inverse, h)
    for a in range(k):
        lift[a] = 0.0
        for b in range(k):
            lift[a] += inverse[a, b] * gap[b]
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
def _direction(coefficients, width):
    """Return (1, −B) for totals of a width, what is beyond B left out, and its products as ``within`` has them."""
    direction, products = np.zeros(width), np.zeros(width * (width + 1) // 2)
    direction[0] = 1.0
    for a in range(coefficients.size):
        direction[a + 1] = -coefficients[a]
    place = 0
    for a in range(width):
        for b in range(a, width):
            products[place] = (1.0 if a == b else 2.0) * direction[a] * direction[b]
            place += 1
    return direction, products


@_jit
def _residual(j, keep, totals, within, direction, products):
    """Return e and s of a query."""
    e, s = 0.0, 0.0
    for a in range(direction.size):
        e += direction[a] * totals[j, a]
    if keep[j] < 1.0:
        for a in range(products.size):
            s += products[a] * within[j, a]
    return e, s


@_jit
def _scale(omega, totals):
    """Return Σ ω² (y² + m²), beside which a spread is nothing but rounding: no fit has a part in it."""
    scale = 0.0
    for j in range(omega.size):
        scale += omega[j] ** 2 * (totals[j, 0] ** 2 + totals[j, 2] ** 2)
    return scale


@_jit
def _explains(omega, keep, totals, within, coefficients):
    """Return whether B leaves no residual but rounding."""
    spread = 0.0
    direction, products = _direction(coefficients, totals.shape[1])
    for j in range(omega.size):
        e, s = _residual(j, keep, totals, within, direction, products)
        spread += omega[j] ** 2 * (keep[j] * e * e + (1.0 - keep[j]) * abs(s))
    return spread <= _NO_RESIDUAL * _scale(omega, totals)


@_jit
def _gap(h, omega, totals, population):
    """Return by how much the second regressor with B = 1 would move an estimate from the first."""
    b = h[1, 2] / h[1, 1] if h[1, 1] > 0.0 else 0.0
    gap = population[1] - b * population[0]
    for j in range(omega.size):
        gap -= omega[j] * (totals[j, 2] - b * totals[j, 1])
    return gap


@_jit
def _press(h, k, omega, keep, totals, within):
    """Return Σ ω² (keep e² + (1 − keep) s), each e and s by a fit of the first k regressors to the other queries.

    With l = ω² keep z' H⁻¹ z the residual of a query that has no part in the fit is e / (1 − l) (Allen, 1974).
    """
    inverse, _ = _inverse(h, k)
    direction, products = _direction(_least_squares(inverse, h), totals.shape[1])
    total = 0.0
    for j in range(omega.size):
        e, s = _residual(j, keep, totals, within, direction, products)
        lever = 0.0
        for a in range(k):
            for b in range(k):
                lever += inverse[a, b] * totals[j, a + 1] * totals[j, b + 1]
        left = max(1.0 - omega[j] ** 2 * keep[j] * lever, _LEAST_LEFT)
        total += omega[j] ** 2 * (keep[j] * e * e + (1.0 - keep[j]) * abs(s)) / left**2
    return total


@_jit
def _n_regressors(h, most, omega, keep, totals, within):
    """Return how many regressors predict the queries best that have no part in the fit: few where few matter."""
    best, chosen = np.inf, 1
    for k in range(1, most + 1):
        press = _press(h, k, omega, keep, totals, within)
        if press < best:
            best, chosen = press, k
    return chosen


@_jit
def _regress(omega, keep, totals, within, population, coefficients, lift):
    """Fill B and what the g-weights need; return how many regressors say anything, and the gap where the second is out.

    0 and no gap where B stays as it is.
    """
    most = coefficients.size
    if omega.size <= 2 or _explains(omega, keep, totals, within, coefficients):
        return 0, 0.0
    plain = coefficients.copy()
    coefficients[:] = 0.0
    h = _moment_matrix(omega, keep, totals, within, most)
    k = _n_regressors(h, most, omega, keep, totals, within)
    rank = _fit(h, k, omega, totals, population, coefficients, lift)
    reaches_far = rank > 1 and _largest_weight(omega, keep, totals, lift) > _FARTHEST
    if reaches_far and not _explains(omega, keep, totals, within, coefficients):
        coefficients[:] = 0.0
        lift[:] = 0.0
        one_regressor = np.int64(1)  # for a bare 1 it would be compiled once more
        rank = _fit(h, one_regressor, omega, totals, population, coefficients, lift)
    if rank == 0:
        for a in range(most):
            coefficients[a] = plain[a]
        return 0, 0.0
    return rank, _gap(h, omega, totals, population) if coefficients[1] == 0.0 else 0.0


@_jit
def _coefficients(omega, keep, totals, within, population, fitted):
    """Return B, what the g-weights need, how many regressors say anything, and the gap where the second is out."""
    k = min(totals.shape[1] - 1, 2 + omega.size // _MANY)
    coefficients, lift = np.zeros(k), np.zeros(k)
    coefficients[1] = 1.0
    rank, gap = 0, 0.0
    if fitted:
        rank, gap = _regress(omega, keep, totals, within, population, coefficients, lift)
    return coefficients, lift, rank, gap


@_jit
def residuals(omega, keep, totals, within, population, fitted, out):
    """Return B of `linear_estimate`, and fill ``out`` (n, 2) with e and s of each query."""
    coefficients = _coefficients(omega, keep, totals, within, population, fitted)[0]
    direction, products = _direction(coefficients, totals.shape[1])
    for j in range(omega.size):
        out[j, 0], out[j, 1] = _residual(j, keep, totals, within, direction, products)
    return coefficients


@_jit
def linear_estimate(omega, keep, totals, within, population, fitted, contributions):
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

    V̂ is infinite where there are not more draws than coefficients and where the sample shows no spread.
    """
    n = omega.size
    coefficients, lift, rank, gap = _coefficients(omega, keep, totals, within, population, fitted)
    k = coefficients.size
    estimate = 0.0
    for a in range(k):
        estimate += coefficients[a] * population[a]
    conservative, scale = 0.0, _scale(omega, totals)
    shares = np.zeros(n)
    direction, products = _direction(coefficients, totals.shape[1])
    for j in range(n):
        e, s = _residual(j, keep, totals, within, direction, products)
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
    variance = conservative if plain < -_NO_RESIDUAL * scale else plain  # what is but rounding has no sign
    freedom = degrees(shares, n_fitted)
    is_alike = fitted and totals.shape[1] > 3 and (k < 3 or coefficients[2] == 0.0) and _is_alike(omega, totals)
    if variance <= _NO_RESIDUAL * scale or is_alike:
        return estimate, np.inf, freedom, plain
    return estimate, variance * n / (n - n_fitted) + gap * gap, freedom, plain


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
    return (size - top * top / bottom if bottom > 0.0 else size) <= _NO_RESIDUAL * scale
