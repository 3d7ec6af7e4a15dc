"""A linear Ranking SVM on preference pairs."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches

from activeeval.core.checks import positive, whole_number
from activeeval.core.errors import InputError
from activeeval.core.types import Floats, Ints
from activeeval.rankers.input_checks import grouped_items
from activeeval.rankers.linear import BLOCK_ROWS, LinearRanker
from activeeval.rankers.pairs import PreferencePairs

TOLERANCE = 1e-10  # of convergence: predicted decrease as a share of the objective
SUFFICIENT = 1e-4  # share of the predicted decrease that a step has to reach
SMALLEST_STEP = 1e-9
SMALLEST_CURVATURE = 1e-14  # as a share of the largest


class RankingSVM(LinearRanker):
    """Rank by a linear function fitted to the squared hinge loss of preference pairs.

    The weights minimise

        ½‖w‖² + C Σ max(0, 1 − wᵀ(x − x′))²

    over all pairs in which x has the higher grade.

    Parameters
    ----------
    C : float
        Weight of the loss of one pair.
    max_pairs : int
        Largest number of pairs in the sum. Beyond it, the sum is estimated from a uniform sample without
        replacement of all pairs of all queries, each with weight ``n_pairs_`` / max_pairs, so that the meaning
        of C does not change.
    standardize : bool
        Divide each feature by its standard deviation over the items of the fit; a constant feature
        has no effect. Without it, features of a large scale are penalised less.
    max_iter : int
        Largest number of Newton steps.
    rng : Generator, int or None
        Draws the pairs.

    Attributes
    ----------
    coef_ : ndarray, shape (n_features,)
        w, of the standardised features.
    n_pairs_ : int
        Number of preference pairs in the training data, sampled or not.
    n_iter_ : int
    n_features_in_ : int

    Warns
    -----
    ConvergenceWarning
        If `max_iter` did not suffice.

    Notes
    -----
    The pairs are numbered, not listed: memory is linear in the items and in `max_pairs`, not in the
    pairs. A query's weight is its number of pairs.

    References
    ----------
    Herbrich, Graepel and Obermayer (2000). Large margin rank boundaries for ordinal regression.
    Advances in Large Margin Classifiers. There the loss of a pair is not squared.
    Keerthi and DeCoste (2005). A modified finite Newton method for fast solution of large scale
    linear SVMs. Journal of Machine Learning Research 6.

    Examples
    --------
    >>> X = [[1.0, 5.0], [2.0, 1.0], [3.0, 4.0], [0.0, 2.0]]
    >>> ranker = RankingSVM().fit(X, grades=[0, 1, 2, 0], query_ids=["a", "a", "b", "b"])
    >>> np.argsort(-ranker.predict(X))
    array([2, 1, 0, 3])
    """

    def __init__(
        self,
        C: float = 1.0,
        max_pairs: int = 100_000,
        standardize: bool = True,
        max_iter: int = 200,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        """Store the parameters; `fit` checks them.

        ``C`` is the weight of a pair's loss against ½‖w‖²; more than ``max_pairs`` pairs are sampled with seed ``rng``;
        ``standardize`` divides features by their standard deviation; ``max_iter`` is the most Newton steps.
        """
        self.C = C
        self.max_pairs = max_pairs
        self.standardize = standardize
        self.max_iter = max_iter
        self.rng = rng

    def fit(self, X: ArrayLike, grades: ArrayLike, query_ids: ArrayLike) -> Self:
        """Learn from judged items.

        Parameters
        ----------
        X : array of float, shape (n, n_features)
        grades : array of int, shape (n,)
            From 0; unjudged rows must be left out.
        query_ids : array, shape (n,)
            The query of every row; its rows need not be contiguous.

        Raises
        ------
        InputError
            At the first invalid value, or if no query holds items of different grades.
        """
        self._check_parameters()
        features, whole, codes = grouped_items(X, grades, query_ids)
        pairs = PreferencePairs.of(whole, codes)
        if pairs.n_pairs == 0:
            raise InputError("no query holds items of different grades, a ranking SVM needs at least one such pair")
        self.n_pairs_ = pairs.n_pairs
        self._learn_scaling(features, self.standardize)
        self._learn_weights(self._differences(features, *pairs.draw(self.max_pairs, np.random.default_rng(self.rng))))
        self.n_features_in_ = features.shape[1]
        return self

    def _check_parameters(self) -> None:
        """Raise InputError at the first invalid parameter."""
        positive(self.C, "C")
        whole_number(self.max_pairs, "max_pairs", 1)
        whole_number(self.max_iter, "max_iter", 1)

    def _differences(self, features: NDArray[Any], preferred: Ints, other: Ints) -> Floats:
        """Compute the scaled feature differences of the pairs, preferred minus other, shape (n_pairs, n_features)."""
        differences = np.empty((preferred.size, features.shape[1]))
        for rows in gen_batches(preferred.size, BLOCK_ROWS):
            np.subtract(features[preferred[rows]], features[other[rows]], out=differences[rows], dtype=np.float64)
            differences[rows] /= self.scales_
        return differences

    def _learn_weights(self, differences: Floats) -> None:
        """Minimise the objective and store the weights; warn (ConvergenceWarning) if it does not converge.

        `differences` have shape (n_pairs, n_features).
        """
        weights, self.n_iter_, converged = least_squared_hinge(
            differences, 1 / (2 * self.C * self.n_pairs_), int(self.max_iter)
        )
        # Rounding leaves small weights on features in which no pair differs.
        self.coef_ = np.where(differences.any(axis=0), weights, 0.0)
        if not converged:
            warnings.warn(
                f"the ranking SVM did not converge in {self.n_iter_} iterations", ConvergenceWarning, stacklevel=3
            )


def least_squared_hinge(D: Floats, ridge: float, max_iter: int) -> tuple[Floats, int, bool]:
    """Minimise ridge·‖w‖² + mean(max(0, 1 − Dw)²) by Newton's method.

    The function is convex and piecewise quadratic: once the set of rows below their margin is right, a step is exact.
    Halving of steps without sufficient decrease gives global convergence (Keerthi and DeCoste 2005). First-order
    methods stall if all rows can be separated.

    Parameters
    ----------
    D : ndarray, shape (n_pairs, n_features)
        Feature differences of the pairs.
    ridge : float
        Weight of the penalty.
    max_iter : int
        Largest number of Newton steps.

    Returns
    -------
    w : ndarray, shape (n_features,)
    n_iter : int
    converged : bool
    """
    n = D.shape[0]
    w, margins = np.zeros(D.shape[1]), np.ones(n)

    def loss(w: Floats, margins: Floats) -> float:
        """Compute the objective from the weights and the margins 1 − Dw, shape (n_pairs,)."""
        short = np.maximum(margins, 0.0)
        return float(ridge * (w @ w) + short @ short / n)

    for n_iter in range(1, max_iter + 1):
        value = loss(w, margins)
        gradient = 2 * ridge * w - 2 / n * (np.maximum(margins, 0.0) @ D)
        step = -_solve(_curvature(D, margins > 0, ridge), gradient)
        # decrease predicted by the slope, change of the margins, and length of the step as a share of Newton's
        decrease, moves, size = -float(gradient @ step), D @ step, 1.0
        converged = decrease <= TOLERANCE * value
        while not converged and size > SMALLEST_STEP:
            if loss(w + size * step, margins - size * moves) <= value - SUFFICIENT * size * decrease:
                break
            size /= 2
        w, margins = w + size * step, margins - size * moves
        if converged:
            return w, n_iter, True
    return w, max_iter, False


def _curvature(D: Floats, short: NDArray[np.bool_], ridge: float) -> Floats:
    """Compute the Hessian of `least_squared_hinge`, shape (n_features, n_features).

    `short`, shape (n_pairs,), marks the rows below their margin, which alone contribute; ``ridge`` weighs ‖w‖².
    """
    n, n_features = D.shape
    total = np.zeros((n_features, n_features))
    for rows in gen_batches(n, BLOCK_ROWS):
        active = D[rows][short[rows]]
        total += active.T @ active
    return np.asarray(2 / n * total + 2 * ridge * np.eye(n_features), dtype=np.float64)


def _solve(curvature: Floats, gradient: Floats) -> Floats:
    """Solve curvature · step = gradient for the step, shape (n_features,).

    The matrix is scaled to unit diagonal, so that rounding does not separate nearly equal features.
    """
    scale = 1 / np.sqrt(np.diag(curvature))
    values, directions = np.linalg.eigh(curvature * np.outer(scale, scale))
    along = (directions.T @ (scale * gradient)) / np.maximum(values, SMALLEST_CURVATURE * values[-1])
    return np.asarray(scale * (directions @ along), dtype=np.float64)
