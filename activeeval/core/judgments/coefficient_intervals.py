"""Confidence intervals for agreement: bootstrap over queries for coefficients; intervals of mean grade differences.

Intervals of coefficients are bias-corrected (Efron 1981), widened for few queries as Student's t is (Hesterberg 2015),
and contain the value: if all resamples lie on one side of it, they extend to the value.

If two judges are equally strict, each is as likely as the other to grade a query higher by a given amount. The means
over all subsets of the queries are then typical values (Hartigan 1969): 0 lies in each of the gaps between them with
the same probability, for any number of items per query, so a 95 % interval excludes it at most once in twenty times.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from activeeval.core.checks import strict_share, whole_number
from activeeval.core.types import Floats, Ints

Seed = np.random.Generator | int | None
Statistic = Callable[[Floats], float | None]

_ROUNDING = 1e-12
"""Largest rounding error of a resample that equals the value."""
_MOST_LISTED = 11
"""Largest number of units for which all 2,047 subsets are listed; beyond it, random subsets are used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient:
    """A coefficient of agreement; None for undefined numbers.

    Attributes
    ----------
    value : float or None
    low, high : float or None
        Ends of the interval; None for one query, or if the coefficient is undefined in a resample.
    n : int
        Number of pairs of items, or of items, in the computation.
    raw_agreement : float or None
        Mean share of the pairs of judges of an item, or of a pair of items, with equal answers.
    base_rate : float or None
        Share of the most frequent answer among all compared answers: the agreement of a judge who always gives it.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    raw_agreement: float | None
    base_rate: float | None

    @property
    def why_undefined(self) -> str:
        """Reason why there is no value: nothing to compare, or only one distinct answer; empty if there is a value."""
        if self.value is not None:
            return ""
        return "one answer only" if self.n else "nothing judged by several"


def compared(table: Ints | Floats) -> tuple[int, float | None, float | None]:
    """Summarize a table of two judges' answers, shape (k, k); return ``(number of pairs, raw agreement, base rate)``.

    Raw agreement is the share with equal answers, the base rate that of the most frequent answer; None without any.
    """
    n = int(table.sum())
    if not n:
        return 0, None, None
    return n, float(np.trace(table) / n), float((table.sum(axis=0) + table.sum(axis=1)).max() / (2 * n))


def resamples(n_queries: int, confidence: float, n_resamples: int, rng: Seed) -> Floats:
    """Draw bootstrap samples of the queries: how often each query is drawn, shape (n_resamples, n_queries).

    Raises InputError if the confidence does not lie strictly between 0 and 1, or there is no resample.
    """
    strict_share(confidence, "confidence")
    n_resamples = whole_number(n_resamples, "n_resamples", 1)
    random = np.random.default_rng(rng)
    return random.multinomial(n_queries, np.full(n_queries, 1 / n_queries), size=n_resamples).astype(np.float64)


def coefficient(
    statistic: Statistic, draws: Floats, confidence: float, n: int, raw: float | None, base_rate: float | None
) -> Coefficient:
    """Compute a coefficient of agreement and its bootstrap interval over queries.

    Parameters
    ----------
    statistic : callable
        Maps how often each query counts, shape (n_queries,), to the value; None if it is undefined.
    draws : ndarray, shape (n_resamples, n_queries)
        Bootstrap samples by `resamples`.
    n : int
        Number of pairs of items, or of items, in the computation.
    raw, base_rate : float or None
        Share of equal answers, and share of the most frequent answer; copied to the result.
    """
    n_queries = draws.shape[1]
    value = statistic(np.ones(n_queries))
    resampled = [statistic(times) for times in draws] if value is not None and n_queries > 1 else [None]
    defined = np.array([resample for resample in resampled if resample is not None])
    low = high = None
    if value is not None and defined.size == len(resampled):
        low, high = _bias_corrected(value, defined, n_queries, confidence)
    return Coefficient(value=value, low=low, high=high, n=n, raw_agreement=raw, base_rate=base_rate)


def _bias_corrected(value: float, resampled: Floats, n_queries: int, confidence: float) -> tuple[float, float]:
    """Compute the ends of the bias-corrected bootstrap interval (Efron 1981), which contains the value.

    ``resampled`` (n_resamples,) are the values of bootstrap samples of the queries.

    The share of resamples below the value, plus half of those equal to it, measures their median bias. In simulations,
    95 % intervals covered alpha in .88 of the samples of 8 queries with 3 items each without the widening, and in .93
    with it; for 15 queries in .91 and .93.
    """
    resampled = np.where(np.abs(resampled - value) < _ROUNDING, value, resampled)
    share = (np.mean(resampled < value) + np.mean(resampled <= value)) / 2
    least = 0.5 / resampled.size
    shift = ndtri(np.clip(share, least, 1 - least))
    half = np.sqrt(n_queries / (n_queries - 1)) * stdtrit(n_queries - 1, (1 + confidence) / 2)
    low, high = np.quantile(resampled, ndtr([2 * shift - half, 2 * shift + half]))
    return min(float(low), value), max(float(high), value)


class Difference(NamedTuple):
    """A mean difference of grades, and the ends of its interval; None if there are too few units."""

    value: float
    low: float | None
    high: float | None


def least_units(confidence: float) -> int:
    """Compute the smallest number n of units (queries or items) from which `mean_difference` gives an interval.

    One of the 2^n choices of signs must be rarer than each tail.

    Examples
    --------
    >>> least_units(0.95), least_units(0.5)
    (6, 2)
    """
    return math.ceil(math.log2(2 / (1 - confidence)) - 1e-9)


def mean_difference(
    differences: Floats, query: Ints, confidence: float, n_parts: int, rng: np.random.Generator
) -> Difference:
    """Estimate the mean difference between the grades of two judges for the same items, with an interval.

    Its ends are quantiles of the means over subsets of units (Hartigan 1969).

    The units are queries, as grades within a query are correlated. If there are too few queries for an interval, the
    units are items, and the interval applies to items like these of the same queries.

    Parameters
    ----------
    differences : ndarray, shape (n_items,)
        Grade of the first judge minus that of the second.
    query : ndarray of int64, shape (n_items,)
        Index of each item's query.
    n_parts : int
        Number of random subsets, if there are too many units to list all subsets.

    Examples
    --------
    >>> ten = np.arange(10)
    >>> mean_difference(np.full(10, -1.0), ten, 0.95, 1000, np.random.default_rng(0))
    Difference(value=-1.0, low=-1.0, high=-1.0)
    """
    value = float(differences.mean())
    units = np.unique(query, return_inverse=True)[1]
    if units.max() + 1 < least_units(confidence):
        units = np.arange(differences.size)
    sizes = np.bincount(units).astype(np.float64)
    sums = np.bincount(units, differences).astype(np.float64)
    means = np.sort(_part_means(sums, sizes, n_parts, rng))
    # the ends are the k-th smallest and the k-th largest of these means
    k = math.floor((1 - confidence) / 2 * (means.size + 1) + 1e-9)
    if k < 1 or sizes.size < least_units(confidence):
        return Difference(value, None, None)
    return Difference(value, min(float(means[k - 1]), value), max(float(means[-k]), value))


def _part_means(sums: Floats, sizes: Floats, n_parts: int, rng: np.random.Generator) -> Floats:
    """Compute the means over all nonempty subsets of the units; over random subsets and their complements if too many.

    ``sums`` and ``sizes`` (n_units,) are the total and the number of differences of each unit, ``n_parts`` the number
    of random subsets.
    """
    n = sizes.size
    if n <= _MOST_LISTED:
        is_in = (np.arange(1, 1 << n)[:, None] >> np.arange(n)) & 1
    else:
        half = rng.integers(0, 2, size=(max(n_parts // 2, 1), n))
        # without the empty and the full set
        half = half[(half.min(axis=1) == 0) & (half.max(axis=1) == 1)]
        is_in = np.concatenate([half, 1 - half])
    means: Floats = is_in @ sums / (is_in @ sizes)
    return means
