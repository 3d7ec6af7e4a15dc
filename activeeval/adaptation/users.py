"""Simulated users whose preferences differ from judges' grades, and their click logs.

A user who examines item z clicks it with probability

    a_z = least + (most − least) / (1 + exp(−s (t_z − y_max/2))),    s = 4 / y_max,
    t_z = y_z + Σ_f shift_f · x̃_zf + noise · ε_z,

with y_z the judges' grade, x̃ features standardised over the pool, and ε standard normal and common to all users. With
no shift and no noise, users' taste equals the judges' grades. The click model decides which positions are examined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import fsum, sqrt
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, ndtri

from activeeval.core.checks import numbers, whole_number
from activeeval.core.errors import InputError
from activeeval.core.pool import PoolGrades, QueryPool, Rankings, Seed, hashed_uniforms, key_of, pool_hashes
from activeeval.core.types import Floats, Ints
from activeeval.formats.tables.clicks import ClickLog

_STEEPNESS = 4.0
"""Steepness of attraction over the scale of grades: the lowest grade lies at 12 % of the way from least to most, the
highest at 88 %, so that shifts beyond either end still have an effect."""


class ClickModel(Protocol):
    """Click model: which positions of a list users examine."""

    def click_probs(self, attractions: ArrayLike) -> Floats:
        """Compute the click probability of every position, from attractions in list order on the last axis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionBased:
    """Examine position k with probability k^−eta, independently of other positions: P(click) = k^−eta · a_k.

    Examples
    --------
    >>> PositionBased(eta=1.0).click_probs([0.6, 0.6, 0.6])
    array([0.6, 0.3, 0.2])
    """

    eta: float = 1.0

    def __post_init__(self) -> None:
        """Raise InputError unless eta, the exponent of the position, is a finite number from 0 on."""
        _check_range(self.eta, "eta", 0.0, np.inf)

    def click_probs(self, attractions: ArrayLike) -> Floats:
        """Compute the click probability of every position, from attractions in list order on the last axis."""
        values = np.asarray(attractions, dtype=np.float64)
        return values * np.arange(1, values.shape[-1] + 1) ** -float(self.eta)


@dataclass(frozen=True, slots=True, kw_only=True)
class CascadeModel:
    """Examine a list from the top, with a chance to stop after each item.

    A user continues after item k with probability a_k·after_click + (1 − a_k)·after_skip, so that
    P(click at k) = a_k Π_{i<k} (a_i·after_click + (1 − a_i)·after_skip). By default a visit ends exactly at its first
    click.

    Examples
    --------
    >>> CascadeModel().click_probs([0.5, 0.5, 0.5])
    array([0.5  , 0.25 , 0.125])
    """

    after_click: float = 0.0
    after_skip: float = 1.0

    def __post_init__(self) -> None:
        """Raise InputError unless the probabilities of going on are from 0 to 1."""
        for name in ("after_click", "after_skip"):
            _check_range(getattr(self, name), name, 0.0, 1.0)

    def click_probs(self, attractions: ArrayLike) -> Floats:
        """Compute the click probability of every position, from attractions in list order on the last axis."""
        values = np.asarray(attractions, dtype=np.float64)
        goes_on = values * self.after_click + (1 - values) * self.after_skip
        examined = np.ones_like(values)
        np.cumprod(goes_on[..., :-1], axis=-1, out=examined[..., 1:])
        return values * examined


