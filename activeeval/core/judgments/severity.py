"""How much higher one judge grades than another, with an interval that few items do not make too short.

Where two judges are equally strict, one grades a query higher by some amount as often as the other does. The means over
all parts of the queries are then typical values (Hartigan 1969): 0 lies in each of the gaps between them with the same
probability, however many items a query has, so that an interval at 95 % leaves it out once in twenty times at most.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from activeeval.core.types import Floats, Ints

_MOST_LISTED = 11
"""Units of which all parts are listed, 2,047; of more a random choice of parts serves."""


class Difference(NamedTuple):
    """A mean difference of grades, and the ends of its interval where there is enough for one."""

    value: float
    low: float | None
    high: float | None


def least_units(confidence: float) -> int:
    """Compute how many units an interval takes at least: one of all 2^n signs must be rarer than each tail.

    Examples
    --------
    >>> least_units(0.95), least_units(0.5)
    (6, 2)
    """
    return math.ceil(math.log2(2 / (1 - confidence)) - 1e-9)


def mean_difference(
    differences: Floats, query: Ints, confidence: float, n_parts: int, rng: np.random.Generator
) -> Difference:
    """Estimate the mean difference of the grades that two judges gave the same items.

    Queries are the units, as grades of one query are alike. Of fewer queries than an interval takes the items are, and
    the interval is about items like these of the same queries.

    Parameters
    ----------
    differences : ndarray, shape (n_items,)
        Grade of the first judge less that of the second.
    query : ndarray of int64, shape (n_items,)
    n_parts : int
        How many random parts there are, of many units.

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
    k = math.floor((1 - confidence) / 2 * (means.size + 1) + 1e-9)
    if k < 1 or sizes.size < least_units(confidence):
        return Difference(value, None, None)
    return Difference(value, min(float(means[k - 1]), value), max(float(means[-k]), value))


def _part_means(sums: Floats, sizes: Floats, n_parts: int, rng: np.random.Generator) -> Floats:
    """Compute the means over all parts of the units but the empty one, or over random parts and what they leave."""
    n = sizes.size
    if n <= _MOST_LISTED:
        is_in = (np.arange(1, 1 << n)[:, None] >> np.arange(n)) & 1
    else:
        half = rng.integers(0, 2, size=(max(n_parts // 2, 1), n))
        half = half[(half.min(axis=1) == 0) & (half.max(axis=1) == 1)]
        is_in = np.concatenate([half, 1 - half])
    means: Floats = is_in @ sums / (is_in @ sizes)
    return means
