"""Fit grade models to inputs: probabilities of each item's grades, and the query factor on top of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from activeeval.core import grade_models  # its names import scikit-learn once they are used
from activeeval.core.design.beliefs import RefitMaker
from activeeval.core.design.methods import Method
from activeeval.core.errors import InputError, did_you_mean
from activeeval.core.grade_models.query_factor import QueryFactor
from activeeval.core.results import Note
from activeeval.core.types import Floats, Ints
from activeeval.inputs.choices import GRADER
from activeeval.inputs.grader_values import grader_model
from activeeval.inputs.loading import FEWEST_QUERIES, Inputs, TrainingRows

if TYPE_CHECKING:
    from activeeval.core.planning import HeldOut

_GRIDS: dict[str, dict[str, list[Any]]] = {
    "forest": {"min_samples_leaf": [5, 20, 50], "max_features": ["sqrt", 0.5]},
    "logit": {"alpha": [0.1, 1.0, 10.0, 100.0]},
}
KINDS = {name: name for name in ("forest", "logit", "uniform", "scores")} | {"probs": "probs=FILE"}
"""Kinds of grade models, and the syntax of each; graders have an option of their own."""
Member = tuple[Floats, Floats | None]
UNTRAINED_FACTOR = QueryFactor(sigma=1.2)
"""Query factor of the uniform model, which has no training data to learn one from.

1.2 lies amid the values that forests learned on four judged collections: 0.8, 1.0, 1.4 and 1.5. Compared with no
factor, the efficiency of `items` for DCG of one ranking (a tenth of the pool, an overhead of five items) rises from
1.8, 1.9, 5.1 and 1.4 times passive to 2.8, 4.5, 36 and 1.9; from 0.9 to 1.6 little changes. It costs at most 10 % (ERR
of one ranking on OHSUMED, 352 to 317 times passive); benchmarks/results/uniform-factor.json has all figures. Given
probabilities without labels to recalibrate them have no factor: it would gain as much for DCG, but lose a third for
ERR on OHSUMED (436 to 290).
"""


class FitOptions(TypedDict, total=False):
    """Options of `believe` besides inputs, models and scale.

    Attributes
    ----------
    known : ndarray of int64, shape (n_items,), optional
        Known grades of the pool, −1 if unknown; if too few to train on, a grader's model uses their shares.
    tune : bool
        Choose the parameters of a forest or logit on half of the training queries. Default: False.
    with_factor : bool
        Learn the query factor from at least ten training queries (the default); the uniform model and graders
        without training data use `UNTRAINED_FACTOR`.
    n_jobs : int, optional
        Number of threads of a forest.
    progress : callable
        Called with a text that names the next step.
    """

    known: Ints | None
    tune: bool
    with_factor: bool
    n_jobs: int | None
    progress: Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Fitting:
    """`FitOptions` with defaults; `with_rows` is True if out-of-fold predictions for the training rows are needed."""

    known: Ints | None = None
    tune: bool = False
    with_factor: bool = True
    n_jobs: int | None = None
    progress: Callable[[str], object] = lambda step: None
    with_rows: bool = True


class MethodModel(TypedDict):
    """Keyword arguments of `Method.design` for the grade model."""

    grade_probs: Floats
    factor: QueryFactor | None
    extra_probs: list[Floats]
    refit: RefitMaker | None


@dataclass(frozen=True, slots=True, eq=False)
class GradeBeliefs:
    """Grade model of a pool: grade probabilities of each item, and the query factor.

    Attributes
    ----------
    probs : ndarray, shape (n_items, n_grades)
        p(y = k) of every item under the grade model.
    factor : QueryFactor or None
        Random effect shared by the grades of a query; None treats them as independent.
    is_uniform : bool
        True if there is no model: all grades are equally likely.
    extra_probs : tuple of ndarray, each of shape (n_items, n_grades)
        Predictions of further models, used as regressors of estimates.
    learns : bool
        True if the predictions are also refitted to the labels of a sample, as for graders.
    notes : tuple of Note
        Notes for the user about the model.
    held_out : HeldOut or None
        Predictions for labelled queries that the model was not trained on, with the query factor; None without a
        factor or without such queries.

    Examples
    --------
    >>> beliefs = GradeBeliefs(np.array([[0.9, 0.1], [0.4, 0.6]]))
    >>> beliefs.probs.shape, beliefs.is_uniform, beliefs.factor
    ((2, 2), False, None)
    """

    probs: Floats
    factor: QueryFactor | None = None
    is_uniform: bool = False
    extra_probs: tuple[Floats, ...] = ()
    learns: bool = False
    notes: tuple[Note, ...] = ()
    held_out: HeldOut | None = None

    def taught(self, out_of_fold: Floats, grades: Ints, queries: Ints) -> GradeBeliefs:
        """Fit the query factor to labelled rows, and keep the predictions for them, by which plans are calibrated.

        Parameters
        ----------
        out_of_fold : ndarray, shape (n, n_grades)
            Probabilities of the rows by models trained without their queries.
        grades, queries : ndarray of int64, shape (n,)
        """
        # imported here so that reading a sample does not load the planning package
        from activeeval.core.planning import HeldOut

        factor = QueryFactor.fit(out_of_fold, grades, queries)
        # the factor averaged out, over its quadrature nodes
        marginal = np.tensordot(factor.node_weights, factor.node_probs(out_of_fold), 1)
        return replace(self, factor=factor, held_out=HeldOut(probs=marginal, grades=grades, queries=queries))

    def for_method(self, method: Method, n_grades: int) -> MethodModel:
        """Build the keyword arguments of `Method.design`, with a column for each of ``n_grades`` grades.

        The paper's methods ignore the query factor. Grades without a label get probability 0, or their share if
        uniform.
        """
        probs = _widened(self.probs, n_grades, is_uniform=self.is_uniform)
        extra = [_widened(probs, n_grades, is_uniform=False) for probs in self.extra_probs]
        factor = None if method.ignores_factor else self.factor
        refit = grade_models.ValueRefit.of if self.learns else None
        return {"grade_probs": probs, "factor": factor, "extra_probs": extra, "refit": refit}

    def models(self, n_grades: int) -> list[tuple[str, Floats, Floats | None]]:
        """List (name, probabilities, node weights or None): with the query factor (axis 0: its nodes) and without."""
        plain = _widened(self.probs, n_grades, is_uniform=self.is_uniform)
        if self.factor is None:
            return [("without factor", plain, None)]
        nodes = self._nodes(self.factor, n_grades)
        return [("with factor", nodes, self.factor.node_weights), ("without factor", plain, None)]

    def _nodes(self, factor: QueryFactor, n_grades: int) -> Floats:
        """Compute the probabilities at the factor's quadrature nodes, shape (n_nodes, n_items, n_grades)."""
        if self.is_uniform:
            return factor.node_probs(_widened(self.probs, n_grades, is_uniform=True))
        nodes = factor.node_probs(self.probs)
        missing = max(n_grades - nodes.shape[2], 0)
        return np.pad(nodes, ((0, 0), (0, 0), (0, missing))) if missing else nodes