@dataclass(frozen=True, slots=True, kw_only=True)
class UserPopulation:
    """Simulated users whose taste is the judges' grades, shifted by features; the module has the equation.

    Attributes
    ----------
    shifts : mapping of int to float
        Column of the features → shift of the taste, in grades, per standard deviation of the feature.
    noise : float
        Standard deviation, in grades, of the part of the taste that no feature explains.
    least, most : float
        Attraction (click probability of an examined item) far below and far above the scale of grades.

    Raises
    ------
    InputError
        If a number is out of range.

    Examples
    --------
    >>> pool = QueryPool(["q"], [0, 3], ["a", "b", "c"])
    >>> users, judgments = UserPopulation(shifts={0: 0.5}), PoolGrades(pool, [2, 1, 0])
    >>> users.tastes(judgments, [[-1.0], [0.0], [1.0]]).round(2).tolist()
    [1.39, 1.0, 0.61]
    >>> UserPopulation().attractions(judgments).round(3).tolist()
    [0.707, 0.41, 0.113]
    """

    shifts: Mapping[int, float] = field(default_factory=dict)
    noise: float = 0.0
    # the best results of navigational queries are clicked in about 80 % of visits, irrelevant ones in a few per cent
    least: float = 0.02
    most: float = 0.8

    def __post_init__(self) -> None:
        """Raise InputError at the first parameter that is out of range."""
        for column, shift in self.shifts.items():
            whole_number(column, "a column of features", 0)
            _check_range(shift, f"the shift of feature {column}", -np.inf, np.inf)
        _check_range(self.noise, "noise", 0.0, np.inf)
        _check_range(self.least, "least", 0.0, 1.0)
        _check_range(self.most, "most", self.least, 1.0)

    def tastes(self, judgments: PoolGrades, features: ArrayLike | None = None, rng: Seed = None) -> Floats:
        """Compute users' taste t for every item, in grades, shape (n_items,).

        Parameters
        ----------
        judgments : PoolGrades
            Every item must be judged.
        features : array of float, shape (n_items, n_features), optional
            Required with shifts. They are standardised over all items of the pool; a feature that is constant within a
            query shifts the whole query.
        rng : Generator, SeedSequence, int or None
            Random state of the noise; an item's noise depends only on its id and the seed.

        Raises
        ------
        InputError
            At an unjudged item, a missing feature value, or a feature that does not exist or is constant.
        """
        pool = judgments.pool
        unjudged = np.flatnonzero(~judgments.is_judged)
        if unjudged.size:
            raise InputError(f"{pool.place(int(unjudged[0]))} is not judged, expected a grade for every item")
        tastes = judgments.grades.astype(np.float64)
        for column, shift in sorted(self.shifts.items()):
            tastes += shift * _standardised(pool, features, int(column))
        if self.noise:
            tastes += self.noise * ndtri(hashed_uniforms(int(key_of(rng)), pool_hashes(pool)[1], 1)[0])
        return tastes

    def attractions(self, judgments: PoolGrades, features: ArrayLike | None = None, rng: Seed = None) -> Floats:
        """Compute the click probability a of every item when examined, shape (n_items,).

        Every item must be judged; `features` and `rng` serve the shifts and the noise of the `tastes`. Raise InputError
        for an unjudged item, or a missing or constant feature.
        """
        top = max(judgments.max_grade, 1)
        middle = self.tastes(judgments, features, rng) - top / 2
        return np.asarray(self.least + (self.most - self.least) * expit(_STEEPNESS / top * middle))


