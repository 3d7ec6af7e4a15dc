"""Random-forest cumulative model (RF_class of the paper)."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor
from sklearn.utils import check_random_state

from activeeval.errors import InputError
from activeeval.grade_models.base import ThresholdModel
from activeeval.grade_models.probabilities import Floats, Ints

BLOCK_ROWS = 8192
LARGEST_SEED = int(np.iinfo(np.int32).max)


class ForestGradeModel(ThresholdModel):
    """Regression forests for the indicators {y ≤ k}: p(y = k) = p(y ≤ k) − p(y ≤ k − 1).

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
        separate: bool = False,
        max_grade: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_samples = max_samples
        self.separate = separate
        self.max_grade = max_grade
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit_thresholds(self, features: NDArray[Any], codes: Ints) -> None:
        single = _single_precision(features)
        below = (codes[:, None] <= np.arange(codes.max())).astype(np.float64)
        targets = list(below.T) if self.separate else [below]
        try:
            seeds = _seeds(self.random_state, len(targets))
            self.forests_ = [
                self._forest(seed).fit(single, target.ravel() if target.shape[-1] == 1 else target)
                for seed, target in zip(seeds, targets, strict=True)
            ]
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

    def _cumulative(self, features: NDArray[Any]) -> Floats:
        single = _single_precision(features)
        starts = range(0, single.shape[0], BLOCK_ROWS)
        # scikit-learn's own predict adds up trees in the order in which threads finish, so its last
        # digits depend on n_jobs; here a thread takes a block of rows through all trees in order.
        blocks = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_mean_of_trees)(self.forests_, single[start : start + BLOCK_ROWS]) for start in starts
        )
        return np.concatenate(blocks)


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


def _single_precision(features: NDArray[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(features, dtype=np.float32)
    if features.dtype != np.float32 and single.size:
        too_large = np.isinf((np.fmin.reduce(single, axis=None), np.fmax.reduce(single, axis=None)))
        if too_large.any():
            row, column = np.argwhere(np.isinf(single))[0]
            raise InputError(f"X must fit single precision, got {features[row, column]} at row {row}, column {column}")
    return single