def uniform_beliefs(n_items: int, max_grade: int, *, with_factor: bool = True) -> GradeBeliefs:
    """Build the model without training data: all grades equally likely, correlated within a query.

    Parameters
    ----------
    n_items, max_grade : int
    with_factor : bool
        False treats the grades of a query as independent.
    """
    uniform = np.full((n_items, max_grade + 1), 1.0 / (max_grade + 1))
    return GradeBeliefs(uniform, UNTRAINED_FACTOR if with_factor else None, is_uniform=True)


def believe(
    inputs: Inputs, kinds: str | Sequence[str], max_grade: int, rng: np.random.Generator, **options: Unpack[FitOptions]
) -> GradeBeliefs:
    """Fit the grade model and the query factor of inputs, or several models and their mixture.

    If the training rows are items of the pool, a query's predictions come from models trained on the other queries:
    its own known grades enter as known, which is more informative.

    Parameters
    ----------
    kinds : str or sequence of str
        ``forest``, ``logit`` or ``uniform``; ``scores``, a logit of the rankings' scores of each item; ``probs=FILE``,
        recalibrated probabilities; ``grader=NAME``, human grades given the grader's value, which needs no training
        data. Several models form a mixture with the weights that `learned_weights` fits to out-of-fold predictions of
        training queries, equal weights if these are fewer than ten; the models that `worth_fitting` selects become
        further regressors of estimates.
    options
        `FitOptions`: known, tune, with_factor, n_jobs and progress.

    Raises
    ------
    InputError
        If a model has no training data, or is named twice.
    """
    names = [kinds] if isinstance(kinds, str) else list(kinds)
    with_factor = options.get("with_factor", True)
    fitting = _Fitting(**options, with_rows=with_factor or len(names) > 1)
    if names == ["uniform"]:
        return uniform_beliefs(inputs.pool.n_items, max_grade, with_factor=with_factor)
    if not names or len(set(names)) < len(names):
        raise InputError(f"grade models must each be named once, got {', '.join(names) or 'none'}")
    members = [_one(inputs, name, max_grade, rng, fitting) for name in names]
    probs, of_rows = members[0]
    if len(names) > 1:
        beliefs = _mixed(names, members, inputs.training, with_factor=with_factor)
    else:
        beliefs = _taught(GradeBeliefs(probs), of_rows if with_factor else None, inputs.training)
    if not all(name.startswith(GRADER) for name in names):
        return beliefs
    untaught = UNTRAINED_FACTOR if with_factor else None
    return replace(beliefs, factor=beliefs.factor or untaught, learns=True)


