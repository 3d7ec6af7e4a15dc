"""The convex program of DCGLearn: squared violations of one-sided bounds on weights of a given shape.

    minimise   wᵀw + Σ_i c_i max(0, m_i − r_iᵀw)²     over weights w of K ranks and L grades

A preference bounds r = s(preferred) − s(other) from below by its margin m: 1, or the distance of the two lists. A tie,
|rᵀw| ≤ m + ξ, becomes two bounds, of r and of −r, by −m; at most one of them can be violated. With m = 0 they amount to
the square of rᵀw. A shape requires some increments z of the weights, w = Mz, to be non-negative. Written in z, the
program is quadratic with bounds on single variables; written in w, the solver stalls with many pairs. The solver is
Clarabel, an interior-point method. With many bounds, most are clearly satisfied and drop out, or clearly violated and
become a square in w; only those near their margin stay open. The solution is checked against that classification and
misclassified bounds are opened, so that the solution is that of the whole program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from activeeval.core.errors import InputError, SolverError
from activeeval.core.types import Bools, Floats
from activeeval.gains.pairs import PreferenceData

SHAPES = ("decreasing", "monotone", "free")
MARGINS = ("unit", "grades", "documents")
# number of open bounds: with 50,000 noisy pairs of ten ranks and five grades, 500 to 4,000 take the same time, 8,000
# twice as long and 16,000 three times
_OPEN = 4000
# number of weights: the matrix of increments is built dense, 200 MB at this size
_LARGEST = 5000
# tolerance for a classified bound on the wrong side: rounding, below the solver's error
_ROOM = 1e-9
# a gap of δ leaves an error of √δ in the weights; the second is the fallback where rounding prevents the first
_GAP, _LARGEST_GAP = 1e-13, 1e-9
# relative to the sum of all costs: the rounding of that sum
_NO_PULL = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """The bounds that preference pairs set on the weights w, and the shape required of the weights.

    A preference sets one bound rᵀw ≥ m, a tie two. K is the number of ranks, L that of grades.

    Attributes
    ----------
    rows : sparse array, shape (n_bounds, K · L)
        r of each bound.
    margins : ndarray, shape (n_bounds,)
        m of each bound.
    pairs : ndarray of int, shape (n_bounds,)
        Row number of the pair that sets each bound.
    is_tie : ndarray of bool, shape (n_bounds,)
        True for a bound of a tie.
    shape : {"decreasing", "monotone", "free"}
        decreasing: a better grade weighs no less, and its advantage never grows with the rank; monotone: the first
        alone; free: no constraint.
    n_ranks : int
    C_ties : float or None
        Weight of a tie's squared violation; None: that of a preference.
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
        """Build the program of pairs: one bound for a preference, two for a tie.

        Parameters
        ----------
        margin : {"unit", "grades", "documents"}
            Margin of a preference: 1, or the number of ranks at which the lists hold different grades or documents.
        tie_margin : float
            Largest difference of the utilities of tied lists without loss.
        C_ties : float, optional
            Weight of a tie's squared violation; None: that of a preference.

        Raises
        ------
        InputError
            If there are more than 5,000 weights (ranks times grades), or the margin is not known.
        """
        if data.depth * data.n_levels > _LARGEST:
            raise InputError(
                f"{data.depth} ranks of {data.n_levels} grades are {data.depth * data.n_levels} weights, "
                f"expected at most {_LARGEST}: is a grade, or the depth, wrong?"
            )
        differences = data.differences()
        strict, tied = np.flatnonzero(~data.ties), np.flatnonzero(data.ties)
        margins = np.ones(strict.size) if margin == "unit" else data.distances(margin)[strict].astype(np.float64)
        return cls(
            rows=sparse.csr_array(sparse.vstack((differences[strict], differences[tied], -differences[tied]))),
            margins=np.concatenate((margins, np.full(2 * tied.size, -tie_margin))),
            pairs=np.concatenate((strict, tied, tied)),
            is_tie=np.repeat([False, True], (strict.size, 2 * tied.size)),
            shape="free" if data.documents else shape,
            n_ranks=data.depth,
            C_ties=C_ties,
        )

    def solve(self, C: float, counts: NDArray[Any] | None = None) -> Floats:
        """Compute the optimal weights, shape (K, L).

        Parameters
        ----------
        C : float
            Weight of a preference's squared violation.
        counts : ndarray, shape (n_pairs,), optional
            Multiplicity of each pair; 0 leaves a pair out.

        Raises
        ------
        SolverError
            If the solver does not reach its tolerance.
        """
        costs = np.where(self.is_tie, C if self.C_ties is None else self.C_ties, C).astype(np.float64)
        if counts is not None:
            costs = costs * counts[self.pairs]
        bounds = _Bounds(self.rows[priced := costs > 0], self.margins[priced], costs[priced])
        increments = Increments.of(self.shape, self.n_ranks, self.rows.shape[1] // self.n_ranks)
        return bounds.least_violation(increments).reshape(self.n_ranks, -1)

    def violations(self, weights: Floats) -> Floats:
        """Compute max(0, m − rᵀw), by which the weights w, shape (K, L), violate each bound rᵀw ≥ m; (n_bounds,)."""
        return np.asarray(np.maximum(self.margins - self.rows @ weights.ravel(), 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class Increments:
    """The increments z of weights of a shape, w = Mz.

    ``monotone``: a better grade never has a smaller weight at any rank, w_{k,y+1} ≥ w_{k,y}. ``decreasing``: in
    addition, its advantage over the grade below never grows from a rank to the next, as with DCG's gains and discounts.
    ``free``: no constraint.

    Attributes
    ----------
    matrix : sparse array, shape (K · L, K · L)
        M; invertible.
    n_free : int
        The first n_free entries of z have any sign, the others are non-negative.
    """

    matrix: sparse.csr_array
    n_free: int

    @classmethod
    def of(cls, shape: str, n_ranks: int, n_levels: int) -> Self:
        """Build M (w = Mz) for a shape: z holds the worst grade's weight by rank, then each better grade's increments.

        `shape` is "monotone", "decreasing" or "free"; `n_levels` is the number of grades, 0 included.
        """
        if shape == "free":
            return cls(sparse.eye_array(n_ranks * n_levels, format="csr"), n_ranks * n_levels)
        # the advantage of a grade over the one below, at a rank, is the sum of its increments from this rank on
        over_ranks = np.triu(np.ones((n_ranks, n_ranks))) if shape == "decreasing" else np.eye(n_ranks)
        over_grades = np.tri(n_levels)[:, 1:]
        worst = np.kron(np.eye(n_ranks), np.ones((n_levels, 1)))
        return cls(sparse.csr_array(np.hstack((worst, np.kron(over_ranks, over_grades)))), n_ranks)


@dataclass(frozen=True, slots=True, eq=False)
class _Bounds:
    """Bounds rᵀw ≥ m with the cost of a squared violation of each.

    The three arrays have one entry (row) for each bound.
    """

    rows: sparse.csr_array
    margins: Floats
    costs: Floats

    def least_violation(self, increments: Increments) -> Floats:
        """Compute the weights that minimise wᵀw plus the costs of violations, shape (K · L,).

        With many bounds, a subsample gives first weights; bounds far from their margin there are classified as
        satisfied or violated, and only the others stay open. Misclassified bounds are opened until none is left.
        ``increments`` z express the shape of the weights, w = Mz with entries of z that cannot be negative.
        """
        n = self.margins.size
        if not self._has_descent_direction(increments):
            return np.zeros(self.rows.shape[1])
        if n <= _OPEN:
            return self._solve(np.ones(n, dtype=bool), np.zeros(n, dtype=bool), increments)
        step = -(-n // _OPEN)  # rounded up; every step-th bound is in the sample, at step times its cost
        sample = _Bounds(self.rows[::step], self.margins[::step], self.costs[::step] * step)
        weights = sample.least_violation(increments)
        lacks = self.margins - self.rows @ weights
        is_open = np.abs(lacks) <= np.partition(np.abs(lacks), _OPEN)[_OPEN]
        violated = lacks > 0
        while True:
            weights = self._solve(is_open, violated & ~is_open, increments)
            lacks = self.margins - self.rows @ weights
            wrong = ~is_open & np.where(violated, lacks < -_ROOM, lacks > _ROOM)
            if not wrong.any():
                return weights
            is_open |= wrong

    def _has_descent_direction(self, increments: Increments) -> bool:
        """Check whether a step from weights of 0 lowers the loss.

        Without such a step the solver would return rounding errors. ``pull`` is minus half the derivative of the loss
        by the increments z at 0; the first ``n_free`` increments have any sign, the others can only grow.
        """
        wanted = self.costs * np.maximum(self.margins, 0.0)
        pull = increments.matrix.T @ (self.rows.T @ wanted)
        rounding = _NO_PULL * wanted.sum()
        return bool(np.any(np.abs(pull[: increments.n_free]) > rounding) or np.any(pull > rounding))

    def _solve(self, is_open: Bools, violated: Bools, increments: Increments) -> Floats:
        """Solve the quadratic program for the weights w, shape (K · L,), by an interior-point method.

        Parameters
        ----------
        is_open : ndarray of bool, shape (n_bounds,)
            Bounds whose violation is a variable of the program.
        violated : ndarray of bool, shape (n_bounds,)
            Bounds known to be violated: they enter as squares in w. All others are known to be satisfied and drop out.
        increments : Increments
            The matrix M of w = Mz, and the number of entries of z (the first ones) that may be negative.

        Raises
        ------
        SolverError
            If the solver does not reach its tolerance.
        """
        largest = self.costs.max(initial=0.0) or 1.0
        unit = min(largest, np.sqrt(largest))  # of the objective, so that the solver sees numbers of similar size
        # variables: the increments z (w = matrix @ z), then the violation of each open bound
        matrix, n_weights = increments.matrix, self.rows.shape[1]
        rows, known = self.rows[is_open] @ matrix, self.rows[violated] @ matrix
        open_costs, costs = self.costs[is_open] / unit, self.costs[violated] / unit
        n = open_costs.size
        curvature = known.T @ sparse.diags_array(costs) @ known + matrix.T @ matrix / unit
        quadratic = sparse.block_diag((2.0 * sparse.triu(curvature), sparse.diags_array(2.0 * open_costs)))
        linear = np.concatenate((-2.0 * (known.T @ (costs * self.margins[violated])), np.zeros(n)))
        signed = sparse.eye_array(n_weights, format="csr")[increments.n_free :]
        bounds = sparse.block_array([[-rows, -sparse.eye_array(n)], [-signed, None]])
        limits = np.concatenate((-self.margins[is_open], np.zeros(signed.shape[0])))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = _GAP
        settings.reduced_tol_gap_abs = settings.reduced_tol_gap_rel = settings.reduced_tol_feas = _LARGEST_GAP
        cones = [clarabel.NonnegativeConeT(limits.size)]
        solver = clarabel.DefaultSolver(quadratic.tocsc(), linear, bounds.tocsc(), limits, cones, settings)
        solution = solver.solve()
        if solution.status not in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved):
            raise SolverError(
                f"the solver stopped with {solution.status} after {solution.iterations} steps, on {self.costs.size} "
                f"bounds at a cost of {self.costs.min():g} to {self.costs.max():g}",
                status=str(solution.status),
            )
        return np.asarray(matrix @ np.array(solution.x[:n_weights]))
