"""What the computations return: frozen values that know nothing of files, plots or tables."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from activeeval.errors import InputError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided interval ``[low, high]`` at a confidence ``level``."""

    low: float
    high: float
    level: float


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """First two moments of a measure (or of a difference) per query under a grade model.

    Attributes
    ----------
    mean, second, variance : ndarray, shape (n_queries,)
        E[L | x], E[L² | x] and Var[L | x]. The variance is computed without subtracting the
        squared mean wherever the program allows; second = variance + mean² up to rounding.
    """

    mean: Floats
    second: Floats
    variance: Floats


def t_quantile(level: float, degrees_of_freedom: float | Floats) -> Floats:
    """Return the two-sided Student-t quantile for a confidence level, as an array of floats."""
    if not 0 < level < 1:
        raise InputError(f"level must lie strictly between 0 and 1, got {level!r}")
    return np.asarray(stdtrit(degrees_of_freedom, 0.5 + level / 2), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated performance, or difference of two, with what it cost.

    Attributes
    ----------
    value, std_error : float
        The estimate and its standard error, in the unit of the measure. The standard error is
        infinite where the sample cannot tell it (one draw, or the same value in all draws), 0 where
        every query has been judged.
    n_draws, n_queries, n_items : int
        Draws in all, distinct queries judged, distinct items judged.
    cost : float
        What the judgments cost, in the unit of the item costs.
    method : str
        The method (design + estimator) that made the estimate.
    degrees_of_freedom : float
        Of the t quantile that `interval` uses.

    Examples
    --------
    >>> e = Estimate(2.5, 0.1, 30, 28, 300, cost=300.0, method="active", degrees_of_freedom=29)
    >>> round(e.interval(0.95).low, 3), round(e.interval(0.95).high, 3)
    (2.295, 2.705)
    """

    value: float
    std_error: float
    n_draws: int
    n_queries: int
    n_items: int
    cost: float
    method: str
    degrees_of_freedom: float

    def interval(self, level: float = 0.95) -> Interval:
        """Return the t interval at a confidence level."""
        if self.std_error == 0:
            return Interval(self.value, self.value, level)
        if not math.isfinite(self.std_error) or self.degrees_of_freedom <= 0:
            return Interval(-math.inf, math.inf, level)
        half = float(t_quantile(level, self.degrees_of_freedom)) * self.std_error
        return Interval(self.value - half, self.value + half, level)