def _one(inputs: Inputs, name: str, max_grade: int, rng: np.random.Generator, fitting: _Fitting) -> Member:
    """Predict the pool with one model and, out of fold, the training rows (None if not needed or too few).

    Returns the probabilities of the pool's items, (n_items, n_grades), and of the training rows, (n_rows, n_grades).
    InputError is raised if the model is unknown or has no training data.
    """
    kind, rows = name.partition("=")[0], inputs.training
    if kind not in KINDS and not name.startswith(GRADER):
        meant = did_you_mean(kind, KINDS)
        raise InputError(f"unknown model {name!r}; {meant}known: {', '.join(KINDS.values())}")
    if rows is not None:
        rows = replace(rows, features=inputs.looked_at(name, rows.features))
    looked_at = replace(inputs, features=inputs.looked_at(name, inputs.features), training=rows)
    if kind == "uniform":
        even = uniform_beliefs(inputs.pool.n_items, max_grade).probs
        return even, None if rows is None else np.full((rows.grades.size, max_grade + 1), 1 / (max_grade + 1))
    if kind == "probs":
        return _recalibrated(looked_at, rows, max_grade, rng)
    if name.startswith(GRADER):
        return _graded(looked_at, max_grade, rng, fitting)
    if rows is None:
        raise InputError(f"the {kind} model has nothing to learn from: give training data, or use the uniform model")
    seed, model = int(rng.integers(2**31)), grade_models.OrderedLogitModel(max_grade=max_grade)  # logit, scores
    if kind == "forest":
        model = grade_models.ForestGradeModel(max_grade=max_grade, random_state=seed, n_jobs=fitting.n_jobs)
    fitting.progress(f"fitting the {kind} model")
    if fitting.tune:
        model = grade_models.tune_grade_model(
            model, _GRIDS["forest" if kind == "forest" else "logit"], rows.features, rows.grades, rows.queries, rng
        )
    return _learned(looked_at, rows, model, rng, fitting)


def _graded(inputs: Inputs, max_grade: int, rng: np.random.Generator, fitting: _Fitting) -> Member:
    """Predict human grades from a grader's values, the only feature: of the pool and, out of fold, of its rows."""
    rows = inputs.training
    has_rows = rows is not None and not np.isnan(rows.features).all()
    model, of_pool, of_rows = grader_model(inputs.features[:, 0], rows, fitting.known, max_grade)
    if rows is None or of_rows is None or not has_rows:
        return np.asarray(model.predict_proba(of_pool)), None
    kinds = replace(rows, features=of_rows[:, None].astype(np.float64))  # the bin of each value, as the only feature
    coded = replace(inputs, features=of_pool[:, None].astype(np.float64), training=kinds)
    return _learned(coded, kinds, model, rng, _Fitting(with_rows=fitting.with_rows))


def _mixed(
    names: Sequence[str], members: Sequence[Member], rows: TrainingRows | None, *, with_factor: bool
) -> GradeBeliefs:
    """Mix several models, and select those that become further regressors of estimates.

    `members` are their predictions: of the pool's items, (n_items, n_grades), and of the training rows or None.
    """
    probs = [of_pool for of_pool, _ in members]
    of_training = [of_rows for _, of_rows in members if of_rows is not None]
    can_learn = rows is not None and len(of_training) == len(members) and _can_teach(rows)
    if rows is None or not can_learn:
        note = Note("mean of models", {"n": len(names)})
        return GradeBeliefs(grade_models.average_probabilities(probs), notes=(note,))
    weights = grade_models.learned_weights(of_training, rows.grades, rows.queries)
    chosen = grade_models.worth_fitting(of_training, weights, rows.grades, rows.queries)
    notes = [Note("mixture", {"models": tuple(names), "weights": tuple(map(float, weights))})]
    if chosen:
        notes.append(Note("fitted models", {"models": tuple(names[j] for j in chosen)}))
    of_pool = grade_models.average_probabilities(probs, weights)
    mixture = GradeBeliefs(of_pool, extra_probs=tuple(probs[j] for j in chosen), notes=tuple(notes))
    return _taught(mixture, grade_models.average_probabilities(of_training, weights) if with_factor else None, rows)


