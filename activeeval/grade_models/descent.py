"""The descent that the linear models share: L-BFGS-B in whitened features."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from sklearn.exceptions import ConvergenceWarning

from activeeval.grade_models.probabilities import Floats

TOLERANCES = {"ftol": 1e-13, "gtol": 1e-8, "maxfun": 100_000}
SMALLEST_CURVATURE = 1e-10


def minimise(
    loss_and_gradient: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    bounds: Sequence[tuple[float | None, float | None]],
    whitening: Floats,
    max_iter: int,
) -> OptimizeResult:
    """Minimise over (w, the rest) from w = 0 and `start`, stepping in v with w = whitening · v."""
    n_features = whitening.shape[0]

    def in_white(params: Floats) -> tuple[float, Floats]:
        value, gradient = loss_and_gradient(np.concatenate((whitening @ params[:n_features], params[n_features:])))
        return value, np.concatenate((whitening @ gradient[:n_features], gradient[n_features:]))

    solution = minimize(
        in_white,
        np.concatenate((np.zeros(n_features), start)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(None, None)] * n_features + list(bounds),
        options={"maxiter": max_iter} | TOLERANCES,
    )
    solution.x[:n_features] = whitening @ solution.x[:n_features]
    return solution


def whitening(Z: Floats, alpha: float) -> Floats:
    """Return (ZᵀZ/4n + α/n)^(−1/2): features that nearly repeat one another would take L-BFGS thousands of steps."""
    n = Z.shape[0]
    curvatures, directions = np.linalg.eigh(Z.T @ Z / (4 * n) + alpha / n * np.eye(Z.shape[1]))
    floored = np.maximum(curvatures, SMALLEST_CURVATURE * max(curvatures[-1], 1.0))
    return np.asarray((directions / np.sqrt(floored)) @ directions.T, dtype=np.float64)


def warn_unless_converged(solution: OptimizeResult, what: str) -> None:
    """Warn, in the name of whoever called `fit`, where the descent stopped before it arrived."""
    if not solution.success:
        warnings.warn(
            f"{what} did not converge in {solution.nit} iterations ({solution.message})",
            ConvergenceWarning,
            stacklevel=4,
        )
