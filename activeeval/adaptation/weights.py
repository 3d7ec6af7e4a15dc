"""Solvers for weights that fit pairs and stay close to initial weights.

Every solver minimises, in v = w − w_0,

    (1/n) Σ_i ℓ(w_0ᵀΔ_i + vᵀΔ_i) + λ‖v‖²,

with Δ_i the feature difference of pair i, and ℓ(m) = (1 − m)² or max(0, 1 − m).
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
"""Largest side of the matrix that the closed form factors: 0.8 GB, plus half of that for the single-precision copy."""
SMALLEST_RIDGE = 1e-100
"""Smallest λ, and inverse of the largest: squares of λ times billions of pairs stay finite."""
_BLOCK = 1024
# largest last correction of a closed form, relative to the change of the weights. It is of the size of the error
# (tests), and in benchmarks.adaptation at most 4e-10, at the smallest λ of the paper
EXACT = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """The feature differences Δ, a row for each pair, restricted to the columns (leaves) in which some pair differs.

    Attributes
    ----------
    rows : csr_array of float64, shape (n_pairs, n_columns)
    columns : ndarray of int64, shape (n_columns,)
        Column numbers among all weights.
    base_margins : ndarray of float64, shape (n_pairs,)
        w_0ᵀΔ_i.
    trees : ndarray of int64, shape (n_columns,)
        Tree of each column's leaf. An item is in one leaf of each tree, so that a row of Δ sums to 0 in every tree.
    """

    rows: sparse.csr_array
    columns: Ints
    base_margins: Floats
    trees: Ints

    @classmethod
    def of(cls, rows: sparse.csr_array, weights: Floats, trees: Ints) -> Self:
        """Drop the columns in which no pair differs.

        `rows` has a column for each leaf; `weights` w_0 and `trees` (number of the leaf's tree) have shape (n_leaves,).
        """
        columns, places = np.unique(rows.indices, return_inverse=True)
        if columns.size == 0:  # no pair differs anywhere; solvers need at least one column
            columns = np.zeros(1, dtype=np.int64)
        parts = (rows.data, places.astype(np.int32), rows.indptr)
        reduced = sparse.csr_array(parts, shape=(rows.shape[0], columns.size))
        return cls(reduced, columns, rows @ weights, np.unique(trees[columns], return_inverse=True)[1])

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return int(self.rows.shape[0])

    @property
    def norms(self) -> Floats:
        """‖Δ_i‖², the squared norm of each pair's feature difference, shape (n_pairs,)."""
        return np.asarray(self.rows.multiply(self.rows).sum(axis=1), dtype=np.float64)

    def sparse_rows(self) -> SparseRows:
        """Bundle the arrays of the sparse rows (offsets, columns, values) for the compiled kernels."""
        return SparseRows(self.rows.indptr, self.rows.indices, self.rows.data)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WeightChange:
    """Change of the weights, and the diagnostics of its solver.

    Attributes
    ----------
    values : ndarray, shape (n_columns,)
        v = w − w_0.
    n_epochs : int
        Passes over all pairs; 0 for the closed form.
    gap : float
        Upper bound of the excess over the optimum; NaN if unknown.
    converged : bool
        False if the gap exceeds the tolerance.
    """

    values: Floats
    n_epochs: int
    gap: float
    converged: bool


class Solver(Protocol):
    """Solver for the weight change v at one λ, with the loss averaged over pairs."""

    def __call__(self, ridge: float) -> WeightChange:
        """Compute the change of the weights for one λ (`ridge`), with the loss averaged over pairs."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ClosedForm:
    """Solve the squared loss: (ΔᵀΔ + nλI) v = Δᵀ(1 − Δw_0), or with v = Δᵀa the same with ΔΔᵀ, whichever is smaller.

    The matrix does not depend on λ and is reused. Two refinement steps remove the rounding error of the factors. At a
    small λ, rounding grows in directions that no pair has, in which v is 0: in the form by pairs, v = Δᵀa excludes
    them; in the form by leaves, the common change of all leaves of a tree is removed.

    Attributes
    ----------
    side : csr_array
        Δᵀ in the form by pairs, else Δ.
    gram : ndarray
        Lower half of sideᵀ side.
    target : ndarray
        Right-hand side.
    n_pairs : int
    by_pairs : bool
        True for the form with ΔΔᵀ.
    trees : ndarray of int64, shape (n_columns,)
        Tree of each column's leaf.
    """

    side: sparse.csr_array
    gram: NDArray[Any]
    target: Floats
    n_pairs: int
    by_pairs: bool
    trees: Ints

    @classmethod
    def of(cls, differences: Differences) -> Self:
        """Choose the smaller form and compute its matrix and right-hand side; raise SideError if it is too large.

        By leaves the matrix is ΔᵀΔ, by pairs ΔΔᵀ, with Δ the feature differences, a row for each pair; residuals are
        what the base weights leave of the target margin 1.
        """
        n_pairs, n_columns = differences.rows.shape
        check_side(n_pairs, n_columns)
        by_pairs = n_pairs < n_columns
        residuals = 1.0 - differences.base_margins
        side = differences.rows.T.tocsr() if by_pairs else differences.rows
        target = residuals if by_pairs else side.T @ residuals
        return cls(side, _gram(side), target, n_pairs, by_pairs, differences.trees)

    def __call__(self, ridge: float) -> WeightChange:
        """Compute the change of the weights for one λ (`ridge`); raise SolverError if rounding errors dominate.

        It solves (SᵀS + nλI) x = target with S the matrix ``side``; x is the change itself, or has an entry a pair.
        """
        shift = self.n_pairs * ridge
        factors = self._factors(shift)
        solution, step = np.zeros((2, self.target.size))
        for _ in range(3):  # a solution and two refinements of it
            residual = self.target - self.side.T @ (self.side @ solution) - shift * solution
            step = self._level(linalg.cho_solve(factors, residual))
            solution += step
        values, change = self._moves(solution), self._moves(step)
        if not np.abs(change).max(initial=0.0) <= EXACT * np.abs(values).max(initial=0.0):
            raise _too_small(ridge)
        return WeightChange(values=values, n_epochs=0, gap=np.nan, converged=True)

    def _moves(self, solution: Floats) -> Floats:
        """Convert a solution (by pairs or by leaves) to the change of the weights, shape (n_columns,)."""
        return np.asarray(self.side @ solution) if self.by_pairs else solution

    def _level(self, step: Floats) -> Floats:
        """Remove the mean over each tree's leaves from a step by leaves; a step by pairs is unchanged.

        A common change of all leaves of a tree changes no difference of scores: in the solution it is 0.
        """
        if self.by_pairs:
            return step
        means = np.bincount(self.trees, step) / np.bincount(self.trees)
        return np.asarray(step - means[self.trees])

    def _factors(self, shift: float) -> tuple[Floats, bool]:
        """Compute the Cholesky factors of the matrix plus `shift` times the identity.

        Raise SolverError if it is singular.
        """
        matrix = self.gram.astype(np.float64, order="F")
        np.fill_diagonal(matrix, matrix.diagonal() + shift)
        try:
            return linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)  # type: ignore[no-any-return]
        except linalg.LinAlgError:
            raise _too_small(shift / self.n_pairs) from None


def check_side(n_pairs: int, n_leaves: int) -> None:
    """Raise SideError if the matrix of a closed form would be too large: the smaller of both numbers is its side."""
    if (size := min(n_pairs, n_leaves)) > MOST_SIDE:
        raise SideError(size)


class SideError(InputError):
    """Too many pairs and leaves for the closed form."""

    def __init__(self, size: int, advice: str = "method='sgd' has no such limit") -> None:
        """Build the message from the size of the matrix and an alternative."""
        most = f"the closed form takes at most {MOST_SIDE:,} pairs or leaves, whichever are fewer"
        super().__init__(f"{most}, got {size:,}: {advice}")
        self.size = size


def check_ridge(ridge: float, name: str, value: float) -> float:
    """Check that products with λ (`ridge`, for the averaged loss) stay finite, and return it.

    InputError is raised otherwise, with the name and value that the user passed.
    """
    if not SMALLEST_RIDGE <= ridge <= 1 / SMALLEST_RIDGE:
        raise InputError(f"{name} must lie between {SMALLEST_RIDGE:g} and {1 / SMALLEST_RIDGE:g}, got {value:g}")
    return ridge


def _too_small(ridge: float) -> SolverError:
    """Build the error for a λ too small for the closed form."""
    problem = f"regularization is too small for the closed form: with λ = {ridge:.3g} of the mean rounding decides"
    return SolverError(problem, status="ill-conditioned")


def _gram(side: sparse.csr_array) -> NDArray[Any]:
    """Compute the lower half of SᵀS for a sparse matrix S of integers, summed over blocks of rows; sums are exact.

    Up to 2^24 rows single precision is exact too, in half the time.
    """
    exact, product = (np.float32, linalg.blas.ssyrk) if side.shape[0] < 1 << 24 else (np.float64, linalg.blas.dsyrk)
    single = side.astype(exact)
    total = np.zeros((side.shape[1], side.shape[1]), dtype=exact, order="F")
    for rows in gen_batches(side.shape[0], _BLOCK):
        total = product(1.0, single[rows].toarray().T, beta=1.0, c=total, lower=True, overwrite_c=True)
    return total


@dataclass(frozen=True, slots=True, eq=False)
class StochasticGradient:
    """Minimise the squared loss by averaged stochastic gradient, with a new order of the pairs in each epoch.

    Parameters
    ----------
    differences : Differences
    n_epochs : int
    seed : int
        Seed of the orders, the same for every λ.
    """

    differences: Differences
    n_epochs: int
    seed: int

    def __call__(self, ridge: float) -> WeightChange:
        """Compute the change of the weights for one λ (`ridge`), with the loss averaged over pairs."""
        from activeeval.core.kernels.learning import leaf_pairs, losses

        n = self.differences.n_pairs
        random = np.random.default_rng(self.seed)
        rows, margins = self.differences.sparse_rows(), self.differences.base_margins
        curvature = 2.0 * (float(self.differences.norms.max()) + ridge)  # largest of a pair's loss: bounds the step
        # the current change of the weights, the weighted sum of those after each step, and the sum of their weights
        moves, total = np.zeros((2, self.differences.columns.size))
        weight = 0.0
        for epoch in range(self.n_epochs):
            # order of the pairs, number of earlier steps, margins before any change, and the loss
            settings = (random.permutation(n), epoch * n, margins, losses.SQUARED, ridge, curvature)
            weight += leaf_pairs.stochastic_steps(rows, *settings, moves, total)
        return WeightChange(values=total / weight, n_epochs=self.n_epochs, gap=np.nan, converged=True)


def seed_of(rng: Seed) -> int:
    """Draw an integer seed from a random state: a generator, a seed sequence, a seed, or None for a random one."""
    return int(np.random.default_rng(rng).integers(2**63))
