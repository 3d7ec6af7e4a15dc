"""Weights that suit pairs and stay close to those they start from.

Every solver minimises, in v = w − w_0,

    (1/n) Σ_i ℓ(w_0ᵀΔ_i + vᵀΔ_i) + λ‖v‖²,

where Δ_i is a row of differences of features, with ℓ(m) = (1 − m)² or max(0, 1 − m).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.utils import gen_batches

from activeeval.core.errors import InputError, SolverError
from activeeval.core.kernels.bundles import SparseRows
from activeeval.core.pool import Seed
from activeeval.core.types import Floats, Ints

MOST_SIDE = 10_000
"""Rows of the matrix that the closed form factors: 0.8 GB, and half of that beside it."""
SMALLEST_RIDGE = 1e-100
"""And the inverse of the largest: squares of λ times thousands of millions of pairs stay finite."""
_BLOCK = 1024
# of the weights' own moves, what the last correction of a closed form may be. It is of the size of their error (tests),
# and in benchmarks.adaptation at most 4e-10, at the smallest λ that the paper prints
EXACT = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """The rows Δ, one for each pair, of the columns in which some pair differs.

    Attributes
    ----------
    rows : csr_array of float64, shape (n_pairs, n_columns)
    columns : ndarray of int64, shape (n_columns,)
        Their numbers among all weights.
    base_margins : ndarray of float64, shape (n_pairs,)
        w_0ᵀΔ_i.
    trees : ndarray of int64, shape (n_columns,)
        The tree that each column is a leaf of. An item is in one leaf of each, so that a row of Δ sums to 0 in every
        tree.
    """

    rows: sparse.csr_array
    columns: Ints
    base_margins: Floats
    trees: Ints

    @classmethod
    def of(cls, rows: sparse.csr_array, weights: Floats, trees: Ints) -> Self:
        """Keep the columns in which some pair differs, of all weights and of the tree of each."""
        columns, places = np.unique(rows.indices, return_inverse=True)
        if columns.size == 0:  # nothing tells any pair apart; solvers want a column
            columns = np.zeros(1, dtype=np.int64)
        held = (rows.data, places.astype(np.int32), rows.indptr)
        kept = sparse.csr_array(held, shape=(rows.shape[0], columns.size))
        return cls(kept, columns, rows @ weights, np.unique(trees[columns], return_inverse=True)[1])

    @property
    def n_pairs(self) -> int:
        return int(self.rows.shape[0])

    @property
    def norms(self) -> Floats:
        """‖Δ_i‖², shape (n_pairs,)."""
        return np.asarray(self.rows.multiply(self.rows).sum(axis=1), dtype=np.float64)

    def sparse_rows(self) -> SparseRows:
        return SparseRows(self.rows.indptr, self.rows.indices, self.rows.data)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WeightChange:
    """What is added to the weights, and how it was found.

    Attributes
    ----------
    values : ndarray, shape (n_columns,)
        v.
    n_epochs : int
        Times that every pair was looked at in turn; 0 of the closed form.
    gap : float
        By how much the objective is above the least one at most; NaN where that is not known.
    converged : bool
    """

    values: Floats
    n_epochs: int
    gap: float
    converged: bool


class Solver(Protocol):
    """What finds v for one λ of the mean scale."""

    def __call__(self, ridge: float) -> WeightChange: ...


@dataclass(frozen=True, slots=True, eq=False)
class ClosedForm:
    """The squared loss: (ΔᵀΔ + nλI) v = Δᵀ(1 − Δw_0), or with v = Δᵀa the same of ΔΔᵀ, whichever is smaller.

    The matrix does not depend on λ and is kept. A second and a third solution, of what is left, take out what the
    factors lost to rounding. A small λ lets rounding grow in the directions that no pair has, in which v is 0: by pairs
    they are none of v = Δᵀa, by leaves those on which a tree's leaves move alike are taken out.
    """

    side: sparse.csr_array
    gram: NDArray[Any]
    target: Floats
    n_pairs: int
    by_pairs: bool
    trees: Ints

    @classmethod
    def of(cls, differences: Differences) -> Self:
        n_pairs, n_columns = differences.rows.shape
        check_side(n_pairs, n_columns)
        by_pairs = n_pairs < n_columns
        residuals = 1.0 - differences.base_margins
        side = differences.rows.T.tocsr() if by_pairs else differences.rows
        target = residuals if by_pairs else side.T @ residuals
        return cls(side, _gram(side), target, n_pairs, by_pairs, differences.trees)

    def __call__(self, ridge: float) -> WeightChange:
        shift = self.n_pairs * ridge
        factors = self._factors(shift)
        solution, step = np.zeros((2, self.target.size))
        for _ in range(3):
            rest = self.target - self.side.T @ (self.side @ solution) - shift * solution
            step = self._level(linalg.cho_solve(factors, rest))
            solution += step
        values, change = self._moves(solution), self._moves(step)
        if not np.abs(change).max(initial=0.0) <= EXACT * np.abs(values).max(initial=0.0):
            raise _too_small(ridge)
        return WeightChange(values=values, n_epochs=0, gap=np.nan, converged=True)

    def _moves(self, solution: Floats) -> Floats:
        return np.asarray(self.side @ solution) if self.by_pairs else solution

    def _level(self, step: Floats) -> Floats:
        """Return a step by leaves without what all leaves of a tree have in common."""
        if self.by_pairs:
            return step
        means = np.bincount(self.trees, step) / np.bincount(self.trees)
        return np.asarray(step - means[self.trees])

    def _factors(self, shift: float) -> tuple[Floats, bool]:
        matrix = self.gram.astype(np.float64, order="F")
        np.fill_diagonal(matrix, matrix.diagonal() + shift)
        try:
            return linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)  # type: ignore[no-any-return]
        except linalg.LinAlgError:
            raise _too_small(shift / self.n_pairs) from None


def check_side(n_pairs: int, n_leaves: int) -> None:
    """Raise SideError where the matrix of a closed form would be too large."""
    if (size := min(n_pairs, n_leaves)) > MOST_SIDE:
        raise SideError(size)


class SideError(InputError):
    """More pairs and leaves than a closed form takes."""

    def __init__(self, size: int, advice: str = "method='sgd' has no such limit") -> None:
        most = f"the closed form takes at most {MOST_SIDE:,} pairs or leaves, whichever are fewer"
        super().__init__(f"{most}, got {size:,}: {advice}")
        self.size = size


def check_ridge(ridge: float, what: str, value: float) -> float:
    """Return λ of the mean scale, or raise InputError of its value where products with it would overflow."""
    if not SMALLEST_RIDGE <= ridge <= 1 / SMALLEST_RIDGE:
        raise InputError(f"{what} must lie between {SMALLEST_RIDGE:g} and {1 / SMALLEST_RIDGE:g}, got {value:g}")
    return ridge


def _too_small(ridge: float) -> SolverError:
    problem = f"regularization is too small for the closed form: with λ = {ridge:.3g} of the mean rounding decides"
    return SolverError(problem, status="ill-conditioned")


def _gram(side: sparse.csr_array) -> NDArray[Any]:
    """Return the lower half of SᵀS, summed over blocks of rows: whole numbers, so that no order of them matters.

    Up to 2^24 single precision holds them exactly, in half the time.
    """
    exact, product = (np.float32, linalg.blas.ssyrk) if side.shape[0] < 1 << 24 else (np.float64, linalg.blas.dsyrk)
    single = side.astype(exact)
    total = np.zeros((side.shape[1], side.shape[1]), dtype=exact, order="F")
    for rows in gen_batches(side.shape[0], _BLOCK):
        total = product(1.0, single[rows].toarray().T, beta=1.0, c=total, lower=True, overwrite_c=True)
    return total


@dataclass(frozen=True, slots=True, eq=False)
class StochasticGradient:
    """The squared loss, one pair after the other in a new order in each of a given number of epochs.

    Parameters
    ----------
    differences : Differences
    n_epochs : int
    seed : int
        Of the orders, the same for every λ.
    """

    differences: Differences
    n_epochs: int
    seed: int

    def __call__(self, ridge: float) -> WeightChange:
        from activeeval.core.kernels.learning import leaf_pairs, losses

        n = self.differences.n_pairs
        random = np.random.default_rng(self.seed)
        rows, margins = self.differences.sparse_rows(), self.differences.base_margins
        curvature = 2.0 * (float(self.differences.norms.max()) + ridge)
        moves, total = np.zeros((2, self.differences.columns.size))
        weight = 0.0
        for epoch in range(self.n_epochs):
            settings = (random.permutation(n), epoch * n, margins, losses.SQUARED, ridge, curvature)
            weight += leaf_pairs.stochastic_steps(rows, *settings, moves, total)
        return WeightChange(values=total / weight, n_epochs=self.n_epochs, gap=np.nan, converged=True)


def seed_of(rng: Seed) -> int:
    """Return one number that stands for all that is drawn."""
    return int(np.random.default_rng(rng).integers(2**63))
