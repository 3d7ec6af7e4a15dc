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

TOLERANCE = 1e-10
SUFFICIENT = 1e-4
SMALLEST_STEP = 1e-9
SMALLEST_CURVATURE = 1e-14


class RankingSVM(LinearRanker):
    """Rank by a linear function learned from preferences, pairs of items of one query and different grades.

    The weights minimise

        ½‖w‖² + C Σ max(0, 1 − wᵀ(x − x′))²

    over all pairs in which x has the higher grade.

    Parameters
    ----------
    C : float
        Weight of the loss of one pair.
    max_pairs : int
        Where there are more pairs, the sum is estimated from that many: a uniform sample without
        replacement of all pairs of all queries, each counted ``n_pairs_`` / max_pairs times, so that C
        means the same whatever is sampled.
    standardize : bool
        Divide each feature by its standard deviation over the items of the fit; a constant feature
        has no say. Without it, features of a large scale are penalised less.
    max_iter : int
        Newton steps at most.
    rng : Generator, int or None
        Draws the pairs.

    Attributes
    ----------
    coef_ : ndarray, shape (n_features,)
        w, of the standardised features.
    n_pairs_ : int
        Preference pairs in the training data, drawn or not.
    n_iter_ : int
    n_features_in_ : int

    Warns
    -----
    ConvergenceWarning
        Where `max_iter` did not suffice.

    Notes
    -----
    The pairs are numbered, not listed: memory grows with the items and with `max_pairs`, not with
    the pairs. A query of many items has more pairs than one of few, and as much more say.

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
            From 0; rows that are not judged must be left out.
        query_ids : array, shape (n,)
            The query of every row; a query's rows may lie apart.

        Raises
        ------
        InputError
            Names the first place that is wrong; also where no query holds items of different grades.
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
        positive(self.C, "C")
        whole_number(self.max_pairs, "max_pairs", 1)
        whole_number(self.max_iter, "max_iter", 1)

    def _differences(self, features: NDArray[Any], preferred: Ints, other: Ints) -> Floats:
        differences = np.empty((preferred.size, features.shape[1]))
        for rows in gen_batches(preferred.size, BLOCK_ROWS):
            np.subtract(features[preferred[rows]], features[other[rows]], out=differences[rows], dtype=np.float64)
            differences[rows] /= self.scales_
        return differences

    def _learn_weights(self, differences: Floats) -> None:
        weights, self.n_iter_, converged = least_squared_hinge(
            differences, 1 / (2 * self.C * self.n_pairs_), int(self.max_iter)
        )
        # Rounding leaves a trace on features that no pair differs in.
        self.coef_ = np.where(differences.any(axis=0), weights, 0.0)
        if not converged:
            warnings.warn(
                f"the ranking SVM did not converge in {self.n_iter_} iterations", ConvergenceWarning, stacklevel=3
            )


def least_squared_hinge(D: Floats, ridge: float, max_iter: int) -> tuple[Floats, int, bool]:
    """Minimise ridge·‖w‖² + mean(max(0, 1 − Dw)²) by Newton's method.

    The function is convex and piecewise quadratic: once the rows short of their margin are the right
    ones a step is exact, and halving steps that do not pay makes it converge from anywhere
    (Keerthi and DeCoste 2005). First-order descents stall where rows can all be kept apart.

    Returns
    -------
    w : ndarray, shape (n_features,)
    n_iter : int
    converged : bool
    """
    n = D.shape[0]
    w, margins = np.zeros(D.shape[1]), np.ones(n)

    def loss(w: Floats, margins: Floats) -> float:
        short = np.maximum(margins, 0.0)
        return float(ridge * (w @ w) + short @ short / n)

    for n_iter in range(1, max_iter + 1):
        value = loss(w, margins)
        gradient = 2 * ridge * w - 2 / n * (np.maximum(margins, 0.0) @ D)
        step = -_solve(_curvature(D, margins > 0, ridge), gradient)
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
    n, n_features = D.shape
    total = np.zeros((n_features, n_features))
    for rows in gen_batches(n, BLOCK_ROWS):
        held = D[rows][short[rows]]
        total += held.T @ held
    return np.asarray(2 / n * total + 2 * ridge * np.eye(n_features), dtype=np.float64)


def _solve(curvature: Floats, gradient: Floats) -> Floats:
    """Solve for the step at unit diagonal; nearly repeated features would otherwise be told apart by rounding."""
    scale = 1 / np.sqrt(np.diag(curvature))
    values, directions = np.linalg.eigh(curvature * np.outer(scale, scale))
    along = (directions.T @ (scale * gradient)) / np.maximum(values, SMALLEST_CURVATURE * values[-1])
    return np.asarray(scale * (directions @ along), dtype=np.float64)
