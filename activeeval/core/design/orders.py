"""Orders: the places that may be judged, with their sampling rates and costs; independent of any measure.

At the sampling level κ, a place with rate r is judged with probability min(1, κ r).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from activeeval.core.errors import InputError
from activeeval.core.kernels import rates
from activeeval.core.kernels.bundles import OrderArrays
from activeeval.core.pool import QueryPool
from activeeval.core.types import Bools, Floats, Ints, Words, sealed

_Values = TypeVar("_Values", Words, Floats)
LEAST_RATE = 1e-6
"""Least rate of a query relative to the largest, however certain the model is: rounding excludes no query."""
_RATE_BITS = 20
"""Mantissa bits of rates. Sums depend on the order of rows in their last bits (1e-15 relative); 20 bits hide that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LargerPool:
    """Facts about the larger pool, processed in parts, that an order was gathered from for one sample.

    Attributes
    ----------
    key : int
        Key (seed) of that sample: with any other key, units would be missing.
    horizon : float
        All units of that key whose level is below this one are in the order.
    cost : float
        Cost of judging everything in the larger pool, in mean items.
    """

    key: int
    horizon: float
    cost: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Order:
    """Places to judge, query by query, with their sampling rates. A place is the position of one item.

    Attributes
    ----------
    pool : QueryPool
    offsets, items : ndarray of int64
        Start of each query's places, (n_queries + 1,), and the item at each place, (n_places,), as an index into the
        pool's items. Places that are never judged come last.
    is_nested : bool
        True if a place is judged only together with all earlier ones of its query (a prefix), False if places are
        sampled independently.
    query_probs : ndarray, shape (n_queries,)
        p(x) over the whole pool.
    costs, overheads : ndarray
        Cost of judging each place, and of opening each query, in mean items (the mean item of the pool costs 1).
    query_rates : ndarray, shape (n_queries,)
        r: query x is in the sample of level κ with probability min(1, κ r). 0 if nothing can be judged, infinite
        if items are sampled independently and opening the query is free.
    place_rates : ndarray, shape (n_places,)
        r_i ≤ r: place i is in the sample of level κ with probability min(1, κ r_i). 0 if the label is known or cannot
        matter.
    query_hashes, hashes : ndarray of uint64
        Hashes of the ids of queries and places; places that are judged together share one.
    larger_pool : LargerPool or None
        Set if the order holds only what one sample of a larger pool needs.
    slopes, floors : ndarray, shape (n_places,), or None
        For a nested order: p sqrt(variance / cost) and the least rate of each place, from which `place_rates` are
        computed by making them non-increasing along a query.
    dead : ndarray of bool, shape (n_places,), or None
        Places whose labels can no longer change a value: they are sampled as others, cost nothing and are not judged.
    """

    pool: QueryPool
    offsets: Ints
    items: Ints
    is_nested: bool
    query_probs: Floats
    costs: Floats
    overheads: Floats
    query_rates: Floats
    place_rates: Floats
    query_hashes: Words
    hashes: Words
    larger_pool: LargerPool | None = None
    slopes: Floats | None = None
    floors: Floats | None = None
    dead: Bools | None = None

    def check_key(self, key: np.uint64) -> None:
        """Raise InputError if the order was taken from a larger pool for a sample with another key (seed)."""
        if self.larger_pool is not None and int(key) != self.larger_pool.key:
            raise InputError(
                f"these queries were gathered for the key {self.larger_pool.key}: another key needs further queries"
            )

    def check_whole(self) -> None:
        """Raise InputError if the order was taken from a larger pool, and so lacks what other samples need."""
        if self.larger_pool is not None:
            raise InputError("this order was gathered for one sample of a larger pool: other levels cannot be computed")

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.offsets.size - 1

    @cached_property
    def place_queries(self) -> Ints:
        """Query of every place (item in judging order), shape (n_places,)."""
        return np.repeat(np.arange(self.n_queries), np.diff(self.offsets))

    @cached_property
    def numbers(self) -> Ints:
        """Position of every place (item in judging order) within its query, from 0, shape (n_places,)."""
        return np.arange(self.items.size) - self.offsets[self.place_queries]

    @property
    def kernel_arrays(self) -> OrderArrays:
        """Arrays from which kernels compute the random levels of places (items in judging order)."""
        arrays = (self.offsets, self.query_rates, self.place_rates)
        return OrderArrays(*arrays, self.query_hashes, self.hashes, self.overheads, self.costs, self.is_nested)

    @property
    def is_open(self) -> Bools:
        """True for each query that has a place (item in judging order) to judge."""
        return self.query_rates > 0

    @cached_property
    def cost(self) -> float:
        """Cost of judging everything that is wanted, in mean items (the pool's mean item costs 1)."""
        if self.larger_pool is not None:
            return self.larger_pool.cost
        return float(self.costs[self.place_rates > 0].sum() + self.overheads.sum())

    def cost_of(self, queries: Ints, counts: Ints, places: Ints) -> float:
        """Compute the cost in mean items (cost 1) of judging ``places``, ``counts[k]`` of them in query ``queries[k]``.

        The order of the sum is that of simulated samples, so that both agree in the last bit.
        """
        rows = np.repeat(np.arange(queries.size), counts)
        prices = np.zeros(queries.size)
        np.add.at(prices, rows, self.costs[places])
        return float(np.cumsum(np.append(0.0, prices + self.overheads[queries]))[-1])

    @cached_property
    def dearest_units(self) -> Floats:
        """Cost of the most expensive possible unit (what is judged at once) of each query, in mean items, (n_queries,).

        With overhead a unit may hold all items of a query, without it a single one. The mean item costs 1.
        """
        owners, costs = self.place_queries, np.where(self.place_rates > 0, self.costs, 0.0)
        together = np.bincount(owners, costs, minlength=self.n_queries) + self.overheads
        alone = np.zeros(self.n_queries)
        np.maximum.at(alone, owners, self.unit_costs)
        return np.where(np.isinf(self.query_rates), alone, together)

    @cached_property
    def two_dearest(self) -> float:
        """Joint cost of the two most expensive units possible, in mean items (the mean item costs 1).

        Without overhead two places (items in judging order) of one query may be the first two units.
        """
        is_free = np.isinf(self.query_rates)
        alone = self.unit_costs[is_free[self.place_queries] & (self.place_rates > 0)]
        units = np.concatenate((self.dearest_units[~is_free], alone))
        return float(np.partition(units, max(units.size - 2, 0))[-2:].sum())

    @cached_property
    def joined(self) -> Bools:
        """True for each place that is judged together with the one before it, as both have one number, (n_places,)."""
        queries, hashes, joined = self.place_queries, self.hashes, np.zeros(self.items.size, dtype=np.bool_)
        joined[1:] = (hashes[1:] == hashes[:-1]) & (queries[1:] == queries[:-1])
        return sealed(joined, np.bool_)

    @cached_property
    def unit_costs(self) -> Floats:
        """Cost, in mean items, of each place to judge with the place joined to it; 0 for others, shape (n_places,)."""
        costs = np.where(self.place_rates > 0, self.costs, 0.0)
        second = np.flatnonzero(self.joined)
        costs[second - 1] += costs[second]
        costs[second] = 0.0
        return costs

    def expected_cost(self, level: float) -> float:
        """Compute the expected cost, in mean items, of a sample that judges items of rate r with min(1, level · r)."""
        self.check_whole()
        arrays = (self.offsets, self.query_rates, self.place_rates, self.overheads, self.costs)
        return float(rates.expected_cost(*arrays, self.is_nested, level))

    def level_for(self, cost: float) -> float:
        """Compute the sampling level with this expected cost in mean items (cost 1); infinite if it pays for all."""
        self.check_whole()
        if cost >= self.cost:
            return np.inf
        arrays = (self.offsets, self.query_rates, self.place_rates, self.overheads, self.costs)
        return float(rates.level_of_cost(*arrays, self.is_nested, cost))

    def planned_variance(self, level: float, matters: Bools) -> float:
        """Compute the variance at a level up to a constant factor, if the model behind the rates is right.

        As rates r are sqrt(variance / cost), except for their floors, r² cost stands for the variance: the result is
        Σ r² cost (1/a − 1) over places (items), and over the opening of their queries, with inclusion probabilities a.

        Parameters
        ----------
        matters : array of bool, shape (n_places,)
            True for the places to count.
        """
        self.check_whole()
        pi, a = self.inclusion_probs(level)
        turned_to = np.bincount(self.place_queries, matters, minlength=self.n_queries) > 0
        parts = ((self.place_rates, self.costs, a, matters), (self.query_rates, self.overheads, pi, turned_to))
        total = 0.0
        for of_unit, costs, chances, counts in parts:
            varies = counts & (chances > 0) & np.isfinite(of_unit)
            total += float((of_unit[varies] ** 2 * costs[varies] * (1.0 / chances[varies] - 1.0)).sum())
        return total

    def inclusion_probs(self, level: float) -> tuple[Floats, Floats]:
        """Compute the probabilities that each query is opened, (n_queries,), and each place (item) judged, (n_places,).

        They are min(1, κ r) at level κ with rates r; 0 where nothing is judged.
        """
        with np.errstate(invalid="ignore"):
            pi, a = (np.minimum(1.0, level * of_unit) for of_unit in (self.query_rates, self.place_rates))
        return np.nan_to_num(pi), np.nan_to_num(a)


def shared(values: _Values, joined: Bools | None) -> _Values:
    """Give each place flagged in ``joined`` the value (hash or rate) of the place before it; shapes (n_places,)."""
    if joined is None:
        return values
    out = values.copy()
    out[joined] = values[np.flatnonzero(joined) - 1]
    return out


def rounded(rates_of_units: Floats) -> Floats:
    """Round rates to `_RATE_BITS` bits of mantissa, which preserves ties."""
    mantissas, exponents = np.frexp(rates_of_units)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissas, _RATE_BITS)), exponents - _RATE_BITS))
