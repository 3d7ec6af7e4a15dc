"""Tuning of a grade model's hyper-parameters by log-loss on held-out queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from activeeval.core.checks import strict_share
from activeeval.core.errors import InputError
from activeeval.core.grade_models.base import GradeModel
from activeeval.core.grade_models.probabilities import as_features, as_grades, log_loss

Model = TypeVar("Model", bound=GradeModel)
Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]


@dataclass(frozen=True, slots=True)
class TuningRow:
    """Parameters of a tuning candidate and their log-loss (nats) on the validation queries."""

    params: Mapping[str, Any]
    log_loss: float


def tune_grade_model(
    model: Model,
    grid: Grid,
    X: ArrayLike,
    y: ArrayLike,
    groups: ArrayLike,
    rng: np.random.Generator | int | None = None,
    validation_fraction: float = 0.5,
) -> Model:
    """Choose a grade model's parameters by log-loss on held-out queries, and refit it on all rows.

    The split is by query, not by row, because the rows of one query are correlated.

    Parameters
    ----------
    model : grade model
        Not changed. A `random_state` of None is replaced by one number drawn from `rng`, the same for all
        candidates.
    grid : dict of parameter → values, or a sequence of such dicts
    X : array of float, shape (n, n_features)
    y : array of int, shape (n,)
    groups : array, shape (n,)
        The query of every row.
    rng : Generator, int or None
        Seed of the split.
    validation_fraction : float
        Share of the queries used for validation; each side gets at least one query.

    Returns
    -------
    grade model
        A fitted clone with the best parameters, the first of two in a tie; its attribute `tuning_`
        holds a TuningRow for every candidate, in the grid's order.

    Raises
    ------
    InputError
        If the arrays differ in length, there are fewer than two queries, or the grid is empty.
    """
    random = np.random.default_rng(rng)
    features = as_features(X)
    grades = as_grades(y, features.shape[0], model.max_grade)
    trains = ~_validation_rows(groups, features.shape[0], validation_fraction, random)
    candidate = clone(model)
    if "random_state" in candidate.get_params() and candidate.get_params()["random_state"] is None:
        candidate.set_params(random_state=int(random.integers(2**31)))
    # The training part can lack the largest grade, which could then not be scored in the validation part.
    top = int(grades.max(initial=0)) if model.max_grade is None else model.max_grade
    rows = []
    for params in _candidates(grid):
        fitted = clone(candidate).set_params(**{"max_grade": top} | params).fit(features[trains], grades[trains])
        rows.append(TuningRow(params, log_loss(fitted.predict_proba(features[~trains]), grades[~trains])))
    best = min(rows, key=lambda row: row.log_loss)
    tuned: Model = clone(candidate).set_params(**best.params).fit(features, grades)
    tuned.tuning_ = tuple(rows)
    return tuned


def _candidates(grid: Grid) -> list[dict[str, object]]:
    """List the parameter combinations of a grid; raise InputError if there is none."""
    candidates = list(ParameterGrid(grid))
    if not candidates:
        raise InputError("the grid holds no candidate")
    return candidates


def _validation_rows(groups: ArrayLike, n_rows: int, fraction: float, random: np.random.Generator) -> NDArray[np.bool_]:
    """Choose a random share of the queries for validation; return the mask of their rows, shape (n_rows,).

    ``groups`` (n_rows,) names the query of each row. Raises InputError if its shape differs, the fraction is not
    strictly between 0 and 1, or there are fewer than two queries.
    """
    queries = np.asarray(groups)
    if queries.shape != (n_rows,):
        raise InputError(f"groups must name the query of each of the {n_rows} rows of X, got shape {queries.shape}")
    strict_share(fraction, "validation_fraction")
    unique, of_row = np.unique(queries, return_inverse=True)
    if unique.size < 2:
        raise InputError("tuning splits by query and needs at least two queries")
    n_validation = min(max(round(fraction * unique.size), 1), unique.size - 1)
    chosen = random.permutation(unique.size)[:n_validation]
    return np.isin(of_row, chosen)
