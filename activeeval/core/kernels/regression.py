"""The fit of an estimate: choice of regressors, their coefficients, and limits on extrapolation.

In the notation of `kernels.estimates`, the coefficients B of the regressors z minimize the observed variance

    V̂ = Σ ω² (keep e² + (1 − keep) s),      e = y − z'B,

which is least squares with weights ω² keep for whole queries. The number of regressors, in their order, minimizes the
prediction error for judged queries left out of the fit (PRESS): a coefficient determined by one or two queries explains
only these. Fitted residuals are multiplied by the g-weights g = 1 + (Z̄ − Σ ω z)' H⁻¹ ω keep z, with which
R̂ = Σ ω g y. If a g exceeds 5 the fit extrapolates far beyond the sample, and only the first regressor is used, unless
the fit leaves no residual: then any g gives the same result for the sample. For the same reason nothing is fitted if
y = m throughout. From twelve queries on there can be a third regressor, if y differs from it in half of the queries
or it removes three quarters of V̂; each further regressor requires another twelve.

Without m, because PRESS excluded it or it is collinear with the first regressor, the sample represents queries that the
model considers different. The shift of R̂ by m with B_1 = 1 is a possible bias:

    Z̄_1 − Z̄_0 b − Σ ω (z_1 − z_0 b),      b of z_1 on z_0.

Its square is added to V̂.
"""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit

NO_RESIDUAL = 1e-14
_MANY = 12
# PRESS chooses the number of regressors. In 583 cells of depths (432 of 30 to 50 queries; 300 repetitions): with always
# three from twelve queries on, 33 % of the cells of few queries had a coverage below 92 %, with V* 7 %. With at most 1
# + eff / 4, eff the number of queries that matter to the difference estimator, 5 %, but 7 % more error on large pools
# (up to 2.4 times with a reversed model); with PRESS 7 %, and 1 % more error.
_FEWEST_EFFECTIVE = 3.0
# In queries of equal weight. Without this limit a third regressor was determined by one or two queries: nDCG@10 of
# MQ2008 had a bias of .13 of its error (279 queries, 1,500 repetitions), the worst of 54 cells a coverage of .80. With
# 2 these are .07 and .88, with 4 .05 and .88; mean errors are 5 and 9 % larger. 3 has the bias of 4.
_LEAST_UNLIKE, _LEAST_GAIN = 0.5, 4.0
# Share of the queries, and factor on V̂. Before any relevant item, y equals h, so that with B = 1 a query has no
# residual, and only queries with a relevant item remain: if they are few, R̂ and V̂ are both too low. With adaptive
# depth, 28 cells of RR, ERR, nDCG@10 and AP (150 repetitions): without these limits coverage was .920 and six cells
# were below .9, the worst .77. With shares of ¼, ⅓ and ½ alone coverage was .935, .940 and .941; but if almost nothing
# is relevant and the model expects much, B = 1 removes 96 % of the variance, and without it errors are 3.6 times as
# large (7 cells). If a gain of 3 or 5 also admits it, these errors are 1.06 and 1.17 times as large, coverage .938 and
# .941.
_LEAST_LEFT = 1e-6
_COLLINEAR = 1e-8
_ROUNDING = 1e-16
_ALIKE = 1e-9
_FARTHEST = 4.0
_LARGEST_REACH = 300.0
# Of items, whose g-weights are 1: 12 pairs of OHSUMED fitted coefficients to contrasts near 0 and missed by 40 standard
# errors. 30 does no more there, but changes readings of watched segments.


