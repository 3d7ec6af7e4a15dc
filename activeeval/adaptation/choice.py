"""Choice of the regularization of an adapted ranker, which balances judges' grades and users' preferences."""

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
"""Candidates for λ, as in Chen et al."""


def b_measure(mu: float, nu: float, alpha: float = 1.0) -> float:
    """Compute the weighted harmonic mean B_α = (1 + α) μν / (αμ + ν) of agreement with judges and with users.

    Parameters
    ----------
    mu, nu : float
        Agreement with judges' grades (μ) and with users' preferences (ν), from 0 to 1.
    alpha : float
        Weight of ν relative to μ; positive.

    Returns
    -------
    float
        0 if both are 0.

    Raises
    ------
    InputError
        If an argument is outside its range.

    Examples
    --------
    >>> b_measure(0.5, 1.0), b_measure(0.5, 1.0, alpha=2.0)
    (0.6666666666666666, 0.75)
    """
    for value, name in ((mu, "mu"), (nu, "nu")):
        if not 0 <= value <= 1:
            raise InputError(f"{name} must lie in [0, 1], got {value!r}")
    weight = positive(alpha, "alpha")
    return (1 + weight) * mu * nu / (weight * mu + nu) if mu + nu > 0 else 0.0


def pair_precision(ranker: Scorer, X: ArrayLike, pairs: ArrayLike) -> float:
    """Compute the share of pairs whose preferred row has the higher score; equal scores count one half.

    Parameters
    ----------
    ranker : Scorer
        Its ``predict`` returns the score of each row of X.
    X : array of float, shape (n_rows, n_features)
    pairs : array of int, shape (n, 2)
        Row numbers, the preferred one first.

    Raises
    ------
    InputError
        At the first invalid pair.
    """
    valid_pairs = checked_pairs(pairs, as_features(X).shape[0])
    return _share_in_order(np.asarray(ranker.predict(X), dtype=np.float64), valid_pairs)


