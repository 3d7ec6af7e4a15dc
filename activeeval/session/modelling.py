"""From a workload to what is believed of its grades: a grade model, and the query factor on top of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.errors import InputError, did_you_mean
from activeeval.grade_models import (
    ForestGradeModel,
    GivenProbabilities,
    OrderedLogitModel,
    QueryFactor,
    cross_fitted_probs,
    tune_grade_model,
)
from activeeval.methods import Method
from activeeval.session.workload import FEWEST_QUERIES, Training, Workload

Floats = NDArray[np.float64]
_GRIDS: dict[str, dict[str, list[Any]]] = {
    "forest": {"min_samples_leaf": [5, 20, 50], "max_features": ["sqrt", 0.5]},
    "logit": {"alpha": [0.1, 1.0, 10.0, 100.0]},
}
UNTRAINED_FACTOR = QueryFactor(sigma=1.2)
"""The query factor of the uniform model, which nothing teaches one.

1.2 lies amid what forests were taught on four judged collections: 0.8, 1.0, 1.4 and 1.5. Against none, `items` for DCG
of one ranking (a tenth of the pool, an overhead of five items) rises from 1.8, 1.9, 5.1 and 1.4 times passive to 2.8,
4.5, 36 and 1.9; from 0.9 to 1.6 little changes. It costs at most 10 % (ERR of one ranking on OHSUMED, 352 to 317 times
passive); benchmarks/results/uniform-factor.json has the rest. Given probabilities that no label recalibrates go
without: on them it wins as much for DCG, but loses a third for ERR on OHSUMED (436 to 290).
"""


@dataclass(frozen=True, slots=True, eq=False)
class GradeBeliefs:
    """What is believed of the grades of a pool.

    Attributes
    ----------
    probs : ndarray, shape (n_items, n_grades)
        p(y = k) of every item under the grade model.
    factor : QueryFactor or None
        What the items of a query share; None takes their grades as independent.
    is_uniform : bool
        Whether there is no model, so that all grades are equally likely.
    """

    probs: Floats
    factor: QueryFactor | None = None
    is_uniform: bool = False

    def for_method(self, method: Method, n_grades: int) -> dict[str, Any]:
        """Return `grade_probs` and `factor` for a method, with a column for each of ``n_grades`` grades.

        The paper's methods take grades as independent; grades that no label has get 0, or their
        uniform share.
        """
        probs = _widened(self.probs, n_grades, is_uniform=self.is_uniform)
        return {"grade_probs": probs, "factor": None if method.ignores_factor else self.factor}

    def models(self, n_grades: int) -> list[tuple[str, Floats, Floats | None]]:
        """Return name, probabilities and node weights of the model with its query factor and without."""
        plain = _widened(self.probs, n_grades, is_uniform=self.is_uniform)
        if self.factor is None:
            return [("without factor", plain, None)]
        nodes = self._nodes(self.factor, n_grades)
        return [("with factor", nodes, self.factor.node_weights), ("without factor", plain, None)]

    def _nodes(self, factor: QueryFactor, n_grades: int) -> Floats:
        if self.is_uniform:
            return factor.node_probs(_widened(self.probs, n_grades, is_uniform=True))
        nodes = factor.node_probs(self.probs)
        missing = max(n_grades - nodes.shape[2], 0)
        return np.pad(nodes, ((0, 0), (0, 0), (0, missing))) if missing else nodes


def uniform_beliefs(n_items: int, max_grade: int, *, with_factor: bool = True) -> GradeBeliefs:
    """Return what is believed where nothing was trained: all grades equally likely, those of a query alike.

    Parameters
    ----------
    n_items, max_grade : int
    with_factor : bool
        False takes the grades of a query as independent.
    """
    uniform = np.full((n_items, max_grade + 1), 1.0 / (max_grade + 1))
    return GradeBeliefs(uniform, UNTRAINED_FACTOR if with_factor else None, is_uniform=True)


def believe(
    workload: Workload,
    kind: str,
    max_grade: int,
    rng: np.random.Generator,
    *,
    tune: bool = False,
    with_factor: bool = True,
    n_jobs: int | None = None,
    progress: Callable[[str], object] = lambda what: None,
) -> GradeBeliefs:
    """Fit the grade model and the query factor of a workload.

    Of rows to train on that are items of the pool, what is believed of a query comes from those of other queries: its
    own grades are known, and say more once they are taken as such.

    Parameters
    ----------
    kind : {"forest", "logit", "uniform", "given"}
        ``given`` recalibrates the probabilities that stand in the features' place.
    tune : bool
        Choose the parameters of a forest or logit on half of the training queries.
    with_factor : bool
        Learn the query factor too, from at least ten training queries; the uniform model, which learns
        nothing, has `UNTRAINED_FACTOR`.
    progress : callable
        Told what is next.

    Raises
    ------
    InputError
        Where a model has nothing to learn from.
    """
    if kind == "uniform":
        return uniform_beliefs(workload.pool.n_items, max_grade, with_factor=with_factor)
    rows = workload.training
    if kind == "given":
        probs, of_rows = _recalibrated(workload, rows, max_grade, rng)
        return GradeBeliefs(probs, _factor(of_rows, rows) if with_factor else None)
    if kind not in _GRIDS:
        meant = did_you_mean(kind, ("forest", "logit", "uniform"))
        raise InputError(f"unknown model {kind!r}; {meant}known: forest, logit, uniform, probs=FILE")
    if rows is None:
        raise InputError(f"the {kind} model has nothing to learn from: give training data, or use the uniform model")
    model = _new_model(kind, max_grade, int(rng.integers(2**31)), n_jobs)
    progress(f"fitting the {kind} model")
    if tune:
        model = tune_grade_model(model, _GRIDS[kind], rows.features, rows.grades, rows.queries, rng)
    probs, of_rows = _learned(workload, rows, model, rng, with_factor=with_factor, progress=progress)
    return GradeBeliefs(probs, _factor(of_rows, rows) if with_factor else None)


def _learned(
    workload: Workload,
    rows: Training,
    model: Any,
    rng: np.random.Generator,
    *,
    with_factor: bool,
    progress: Callable[[str], object],
) -> tuple[Floats, Floats | None]:
    """Return probabilities of the pool and, where a query factor can be taught, of the rows, out of fold by query."""
    if rows.items is not None:
        return _out_of_fold(model, workload.features, workload, rows, rng, progress)
    probs = np.asarray(model.fit(rows.features, rows.grades).predict_proba(workload.features))
    if not (with_factor and _can_teach(rows)):
        return probs, None
    return probs, cross_fitted_probs(
        _of_fold(model), rows.features, rows.grades, rows.queries, rng=rng, progress=progress
    )


def _of_fold(model: Any) -> Any:
    """Return the model that teaches the query factor: of a forest half the trees.

    The factor is the same up to what seeds do: of 100, 50 and 30 trees sigma was 1.38, 1.38 and 1.37 on MQ2008 (± .06
    between seeds), .81, .77 and .80 on Robust 2003 (± .11), the log-loss .6185, .6210, .6295 and .2293, .2297, .2301.
    """
    if not isinstance(model, ForestGradeModel):
        return model
    return ForestGradeModel(**model.get_params() | {"n_estimators": max(model.n_estimators // 2, 1)})


def _new_model(kind: str, max_grade: int, seed: int, n_jobs: int | None) -> Any:
    if kind == "forest":
        return ForestGradeModel(max_grade=max_grade, random_state=seed, n_jobs=n_jobs)
    return OrderedLogitModel(max_grade=max_grade)


def _can_teach(rows: Training) -> bool:
    return np.unique(rows.queries).size >= FEWEST_QUERIES


def _factor(probs: Floats | None, rows: Training | None) -> QueryFactor | None:
    if probs is None or rows is None or not _can_teach(rows):
        return None
    return QueryFactor.fit(probs, rows.grades, rows.queries)


def _widened(probs: Floats, n_grades: int, *, is_uniform: bool) -> Floats:
    """Return probabilities with ``n_grades`` columns."""
    missing = n_grades - probs.shape[1]
    if missing <= 0:
        return probs
    return np.full((len(probs), n_grades), 1.0 / n_grades) if is_uniform else np.pad(probs, ((0, 0), (0, missing)))


def _recalibrated(
    workload: Workload, rows: Training | None, max_grade: int, rng: np.random.Generator
) -> tuple[Floats, Floats | None]:
    """Return given probabilities of the pool and of the training rows, recalibrated where there are such rows."""
    model = GivenProbabilities(max_grade=max_grade)
    given = _widened(workload.features, max_grade + 1, is_uniform=False)
    if rows is None:
        model.fit(given)
        return np.asarray(model.predict_proba(given)), None
    if rows.items is not None:
        return _out_of_fold(model, given, workload, rows, rng)
    of_rows = _widened(rows.features, max_grade + 1, is_uniform=False)
    model.fit(of_rows, rows.grades)
    return np.asarray(model.predict_proba(given)), np.asarray(model.predict_proba(of_rows))


def _out_of_fold(
    model: Any,
    features: Floats,
    workload: Workload,
    rows: Training,
    rng: np.random.Generator,
    progress: Callable[[str], object] = lambda what: None,
) -> tuple[Floats, Floats]:
    """Return probabilities of the pool, of which the rows to train on are a part, and of these."""
    grades = np.full(workload.pool.n_items, -1, dtype=np.int64)
    grades[rows.items] = rows.grades
    probs = cross_fitted_probs(model, features, grades, workload.pool.item_queries, rng=rng, progress=progress)
    return probs, probs[rows.items]
