"""The record of a drawn sample: everything that its estimate needs but the grades.

The estimators of model-assisted methods need the predictions of the grade model, for the queries that
were drawn and, summed up, for the whole pool. A record holds them beside the draws table that goes to the
judges, so that rows lost on the way are noticed and nothing has to be computed twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.campaign import Campaign
from activeeval.design import STAGES, Stage, balancing
from activeeval.errors import InputError, StateError
from activeeval.estimation import JudgedSample, estimate
from activeeval.measures import Target, parse_measure
from activeeval.measures.target import check_sampled
from activeeval.pool import QueryPool, Rankings
from activeeval.results import Estimate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FIELDS = ("words", "numbers", "draws", "draw_probs", "slots", "query_probs", "item_probs", "population", "balancing")


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """A drawn sample.

    Attributes
    ----------
    method, scheme, estimator : str
    stage : Stage
        Of the drawn queries alone.
    query_probs : ndarray, shape (n_drawn_queries,)
        p over the whole pool.
    item_probs : ndarray
        G of every place of the stage's items.
    queries, counts : ndarray of int64, shape (n_draws,)
        The query of each draw, by its number among the drawn queries, and how many of its items it judges.
    slots : ndarray of int64
        The places of these items, draw by draw.
    sampling_probs : ndarray, shape (n_draws,)
    population, balancing : ndarray
        As in `JudgedSample`; balancing has a row for each drawn query.
    n_pool : int
    cost, pool_size : float
    is_census : bool
    """

    method: str
    scheme: str
    estimator: str
    stage: Stage
    query_probs: Floats
    item_probs: Floats
    queries: Ints
    counts: Ints
    slots: Ints
    sampling_probs: Floats
    population: Floats
    balancing: Floats
    n_pool: int
    cost: float
    pool_size: float
    is_census: bool

    @property
    def measure(self) -> str:
        """The measure that was sampled for."""
        return str(self.stage.target.measure)

    def sample(self, grades: Ints) -> JudgedSample:
        """Return the judged sample that the grades of all drawn items make.

        Parameters
        ----------
        grades : ndarray of int64
            Of the items of the record's pool; −1 earns nothing.
        """
        stage = self.stage
        deepest = np.zeros(stage.target.pool.n_queries, dtype=np.int64)
        np.maximum.at(deepest, self.queries, self.counts)
        totals, within = stage.observer(grades, self.item_probs, deepest)(self.queries, self.counts, self.slots)
        queries, probs, balanced = self.queries, self.sampling_probs, self.balancing[self.queries]
        if self.is_census:
            queries, probs = np.arange(self.n_pool), np.ones(self.n_pool)
            totals = np.column_stack((stage.target.values(grades), np.zeros((self.n_pool, 2))))
            within, balanced = np.zeros((self.n_pool, 6)), np.empty((self.n_pool, 0))
        return JudgedSample(
            self.scheme,
            queries,
            self.query_probs[queries],
            probs,
            totals,
            within,
            self.population,
            balanced / probs[:, None],
            self.n_pool,
            self.queries.size,
            np.unique(self.queries).size,
            np.unique(self.slots).size,
            self.cost,
            self.is_census,
            self.pool_size,
        )

    def estimate(self, grades: Ints, target: str = "pool") -> Estimate:
        """Return the estimate that the grades of all drawn items make."""
        return estimate(self.sample(grades), self.estimator, self.method, target)


def record_of(campaign: Campaign) -> Record:
    """Return the record of a campaign's draws.

    Raises
    ------
    StateError
        Where the campaign has drawn nothing.
    """
    design, draws = campaign.design, campaign.draws
    if not draws:
        raise StateError("no query has been drawn, so there is nothing to record")
    drawn = np.array([draw.query for draw in draws], dtype=np.int64)
    kept, queries = np.unique(drawn, return_inverse=True)
    stage, slots = design.stage.restricted_to(kept)
    place = np.full(design.pool.n_items, -1, dtype=np.int64)
    place[design.items[slots]] = np.arange(slots.size)
    judged = np.array([z for draw in draws for z in draw.items], dtype=np.int64)
    p = design.query_probs
    return Record(
        design.name,
        design.scheme,
        design.estimator,
        stage,
        p[kept],
        design.item_probs[slots],
        queries.astype(np.int64),
        np.array([draw.depth for draw in draws], dtype=np.int64),
        place[judged],
        np.array([draw.query_prob for draw in draws]),
        design.population,
        balancing(design)[kept] if design.scheme == "cube" else np.empty((kept.size, 0)),
        design.pool.n_queries,
        campaign.spent,
        1.0 / float(p @ p),
        kept.size == design.pool.n_queries and np.unique(judged).size == design.items.size,
    )


def to_arrays(record: Record) -> dict[str, NDArray[Any]]:
    """Return a record as arrays of numbers and text."""
    stage = record.stage
    target, pool = stage.target, stage.target.pool
    arrays: dict[str, NDArray[Any]] = {
        "words": np.array([record.method, record.scheme, record.estimator, stage.kind, record.measure]),
        "numbers": np.array(
            [record.n_pool, record.cost, record.pool_size, record.is_census, target.measure.max_grade or 0], dtype=float
        ),
        "draws": np.column_stack((record.queries, record.counts)),
        "draw_probs": record.sampling_probs,
        "slots": record.slots,
        "query_probs": record.query_probs,
        "item_probs": record.item_probs,
        "population": record.population,
        "balancing": record.balancing,
        "pool.query_ids": pool.query_ids,
        "pool.query_offsets": pool.query_offsets,
        "pool.item_ids": pool.item_ids,
        "ranking.offsets": target.ranking.offsets,
        "ranking.items": target.ranking.items,
    }
    if target.versus is not None:
        arrays |= {"versus.offsets": target.versus.offsets, "versus.items": target.versus.items}
    return arrays | {f"stage.{name}": values for name, values in stage.arrays().items()}


def from_arrays(arrays: dict[str, NDArray[Any]]) -> Record:
    """Return the record that `to_arrays` made arrays of.

    Raises
    ------
    InputError
        Where the arrays do not fit each other.
    """
    try:
        return _from_arrays(arrays)
    except (KeyError, ValueError, IndexError, TypeError) as problem:
        raise InputError(f"the record of the sample is damaged: {problem}") from None


def _from_arrays(arrays: dict[str, NDArray[Any]]) -> Record:
    method, scheme, estimator, kind, measure = arrays["words"].tolist()
    n_pool, cost, pool_size, is_census, max_grade = arrays["numbers"].tolist()
    pool = QueryPool(arrays["pool.query_ids"], arrays["pool.query_offsets"], arrays["pool.item_ids"])
    rankings = [
        Rankings(pool, arrays[f"{name}.offsets"], arrays[f"{name}.items"])
        for name in ("ranking", "versus")
        if f"{name}.items" in arrays
    ]
    parsed = check_sampled(parse_measure(measure))
    target = Target(parsed.bound_to(int(max_grade)) if max_grade else parsed, *rankings)
    prefix = "stage."
    fields = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
    return Record(
        method,
        scheme,
        estimator,
        STAGES[kind](target, **fields),
        arrays["query_probs"],
        arrays["item_probs"],
        arrays["draws"][:, 0],
        arrays["draws"][:, 1],
        arrays["slots"],
        arrays["draw_probs"],
        arrays["population"],
        arrays["balancing"],
        int(n_pool),
        cost,
        pool_size,
        bool(is_census),
    )