@dataclass(frozen=True, slots=True, kw_only=True)
class ListImpressions:
    """Number of visits to the lists, and the orders in which the lists are shown.

    Attributes
    ----------
    n_visits : float
        Expected visits of all queries together; query q has a Poisson number of mean n_visits · p(q).
    depth : int
        Positions of a list that are shown.
    shuffled : float
        Share of the visits with these documents in a random order.
    n_orders : int
        Number of equally likely random orders of a query; visits of the same order are drawn together.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    n_visits: float
    depth: int = 10
    shuffled: float = 0.0
    n_orders: int = 100

    def __post_init__(self) -> None:
        """Raise InputError at the first parameter that is out of range."""
        _check_range(self.n_visits, "n_visits", 0.0, 1e15)
        _check_range(self.shuffled, "shuffled", 0.0, 1.0)
        for name in ("depth", "n_orders"):
            whole_number(getattr(self, name), name, 1)


def simulate_clicks(
    ranking: Rankings, attractions: ArrayLike, model: ClickModel, visits: ListImpressions, rng: Seed = None
) -> ClickLog:
    """Draw the aggregated click log of users who are shown a ranking.

    Clicks at different positions are drawn independently, with the click model's probabilities: the log holds sums over
    visits, not single visits. A query's counts depend only on its id, its list and the seed.

    Parameters
    ----------
    ranking : Rankings
        The lists shown; p(q) is that of its pool. Queries without a list have no visits.
    attractions : array of float, shape (n_items,)
        Click probability of each item when examined, as from `UserPopulation.attractions`.
    model : ClickModel
        `PositionBased` or `CascadeModel`.
    visits : ListImpressions
        Number of visits, positions shown, and share of the visits with a random order.
    rng : Generator, SeedSequence, int or None
        Seed of the visits and clicks.

    Returns
    -------
    ClickLog
        One row for every document and position with an impression.

    Raises
    ------
    InputError
        At the first attraction outside [0, 1].

    Examples
    --------
    >>> pool = QueryPool(["q"], [0, 2], ["a", "b"])
    >>> ranking = Rankings.from_ids(pool, {"q": ["b", "a"]})
    >>> log = simulate_clicks(ranking, [0.5, 0.5], PositionBased(), ListImpressions(n_visits=1e6), rng=0)
    >>> log.doc_ids.tolist(), (log.clicks / log.impressions).round(2).tolist()
    (['b', 'a'], [0.5, 0.25])
    """
    pool = ranking.pool
    chances = numbers(attractions, "attractions", (pool.n_items,))
    bad = np.flatnonzero(~((chances >= 0) & (chances <= 1)))
    if bad.size:
        raise InputError(f"attractions must lie in [0, 1], got {chances[bad[0]]} at {pool.place(int(bad[0]))}")
    parts = [np.empty((4, 0), np.int64), *_logs(ranking, chances, model, visits, int(key_of(rng)))]
    items, positions, impressions, clicks = np.concatenate(parts, axis=1)
    return ClickLog(
        pool.query_texts[pool.item_queries[items]], pool.item_texts[items], positions, impressions, clicks, "simulated"
    )


def _logs(
    ranking: Rankings, attractions: Floats, model: ClickModel, visits: ListImpressions, key: int
) -> Iterator[Ints]:
    """Yield the counts of every query with a list, shape (4, n_rows): item, position from 1, impressions and clicks.

    `attractions`, shape (n_items,), are click probabilities of examined items, `visits` has the number of visits and
    the positions shown; `key` is the random key of the simulation.
    """
    hashes = pool_hashes(ranking.pool)[0]
    top = ranking.cut_at(visits.depth)
    for query in np.flatnonzero(top.lengths).tolist():
        random = np.random.default_rng([key, int(hashes[query])])
        items = top.items[top.offsets[query] : top.offsets[query + 1]]
        n_visits = random.poisson(visits.n_visits * ranking.pool.query_probs[query])
        places, impressions, clicks = _counts(attractions[items], model, visits, int(n_visits), random)
        documents, columns = places
        yield np.stack((items[documents], columns + 1, impressions, clicks))


def _counts(
    attractions: Floats, model: ClickModel, visits: ListImpressions, n_visits: int, random: np.random.Generator
) -> tuple[tuple[Ints, Ints], Ints, Ints]:
    """Draw the counts of one query with `n_visits` visits.

    `attractions`, shape (n,), are in the order of its list. Return places (document, column) with impressions, as two
    arrays, their impressions and their clicks.
    """
    n = attractions.size
    n_shuffled = int(random.binomial(n_visits, visits.shuffled))
    # orders in which the list is shown, shape (n_orders, n), and the number of visits with each
    orders, times = np.arange(n)[None, :], np.array([n_visits - n_shuffled])
    if n_shuffled:
        random_orders = random.permuted(np.tile(orders, (visits.n_orders, 1)), axis=1)
        orders = np.concatenate((orders, random_orders))
        shares = np.full(visits.n_orders, 1 / visits.n_orders)
        times = np.concatenate((times, random.multinomial(n_shuffled, shares)))
    # a product of probabilities may pass 1 by its rounding
    chances = np.minimum(model.click_probs(attractions[orders]), 1.0)
    clicks = random.binomial(times[:, None], chances)
    counts = np.zeros((2, n, n), dtype=np.int64)  # impressions and clicks, by document and position
    columns = np.broadcast_to(np.arange(n), orders.shape)
    np.add.at(counts[0], (orders, columns), times[:, None])
    np.add.at(counts[1], (orders, columns), clicks)
    places = np.nonzero(counts[0])
    return (places[0], places[1]), counts[0][places], counts[1][places]


def _standardised(pool: QueryPool, features: ArrayLike | None, column: int) -> Floats:
    """Standardise a column of features over the items of a pool, shape (n_items,).

    InputError is raised if the column is missing, constant or not finite.
    """
    if features is None:
        raise InputError(f"taste depends on feature {column}, but there are no features")
    matrix = np.asarray(features)
    if matrix.ndim != 2 or matrix.shape[0] != pool.n_items:
        raise InputError(f"features must have shape ({pool.n_items}, n_features), got {matrix.shape}")
    if column >= matrix.shape[1]:
        raise InputError(f"taste depends on feature {column}, but there are {matrix.shape[1]}, counted from 0")
    values = numbers(matrix[:, column], f"feature {column}", (pool.n_items,))
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise InputError(f"feature {column} must be finite, got {values[bad[0]]} at {pool.place(int(bad[0]))}")
    if values.min() == values.max():
        raise InputError(f"taste depends on feature {column}, which is {values[0]} of every item")
    # exact sums, so that the order of the items does not matter
    centred = values - fsum(values) / values.size
    return np.asarray(centred / sqrt(fsum(centred**2) / values.size))


def _check_range(value: float, name: str, least: float, most: float) -> None:
    """Raise InputError unless a value is a finite number from ``least`` to ``most``."""
    try:
        is_valid = bool(np.isfinite(value)) and least <= value <= most
    except TypeError:
        is_valid = False
    if not is_valid:
        span = f"from {least:g} to {most:g}" if np.isfinite(most) else ("" if np.isinf(least) else f"from {least:g} on")
        raise InputError(f"{name} must be a finite number {span}".rstrip() + f", got {value!r}")
