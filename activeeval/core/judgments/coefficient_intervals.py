"""Coefficients of agreement with intervals by the bootstrap over queries.

The intervals are bias-corrected (Efron 1981), as wide for few queries as Student's t is (Hesterberg 2015), and contain
the value: where all resamples lie on one side of it they reach as far as the value itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from activeeval.core.checks import strict_share, whole_number
from activeeval.core.types import Floats, Ints

Seed = np.random.Generator | int | None
Statistic = Callable[[Floats], float | None]

_ROUNDING = 1e-12
"""By how much a resample may be off the value that is the same number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient:
    """A coefficient of agreement; None is what is not defined.

    Attributes
    ----------
    value : float or None
    low, high : float or None
        Ends of the interval; None with one query, or where resamples leave the coefficient undefined.
    n : int
        Pairs of items, or items, that it rests on.
    raw_agreement : float or None
        Mean share of the pairs of judges of an item, or of a pair of items, that say the same of it.
    base_rate : float or None
        Share of the commonest answer among all answers that are compared: what a judge who always gives it has in
        common with them.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    raw_agreement: float | None
    base_rate: float | None

    @property
    def why_undefined(self) -> str:
        """Why there is no value: nothing to compare, or one answer only; empty where there is one."""
        if self.value is not None:
            return ""
        return "one answer only" if self.n else "nothing judged by several"


def compared(table: Ints | Floats) -> tuple[int, float | None, float | None]:
    """Count what two judges say, and compute how often they say the same and how common the commonest answer is."""
    n = int(table.sum())
    if not n:
        return 0, None, None
    return n, float(np.trace(table) / n), float((table.sum(axis=0) + table.sum(axis=1)).max() / (2 * n))


def resamples(n_queries: int, confidence: float, n_resamples: int, rng: Seed) -> Floats:
    """Return how often each query is drawn, shape (n_resamples, n_queries)."""
    strict_share(confidence, "confidence")
    n_resamples = whole_number(n_resamples, "n_resamples", 1)
    random = np.random.default_rng(rng)
    return random.multinomial(n_queries, np.full(n_queries, 1 / n_queries), size=n_resamples).astype(np.float64)


def coefficient(
    statistic: Statistic,
    draws: Floats,
    confidence: float,
    n: int,
    raw: float | None,
    base_rate: float | None,
) -> Coefficient:
    n_queries = draws.shape[1]
    value = statistic(np.ones(n_queries))
    resampled = [statistic(times) for times in draws] if value is not None and n_queries > 1 else [None]
    defined = np.array([resample for resample in resampled if resample is not None])
    low = high = None
    if value is not None and defined.size == len(resampled):
        low, high = _bias_corrected(value, defined, n_queries, confidence)
    return Coefficient(value=value, low=low, high=high, n=n, raw_agreement=raw, base_rate=base_rate)


def _bias_corrected(value: float, resampled: Floats, n_queries: int, confidence: float) -> tuple[float, float]:
    """Compute the ends of the bias-corrected interval, which contain the value.

    The share of resamples below the value, those at the value by halves, says how far their median is off. At 95 %
    intervals without the widening held alpha in .88 of the samples of 8 queries with 3 items each, with it in .93; of
    15 in .91 and .93.
    """
    resampled = np.where(np.abs(resampled - value) < _ROUNDING, value, resampled)
    share = (np.mean(resampled < value) + np.mean(resampled <= value)) / 2
    least = 0.5 / resampled.size
    shift = ndtri(np.clip(share, least, 1 - least))
    half = np.sqrt(n_queries / (n_queries - 1)) * stdtrit(n_queries - 1, (1 + confidence) / 2)
    low, high = np.quantile(resampled, ndtr([2 * shift - half, 2 * shift + half]))
    return min(float(low), value), max(float(high), value)
