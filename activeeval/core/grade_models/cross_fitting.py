"""Out-of-fold grade probabilities: each row is predicted by a model trained without its query."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from activeeval.core.errors import InputError
from activeeval.core.grade_models.base import GradeModel
from activeeval.core.grade_models.probabilities import as_features, as_grades
from activeeval.core.grade_models.query_factor import codes_of_queries
from activeeval.core.pool import whole_grades
from activeeval.core.types import Floats


def cross_fitted_probs(
    model: GradeModel,
    features: ArrayLike,
    grades: ArrayLike,
    queries: ArrayLike,
    n_folds: int = 5,
    rng: np.random.Generator | int | None = None,
    progress: Callable[[str], object] = lambda what: None,
) -> Floats:
    """Predict the grades of every row by a clone of the model trained without the row's query.

    Parameters
    ----------
    model : grade model
        Not changed. A `random_state` of None is replaced by a number drawn from `rng`.
    features : array of float, shape (n, n_features)
    grades : array of int, shape (n,)
        Negative for unjudged rows, which are not used for training. A query without any grade is predicted by the
        model trained on all queries with grades.
    queries : array, shape (n,)
        The query of every row, in any order.
    n_folds : int
        At least 2; at most the number of queries with a grade.
    rng : Generator, int or None
        Seed of the folds.
    progress : callable
        Called with a message before each fold.

    Returns
    -------
    ndarray, shape (n, n_grades)
        n_grades is the model's max_grade + 1, or the largest of `grades` + 1 if that is None.

    Raises
    ------
    InputError
        If the arrays differ in length, fewer than two queries have a grade, or the training rows of a fold have
        only one grade.

    Examples
    --------
    >>> from activeeval.core.grade_models import OrderedLogitModel
    >>> X, grades = [[0.0], [1.0], [0.0], [1.0]], [0, 1, 0, 1]
    >>> cross_fitted_probs(OrderedLogitModel(), X, grades, queries=[7, 7, 8, 8], rng=0).round(2)
    array([[0.66, 0.34],
           [0.34, 0.66],
           [0.66, 0.34],
           [0.34, 0.66]])
    """
    random = np.random.default_rng(rng)
    if isinstance(n_folds, bool) or int(n_folds) != n_folds or n_folds < 2:
        raise InputError(f"n_folds must be a whole number of at least 2, got {n_folds!r}")
    matrix = as_features(features, "features")
    whole = whole_grades(grades, matrix.shape[0])
    is_judged = whole >= 0
    as_grades(whole[is_judged], int(is_judged.sum()), model.max_grade)  # raises for a grade above the largest
    codes, n_queries = codes_of_queries(queries, whole.size, is_judged)
    candidate = clone(model)
    if candidate.get_params().get("random_state", 0) is None:
        candidate.set_params(random_state=int(random.integers(2**31)))
    # A fold's training rows can lack the largest grade; the model then gives it probability 0.
    top = int(whole.max()) if model.max_grade is None else int(model.max_grade)
    candidate.set_params(max_grade=top)
    # the number of a query without a grade is −1: the last entry, of no fold
    fold_of_query = np.append(random.permutation(n_queries) % int(n_folds), -1)
    fold_of_row = fold_of_query[codes]
    probs = np.empty((whole.size, top + 1))
    folds = np.unique(fold_of_row).tolist()
    for done, fold in enumerate(folds):
        progress(f"fitting without fold {done + 1} of {len(folds)}")
        held_out = fold_of_row == fold
        learned = is_judged & ~held_out
        fitted = clone(candidate).fit(matrix[learned], whole[learned])
        probs[held_out] = fitted.predict_proba(matrix[held_out])
    return probs
