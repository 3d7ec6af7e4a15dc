"""Tests for a higher click rate of one document: two proportions, compared within strata.

A stratum holds c₁ clicks of n₁ impressions and c₂ of n₂, together C of N. If both rates are equal,

    c₁ − n₁C/N  has mean 0 and variance  n₁n₂/N · C/N · (1 − C/N),

and z = Σ(c₁ − n₁C/N) / √(Σ variance), summed over strata, is close to normal (Cochran, Biometrics 10, 1954). With one
stratum it is the z of the pooled test of two proportions. Given all C, c₁ is hypergeometric: the probability of Σc₁ or
more is exact; with one stratum it is Fisher's test.

If n₁ and n₂ differ, c₁ is skewed: its third cumulant is, up to a factor 1 + O(1/N),

    n₁n₂/N · C/N · (1 − C/N) · (1 − 2C/N) · (1 − 2n₁/N),

and cumulants add up over strata. With γ = the sum of these / variance^(3/2), the first term of Edgeworth's series gives
the probability of z or more as  Φ(−z) + φ(z) γ (z² − 1)/6,  a share  γ (z² − 1)/6 · φ(z)/Φ(−z)  above the normal one.
The share grows with z: at a level of 0.1 %, a z of 60 impressions against 2000, a tenth clicked, is 3.5 times too
frequent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, ndtr, ndtri

from activeeval.core.types import Bools, Floats, Ints

FEWEST_EXPECTED = 5
"""Smallest possible deviation of Σc₁ from its mean, on either side, for a normal z: the rule of Mantel and Fleiss
(American Journal of Epidemiology 112, 1980); with one stratum, an expected count of 5 in every cell."""
MOST_SKEWED = 0.05
"""Largest relative change by skewness of the probability at the critical z. By enumeration over 60 to 50,000
impressions against 1, 4 and 33 times as many, 2 % and 10 % clicked, levels from 5 % to 0.1 % are then exceeded by at
most a twentieth."""


@dataclass(frozen=True, slots=True, eq=False)
class Strata:
    """Comparisons of the click rates of a first document and a second one, each summed over its strata (positions).

    Attributes
    ----------
    sums : ndarray of float64, shape (5, …)
        By row: Σ(c₁ − n₁C/N), its variance and third cumulant, and the largest deviations of Σc₁ below and above its
        mean. Other axes are those of the comparisons.
    """

    sums: Floats

    @classmethod
    def of(cls, first: tuple[ArrayLike, ArrayLike], second: tuple[ArrayLike, ArrayLike]) -> Self:
        """Build comparisons of one stratum each, from (impressions, clicks) of both documents, arrays that broadcast.

        Examples
        --------
        >>> Strata.of((100, 20), (100, 10)).z().round(4).tolist()
        1.9803
        """
        (n1, c1), (n2, c2) = (tuple(np.asarray(part, dtype=np.float64) for part in side) for side in (first, second))
        whole, clicks = n1 + n2, c1 + c2
        # n: impressions, c: clicks; a stratum without impressions of one of the two contributes 0
        rate = np.divide(clicks, whole, out=np.zeros_like(clicks), where=whole > 0)
        expected = n1 * rate
        weight, first_share = (  # n₁n₂/N and n₁/N
            np.divide(n1 * part, whole, out=np.zeros_like(clicks), where=whole > 0) for part in (n2, 1.0)
        )
        variance = weight * rate * (1 - rate)
        # excess of clicks, its variance and third cumulant, and the largest deviations of the clicks below and above
        return cls(
            np.stack(
                (
                    c1 - expected,
                    variance,
                    variance * (1 - 2 * rate) * (1 - 2 * first_share),
                    expected - np.maximum(0.0, clicks - n2),
                    np.minimum(n1, clicks) - expected,
                )
            )
        )

    def __add__(self, other: Strata) -> Strata:
        """Add the strata of other comparisons of the same documents."""
        return Strata(self.sums + other.sums)

    def where(self, mask: Bools) -> Strata:
        """Return a copy whose sums are 0 for the comparisons outside a mask of the comparisons' shape."""
        return Strata(np.where(mask, self.sums, 0.0))

    def needs_exact(self, level: float) -> Bools:
        """Mark comparisons for which z is not normal: small counts, or skewed counts with a p-value near the level.

        Parameters
        ----------
        level : float
            Level of the two-sided test. A normal p-value above it is kept, as the exact one is hardly below half of it.
        """
        # z at the smallest p-value that must be right: two ways of comparing, two sides
        z = -float(ndtri(level / 4))
        hazard = np.exp(-z * z / 2) / np.sqrt(2 * np.pi) / ndtr(-z)  # φ(z)/Φ(−z)
        # largest γ for which Edgeworth's term, γ (z² − 1)/6 · φ(z)/Φ(−z), changes the probability by `MOST_SKEWED`
        most = 6 * MOST_SKEWED / (abs(z * z - 1) * hazard)
        variance, third = self.sums[1:3]
        is_skewed = np.abs(third) > most * variance**1.5
        return np.asarray((self.sums[3:].min(axis=0) < FEWEST_EXPECTED) | (is_skewed & (self.p_values() <= level)))

    def z(self) -> Floats:
        """Compute z, positive if the first document is clicked more often; 0 if the variance is 0."""
        excess, variance = self.sums[:2]
        root = np.sqrt(variance)
        return np.asarray(np.divide(excess, root, out=np.zeros_like(root), where=root > 0))

    def p_values(self) -> Floats:
        """Compute the normal probability of z or more under equal rates, one-sided; 1 if z ≤ 0."""
        z = self.z()
        return np.where(z > 0, ndtr(-z), 1.0)


def exact_p_value(shown: Ints, clicked: Ints) -> float:
    """Compute the exact probability of as many clicks on the first document, or more, if both click rates are equal.

    The total clicks of each stratum (position) are given; c₁, the first document's, is then hypergeometric.

    Parameters
    ----------
    shown, clicked : ndarray of int64, shape (2, n_strata)
        Impressions and clicks of the first document and the second.

    Examples
    --------
    Fisher's tea: all three of three against none of three.

    >>> round(exact_p_value(np.array([[3], [3]]), np.array([[3], [0]])), 4)
    0.05
    """
    chances, least = np.ones(1), 0
    for (n1, n2), clicks in zip(shown.T.tolist(), clicked.sum(axis=0).tolist(), strict=True):
        low, high = max(0, clicks - n2), min(n1, clicks)
        chances = np.convolve(chances, _hypergeometric(n1, n2, clicks, np.arange(low, high + 1)))
        least += low
    return float(min(1.0, chances[int(clicked[0].sum()) - least :].sum()))


def _hypergeometric(n1: int, n2: int, clicks: int, values: Ints) -> Floats:
    """Compute the probability of each number of `values`: that this number of all clicks are on the first document.

    `n1` and `n2` are the impressions of the two documents; `values` are all possible numbers, so that the result sums
    to 1.
    """
    inverse = sum(gammaln(part + 1.0) for part in (values, n1 - values, clicks - values, n2 - clicks + values))
    # normalised, which removes the common factor and the rounding of large logarithms
    chances = np.exp(inverse.min() - inverse)
    return np.asarray(chances / chances.sum())
