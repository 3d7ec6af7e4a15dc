"""The variance that a design plans for an estimate, as a curve over levels.

Under a grade model places judged with probabilities a_i = min(1, T r_i) leave, at level T, the variance

    V(T) = Σ_x p² [ V_0 (1/ρ − 1) + Σ_i V_i (1/a_i − 1) ]  =  Σ_{T r < 1} V / (T r)  −  Σ_{T r < 1} V,

V_0 of the query itself and V_i the variance that judging place i removes (`activeeval.core.design.limits`). Similar
rates share a bin: a curve is a few hundred sums, curves of two parts of a pool add up, and the variance at any number
of levels is a table lookup. The result is exact except for the bin that contains 1/T, whose terms are nearly 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from activeeval.core.types import Floats

_PER_OCTAVE = 32
"""Bins of rates per factor of 2: rates of a bin differ by 2.2 %, which bounds the error to that share of its Σ V."""


@dataclass(frozen=True, slots=True, eq=False)
class PlannedVariance:
    """A planned variance as a curve over levels.

    Attributes
    ----------
    bins : ndarray of int64, shape (n,)
        Bin numbers, ascending; a bin holds rates from 2 ** (bin / 32) on.
    weighted, whole : ndarray, shape (n,)
        Σ p² V / r and Σ p² V of each bin.
    """

    bins: NDArray[np.int64]
    weighted: Floats
    whole: Floats

    @classmethod
    def of(cls, rates: Floats, variances: Floats) -> PlannedVariance:
        """Build the curve of terms p² V (n,) with rates r (n,); terms sampled with certainty or never add nothing.

        Examples
        --------
        >>> PlannedVariance.of(np.array([0.5, 0.1]), np.array([3.0, 1.0])).at(np.array([1.0, 4.0, 20.0])).round(6)
        array([12. ,  1.5,  0. ])
        """
        varies = (variances != 0) & (rates > 0) & np.isfinite(rates)
        return cls._added(
            np.floor(_PER_OCTAVE * np.log2(rates[varies])).astype(np.int64),
            variances[varies] / rates[varies],
            variances[varies],
        )

    @classmethod
    def _added(cls, bins: NDArray[np.int64], weighted: Floats, whole: Floats) -> PlannedVariance:
        """Build a curve, adding up entries of the same bin."""
        distinct, places = np.unique(bins, return_inverse=True)
        sums = np.zeros((2, distinct.size))
        np.add.at(sums[0], places, weighted)
        np.add.at(sums[1], places, whole)
        return cls(distinct, sums[0], sums[1])

    def array(self) -> Floats:
        """Return the curve as one array, shape (3, n), for a file."""
        return np.array((self.bins, self.weighted, self.whole), dtype=np.float64)

    @classmethod
    def of_array(cls, array: Floats) -> PlannedVariance:
        """Rebuild a curve from the array that `array` wrote."""
        return cls(array[0].astype(np.int64), array[1], array[2])

    def __add__(self, other: PlannedVariance) -> PlannedVariance:
        """Add the curves of two parts of a pool."""
        return self._added(
            np.concatenate((self.bins, other.bins)),
            np.concatenate((self.weighted, other.weighted)),
            np.concatenate((self.whole, other.whole)),
        )

    def at(self, levels: Floats) -> Floats:
        """Evaluate the variance at each level; at least 0, and 0 if everything is sampled with certainty."""
        inverse = 1.0 / np.asarray(levels, dtype=np.float64)
        n = np.searchsorted(np.exp2(self.bins / _PER_OCTAVE), inverse)
        weighted, whole = (np.concatenate(([0.0], np.cumsum(each))) for each in (self.weighted, self.whole))
        return np.maximum(weighted[n] * inverse - whole[n], 0.0)
