"""The variance that a design plans for an estimate, as a curve over levels.

At the sampling level T, a place with rate r_i is judged with probability a_i = min(1, T r_i), and a query is opened
with probability ρ. The grade model then expects the variance

    V(T) = Σ_x p² [ V_0 (1/ρ − 1) + Σ_i V_i (1/a_i − 1) ]  =  Σ_{T r < 1} V / (T r)  −  Σ_{T r < 1} V,

where V_0 belongs to the query itself and V_i is the variance that judging place i removes
(`activeeval.core.design.limits`). Similar rates share a bin: a curve is a few hundred sums, curves of two parts of a
pool add up, and the variance at any number of levels is a table lookup. The result is exact except for the bin that
contains 1/T, whose terms are nearly 0.
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
    """A planned variance as a curve over sampling levels T.

    A place (position of an item in its query's judging order) with rate r is judged with probability min(1, T r).

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
        """Build the curve from the rates r and the variance terms p² V of places and queries, shape (n,) each.

        Terms whose rate is 0 (never sampled) or infinite (always sampled) add nothing. A place is an item in the
        judging order of its query.

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
        """Build a curve from terms of the variance, shape (n,) each; terms of the same bin of rates are added up.

        ``bins`` are the bin numbers, ``weighted`` the terms p² V / r and ``whole`` the terms p² V.
        """
        distinct, row_of_term = np.unique(bins, return_inverse=True)
        sums = np.zeros((2, distinct.size))
        np.add.at(sums[0], row_of_term, weighted)
        np.add.at(sums[1], row_of_term, whole)
        return cls(distinct, sums[0], sums[1])

    def array(self) -> Floats:
        """Return the curve as one array for a file, shape (3, n): the rows are `bins`, `weighted` and `whole`."""
        return np.array((self.bins, self.weighted, self.whole), dtype=np.float64)

    @classmethod
    def of_array(cls, array: Floats) -> PlannedVariance:
        """Rebuild a curve from the array, shape (3, n), that `array` returned."""
        return cls(array[0].astype(np.int64), array[1], array[2])

    def __add__(self, other: PlannedVariance) -> PlannedVariance:
        """Add the curves of two parts of a pool: sums of the same bin of rates are added up."""
        return self._added(
            np.concatenate((self.bins, other.bins)),
            np.concatenate((self.weighted, other.weighted)),
            np.concatenate((self.whole, other.whole)),
        )

    def at(self, levels: Floats) -> Floats:
        """Compute the planned variance at each of ``levels``, shape (n_levels,).

        At the sampling level T > 0 a place (item in judging order) of rate r is judged with probability min(1, T r),
        and leaves V / (T r) − V of its variance V while T r < 1: `weighted` / T − `whole`, summed over bins of rates
        below 1 / T. The variance is at least 0, and 0 where everything is sampled with certainty.
        """
        inverse = 1.0 / np.asarray(levels, dtype=np.float64)
        n = np.searchsorted(np.exp2(self.bins / _PER_OCTAVE), inverse)  # number of bins with rates below 1 / T
        weighted, whole = (np.concatenate(([0.0], np.cumsum(each))) for each in (self.weighted, self.whole))
        return np.maximum(weighted[n] * inverse - whole[n], 0.0)
