"""The convex programs of DCGLearn as one: squared violations of one-sided bounds, weights of a shape.

    minimise   wᵀw + Σ_i c_i max(0, m_i − r_iᵀw)²     over weights w of K ranks and L grades

A preference bounds r = s(preferred) − s(other) from below by its margin m: 1, or the distance of the two lists. A tie,
|rᵀw| ≤ m + ξ, is the two bounds of r and −r by −m, of which at most one can be violated; with m = 0 they are
the square of rᵀw. The shapes are linear in w, so that the program is a quadratic one in w and the violations; the
solver is Clarabel, an interior-point method. Where there are many bounds, most are plainly kept and drop out, or
plainly violated and are a square in w; only those near their margin stay open. What was taken for plain is held
against the solution and opened where it was not, so that the solution is that of the whole program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from activeeval.errors import InputError, SolverError
from activeeval.learning.preferences import PreferenceData

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SHAPES = ("decreasing", "monotone", "free")
MARGINS = ("unit", "grades", "documents")
_OPEN = 4000
_SMALL = 0.1
_LARGEST = 5000
_ROOM = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """The bounds that pairs set, and the shape that weights must have.

    Attributes
    ----------
    rows : sparse array, shape (n_bounds, K · L)
    margins : ndarray, shape (n_bounds,)
    pairs : ndarray of int, shape (n_bounds,)
        The pair that each bound belongs to.
    is_tie : ndarray of bool, shape (n_bounds,)
    shape : str
    n_ranks : int
    C_ties : float or None
        None where a tie weighs as much as a preference.
    """

    rows: sparse.csr_array
    margins: Floats
    pairs: NDArray[np.int64]
    is_tie: NDArray[np.bool_]
    shape: str
    n_ranks: int
    C_ties: float | None

    @classmethod
    def of(
        cls,
        data: PreferenceData,
        shape: str,
        margin: str = "unit",
        tie_margin: float = 1.0,
        C_ties: float | None = None,
    ) -> Self:
        """Return the program of pairs: one bound for a preference, two for a tie."""
        if data.depth * data.n_levels > _LARGEST:
            raise InputError(
                f"{data.depth} ranks of {data.n_levels} grades are {data.depth * data.n_levels} weights, "
                f"expected at most {_LARGEST}: is a grade wrong?"
            )
        differences = data.differences()
        strict, tied = np.flatnonzero(~data.ties), np.flatnonzero(data.ties)
        wanted = np.ones(strict.size) if margin == "unit" else data.distances(margin)[strict].astype(np.float64)
        return cls(
            rows=sparse.csr_array(sparse.vstack((differences[strict], differences[tied], -differences[tied]))),
            margins=np.concatenate((wanted, np.full(2 * tied.size, -tie_margin))),
            pairs=np.concatenate((strict, tied, tied)),
            is_tie=np.repeat([False, True], (strict.size, 2 * tied.size)),
            shape="free" if data.documents else shape,
            n_ranks=data.depth,
            C_ties=C_ties,
        )

    def solve(self, C: float, counts: NDArray[Any] | None = None) -> Floats:
        """Return the weights of least norm and violation, shape (K, L).

        Parameters
        ----------
        C : float
            Weight of a preference's squared violation.
        counts : ndarray, shape (n_pairs,), optional
            How often each pair counts; a pair that does not count is left out.

        Raises
        ------
        SolverError
            Where the solver does not reach its tolerance.
        """
        costs = np.where(self.is_tie, C if self.C_ties is None else self.C_ties, C)
        if counts is not None:
            costs = costs * counts[self.pairs]
        bounds = _Bounds(self.rows[priced := costs > 0], self.margins[priced], costs[priced])
        shapes = shape_rows(self.shape, self.n_ranks, self.rows.shape[1] // self.n_ranks)
        return bounds.least_violation(shapes).reshape(self.n_ranks, -1)

    def violations(self, weights: Floats) -> Floats:
        """Return max(0, m − rᵀw) of every bound."""
        return np.asarray(np.maximum(self.margins - self.rows @ weights.ravel(), 0.0))


def shape_rows(shape: str, n_ranks: int, n_levels: int) -> sparse.csr_array:
    """Return G of Gw ≥ 0, sparse, shape (n, K · L).

    ``monotone``: a better grade is never worth less at any rank, w_{k,y+1} ≥ w_{k,y}. ``decreasing``: what it is
    worth more never grows from a rank to the next either, as with DCG's gains and discounts. ``free``: nothing.
    """
    steps = sparse.eye_array(n_levels - 1, n_levels, k=1) - sparse.eye_array(n_levels - 1, n_levels)
    every = sparse.eye_array(n_ranks).tocsr()
    over_ranks = {"decreasing": every - sparse.eye_array(n_ranks, k=1), "monotone": every, "free": every[:0]}[shape]
    return sparse.csr_array(sparse.kron(over_ranks, steps))


@dataclass(frozen=True, slots=True, eq=False)
class _Bounds:
    """Bounds with their costs, and the squared violation of all of them made least."""

    rows: sparse.csr_array
    margins: Floats
    costs: Floats

    def least_violation(self, shapes: sparse.csr_array) -> Floats:
        """Return the weights, shape (K · L,).

        Those of a sample, or where weights are small those of a first solution, tell which bounds are open.
        """
        n = self.margins.size
        if n > _OPEN:
            step = -(-n // _OPEN)
            sample = _Bounds(self.rows[::step], self.margins[::step], self.costs[::step] * step)
            weights = sample.least_violation(shapes)
        else:
            weights = self._solve(np.ones(n, dtype=bool), np.zeros(n, dtype=bool), shapes)
            if np.abs(weights).max() > _SMALL:
                return weights
        lacks = self.margins - self.rows @ weights
        near = np.partition(np.abs(lacks), _OPEN)[_OPEN] if n > _OPEN else _SMALL
        is_open, violated = np.abs(lacks) <= near, lacks > 0
        while True:
            weights = self._solve(is_open, violated & ~is_open, shapes)
            lacks = self.margins - self.rows @ weights
            wrong = ~is_open & np.where(violated, lacks < -_ROOM, lacks > _ROOM)
            if not wrong.any():
                return weights
            is_open |= wrong

    def _solve(self, is_open: Bools, violated: Bools, shapes: sparse.csr_array) -> Floats:
        """Solve for the weights and the violations of open bounds; those known to be violated are squares in w.

        The program is solved in multiples of what w would be without its shape and penalty, as the solver's
        tolerance is an absolute one: with a small C, w is small.
        """
        rows, n_weights = self.rows[is_open], self.rows.shape[1]
        n = rows.shape[0]
        known, costs = self.rows[violated], self.costs[violated]
        pull = known.T @ (costs * self.margins[violated])
        scale = min(1.0, float(np.abs(pull).max(initial=0.0))) or 1.0
        curvature = (known.T @ sparse.diags_array(costs) @ known).toarray() + np.eye(n_weights)
        quadratic = sparse.block_diag((2.0 * np.triu(curvature), sparse.diags_array(2.0 * self.costs[is_open])))
        linear = np.concatenate((-2.0 * pull / scale, np.zeros(n)))
        matrix = sparse.block_array([[-rows, -sparse.eye_array(n)], [-shapes, None]])
        limits = np.concatenate((-self.margins[is_open] / scale, np.zeros(shapes.shape[0])))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        cones = [clarabel.NonnegativeConeT(limits.size)]
        solver = clarabel.DefaultSolver(quadratic.tocsc(), linear, matrix.tocsc(), limits, cones, settings)
        solution = solver.solve()
        if solution.status != clarabel.SolverStatus.Solved:
            raise SolverError(
                f"the solver stopped with {solution.status} after {solution.iterations} steps, on {self.costs.size} "
                f"bounds at a cost of {self.costs.min():g} to {self.costs.max():g}",
                status=str(solution.status),
            )
        return scale * np.array(solution.x[:n_weights])
