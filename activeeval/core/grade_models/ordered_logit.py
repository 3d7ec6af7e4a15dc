"""Ordered logit models: proportional odds and the two surrogate losses of mord."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mord.threshold_based import grad_margin, obj_margin
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, minimize
from scipy.special import expit, logit
from sklearn.exceptions import ConvergenceWarning

from activeeval.core.checks import one_of
from activeeval.core.errors import InputError
from activeeval.core.grade_models.base import ThresholdModel
from activeeval.core.types import Floats, Ints

LOSSES = ("proportional-odds", "all-threshold", "immediate-threshold")
# They leave errors of 1e-7 in the probabilities on MQ2008, SciPy's defaults 1e-4; `max_iter` is the limit, not maxfun.
TOLERANCES = {"ftol": 1e-13, "gtol": 1e-8, "maxfun": 100_000}
# Gaps of e^−30 to e^10: wider than any data (gaps are 1.0 on OHSUMED, 1.5 on MQ2008), they keep a long step finite.
LOG_GAP_BOUNDS = (-30.0, 10.0)
# Relative to the largest: nearly collinear columns have a curvature of rounding error, which must not be inverted.
SMALLEST_CURVATURE = 1e-10


class OrderedLogitModel(ThresholdModel):
    """Grade probabilities by a linear model: the ordered logit.

    p(y ≤ k) = σ(θ_k − wᵀx), σ the logistic function, with a Gaussian prior on w and increasing thresholds θ.

    Parameters
    ----------
    alpha : float
        Precision of the prior, w ~ N(0, 1/alpha) for standardised features; 0 is maximum likelihood.
    loss : {"proportional-odds", "all-threshold", "immediate-threshold"}
        "proportional-odds" maximises the posterior of the grades. The other two are mord's
        surrogates (Rennie and Srebro 2005): the sum of logistic losses over all thresholds
        (LogisticAT) or over the two next to the grade (LogisticIT). The thresholds of the last
        are no quantiles: they can coincide, which gives a grade that occurs probability 0.
    max_grade : int, optional
        Largest grade; by default the largest of the training data.
    max_iter : int
        Maximum number of iterations of L-BFGS-B.

    Attributes
    ----------
    coef_ : ndarray, shape (n_features + n_missing,)
        w of the standardised features, then of the missing-value columns.
    thresholds_ : ndarray, shape (n_seen − 1,)
        θ, increasing.
    n_iter_ : int

    Warns
    -----
    ConvergenceWarning
        If `max_iter` iterations are not enough.

    Notes
    -----
    Features are standardised internally. A missing value (NaN) becomes the feature's mean, and every
    feature with missing values in the training data adds a column that is 1 where it is missing.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(200.0).reshape(-1, 1)
    >>> model = OrderedLogitModel().fit(X, np.digitize(X[:, 0], [100, 150]))
    >>> model.predict([[20.0], [120.0], [190.0]])
    array([0, 1, 2])
    """

    def __init__(
        self, alpha: float = 1.0, loss: str = "proportional-odds", max_grade: int | None = None, max_iter: int = 1000
    ) -> None:
        """Store the parameters.

        ``alpha`` is the precision of the Gaussian prior on the weights, ``loss`` a name of `LOSSES`, ``max_grade`` the
        largest grade (None: of the training data) and ``max_iter`` the most iterations of L-BFGS-B.
        """
        self.alpha = alpha
        self.loss = loss
        self.max_grade = max_grade
        self.max_iter = max_iter

    def _fit_thresholds(self, features: NDArray[Any], codes: Ints) -> None:
        """Standardise the features, then fit weights and thresholds by the chosen loss to grades coded 0 … n_seen − 1.

        Warns (ConvergenceWarning) without convergence. Raises InputError if `loss` or `alpha` is invalid.
        """
        one_of(self.loss, LOSSES, "loss")
        if not (np.isfinite(self.alpha) and self.alpha >= 0):
            raise InputError(f"alpha must not be negative, got {self.alpha!r}")
        self._learn_scaling(np.asarray(features, dtype=np.float64))
        Z = self._standardise(features)
        if self.loss == "proportional-odds":
            solution, self.thresholds_ = fit_proportional_odds(Z, codes, self.alpha, self.max_iter)
        else:
            solution, self.thresholds_ = fit_mord(Z, codes, self.alpha, self.max_iter, self.loss)
        self.coef_ = solution.x[: Z.shape[1]]
        self.n_iter_ = int(solution.nit)
        if not solution.success:
            warnings.warn(
                f"the ordered logit did not converge in {solution.nit} iterations ({solution.message})",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _cumulative(self, features: NDArray[Any]) -> Floats:
        """Predict p(y ≤ the k-th grade of the training data), shape (n, n_seen − 1)."""
        scores = self._standardise(features) @ self.coef_
        return np.asarray(expit(self.thresholds_ - scores[:, None]), dtype=np.float64)

    def _learn_scaling(self, features: Floats) -> None:
        """Learn means and scales of the features (n, n_features), and of the columns that flag missing values."""
        is_known = ~np.isnan(features)
        self.has_missing_ = ~is_known.all(axis=0)
        n_known = np.maximum(is_known.sum(axis=0), 1)
        means = np.where(is_known, features, 0.0).sum(axis=0) / n_known
        variances = (np.where(is_known, features - means, 0.0) ** 2).sum(axis=0) / n_known
        shares = 1 - is_known[:, self.has_missing_].mean(axis=0)
        self.means_ = np.concatenate((means, shares))
        spreads = np.sqrt(np.concatenate((variances, shares * (1 - shares))))
        # The spread of a constant column is rounding error; division by it would amplify the error.
        self.scales_ = np.where(spreads > 1e-13 * np.abs(self.means_), spreads, 1.0)

    def _standardise(self, features: NDArray[Any]) -> Floats:
        """Standardise features, fill missing values by means, and append the columns that flag missing values."""
        missing = np.isnan(features)
        filled = np.where(missing, self.means_[: features.shape[1]], features)
        columns = np.hstack((filled, missing[:, self.has_missing_]))
        return np.asarray((columns - self.means_) / self.scales_, dtype=np.float64)


def proportional_odds_loss(params: Floats, Z: Floats, codes: Ints, alpha: float) -> tuple[float, Floats]:
    """Compute the negative log posterior of proportional odds per row; return it and its gradient.

    With a = θ_y − wᵀx and b = θ_{y−1} − wᵀx (θ_{−1} = −∞, the last θ = +∞),

        −log(σ(a) − σ(b)) = log(1 + e^{−a}) + log(1 + e^{b}) − log(1 − e^{−(a − b)}),

    and a − b is the gap θ_y − θ_{y−1}, the same for every item of a grade: there is no cancellation.
    The first two terms are the immediate-threshold loss; the third makes it a likelihood.

    Parameters
    ----------
    params : array, shape (n_features + n_grades − 1,)
        w, θ_0 and the logarithms of the gaps θ_k − θ_{k−1}.
    Z : array, shape (n, n_features)
    codes : array of int, shape (n,)
        Grades 0 … n_grades − 1, each of which occurs.
    alpha : float
        Precision of the Gaussian prior on w.
    """
    n, n_features = Z.shape
    w, gaps = params[:n_features], np.exp(params[n_features + 1 :])
    counts = np.bincount(codes)
    theta = np.concatenate(([-np.inf], _thresholds(params[n_features:]), [np.inf]))
    scores = Z @ w
    above, below = theta[codes + 1] - scores, theta[codes] - scores
    loss = np.logaddexp(0, -above).sum() + np.logaddexp(0, below).sum()
    loss -= counts[1:-1] @ np.log(-np.expm1(-gaps))
    pull_up, pull_down = expit(-above), expit(below)
    # derivative by each threshold; a gap moves all thresholds from it on, θ_0 all
    slope = np.bincount(codes, pull_down)[1:] - np.bincount(codes, pull_up)[:-1]
    suffix_sums = np.cumsum(slope[::-1])[::-1]
    of_gaps = (suffix_sums[1:] + counts[1:-1] * np.exp(-gaps) / np.expm1(-gaps)) * gaps
    gradient = np.concatenate((Z.T @ (pull_up - pull_down) + alpha * w, suffix_sums[:1], of_gaps))
    return float(loss + 0.5 * alpha * (w @ w)) / n, gradient / n


def fit_proportional_odds(Z: Floats, codes: Ints, alpha: float, max_iter: int) -> tuple[OptimizeResult, Floats]:
    """Maximise the posterior of weights w and thresholds θ of proportional odds; return ``(SciPy's solution, θ)``.

    Z (n, n_features) are standardised features, ``codes`` (n,) grades 0 … n_grades − 1 that all occur, ``alpha`` is the
    precision of the Gaussian prior on w and ``max_iter`` the most iterations of L-BFGS-B.
    """
    theta = _first_thresholds(codes)
    start = np.concatenate((theta[:1], np.log(np.diff(theta))))
    bounds = [(None, None)] + [LOG_GAP_BOUNDS] * (theta.size - 1)

    def loss_and_gradient(params: Floats) -> tuple[float, Floats]:
        """Compute the loss and its gradient for w, θ_0 and the logarithms of the gaps of θ."""
        return proportional_odds_loss(params, Z, codes, alpha)

    solution = _minimise(loss_and_gradient, start, bounds, _whitening(Z, alpha), max_iter)
    return solution, _thresholds(solution.x[Z.shape[1] :])


def fit_mord(Z: Floats, codes: Ints, alpha: float, max_iter: int, loss: str) -> tuple[OptimizeResult, Floats]:
    """Minimise mord's all-threshold or immediate-threshold loss; return ``(SciPy's solution, θ)``.

    Z (n, n_features) are standardised features, ``codes`` (n,) grades from 0 that all occur, ``alpha`` is the precision
    of the Gaussian prior on w, ``max_iter`` the most iterations of L-BFGS-B. ``loss`` "all-threshold" sums a logistic
    loss over all thresholds, "immediate-threshold" over the two next to the grade.
    """
    n = codes.size
    theta = _first_thresholds(codes)
    start = np.concatenate((theta[:1], np.diff(theta)))
    bounds = [(None, None)] + [(0, None)] * (theta.size - 1)
    # weight of each threshold's loss (column) for each grade (row); the triangle below sums gaps to thresholds
    distance = np.arange(theta.size) - np.arange(theta.size + 1)[:, None]
    weights = np.ones(distance.shape) if loss == "all-threshold" else np.isin(distance, (-1, 0)).astype(np.float64)
    arguments = (Z, codes, alpha, theta.size + 1, weights, np.tri(theta.size), None)

    # mord's own fit passes the option `disp` to L-BFGS-B, which SciPy 1.16 deprecates and 1.18 removes:
    # its loss and gradient are minimised here instead, with any version of SciPy.
    def loss_and_gradient(params: Floats) -> tuple[float, Floats]:
        """Compute mord's loss per row and its gradient for w, θ_0 and the gaps of θ."""
        return obj_margin(params, *arguments) / n, grad_margin(params, *arguments) / n

    solution = _minimise(loss_and_gradient, start, bounds, _whitening(Z, alpha), max_iter)
    return solution, np.cumsum(solution.x[Z.shape[1] :])


