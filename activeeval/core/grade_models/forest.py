"""Random-forest cumulative model (RF_class of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor
from sklearn.utils import check_random_state

from activeeval.core.checks import whole_number
from activeeval.core.errors import InputError
from activeeval.core.grade_models.base import ThresholdModel
from activeeval.core.types import Floats, Ints

# What a thread takes through all trees: blocks of 512 rows take 1.4 to 1.7 times as long, larger ones are a tenth to a
# third faster on one thread but leave others without work.
BLOCK_ROWS = 8192
LARGEST_SEED = int(np.iinfo(np.int32).max)


class Forests:
    """What estimators made of regression forests share: their parameters, how they grow and what they say."""

    forests_: list[RandomForestRegressor]

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

    def _grow(self, features: NDArray[Any], targets: Sequence[NDArray[Any]]) -> None:
        """Grow a forest for each of the targets, of shape (n,) or (n, n_outputs), on the same rows."""
        n_rows = features.shape[0]
        n_kept = n_rows if self.max_rows is None else min(n_rows, whole_number(self.max_rows, "max_rows", 1))
        try:
            seeds = _seeds(self.random_state, len(targets) + (n_kept < n_rows))
            rows = np.arange(n_rows)
            if n_kept < n_rows:
                rows = np.sort(np.random.default_rng(seeds.pop()).choice(n_rows, n_kept, replace=False, shuffle=False))
                features, targets = features[rows], [target[rows] for target in targets]
            single = _single_precision(features, rows)
            self.forests_ = [
                self._forest(seed).fit(single, target) for seed, target in zip(seeds, targets, strict=True)
            ]
        except InputError:
            raise
        except ValueError as problem:
            raise InputError(f"the forest cannot be grown: {problem}") from problem

    def _forest(self, seed: int) -> RandomForestRegressor:
        return RandomForestRegressor(
            n_estimators=self.n_estimators,
            min_samples_leaf=self.min_samples_leaf,
            max_features=self.max_features,
            max_samples=self.max_samples,
            n_jobs=self.n_jobs,
            random_state=seed,
        )

    def _means(self, features: NDArray[Any]) -> Floats:
        """Return what the forests predict, outputs side by side, shape (n, n_outputs)."""
        n_rows = features.shape[0]
        single = _single_precision(features, np.arange(n_rows))
        starts = range(0, max(n_rows, 1), BLOCK_ROWS)
        # scikit-learn's own predict adds up trees in the order in which threads finish, so its last
        # digits depend on n_jobs; here a thread takes a block of rows through all trees in order.
        blocks = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_mean_of_trees)(self.forests_, single[start : start + BLOCK_ROWS]) for start in starts
        )
        return np.concatenate(blocks)


class ForestGradeModel(Forests, ThresholdModel):
    """Grade probabilities of random forests.

    They are regression forests of the indicators {y ≤ k}: p(y = k) = p(y ≤ k) − p(y ≤ k − 1).

    Parameters
    ----------
    n_estimators : int
        Trees in each forest.
    min_samples_leaf : int or float
        Items (a share of them, if float) that a leaf holds at least.
    max_features : str, int, float or None
        Features tried at each split, as in scikit-learn.
    max_samples : int, float or None
        Size of each tree's bootstrap sample; None draws as many rows as there are.
    max_rows : int, optional
        Where there are more rows, the forest learns from that many, drawn without replacement.
    separate : bool
        False: one forest with all indicators as outputs. A leaf averages monotone vectors, so the
        probabilities are monotone by construction and the cost is that of one forest.
        True: a forest for each indicator, as in the paper. Their predictions can cross and are then
        rearranged (sorted) row by row.
    max_grade : int, optional
        Largest grade; by default the largest of the training data.
    n_jobs : int, optional
        Parallel jobs of joblib. The result is the same, bit for bit, whatever their number.
    random_state : int, Generator, RandomState or None
        Seed of bootstrap samples and splits.

    Attributes
    ----------
    forests_ : list of RandomForestRegressor
        One, or with `separate` one for each grade of the training data but the largest.

    Notes
    -----
    Missing values (NaN) are scikit-learn's own: each split learns to which side they go, for one
    and for several outputs alike; a feature that only misses values at prediction sends them to
    the child that held more training items (scikit-learn 1.5 does not split on missing values of a
    feature that is constant otherwise). Values are held in single precision. A grade that no
    leaf of an item holds has probability 0 there: few trees with small leaves are overconfident.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(200.0).reshape(-1, 1)
    >>> model = ForestGradeModel(n_estimators=10, random_state=0).fit(X, np.digitize(X[:, 0], [100, 150]))
    >>> model.predict([[20.0], [120.0], [190.0]])
    array([0, 1, 2])
    """

    def __init__(
        self,
        n_estimators: int = 100,
        min_samples_leaf: int | float = 20,
        max_features: str | int | float | None = "sqrt",
        max_samples: int | float | None = None,
        max_rows: int | None = None,
        separate: bool = False,
        max_grade: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        shared = (n_estimators, min_samples_leaf, max_features, max_samples, max_rows, n_jobs, random_state)
        super().__init__(*shared)
        self.separate = separate
        self.max_grade = max_grade

    def _fit_thresholds(self, features: NDArray[Any], codes: Ints) -> None:
        below = (codes[:, None] <= np.arange(codes.max())).astype(np.float64)
        one_column = self.separate or below.shape[1] == 1
        self._grow(features, list(below.T) if one_column else [below])

    def _cumulative(self, features: NDArray[Any]) -> Floats:
        return self._means(features)


def _seeds(random_state: Any, n: int) -> list[int]:
    if isinstance(random_state, np.random.Generator):
        return [int(seed) for seed in random_state.integers(LARGEST_SEED, size=n)]
    return [int(seed) for seed in check_random_state(random_state).randint(LARGEST_SEED, size=n)]


def _mean_of_trees(forests: list[RandomForestRegressor], block: NDArray[np.float32]) -> Floats:
    columns = []
    for forest in forests:
        total = np.zeros((block.shape[0], forest.n_outputs_))
        for tree in forest.estimators_:
            total += tree.predict(block, check_input=False).reshape(total.shape)
        columns.append(total / len(forest.estimators_))
    return np.concatenate(columns, axis=1)


def _single_precision(features: NDArray[Any], rows: Ints) -> NDArray[np.float32]:
    """Return features in single precision; `rows` are their numbers in X, for the message."""
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(features, dtype=np.float32)
    if features.dtype != np.float32 and single.size:
        too_large = np.isinf((np.fmin.reduce(single, axis=None), np.fmax.reduce(single, axis=None)))
        if too_large.any():
            row, column = np.argwhere(np.isinf(single))[0]
            raise InputError(
                f"X must fit single precision, got {features[row, column]} at row {rows[row]}, column {column}"
            )
    return single
