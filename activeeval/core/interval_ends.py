"""Ends of the default interval of a mean, and the p value that agrees with it: the only place that computes them.

*Differences*: t, R̂ ± t se. *One ranking* by a measure with two limits: t on the scale ln((R − lowest) / (highest −
R)), whose ends are transformed back, with the upper side longer by 1 / degrees of freedom. A ranking's value is skewed
and its variance grows with it, so that t misses on one side. For n = 10, 20, 30, 50, 100 queries drawn from OHSUMED's,
Robust's and LightGBM's, t covers .932, .940, .944, .947, .945 with a larger tail of .045 to .031; this scale, at .97 to
1.00 of the width, .951, .956, .955, .954, .948 with .032, .022, .022, .024, .026. A skewness correction (Johnson 1978)
does as well and needs third moments; the arcsine lies between the two.

*Few different values*: if most of n values are equal to c, and few differ, t misses on one side:
with 40 queries of which truly 2 % change it covers .56, and if none differs it has zero width. The shares of values
below and above c, p̂₋ and p̂₊, have Wilson's limits l and u, and their mean distances from c are s₋ and s₊; with one
additional value at the limit of the measure they are s̄₋ and s̄₊. By the method of variance estimates recovery
(Zou, Donner 2008)

    low  = d̄ − sqrt(((p̂₊ − l₊) s₊)² + ((u₋ − p̂₋) s̄₋)² + E²),
    high = d̄ + sqrt(((u₊ − p̂₊) s̄₊)² + ((p̂₋ − l₋) s₋)² + E²),    E² = z² ((p̂₋ se(s₋))² + (p̂₊ se(s₊))²).

Without E, the variation of sizes, reciprocal ranks of which 10 % of 200 fall miss on one side in .054. On each side the
interval takes the farther end of both, and lies inside the limits of the measure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from activeeval.core.checks import strict_share
from activeeval.core.errors import InputError
from activeeval.core.types import Floats

UNLIMITED = (-math.inf, math.inf)
"""Limits of an unbounded value."""
ROUNDING = 1e-12
"""Values that differ by less than this share of the largest one are the same."""
STRETCH = 1.0
"""Relative extension of the upper side of one ranking's interval, divided by the degrees of freedom, because with few
dominant queries a low R̂ comes with a low V̂. Of 0, .5, 1 and 1.5 the least with which at most one in twenty cells of 30
to 50 queries covers below .92 (168 cells of benchmarks/coverage_cells.py, one ranking, forest and uniform, 200
repetitions: 7.7, 6.0, 4.8 and 2.4 %; upper ends lie below the true value in .025, .021, .018 and .015)."""
_FARTHEST_EXPONENT = 500.0
"""Exponent beyond which an end equals the lowest or highest value in all digits."""
_FARTHEST = 38.0
"""Standard normal quantile beyond which tail probabilities underflow."""


def t_quantile(confidence: float, degrees_of_freedom: float | Floats) -> Floats:
    """Compute the two-sided Student-t quantile for a confidence, as an array of floats.

    Raises InputError if the confidence does not lie strictly between 0 and 1.
    """
    from scipy.special import stdtrit  # imported here because scores do not need SciPy

    strict_share(confidence, "confidence")
    return np.asarray(stdtrit(degrees_of_freedom, 0.5 + confidence / 2), dtype=np.float64)


def wilson_limits(share: float, n: float, z: float) -> tuple[float, float]:
    """Compute Wilson's score limits of a ``share`` observed in ``n`` draws, z the two-sided normal quantile.

    Examples
    --------
    >>> low, high = wilson_limits(0.0, 40, 1.96)
    >>> low, round(high, 4)
    (0.0, 0.0876)
    """
    centre, room = share + z**2 / (2 * n), z * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    low, high = (centre - room) / (1 + z**2 / n), (centre + room) / (1 + z**2 / n)
    return (0.0 if share == 0 else max(low, 0.0)), (1.0 if share == 1 else min(high, 1.0))


def half_widths(variances: Floats, degrees: Floats, confidence: float) -> Floats:
    """Compute t half-widths of estimates from their variances and degrees of freedom, arrays of one shape.

    The half-width is infinite if the variance is, or if no degree of freedom is left; 0 if the variance is 0. Degrees
    between 0 and 1 count as 1. Raises InputError if the confidence does not lie strictly between 0 and 1.

    Examples
    --------
    >>> half_widths(np.array([0.01, 0.04]), np.array([29.0, 29.0]), 0.95).round(3)
    array([0.205, 0.409])
    """
    strict_share(confidence, "confidence")
    knows = np.isfinite(variances) & (degrees > 0) & (variances > 0)
    with np.errstate(invalid="ignore"):
        half = t_quantile(confidence, np.maximum(degrees, 1.0)) * np.sqrt(variances)
    return np.asarray(np.where(variances == 0, 0.0, np.where(knows, half, np.inf)))


def default_ends(
    values: Floats, variances: Floats, degrees: Floats, confidence: float, limits: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Compute both ends of the default intervals of estimates: t intervals, inside the limits of the measure.

    With limits that are finite and not symmetric (one ranking's value) t is applied on the scale
    ln((value − lowest) / (highest − value)), and the upper side is longer by 1 / degrees of freedom.

    Parameters
    ----------
    values, variances, degrees : ndarray
        Estimates, their variances and degrees of freedom, of one shape; a variance may be 0 or infinite.
    limits : (float, float)
        Lowest and highest possible value; an estimate beyond them gets the interval of the nearest limit.

    Returns
    -------
    (ndarray, ndarray)
        Lower and upper ends.

    Raises
    ------
    InputError
        If the confidence does not lie strictly between 0 and 1.

    Examples
    --------
    >>> low, high = default_ends(np.array([0.1, 0.5]), np.array([0.0016, 0.0016]), np.array([49.0, 49.0]), 0.95, (0, 1))
    >>> low.round(3), high.round(3)
    (array([0.044, 0.42 ]), array([0.216, 0.581]))
    """
    half, values = half_widths(variances, degrees, confidence), inside(values, limits)
    lows, highs = values - half, values + half
    least, most = limits
    if math.isfinite(most - least) and least != -most:  # symmetric limits mean a difference: plain t
        scaled = (values > least) & (values < most) & (half > 0) & np.isfinite(half)
        below, above = np.where(scaled, values - least, 1.0), np.where(scaled, most - values, 1.0)
        steps = np.where(scaled, half, 0.0) * (1 / below + 1 / above)
        odds, factor = below / above, np.exp(np.minimum(steps, _FARTHEST_EXPONENT))
        by_logit = [least + (most - least) * odds * by / (1 + odds * by) for by in (1 / factor, factor)]
        stretch = 1 + STRETCH / np.maximum(degrees, 1.0)
        lows = np.where(scaled, by_logit[0], lows)
        highs = np.where(scaled, values + (by_logit[1] - values) * stretch, highs)
    return inside(lows, limits), inside(highs, limits)