@_jit
def _moment_matrix(omega, keep, totals, within, k):
    """Compute H = Σ ω² (keep t t' + (1 − keep) S), shape (k + 1, k + 1), the moments of value and first k regressors.

    t = (y, z_0, z_1 …) is a row of ``totals``, S the covariance of t within the query, whose upper triangle is a row of
    ``within``; ω = p/π (``omega``) and ``keep`` = 1 − π have shape (n,).
    """
    h = np.zeros((k + 1, k + 1))
    width = totals.shape[1]
    for j in range(omega.size):
        square, place = omega[j] * omega[j], 0
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
    """Solve ``left`` x = ``right`` in place by Gauss-Jordan elimination; return the rank.

    Unknowns whose row depends on those before it, relative to its original ``diagonal`` element, are set to 0.
    """
    k, rank = diagonal.size, 0
    for a in range(k):
        if left[a, a] <= max(_COLLINEAR * diagonal[a], 0.0):  # an estimated variance can be negative
            left[a, :] = 0.0
            left[:, a] = 0.0
            right[a, :] = 0.0
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
        left[a, :] /= pivot
        right[a, :] /= pivot
    return rank


@_jit
def _inverse(h, k):
    """Invert the part of the moment matrix H that belongs to the first k regressors; return ``(inverse, rank)``.

    Row and column 0 of H belong to the value y. Regressors that depend on earlier ones get rows and columns of 0.
    """
    left, inverse, diagonal = np.zeros((k, k)), np.zeros((k, k)), np.zeros(k)
    for a in range(k):
        inverse[a, a] = 1.0
        diagonal[a] = h[a + 1, a + 1]
        for b in range(k):
            left[a, b] = h[a + 1, b + 1]
        if diagonal[a] <= _ROUNDING * h[0, 0]:  # rounding error only: the coefficient is undetermined
            left[a, a] = 0.0
    return inverse, _eliminate(left, inverse, diagonal)


@_jit
def _least_squares(inverse, h):
    """Compute the coefficients B (k,) of the value on k regressors: their inverse moments times row 0 of H.

    ``h`` is the moment matrix of `_moment_matrix`, ``inverse`` (k, k) the inverse of its regressors' part.
    """
    k = len(inverse)
    coefficients = np.zeros(k)
    for a in range(k):
        for b in range(k):
            coefficients[a] += inverse[a, b] * h[0, b + 1]
    return coefficients


@_jit
def _fit(h, k, omega, totals, population, coefficients, lift):
    """Fit the first k regressors by least squares; return ``(rank, reach)``.

    ``h`` is the moment matrix H of `_moment_matrix`, ``omega`` p/π of each query, ``totals`` y and z. Fills
    ``coefficients`` with B, ``lift`` with H⁻¹ d, d = Z̄ − Σ ω z, for g = 1 + ω keep lift'z; Z̄ is ``population``. The
    reach is d' H⁻¹ d, about χ² with k degrees of freedom if the sample represents the pool.
    """
    inverse, rank = _inverse(h, k)
    gap = population[:k].copy()
    for j in range(omega.size):
        for b in range(k):
            gap[b] -= omega[j] * totals[j, b + 1]
    coefficients[:k] = _least_squares(inverse, h)
    reach = 0.0
    for a in range(k):
        lift[a] = 0.0
        for b in range(k):
            lift[a] += inverse[a, b] * gap[b]
        reach += gap[a] * lift[a]
    return rank, reach


@_jit
def _largest_weight(omega, keep, totals, lift):
    """Compute the largest |g − 1|, g = 1 + ω keep lift'z (z: ``totals`` without y): how far a fit extrapolates."""
    largest = 0.0
    for j in range(omega.size):
        g = 0.0
        for a in range(lift.size):
            g += omega[j] * keep[j] * lift[a] * totals[j, a + 1]
        largest = max(largest, abs(g))
    return largest


@_jit
def residual_direction(coefficients, width):
    """Compute the vector (1, −B), padded with 0 to ``width``, and the factors of its quadratic form.

    The factors belong to the upper triangle of M, row by row: their product with it is (1, −B)' M (1, −B).
    """
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
def residual_of(j, keep, totals, within, direction, products):
    """Compute e and s of query ``j``: the residual y − z'B, and the estimated variance of e within the query.

    ``direction`` and ``products`` are those of `residual_direction`, ``keep`` is 1 − π; rows of ``totals`` are (y, z),
    of ``within`` the upper triangle of their covariance. s is 0 if the query was judged completely.
    """
    e, s = 0.0, 0.0
    for a in range(direction.size):
        e += direction[a] * totals[j, a]
    if keep[j] < 1.0:
        for a in range(products.size):
            s += products[a] * within[j, a]
    return e, s


