"""Whether one document is clicked more often than another: two proportions, compared within strata.

A stratum holds c₁ clicks of n₁ impressions and c₂ of n₂, together C of N. Where both rates are equal,

    c₁ − n₁C/N  has mean 0 and variance  n₁n₂/N · C/N · (1 − C/N),

and z = Σ(c₁ − n₁C/N) / √(Σ variance), sums over strata, is close to normal (Cochran, Biometrics 10, 1954). Of one
stratum it is the z of the pooled test of two proportions. Given all C, c₁ is hypergeometric: the chance of Σc₁ or more
is exact, and of one stratum Fisher's test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, ndtr

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

FEWEST_EXPECTED = 5
"""Σc₁ must be able to move so far from its mean, either way, for z to be taken as normal: the rule of Mantel and Fleiss
(American Journal of Epidemiology 112, 1980), in one stratum that of an expected count of 5 in every cell."""


@dataclass(frozen=True, slots=True, eq=False)
class Strata:
    """Comparisons of a first document with a second one, each summed over its strata.

    Attributes
    ----------
    sums : ndarray of float64, shape (4, …)
        Σ(c₁ − n₁C/N), its variance, and how far below and above its mean Σc₁ can be.
    """

    sums: Floats

    @classmethod
    def of(cls, first: tuple[ArrayLike, ArrayLike], second: tuple[ArrayLike, ArrayLike]) -> Self:
        """Return comparisons of a stratum each, from (n₁, c₁) and (n₂, c₂), arrays that broadcast.

        Examples
        --------
        >>> Strata.of((100, 20), (100, 10)).z().round(4).tolist()
        1.9803
        """
        (n1, c1), (n2, c2) = (tuple(np.asarray(part, dtype=np.float64) for part in side) for side in (first, second))
        whole, clicks = n1 + n2, c1 + c2
        # a stratum in which one of the two was not shown says nothing
        rate = np.divide(clicks, whole, out=np.zeros_like(clicks), where=whole > 0)
        expected = n1 * rate
        weight = np.divide(n1 * n2, whole, out=np.zeros_like(clicks), where=whole > 0)
        return cls(
            np.stack(
                (
                    c1 - expected,
                    weight * rate * (1 - rate),
                    expected - np.maximum(0.0, clicks - n2),
                    np.minimum(n1, clicks) - expected,
                )
            )
        )

    def __add__(self, other: Strata) -> Strata:
        return Strata(self.sums + other.sums)

    def where(self, mask: Bools) -> Strata:
        """Return the same with nothing in the comparisons that a mask leaves out."""
        return Strata(np.where(mask, self.sums, 0.0))

    @property
    def is_small(self) -> Bools:
        """Whether counts are too small for z to be taken as normal."""
        return np.asarray(self.sums[2:].min(axis=0) < FEWEST_EXPECTED)

    def z(self) -> Floats:
        """Return z, positive where the first is clicked more often; 0 where nothing varies."""
        excess, variance = self.sums[:2]
        root = np.sqrt(variance)
        return np.asarray(np.divide(excess, root, out=np.zeros_like(root), where=root > 0))

    def p_values(self) -> Floats:
        """Return the chance of such a z or more where the rates are equal, 1 where the first is not clicked more."""
        z = self.z()
        return np.where(z > 0, ndtr(-z), 1.0)


def exact_p_value(shown: Ints, clicked: Ints) -> float:
    """Return the chance of Σc₁ or more where the rates are equal, given all Σ over both of clicks.

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
    """Return the chance that so many of the clicks fall on the first, for all values that are possible."""
    inverse = sum(gammaln(part + 1.0) for part in (values, n1 - values, clicks - values, n2 - clicks + values))
    # scaled, so that neither what all share nor the rounding of large logarithms is left
    chances = np.exp(inverse.min() - inverse)
    return np.asarray(chances / chances.sum())
