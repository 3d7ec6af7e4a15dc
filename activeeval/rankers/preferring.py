"""How far to adapt a ranker: the balance of what judges say and of what users prefer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone

from activeeval.errors import InputError
from activeeval.grade_models.probabilities import Floats, Ints, as_features, whole_from_one
from activeeval.measures import NDCG, Measure
from activeeval.pool import Seed
from activeeval.rankers.adaptation import HyperLinearRanker, Method, Scaling
from activeeval.rankers.adapted_weights import seed_of
from activeeval.rankers.choosing import JudgedQueries, Scorer
from activeeval.rankers.doors import positive, training_items
from activeeval.rankers.pairs import checked_pairs
from activeeval.results import Figure

REGULARIZATIONS = (0.01, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4)
"""Those of Chen et al."""


def b_measure(mu: float, nu: float, alpha: float = 1.0) -> float:
    """Return B_α = (1 + α) μν / (αμ + ν), a weighted harmonic mean.

    Parameters
    ----------
    mu, nu : float
        How well judges' grades and users' preferences are met, from 0 to 1.
    alpha : float
        How many times ν counts as much as μ; positive.

    Returns
    -------
    float
        0 where both are 0.

    Raises
    ------
    InputError
        Where one of them is outside its range.

    Examples
    --------
    >>> b_measure(0.5, 1.0), b_measure(0.5, 1.0, alpha=2.0)
    (0.6666666666666666, 0.75)
    """
    for value, what in ((mu, "mu"), (nu, "nu")):
        if not 0 <= value <= 1:
            raise InputError(f"{what} must lie between 0 and 1, got {value!r}")
    weight = positive(alpha, "alpha")
    return (1 + weight) * mu * nu / (weight * mu + nu) if mu + nu > 0 else 0.0


def pair_precision(ranker: Scorer, X: ArrayLike, pairs: ArrayLike) -> float:
    """Return the share of pairs whose preferred row has the higher score; a pair of equal scores counts half.

    Parameters
    ----------
    X : array of float, shape (n_rows, n_features)
    pairs : array of int, shape (n, 2)
        Row numbers, the preferred one first.

    Raises
    ------
    InputError
        Names the first pair that is wrong.
    """
    held = checked_pairs(pairs, as_features(X).shape[0])
    return _share_in_order(np.asarray(ranker.predict(X), dtype=np.float64), held)


def _share_in_order(scores: Floats, pairs: Ints) -> float:
    return float((np.sign(scores[pairs[:, 0]] - scores[pairs[:, 1]]) / 2 + 0.5).mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class RegularizationRow:
    """One λ; the se of a figure is the standard error over the folds.

    Attributes
    ----------
    regularization : float
    measure : Figure
        μ, over held-out judged queries: nDCG@5 unless another measure was asked for.
    precision : Figure
        ν, the share of held-out pairs in their order.
    b : Figure
        B_α of each fold's μ and ν.
    """

    regularization: float
    measure: Figure
    precision: Figure
    b: Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class RegularizationChoice:
    """What was chosen.

    Attributes
    ----------
    ranker : HyperLinearRanker
        Adapted with the chosen λ, on all rows and pairs.
    regularization : float
    table : tuple of RegularizationRow
        Every λ, in the order given.
    base : RegularizationRow
        The base itself, with λ = ∞.
    """

    ranker: HyperLinearRanker
    regularization: float
    table: tuple[RegularizationRow, ...]
    base: RegularizationRow


def choose_regularization(
    base: HyperLinearRanker | BaseEstimator,
    X: ArrayLike,
    grades: ArrayLike,
    query_ids: ArrayLike,
    pairs: ArrayLike,
    *,
    pairs_X: ArrayLike | None = None,
    pairs_query_ids: ArrayLike | None = None,
    lambdas: Sequence[float] = REGULARIZATIONS,
    alpha: float = 1.0,
    n_folds: int = 5,
    measure: Measure | None = None,
    method: Method = "closed_form",
    scaling: Scaling = "mean",
    n_epochs: int | None = None,
    rng: Seed = None,
) -> RegularizationChoice:
    """Choose λ by B_α over folds of queries, then adapt with it on everything.

    Parameters
    ----------
    base : regressor of boosted trees, or HyperLinearRanker
        A regressor stays as it is: a clone learns from the judged rows outside each fold, another from all of them.
        A ranker is the base in all folds: it must have learned from other queries, or μ would praise it.
    X, grades, query_ids : arrays of n rows
        Judged items; `grades` from 0.
    pairs : array of int, shape (n_pairs, 2)
        Row numbers in `pairs_X`, the preferred one first, both of one query.
    pairs_X : array of float, shape (n_rows, n_features), optional
        X by default.
    pairs_query_ids : array, shape (n_rows,), optional
        With `pairs_X`: an id that occurs in `query_ids` too is the same query and stays in the same fold.
    lambdas : sequence of float
    alpha : float
        How many times the precision on pairs counts as much as the measure.
    n_folds : int
        Each query is held out once, with its judged rows and its pairs.
    measure : measure, optional
        nDCG@5 with gains 2^y − 1 by default.
    method, scaling, n_epochs
        As in `HyperLinearRanker.adapt`.
    rng : Generator, SeedSequence, int or None
        Deals out the queries, and orders the pairs. The order of the rows does not matter.

    Returns
    -------
    RegularizationChoice
        The λ of the largest mean B; of several the largest one, which stays closest to the base.

    Raises
    ------
    InputError
        Names the first place that is wrong; also where fewer queries are judged, or have pairs, than there are folds.
    """
    judged = _Judged.of(X, grades, query_ids)
    users = _Users.of(judged, pairs, pairs_X, pairs_query_ids)
    judged = judged.in_order()
    strengths = [positive(value, "lambdas") for value in lambdas]
    if not strengths:
        raise InputError("lambdas holds no λ")
    positive(alpha, "alpha")
    seed = seed_of(rng)
    options = {"method": method, "scaling": scaling, "n_epochs": n_epochs, "rng": seed}
    measured = NDCG("exp", cutoff=5) if measure is None else measure
    fold_of = _folds(judged.names, users.names, whole_from_one(n_folds, "n_folds"), seed)
    values = np.empty((len(strengths) + 1, int(n_folds), 3))
    for fold in range(int(n_folds)):
        kept, held = judged.parted(fold_of, fold)
        kept_pairs, held_pairs = users.parted(fold_of, fold)
        own = kept.ranker(base)
        queries = JudgedQueries.of((held.X, held.grades, held.queries), measured)
        for i, ranker in enumerate((own, *own.path(users.X, kept_pairs, strengths, **options))):  # type: ignore[arg-type]
            mu, nu = queries.value(ranker), _share_in_order(ranker.predict(users.X), held_pairs)
            values[i, fold] = mu, nu, b_measure(mu, nu, alpha)
    own_row, *table = map(_row, [np.inf, *strengths], values)
    best = max(table, key=lambda row: (row.b.value, row.regularization)).regularization
    ranker = next(judged.ranker(base).path(users.X, users.pairs, [best], **options))  # type: ignore[arg-type]
    return RegularizationChoice(ranker=ranker, regularization=best, table=tuple(table), base=own_row)


def _row(strength: float, values: Floats) -> RegularizationRow:
    """Return the means over folds of values (n_folds, 3)."""
    means, errors = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))
    measure, precision, b = (Figure(float(m), float(e)) for m, e in zip(means, errors, strict=True))
    return RegularizationRow(regularization=strength, measure=measure, precision=precision, b=b)


@dataclass(frozen=True, slots=True, eq=False)
class _Judged:
    """Judged rows, each with its query."""

    X: NDArray[Any]
    grades: Ints
    queries: NDArray[Any]

    @classmethod
    def of(cls, X: ArrayLike, grades: ArrayLike, query_ids: ArrayLike) -> Self:
        features, whole, _ = training_items(X, grades, query_ids)
        return cls(features, whole, np.asarray(query_ids))

    @property
    def names(self) -> list[Any]:
        return sorted(set(self.queries.tolist()))

    def in_order(self) -> Self:
        """Return the rows ordered by what they hold: neither ties nor what a base learns tell how they came."""
        return self._at(np.lexsort((self.grades, *self.X.T, np.unique(self.queries, return_inverse=True)[1])))

    def _at(self, rows: NDArray[Any]) -> Self:
        return type(self)(self.X[rows], self.grades[rows], self.queries[rows])

    def parted(self, fold_of: dict[Any, int], fold: int) -> tuple[Self, Self]:
        """Return the rows outside a fold, and those inside."""
        inside = np.array([fold_of[name] == fold for name in self.queries.tolist()])
        return self._at(~inside), self._at(inside)

    def ranker(self, base: HyperLinearRanker | BaseEstimator) -> HyperLinearRanker:
        """Return the base, learned from these rows where it can learn."""
        if isinstance(base, HyperLinearRanker):
            return base
        if not isinstance(base, BaseEstimator):
            raise InputError(f"base must be a HyperLinearRanker or a regressor of boosted trees, got {base!r}")
        return HyperLinearRanker.from_gradient_boosting(clone(base).fit(self.X, self.grades))


@dataclass(frozen=True, slots=True, eq=False)
class _Users:
    """Pairs of rows, each with its query."""

    X: NDArray[Any]
    pairs: Ints
    queries: NDArray[Any]

    @classmethod
    def of(cls, judged: _Judged, pairs: ArrayLike, X: ArrayLike | None, query_ids: ArrayLike | None) -> Self:
        if (X is None) != (query_ids is None):
            raise InputError("pairs_X and pairs_query_ids belong together, got one of them")
        features = judged.X if X is None else as_features(X, "pairs_X")
        of_row = judged.queries if query_ids is None else np.asarray(query_ids)
        if of_row.shape != features.shape[:1]:
            raise InputError(f"pairs_query_ids must name the query of each of the {len(features)} rows of pairs_X")
        if (of_row.dtype.kind in "US") != (judged.queries.dtype.kind in "US"):
            raise InputError(
                "query_ids and pairs_query_ids must both be text or both be numbers, as they name the same"
            )
        held = checked_pairs(pairs, features.shape[0])
        first, second = of_row[held].T
        if (differ := np.flatnonzero(first != second)).size:
            place = differ[0]
            names = f"{first[place]!s} and {second[place]!s}"
            raise InputError(f"pairs must be of two rows of one query, got rows of {names} in pair {place}")
        return cls(features, held, first)

    @property
    def names(self) -> list[Any]:
        return sorted(set(self.queries.tolist()))

    def parted(self, fold_of: dict[Any, int], fold: int) -> tuple[Ints, Ints]:
        """Return the pairs outside a fold, and those inside."""
        inside = np.array([fold_of[name] == fold for name in self.queries.tolist()])
        return self.pairs[~inside], self.pairs[inside]


def _folds(judged: list[Any], preferred: list[Any], n_folds: int, seed: int) -> dict[Any, int]:
    """Return the fold of each query, so that the judged ones and those with pairs are both dealt out evenly.

    Queries with judgments alone come first, then those with both, then those with pairs alone: either kind is a run,
    and a run dealt out in turn is even.
    """
    for names, what in ((judged, "judged"), (preferred, "in pairs")):
        if n_folds < 2 or len(names) < n_folds:
            raise InputError(f"n_folds must be from 2 to the number of queries {what}, {len(names)}, got {n_folds}")
    random = np.random.default_rng(seed)
    known, wanted = set(judged), set(preferred)
    runs = (sorted(known - wanted), sorted(known & wanted), sorted(wanted - known))
    dealt = [run[i] for run in runs for i in random.permutation(len(run))]
    return {name: place % n_folds for place, name in enumerate(dealt)}