@_jit
def seen_scale(omega, totals):
    """Compute Σ ω² (y² + m²), the scale of a spread's rounding errors; value y and prediction m: ``totals`` 0 and 2."""
    scale = 0.0
    for j in range(omega.size):
        scale += omega[j] ** 2 * (totals[j, 0] ** 2 + totals[j, 2] ** 2)
    return scale


@_jit
def _explains(omega, keep, totals, within, coefficients):
    """Check whether B (``coefficients``) leaves no residual but rounding: neither e = y − z'B nor its variance s."""
    spread = 0.0
    direction, products = residual_direction(coefficients, totals.shape[1])
    for j in range(omega.size):
        e, s = residual_of(j, keep, totals, within, direction, products)
        spread += omega[j] ** 2 * (keep[j] * e * e + (1.0 - keep[j]) * abs(s))
    return spread <= NO_RESIDUAL * seen_scale(omega, totals)


@_jit
def _gap(h, omega, totals, population):
    """Compute the shift of R̂ by the second regressor with coefficient 1, after that by the first one.

    It is a possible bias of an estimate without the second regressor (the model's predictions). ``h`` is the moment
    matrix of `_moment_matrix`, ``omega`` p/π of each query, ``totals`` y and z, ``population`` Σ p z of the pool.
    """
    b = h[1, 2] / h[1, 1] if h[1, 1] > 0.0 else 0.0
    gap = population[1] - b * population[0]
    for j in range(omega.size):
        gap -= omega[j] * (totals[j, 2] - b * totals[j, 1])
    return gap


@_jit
def _press(h, k, omega, keep, totals, within):
    """Compute the prediction error Σ ω² (keep e² + (1 − keep) s) of each query by a fit to the other queries (PRESS).

    The fit has the first k regressors; ``h`` is the moment matrix of `_moment_matrix`, ``omega`` p/π, ``keep`` 1 − π. e
    is the residual y − z'B (``totals``), s its variance within the query (from ``within``). With l = ω² keep z' H⁻¹ z
    both follow from the fit to all queries: e / (1 − l), s / (1 − l)² (Allen, 1974).
    """
    inverse, _ = _inverse(h, k)
    direction, products = residual_direction(_least_squares(inverse, h), totals.shape[1])
    total = 0.0
    for j in range(omega.size):
        e, s = residual_of(j, keep, totals, within, direction, products)
        lever = 0.0
        for a in range(k):
            for b in range(k):
                lever += inverse[a, b] * totals[j, a + 1] * totals[j, b + 1]
        left = max(1.0 - omega[j] ** 2 * keep[j] * lever, _LEAST_LEFT)
        total += omega[j] ** 2 * (keep[j] * e * e + (1.0 - keep[j]) * abs(s)) / left**2
    return total


@_jit
def _left(h, k):
    """Compute the variance that a fit of the first k regressors leaves, from the moment matrix H (row 0: the value)."""
    inverse, _ = _inverse(h, k)
    coefficients, left = _least_squares(inverse, h), h[0, 0]
    for a in range(k):
        left -= coefficients[a] * h[0, a + 1]
    return left


@_jit
def _n_regressors(h, most, omega, keep, totals, within):
    """Find the number of first regressors, 1 to ``most``, that predict queries left out of the fit best (`_press`)."""
    best, chosen = np.inf, 1
    for k in range(1, most + 1):
        press = _press(h, k, omega, keep, totals, within)
        if press < best:
            best, chosen = press, k
    return chosen


@_jit
def _n_unlike(totals):
    """Count the queries whose value differs from the third regressor (columns 0 and 3) by more than rounding."""
    n = 0
    for j in range(len(totals)):
        y, h = totals[j, 0], totals[j, 3]
        n += abs(y - h) > _ALIKE * (abs(y) + abs(h))
    return n


