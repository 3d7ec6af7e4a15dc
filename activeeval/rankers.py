"""Rankers to compare: expected grades, a regression forest, a Ranking SVM.

Each is a scikit-learn estimator: ``fit(X, grades, query_ids)`` learns from judged items and
``predict(X)`` scores items, higher is better. The rankers that Sawade, Bickel, von Oertzen, Scheffer
and Landwehr (Machine Learning 92, 2013) compare are

====================  ===============================================
RF_class              ``ExpectedGradeRanker(ForestGradeModel())``
Logit                 ``ExpectedGradeRanker(OrderedLogitModel())``
RF_reg                ``ForestRegressionRanker()``
Ranking SVM           ``RankingSVM()``
====================  ===============================================
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from activeeval.errors import InputError
from activeeval.grade_models import GradeModel, expected_grade
from activeeval.grade_models.base import fitted_columns
from activeeval.grade_models.descent import minimise, warn_unless_converged, whitening
from activeeval.grade_models.forest import Forests
from activeeval.grade_models.probabilities import Floats, Ints, as_features, as_grades, as_query_codes, whole_from_one

BLOCK_ROWS = 8192


class ExpectedGradeRanker(BaseEstimator):  # type: ignore[misc]
    """Rank by the expected grade Σ_k k·p(y = k) of a grade model.

    Parameters
    ----------
    model : grade model
        Fitted or not, it stays as it is: `fit` learns with a clone.

    Attributes
    ----------
    model_ : grade model
        The fitted clone.
    n_features_in_ : int

    Examples
    --------
    >>> from activeeval.grade_models import OrderedLogitModel
    >>> ranker = ExpectedGradeRanker(OrderedLogitModel()).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 2])
    >>> ranker.predict([[0.0], [3.0]]).round(2)
    array([0.41, 1.2 ])
    """

    def __init__(self, model: GradeModel) -> None:
        self.model = model

    def fit(self, X: ArrayLike, grades: ArrayLike, query_ids: ArrayLike | None = None) -> Self:
        """Fit a clone of the model on judged items.

        Parameters
        ----------
        X : array of float, shape (n, n_features)
        grades : array of int, shape (n,)
            From 0; rows that are not judged must be left out.
        query_ids : array, shape (n,), optional
            Not used: a grade model takes items one by one.

        Raises
        ------
        InputError
            Names the first place that is wrong.
        """
        if not isinstance(self.model, GradeModel):
            raise InputError(f"model must be a grade model, got {self.model!r}")
        features, whole, _ = _training_items(X, grades, query_ids)
        self.model_ = clone(self.model).fit(features, whole)
        self.n_features_in_ = features.shape[1]
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the expected grade of every row, shape (n,)."""
        check_is_fitted(self)
        return expected_grade(self.model_.predict_proba(fitted_columns(self, X)))

    def __sklearn_tags__(self) -> Any:
        return _with_missing_values(super().__sklearn_tags__())


