"""Folds of queries for judged rows and users' pairs, with each query in one fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone

from activeeval.adaptation.hyper_linear import HyperLinearRanker
from activeeval.core.errors import InputError
from activeeval.core.grade_models.probabilities import as_features
from activeeval.core.types import Ints
from activeeval.rankers.input_checks import refuse_missing, training_items
from activeeval.rankers.pairs import PreferencePairs, checked_pairs


def plain_ids(query_ids: ArrayLike, name: str) -> NDArray[Any]:
    """Convert ids to an array of str or int64, so that equal ids compare equal whatever the input type.

    InputError is raised if they are neither texts nor whole numbers; `name` names them in the message.
    """
    ids = np.asarray(query_ids)
    if ids.dtype.kind == "S":
        return np.asarray(np.char.decode(ids, "utf-8"))
    kinds = set(map(type, ids.ravel().tolist())) if ids.dtype.kind == "O" else set()
    if ids.dtype.kind == "U" or (kinds and all(issubclass(kind, str) for kind in kinds)):
        return ids.astype(np.str_)
    if ids.dtype.kind in "iu" or (kinds and all(issubclass(kind, (int, np.integer)) for kind in kinds)):
        return ids.astype(np.int64)
    type_names = ", ".join(sorted(kind.__name__ for kind in kinds)) if kinds else str(ids.dtype)
    raise InputError(f"{name} must be texts or whole numbers, got {type_names} values")


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRows:
    """Features, shape (n, n_features), grade and query id of n judged rows."""

    X: NDArray[Any]
    grades: Ints
    queries: NDArray[Any]

    @classmethod
    def of(cls, X: ArrayLike, grades: ArrayLike, query_ids: ArrayLike) -> Self:
        """Validate judged rows; raise InputError if a value is invalid or no query has two different grades.

        `X` has shape (n, n_features), `grades` (whole numbers from 0) and `query_ids` shape (n,).
        """
        features, whole, codes = training_items(X, grades, plain_ids(query_ids, "query_ids"))
        if codes is None or PreferencePairs.of(whole, codes).n_pairs == 0:
            raise InputError("the judged items hold no order: no query has two of different grades")
        return cls(features, whole, plain_ids(query_ids, "query_ids"))

    @property
    def names(self) -> list[Any]:
        """Distinct query ids, sorted."""
        return sorted(set(self.queries.tolist()))

    def in_order(self) -> Self:
        """Sort the rows by query, features and grade, so that the result does not depend on the input order."""
        return self._at(np.lexsort((self.grades, *self.X.T, np.unique(self.queries, return_inverse=True)[1])))

    def _at(self, rows: NDArray[Any]) -> Self:
        """Select rows by numbers or a mask of shape (n,)."""
        return type(self)(self.X[rows], self.grades[rows], self.queries[rows])

    def parted(self, fold_of: dict[Any, int], fold: int) -> tuple[Self, Self]:
        """Split into the rows outside a fold and those inside; `fold_of` has the fold of each query id."""
        inside = np.array([fold_of[name] == fold for name in self.queries.tolist()])
        return self._at(~inside), self._at(inside)

    def ranker(self, base: HyperLinearRanker | BaseEstimator) -> HyperLinearRanker:
        """Convert a base to a HyperLinearRanker: a ranker is kept, of a regressor a clone is fitted to these rows.

        Raises
        ------
        InputError
            If the base is neither a ranker nor a regressor of boosted trees, or the features have missing values.
        """
        if isinstance(base, HyperLinearRanker):
            return base
        if not isinstance(base, BaseEstimator):
            raise InputError(f"base must be a HyperLinearRanker or a regressor of boosted trees, got {base!r}")
        try:
            return HyperLinearRanker.from_gradient_boosting(clone(base).fit(self.X, self.grades))
        except ValueError as problem:
            if not isinstance(problem, InputError):
                refuse_missing(self.X)  # missing values are the most frequent cause
            raise


@dataclass(frozen=True, slots=True, eq=False)
class UserPairs:
    """Pairs of row numbers of ``X``, shape (n_pairs, 2), the preferred row first, each with its query id."""

    X: NDArray[Any]
    pairs: Ints
    queries: NDArray[Any]

    @classmethod
    def of(cls, judged: JudgedRows, pairs: ArrayLike, X: ArrayLike | None, query_ids: ArrayLike | None) -> Self:
        """Validate users' pairs, row numbers of X, shape (n_pairs, 2), the preferred row first.

        `X`, shape (n_rows, n_features), and the `query_ids` of its rows go together; without them, pairs are of the
        judged rows.

        Raises
        ------
        InputError
            If a pair is invalid, its rows belong to different queries, or query ids are missing or of another type.
        """
        if (X is None) != (query_ids is None):
            raise InputError("pairs_X and pairs_query_ids belong together, got one of them")
        features = judged.X if X is None else as_features(X, "pairs_X")
        of_row = judged.queries if query_ids is None else plain_ids(query_ids, "pairs_query_ids")
        if of_row.shape != features.shape[:1]:
            raise InputError(f"pairs_query_ids must name the query of each of the {len(features)} rows of pairs_X")
        if of_row.dtype.kind != judged.queries.dtype.kind:
            raise InputError(
                "query_ids and pairs_query_ids must both be text or both be numbers, as they name the same"
            )
        valid_pairs = checked_pairs(pairs, features.shape[0])
        first, second = of_row[valid_pairs].T
        if (differ := np.flatnonzero(first != second)).size:
            place = differ[0]
            names = f"{first[place]!s} and {second[place]!s}"
            raise InputError(f"pairs must be of two rows of one query, got rows of {names} in pair {place}")
        return cls(features, valid_pairs, first)

    @property
    def names(self) -> list[Any]:
        """Distinct query ids of the pairs, sorted."""
        return sorted(set(self.queries.tolist()))

    def parted(self, fold_of: dict[Any, int], fold: int) -> tuple[Ints, Ints]:
        """Split into the pairs outside a fold and those inside, shape (·, 2).

        `fold_of` has the fold of each query id.
        """
        inside = np.array([fold_of[name] == fold for name in self.queries.tolist()])
        return self.pairs[~inside], self.pairs[inside]


def deal_out(judged: list[Any], preferred: list[Any], n_folds: int, seed: int) -> dict[Any, int]:
    """Assign query ids to folds, evenly both for judged queries (`judged`) and for queries with pairs (`preferred`).

    `seed` shuffles the queries. The order is: queries with judgments alone, with both, with pairs alone. Judged queries
    and queries with pairs are thus contiguous runs, and round-robin assignment spreads a run evenly over `n_folds`.

    Raises
    ------
    InputError
        If there are more folds than queries of a kind, or fewer than two.
    """
    for names, kind in ((judged, "judged"), (preferred, "in pairs")):
        if n_folds < 2 or len(names) < n_folds:
            raise InputError(f"n_folds must be from 2 to the number of queries {kind}, {len(names)}, got {n_folds}")
    random = np.random.default_rng(seed)
    graded, paired = set(judged), set(preferred)
    runs = (sorted(graded - paired), sorted(graded & paired), sorted(paired - graded))
    order = [run[i] for run in runs for i in random.permutation(len(run))]
    return {name: place % n_folds for place, name in enumerate(order)}
