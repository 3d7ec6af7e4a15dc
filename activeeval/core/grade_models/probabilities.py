"""Matrices of grade probabilities: checks, scores, cumulative form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.core.errors import InputError
from activeeval.core.pool import whole_grades
from activeeval.core.types import Floats, Ints

SMALLEST = float(np.finfo(np.float64).eps)
"""Lower bound of probabilities before a logarithm, as in scikit-learn's log_loss."""


def expected_grade(probs: ArrayLike) -> Floats:
    """Compute the expected grade Σ_k k·p(y = k), the score by which a grade model ranks.

    Parameters
    ----------
    probs : array of float, shape (..., n_grades)

    Returns
    -------
    ndarray, shape (...)

    Examples
    --------
    >>> expected_grade([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    array([0.5, 2. ])
    """
    matrix = np.asarray(probs, dtype=np.float64)
    grades = np.arange(matrix.shape[-1], dtype=np.float64)
    return np.asarray(matrix @ grades, dtype=np.float64)


def log_loss(probs: ArrayLike, y: ArrayLike) -> float:
    """Compute the mean of −log p(y) over observed grades y, in nats; smaller p(y) are raised to 2.2e-16.

    Parameters
    ----------
    probs : array of float, shape (n, n_grades)
    y : array of int, shape (n,)

    Raises
    ------
    InputError
        If a row is not a probability distribution or a grade has no column.

    Examples
    --------
    >>> round(log_loss([[0.5, 0.5], [0.25, 0.75]], [0, 1]), 4)
    0.4904
    """
    matrix = as_probabilities(probs, "probs")
    grades = as_grades(y, matrix.shape[0], matrix.shape[1] - 1)
    return float(-np.log(np.maximum(matrix[np.arange(grades.size), grades], SMALLEST)).mean())


def average_probabilities(probs: Sequence[ArrayLike], weights: ArrayLike | None = None) -> Floats:
    """Average several models' probabilities of the same items; missing grades have probability 0.

    Parameters
    ----------
    probs : sequence of arrays of float, each of shape (n, n_grades of that model)
    weights : array of float, shape (len(probs),), optional
        Not negative, not all 0; need not sum to 1. Equal by default.

    Returns
    -------
    ndarray, shape (n, largest n_grades)

    Raises
    ------
    InputError
        If there is no model, numbers of rows differ, or a row or the weights are invalid.

    Examples
    --------
    >>> average_probabilities([[[1.0, 0.0]], [[0.0, 0.5, 0.5]]])
    array([[0.5 , 0.25, 0.25]])
    """
    if len(probs) == 0:
        raise InputError("cannot average probabilities: no model is given")
    matrices = [as_probabilities(p, f"the probabilities of model {i}") for i, p in enumerate(probs)]
    shares = mixture_weights(weights, len(matrices))
    n_rows = matrices[0].shape[0]
    mean = np.zeros((n_rows, max(m.shape[1] for m in matrices)))
    for i, matrix in enumerate(matrices):
        if matrix.shape[0] != n_rows:
            raise InputError(f"model {i} gives {matrix.shape[0]} rows of probabilities, model 0 gives {n_rows}")
        mean[:, : matrix.shape[1]] += shares[i] * matrix
    return np.asarray(mean / mean.sum(axis=1, keepdims=True), dtype=np.float64)


def mixture_weights(weights: ArrayLike | None, n_models: int) -> Floats:
    """Check the weights of a mixture and scale them to sum 1, shape (n_models,); None gives equal weights.

    Raises InputError unless there is a number ≥ 0 for each model, not all 0.
    """
    if weights is None:
        return np.full(n_models, 1.0 / n_models)
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (n_models,):
        raise InputError(f"weights must have shape ({n_models},), one for each model, got {values.shape}")
    if not (np.all(np.isfinite(values)) and np.all(values >= 0) and values.sum() > 0):
        raise InputError(f"weights must not be negative and not all 0, got {values.tolist()}")
    return np.asarray(values / values.sum(), dtype=np.float64)


