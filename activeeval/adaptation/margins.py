"""The hinge's quadratic program: coordinate ascent, and an interior point method for what that leaves.

    min ½‖v‖² + C Σ max(0, m_i − Δ_iᵀv),        max mᵀα − ½‖Δᵀα‖²,  0 ≤ α_i ≤ C,        v = Δᵀα,

with m_i = 1 − w_0ᵀΔ_i and C = 1/(2nλ). Where C is small, ascent in one α_i after the other ends in some passes; where
it is large, no number of passes solves it: at the paper's λ = 0.01 of 10,000 pairs, 97 % of the objective are left
after 400. There the barrier of Ferris and Munson (2002) is taken: with z, ξ ≥ 0, the multipliers of the two bounds of
α,

    Δv − m − z + ξ = 0,        α_i z_i = ξ_i (C − α_i) = μ,

and μ falls to 0 by the steps of Mehrotra's predictor and corrector. Each solves (ΔΔᵀ + D) dα = r with the diagonal
D = z/α + ξ/(C − α), and so, by dv = Δᵀdα, a system of a side for each leaf: (I + ΔᵀD⁻¹Δ) dv = ΔᵀD⁻¹r.

Ferris and Munson (2002). Interior-point methods for massive support vector machines. SIAM Journal on Optimization 13.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from activeeval.adaptation.weights import MOST_SIDE, Differences, WeightChange
from activeeval.core.types import Floats

# epochs between two looks at the gap: each look costs half an epoch
_LOOK = 5
# passes before the interior point takes over: of benchmarks.adaptation, programs that end at all end in fewer, and
# twenty of its steps take as long as so many passes
_PASSES = 50
# without it, where leaves are too many for a matrix: a pass over 20,000 pairs and 300 trees takes 0.1 s
_PASSES_ALONE = 500
# steps of the interior point: programs of the benchmark take 10 to 40
_STEPS = 100
# solutions of a system, the second of what the first left: some weights are 1e12 times others
_REFINED = 2
# of the way to the nearest bound
_SHARE = 0.995


@dataclass(frozen=True, slots=True, eq=False)
class LargestMargins:
    """The hinge loss, by its dual program.

    Parameters
    ----------
    differences : Differences
    n_epochs : int or None
        Passes of coordinate ascent, after which it ends; None for as many as it takes, and an interior point method for
        what they leave.
    tol : float
        The gap may be that share of the objective.
    seed : int
        Of the orders, the same for every λ.
    """

    differences: Differences
    n_epochs: int | None
    tol: float
    seed: int

    def __call__(self, ridge: float) -> WeightChange:
        bound = 1.0 / (2.0 * self.differences.n_pairs * ridge)
        too_wide = self.differences.columns.size > MOST_SIDE
        n_epochs = self.n_epochs or (_PASSES_ALONE if too_wide else _PASSES)
        multipliers, epoch = self._ascent(bound, n_epochs)
        moves = np.asarray(self.differences.rows.T @ multipliers)
        value, gap = self._value(multipliers, moves, bound)
        if gap > self.tol * value and self.n_epochs is None and not too_wide:
            multipliers = self._interior(bound, multipliers, gap)
            moves = np.asarray(self.differences.rows.T @ multipliers)
            value, gap = self._value(multipliers, moves, bound)
        return WeightChange(
            values=moves, n_epochs=epoch, gap=2.0 * ridge * gap, converged=bool(gap <= self.tol * value)
        )

    @property
    def _short(self) -> Floats:
        return np.asarray(1.0 - self.differences.base_margins)

    def _ascent(self, bound: float, n_epochs: int) -> tuple[Floats, int]:
        """Return the multipliers after passes over all pairs, and their number."""
        from activeeval.core.kernels.learning import leaf_pairs

        rows, norms = self.differences.sparse_rows(), self.differences.norms
        random = np.random.default_rng(self.seed)
        multipliers, moves = np.zeros(self.differences.n_pairs), np.zeros(self.differences.columns.size)
        for epoch in range(1, n_epochs + 1):
            order = random.permutation(multipliers.size)
            leaf_pairs.coordinate_steps(rows, order, self.differences.base_margins, norms, bound, multipliers, moves)
            if epoch % _LOOK == 0 and epoch < n_epochs:
                # anew, without the rounding of all the steps
                moves = np.asarray(self.differences.rows.T @ multipliers)
                value, gap = self._value(multipliers, moves, bound)
                if gap <= self.tol * value:
                    break
        return multipliers, epoch

    def _value(self, multipliers: Floats, moves: Floats, bound: float) -> tuple[float, float]:
        """Return the program's value, and by how much it is above the dual's."""
        size = float(moves @ moves)
        slacks = np.maximum(self._short - self.differences.rows @ moves, 0.0)
        value = 0.5 * size + bound * float(slacks.sum())
        return value, value - (float(multipliers @ self._short) - 0.5 * size)

    def _interior(self, bound: float, multipliers: Floats, gap: float) -> Floats:
        """Return the multipliers of the least gap that the interior point method meets, or those with this one."""
        best, least = multipliers, gap
        at = _InteriorPoint.of(self.differences, self._short, bound)
        for _ in range(_STEPS):
            try:
                at = at.step()
            except linalg.LinAlgError:  # rounding has the last word
                break
            value, gap = self._value(at.alpha, self.differences.rows.T @ at.alpha, bound)
            if gap < least:
                best, least = at.alpha, gap
            if gap <= self.tol * value or not at.is_moving:
                break
        return best


@dataclass(frozen=True, slots=True, eq=False)
class _InteriorPoint:
    """A point strictly between the bounds: α, and the multipliers z of α ≥ 0 and ξ of α ≤ C."""

    differences: Differences
    short: Floats
    bound: float
    alpha: Floats
    z: Floats
    xi: Floats
    is_moving: bool = True

    @classmethod
    def of(cls, differences: Differences, short: Floats, bound: float) -> _InteriorPoint:
        alpha = np.full(differences.n_pairs, bound / 2)
        lack = differences.rows @ (differences.rows.T @ alpha) - short
        room = max(float(np.abs(lack).mean()), 1.0)
        return cls(differences, short, bound, alpha, np.maximum(lack, 0) + room, np.maximum(-lack, 0) + room)

    def step(self) -> _InteriorPoint:
        """Return the point after a predictor and a corrector."""
        rows, alpha, z, xi = self.differences.rows, self.alpha, self.z, self.xi
        room = self.bound - alpha
        inverse = 1.0 / (z / alpha + xi / room)
        factors = linalg.cho_factor(self._curvature(inverse), lower=True, overwrite_a=True, check_finite=False)
        residual = rows @ (rows.T @ alpha) - self.short - z + xi

        def direction(low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
            """Solve for low = what α z is to change by, and high = what ξ (C − α) is to."""
            right = -residual + low / alpha - high / room
            wanted, moves = rows.T @ (inverse * right), np.zeros(rows.shape[1])
            for _ in range(_REFINED):
                rest = wanted - moves - rows.T @ (inverse * (rows @ moves))
                moves = moves + linalg.cho_solve(factors, rest, check_finite=False)
            d_alpha = inverse * (right - rows @ moves)
            return d_alpha, (low - z * d_alpha) / alpha, (high + xi * d_alpha) / room

        d_alpha, d_z, d_xi = direction(-alpha * z, -room * xi)
        n = 2.0 * alpha.size
        now = float(alpha @ z + room @ xi) / n
        most = self._most(d_alpha, d_z, d_xi)
        after = (alpha + most * d_alpha) @ (z + most * d_z) + (room - most * d_alpha) @ (xi + most * d_xi)
        goal = now * (max(float(after) / n, 0.0) / now) ** 3
        d_alpha, d_z, d_xi = direction(goal - alpha * z - d_alpha * d_z, goal - room * xi + d_alpha * d_xi)
        size = min(1.0, _SHARE * self._most(d_alpha, d_z, d_xi, 1.0 / _SHARE))
        # rounding may end on a bound itself
        inside = np.clip(alpha + size * d_alpha, 1e-12 * self.bound, (1 - 1e-12) * self.bound)
        least = 1e-300
        z, xi = np.maximum(z + size * d_z, least), np.maximum(xi + size * d_xi, least)
        return _InteriorPoint(self.differences, self.short, self.bound, inside, z, xi, size > 1e-6)

    def _most(self, d_alpha: Floats, d_z: Floats, d_xi: Floats, most: float = 1.0) -> float:
        """Return the largest step, up to a limit, that keeps to all bounds."""
        room = self.bound - self.alpha
        for value, change in ((self.alpha, d_alpha), (room, -d_alpha), (self.z, d_z), (self.xi, d_xi)):
            falling = change < 0
            if falling.any():
                most = min(most, float((-value[falling] / change[falling]).min()))
        return most

    def _curvature(self, weights: Floats) -> Floats:
        """Return the lower half of I + ΔᵀWΔ."""
        from activeeval.core.kernels.learning import leaf_pairs

        side = self.differences.columns.size
        matrix = np.zeros((side, side))
        leaf_pairs.weighted_gram(self.differences.sparse_rows(), weights, matrix)
        np.fill_diagonal(matrix, matrix.diagonal() + 1.0)
        return matrix
