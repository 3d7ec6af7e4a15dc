"""How far to adapt a ranker: the balance of what judges say and of what users prefer."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from activeeval.adaptation.folding import JudgedRows, UserPairs, deal_out
from activeeval.adaptation.hyper_linear import HyperLinearRanker, Method, Scaling, problem_size
from activeeval.adaptation.weights import check_ridge, check_side, seed_of
from activeeval.core.checks import check_names, positive, whole_number
from activeeval.core.errors import InputError
from activeeval.core.grade_models.probabilities import as_features
from activeeval.core.measures import NDCG, Measure
from activeeval.core.pool import Seed
from activeeval.core.results import Figure
from activeeval.core.types import Floats, Ints
from activeeval.rankers.pairs import checked_pairs
from activeeval.rankers.ranker_choice import JudgedQueries, Scorer

REGULARIZATIONS = (0.01, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4)
"""Those of Chen et al."""


def b_measure(mu: float, nu: float, alpha: float = 1.0) -> float:
    """Return how well both judges and users are met: the weighted harmonic mean B_α = (1 + α) μν / (αμ + ν).

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
            raise InputError(f"{what} must lie in [0, 1], got {value!r}")
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
    converged : bool
        False where ``"hinge"`` ended above its tolerance in some fold.
    """

    regularization: float
    measure: Figure
    precision: Figure
    b: Figure
    converged: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RegularizationChoice:
    """The ranker adapted with the chosen λ, and how every λ did.

    Attributes
    ----------
    ranker : HyperLinearRanker
        Adapted with the chosen λ, on all rows and pairs.
    regularization : float
    table : tuple of RegularizationRow
        Every λ, in the order given.
    base : RegularizationRow
        The base itself, with λ = ∞.
    lead : Figure
        By how much the B of the chosen λ is above the base's, fold by fold; its se is of these differences.
    n_queries, n_irrelevant : int
        Judged queries, and those of them without a relevant item: nDCG@5 counts these as 0.
    n_seen : int
        Queries that a base which is a ranker was tuned on before: the figures are not held out from these.
    """

    ranker: HyperLinearRanker
    regularization: float
    table: tuple[RegularizationRow, ...]
    base: RegularizationRow
    lead: Figure
    n_queries: int
    n_irrelevant: int
    n_seen: int

    @property
    def chosen(self) -> RegularizationRow:
        """The row of the chosen λ."""
        return next(row for row in self.table if row.regularization == self.regularization)

    @property
    def is_better(self) -> bool:
        """Whether the chosen λ has a larger B than the base, on what was held out."""
        return self.chosen.b.value > self.base.b.value

    @property
    def is_within_error(self) -> bool:
        """Whether it is better by less than the standard error of the lead, so that chance may have chosen."""
        return self.is_better and not self.lead.value > self.lead.se

    @property
    def end(self) -> str:
        """``"smallest"`` or ``"largest"`` where the chosen λ is that of several, else empty."""
        strengths = [row.regularization for row in self.table]
        if len(strengths) == 1 or min(strengths) < self.regularization < max(strengths):
            return ""
        return "smallest" if self.regularization == min(strengths) else "largest"


class ChoiceOptions(TypedDict, total=False):
    """What `choose_regularization` may be told of the choice, and of how a ranker is adapted.

    Attributes
    ----------
    lambdas : sequence of float
        Default: `REGULARIZATIONS`.
    alpha : float
        How many times the precision on pairs counts as much as the measure. Default: 1.
    n_folds : int
        Each query is held out once, with its judged rows and its pairs. Default: 5.
    measure : measure, optional
        nDCG@5 with gains 2^y − 1 by default.
    method, scaling, n_epochs
        As in `HyperLinearRanker.adapt`.
    rng : Generator, SeedSequence, int or None
        Deals out the queries, and orders the pairs. The order of the rows does not matter.
    """

    lambdas: Sequence[float]
    alpha: float
    n_folds: int
    measure: Measure | None
    method: Method
    scaling: Scaling
    n_epochs: int | None
    rng: Seed


def choose_regularization(
    base: HyperLinearRanker | BaseEstimator,
    X: ArrayLike,
    grades: ArrayLike,
    query_ids: ArrayLike,
    pairs: ArrayLike,
    *,
    pairs_X: ArrayLike | None = None,
    pairs_query_ids: ArrayLike | None = None,
    **options: Unpack[ChoiceOptions],
) -> RegularizationChoice:
    """Choose how far to adapt a ranker by what is held out of judgments and preferences, then adapt it to all of them.

    λ is the one of the largest B_α over folds of queries.

    Parameters
    ----------
    base : regressor of boosted trees, or HyperLinearRanker
        A regressor stays as it is: a clone learns from the judged rows outside each fold, another from all of them.
        A ranker is the base in all folds: it must have learned from other queries, or μ would praise it.
    X, grades, query_ids : arrays of n rows
        Judged items; `grades` from 0, `query_ids` texts or whole numbers.
    pairs : array of int, shape (n_pairs, 2)
        Row numbers in `pairs_X`, the preferred one first, both of one query.
    pairs_X : array of float, shape (n_rows, n_features), optional
        X by default.
    pairs_query_ids : array, shape (n_rows,), optional
        With `pairs_X`: an id that occurs in `query_ids` too is the same query and stays in the same fold.
    **options
        `ChoiceOptions`: lambdas, alpha, n_folds, measure, method, scaling, n_epochs and rng.

    Returns
    -------
    RegularizationChoice
        The λ of the largest mean B; of several the largest one, which stays closest to the base.

    Raises
    ------
    InputError
        Names the first place that is wrong; also where fewer queries are judged, or have pairs, than there are folds,
        and where no query has two items of different grades.
    """
    check_names(options, ChoiceOptions)
    judged = JudgedRows.of(X, grades, query_ids)
    users = UserPairs.of(judged, pairs, pairs_X, pairs_query_ids)
    judged = judged.in_order()
    method, scaling = options.get("method", "closed_form"), options.get("scaling", "mean")
    strengths, alpha = _strengths(options.get("lambdas", REGULARIZATIONS), scaling), options.get("alpha", 1.0)
    positive(alpha, "alpha")
    seed, n_folds = seed_of(options.get("rng")), options.get("n_folds", 5)
    ways: dict[str, Any] = {"method": method, "scaling": scaling, "n_epochs": options.get("n_epochs"), "rng": seed}
    measured = options.get("measure") or NDCG("exp", cutoff=5)
    fold_of = deal_out(judged.names, users.names, whole_number(n_folds, "n_folds", 1), seed)
    whole = judged.ranker(base)
    if method == "closed_form":
        check_side(*problem_size(whole, users.X, users.pairs))
    folds = _Folds(judged, users, fold_of, measured, alpha)
    values = np.empty((len(strengths) + 1, int(n_folds), 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the table tells
        for fold in range(int(n_folds)):
            values[:, fold] = folds.values(fold, base, strengths, ways)
        base_row, *table = map(_row, [np.inf, *strengths], values)
        best = max(table, key=lambda row: (row.b.value, row.regularization)).regularization
        leads = values[1 + [row.regularization for row in table].index(best), :, 2] - values[0, :, 2]
        ranker = next(whole.path(users.X, users.pairs, [best], **ways))
    hashes = np.unique([_hash(name) for name in {*judged.names, *users.names}]).astype(np.int64)
    return RegularizationChoice(
        ranker=replace(ranker, query_hashes_=np.union1d(whole.query_hashes_, hashes)),
        regularization=best,
        table=tuple(table),
        base=base_row,
        lead=_figure(leads),
        n_queries=len(judged.names),
        n_irrelevant=len(judged.names) - len(set(judged.queries[judged.grades > 0].tolist())),
        n_seen=int(np.isin(hashes, whole.query_hashes_).sum()),
    )


def _strengths(lambdas: Sequence[float], scaling: Scaling) -> list[float]:
    """Return every λ, or say which is out of range or there twice."""
    strengths = [positive(value, "lambdas") for value in lambdas]
    if not strengths:
        raise InputError("lambdas holds no λ")
    for place, value in enumerate(strengths):
        if scaling == "mean":
            check_ridge(value, "lambdas", value)
        if value in strengths[:place]:
            raise InputError(f"lambdas holds {value:g} twice, expected each λ once")
    return strengths


@dataclass(frozen=True, slots=True, eq=False)
class _Folds:
    """Judged rows and users' pairs, the fold of each query, and what rankers are held against."""

    judged: JudgedRows
    users: UserPairs
    fold_of: dict[Any, int]
    measure: Measure
    alpha: float

    def values(
        self, fold: int, base: HyperLinearRanker | BaseEstimator, strengths: list[float], options: dict[str, Any]
    ) -> list[tuple[float, float, float, bool]]:
        """Return the values on a fold of the base and of each λ, all learned from the others."""
        kept, held = self.judged.parted(self.fold_of, fold)
        kept_pairs, held_pairs = self.users.parted(self.fold_of, fold)
        fold_base = kept.ranker(base)
        rankers = (fold_base, *fold_base.path(self.users.X, kept_pairs, strengths, **options))
        queries = JudgedQueries.of((held.X, held.grades, held.queries), self.measure)
        return [_values(ranker, queries, self.users.X, held_pairs, self.alpha) for ranker in rankers]


def _values(
    ranker: HyperLinearRanker, queries: JudgedQueries, X: NDArray[Any], pairs: Ints, alpha: float
) -> tuple[float, float, float, bool]:
    """Return μ, ν and B on what is held out, and whether the program of an adapted ranker was not solved."""
    mu, nu = queries.value(ranker), _share_in_order(ranker.predict(X), pairs)
    is_open = ranker.adaptation_ is not None and not ranker.adaptation_.converged
    return mu, nu, b_measure(mu, nu, alpha), is_open


def _hash(name: Any) -> int:
    """Return 64 bits that stand for a query's id, whether it is a text or a number."""
    return int.from_bytes(hashlib.blake2b(str(name).encode(), digest_size=8).digest(), "little", signed=True)


def _figure(values: Floats) -> Figure:
    """Return the mean over folds with its standard error."""
    return Figure(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))))


def _row(strength: float, values: Floats) -> RegularizationRow:
    """Return the means over folds of values (n_folds, 4), the last of which is whether a program stayed open."""
    measure, precision, b = map(_figure, values.T[:3])
    is_solved = not values[:, 3].any()
    return RegularizationRow(regularization=strength, measure=measure, precision=precision, b=b, converged=is_solved)