class ForestRegressionRanker(Forests, BaseEstimator):  # type: ignore[misc]
    """Rank by a random forest's regression of the grade (RF_reg).

    Parameters
    ----------
    n_estimators, min_samples_leaf, max_features, max_samples, n_jobs, random_state
        As in `ForestGradeModel`; so are missing values (NaN).
    max_rows : int, optional
        Where there are more rows, the forest learns from that many, drawn without replacement.

    Attributes
    ----------
    forests_ : list of RandomForestRegressor
        One.
    n_features_in_ : int

    Examples
    --------
    >>> X = np.arange(200.0).reshape(-1, 1)
    >>> ranker = ForestRegressionRanker(n_estimators=10, random_state=0).fit(X, np.digitize(X[:, 0], [100, 150]))
    >>> ranker.predict([[20.0], [120.0], [190.0]])
    array([0., 1., 2.])
    """

    def __init__(
        self,
        n_estimators: int = 100,
        min_samples_leaf: int | float = 20,
        max_features: str | int | float | None = "sqrt",
        max_samples: int | float | None = None,
        max_rows: int | None = 200_000,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_samples = max_samples
        self.max_rows = max_rows
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, grades: ArrayLike, query_ids: ArrayLike | None = None) -> Self:
        """Grow the forest on judged items.

        Parameters
        ----------
        X : array of float, shape (n, n_features)
            NaN stands for a missing value.
        grades : array of int, shape (n,)
            From 0; rows that are not judged must be left out.
        query_ids : array, shape (n,), optional
            Not used: the regression takes items one by one.

        Raises
        ------
        InputError
            Names the first place that is wrong.
        """
        features, whole, _ = _training_items(X, grades, query_ids)
        self._grow(features, [whole.astype(np.float64)])
        self.n_features_in_ = features.shape[1]
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the predicted grade of every row, shape (n,)."""
        return self._means(fitted_columns(self, X))[:, 0]

    def __sklearn_tags__(self) -> Any:
        return _with_missing_values(super().__sklearn_tags__())


class RankingSVM(BaseEstimator):  # type: ignore[misc]
    """Rank by a linear function learned from preferences, pairs of items of one query and different grades.

    The weights minimise

        ½‖w‖² + C Σ max(0, 1 − wᵀ(x − x′))²

    over all pairs in which x has the higher grade.

    Parameters
    ----------
    C : float
        Weight of the loss of one pair.
    max_pairs : int
        Where there are more pairs, the sum is estimated from that many: a uniform sample without
        replacement of all pairs of all queries, each counted n_pairs_ / max_pairs times, so that C
        means the same whatever is sampled.
    standardize : bool
        Divide each feature by its standard deviation over the items of the fit; a constant feature
        has no say. Without it, features of a large scale are penalised less.
    max_iter : int
        Iterations of L-BFGS-B at most.
    rng : Generator, int or None
        Draws the pairs.

    Attributes
    ----------
    coef_ : ndarray, shape (n_features,)
        w, of the standardised features.
    n_pairs_ : int
        Preference pairs in the training data, drawn or not.
    n_iter_ : int
    n_features_in_ : int

    Warns
    -----
    ConvergenceWarning
        Where `max_iter` did not suffice.

    Notes
    -----
    The pairs are numbered, not listed: memory grows with the items and with `max_pairs`, not with
    the pairs. A query of many items has more pairs than one of few, and as much more say.

    References
    ----------
    Herbrich, Graepel and Obermayer (2000). Large margin rank boundaries for ordinal regression.
    Advances in Large Margin Classifiers. There the loss of a pair is not squared.

    Examples
    --------
    >>> X = [[1.0, 5.0], [2.0, 1.0], [3.0, 4.0], [0.0, 2.0]]
    >>> ranker = RankingSVM().fit(X, grades=[0, 1, 2, 0], query_ids=["a", "a", "b", "b"])
    >>> np.argsort(-ranker.predict(X))
    array([2, 1, 0, 3])
    """

    def __init__(
        self,
        C: float = 1.0,
        max_pairs: int = 100_000,
        standardize: bool = True,
        max_iter: int = 1000,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        self.C = C
        self.max_pairs = max_pairs
        self.standardize = standardize
        self.max_iter = max_iter
        self.rng = rng

    def fit(self, X: ArrayLike, grades: ArrayLike, query_ids: ArrayLike) -> Self:
        """Learn from judged items.

        Parameters
        ----------
        X : array of float, shape (n, n_features)
        grades : array of int, shape (n,)
            From 0; rows that are not judged must be left out.
        query_ids : array, shape (n,)
            The query of every row; a query's rows may lie apart.

        Raises
        ------
        InputError
            Names the first place that is wrong; also where no query holds items of different grades.
        """
        self._check_parameters()
        features, whole, codes = _training_items(X, grades, query_ids)
        if codes is None:
            raise InputError("query_ids must name the query of each row: a ranking SVM compares items of one query")
        _refuse_missing(features)
        pairs = _PreferencePairs.of(whole, codes)
        if pairs.n_pairs == 0:
            raise InputError("no query holds items of different grades, a ranking SVM needs at least one such pair")
        self.n_pairs_ = pairs.n_pairs
        self._learn_scaling(features)
        self._descend(self._differences(features, *pairs.draw(self.max_pairs, np.random.default_rng(self.rng))))
        self.n_features_in_ = features.shape[1]
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the score of every row, shape (n,); rows of equal features have equal scores."""
        features = fitted_columns(self, X)
        _refuse_missing(features)
        scores = np.empty(features.shape[0])
        for start in range(0, scores.size, BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            # A matrix product sums in an order that depends on the row's place, which would break ties.
            np.einsum("ij,j->i", (features[rows] - self.means_) / self.scales_, self.coef_, out=scores[rows])
        return scores

    def _check_parameters(self) -> None:
        if not (isinstance(self.C, Real) and 0 < self.C < np.inf):
            raise InputError(f"C must be positive and finite, got {self.C!r}")
        whole_from_one(self.max_pairs, "max_pairs")
        whole_from_one(self.max_iter, "max_iter")

    def _learn_scaling(self, features: NDArray[Any]) -> None:
        scaler = StandardScaler(with_mean=self.standardize, with_std=self.standardize)
        for rows in gen_batches(features.shape[0], BLOCK_ROWS):
            scaler.partial_fit(features[rows])
        self.means_ = scaler.mean_ if self.standardize else np.zeros(features.shape[1])
        self.scales_ = scaler.scale_ if self.standardize else np.ones(features.shape[1])

    def _differences(self, features: NDArray[Any], preferred: Ints, other: Ints) -> Floats:
        differences = np.empty((preferred.size, features.shape[1]))
        for rows in gen_batches(preferred.size, BLOCK_ROWS):
            np.subtract(features[preferred[rows]], features[other[rows]], out=differences[rows], dtype=np.float64)
            differences[rows] /= self.scales_
        return differences

    def _descend(self, differences: Floats) -> None:
        n = differences.shape[0]
        ridge = 1 / (2 * self.C * self.n_pairs_)

        def loss_and_gradient(w: Floats) -> tuple[float, Floats]:
            short = np.maximum(1 - differences @ w, 0.0)
            return float(ridge * (w @ w) + short @ short / n), 2 * ridge * w - 2 / n * (short @ differences)

        # The curvature is eight times what is whitened, which L-BFGS sees for itself.
        white = whitening(differences, ridge * n / 4)
        solution = minimise(loss_and_gradient, np.empty(0), [], white, self.max_iter)
        # Whitening leaves a trace of rounding on features that no pair differs in.
        self.coef_ = np.where(differences.any(axis=0), solution.x, 0.0)
        self.n_iter_ = int(solution.nit)
        warn_unless_converged(solution, "the ranking SVM")


@dataclass(frozen=True, slots=True)
class _PreferencePairs:
    """All pairs of items of one query and different grades, numbered: item by item, the preferred one first.

    With items ordered by query and grade, an item is preferred to all from its query's first to the
    last of a lower grade: a run of positions, so that a number tells its pair.
    """

    items: Ints
    first: Ints
    ends: Ints

    @classmethod
    def of(cls, grades: Ints, codes: Ints) -> Self:
        order = np.lexsort((grades, codes))
        query, grade = codes[order], grades[order]
        new_query = np.append(True, query[1:] != query[:-1])
        new_grade = new_query | np.append(True, grade[1:] != grade[:-1])
        place = np.arange(order.size)
        first = np.maximum.accumulate(np.where(new_query, place, 0))
        n_lower = np.maximum.accumulate(np.where(new_grade, place, 0)) - first
        return cls(order, first, np.cumsum(n_lower))

    @property
    def n_pairs(self) -> int:
        return int(self.ends[-1]) if self.ends.size else 0

    def draw(self, max_pairs: int, random: np.random.Generator) -> tuple[Ints, Ints]:
        """Return the preferred and the other item of all pairs, or of `max_pairs` of them."""
        numbers = np.arange(min(self.n_pairs, max_pairs))
        if max_pairs < self.n_pairs:
            numbers = np.sort(random.choice(self.n_pairs, int(max_pairs), replace=False, shuffle=False))
        preferred = np.searchsorted(self.ends, numbers, side="right")
        before = np.where(preferred > 0, self.ends[preferred - 1], 0)
        return self.items[preferred], self.items[self.first[preferred] + numbers - before]


def _training_items(
    X: ArrayLike, grades: ArrayLike, query_ids: ArrayLike | None
) -> tuple[NDArray[Any], Ints, Ints | None]:
    features = as_features(X)
    n_rows = features.shape[0]
    if n_rows == 0:
        raise InputError("there are no rows in the training data, a ranker needs at least one")
    whole = as_grades(grades, n_rows, None, "grades")
    return features, whole, None if query_ids is None else as_query_codes(query_ids, n_rows, "query_ids")[0]


def _refuse_missing(features: NDArray[Any]) -> None:
    # The smallest value shows a NaN without a mask of the matrix's size.
    if features.size and np.isnan(features.min()):
        row, column = np.argwhere(np.isnan(features))[0]
        raise InputError(f"X must not miss values, got nan at row {row}, column {column}")


def _with_missing_values(tags: Any) -> Any:
    tags.input_tags.allow_nan = True
    return tags
