"""Averages of grade models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from activeeval.errors import InputError
from activeeval.grade_models.base import GradeModel
from activeeval.grade_models.probabilities import Floats, Ints, as_grades, average_probabilities, mixture_weights


class MixtureGradeModel(GradeModel):
    """Average of the probabilities of several models, as where each of two rankers brings one.

    Parameters
    ----------
    models : sequence of grade models
        `fit` learns clones of them and leaves these as they are. Models that are fitted already can
        be averaged without calling `fit`.
    weights : array of float, shape (len(models),), optional
        Not negative; equal by default. They need not sum to 1.
    max_grade : int, optional
        Columns of zeros are added up to this grade; by default up to the widest model's.

    Attributes
    ----------
    models_ : list of grade models
        The fitted models.

    See Also
    --------
    average_probabilities : the same for models that look at different features.

    Examples
    --------
    >>> from activeeval.grade_models import UniformGradeModel
    >>> mixture = MixtureGradeModel([UniformGradeModel(1), UniformGradeModel(3)])
    >>> mixture.predict_proba([[0.0]])
    array([[0.375, 0.375, 0.125, 0.125]])
    """

    def __init__(self, models: Sequence[Any], weights: ArrayLike | None = None, max_grade: int | None = None) -> None:
        self.models = models
        self.weights = weights
        self.max_grade = max_grade

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit a clone of every model on the same rows."""
        top = self._check_max_grade()
        self._check_models()
        as_grades(y, np.shape(X)[0] if np.ndim(X) else 0, top)
        self.models_ = [clone(model).fit(X, y) for model in self.models]
        self._n_grades([model.classes_.size for model in self.models_])
        return self

    @property
    def classes_(self) -> Ints:
        """The grades 0 … n_grades − 1 of fitted models."""
        return np.arange(self._n_grades([model.classes_.size for model in self._fitted()]))

    @property
    def n_features_in_(self) -> int:
        """Number of features of the fitted models."""
        return int(self._fitted()[0].n_features_in_)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the weighted mean of the models' probabilities, shape (n, n_grades)."""
        check_is_fitted(self)
        self._check_max_grade()
        self._check_models()
        probs = [model.predict_proba(X) for model in self._fitted()]
        n_grades = self._n_grades([p.shape[1] for p in probs])
        mean = average_probabilities(probs, self.weights)
        return np.pad(mean, ((0, 0), (0, n_grades - mean.shape[1])))

    def __sklearn_is_fitted__(self) -> bool:
        try:
            for model in self._fitted():
                check_is_fitted(model)
        except ValueError:
            return False
        return True

    def _fitted(self) -> Sequence[Any]:
        return getattr(self, "models_", self.models)

    def _check_models(self) -> None:
        if len(self.models) == 0:
            raise InputError("a mixture needs at least one model")
        mixture_weights(self.weights, len(self.models))

    def _n_grades(self, widths: list[int]) -> int:
        if self.max_grade is None:
            return max(widths)
        if max(widths) > self.max_grade + 1:
            raise InputError(
                f"a model of the mixture knows {max(widths)} grades, max_grade allows {self.max_grade + 1}"
            )
        return int(self.max_grade) + 1
