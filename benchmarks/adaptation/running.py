"""Folds of a case: the base, its adaptations over λ, ranking SVMs over C, each by five values a fold.

A fold of real judgments is a fifth of the queries; of generated ones it is a fifth of a world of its own. μ is nDCG@5
of held-out judged queries, ν the share of held-out user pairs in order, π the same of the pairs that judges' grades
tell, τ the same of all pairs of the users' taste; the gap is what is left of the hinge's program, as a share of its
objective.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from joblib import delayed
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning

from activeeval import NDCG
from activeeval.adaptation import HyperLinearRanker, b_measure, pair_precision
from activeeval.core.errors import SolverError
from activeeval.rankers import RankingSVM
from activeeval.rankers.pairs import PreferencePairs
from activeeval.rankers.ranker_choice import JudgedQueries
from benchmarks.adaptation.data import FOLDS, Case

LAMBDAS = (0.01, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6)
"""The paper's, which end at 10⁴, and two more: with its scaling CF and SVML are still rising there."""
FINE = (0.01, 0.1, 1.0, 3.0, 10.0, 20.0, 30.0, 50.0, 100.0, 200.0, 1e3, 1e4)
"""Of the common scale, finer where B is best."""
COSTS = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-2, 1.0)
EVERY_PAIR = 10**9
KINDS = ("judge", "user", "mix")
SHAPES = tuple((trees, leaves, rate) for trees in (50, 100) for leaves in (10, 20) for rate in (0.05, 0.1))
"""Trees, leaves and learning rate of the base; for each fold the best by μ on the others is taken. Twice the trees at
half the rate are as good by μ, and the hinge of a small λ takes four times as long with them."""
EPOCHS = 5
"""Passes of SGD, which the paper does not tell; at the smallest λ it is far from its end after them."""
HINGE = {"tol": 1e-3}
Folds = list[list[float]]
"""(μ, ν, π, gap, τ) of each fold."""


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A way of adapting; ``unit`` turns its λ into that of the library's scaling."""

    method: str
    scaling: str
    unit: float
    options: dict[str, Any]