def _learned(inputs: Inputs, rows: TrainingRows, model: Any, rng: np.random.Generator, fitting: _Fitting) -> Member:
    """Predict the pool and, out of fold by query, the training rows; None for these if not needed or too few."""
    if rows.items is not None:  # the rows are items of the pool
        return _out_of_fold(model, inputs.features, inputs, rows, rng, fitting.progress)
    probs = np.asarray(model.fit(rows.features, rows.grades).predict_proba(inputs.features))
    if not (fitting.with_rows and _can_teach(rows)):
        return probs, None
    return probs, grade_models.cross_fitted_probs(
        _of_fold(model), rows.features, rows.grades, rows.queries, rng=rng, progress=fitting.progress
    )


def _of_fold(model: Any) -> Any:
    """Return the model that is cross-fitted for the query factor: for a forest, half the trees, to save time.

    The factor is the same up to the variation between seeds: with 100, 50 and 30 trees sigma was 1.38, 1.38 and 1.37
    on MQ2008 (± .06 between seeds), .81, .77 and .80 on Robust 2003 (± .11), the log-loss .6185, .6210, .6295 and
    .2293, .2297, .2301.
    """
    if not isinstance(model, grade_models.ForestGradeModel):
        return model
    return grade_models.ForestGradeModel(**model.get_params() | {"n_estimators": max(model.n_estimators // 2, 1)})


def _can_teach(rows: TrainingRows) -> bool:
    """Check whether training rows cover at least `FEWEST_QUERIES` queries."""
    return np.unique(rows.queries).size >= FEWEST_QUERIES


def _taught(beliefs: GradeBeliefs, of_rows: Floats | None, rows: TrainingRows | None) -> GradeBeliefs:
    """Fit the query factor to training rows, if there are enough; see `GradeBeliefs.taught`."""
    if of_rows is None or rows is None or not _can_teach(rows):
        return beliefs
    return beliefs.taught(of_rows, rows.grades, rows.queries)


def _widened(probs: Floats, n_grades: int, *, is_uniform: bool) -> Floats:
    """Pad probabilities with zeros to ``n_grades`` columns; a uniform model becomes uniform over these grades."""
    missing = n_grades - probs.shape[1]
    if missing <= 0:
        return probs
    return np.full((len(probs), n_grades), 1.0 / n_grades) if is_uniform else np.pad(probs, ((0, 0), (0, missing)))


def _recalibrated(inputs: Inputs, rows: TrainingRows | None, max_grade: int, rng: np.random.Generator) -> Member:
    """Recalibrate the probabilities of the pool and of the training rows; without rows keep those of the pool."""
    model = grade_models.GivenProbabilities(max_grade=max_grade)
    probs = _widened(inputs.features, max_grade + 1, is_uniform=False)
    if rows is None:
        model.fit(probs)
        return np.asarray(model.predict_proba(probs)), None
    if rows.items is not None:  # the rows are items of the pool
        return _out_of_fold(model, probs, inputs, rows, rng)
    of_rows = _widened(rows.features, max_grade + 1, is_uniform=False)
    model.fit(of_rows, rows.grades)
    return np.asarray(model.predict_proba(probs)), np.asarray(model.predict_proba(of_rows))


def _out_of_fold(
    model: Any,
    features: Floats,
    inputs: Inputs,
    rows: TrainingRows,
    rng: np.random.Generator,
    progress: Callable[[str], object] = lambda step: None,
) -> tuple[Floats, Floats]:
    """Predict a pool that contains the training rows, out of fold by query; return probabilities of items and rows."""
    grades = np.full(inputs.pool.n_items, -1, dtype=np.int64)
    grades[rows.items] = rows.grades
    probs = grade_models.cross_fitted_probs(
        model, features, grades, inputs.pool.item_queries, rng=rng, progress=progress
    )
    return probs, probs[rows.items]
