"""Mixtures of grade models with equal, given, or learned weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from activeeval.core.errors import InputError
from activeeval.core.grade_models.base import GradeModel
from activeeval.core.grade_models.probabilities import (
    SMALLEST,
    as_grades,
    as_probabilities,
    as_query_codes,
    average_probabilities,
    expected_grade,
    mixture_weights,
)
from activeeval.core.types import Floats, Ints

PRIOR_QUERIES = 1.0
"""Prior weight of each model, in queries. Grades within a query are correlated, so it counts once, whatever its length.
.2, .5, 1, 2, 5 and 20 were compared on fifteen parts of four collections (a forest, a logit and the rankers' scores, or
four language models' grades, learned from 10 to 339 of the queries, tested on the rest): all from 1 on give the same
squared error within .3 %, and .2 up to 1.5 % more; if rows count instead of queries, it is up to 14 % more."""
WORTH = 0.03
"""Smallest share of the squared error that an extra regressor must remove: it costs 1/n, 3 % for n = 30 queries."""
_CLOSE, _MOST_STEPS = 1e-10, 10_000
_RANKS = 10
_ROUNDING, _FAR = 1e-9, 2.0


class MixtureGradeModel(GradeModel):
    """Weighted average of the probabilities of several models, for example of one model from each of two rankers.

    Parameters
    ----------
    models : sequence of grade models
        `fit` trains clones and leaves these unchanged. Models that are fitted already can
        be averaged without calling `fit`.
    weights : array of float, shape (len(models),), optional
        Not negative; equal by default. They need not sum to 1.
    max_grade : int, optional
        Columns of zeros are added up to this grade; by default up to that of the widest model.

    Attributes
    ----------
    models_ : list of grade models
        The fitted models.

    See Also
    --------
    average_probabilities : the same for models with different features.

    Examples
    --------
    >>> from activeeval.core.grade_models import UniformGradeModel
    >>> mixture = MixtureGradeModel([UniformGradeModel(1), UniformGradeModel(3)])
    >>> mixture.predict_proba([[0.0]])
    array([[0.375, 0.375, 0.125, 0.125]])
    """

    def __init__(self, models: Sequence[Any], weights: ArrayLike | None = None, max_grade: int | None = None) -> None:
        """Store the grade models to average, their weights (equal by default) and the largest grade.

        ``max_grade`` None: the largest grade of any model.
        """
        self.models = models
        self.weights = weights
        self.max_grade = max_grade

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit a clone of every model on the same rows, X (n, n_features) with grades y (n,).

        Raises InputError if a grade, model or weight is invalid.
        """
        top = self._check_max_grade()
        self._check_models()
        as_grades(y, np.shape(X)[0] if np.ndim(X) else 0, top)  # raises for an invalid grade
        self.models_ = [clone(model).fit(X, y) for model in self.models]
        self._n_grades([model.classes_.size for model in self.models_])  # raises if a model has too many
        return self

    @property
    def classes_(self) -> Ints:
        """The grades 0 … n_grades − 1 of fitted models; InputError if a model has more than `max_grade` allows."""
        return np.arange(self._n_grades([model.classes_.size for model in self._fitted()]))

    @property
    def n_features_in_(self) -> int:
        """Number of features of the fitted models."""
        return int(self._fitted()[0].n_features_in_)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Compute the weighted mean of the models' probabilities, shape (n, n_grades).

        Raises InputError if a model or weight is invalid, and NotFittedError if a model is not fitted.
        """
        check_is_fitted(self)
        self._check_max_grade()
        self._check_models()
        probs = [model.predict_proba(X) for model in self._fitted()]
        n_grades = self._n_grades([p.shape[1] for p in probs])
        mean = average_probabilities(probs, self.weights)
        return np.pad(mean, ((0, 0), (0, n_grades - mean.shape[1])))

    def __sklearn_is_fitted__(self) -> bool:
        """True if all models are fitted."""
        try:
            for model in self._fitted():
                check_is_fitted(model)
        except ValueError:
            return False
        return True

    def _fitted(self) -> Sequence[Any]:
        """Get the models fitted by `fit`, or the given models if they were fitted before."""
        return getattr(self, "models_", self.models)

    def _check_models(self) -> None:
        """Raise InputError without any model or with invalid weights."""
        if len(self.models) == 0:
            raise InputError("a mixture needs at least one model")
        mixture_weights(self.weights, len(self.models))

    def _n_grades(self, widths: list[int]) -> int:
        """Compute the number of grades from those of the models (``widths``) and `max_grade`.

        Raises InputError if a model has more grades than `max_grade` allows.
        """
        if self.max_grade is None:
            return max(widths)
        if max(widths) > self.max_grade + 1:
            raise InputError(f"a model of the mixture has {max(widths)} grades, max_grade allows {self.max_grade + 1}")
        return int(self.max_grade) + 1


def learned_weights(probs: Sequence[ArrayLike], grades: ArrayLike, queries: ArrayLike) -> Floats:
    """Learn the weights of a mixture from grades that its models were not trained on.

    They maximize Σ_x (1/n_x) Σ_i log Σ_j w_j p_j(y_i) + `PRIOR_QUERIES` Σ_j log w_j over queries x and their n_x rows:
    the mean log-likelihood of each query's rows, and a prior that favours equal weights.

    Parameters
    ----------
    probs : sequence of arrays of float, each of shape (n, n_grades)
        Out-of-fold probabilities of each model, as from `cross_fitted_probs`.
    grades : array of int, shape (n,)
        The observed grade of every row.
    queries : array, shape (n,)
        The query of every row, in any order.

    Returns
    -------
    ndarray, shape (len(probs),)
        Positive, with sum 1.

    Raises
    ------
    InputError
        If there is no model, arrays differ in length, or a grade is above the largest of a model.

    Examples
    --------
    >>> sure, unsure = [[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]
    >>> learned_weights([sure, unsure], [0, 1], queries=[7, 8]).round(2)
    array([0.62, 0.38])
    """
    of_grade, shares = _likelihoods(probs, grades, queries)
    weights = np.full(of_grade.shape[1], 1.0 / of_grade.shape[1])
    for _ in range(_MOST_STEPS):
        # EM: the number of queries whose grades each model explains, and the prior's
        parts = of_grade * weights
        counts = shares @ (parts / parts.sum(axis=1, keepdims=True)) + PRIOR_QUERIES
        before, weights = weights, counts / counts.sum()
        if np.abs(weights - before).max() < _CLOSE:
            break
    return np.asarray(weights)


def worth_fitting(probs: Sequence[ArrayLike], weights: ArrayLike, grades: ArrayLike, queries: ArrayLike) -> list[int]:
    """Select the models to use as regressors of an estimate in addition to their mixture, most useful first.

    The value of a query is Σ_i d_i y_i over the first ten items in the order of the mixture's expected grade, with d =
    1 / log₂(1 + rank); model j predicts Σ_i d_i E_j[y_i]. Forward selection minimizes the leave-one-query-out squared
    error of a regression on 1, the mixture and the selected models. It stops when the next model lowers the error by
    less than the share `WORTH`, or by less than two standard errors over the queries.

    Parameters
    ----------
    probs : sequence of arrays of float, each of shape (n, n_grades)
        Out-of-fold probabilities of each model for the same rows.
    grades : array of int, shape (n,)
        From 0.
    queries : array, shape (n,)
        The query of every row, in any order.
    weights : array of float, shape (len(probs),)
        Weights of the mixture.

    Returns
    -------
    list of int
        Indices of the selected models; empty if none is worth it.
    """
    known = as_grades(grades, np.shape(probs[0])[0], None)
    codes, n = as_query_codes(queries, known.size, "queries")
    expected = np.column_stack([expected_grade(p) for p in (average_probabilities(probs, weights), *probs)])
    order = np.lexsort((-expected[:, 0], codes))
    ranks = np.empty(known.size)
    ranks[order] = np.arange(known.size) - np.searchsorted(codes[order], codes[order]) + 1
    discounts = np.where(ranks <= _RANKS, 1.0 / np.log2(1.0 + ranks), 0.0)
    sums = [np.bincount(codes, discounts * c, minlength=n) for c in (known.astype(np.float64), *expected.T)]
    values, *predicted = (np.asarray(of_query, dtype=np.float64) for of_query in sums)
    chosen: list[int] = []
    columns = [np.ones(n), predicted[0]]
    errors = _left_out(columns, values)
    for _ in probs:
        # squared errors by model that is added, of each query left out
        left = {j: _left_out([*columns, predicted[j + 1]], values) for j in range(len(probs)) if j not in chosen}
        best = min(left, key=lambda j: float(left[j].sum()))
        gains = errors - left[best]
        if gains.mean() <= max(WORTH * errors.mean(), _FAR * gains.std() / np.sqrt(n)):
            break
        errors = left[best]
        chosen.append(best)
        columns.append(predicted[best + 1])
    return chosen


def _likelihoods(probs: Sequence[ArrayLike], grades: ArrayLike, queries: ArrayLike) -> tuple[Floats, Floats]:
    """Compute each model's probabilities of the observed grades, and the weight of each row.

    Returns ``(p_j(y_i) (n, n_models), 1 / (number of rows of the row's query) (n,))``; probabilities are at least
    `SMALLEST`. Raises InputError if there is no model or rows or grades do not fit.
    """
    if len(probs) == 0:
        raise InputError("cannot learn weights: no model is given")
    matrices = [as_probabilities(p, f"the probabilities of model {j}") for j, p in enumerate(probs)]
    n_rows = matrices[0].shape[0]
    columns = []
    for j, matrix in enumerate(matrices):
        if matrix.shape[0] != n_rows:
            raise InputError(f"model {j} gives {matrix.shape[0]} rows of probabilities, model 0 gives {n_rows}")
        whole = as_grades(grades, n_rows, matrix.shape[1] - 1, "grades")
        columns.append(matrix[np.arange(n_rows), whole])
    codes, _ = as_query_codes(queries, n_rows, "queries")
    return np.maximum(np.column_stack(columns), SMALLEST), 1.0 / np.bincount(codes)[codes]


def _left_out(columns: Sequence[Floats], values: Floats) -> Floats:
    """Compute the squared leave-one-out errors of least squares of ``values`` (n,) on ``columns``, shape (n,).

    They are (e_i / (1 − h_i))² with residuals e and leverages h.
    """
    basis = np.linalg.svd(np.column_stack(columns), full_matrices=False)
    # without directions that differ from 0 by rounding only, of columns that others imply
    base = basis.U[:, basis.S / basis.S[0] > _ROUNDING]
    residuals, leverages = values - base @ (base.T @ values), (base**2).sum(axis=1)
    return np.asarray((residuals / np.maximum(1.0 - leverages, _ROUNDING)) ** 2)
