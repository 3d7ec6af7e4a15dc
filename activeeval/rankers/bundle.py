"""A bundle method for ½‖w‖² + C · R(w), with R convex and accessed by its value and a subgradient.

A subgradient a at v bounds R from below, R(w) ≥ R(v) + aᵀ(w − v) = aᵀw + b. The maximum of t such cuts is a model of R;
the minimum of ½‖w‖² + C · model bounds the objective from below. In multipliers λ ≥ 0, Σ λ = 1, of the cuts it is

    max  C bᵀλ − ½ ‖C Aᵀλ‖²,        w = −C Aᵀλ,

a small quadratic program (Clarabel); any λ gives a valid bound, however inaccurate. The next cut is not made at the
model's minimum, as in Teo et al. (2010), but close to the best point on the line towards it (Franc and Sonnenburg
2009): on MQ2008 at C = 100 this takes a fifth to a seventh of the cuts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import clarabel
import numpy as np
from scipy import sparse

from activeeval.core.errors import SolverError
from activeeval.core.types import Floats, Ints
from activeeval.rankers.losses import Term

# share of the way from the best point to the model's minimum, as in Franc and Sonnenburg; 0.3 takes twice the cuts
_AHEAD = 0.1
# halvings in a line search, each an evaluation of R: 4 take a fifth more cuts, 12 as many cuts as 8
_HALVINGS = 8
# number of programs in which a cut may be inactive before it is dropped
_IDLE = 20


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Solution:
    """Weights, their objective, and an upper bound of its excess over the optimum.

    Attributes
    ----------
    weights : ndarray, shape (n_columns,)
    objective, gap : float
        The objective at the weights, and an upper bound of its excess over the minimum.
    n_iter : int
        Number of cuts.
    converged : bool
        True if the gap is within the tolerance.
    """

    weights: Floats
    objective: float
    gap: float
    n_iter: int
    converged: bool


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """The objective ½‖w‖² + C · R(w), with R(w) a loss (`term`) of the scores Xw.

    `columns` is X, shape (n_items, n_columns).
    """

    columns: Floats
    term: Term
    C: float

    def cut(self, weights: Floats) -> tuple[float, Floats, float]:
        """Compute the objective at given weights, and slope a and intercept b of the cut R(w) ≥ aᵀw + b made there.

        A cut is a lower bound of the loss R by its subgradient. The term returns the loss and its derivatives by the
        scores (``pulls``).
        """
        loss, pulls = self.term(self.columns @ weights)
        slope = pulls @ self.columns
        return 0.5 * float(weights @ weights) + self.C * loss, slope, loss - float(slope @ weights)

    def best_between(self, start: Floats, end: Floats, objective: float) -> tuple[Floats, float]:
        """Find the best weights on the line from start to end by bisection on the objective's slope along the line.

        `objective` is the value at the start. Return the best weights and their objective. The term returns the loss
        and its derivatives by the scores (``pulls``).
        """
        step = end - start
        scores, step_scores = self.columns @ start, self.columns @ step
        best, low, high = 0.0, 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            weights = start + middle * step
            loss, pulls = self.term(scores + middle * step_scores)
            value = 0.5 * float(weights @ weights) + self.C * loss
            if value < objective:
                best, objective = middle, value
            if weights @ step + self.C * (pulls @ step_scores) > 0:
                high = middle
            else:
                low = middle
        return start + best * step, objective


@dataclass(slots=True, eq=False)
class _Bundle:
    """The current cuts R(w) ≥ aᵀw + b: slopes a, shape (t, n_columns), intercepts b (`heights`), shape (t,).

    `idle`, shape (t,), counts the quadratic programs since each cut was last active.
    """

    slopes: Floats
    heights: Floats = field(default_factory=lambda: np.zeros(0))
    idle: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def add(self, slope: Floats, height: float) -> None:
        """Add the cut R(w) ≥ aᵀw + b, a lower bound of the loss, and drop cuts that were inactive too long.

        ``slope`` is a, shape (n_columns,), ``height`` b.
        """
        keep = self.idle < _IDLE
        self.slopes = np.vstack((self.slopes[keep], slope))
        self.heights = np.append(self.heights[keep], height)
        self.idle = np.append(self.idle[keep], 0)

    def least(self, C: float) -> tuple[Floats, float]:
        """Compute the weights that minimise ½‖w‖² + C · model, and this minimum, a lower bound of the objective.

        The model is the maximum of the cuts aᵀw + b (``slopes`` a, ``heights`` b), lower bounds of the loss; C is the
        weight of the loss. The weights are −C Σ λ a, with multipliers λ of the cuts from the dual program; a cut with
        λ = 0 is idle.
        """
        multipliers = _on_simplex(C * (self.slopes @ self.slopes.T), self.heights)
        self.idle = np.where(multipliers > 1e-8, 0, self.idle + 1)
        weights = -C * (multipliers @ self.slopes)
        return weights, C * float(self.heights @ multipliers) - 0.5 * float(weights @ weights)


def _on_simplex(quadratic: Floats, linear: Floats) -> Floats:
    """Minimise ½ λᵀQλ − bᵀλ over λ ≥ 0 with Σ λ = 1; Q (`quadratic`) has shape (t, t), b (`linear`) and λ (t,).

    Raises
    ------
    SolverError
        If the solver gives no finite solution.
    """
    n = linear.size
    if n == 1:
        return np.ones(1)
    bounds = sparse.vstack((np.ones((1, n)), -sparse.eye_array(n)), format="csc")
    limits = np.concatenate(([1.0], np.zeros(n)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = 1e-11
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n)]
    # in units of the largest entry, as the solver's tolerances are absolute too
    unit = max(np.abs(quadratic).max(), np.abs(linear).max()) or 1.0
    matrix = sparse.csc_array(np.triu(quadratic / unit))
    solution = clarabel.DefaultSolver(matrix, -linear / unit, bounds, limits, cones, settings).solve()
    multipliers = np.maximum(np.array(solution.x), 0.0)
    if not (np.isfinite(multipliers).all() and multipliers.sum() > 0):
        raise SolverError(f"the solver stopped with {solution.status} on {n} cuts", status=str(solution.status))
    return np.asarray(multipliers / multipliers.sum())


def least_regularised(columns: Floats, term: Term, C: float, tol: float, max_iter: int) -> Solution:
    """Minimise ½‖w‖² + C · R(w) by the bundle method.

    Parameters
    ----------
    columns : array of float, shape (n_items, n_columns)
        X: the scores are Xw.
    term : Term
        R as a loss of the scores, shape (n_items,).
    C : float
        Weight of R.
    tol : float
        Largest gap, as a share of the objective.
    max_iter : int
        Largest number of cuts.

    Raises
    ------
    SolverError
        If the quadratic program fails.
    """
    problem = Objective(columns, term, C)
    bundle = _Bundle(np.zeros((0, columns.shape[1])))
    best = at = np.zeros(columns.shape[1])
    lowest, bound = np.inf, -np.inf
    n_iter = 0
    while True:
        n_iter += 1
        # the cuts, lower bounds of R, give a lower bound of the objective; the best weights so far give an upper one
        value, slope, height = problem.cut(at)
        if value < lowest:
            best, lowest = at, value
        bundle.add(slope, height)
        model, lower = bundle.least(C)
        bound = max(bound, lower)
        converged = lowest - bound <= tol * lowest
        if converged or n_iter == max_iter:
            return Solution(
                weights=best, objective=lowest, gap=lowest - bound, n_iter=n_iter, converged=bool(converged)
            )
        best, lowest = problem.best_between(best, model, lowest)
        at = (1 - _AHEAD) * best + _AHEAD * model