def _mean(sizes: Floats, weights: Floats) -> tuple[float, float]:
    """Compute the weighted mean of ``sizes`` and its standard error; (0, 0) of no values, (mean, 0) of a single one."""
    if not sizes.size:
        return 0.0, 0.0
    mean, n = float(np.average(sizes, weights=weights)), float(weights.sum() ** 2 / (weights**2).sum())
    if n <= 1 + ROUNDING:
        return mean, 0.0
    return mean, math.sqrt(float(np.average((sizes - mean) ** 2, weights=weights)) / (n - 1))


def inside(ends: Floats, limits: tuple[float, float]) -> Floats:
    """Move ``ends`` (interval ends or values) that exceed the limits by more than rounding to the nearest limit."""
    rounding = ROUNDING * np.where(np.isfinite(ends), np.maximum(np.abs(ends), 1.0), 0.0)
    lifted = np.where(ends < limits[0] - rounding, limits[0], ends)
    return np.asarray(np.where(lifted > limits[1] + rounding, limits[1], lifted))


def _central(frequent: Floats, values: Floats, digits: float) -> float:
    """Choose among the most frequent values the one nearest to the median of ``values``.

    Of equally near ones it is the smallest in size, and of two of the same size the one with the sign of the mean, so
    that negating all values negates the result. ``digits`` is the difference below which values are the same.
    """
    off = np.abs(frequent - np.median(values))
    nearest = frequent[off <= off.min() + digits]
    small = nearest[np.abs(nearest) <= np.abs(nearest).min() + digits]
    return float(small.max() if values.mean() >= 0 else small.min())


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Shares of values below and above the most frequent one (the mode), with their mean distances from it.

    Attributes
    ----------
    n : float
        Number of values; with unequal weights the effective number (Σ w)² / Σ w².
    mode : float
        The most frequent value, by weight; of several the one nearest to the median.
    below, above : float
        Shares of the values on either side.
    size_below, size_above : float
        Their mean distances from the mode; 0 without such values.
    error_below, error_above : float
        Standard errors of these; 0 of a single one.
    largest : float
        Largest share of the values' variance due to a single value.

    Examples
    --------
    >>> shares = Shares.of(np.array([0.0, 0.0, 0.0, -0.5, -1.0]))
    >>> shares.mode, shares.below, shares.size_below, shares.above
    (0.0, 0.4, 0.75, 0.0)
    """

    n: float
    mode: float
    below: float
    above: float
    size_below: float
    size_above: float
    error_below: float = 0.0
    error_above: float = 0.0
    largest: float = 0.0

    @classmethod
    def of(cls, values: Floats, weights: Floats | None = None) -> Self:
        """Find the mode of values, and the shares and mean distances of the values on either side of it.

        Values that differ only by rounding are the same.

        Parameters
        ----------
        values : ndarray, shape (n,)
        weights : ndarray, shape (n,), optional
            Positive, in any unit; equal by default.

        Raises
        ------
        InputError
            If there are no values.
        """
        if not values.size:
            raise InputError("shares need at least one judged value: judge a query first")
        if weights is None or np.ptp(weights) <= ROUNDING * weights.max():
            weights = np.ones(values.size)  # equal weights become exact counts
        digits = ROUNDING * max(float(np.abs(values).max()), np.finfo(float).tiny)
        whole = np.round(values / digits) if np.ptp(values) > digits else np.zeros(values.size)
        _, first_of, group = np.unique(whole, return_index=True, return_inverse=True)
        group_weights, total = np.bincount(group, weights), float(weights.sum())
        frequent = values[first_of[group_weights >= group_weights.max() * (1 - ROUNDING)]]
        mode = _central(frequent, values, digits)
        beyond = values - mode
        is_below, is_above = beyond < -digits, beyond > digits
        squares = weights**2 * (values - np.average(values, weights=weights)) ** 2
        # if most queries change by the same amount, the variance of the others is irrelevant
        n_beyond = np.count_nonzero(is_below | is_above)
        has_spread = n_beyond > 0 and (abs(mode) <= digits or 2 * n_beyond >= values.size)
        size_below, error_below = _mean(-beyond[is_below], weights[is_below])
        size_above, error_above = _mean(beyond[is_above], weights[is_above])
        return cls(
            n=total**2 / float(weights @ weights),
            mode=mode,
            below=float(weights[is_below].sum()) / total,
            above=float(weights[is_above].sum()) / total,
            size_below=size_below,
            size_above=size_above,
            error_below=error_below,
            error_above=error_above,
            largest=float(squares.max() / squares.sum()) if has_spread else 0.0,
        )

    def reaches(self, limits: tuple[float, float], z: float) -> tuple[float, float]:
        """Compute the lengths of the interval below and above the mean; return ``(down, up)``.

        The interval recovers the variance from Wilson's limits of the shares of values `below` and `above` the most
        frequent one (Zou and Donner 2008; see the module), and includes the standard errors of their mean distances
        from it. Where a share may be larger, one additional value at the limit of the measure is assumed.
        ``limits`` are the lowest and highest possible value, ``z`` is the two-sided normal quantile.
        """
        (least_below, most_below), (least_above, most_above) = (
            wilson_limits(share, self.n, z) for share in (self.below, self.above)
        )
        n_below, n_above = self.n * self.below, self.n * self.above
        far_below = (n_below * self.size_below + self.mode - limits[0]) / (n_below + 1)
        far_above = (n_above * self.size_above + limits[1] - self.mode) / (n_above + 1)
        sizes = z * math.hypot(self.below * self.error_below, self.above * self.error_above)
        down = math.hypot((self.above - least_above) * self.size_above, (most_below - self.below) * far_below, sizes)
        up = math.hypot((most_above - self.above) * far_above, (self.below - least_below) * self.size_below, sizes)
        return down, up

    def p_value(self, value: float, limits: tuple[float, float]) -> float:
        """Find the smallest α whose interval around the mean ``value`` excludes 0, by bisection of the normal quantile.

        ``limits`` are the lowest and highest possible value.
        """
        from scipy.special import ndtr

        side, low, high = (0 if value > 0 else 1), 0.0, _FARTHEST
        if value == 0:
            return 1.0
        for _ in range(60):
            z = (low + high) / 2
            low, high = (z, high) if self.reaches(limits, z)[side] < abs(value) else (low, z)
        return min(1.0, float(2 * ndtr(-low)))


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalBasis:
    """Inputs of the default interval of a mean.

    Attributes
    ----------
    value, std_error, degrees_of_freedom : float
        The estimate, its standard error (infinite if unknown) and its degrees of freedom.
    limits : tuple of float
        Lowest and highest possible value.
    shares : Shares or None
        Shares of the queries' values, if all are known; None otherwise.
    inner : IntervalBasis or None
        Basis of a narrower scope, as the pool is of its population: its interval lies within this one on each side.

    Examples
    --------
    >>> all_lost = IntervalBasis(value=-1.0, std_error=0.0, degrees_of_freedom=39, limits=(-1.0, 1.0),
    ...                          shares=Shares.of(np.full(40, -1.0)))
    >>> low, high = all_lost.ends(0.95)
    >>> low, round(high, 2), all_lost.p_value < 1e-9
    (-1.0, -0.82, True)
    """

    value: float
    std_error: float
    degrees_of_freedom: float
    limits: tuple[float, float] = UNLIMITED
    shares: Shares | None = None
    inner: IntervalBasis | None = None

    @property
    def largest(self) -> float:
        """Largest share of the values' variance due to a single value, if the values are known; else 0."""
        return 0.0 if self.shares is None else self.shares.largest

    @property
    def _nearest(self) -> float:
        """The value, or the limit that it exceeds, so that intervals start within the limits."""
        return float(inside(np.array(self.value), self.limits))

    @property
    def _bounded_shares(self) -> Shares | None:
        """Shares of the values, if the measure has two finite limits; else None."""
        return self.shares if all(map(math.isfinite, self.limits)) else None

    def ends(self, confidence: float) -> tuple[float, float]:
        """Compute both ends of the interval at a confidence; return ``(low, high)``.

        It contains the interval of `inner`, the basis of a narrower scope, and lies within the limits of the measure.
        Raises InputError if the confidence does not lie strictly between 0 and 1.
        """
        variance, freedom = np.array(self.std_error**2), np.array(self.degrees_of_freedom)
        both = default_ends(np.array(self.value), variance, freedom, confidence, self.limits)
        low, high = (float(end) for end in both)
        if self._bounded_shares is not None:
            from scipy.special import ndtri

            down, up = self._bounded_shares.reaches(self.limits, float(ndtri(0.5 + confidence / 2)))
            low, high = min(low, self._nearest - down), max(high, self._nearest + up)
        if self.inner is not None:
            inner = self.inner.ends(confidence)
            low, high = min(low, inner[0]), max(high, inner[1])
        low, high = (float(inside(np.array(end), self.limits)) for end in (low, high))
        return low, high

    @property
    def p_value(self) -> float:
        """Smallest α whose interval excludes 0: the largest p value of the t test, the shares and the inner basis."""
        p = self._t_value
        if self._bounded_shares is not None:
            p = max(p, self._bounded_shares.p_value(self._nearest, self.limits))
        return p if self.inner is None else max(p, self.inner.p_value)

    @property
    def _t_value(self) -> float:
        """Two-sided p value of the t test of 0; 1 without a finite standard error or degrees of freedom."""
        if self.std_error == 0:
            return 0.0 if self.value != 0 else 1.0
        if not math.isfinite(self.std_error) or self.degrees_of_freedom <= 0:
            return 1.0
        from scipy.special import stdtr

        return float(2 * stdtr(max(self.degrees_of_freedom, 1.0), -abs(self._nearest) / self.std_error))