@_jit
def _regress(omega, keep, totals, within, population, coefficients, lift):
    """Choose how many regressors to use and fit them; return ``(rank, gap)``.

    The gap is the possible bias (`_gap`) if the second regressor is excluded, else 0. Fills ``coefficients`` with B and
    ``lift`` for the g-weights; with rank 0 B is not changed. ``omega`` is p/π, ``keep`` 1 − π, ``totals`` y and z. A
    third regressor needs many queries that differ from it, or a large gain; a fit that extrapolates too far has one.
    """
    most = coefficients.size
    if omega.size <= 2 or _explains(omega, keep, totals, within, coefficients):
        return 0, 0.0
    plain = coefficients.copy()
    coefficients[:] = 0.0
    h = _moment_matrix(omega, keep, totals, within, most)
    if most > 2 and _n_unlike(totals) < _LEAST_UNLIKE * omega.size and _left(h, 2) <= _LEAST_GAIN * _left(h, 3):
        most = np.int64(2)
    k = _n_regressors(h, most, omega, keep, totals, within)
    rank, reach = _fit(h, k, omega, totals, population, coefficients, lift)
    if reach > _LARGEST_REACH and keep.max() == 0.0 and not _explains(omega, keep, totals, within, coefficients):
        rank, lift[:] = 0, 0.0
    reaches_far = rank > 1 and _largest_weight(omega, keep, totals, lift) > _FARTHEST
    if reaches_far and not _explains(omega, keep, totals, within, coefficients):
        coefficients[:] = 0.0
        lift[:] = 0.0
        rank, _ = _fit(h, np.int64(1), omega, totals, population, coefficients, lift)  # typed: compiled once
    if rank == 0:
        coefficients[:] = plain
        return 0, 0.0
    return rank, _gap(h, omega, totals, population) if coefficients[1] == 0.0 else 0.0


@_jit
def _n_effective(omega, keep, totals, within):
    """Compute (Σ a)² / Σ a², the number of queries behind the third regressor h: a = ω² (keep h² + (1 − keep) Var)."""
    width, total, squares = totals.shape[1], 0.0, 0.0
    place = 3 * width - 3  # index of the third regressor's own variance in ``within``
    for j in range(omega.size):
        part = omega[j] ** 2 * (keep[j] * totals[j, 3] ** 2 + (1.0 - keep[j]) * abs(within[j, place]))
        total += part
        squares += part * part
    return total * total / squares if squares > 0.0 else 0.0


@_jit
def fitted_coefficients(omega, keep, totals, within, population, fitted, n_tail):
    """Compute the coefficients B of value on regressors; return ``(B, lift, rank, gap)``.

    At most two regressors are used, and one more for each `_MANY` queries. Without ``fitted``, B = (0, 1, 0 …), the
    difference estimator. ``lift`` (k,) is the vector of the g-weights g = 1 +
    ω keep lift'z, ``rank`` the number of independent regressors fitted (0 if none), and ``gap`` the possible bias if
    the second regressor is excluded, else 0.

    Parameters
    ----------
    omega, keep : arrays, shape (n,)
        ω = p/π, share in the mean over inclusion probability, and 1 − π, or 1 for sampling with replacement.
    totals, within : arrays, shape (n, 1 + k) and (n, (1 + k)(2 + k) / 2)
        Columns y and the k regressors z of each query, and the upper triangle of their covariance within the query.
    population : array, shape (k,)
        Σ p z over the open queries of the pool.
    fitted : bool
        True: regression estimator; False: difference estimator.
    n_tail : int
        If not negative, number of queries judged beyond the items that move a numerator, on which a part of the third
        regressor depends. It then requires two of them, and `_FEWEST_EFFECTIVE` effective queries in total.
    """
    k = min(totals.shape[1] - 1, 2 + omega.size // _MANY)
    if n_tail >= 0 and k > 2 and (n_tail <= 1 or _n_effective(omega, keep, totals, within) < _FEWEST_EFFECTIVE):
        k = 2
    coefficients, lift = np.zeros(k), np.zeros(k)
    coefficients[1] = 1.0
    rank, gap = 0, 0.0
    if fitted:
        rank, gap = _regress(omega, keep, totals, within, population, coefficients, lift)
    return coefficients, lift, rank, gap
