"""Shares, means, correlations and slopes of weighted items, with standard errors clustered by query.

All are functions of totals over items. Errors of items of the same query are correlated, so the standard error is that
of the jackknife over queries, each left out in turn,

    se² = (m − 1)/m Σ_q (θ₍₋q₎ − mean)²,

which for a ratio of totals equals the usual linearised one up to terms of order 1/m.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.results import Figure
from activeeval.core.types import Floats, Ints

_PARTS = 6
"""Number of sums behind a correlation: w, wx, wy, wx², wy², wxy."""
_LEAST = 1e-12
"""Share of a sum of squares below which a variance is rounding error."""


def jackknifed(sums: Floats, statistic: Callable[[Floats], Floats]) -> Figure:
    """Compute a statistic of totals with its jackknife standard error over queries.

    The standard error is NaN with fewer than two queries, or if the statistic is not finite without one of them.

    Parameters
    ----------
    sums : ndarray, shape (n_queries, k)
        Each query's contribution to the totals.
    statistic : callable
        Maps totals, shape (n, k), to the statistic of each row.

    Examples
    --------
    >>> figure = jackknifed(np.array([[1.0, 2.0], [3.0, 4.0], [2.0, 2.0]]), ratios)
    >>> round(figure.value, 3), round(figure.se, 3)
    (0.75, 0.096)
    """
    m, total = len(sums), sums.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(statistic(total[None, :])[0])
        without = statistic(total - sums)
    if m < 2 or not np.isfinite(without).all():
        return Figure(value)
    return Figure(value, math.sqrt((m - 1) / m * float(((without - without.mean()) ** 2).sum())))


def ratios(totals: Floats) -> Floats:
    """Divide the first total by the second in each row of ``totals`` (n, 2 or more), shape (n,)."""
    return np.asarray(totals[:, 0] / totals[:, 1])


def weighted_mean(values: Floats, weights: Floats, queries: Ints) -> Figure:
    """Compute the weighted mean of items, with its standard error clustered by query.

    ``queries`` is the query of each item; all arrays have shape (n,).

    Examples
    --------
    >>> weighted_mean(np.array([1.0, 4.0]), np.array([2.0, 1.0]), np.array([0, 1])).value
    2.0
    """
    return jackknifed(by_query([weights * values, weights], queries), ratios)


def correlation(x: Floats, y: Floats, weights: Floats, queries: Ints) -> Figure:
    """Compute the weighted correlation of x and y over items; NaN if one of them is constant.

    ``queries`` is the query of each item; all arrays have shape (n,). The standard error is clustered by query.
    """
    return jackknifed(_moments(x, y, weights, queries), _correlations)


def slope(x: Floats, y: Floats, weights: Floats, queries: Ints) -> Figure:
    """Compute the weighted slope of y on x over items; NaN if x is constant.

    Its standard error is the linearised one: the square root of Σ_q (Σ w x e)², over Σ w x², with e the residuals.
    ``queries`` is the query q of each item; all arrays have shape (n,).
    """
    if not np.ptp(x):
        return Figure(math.nan)
    x, y = (column - np.average(column, weights=weights) for column in (x, y))
    spread = float(weights @ x**2)
    steepness = float(weights @ (x * y)) / spread
    of_queries = np.bincount(queries, weights * x * (y - steepness * x))
    return Figure(steepness, float(np.sqrt(of_queries @ of_queries)) / spread)


def share_between(residuals: Floats, weights: Floats, queries: Ints) -> Figure:
    """Compute the intraclass correlation of residuals: the share of their variance common to items of a query.

    It is the mean product of two different items of a query, divided by the mean square. It is below 0 if items of a
    query differ more than by chance. ``queries`` is the query of each item; all arrays have shape (n,).
    """
    plain = by_query([weights * residuals, weights, weights * residuals**2], queries)
    squares = by_query([(weights * residuals) ** 2, weights**2], queries)
    # sums over pairs of different items: the square of a sum minus the sum of squares
    pairs = plain[:, :2] ** 2 - squares
    return jackknifed(np.column_stack((pairs, plain[:, 2], plain[:, 1])), _shares_between)


def by_query(columns: list[Floats], queries: Ints) -> Floats:
    """Sum k columns of items, shape (n,) each, by query; one row for each query that occurs, (n_queries, k)."""
    owners = np.unique(queries, return_inverse=True)[1]
    return np.column_stack([np.bincount(owners, column) for column in columns])


def _moments(x: ArrayLike, y: ArrayLike, weights: Floats, queries: Ints) -> Floats:
    """Sum w, wx, wy, wx², wy² and wxy of two centred columns by query, shape (n_queries, 6)."""
    first, second = (np.asarray(column, dtype=np.float64) for column in (x, y))
    first, second = first - first.mean(), second - second.mean()  # limits cancellation in differences of squares
    products = (np.ones_like(first), first, second, first**2, second**2, first * second)
    return by_query([weights * product for product in products], queries)


def _centred(totals: Floats) -> tuple[Floats, Floats, Floats]:
    """Compute Var x, Var y and Cov(x, y), each times Σ w and of shape (n,), from rows of totals, shape (n, 6).

    The columns are the sums over items of w, wx, wy, wx², wy² and wxy. A variance is NaN if its column is constant.
    """
    w, x, y, xx, yy, xy = totals.T.reshape(_PARTS, -1)
    of_x, of_y = xx - x**2 / w, yy - y**2 / w
    # a constant column leaves only rounding error
    return np.where(of_x > _LEAST * xx, of_x, np.nan), np.where(of_y > _LEAST * yy, of_y, np.nan), xy - x * y / w


def _correlations(totals: Floats) -> Floats:
    """Compute the correlation, (n,), from each row of totals w, wx, wy, wx², wy², wxy, shape (n, 6)."""
    of_x, of_y, both = _centred(totals)
    return np.asarray(both / np.sqrt(of_x * of_y))


def _shares_between(totals: Floats) -> Floats:
    """Compute the intraclass correlation from each row of totals (n, 4), shape (n,).

    With weights w and residuals e, the columns are Σ w e w' e' and Σ w w' over pairs of different items of a query, and
    Σ w e² and Σ w over items: the mean product of two items over the mean square.
    """
    products, pairs, squares, weights = totals.T
    return np.asarray((products / pairs) / (squares / weights))
