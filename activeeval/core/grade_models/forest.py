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

# Number of rows that a thread passes through all trees. Blocks of 512 rows take 1.4 to 1.7 times as long; larger ones
# are a tenth to a third faster on one thread but leave other threads idle.
BLOCK_ROWS = 8192
LARGEST_SEED = int(np.iinfo(np.int32).max)


class Forests:
    """Base class of estimators made of regression forests: parameters, training and prediction.

    The parameters are those of `ForestGradeModel`.
    """

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
        """Store the parameters, which are those of scikit-learn's RandomForestRegressor, and ``max_rows``.

        ``n_estimators`` is the number of trees of each forest, ``min_samples_leaf`` the least number (int) or share
        (float) of rows in a leaf, ``max_features`` the features tried at each split, ``max_samples`` the size of each
        tree's bootstrap sample (None: all rows), ``max_rows`` the most training rows (random ones are left out; None:
        no limit), ``n_jobs`` the number of threads and ``random_state`` the seed.
        """
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_samples = max_samples
        self.max_rows = max_rows
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _grow(self, features: NDArray[Any], targets: Sequence[NDArray[Any]]) -> None:
        """Train one forest for each target, of shape (n,) or (n, n_outputs), all on the same rows of ``features``.

        At most `max_rows` rows are used. Raises InputError if a parameter or a feature is invalid.
        """
        n_rows = features.shape[0]
        n_kept = n_rows if self.max_rows is None else min(n_rows, whole_number(self.max_rows, "max_rows", 1))
        try:
            # a seed for each forest, and one to choose rows if there are too many
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
        """Create an untrained forest with the given seed."""
        return RandomForestRegressor(
            n_estimators=self.n_estimators,
            min_samples_leaf=self.min_samples_leaf,
            max_features=self.max_features,
            max_samples=self.max_samples,
            n_jobs=self.n_jobs,
            random_state=seed,
        )

    def _means(self, features: NDArray[Any]) -> Floats:
        """Predict all outputs of all forests side by side, shape (n, n_outputs)."""
        n_rows = features.shape[0]
        single = _single_precision(features, np.arange(n_rows))
        starts = range(0, max(n_rows, 1), BLOCK_ROWS)
        # scikit-learn's own predict adds up trees in the order in which threads finish, so its last
        # digits depend on n_jobs; here a thread passes a block of rows through all trees in order.
        blocks = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_mean_of_trees)(self.forests_, single[start : start + BLOCK_ROWS]) for start in starts
        )
        return np.concatenate(blocks)


class ForestGradeModel(Forests, ThresholdModel):
    """Grade probabilities by random forests.

    Regression forests predict the indicators {y ≤ k}; p(y = k) = p(y ≤ k) − p(y ≤ k − 1).

    Parameters
    ----------
    n_estimators : int
        Number of trees in each forest.
    min_samples_leaf : int or float
        Minimum number (int) or share (float) of items in a leaf.
    max_features : str, int, float or None
        Features tried at each split, as in scikit-learn.
    max_samples : int, float or None
        Size of each tree's bootstrap sample; None draws as many rows as there are.
    max_rows : int, optional
        If there are more rows, the forest is trained on this number of rows, drawn without replacement.
    separate : bool
        False: one forest with all indicators as outputs. A leaf averages monotone vectors, so the
        probabilities are monotone by construction and the cost is that of one forest.
        True: a forest for each indicator, as in the paper. Their predictions can cross and are then
        rearranged (sorted) row by row.
    max_grade : int, optional
        Largest grade; by default the largest of the training data.
    n_jobs : int, optional
        Parallel jobs of joblib. The result does not depend on their number, bit for bit.
    random_state : int, Generator, RandomState or None
        Seed of bootstrap samples and splits.

    Attributes
    ----------
    forests_ : list of RandomForestRegressor
        One, or with `separate` one for each grade of the training data except the largest.

    Notes
    -----
    scikit-learn handles missing values (NaN): each split learns to which side they go, for one
    and for several outputs alike. If a feature has missing values only at prediction, they go to
    the child with more training items (scikit-learn 1.5 does not split on missing values of a
    feature that is constant otherwise). Values are stored in single precision. A grade that is absent
    from all leaves of an item has probability 0 there: few trees with small leaves are overconfident.

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
        """Store the parameters: those of scikit-learn's RandomForestRegressor and three others.

        ``n_estimators`` is the number of trees of each forest, ``min_samples_leaf`` the least number (int) or share
        (float) of rows in a leaf, ``max_features`` the features tried at each split, ``max_samples`` the size of each
        tree's bootstrap sample (None: all rows), ``max_rows`` the most training rows (None: no limit), ``n_jobs`` the
        number of threads, ``random_state`` the seed. ``separate``: a forest for each indicator {y ≤ k} rather than one
        for all; ``max_grade``: the largest grade (None: the largest of the training data).
        """
        shared = (n_estimators, min_samples_leaf, max_features, max_samples, max_rows, n_jobs, random_state)
        super().__init__(*shared)
        self.separate = separate
        self.max_grade = max_grade

    def _fit_thresholds(self, features: NDArray[Any], codes: Ints) -> None:
        """Train the forests on ``features`` (n, n_features) and the indicators {y ≤ k} of grades, k below the largest.

        ``codes`` (n,) are the positions 0, 1 … of the grades among those that occur.
        """
        below = (codes[:, None] <= np.arange(codes.max())).astype(np.float64)
        one_column = self.separate or below.shape[1] == 1
        self._grow(features, list(below.T) if one_column else [below])  # a forest for each column, or one for all

    def _cumulative(self, features: NDArray[Any]) -> Floats:
        """Predict p(y ≤ the k-th grade of the training data), shape (n, n_seen − 1)."""
        return self._means(features)


def _seeds(random_state: Any, n: int) -> list[int]:
    """Draw n integer seeds from a random state."""
    if isinstance(random_state, np.random.Generator):
        return [int(seed) for seed in random_state.integers(LARGEST_SEED, size=n)]
    return [int(seed) for seed in check_random_state(random_state).randint(LARGEST_SEED, size=n)]


def _mean_of_trees(forests: list[RandomForestRegressor], block: NDArray[np.float32]) -> Floats:
    """Average the predictions of each forest's trees for a block of rows, shape (n, n_outputs)."""
    columns = []
    for forest in forests:
        total = np.zeros((block.shape[0], forest.n_outputs_))
        for tree in forest.estimators_:
            total += tree.predict(block, check_input=False).reshape(total.shape)
        columns.append(total / len(forest.estimators_))
    return np.concatenate(columns, axis=1)


def _single_precision(features: NDArray[Any], rows: Ints) -> NDArray[np.float32]:
    """Convert features to single precision; raise InputError if a value is too large.

    `rows` are the row numbers in X for the message.
    """
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
