"""The model that knows nothing."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from activeeval.core.errors import InputError
from activeeval.core.grade_models.base import GradeModel
from activeeval.core.grade_models.probabilities import as_grades
from activeeval.core.types import Floats


class UniformGradeModel(GradeModel):
    """Every grade is equally probable, p(y = k) = 1/(Y + 1): where no model is at hand.

    Parameters
    ----------
    max_grade : int, optional
        Largest grade Y. With it the model needs no fit; without, `fit` takes the largest grade.

    Examples
    --------
    >>> UniformGradeModel(max_grade=1).predict_proba([[3.0], [4.0]])
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """

    def __init__(self, max_grade: int | None = None) -> None:
        self.max_grade = max_grade

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Take the number of grades from `max_grade` or else from the training grades."""
        top = self._check_max_grade()
        shape = np.shape(X)
        if not shape:
            raise InputError("X must have one row for each item")
        if y is not None:
            grades = as_grades(y, shape[0], top)
            top = int(grades.max(initial=0)) if top is None else top
        if not top:
            raise InputError("the number of grades is unknown: give max_grade, or training grades above 0")
        self.n_features_in_ = shape[1] if len(shape) > 1 else 1
        self.classes_ = np.arange(top + 1)
        return self

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return 1/(Y + 1) for every row and grade, shape (n, n_grades); only X's length matters."""
        n_grades = (self if hasattr(self, "classes_") else clone(self).fit(X)).classes_.size
        return np.full((np.shape(X)[0], n_grades), 1.0 / n_grades)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_") or self.max_grade is not None
