"""Factor weights of ranks and grades into gains and discounts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from activeeval.core.errors import InputError
from activeeval.core.types import Floats

# relative to the largest: the solver's error in the weights is about 3e-7 (`activeeval.gains.convex_program`), which
# the first rank's discount must exceed by far, as all others are divided by it
_NOISE = 1e-6
_UNSEEN = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class ReadOut:
    """Gains and discounts closest to learned weights: w_{k,y} − w_{k,0} ≈ scale · c_k g_y.

    Attributes
    ----------
    gains : ndarray, shape (L,)
        By grade, as shares of the best grade's: the scale of a measure is arbitrary. The gain of grade 0 is 0. Signs
        stay: free weights can give a better grade a smaller gain. If the best grade has the gain of the worst, the
        shares are relative to the largest gain.
    discounts : ndarray, shape (K,)
        By rank; that of the first rank is 1.
    rank_one_share : float
        σ₁² / Σ σ²: 1 if the gains are the same at every rank up to a factor.
    scale : float
        The gain that the shares are relative to, on the scale of the weights.
    """

    gains: Floats
    discounts: Floats
    rank_one_share: float
    scale: float

    @property
    def falls(self) -> bool:
        """True if the discounts are positive and never grow from a rank to the next."""
        return bool(self.discounts.min() > _NOISE and np.all(np.diff(self.discounts) <= _NOISE))


def anchored(weights: ArrayLike) -> Floats:
    """Subtract the weight of grade 0 at each rank: T(w) = w_{k,y} − w_{k,0}, shape (K, L).

    T(w) orders lists as w does. InputError is raised if the weights are no matrix of finite numbers.
    """
    whole = np.asarray(weights, dtype=np.float64)
    if whole.ndim != 2 or whole.size == 0 or not np.all(np.isfinite(whole)):
        raise InputError(f"weights must be finite numbers, a row for each rank, got shape {whole.shape}")
    return np.asarray(whole - whole[:, :1])


def told_apart(differences: sparse.csr_array, weights: Floats) -> Floats:
    """Compute the utility of one list minus that of the other, shape (n,); 0 within the solver's error.

    `differences`, shape (n, K · L), are 1 where only the preferred list has a grade at a rank, −1 where only the other
    has; `weights` have shape (K, L), rows by rank.
    """
    leads = np.asarray(differences @ weights.ravel())
    return np.where(np.abs(leads) > _NOISE * np.abs(weights).max(), leads, 0.0)


def similarity(weights: ArrayLike, others: ArrayLike) -> float:
    """Compute the cosine of two sets of weights after `anchored`, from −1 to 1; both have shape (K, L).

    Raises
    ------
    InputError
        If the shapes differ, or all weights of a set are equal at every rank.

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
    """Compute the gains and discounts whose products are closest to the weights.

    They follow from the first singular vectors of T(w), c = u / u₁ and g = σ u₁ v (Zhou, Zha, Chang and Xue,
    section 4.3, for the transposed matrix).

    Parameters
    ----------
    weights : array of float, shape (K, L)
        Rows by rank, columns by grade.

    Raises
    ------
    InputError
        If all weights are 0, or those of the first rank are all equal.

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
    return ReadOut(gains / scale + 0.0, u / u[0], share, scale)  # + 0.0: grade 0 has gain 0, not −0
