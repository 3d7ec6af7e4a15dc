"""Rankers whose score is a weighted sum of scaled features, and how those of judged lists are fitted."""

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
    """Base of the rankers that score an item by wᵀ(x − means) / scales.

    Attributes
    ----------
    coef_ : ndarray, shape (n_features,)
        w, of the scaled features.
    means_, scales_ : ndarray, shape (n_features,)
        What is taken from each feature, and what it is divided by.
    n_features_in_ : int
    """

    coef_: Floats
    means_: Floats
    scales_: Floats
    n_features_in_: int

    def predict(self, X: ArrayLike) -> Floats:
        """Return the score of every row, shape (n,); rows of equal features have equal scores."""
        features = fitted_columns(self, X)
        refuse_missing(features)
        scores = np.empty(features.shape[0])
        for start in range(0, scores.size, BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            # A matrix product sums in an order that depends on the row's place, which would break ties.
            np.einsum("ij,j->i", self._columns(features[rows]), self.coef_, out=scores[rows])
        return scores

    def _columns(self, features: NDArray[Any]) -> Floats:
        """Return what the weights are of, shape (n, n_weights)."""
        return np.asarray((features - self.means_) / self.scales_, dtype=np.float64)

    def _learn_scaling(self, features: NDArray[Any], standardize: bool) -> None:
        """Learn to divide by the standard deviation over all items, or to leave features as they are."""
        scaler = StandardScaler(with_mean=standardize, with_std=standardize)
        for rows in gen_batches(features.shape[0], BLOCK_ROWS):
            scaler.partial_fit(features[rows])
        self.means_ = scaler.mean_ if standardize else np.zeros(features.shape[1])
        self.scales_ = scaler.scale_ if standardize else np.ones(features.shape[1])


class ListRanker(LinearRanker):
    """Base of the linear rankers that learn from judged lists."""

    standardize: bool

    def fit(self, X: ArrayLike, grades: ArrayLike, query_ids: ArrayLike) -> Self:
        """Learn from judged items.

        Parameters
        ----------
        X : array of float, shape (n, n_features)
        grades : array of int, shape (n,)
            From 0; rows that are not judged must be left out. Of a top-k truth: k for the best item … 1, and 0 for
            all below.
        query_ids : array, shape (n,)
            The query of every row; a query's rows may lie apart. A query whose items all have one grade has no say.

        Raises
        ------
        InputError
            Names the first place that is wrong; also where no query holds items of different grades.
        """
        self._check_parameters()
        features, whole, codes = grouped_items(X, grades, query_ids)
        # by what they hold, so that rows in another order give the same model to the last bit
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
        """Raise InputError at the first parameter that is wrong."""
        raise TypeError("a ranker says what its parameters may be")

    def _learn_columns(self, features: NDArray[Any]) -> None:
        """Learn what `_columns` makes of features."""
        self._learn_scaling(features, self.standardize)

    def _learn(self, columns: Floats, lists: JudgedLists) -> None:
        """Learn the weights of columns, a row for each item of the lists."""
        raise TypeError("a ranker says how it learns")

    def _tie_order(self, grades: Ints) -> Floats:
        """Return what orders items of one query and grade, from 0 to 1, of items ordered by what they hold."""
        return np.arange(grades.size) / grades.size


class StagedRanker(ListRanker):
    """Base of the rankers that learn in steps, whose number is what regularises them.

    Attributes
    ----------
    path_ : ndarray, shape (n_iter_ + 1, n_features)
        The weights before the first step and after each.
    n_iter_ : int
        Steps taken; fewer than `n_iter` where there was nothing left to gain.
    """

    n_iter: int
    path_: Floats

    @property
    def n_iter_(self) -> int:
        """Steps taken."""
        return len(self.path_) - 1

    def after(self, n_iter: int) -> Self:
        """Return the fitted ranker as fewer steps would have made it."""
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
        self.path_, self.coef_ = path, path[-1]


def within_queries(columns: Floats, lists: JudgedLists) -> Floats:
    """Return columns less their least value in each query.

    Only differences within a query count, and a column that has none becomes 0 to the last bit, so that no rounding
    gives it a weight.
    """
    least = np.minimum.reduceat(columns, lists.offsets[:-1], axis=0)
    return np.asarray(columns - np.repeat(least, np.diff(lists.offsets), axis=0))
