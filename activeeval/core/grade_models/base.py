"""Base classes of grade models: grades as classes, input checks, predictions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from activeeval.core.checks import whole_number
from activeeval.core.errors import InputError
from activeeval.core.grade_models.probabilities import as_features, as_grades, from_cumulative
from activeeval.core.types import Floats, Ints


class GradeModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of models p(y = k | item): scikit-learn classifiers whose classes are the grades.

    Attributes
    ----------
    classes_ : ndarray of int, shape (n_grades,)
        0 … max_grade if that parameter is given, else 0 … the largest training grade.
    n_features_in_ : int
    tuning_ : tuple of TuningRow
        Only on models returned by `tune_grade_model`.
    """

    max_grade: int | None
    tuning_: tuple[Any, ...]

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Predict p(y = k) for every row of X (n, n_features), shape (n, n_grades); rows sum to 1."""
        raise TypeError(f"{type(self).__name__} is a base class: use one of the grade models")

    def predict(self, X: ArrayLike) -> Ints:
        """Predict the most probable grade of every row of X (n, n_features), the lower one in a tie; shape (n,)."""
        return np.asarray(np.argmax(self.predict_proba(X), axis=1), dtype=np.int64)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that features may be missing (NaN)."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _check_max_grade(self) -> int | None:
        """Return `max_grade`; raise InputError unless it is None or a positive whole number."""
        return None if self.max_grade is None else whole_number(self.max_grade, "max_grade", 1)

    def _check_columns(self, X: ArrayLike) -> NDArray[Any]:
        """Convert X to a matrix; raise InputError unless it has as many columns as in the fit."""
        return fitted_columns(self, X)


def fitted_columns(model: BaseEstimator, X: ArrayLike) -> NDArray[Any]:
    """Convert the features for a fitted model's prediction to a matrix with as many columns as in its fit.

    Raises NotFittedError before a fit, and InputError for other columns.
    """
    check_is_fitted(model)
    return as_many_features(X, model.n_features_in_, type(model).__name__)


def as_many_features(X: ArrayLike, n_features: int, model: str) -> NDArray[Any]:
    """Convert to a matrix of floats with `n_features` columns; raise InputError, with the name `model`, otherwise."""
    features = as_features(X)
    if features.shape[1] != n_features:
        raise InputError(f"X has {features.shape[1]} features, but {model} is expecting {n_features} features as input")
    return features


class ThresholdModel(GradeModel):
    """Base class of models that learn p(y ≤ k) for every grade k except the largest.

    They are fitted on the grades that occur: a grade without training data has probability 0. A subclass defines
    `_fit_thresholds` and `_cumulative`.

    Attributes
    ----------
    seen_grades_ : ndarray of int
        The grades of the training data, ascending.
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the model on judged items.

        Parameters
        ----------
        X : array of float, shape (n, n_features)
            NaN is a missing value.
        y : array of int, shape (n,)
            Grades from 0; leave out unjudged rows.

        Raises
        ------
        InputError
            Names the first invalid position; also if only one grade occurs.
        """
        top = self._check_max_grade()
        features = as_features(X)
        grades = as_grades(y, features.shape[0], top)
        seen, codes = np.unique(grades, return_inverse=True)
        if seen.size < 2:
            problem = f"only grade {seen[0]} occurs" if seen.size else "there are no rows"
            raise InputError(f"{problem} in the training data, a grade model needs at least two different grades")
        self.n_features_in_ = features.shape[1]
        self.classes_ = np.arange((int(seen[-1]) if top is None else top) + 1)
        self.seen_grades_ = seen
        self._fit_thresholds(features, codes)
        return self

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Predict p(y = k) = p(y ≤ k) − p(y ≤ k − 1) for every row; 0 for a grade that the training data lack.

        Parameters
        ----------
        X : array of float, shape (n, n_features)

        Returns
        -------
        ndarray, shape (n, n_grades)
            Not negative; rows sum to 1.

        Raises
        ------
        NotFittedError, InputError
            Before a fit; if X is not a matrix with as many columns as in the fit.
        """
        check_is_fitted(self)
        features = self._check_columns(X)
        probs = np.zeros((features.shape[0], self.classes_.size))
        if features.shape[0]:
            probs[:, self.seen_grades_] = from_cumulative(self._cumulative(features))
        return probs

    def _fit_thresholds(self, features: NDArray[Any], codes: Ints) -> None:
        """Fit p(y ≤ k) on ``features`` (n, n_features) and ``codes`` (n,); every subclass overrides it.

        Codes are the positions 0 … n_seen − 1 of the grades among those that occur.
        """
        raise TypeError(f"{type(self).__name__} is a base class: use one of the grade models")

    def _cumulative(self, features: NDArray[Any]) -> Floats:
        """Predict p(y ≤ the k-th grade of the training data), shape (n, n_seen − 1); every subclass overrides it."""
        raise TypeError(f"{type(self).__name__} is a base class: use one of the grade models")
