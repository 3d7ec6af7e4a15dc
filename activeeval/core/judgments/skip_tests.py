"""Does a judge skip relevant items more than others? Who does, and nobody else judges them, moves an estimate.

Of the items that a judge was shown some were skipped (put off, or said not to be judgeable), and of some it is known by
now whether they are relevant. Two tests, each against "skips relevant items as often as others":

- Fisher's exact test of the items, one-sided: P(as many relevant ones among the skipped | the four margins). Exact
  where the judge skips each item for itself.
- Queries in place of items: u_q = Σ (s − s̄)(r − r̄) over the items of query q, with s and r 0 or 1, and
  t = Σ u / √(n Σ (u − ū)² / (n − 1)). It stays right where whole queries are skipped, which have all their relevant
  items in common. Degrees of freedom are (Σ v)² / Σ v² with v = (u − ū)²: few queries have a skipped item.

The larger of the two p-values is the answer, so that neither kind of chance names a judge too often.
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
"""How often, of campaigns without a judge who skips relevant items, any judge is named at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipping:
    """What a judge skipped.

    Attributes
    ----------
    n_relevant, n_other : int
        Items that the judge was shown and that are relevant, and that are not.
    skipped_relevant, skipped_other : int
        How many of them were skipped.
    p_value : float
        Of the test that relevant ones are not skipped more often than others.
    """

    n_relevant: int
    n_other: int
    skipped_relevant: int
    skipped_other: int
    p_value: float

    def is_suspect(self, n_judges: int) -> bool:
        """Return whether that is more than chance, for one of so many judges: p below `FALSE_ALARMS` shared out."""
        return self.p_value < FALSE_ALARMS / max(n_judges, 1)


def skipping_of(queries: ArrayLike, is_relevant: ArrayLike, is_skipped: ArrayLike) -> Skipping:
    """Return what a judge skipped of the items that were shown, one entry each.

    Examples
    --------
    >>> queries, relevant = np.repeat(np.arange(20), 5), np.tile([1, 0, 0, 0, 0], 20)
    >>> found = skipping_of(queries, relevant, relevant * (queries < 8))
    >>> found.skipped_relevant, found.n_relevant, found.is_suspect(3)
    (8, 20, True)
    """
    query, relevant, skipped = np.asarray(queries), np.asarray(is_relevant, bool), np.asarray(is_skipped, bool)
    if not query.shape == relevant.shape == skipped.shape or query.ndim != 1:
        raise InputError(f"an entry each for an item, got {query.shape}, {relevant.shape} and {skipped.shape}")
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
    """Return the chance that at least so many of the skipped items are relevant, by the hypergeometric distribution.

    ``scipy.stats`` has it too, and takes half a second to import.
    """
    if both <= max(0, n_skipped - (n - n_relevant)):
        return 1.0
    k = np.arange(both, min(n_relevant, n_skipped) + 1)
    ways = _log_choices(n_relevant, k) + _log_choices(n - n_relevant, n_skipped - k)
    return min(1.0, math.exp(logsumexp(ways) - _log_choices(n, n_skipped)))


def _log_choices(n: int, k: Any) -> Any:
    """Return log of n over k."""
    return gammaln(n + 1) - gammaln(np.add(k, 1)) - gammaln(np.subtract(n, k) + 1)


def _by_queries(query: np.ndarray, relevant: np.ndarray, skipped: np.ndarray) -> float:
    """Return the p-value of queries in place of items; 1 with fewer than two that have a skipped item."""
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
