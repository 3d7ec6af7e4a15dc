"""Linear rankers on scaled features, and the base for fits on judged lists."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from activeeval.core.checks import whole_number
from activeeval.core.errors import InputError
from activeeval.core.grade_models.base import fitted_columns
from activeeval.core.types import Floats, Ints
from activeeval.rankers.input_checks import grouped_items, refuse_missing
from activeeval.rankers.judged_lists import JudgedLists

BLOCK_ROWS = 8192


class LinearRanker(BaseEstimator):  # type: ignore[misc]
    """Base of the rankers with the score wᵀ(x − means) / scales.

    Attributes
    ----------
    coef_ : ndarray, shape (n_features,)
        w, of the scaled features.
    means_, scales_ : ndarray, shape (n_features,)
        Offset subtracted from each feature, and its divisor.
    n_features_in_ : int
    """

    coef_: Floats
    means_: Floats
    scales_: Floats
    n_features_in_: int

    def predict(self, X: ArrayLike) -> Floats:
        """Compute the score of every row, shape (n,); rows of equal features have equal scores.

        Raises
        ------
        InputError
            If a value is missing or invalid, or there are more or fewer features than in the fit.
        """
        features = fitted_columns(self, X)
        refuse_missing(features)
        scores = np.empty(features.shape[0])
        for start in range(0, scores.size, BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            # A matrix product sums in an order that depends on the row's place, which would break ties.
            np.einsum("ij,j->i", self._columns(features[rows]), self.coef_, out=scores[rows])
        return scores

    def _columns(self, features: NDArray[Any]) -> Floats:
        """Scale the features to the columns of the weights, shape (n, n_weights)."""
        return np.asarray((features - self.means_) / self.scales_, dtype=np.float64)

    def _learn_scaling(self, features: NDArray[Any], standardize: bool) -> None:
        """Store the means and standard deviations over all items, or 0 and 1 without standardisation."""
        scaler = StandardScaler(with_mean=standardize, with_std=standardize)
        for rows in gen_batches(features.shape[0], BLOCK_ROWS):
            scaler.partial_fit(features[rows])
        self.means_ = scaler.mean_ if standardize else np.zeros(features.shape[1])
        self.scales_ = scaler.scale_ if standardize else np.ones(features.shape[1])


class ListRanker(LinearRanker):
    """Base of the linear rankers that learn from judged lists: subclasses check parameters and learn weights."""

    standardize: bool

    def fit(self, X: ArrayLike, grades: ArrayLike, query_ids: ArrayLike) -> Self:
        """Learn from judged items.

        Parameters
        ----------
        X : array of float, shape (n, n_features)
        grades : array of int, shape (n,)
            From 0; unjudged rows must be left out. Top-k labels are k for the best item … 1, and 0 for all others.
        query_ids : array, shape (n,)
            The query of every row; its rows need not be contiguous. A query whose items all have one grade is ignored.

        Raises
        ------
        InputError
            At the first invalid value, or if no query holds items of different grades.
        """
        self._check_parameters()
        features, whole, codes = grouped_items(X, grades, query_ids)
        # sorted by content, so that the model does not depend on the order of the rows, to the last bit
        order = np.lexsort((*features.T, whole, codes))
        ties = np.empty(order.size)
        ties[order] = self._tie_order(whole[order])
        lists = JudgedLists.of(whole, codes, ties)
        if lists.n_lists == 0:
            raise InputError(f"no query holds items of different grades, {type(self).__name__} needs at least one")
        self._learn_columns(features[order])
        self._learn(self._columns(features[lists.rows]), lists)
        self.n_features_in_ = features.shape[1]
        return self

    def _check_parameters(self) -> None:
        """Raise InputError at the first invalid parameter; implemented by subclasses."""
        raise TypeError("a subclass checks its parameters")

    def _learn_columns(self, features: NDArray[Any]) -> None:
        """Learn the offsets and divisors with which `_columns` scales the features."""
        self._learn_scaling(features, self.standardize)

    def _learn(self, columns: Floats, lists: JudgedLists) -> None:
        """Learn the weights; implemented by subclasses.

        `columns`, shape (n_items, n_weights), has a row for each item of the lists.
        """
        raise TypeError("a subclass learns its weights")

    def _tie_order(self, grades: Ints) -> Floats:
        """Return ascending sort keys in [0, 1) that keep items of one query and grade in their present order."""
        return np.arange(grades.size) / grades.size


class StagedRanker(ListRanker):
    """Base of the rankers fitted in steps, regularised by the number of steps.

    Attributes
    ----------
    path_ : ndarray, shape (n_iter_ + 1, n_features)
        The weights before the first step and after each.
    n_iter_ : int
        Number of steps; fewer than `n_iter` if the loss could not be lowered further.
    """

    n_iter: int
    path_: Floats

    @property
    def n_iter_(self) -> int:
        """Number of steps taken."""
        return len(self.path_) - 1

    def after(self, n_iter: int) -> Self:
        """Return a copy of the fitted ranker as it was after its first `n_iter` steps."""
        check_is_fitted(self)
        fewer = copy.copy(self)
        fewer.n_iter = whole_number(n_iter, "n_iter", 1)
        fewer._take_path(self.path_[: fewer.n_iter + 1])
        return fewer

    def staged_predict(self, X: ArrayLike) -> Iterator[Floats]:
        """Yield the scores of every row after 1, 2, … steps."""
        for n_iter in range(1, self.n_iter_ + 1):
            yield self.after(n_iter).predict(X)

    def _take_path(self, path: Floats) -> None:
        """Store the weights before the first step and after each, shape (n_steps + 1, n_weights).

        The last are the model's.
        """
        self.path_, self.coef_ = path, path[-1]


def within_queries(columns: Floats, lists: JudgedLists) -> Floats:
    """Subtract the minimum of each column in each query; `columns` and the result have shape (n_items, n_columns).

    Only differences within a query matter. A column without differences becomes exactly 0, so that rounding gives it no
    weight.
    """
    least = np.minimum.reduceat(columns, lists.offsets[:-1], axis=0)
    return np.asarray(columns - np.repeat(least, np.diff(lists.offsets), axis=0))