PRINTED = {
    "SGD": Algorithm("sgd", "mean", 1.0, {"n_epochs": EPOCHS}),
    "CF": Algorithm("closed_form", "sum", 1.0, {}),
    # eq. 9 with the printed C = 1/λ, where the library has C = 1/(2λ)
    "SVML": Algorithm("hinge", "sum", 0.5, HINGE),
}
COMMON = {
    "SGD": PRINTED["SGD"],
    "CF": Algorithm("closed_form", "mean", 1.0, {}),
    "SVML": Algorithm("hinge", "mean", 1.0, HINGE),
}


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """What is learned from and what is held out."""

    case: Case
    number: int

    @property
    def judged(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features, grades and queries outside the fold."""
        return self._rows(self.case.folds != self.number)

    @property
    def pairs(self) -> np.ndarray:
        """Users' pairs outside the fold."""
        return self.case.pairs[self.case.pair_folds != self.number]

    def _rows(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.case.X[chosen], self.case.grades[chosen], self.case.queries[chosen]

    def base(self, shape: tuple[int, int, float]) -> HyperLinearRanker:
        """Return the base, learned outside the fold."""
        trees, leaves, rate = shape
        options = {"max_iter": trees, "max_leaf_nodes": leaves, "learning_rate": rate, "early_stopping": False}
        X, grades, _ = self.judged
        return HyperLinearRanker.from_gradient_boosting(
            HistGradientBoostingRegressor(random_state=0, **options).fit(X, grades)
        )

    def svm(self, kind: str, cost: float) -> RankingSVM:
        """Return a ranking SVM of the judges' pairs, of the users', or of both; a user's pair is a query of its own."""
        X, grades, queries = self.judged
        users = self.case.clicked[self.pairs].reshape(-1, X.shape[1])
        names = queries.max() + 1 + np.repeat(np.arange(len(self.pairs)), 2)
        parts = {"judge": [(X, grades, queries)], "user": [(users, np.tile([1, 0], len(self.pairs)), names)]}
        parts["mix"] = parts["judge"] + parts["user"]
        X, grades, queries = map(np.concatenate, zip(*parts[kind], strict=True))
        return RankingSVM(C=cost, max_pairs=EVERY_PAIR, rng=0).fit(X, grades, queries)

    def values(self, ranker: Any) -> list[float]:
        """Return μ, ν and π of a ranker on what is held out, the gap of its adaptation, and τ."""
        held = _held_out(self.case, self.number)
        nu, pi, tau = (pair_precision(ranker, X, pairs) for X, pairs in held.pairs)
        told = getattr(ranker, "adaptation_", None)
        gap = told.gap / told.objective if told is not None and told.method == "hinge" else 0.0
        return [held.judged.value(ranker), nu, pi, gap, tau]


class HeldOut(NamedTuple):
    """What every ranker of a fold is measured on: judged queries; users' pairs, judges' and all of taste, with rows."""

    judged: JudgedQueries
    pairs: tuple[tuple[np.ndarray, np.ndarray], ...]


@lru_cache(maxsize=2 * FOLDS)
def _held_out(case: Case, number: int) -> HeldOut:
    X, grades, queries = Fold(case, number)._rows(case.folds == number)
    numbered = PreferencePairs.of(grades, queries)
    judged = np.stack(numbered.draw(numbered.n_pairs, np.random.default_rng(0)), axis=1)
    pairs = [(X, judged)]
    for held, folds in ((case.pairs, case.pair_folds), (case.taste_pairs, case.taste_folds)):
        rows, places = np.unique(held[folds == number], return_inverse=True)
        pairs.append((case.clicked[rows], places.reshape(-1, 2)))
    judged_pairs, users, taste = pairs
    return HeldOut(JudgedQueries.of((X, grades, queries), NDCG("exp", 5)), (users, judged_pairs, taste))


def folds_of(cases: Sequence[Case]) -> list[Fold]:
    """Return the five folds of one case, or one of each of several."""
    return [Fold(cases[0], number) for number in range(FOLDS)] if len(cases) == 1 else [Fold(one, 0) for one in cases]


def run(cases: Sequence[Case], parallel: Any) -> dict[str, Any]:
    """Return the base's shape, and the values of every candidate by fold."""
    folds = folds_of(cases)
    tried = [list(by_shape) for by_shape in zip(*parallel(delayed(_shapes)(fold) for fold in folds), strict=True)]
    values, places = chosen(tried, 0)
    found: dict[str, Any] = {"shapes": [list(SHAPES[place]) for place in places], "base": values}
    found |= {"is_independent": len(cases) > 1, "svm": svms(cases, parallel)}
    paths = parallel(delayed(_paths)(fold, SHAPES[place]) for fold, place in zip(folds, places, strict=True))
    for scale in ("printed", "common"):
        found[scale] = {name: _transposed([one[scale, name] for one in paths]) for name in PRINTED}
    return found


def _shapes(fold: Fold) -> list[list[float]]:
    return [fold.values(fold.base(shape)) for shape in SHAPES]


def _paths(fold: Fold, shape: tuple[int, int, float]) -> dict[tuple[str, str], list[list[float] | None]]:
    """Return the values of every adaptation of a fold's base, by scale, algorithm and λ."""
    base, paths = fold.base(shape), {}
    for name, how in COMMON.items():
        lambdas = FINE if name != "SGD" else tuple(sorted({*FINE, *LAMBDAS}))
        values = dict(zip(lambdas, _path(fold, base, how, lambdas), strict=True))
        paths["common", name] = [values[ridge] for ridge in FINE]
        if name == "SGD":  # printed it is on the common scale
            paths["printed", name] = [values[ridge] for ridge in LAMBDAS]
        else:
            paths["printed", name] = list(_path(fold, base, PRINTED[name], LAMBDAS))
    return paths


def svms(cases: Sequence[Case], parallel: Any) -> dict[str, list[Folds]]:
    """Return for each kind of ranking SVM and each C the values of every fold."""
    by_fold = parallel(delayed(_svms)(fold) for fold in folds_of(cases))
    return {kind: [list(held) for held in zip(*(one[kind] for one in by_fold), strict=True)] for kind in KINDS}


def _svms(fold: Fold) -> dict[str, list[list[float]]]:
    return {kind: [fold.values(fold.svm(kind, cost)) for cost in COSTS] for kind in KINDS}


def _path(
    fold: Fold, base: HyperLinearRanker, how: Algorithm, lambdas: tuple[float, ...]
) -> Iterator[list[float] | None]:
    """Yield the values for each λ, None where the closed form refuses λ as too small for double precision."""
    falling = sorted(lambdas, reverse=True)
    options = {"method": how.method, "scaling": how.scaling, "rng": 0} | how.options
    values: list[list[float] | None] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            for ranker in base.path(fold.case.clicked, fold.pairs, [one * how.unit for one in falling], **options):
                values.append(fold.values(ranker))
        except SolverError:
            values += [None] * (len(falling) - len(values))
    yield from reversed(values)


def _transposed(by_fold: list[list[list[float] | None]]) -> list[Folds | None]:
    """Return by λ the values of the folds; None where one of them has none."""
    return [None if None in one else list(one) for one in zip(*by_fold, strict=True)]


def agreement(case: Case, shape: tuple[int, int, float], epochs: tuple[int, ...] = (5, 50, 500)) -> list[dict]:
    """Return by λ of the common scale how far SGD is from the closed form, and both and the hinge from the base.

    Distances are of weights over ‖w_CF − w_0‖, and for the hinge and the closed form the mean change of a score.
    """
    fold = Fold(case, 0)
    base, X, pairs, rows = fold.base(shape), case.clicked, fold.pairs, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        exact = list(base.path(X, pairs, LAMBDAS, method="closed_form"))
        hinge = list(base.path(X, pairs, LAMBDAS, method="hinge", **HINGE))
        runs = {n: list(base.path(X, pairs, LAMBDAS, method="sgd", n_epochs=n, rng=0)) for n in epochs}
    start, spread = base.predict(X), base.predict(X).std()
    for i, ridge in enumerate(LAMBDAS):
        length = np.linalg.norm(exact[i].coef_ - base.coef_)
        row = {"lambda": ridge}
        row |= {f"SGD {n}": float(np.linalg.norm(runs[n][i].coef_ - exact[i].coef_) / length) for n in epochs}
        row |= {
            name: float(np.abs(one[i].predict(X) - start).mean() / spread)
            for name, one in (("CF moves", exact), ("SVML moves", hinge))
        }
        rows.append(row)
    return rows


def balanced(values: Folds) -> np.ndarray:
    """Return B of each fold."""
    return np.array([b_measure(mu, nu) for mu, nu, *_ in values])


def chosen(candidates: list[Folds | None], what: int | None = None) -> tuple[Folds, list[int]]:
    """Return each fold's values of the candidate that is best on the other folds, by B or by one of the values.

    What is compared are values on the other folds; of real judgments the models that have them learned from this fold
    too, as they were held out from theirs alone.
    """
    n_folds = len(next(one for one in candidates if one is not None))
    rated = [
        np.full(n_folds, -1.0) if one is None else balanced(one) if what is None else np.array(one)[:, what]
        for one in candidates
    ]
    total = np.array(rated)
    places = [int(np.argmax(np.delete(total, fold, axis=1).mean(axis=1))) for fold in range(n_folds)]
    return [candidates[place][fold] for fold, place in enumerate(places)], places  # type: ignore[index]
