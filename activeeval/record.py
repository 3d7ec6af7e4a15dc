"""The record of a drawn sample: everything that its estimate needs but the grades.

The estimators of model-assisted methods need the predictions of the grade model, for the queries that
were drawn and, summed up, for the whole pool. A record holds them beside the draws table that goes to the
judges, so that rows lost on the way are noticed and nothing has to be computed twice.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.campaign import Campaign
from activeeval.design import SCHEMES, STAGES, Stage, balancing
from activeeval.errors import InputError, StateError
from activeeval.estimation import ESTIMATORS, JudgedSample, estimate
from activeeval.measures import Target, parse_measure
from activeeval.measures.target import check_sampled
from activeeval.pool import QueryPool, Rankings
from activeeval.pool.doors import segment_offsets
from activeeval.results import Estimate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FIELDS = ("words", "numbers", "draws", "draw_probs", "slots", "query_probs", "item_probs", "population", "balancing")
_WORDS = ("scheme", "estimator", "stage")
_POSITIVE = float(np.finfo(np.float64).tiny)
_ROUNDING = 1e-6


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
    cost, pool_size, open_share : float
        As in `JudgedSample`.
    is_census : bool
    scale : int or None
        Largest grade of the scale that was sampled for; None where it is open.
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
    open_share: float
    is_census: bool
    scale: int | None = None

    @property
    def max_grade(self) -> int | None:
        """The largest grade that an item can have; None where the scale is open."""
        known = [top for top in (self.stage.max_grade, self.scale) if top is not None]
        return min(known, default=None)

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
        certain = self._certain()[queries]
        if self.is_census:
            queries, probs, certain = np.arange(self.n_pool), np.ones(self.n_pool), np.ones(self.n_pool, dtype=np.bool_)
            totals = np.column_stack((stage.target.values(grades), np.zeros((self.n_pool, 2))))
            within, balanced = np.zeros((self.n_pool, 6)), np.empty((self.n_pool, 0))
        return JudgedSample(
            self.scheme,
            queries,
            self.query_probs[queries],
            probs,
            totals,
            within,
            certain,
            self.population,
            balanced / probs[:, None],
            self.n_pool,
            self.queries.size,
            np.unique(self.queries).size,
            np.unique(self.slots).size,
            self.cost,
            0.0 if self.is_census else self.open_share,
            self.pool_size,
        )

    def _certain(self) -> NDArray[np.bool_]:
        """Return whether each drawn query was sure to be judged whole."""
        probs = np.zeros(self.stage.offsets.size - 1)
        if self.scheme not in ("poisson", "cube"):
            return np.zeros(probs.size, dtype=np.bool_)
        probs[self.queries] = self.sampling_probs
        return self.stage.certain(probs, self.item_probs)

    def estimate(self, grades: Ints, target: str = "pool") -> Estimate:
        """Return the estimate that the grades of all drawn items make."""
        return estimate(self.sample(grades), self.estimator, self.method, target)


def covers_everything(campaign: Campaign) -> bool:
    """Return whether every item that the design can ask for, of every query of the pool, has been drawn."""
    design, draws = campaign.design, campaign.draws
    if len({draw.query for draw in draws}) < design.pool.n_queries:
        return False
    return len({z for draw in draws for z in draw.items}) == design.items.size


def record_of(campaign: Campaign, max_grade: int | None = None) -> Record:
    """Return the record of a campaign's draws.

    Parameters
    ----------
    max_grade : int, optional
        Largest grade of the scale, where neither the measure nor the grade model knows it.

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
        design.open_share,
        covers_everything(campaign),
        design.stage.max_grade if design.stage.max_grade is not None else max_grade,
    )


