"""Grid search of ranker parameters by a measure on validation queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from activeeval.core.errors import InputError
from activeeval.core.measures import Measure
from activeeval.core.pool import QueryPool, Rankings
from activeeval.core.types import Ints
from activeeval.rankers.input_checks import training_items
from activeeval.rankers.linear import StagedRanker

Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]
Judged = tuple[ArrayLike, ArrayLike, ArrayLike]
"""Features, grades and query ids of the same rows."""


class Scorer(Protocol):
    """Model that scores items."""

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Compute the score of each row of X (n, n_features), shape (n,); higher is better."""
        ...


class Ranker(Scorer, Protocol):
    """Scorer that can be fitted to judged items."""

    def fit(self, X: ArrayLike, grades: ArrayLike, query_ids: ArrayLike) -> Self:
        """Learn from judged items: a row of X, a grade from 0 and the query of each, shape (n,)."""
        ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """Parameters, and the mean of the measure over the validation queries."""

    params: Mapping[str, Any]
    value: float


@dataclass(frozen=True, slots=True)
class Choice:
    """The ranker with the best parameters, and the values of all candidates.

    Attributes
    ----------
    ranker : ranker
        Fitted on the training rows.
    params : dict
    table : tuple of Candidate
        Every candidate.
    """

    ranker: Any
    params: Mapping[str, Any]
    table: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True, eq=False)
class JudgedQueries:
    """Judged rows sorted by query, and a measure to evaluate rankings of them."""

    features: NDArray[Any]
    grades: Ints
    pool: QueryPool
    measure: Measure

    @classmethod
    def of(cls, rows: Judged, measure: Measure) -> Self:
        """Validate judged rows (features, grades, query ids) and build their pool.

        Raise InputError if `query_ids` is None.
        """
        features, grades, codes = training_items(*rows)
        if codes is None:
            raise InputError("query_ids must name the query of each validation row")
        order = np.argsort(codes, kind="stable")
        offsets = np.concatenate(([0], np.cumsum(np.bincount(codes))))
        # zero-padded row numbers, so that their order as texts is that of the rows
        numbers = np.char.zfill(np.arange(codes.size).astype(str), len(str(codes.size)))
        pool = QueryPool(np.arange(offsets.size - 1), offsets, numbers)
        return cls(features[order], grades[order], pool, measure)

    def value(self, ranker: Scorer) -> float:
        """Compute the mean of the measure over the queries, for the ranking by a scorer."""
        ranking = Rankings.from_scores(self.pool, ranker.predict(self.features))
        return float(self.measure.score(self.pool, self.grades, ranking).mean())


def choose(ranker: Ranker, grid: Grid, *, train: Judged, validation: Judged, measure: Measure) -> Choice:
    """Fit a ranker with every combination of a parameter grid, and return the best on the validation queries.

    For rankers fitted in steps, a single fit serves all values of `n_iter`.

    Parameters
    ----------
    ranker : ranker
        Not modified.
    grid : dict of parameter → values, or a sequence of such dicts
    train, validation : tuple of (X, grades, query_ids)
        Validation items of equal scores are ranked last row first: for rows in the order of document ids, as in
        `Rankings.from_scores`.
    measure : measure
        Its mean over the validation queries decides; in a tie, the first candidate wins. Queries without a relevant
        item have the value that the measure defines for them.

    Raises
    ------
    InputError
        On an empty grid, and on the errors of the ranker and the measure.

    Examples
    --------
    >>> from activeeval import NDCG
    >>> from activeeval.rankers import RankNet
    >>> X, grades, query_ids = [[1.0, 5.0], [2.0, 1.0], [3.0, 4.0]], [1, 0, 2], ["a", "a", "a"]
    >>> rows = X, grades, query_ids
    >>> choice = choose(RankNet(), {"n_iter": [1, 3]}, train=rows, validation=rows, measure=NDCG(cutoff=10))
    >>> choice.params, choice.table[1]
    ({'n_iter': 1}, Candidate(params={'n_iter': 3}, value=1.0))
    """
    held_out = JudgedQueries.of(validation, measure)
    table: list[Candidate] = []
    best: tuple[Any, Candidate] | None = None
    for params, fitted in _fits(ranker, grid, train):
        table.append(Candidate(params, held_out.value(fitted)))
        if best is None or table[-1].value > best[1].value:
            best = fitted, table[-1]
    if best is None:
        raise InputError("the grid holds no candidate")
    return Choice(best[0], best[1].params, tuple(table))


def _fits(ranker: Ranker, grid: Grid, train: Judged) -> Iterator[tuple[Mapping[str, object], Ranker]]:
    """Yield parameters and the ranker fitted with them; all values of `n_iter` come from one fit.

    InputError is raised if a parameter of the grid has no values.
    """
    for part in [grid] if isinstance(grid, Mapping) else grid:
        for name, values in part.items():
            if len(values) == 0:
                raise InputError(f"the grid holds no candidate: there is no value of {name!r}")
        stages = sorted(part["n_iter"]) if isinstance(ranker, StagedRanker) and "n_iter" in part else []
        others = {name: values for name, values in part.items() if not (stages and name == "n_iter")}
        for params in ParameterGrid(others):
            last = {"n_iter": stages[-1]} if stages else {}
            fitted = clone(ranker).set_params(**params, **last).fit(*train)
            if not stages:
                yield params, fitted
            for n_iter in stages:
                yield params | {"n_iter": n_iter}, fitted.after(n_iter)
