"""Pointwise rankers: expected grades of a grade model, and a regression forest."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from activeeval.core.errors import InputError
from activeeval.core.grade_models import GradeModel, expected_grade
from activeeval.core.grade_models.base import fitted_columns
from activeeval.core.grade_models.forest import Forests
from activeeval.core.types import Floats
from activeeval.rankers.input_checks import training_items


class _ItemRanker(BaseEstimator):  # type: ignore[misc]
    """Base of the pointwise rankers, which accept missing values."""

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn that NaN is allowed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class ExpectedGradeRanker(_ItemRanker):
    """Rank by the expected grade Σ_k k·p(y = k) of a grade model.

    Parameters
    ----------
    model : grade model
        Not modified, fitted or not: `fit` fits a clone.

    Attributes
    ----------
    model_ : grade model
        The fitted clone.
    n_features_in_ : int

    Examples
    --------
    >>> from activeeval.core.grade_models import OrderedLogitModel
    >>> ranker = ExpectedGradeRanker(OrderedLogitModel()).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 2])
    >>> ranker.predict([[0.0], [3.0]]).round(2)
    array([0.41, 1.2 ])
    """

    def __init__(self, model: GradeModel) -> None:
        """Store the grade model, whose clone is fitted; `fit` checks it."""
        self.model = model

    def fit(self, X: ArrayLike, grades: ArrayLike, query_ids: ArrayLike | None = None) -> Self:
        """Fit a clone of the model on judged items.

        Parameters
        ----------
        X : array of float, shape (n, n_features)
        grades : array of int, shape (n,)
            From 0; unjudged rows must be left out.
        query_ids : array, shape (n,), optional
            Ignored: a grade model is pointwise.

        Raises
        ------
        InputError
            Names the first place that is wrong.
        """
        if not isinstance(self.model, GradeModel):
            raise InputError(f"model must be a grade model, got {self.model!r}")
        features, whole, _ = training_items(X, grades, query_ids)
        self.model_ = clone(self.model).fit(features, whole)
        self.n_features_in_ = features.shape[1]
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Compute the expected grade of every row, shape (n,)."""
        check_is_fitted(self)
        return expected_grade(self.model_.predict_proba(fitted_columns(self, X)))


class ForestRegressionRanker(Forests, _ItemRanker):
    """Rank by a random forest's regression of the grade (the ranker RF_reg of Sawade et al. 2013).

    Parameters
    ----------
    n_estimators, min_samples_leaf, max_features, max_samples, n_jobs, random_state
        Trees, least leaf, features tried per split, size of bootstrap samples, threads and seed: see
        `ForestGradeModel`. Missing values (NaN) are allowed.
    max_rows : int, optional
        Largest number of training rows; a larger set is subsampled without replacement.

    Attributes
    ----------
    forests_ : list of RandomForestRegressor
        With one entry.
    n_features_in_ : int

    Examples
    --------
    >>> X = np.arange(200.0).reshape(-1, 1)
    >>> ranker = ForestRegressionRanker(n_estimators=10, random_state=0).fit(X, np.digitize(X[:, 0], [100, 150]))
    >>> ranker.predict([[20.0], [120.0], [190.0]])
    array([0., 1., 2.])
    """

    def fit(self, X: ArrayLike, grades: ArrayLike, query_ids: ArrayLike | None = None) -> Self:
        """Grow the forest on judged items.

        Parameters
        ----------
        X : array of float, shape (n, n_features)
            NaN stands for a missing value.
        grades : array of int, shape (n,)
            From 0; unjudged rows must be left out.
        query_ids : array, shape (n,), optional
            Ignored: the regression is pointwise.

        Raises
        ------
        InputError
            Names the first place that is wrong.
        """
        features, whole, _ = training_items(X, grades, query_ids)
        self._grow(features, [whole.astype(np.float64)])
        self.n_features_in_ = features.shape[1]
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Predict the grade of every row, shape (n,)."""
        return self._means(fitted_columns(self, X))[:, 0]