def _minimise(
    loss_and_gradient: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    bounds: Sequence[tuple[float | None, float | None]],
    whitening: Floats,
    max_iter: int,
) -> OptimizeResult:
    """Minimise a loss over weights w (from 0) and other parameters (from ``start``) by L-BFGS-B.

    The search is over v with w = whitening · v. ``loss_and_gradient`` maps all parameters, w first, to ``(loss,
    gradient)``; ``bounds`` are those of the other parameters; at most ``max_iter`` steps. The solution's ``x`` has w
    and the other parameters.
    """
    n_features = whitening.shape[0]

    def in_white(params: Floats) -> tuple[float, Floats]:
        """Compute the loss and its gradient for v and the other parameters."""
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


def _whitening(Z: Floats, alpha: float) -> Floats:
    """Compute (ZᵀZ/4n + α/n)^(−1/2), an approximate inverse root of the Hessian, for features Z (n, n_features).

    ``alpha`` is the precision of the Gaussian prior on w. Without it, nearly collinear features cost L-BFGS thousands
    of steps.
    """
    n = Z.shape[0]
    curvatures, directions = np.linalg.eigh(Z.T @ Z / (4 * n) + alpha / n * np.eye(Z.shape[1]))
    floored = np.maximum(curvatures, SMALLEST_CURVATURE * max(curvatures[-1], 1.0))
    return np.asarray((directions / np.sqrt(floored)) @ directions.T, dtype=np.float64)


def _thresholds(params: Floats) -> Floats:
    """Compute the thresholds θ from θ_0 and the logarithms of the gaps between them."""
    return np.asarray(np.cumsum(np.concatenate((params[:1], np.exp(params[1:])))), dtype=np.float64)


def _first_thresholds(codes: Ints) -> Floats:
    """Compute the thresholds of a model without features, logit p(y ≤ k), from the frequencies of grade codes (n,)."""
    shares = np.cumsum(np.bincount(codes))[:-1] / codes.size
    return np.asarray(logit(shares), dtype=np.float64)
