"""The convex programs of DCGLearn as one: squared violations of one-sided bounds, weights of a shape.

    minimise   wᵀw + Σ_i c_i max(0, m_i − r_iᵀw)²     over weights w of K ranks and L grades

A preference bounds r = s(preferred) − s(other) from below by its margin m: 1, or the distance of the two lists. A tie,
|rᵀw| ≤ m + ξ, is the two bounds of r and −r by −m, of which at most one can be violated; with m = 0 they are
the square of rᵀw. The shapes are linear in w, so that the program is a quadratic one in w and the violations; the
solver is Clarabel, an interior-point method. Where there are many bounds, most are plainly kept and drop out, or
plainly violated and are a square in w; only those near their margin stay open. What was taken for plain is held
against the solution and opened where it was not, so that the solution is that of the whole program.

No bound and no shape sees a constant that is added to all grades of a rank, so the least norm has it that a rank's
weights sum to 0. The solver is given v_y = w_y − w_0 of each rank, for y > 0, and |w|² = Σ v² − (Σ v)² / L. A constant
that the norm alone holds is as nothing beside 10⁵ violations and would keep the solver from its tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from activeeval.errors import SolverError
from activeeval.learning.preferences import PreferenceData

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SHAPES = ("decreasing", "monotone", "free")
MARGINS = ("unit", "grades", "documents")
_OPEN = 4000
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
        n_levels = self.rows.shape[1] // self.n_ranks
        is_free = np.arange(self.rows.shape[1]) % n_levels > 0
        norm = np.kron(np.eye(self.n_ranks), np.eye(n_levels - 1) - 1 / n_levels)
        bounds = _Bounds(self.rows[priced := costs > 0][:, is_free], self.margins[priced], costs[priced], norm)
        shapes = shape_rows(self.shape, self.n_ranks, n_levels)[:, is_free]
        weights = np.pad(bounds.least_violation(shapes).reshape(self.n_ranks, -1), ((0, 0), (1, 0)))
        return np.asarray(weights - weights.mean(axis=1, keepdims=True))

    def violations(self, weights: Floats) -> Floats:
        """Return max(0, m − rᵀw) of every bound."""
        return np.asarray(np.maximum(self.margins - self.rows @ weights.ravel(), 0.0))


def shape_rows(shape: str, n_ranks: int, n_levels: int) -> sparse.csr_array:
    """Return G of Gw ≥ 0, sparse, shape (n, K · L).

    ``monotone``: a better grade is never worth less at any rank, w_{k,y+1} ≥ w_{k,y}. ``decreasing``: what it is
    worth more never grows from a rank to the next either, as with DCG's gains and discounts. ``free``: nothing.
    """
    steps = np.diff(np.eye(n_levels), axis=0)
    falls = np.eye(n_ranks) - np.eye(n_ranks, k=1)
    over_ranks = {"decreasing": falls, "monotone": np.eye(n_ranks), "free": np.empty((0, n_ranks))}[shape]
    return sparse.csr_array(np.kron(over_ranks, steps))


@dataclass(frozen=True, slots=True, eq=False)
class _Bounds:
    """Bounds with their costs, the norm's form, and both together made least; weights less those of grade 0."""

    rows: sparse.csr_array
    margins: Floats
    costs: Floats
    norm: Floats

    def least_violation(self, shapes: sparse.csr_array) -> Floats:
        """Return the weights, shape (K · (L − 1),): of a sample first, which tells what is open in the whole."""
        n = self.margins.size
        if n <= _OPEN:
            return self._solve(np.ones(n, dtype=bool), np.zeros(n, dtype=bool), shapes)
        step = -(-n // _OPEN)
        sample = _Bounds(self.rows[::step], self.margins[::step], self.costs[::step] * step, self.norm)
        weights = sample.least_violation(shapes)
        lacks = self.margins - self.rows @ weights
        is_open = np.abs(lacks) <= np.partition(np.abs(lacks), _OPEN)[_OPEN]
        violated = lacks > 0
        while True:
            weights = self._solve(is_open, violated & ~is_open, shapes)
            lacks = self.margins - self.rows @ weights
            wrong = ~is_open & np.where(violated, lacks < -_ROOM, lacks > _ROOM)
            if not wrong.any():
                return weights
            is_open |= wrong

    def _solve(self, is_open: Bools, violated: Bools, shapes: sparse.csr_array) -> Floats:
        """Solve for the weights and the violations of open bounds; those known to be violated are squares in w."""
        rows, n_weights = self.rows[is_open], self.rows.shape[1]
        n = rows.shape[0]
        known, costs = self.rows[violated], self.costs[violated]
        curvature = (known.T @ sparse.diags_array(costs) @ known).toarray() + self.norm
        quadratic = 2.0 * sparse.block_diag((np.triu(curvature), sparse.diags_array(self.costs[is_open])), format="csc")
        linear = np.concatenate((-2.0 * (known.T @ (costs * self.margins[violated])), np.zeros(n)))
        matrix = sparse.block_array([[-rows, -sparse.eye_array(n)], [-shapes, None]], format="csc")
        limits = np.concatenate((-self.margins[is_open], np.zeros(shapes.shape[0])))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        cones = [clarabel.NonnegativeConeT(limits.size)]
        # one unit of the objective or the other lets the solver reach its tolerance
        for unit in (1.0, 1.0 / self.costs.max()):
            solution = clarabel.DefaultSolver(unit * quadratic, unit * linear, matrix, limits, cones, settings).solve()
            if solution.status == clarabel.SolverStatus.Solved:
                return np.array(solution.x[:n_weights])
        raise SolverError(
            f"the solver stopped with {solution.status} after {solution.iterations} steps, on {self.costs.size} "
            f"bounds at a cost of {self.costs.min():g} to {self.costs.max():g}",
            status=str(solution.status),
        )
