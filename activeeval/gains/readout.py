"""From weights of ranks and grades to gains and discounts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from activeeval.core.errors import InputError
from activeeval.core.types import Floats

# of the size of the others: the solver leaves an error of some 3e-7 in the weights (`activeeval.gains.convex_program`),
# which a discount of the first rank must exceed by far, as all others are divided by it
_NOISE = 1e-6
_UNSEEN = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class ReadOut:
    """Gains and discounts read out of learned weights, the nearest to them: w_{k,y} − w_{k,0} ≈ scale · c_k g_y.

    Attributes
    ----------
    gains : ndarray, shape (L,)
        By grade, as shares of the best grade's, as those of `activeeval.gain_intervals`: the scale of a measure says
        nothing. The gain of grade 0 is 0. A sign stays: free weights can make a better grade worth less. Where they
        make the best one worth as much as the worst, the shares are of the largest gain.
    discounts : ndarray, shape (K,)
        By rank; that of the first rank is 1.
    rank_one_share : float
        σ₁² / Σ σ²: 1 where what a grade is worth does not depend on the rank but for a factor.
    scale : float
        What the shares are of: a gain on the scale of the weights.
    """

    gains: Floats
    discounts: Floats
    rank_one_share: float
    scale: float

    @property
    def falls(self) -> bool:
        """Whether the discounts are positive and never grow from a rank to the next."""
        return bool(self.discounts.min() > _NOISE and np.all(np.diff(self.discounts) <= _NOISE))


def anchored(weights: ArrayLike) -> Floats:
    """Return T(w): w_{k,y} − w_{k,0}, which orders lists as w does, shape (K, L)."""
    whole = np.asarray(weights, dtype=np.float64)
    if whole.ndim != 2 or whole.size == 0 or not np.all(np.isfinite(whole)):
        raise InputError(f"weights must be finite numbers, a row for each rank, got shape {whole.shape}")
    return np.asarray(whole - whole[:, :1])


def told_apart(differences: sparse.csr_array, weights: Floats) -> Floats:
    """Return the utility of one list less that of the other, shape (n,); 0 where it is as small as a solver's error."""
    leads = np.asarray(differences @ weights.ravel())
    return np.where(np.abs(leads) > _NOISE * np.abs(weights).max(), leads, 0.0)


def similarity(weights: ArrayLike, others: ArrayLike) -> float:
    """Return how alike two sets of weights order lists, from −1 to 1: their cosine after `anchored`, (K, L) each.

    Examples
    --------
    >>> round(similarity([[0, 1], [0, 1]], [[5, 6], [2, 2]]), 4)
    0.7071
    """
    first, second = anchored(weights), anchored(others)
    if first.shape != second.shape or not (first.any() and second.any()):
        raise InputError(
            f"weights of shape {first.shape} and {second.shape} have no cosine, expected the same shape and in each a "
            "grade that is worth more or less than grade 0"
        )
    return float(np.sum(first * second) / (np.linalg.norm(first) * np.linalg.norm(second)))


def read_out(weights: ArrayLike) -> ReadOut:
    """Return the gains and discounts whose products come nearest to the weights.

    They are of the first singular vectors of T(w), c = u / u₁ and g = σ u₁ v: Zhou, Zha, Chang and Xue, section 4.3, of
    the transposed matrix.

    Parameters
    ----------
    weights : array of float, shape (K, L)
        Rows by rank, columns by grade.

    Raises
    ------
    InputError
        Where the weights say nothing of the first rank, or nothing at all.

    Examples
    --------
    >>> readout = read_out(np.outer([1, 0.5], [0, 1, 3]))
    >>> readout.gains.round(2) + 0, readout.discounts.round(6), round(readout.rank_one_share, 6)
    (array([0.  , 0.33, 1.  ]), array([1. , 0.5]), 1.0)
    >>> round(readout.scale, 6)
    3.0
    """
    whole = anchored(weights)
    if not whole.any():
        raise InputError(
            "all weights are 0: no gains and discounts explain the preferences better than none; were preferred and "
            "other exchanged?"
        )
    left, sizes, right = np.linalg.svd(whole, full_matrices=False)
    u, v = left[:, 0], right[0]
    if not abs(u[0]) > _UNSEEN:
        raise InputError("the weights of the first rank are all alike, so no discount can be told from them")
    gains = sizes[0] * u[0] * (v - v[0])
    largest, best = float(np.abs(gains).max()), abs(float(gains[-1]))
    scale = best if best > _NOISE * largest else largest
    share = float(sizes[0] ** 2 / np.sum(sizes**2))
    return ReadOut(gains / scale + 0.0, u / u[0], share, scale)  # grade 0 is worth 0, not −0
