"""Input validation of the rankers' training items."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.core.errors import InputError
from activeeval.core.grade_models.probabilities import as_features, as_grades, as_query_codes
from activeeval.core.types import Ints


def training_items(
    X: ArrayLike, grades: ArrayLike, query_ids: ArrayLike | None
) -> tuple[NDArray[Any], Ints, Ints | None]:
    """Validate features, grades and, unless None, query ids of n rows.

    Return features (n, n_features), grades (n,), and query numbers from 0 (n,), or None without query ids.

    Raises
    ------
    InputError
        At the first invalid value, or if there are no rows.
    """
    features = as_features(X)
    if (n_rows := features.shape[0]) == 0:
        raise InputError("there are no rows in the training data, a ranker needs at least one")
    whole = as_grades(grades, n_rows, None, "grades")
    return features, whole, None if query_ids is None else as_query_codes(query_ids, n_rows, "query_ids")[0]


def refuse_missing(features: NDArray[Any]) -> None:
    """Raise InputError at the first missing value (NaN) of the features."""
    # The minimum is NaN if any value is; it needs no mask of the matrix's size.
    if features.size and np.isnan(features.min()):
        row, column = np.argwhere(np.isnan(features))[0]
        raise InputError(f"X must not miss values, got nan at row {row}, column {column}")


def grouped_items(X: ArrayLike, grades: ArrayLike, query_ids: ArrayLike | None) -> tuple[NDArray[Any], Ints, Ints]:
    """Validate features, grades and query ids for a ranker that compares items of one query.

    Return features (n, n_features), grades (n,), and query numbers from 0 (n,).

    Raises
    ------
    InputError
        At the first invalid or missing value, or if `query_ids` is None.
    """
    features, whole, codes = training_items(X, grades, query_ids)
    if codes is None:
        raise InputError("query_ids must name the query of each row: this ranker compares items of one query")
    refuse_missing(features)
    return features, whole, codes
