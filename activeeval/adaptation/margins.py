"""Solver of the hinge loss: coordinate ascent in the dual program, then an interior point method.

    min ½‖v‖² + C Σ max(0, m_i − Δ_iᵀv),        max mᵀα − ½‖Δᵀα‖²,  0 ≤ α_i ≤ C,        v = Δᵀα,

with m_i = 1 − w_0ᵀΔ_i and C = 1/(2nλ). If C is small, ascent in one α_i after the other converges in some passes; if it
is large, no number of passes suffices: at the paper's λ = 0.01 with 10,000 pairs, 97 % of the objective remain after
400. Then the barrier method of Ferris and Munson (2002) is used: with z, ξ ≥ 0, the multipliers of the two bounds of
α,

    Δv − m − z + ξ = 0,        α_i z_i = ξ_i (C − α_i) = μ,

and μ falls to 0 by Mehrotra's predictor and corrector steps. Each solves (ΔΔᵀ + D) dα = r with the diagonal
D = z/α + ξ/(C − α), and so, by dv = Δᵀdα, a linear system with a row for each leaf: (I + ΔᵀD⁻¹Δ) dv = ΔᵀD⁻¹r.

Ferris and Munson (2002). Interior-point methods for massive support vector machines. SIAM Journal on Optimization 13.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from activeeval.adaptation.weights import MOST_SIDE, Differences, WeightChange
from activeeval.core.types import Floats

# epochs between two computations of the gap, each of which costs half an epoch
_GAP_EVERY = 5
# passes before the interior point method starts: in benchmarks.adaptation, programs that converge by ascent need fewer,
# and twenty interior point steps cost as much as this number of passes
_PASSES = 50
# passes if there are too many leaves for a matrix: a pass over 20,000 pairs and 300 trees takes 0.1 s
_PASSES_ALONE = 500
# steps of the interior point method: programs of the benchmark take 10 to 40
_STEPS = 100
# solutions of a linear system, the second of the residual (iterative refinement): weights differ by factors of 1e12
_REFINED = 2
# step length, as a share of the distance to the nearest bound
_SHARE = 0.995


@dataclass(frozen=True, slots=True, eq=False)
class LargestMargins:
    """Solve for the weight change under the hinge loss by its dual program.

    Parameters
    ----------
    differences : Differences
    n_epochs : int or None
        Passes of coordinate ascent, without an interior point method; None: until convergence, by the interior point
        method if passes do not suffice.
    tol : float
        Largest gap, as a share of the objective.
    seed : int
        Seed of the orders of pairs, the same for every λ.
    """

    differences: Differences
    n_epochs: int | None
    tol: float
    seed: int

    def __call__(self, ridge: float) -> WeightChange:
        """Compute the change of the weights for one λ (`ridge`), with the loss averaged over pairs.

        Coordinate ascent in the dual program comes first, then an interior point method if the gap (excess of the
        primal over the dual value) is too large. The program is the objective divided by 2λ, hence the factor.
        """
        bound = 1.0 / (2.0 * self.differences.n_pairs * ridge)  # C, the upper bound of each pair's multiplier
        too_wide = self.differences.columns.size > MOST_SIDE
        n_epochs = self.n_epochs or (_PASSES_ALONE if too_wide else _PASSES)
        multipliers, epoch = self._ascent(bound, n_epochs)
        change = np.asarray(self.differences.rows.T @ multipliers)
        value, gap = self._value(multipliers, change, bound)
        if gap > self.tol * value and self.n_epochs is None and not too_wide:
            multipliers = self._interior(bound, multipliers, gap)
            change = np.asarray(self.differences.rows.T @ multipliers)
            value, gap = self._value(multipliers, change, bound)
        return WeightChange(
            values=change, n_epochs=epoch, gap=2.0 * ridge * gap, converged=bool(gap <= self.tol * value)
        )

    @property
    def _short(self) -> Floats:
        """1 − w_0ᵀΔ_i of each pair: the margin that the change must add, as the base weights w_0 give w_0ᵀΔ_i."""
        return np.asarray(1.0 - self.differences.base_margins)

    def _ascent(self, bound: float, n_epochs: int) -> tuple[Floats, int]:
        """Run at most `n_epochs` passes of coordinate ascent.

        Return the multipliers α, shape (n_pairs,), and the passes. `bound` is C, the upper bound of each α_i.
        """
        from activeeval.core.kernels.learning import leaf_pairs

        rows, norms = self.differences.sparse_rows(), self.differences.norms
        random = np.random.default_rng(self.seed)
        # α and the change of the weights v = Δᵀα, both updated in place by the kernel
        multipliers, moves = np.zeros(self.differences.n_pairs), np.zeros(self.differences.columns.size)
        for epoch in range(1, n_epochs + 1):
            order = random.permutation(multipliers.size)
            leaf_pairs.coordinate_steps(rows, order, self.differences.base_margins, norms, bound, multipliers, moves)
            if epoch % _GAP_EVERY == 0 and epoch < n_epochs:
                # recomputed to remove the rounding accumulated over the steps
                moves = np.asarray(self.differences.rows.T @ multipliers)
                value, gap = self._value(multipliers, moves, bound)
                if gap <= self.tol * value:
                    break
        return multipliers, epoch

    def _value(self, multipliers: Floats, moves: Floats, bound: float) -> tuple[float, float]:
        """Compute the primal value at v = Δᵀα (`moves`), and its excess over the dual value at α (`multipliers`).

        `bound` is C.
        """
        size = float(moves @ moves)
        slacks = np.maximum(self._short - self.differences.rows @ moves, 0.0)
        value = 0.5 * size + bound * float(slacks.sum())
        return value, value - (float(multipliers @ self._short) - 0.5 * size)

    def _interior(self, bound: float, multipliers: Floats, gap: float) -> Floats:
        """Run the interior point method; return the multipliers α with the smallest gap, those passed in included.

        `gap` is the excess of the primal over the dual value at `multipliers`; `bound` is C.
        """
        best, least = multipliers, gap
        at = _InteriorPoint.of(self.differences, self._short, bound)
        for _ in range(_STEPS):
            try:
                at = at.step()
            except linalg.LinAlgError:  # the system is singular to rounding
                break
            value, gap = self._value(at.alpha, self.differences.rows.T @ at.alpha, bound)
            if gap < least:
                best, least = at.alpha, gap
            if gap <= self.tol * value or not at.is_moving:
                break
        return best


@dataclass(frozen=True, slots=True, eq=False)
class _InteriorPoint:
    """A point strictly inside the bounds 0 < α < C: α, and the multipliers z of α ≥ 0 and ξ of α ≤ C.

    `short` is m of the module, `bound` is C; `is_moving` is False if the last step was negligible.
    """

    differences: Differences
    short: Floats
    bound: float
    alpha: Floats
    z: Floats
    xi: Floats
    is_moving: bool = True

    @classmethod
    def of(cls, differences: Differences, short: Floats, bound: float) -> _InteriorPoint:
        """Build the starting point: α at the middle of its bounds, z and ξ positive.

        `short`, shape (n_pairs,), is the margin that the weight change must add to each pair, `bound` is C.
        """
        alpha = np.full(differences.n_pairs, bound / 2)
        lack = differences.rows @ (differences.rows.T @ alpha) - short
        slack = max(float(np.abs(lack).mean()), 1.0)
        return cls(differences, short, bound, alpha, np.maximum(lack, 0) + slack, np.maximum(-lack, 0) + slack)

    def step(self) -> _InteriorPoint:
        """Take one predictor-corrector step (Mehrotra) for: minimize ``|rowsᵀ α|² / 2 − short · α`` over 0 ≤ α ≤ C.

        α, z and ξ have shape (n_pairs,); z and ξ are the multipliers of α ≥ 0 and of α ≤ C. The last field of the
        result says whether the step had any length. The predictor aims at α z = ξ (C − α) = 0; from how far it gets
        follows the value that the corrector aims at (``goal``).

        Raise LinAlgError if the linear system is singular to rounding.
        """
        rows, alpha, z, xi = self.differences.rows, self.alpha, self.z, self.xi
        slack = self.bound - alpha
        inverse = 1.0 / (z / alpha + xi / slack)
        factors = linalg.cho_factor(self._curvature(inverse), lower=True, overwrite_a=True, check_finite=False)
        residual = rows @ (rows.T @ alpha) - self.short - z + xi

        def direction(low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
            """Solve for (dα, dz, dξ) that change α z by ``low`` and ξ (C − α) by ``high``, to first order.

            First for ``moves``, the product rowsᵀ dα, by the factored system with a row for each leaf.
            """
            right = -residual + low / alpha - high / slack
            target, moves = rows.T @ (inverse * right), np.zeros(rows.shape[1])
            for _ in range(_REFINED):
                rest = target - moves - rows.T @ (inverse * (rows @ moves))
                moves = moves + linalg.cho_solve(factors, rest, check_finite=False)
            d_alpha = inverse * (right - rows @ moves)
            return d_alpha, (low - z * d_alpha) / alpha, (high + xi * d_alpha) / slack

        d_alpha, d_z, d_xi = direction(-alpha * z, -slack * xi)
        n = 2.0 * alpha.size
        now = float(alpha @ z + slack @ xi) / n
        most = self._most(d_alpha, d_z, d_xi)
        after = (alpha + most * d_alpha) @ (z + most * d_z) + (slack - most * d_alpha) @ (xi + most * d_xi)
        goal = now * (max(float(after) / n, 0.0) / now) ** 3  # Mehrotra's rule: small if the predictor gets far
        d_alpha, d_z, d_xi = direction(goal - alpha * z - d_alpha * d_z, goal - slack * xi + d_alpha * d_xi)
        size = min(1.0, _SHARE * self._most(d_alpha, d_z, d_xi, 1.0 / _SHARE))
        # rounding may put a value onto a bound
        inside = np.clip(alpha + size * d_alpha, 1e-12 * self.bound, (1 - 1e-12) * self.bound)
        least = 1e-300
        z, xi = np.maximum(z + size * d_z, least), np.maximum(xi + size * d_xi, least)
        return _InteriorPoint(self.differences, self.short, self.bound, inside, z, xi, size > 1e-6)

    def _most(self, d_alpha: Floats, d_z: Floats, d_xi: Floats, most: float = 1.0) -> float:
        """Compute the largest step along (dα, dz, dξ), at most ``most``, that keeps α, C − α, z and ξ non-negative."""
        slack = self.bound - self.alpha
        for value, change in ((self.alpha, d_alpha), (slack, -d_alpha), (self.z, d_z), (self.xi, d_xi)):
            falling = change < 0
            if falling.any():
                most = min(most, float((-value[falling] / change[falling]).min()))
        return most

    def _curvature(self, weights: Floats) -> Floats:
        """Compute the lower half of I + ΔᵀWΔ, shape (n_columns, n_columns).

        W is the diagonal matrix of `weights`, (n_pairs,).
        """
        from activeeval.core.kernels.learning import leaf_pairs

        side = self.differences.columns.size
        matrix = np.zeros((side, side))
        leaf_pairs.weighted_gram(self.differences.sparse_rows(), weights, matrix)
        np.fill_diagonal(matrix, matrix.diagonal() + 1.0)
        return matrix
