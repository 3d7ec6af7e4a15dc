"""Tests whether a judge skips relevant items more often than others, which biases an estimate.

The bias arises if nobody else judges the skipped items. Of the items shown to a judge, some were skipped (deferred, or
declared impossible to judge); for some, relevance is known by now. There are two tests of "relevant items are skipped
as often as others":

- Fisher's exact test of the items, one-sided: P(at least as many relevant items among the skipped | the four
  margins). Exact if the judge skips items independently.
- Queries in place of items: u_q = Σ (s − s̄)(r − r̄) over the items of query q, with s (skipped) and r (relevant) 0 or
  1, and t = Σ u / √(n Σ (u − ū)² / (n − 1)). It remains valid if whole queries are skipped, with all their relevant
  items. Degrees of freedom are (Σ v)² / Σ v² with v = (u − ū)²: few queries have a skipped item.

The result is the larger of the two p-values, so that the false alarm rate holds for both patterns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, logsumexp, stdtr

from activeeval.core.errors import InputError

FALSE_ALARMS = 0.05
"""Largest probability that any judge is named in a campaign whose judges do not skip relevant items more often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipping:
    """Items that a judge skipped (deferred, or declared impossible to judge), with the test result.

    Attributes
    ----------
    n_relevant, n_other : int
        Number of relevant and of other items shown to the judge.
    skipped_relevant, skipped_other : int
        Number of skipped ones among them.
    p_value : float
        P-value of the null hypothesis that relevant items are not skipped more often than others.
    """

    n_relevant: int
    n_other: int
    skipped_relevant: int
    skipped_other: int
    p_value: float

    def is_suspect(self, n_judges: int) -> bool:
        """Check whether p is below `FALSE_ALARMS` divided by the number of judges (Bonferroni)."""
        return self.p_value < FALSE_ALARMS / max(n_judges, 1)


def skipping_of(queries: ArrayLike, is_relevant: ArrayLike, is_skipped: ArrayLike) -> Skipping:
    """Test whether a judge skips relevant items more often; the arrays have one entry per shown item.

    The p-value is the larger of Fisher's exact test over items and a t test over ``queries`` (names or numbers), which
    stays valid if whole queries are skipped. Raises InputError if the arrays differ in shape.

    Examples
    --------
    >>> queries, relevant = np.repeat(np.arange(20), 5), np.tile([1, 0, 0, 0, 0], 20)
    >>> found = skipping_of(queries, relevant, relevant * (queries < 8))
    >>> found.skipped_relevant, found.n_relevant, found.is_suspect(3)
    (8, 20, True)
    """
    query, relevant, skipped = np.asarray(queries), np.asarray(is_relevant, bool), np.asarray(is_skipped, bool)
    if not query.shape == relevant.shape == skipped.shape or query.ndim != 1:
        raise InputError(
            f"expected arrays of one entry for each item, got {query.shape}, {relevant.shape} and {skipped.shape}"
        )
    both = int((relevant & skipped).sum())
    n, n_relevant, n_skipped = relevant.size, int(relevant.sum()), int(skipped.sum())
    by_items = _by_items(n, n_relevant, n_skipped, both)
    return Skipping(
        n_relevant=n_relevant,
        n_other=n - n_relevant,
        skipped_relevant=both,
        skipped_other=n_skipped - both,
        p_value=max(by_items, _by_queries(query, relevant, skipped)),
    )


def _by_items(n: int, n_relevant: int, n_skipped: int, both: int) -> float:
    """Compute P(at least `both` of the skipped items are relevant) by the hypergeometric distribution.

    Of ``n`` items ``n_relevant`` are relevant and ``n_skipped`` are skipped. ``scipy.stats`` provides it too, but takes
    half a second to import.
    """
    if both <= max(0, n_skipped - (n - n_relevant)):
        return 1.0
    k = np.arange(both, min(n_relevant, n_skipped) + 1)
    ways = _log_choices(n_relevant, k) + _log_choices(n - n_relevant, n_skipped - k)
    return min(1.0, math.exp(logsumexp(ways) - _log_choices(n, n_skipped)))


def _log_choices(n: int, k: Any) -> Any:
    """Compute the log of the binomial coefficient n over k."""
    return gammaln(n + 1) - gammaln(np.add(k, 1)) - gammaln(np.subtract(n, k) + 1)


def _by_queries(query: np.ndarray, relevant: np.ndarray, skipped: np.ndarray) -> float:
    """Compute the p-value of a t test over queries; 1 if fewer than two queries have a skipped item.

    u_q = Σ (s − s̄)(r − r̄) over a query's items, s skipped and r relevant (0 or 1), has mean 0 if relevant items are
    skipped as often as others.
    """
    _, code = np.unique(query, return_inverse=True)
    n = int(code.max(initial=-1)) + 1
    n_with = int(np.unique(code[skipped]).size)
    if n_with < 2:
        return 1.0
    u = np.bincount(code, (skipped - skipped.mean()) * (relevant - relevant.mean()), minlength=n)
    squares = (u - u.mean()) ** 2
    total = float(squares.sum())
    if total == 0:
        return 1.0 if u.sum() <= 0 else 0.0
    return float(stdtr(total**2 / float(squares @ squares), -float(u.sum()) / math.sqrt(n * total / (n - 1))))