def _share_in_order(scores: Floats, pairs: Ints) -> float:
    """Compute the share of pairs whose preferred row has the higher score; equal scores count one half.

    `scores` have shape (n_rows,), `pairs` shape (n, 2), the preferred row first.
    """
    return float((np.sign(scores[pairs[:, 0]] - scores[pairs[:, 1]]) / 2 + 0.5).mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class RegularizationRow:
    """Agreement with judges and with users for one λ: means over the folds, with standard errors.

    Attributes
    ----------
    regularization : float
        λ, the weight of staying close to the base; infinite for the base itself.
    measure : Figure
        μ, over held-out judged queries: nDCG@5 unless another measure is given.
    precision : Figure
        ν, the share of held-out pairs scored in their order.
    b : Figure
        Mean over the folds of B_α, the weighted harmonic mean of μ and ν.
    converged : bool
        False if the solver of the hinge loss stopped above its tolerance in some fold.
    """

    regularization: float
    measure: Figure
    precision: Figure
    b: Figure
    converged: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RegularizationChoice:
    """The ranker adapted with the chosen λ, and the figures of every λ.

    Attributes
    ----------
    ranker : HyperLinearRanker
        Adapted with the chosen λ to all rows and pairs.
    regularization : float
        The chosen λ, the weight of staying close to the base.
    table : tuple of RegularizationRow
        Every λ, in the given order.
    base : RegularizationRow
        The base itself, with λ = ∞.
    lead : Figure
        Mean over folds of B of the chosen λ minus B of the base; its se is that of these differences.
    n_queries, n_irrelevant : int
        Number of judged queries, and of those without a relevant item, whose nDCG@5 counts as 0.
    n_seen : int
        Number of queries on which a base that is an adapted ranker was tuned before: for them the figures are not held
        out.
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
        """Row of the chosen λ."""
        return next(row for row in self.table if row.regularization == self.regularization)

    @property
    def is_better(self) -> bool:
        """True if the chosen λ has a larger held-out B than the base."""
        return self.chosen.b.value > self.base.b.value

    @property
    def is_within_error(self) -> bool:
        """True if the chosen λ leads by no more than the standard error of the lead, so that chance may explain it."""
        return self.is_better and not self.lead.value > self.lead.se

    @property
    def end(self) -> str:
        """ "smallest" or "largest" if the chosen λ is at that end of several candidates, else ""."""
        strengths = [row.regularization for row in self.table]
        if len(strengths) == 1 or min(strengths) < self.regularization < max(strengths):
            return ""
        return "smallest" if self.regularization == min(strengths) else "largest"


class ChoiceOptions(TypedDict, total=False):
    """Options of `choose_regularization`: of the choice, and of the adaptation.

    Attributes
    ----------
    lambdas : sequence of float
        Candidates for λ. Default: `REGULARIZATIONS`.
    alpha : float
        α of `b_measure`: weight of the precision on pairs relative to the measure. Default: 1.
    n_folds : int
        Each query is held out once, with its judged rows and its pairs. Default: 5.
    measure : measure, optional
        nDCG@5 with gains 2^y − 1 by default.
    method : {"closed_form", "sgd", "hinge"}
        Squared loss of a pair, solved exactly (the default) or by stochastic gradient; or the hinge loss.
    scaling : {"mean", "sum"}
        Loss averaged (the default) or summed over pairs.
    n_epochs : int, optional
        Passes over the pairs, for sgd and hinge.
    rng : Generator, SeedSequence, int or None
        Assigns queries to folds and orders the pairs. The order of the rows does not matter.
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
    """Choose λ by cross-validation over queries, then adapt the ranker to all judgments and preferences.

    The chosen λ has the largest mean B_α over the folds.

    Parameters
    ----------
    base : regressor of boosted trees, or HyperLinearRanker
        A regressor is not modified: a clone is fitted to the judged rows outside each fold, another to all of them.
        A ranker is the base in all folds: it must be fitted to other queries, or μ is biased upwards.
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
        With the λ of the largest mean B; in a tie the largest λ, which stays closest to the base.

    Raises
    ------
    InputError
        At the first invalid value; if fewer queries are judged, or have pairs, than there are folds; and if no query
        has two items of different grades.
    """
    check_names(options, ChoiceOptions)
    judged = JudgedRows.of(X, grades, query_ids)
    users = UserPairs.of(judged, pairs, pairs_X, pairs_query_ids)
    judged = judged.in_order()
    method, scaling = options.get("method", "closed_form"), options.get("scaling", "mean")
    strengths, alpha = _strengths(options.get("lambdas", REGULARIZATIONS), scaling), options.get("alpha", 1.0)
    positive(alpha, "alpha")
    seed, n_folds = seed_of(options.get("rng")), options.get("n_folds", 5)
    solving: dict[str, Any] = {"method": method, "scaling": scaling, "n_epochs": options.get("n_epochs"), "rng": seed}
    measured = options.get("measure") or NDCG("exp", cutoff=5)
    fold_of = deal_out(judged.names, users.names, whole_number(n_folds, "n_folds", 1), seed)
    whole = judged.ranker(base)
    if method == "closed_form":
        check_side(*problem_size(whole, users.X, users.pairs))
    folds = _Folds(judged, users, fold_of, measured, alpha)
    # axes: the base and each λ, folds, and the four values of `_values`, of which the third is B
    values = np.empty((len(strengths) + 1, int(n_folds), 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the table reports it
        for fold in range(int(n_folds)):
            values[:, fold] = folds.values(fold, base, strengths, solving)
        base_row, *table = map(_row, [np.inf, *strengths], values)
        best = max(table, key=lambda row: (row.b.value, row.regularization)).regularization
        leads = values[1 + [row.regularization for row in table].index(best), :, 2] - values[0, :, 2]
        ranker = next(whole.path(users.X, users.pairs, [best], **solving))
    query_hashes = np.unique([_hash(name) for name in {*judged.names, *users.names}]).astype(np.int64)
    return RegularizationChoice(
        ranker=replace(ranker, query_hashes_=np.union1d(whole.query_hashes_, query_hashes)),
        regularization=best,
        table=tuple(table),
        base=base_row,
        lead=_figure(leads),
        n_queries=len(judged.names),
        n_irrelevant=len(judged.names) - len(set(judged.queries[judged.grades > 0].tolist())),
        n_seen=int(np.isin(query_hashes, whole.query_hashes_).sum()),
    )


def _strengths(lambdas: Sequence[float], scaling: Scaling) -> list[float]:
    """Check the candidates for λ: positive, in range and distinct; raise InputError at the first that is not.

    The range holds for the loss averaged over pairs (``scaling`` "mean"); for the sum it depends on the pairs.
    """
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
    """Data of the cross-validation.

    Attributes
    ----------
    judged : JudgedRows
        Features, grades and query ids of the judged rows.
    users : UserPairs
        Preferences: row numbers, the preferred first, with their features and query ids.
    fold_of : dict
        Fold of each query id, from 0.
    measure : Measure
        Agreement with judges, averaged over queries.
    alpha : float
        Weight of the precision on pairs relative to the measure, in `b_measure`.
    """

    judged: JudgedRows
    users: UserPairs
    fold_of: dict[Any, int]
    measure: Measure
    alpha: float

    def values(
        self, fold: int, base: HyperLinearRanker | BaseEstimator, strengths: list[float], options: dict[str, Any]
    ) -> list[tuple[float, float, float, bool]]:
        """Evaluate the base and every λ (`strengths`) on a fold, adapted to the other folds.

        `options` are those of `HyperLinearRanker.path`. The list has, for the base and then for each λ: the measure μ
        of judged queries, the precision ν on pairs, B_α, and True if the solver did not converge.
        """
        train, test = self.judged.parted(self.fold_of, fold)
        train_pairs, test_pairs = self.users.parted(self.fold_of, fold)
        fold_base = train.ranker(base)
        rankers = (fold_base, *fold_base.path(self.users.X, train_pairs, strengths, **options))
        queries = JudgedQueries.of((test.X, test.grades, test.queries), self.measure)
        return [_values(ranker, queries, self.users.X, test_pairs, self.alpha) for ranker in rankers]


def _values(
    ranker: HyperLinearRanker, queries: JudgedQueries, X: NDArray[Any], pairs: Ints, alpha: float
) -> tuple[float, float, float, bool]:
    """Compute μ (measure on judged queries), ν (precision on pairs) and B_α of a ranker on held-out data.

    The fourth value is True if the ranker's solver did not converge.
    """
    mu, nu = queries.value(ranker), _share_in_order(ranker.predict(X), pairs)
    is_open = ranker.adaptation_ is not None and not ranker.adaptation_.converged
    return mu, nu, b_measure(mu, nu, alpha), is_open


def _hash(name: Any) -> int:
    """Hash a query id, text or number, to a signed 64-bit integer, the same in every process (unlike `hash`)."""
    return int.from_bytes(hashlib.blake2b(str(name).encode(), digest_size=8).digest(), "little", signed=True)


def _figure(values: Floats) -> Figure:
    """Compute the mean of values over folds, shape (n_folds,), and its standard error."""
    return Figure(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))))


def _row(strength: float, values: Floats) -> RegularizationRow:
    """Average the values of one λ over folds; columns of `values`, shape (n_folds, 4), are those of `_values`."""
    measure, precision, b = map(_figure, values.T[:3])
    is_solved = not values[:, 3].any()
    return RegularizationRow(regularization=strength, measure=measure, precision=precision, b=b, converged=is_solved)
