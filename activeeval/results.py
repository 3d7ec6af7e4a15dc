"""What the computations return: frozen values that know nothing of files, plots or tables."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from activeeval.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Normal residuals leave half of n. Of the 344 simulated cells (`kernels.estimates.degrees`) all 38 that covered less
# than 92 % lay below this share in most of their runs.
_FEW_DEGREES = 0.35


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


def are_uneven(std_errors: float | Floats, degrees: float | Floats, n_open: int | Ints) -> NDArray[np.bool_]:
    """Return whether so few of the queries that chance chose dominate an estimate that its t interval can be too short.

    Parameters
    ----------
    std_errors, degrees, n_open : numbers or arrays that broadcast
        As in `Estimate`.
    """
    tells = np.isfinite(std_errors) & (np.asarray(std_errors) > 0)
    return np.asarray(tells & (np.asarray(degrees) < _FEW_DEGREES * np.asarray(n_open)))


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated performance, or difference of two, with what it cost.

    Attributes
    ----------
    value, std_error : float
        The estimate and its standard error, in the unit of the measure. The standard error is
        infinite where the sample cannot tell it (one draw, or the same value in all draws, or no
        residual to what is predicted), 0 where every query has been judged.
    n_draws, n_queries, n_items : int
        Draws in all, distinct queries judged, distinct items judged.
    cost : float
        What the judgments cost, in the unit of the item costs.
    method : str
        The method (design + estimator) that made the estimate.
    degrees_of_freedom : float
        Of the t quantile that `interval` uses.
    n_open : int
        Draws of queries that were not sure to be judged whole, as many as the degrees of freedom come from.

    Examples
    --------
    >>> e = Estimate(2.5, 0.1, 30, 28, 300, cost=300.0, method="active", degrees_of_freedom=29, n_open=30)
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
    n_open: int

    @property
    def cautions(self) -> tuple[str, ...]:
        """What to know before the interval is relied on, one line each; mostly nothing."""
        if math.isinf(self.std_error):
            return ("the sample shows no spread to tell a standard error from: nothing bounds the interval",)
        if are_uneven(self.std_error, self.degrees_of_freedom, self.n_open):
            share = f"{self.degrees_of_freedom:.3g} effective degrees of freedom of {self.n_open} draws"
            return (f"few queries dominate the estimate ({share}): its interval can be too short",)
        return ()

    def interval(self, level: float = 0.95) -> Interval:
        """Return the t interval at a confidence level."""
        if self.std_error == 0:
            return Interval(self.value, self.value, level)
        if not math.isfinite(self.std_error) or self.degrees_of_freedom <= 0:
            return Interval(-math.inf, math.inf, level)
        half = float(t_quantile(level, self.degrees_of_freedom)) * self.std_error
        return Interval(self.value - half, self.value + half, level)
