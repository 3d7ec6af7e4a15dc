"""Intervals of a sample that is topped up after it was read: the error probability is shared by all readings.

A top-up that follows from a reading is an interim analysis. Their number is not known at the first reading, so later
ones cannot use error probability already spent: the first keeps its plain interval, and all later ones together add a
share `LATER` of its α, half of it at the second reading, a quarter at the third, and so on. Boundaries are those of a
group-sequential test (Lan, DeMets 1983) with this spending.

An advised top-up is larger the nearer the difference is to 0, which doubles the errors of later readings: with `LATER`
.1 and .2, .008 and .019 of normal estimates were false at three of them, where .0044 and .0088 are spent. Together with
the first reading's .05 that is more than .05; it is offset by t intervals that cover more than their nominal
confidence: .040 were false at the first reading of 6,000 samples of two rankers (MQ2008, DCG@10 and P@10, items;
benchmarks/results/advice.json has all four readings). Giving the first reading .04 of the .05 instead would make every
interval 5 % wider, also of samples that are read once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from activeeval.core.estimation.intervals import boundaries_of

LATER = 0.05
"""Share of α that all readings after the first add together, if top-ups did not depend on the readings."""
_LEAST_STEP = 0.01
"""Least difference of the information share of two readings; closer ones are nearly identical."""
_LEAST_P, _HALVINGS = 1e-8, 30
"""Smallest p value that is adjusted, and bisection steps, which give a billionth of its logarithm."""
_N_NODES = 80
"""Nodes of the quadrature: boundaries equal those of 400 nodes to 1e-5, in a twentieth of the time."""


def confidence_after(variances: Sequence[float], confidence: float) -> float:
    """Compute the confidence of an ordinary interval that is valid at the last of several interim analyses.

    Parameters
    ----------
    variances : sequence of float
        Variance of the estimate R̂ at each analysis, the current one last; increments are independent:
        Cov(R̂_j, R̂_k) = Var R̂_k for j < k. An earlier variance not larger than the current one counts as an analysis
        just before the current one.
    confidence : float
        Joint confidence of the intervals of all analyses.

    Examples
    --------
    >>> confidence_after([0.04], 0.95), round(confidence_after([0.04, 0.01], 0.95), 4)
    (0.95, 0.998)
    """
    final = variances[-1]
    known = [variance for variance in variances[:-1] if 0 < variance < float("inf")]
    if not known or final <= 0:
        return confidence
    # information (1 / variance) of each earlier analysis relative to the current one: ascending, and kept apart
    shares, before = [], 0.0
    for k, variance in enumerate(known):
        # two digits: few distinct boundaries to compute, with little error
        before = min(max(round(final / variance, 2), before + _LEAST_STEP), 1.0 - (len(known) - k) * _LEAST_STEP)
        shares.append(before)
    return max(1 - 2 * float(ndtr(-_boundary((*shares, 1.0), round(1 - confidence, 12)))), confidence)


def p_value_after(variances: Sequence[float], p_value: float) -> float:
    """Adjust a p value for several interim analyses: the smallest α whose interval after them excludes 0.

    Parameters
    ----------
    variances : sequence of float
        Variance of the estimate at each analysis, the current one last; see `confidence_after`.
    p_value : float
        The smallest α whose ordinary interval excludes 0.

    Examples
    --------
    >>> p_value_after([0.04], 0.02)
    0.02
    >>> p = p_value_after([0.04, 0.01], 0.02)
    >>> bool(p > 0.05), round(1 - confidence_after([0.04, 0.01], 1 - p), 3)
    (True, 0.02)
    """
    # an unchanged confidence shows that no earlier analysis counts
    if confidence_after(variances, 0.5) == 0.5 or not _LEAST_P < p_value < 1:
        return p_value
    low, high = math.log(p_value), 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = 1 - confidence_after(variances, 1 - math.exp(middle)) >= p_value
        low, high = (low, middle) if enough else (middle, high)
    return math.exp(high)


@lru_cache(maxsize=4096)
def _boundary(information: tuple[float, ...], alpha: float) -> float:
    """Compute the boundary of |Z| (the estimate in standard errors) at the last of several interim analyses.

    ``information`` is 1 / variance at each analysis relative to the last, ``alpha`` the error of the first analysis.
    """
    spent = np.asarray(alpha * (1 + LATER * (1 - 0.5 ** np.arange(len(information)))), dtype=np.float64)
    return boundaries_of(information, spent, _N_NODES)[-1]