def as_features(X: Any, what: str = "X") -> NDArray[Any]:
    """Convert to a dense matrix of floats; float32 stays, and NaN is allowed as a missing value.

    ``what`` is the name of the matrix in messages.

    Raises
    ------
    InputError
        If it is not a matrix of numbers or contains an infinite value; names row and column.
    """
    if hasattr(X, "toarray"):
        raise InputError(f"{what} is a sparse matrix, dense values are expected: pass {what}.toarray()")
    try:
        matrix = np.asarray(X)
        if matrix.dtype not in (np.float32, np.float64):
            matrix = matrix.astype(np.float64)
    except (TypeError, ValueError) as problem:
        raise InputError(f"{what} must be numbers: {problem}") from None
    if matrix.ndim != 2:
        raise InputError(f"{what} must have shape (n, n_features), got {matrix.shape}. Reshape your data")
    if matrix.shape[1] == 0:
        raise InputError(f"{what} has 0 feature(s) (shape={matrix.shape}) while a minimum of 1 is required.")
    # The extremes reveal an infinity without a mask of the matrix's size.
    if matrix.size and np.isinf((np.fmin.reduce(matrix, axis=None), np.fmax.reduce(matrix, axis=None))).any():
        row, column = np.argwhere(np.isinf(matrix))[0]
        raise InputError(f"{what} must be finite or NaN, got {matrix[row, column]} at row {row}, column {column}")
    return matrix


def as_grades(y: ArrayLike, n_rows: int, max_grade: int | None, what: str = "y") -> Ints:
    """Check training grades and convert them to whole numbers; ``what`` is their name in messages.

    Raises
    ------
    InputError
        If the length is wrong, or a grade is fractional, negative, or above `max_grade`.
    """
    values = np.asarray(y)
    if values.shape != (n_rows,):
        raise InputError(f"{what} must hold one grade for each of the {n_rows} rows of X, got shape {values.shape}")
    grades = whole_grades(values, n_rows)
    negative = np.flatnonzero(grades < 0)
    if negative.size:
        raise InputError(
            f"{what} holds the grade {grades[negative[0]]} at row {negative[0]}: a negative grade means not judged,"
            " and such rows must be left out"
        )
    if max_grade is not None and grades.size and grades.max() > max_grade:
        row = int(np.argmax(grades > max_grade))
        raise InputError(f"{what} holds the grade {grades[row]} at row {row}, above the largest grade {max_grade}")
    return grades


def as_query_codes(query_ids: ArrayLike, n_rows: int, what: str) -> tuple[Ints, int]:
    """Number the distinct queries of the rows from 0; return ``(number of each row's query, number of queries)``.

    ``what`` is the name of the ids in messages.

    Raises
    ------
    InputError
        If there is not one id per row, or ids are neither all text nor all numbers.
    """
    of_row = np.asarray(query_ids)
    if of_row.shape != (n_rows,):
        raise InputError(f"{what} must name the query of each of the {n_rows} rows, got shape {of_row.shape}")
    try:
        unique, codes = np.unique(of_row, return_inverse=True)
    except TypeError as problem:
        raise InputError(f"{what} must all be text or all be numbers: {problem}") from None
    return codes, unique.size


def as_probabilities(probs: ArrayLike, what: str) -> Floats:
    """Check that the rows of a matrix are probabilities and return it as floats; ``what`` is its name in messages.

    Raises
    ------
    InputError
        If a value is negative or missing, or the sum of a row differs from 1 by more than 1e-6; names the first row.
    """
    matrix = np.asarray(as_features(probs, what), dtype=np.float64)
    bad = np.flatnonzero(~((matrix >= 0).all(axis=1) & (np.abs(matrix.sum(axis=1) - 1) <= 1e-6)))
    if bad.size:
        row = matrix[bad[0]]
        if np.isnan(row).any():
            problem = f"column {int(np.argmax(np.isnan(row)))} is NaN"
        elif np.any(row < 0):
            problem = f"column {int(np.argmax(row < 0))} is {row[row < 0][0]}"
        else:
            problem = f"they sum to {float(row.sum())!r}"
        raise InputError(f"{what} must be probabilities that sum to 1, but in row {bad[0]} {problem}")
    return matrix


def from_cumulative(cumulative: Floats) -> Floats:
    """Convert p(y ≤ k) for k = 0 … K−2, shape (n, K − 1), to p(y = k) for k = 0 … K−1, shape (n, K).

    Rows that are not increasing are rearranged (sorted): this makes an estimated distribution function monotone and
    never increases its distance from the true one, in any L_p norm
    (Chernozhukov, Fernández-Val and Galichon 2009).
    """
    ordered = np.sort(np.clip(cumulative, 0.0, 1.0), axis=1)
    probs = np.diff(ordered, axis=1, prepend=0.0, append=1.0)
    return np.asarray(probs / probs.sum(axis=1, keepdims=True), dtype=np.float64)