def to_arrays(record: Record) -> dict[str, NDArray[Any]]:
    """Return a record as arrays of numbers and text."""
    stage = record.stage
    target, pool = stage.target, stage.target.pool
    arrays: dict[str, NDArray[Any]] = {
        "words": np.array([record.method, record.scheme, record.estimator, stage.kind, record.measure]),
        "numbers": np.array(
            [
                record.n_pool,
                record.cost,
                record.pool_size,
                record.open_share,
                record.is_census,
                record.max_grade or 0,
            ],
            dtype=float,
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
        Where an array is lost or holds what it cannot, where the arrays do not fit each other.
    """
    try:
        return _from_arrays(arrays)
    except KeyError as problem:
        raise InputError(f"the record of the sample is damaged: it lacks {problem.args[0]}") from None
    except (ValueError, IndexError, TypeError, OverflowError) as problem:
        raise InputError(f"the record of the sample is damaged: {problem}") from None


def _from_arrays(arrays: dict[str, NDArray[Any]]) -> Record:
    method, scheme, estimator, kind, measure = _words(arrays["words"])
    n_pool, cost, pool_size, open_share, is_census, scale = _numbers(arrays, "numbers", (6,), 0.0).tolist()
    stage = _stage(arrays, kind, measure, int(scale))
    n_queries, n_slots = stage.offsets.size - 1, stage.items.size
    queries, counts, slots = _draws(arrays, stage, scheme)
    if n_pool < n_queries or (is_census and not (n_pool == n_queries and np.unique(slots).size == n_slots)):
        raise InputError(f"numbers say {n_pool:g} queries and census {is_census:g}, the draws say otherwise")
    if pool_size == 0:
        raise InputError("numbers must hold a positive pool size, got 0")
    return Record(
        method,
        scheme,
        estimator,
        stage,
        _probs(arrays, "query_probs", n_queries),
        _probs(arrays, "item_probs", n_slots),
        queries,
        counts,
        slots,
        _probs(arrays, "draw_probs", queries.size),
        _population(arrays, stage.is_nested, open_share),
        _numbers(arrays, "balancing", (n_queries, 4 if scheme == "cube" else 0)),
        int(n_pool),
        cost,
        pool_size,
        open_share,
        bool(is_census),
        int(scale) or None,
    )


def _words(words: NDArray[Any]) -> list[str]:
    """Return method, scheme, estimator, kind of stage and measure."""
    if words.shape != (5,) or words.dtype.kind != "U":
        raise InputError(f"words must be 5 texts, got shape {words.shape} of {words.dtype}")
    names: list[Collection[str]] = [SCHEMES, ESTIMATORS, STAGES]
    for word, known, what in zip(words[1:4].tolist(), names, _WORDS, strict=True):
        if word not in known:
            raise InputError(f"unknown {what} {word!r}")
    return [str(word) for word in words]


def _stage(arrays: dict[str, NDArray[Any]], kind: str, measure: str, scale: int) -> Stage:
    pool = QueryPool(arrays["pool.query_ids"], arrays["pool.query_offsets"], arrays["pool.item_ids"])
    rankings = [
        Rankings(pool, arrays[f"{name}.offsets"], arrays[f"{name}.items"])
        for name in ("ranking", "versus")
        if name == "ranking" or f"{name}.items" in arrays
    ]
    parsed = check_sampled(parse_measure(measure))
    target = Target(parsed.bound_to(scale) if scale else parsed, *rankings)
    items = _wholes(arrays, "stage.items", (-1,), pool.n_items - 1)
    offsets = segment_offsets(arrays["stage.offsets"], "stage.offsets", pool.n_queries, items.size)
    owners = np.repeat(np.arange(pool.n_queries), np.diff(offsets))
    if np.any(pool.item_queries[items] != owners) or np.unique(items).size != items.size:
        raise InputError("stage.items must hold items of each query, none twice")
    n_nodes, _, n_grades = np.shape(arrays["stage.nodes"]) if kind != "whole" else (0, 0, 0)
    if kind != "whole" and (n_nodes < 1 or n_grades < 2):
        raise InputError(f"stage.nodes must hold a node and two grades, got {n_nodes} and {n_grades}")
    shapes = {
        "nodes": (n_nodes, pool.n_items, n_grades),
        "node_weights": (n_nodes,),
        "gains": (n_grades,),
        "predictions": (pool.n_queries,),
        "variances": (pool.n_queries,),
    }
    values = {
        field.name: _numbers(
            arrays,
            f"stage.{field.name}",
            shapes.get(field.name, (items.size,)),
            may_be_nan=kind == "whole",
        )
        for field in fields(STAGES[kind])
        if field.name not in ("target", "offsets", "items")
    }
    for name in {"nodes", "node_weights"} & set(values):
        if np.any(values[name] < 0) or np.any(np.abs(values[name].sum(axis=-1) - 1) > _ROUNDING):
            raise InputError(f"stage.{name} must hold probabilities that sum to 1")
    return STAGES[kind](target, offsets=offsets, items=items, **values)


def _draws(arrays: dict[str, NDArray[Any]], stage: Stage, scheme: str) -> tuple[Ints, Ints, Ints]:
    """Return the query of each draw, the number of items it judges, and their places, draw by draw."""
    sizes = np.diff(stage.offsets)
    draws = _wholes(arrays, "draws", (-1, 2))
    queries, counts = np.ascontiguousarray(draws[:, 0]), np.ascontiguousarray(draws[:, 1])
    found = np.unique(queries)
    if not np.array_equal(found, np.arange(sizes.size)):
        raise InputError(f"draws must hold each of the {sizes.size} drawn queries")
    if scheme != "replacement" and found.size < queries.size:
        raise InputError(f"draws hold a query twice, which no {scheme} sample does")
    if np.any(counts > sizes[queries]) or (stage.kind == "whole" and np.any(counts != sizes[queries])):
        raise InputError("draws judge another number of items than their queries have")
    slots = _wholes(arrays, "slots", (int(counts.sum()),), stage.items.size - 1)
    starts = np.repeat(stage.offsets[queries], counts)
    if np.any(stage.slot_queries[slots] != np.repeat(queries, counts)):
        raise InputError("slots must be places of the query of their draw")
    within = np.arange(slots.size) - np.repeat(np.cumsum(counts) - counts, counts)
    if stage.is_nested and np.any(slots != starts + within):
        raise InputError("slots must run from the first place of their query on")
    of_draw = np.repeat(np.arange(counts.size), counts)
    if np.unique(np.column_stack((of_draw, slots)), axis=0).shape[0] < slots.size:
        raise InputError("slots hold a place twice in a draw")
    return queries, counts, slots


def _population(arrays: dict[str, NDArray[Any]], is_nested: bool, open_share: float) -> Floats:
    population = _numbers(arrays, "population", (3 if is_nested else 2,))
    if is_nested and (abs(population[0] - open_share) > _ROUNDING or population[2] != 0):
        begin = f"the open share, {open_share},"
        raise InputError(f"population must begin with {begin} and end with 0, got {population[0]} and {population[2]}")
    return population


def _probs(arrays: dict[str, NDArray[Any]], name: str, n: int) -> Floats:
    return _numbers(arrays, name, (n,), _POSITIVE, 1 + _ROUNDING)


def _numbers(
    arrays: dict[str, NDArray[Any]],
    name: str,
    shape: tuple[int, ...],
    least: float = -np.inf,
    most: float = np.inf,
    *,
    may_be_nan: bool = False,
) -> Floats:
    """Return an array of finite numbers between two, or of NaN alone; −1 in the shape is any length."""
    array = arrays[name]
    if array.ndim != len(shape) or any(n not in (-1, held) for n, held in zip(shape, array.shape, strict=True)):
        raise InputError(f"{name} must have shape {shape}, got {array.shape}")
    if array.dtype.kind not in "iuf":
        raise InputError(f"{name} must hold numbers, got {array.dtype}")
    values = np.ascontiguousarray(array, dtype=np.float64)
    known = values.ravel()
    if may_be_nan and np.isnan(known).all():
        return values
    bad = np.flatnonzero(~(np.isfinite(known) & (known >= least) & (known <= most)))
    if bad.size:
        raise InputError(f"{name} holds {float(known[bad[0]])!r}")
    return values


def _wholes(arrays: dict[str, NDArray[Any]], name: str, shape: tuple[int, ...], most: float = np.inf) -> Ints:
    """Return an array of whole numbers from 0 on."""
    if arrays[name].dtype.kind not in "iu":
        raise InputError(f"{name} must hold whole numbers, got {arrays[name].dtype}")
    return np.ascontiguousarray(_numbers(arrays, name, shape, 0.0, most), dtype=np.int64)
