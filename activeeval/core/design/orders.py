"""Orders: what may be judged, at which rate each place comes, what it costs. An order knows no measure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from activeeval.core.errors import InputError
from activeeval.core.kernels import rates
from activeeval.core.kernels.bundles import OrderArrays
from activeeval.core.pool import QueryPool, pool_hashes
from activeeval.core.types import Bools, Floats, Ints, Words

LEAST_RATE = 1e-6
"""However sure a model is, no query's rate is below a millionth of the largest: rounding excludes nobody."""
_RATE_BITS = 20
"""Sums follow the order of rows, which moves their last bits (1e-15 of them): with 20 bits rates, and levels, stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LargerPool:
    """What an order that was gathered of a larger pool knows of that pool.

    Attributes
    ----------
    key : int
        Of the sample that it was gathered for: with any other key, units would be missing.
    horizon : float
        All units of that key below this level are here.
    cost : float
        What judging everything in the larger pool costs, in mean items.
    """

    key: int
    horizon: float
    cost: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Order:
    """Places to judge, query by query, with the rates at which they come.

    Attributes
    ----------
    pool : QueryPool
    offsets, items : ndarray of int64
        Places of each query, as positions on the flat item axis. Those that are never judged stand last.
    is_nested : bool
        Whether a place comes after the place before it, so that a prefix is judged; else places come on their own.
    query_probs : ndarray, shape (n_queries,)
        p(x) over the whole pool.
    costs, overheads : ndarray
        Of judging each place, and of turning to each query, in mean items of the pool.
    query_rates : ndarray, shape (n_queries,)
        r: query x is in the sample of level κ with probability min(1, κ r). 0 where nothing can be judged, infinite
        where items come on their own and turning to the query is free.
    place_rates : ndarray, shape (n_places,)
        r_i ≤ r; 0 where the label is known, or cannot matter.
    query_hashes, hashes : ndarray of uint64
        Of the ids of queries and places.
    larger_pool : LargerPool or None
        Of an order that holds only what one sample of a larger pool needs.
    slopes, floors : ndarray, shape (n_places,), or None
        Of a nested order what its rates are made of before they are made never to rise along a query: sqrt(V/λ),
        pooled, and least rates.
    dead : ndarray of bool, shape (n_places,), or None
        Places whose labels can no longer change a value: they come as others do, cost nothing and are not judged.
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
        """Raise InputError where the order was gathered for the sample of another key."""
        if self.larger_pool is not None and int(key) != self.larger_pool.key:
            raise InputError(
                f"these queries were gathered for the key {self.larger_pool.key}: another's are not all here"
            )

    def check_whole(self) -> None:
        """Raise InputError where the order does not hold all that may be judged."""
        if self.larger_pool is not None:
            raise InputError("this order holds what one sample needs of a larger pool: it says nothing of other levels")

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.offsets.size - 1

    @cached_property
    def place_queries(self) -> Ints:
        """The query of every place."""
        return np.repeat(np.arange(self.n_queries), np.diff(self.offsets))

    @cached_property
    def numbers(self) -> Ints:
        """The number of every place within its query, from 0."""
        return np.arange(self.items.size) - self.offsets[self.place_queries]

    @property
    def kernel_arrays(self) -> OrderArrays:
        """What kernels find levels on."""
        arrays = (self.offsets, self.query_rates, self.place_rates)
        return OrderArrays(*arrays, self.query_hashes, self.hashes, self.overheads, self.costs, self.is_nested)

    @property
    def is_open(self) -> Bools:
        """Whether each query has something to judge."""
        return self.query_rates > 0

    @cached_property
    def cost(self) -> float:
        """What judging everything costs, in mean items."""
        if self.larger_pool is not None:
            return self.larger_pool.cost
        return float(self.costs[self.place_rates > 0].sum() + self.overheads.sum())

    def cost_of(self, queries: Ints, counts: Ints, places: Ints) -> float:
        """Return what judging some places costs, in mean items, query by query added up as replications do."""
        rows = np.repeat(np.arange(queries.size), counts)
        prices = np.zeros(queries.size)
        np.add.at(prices, rows, self.costs[places])
        return float(np.cumsum(np.append(0.0, prices + self.overheads[queries]))[-1])

    @cached_property
    def dearest_units(self) -> Floats:
        """The dearest unit that can occur of each query, in mean items, shape (n_queries,).

        All places of a query may come together, with its overhead; where turning to it is free each comes alone.
        """
        owners, costs = self.place_queries, np.where(self.place_rates > 0, self.costs, 0.0)
        together = np.bincount(owners, costs, minlength=self.n_queries) + self.overheads
        alone = np.zeros(self.n_queries)
        np.maximum.at(alone, owners, costs)
        return np.where(np.isinf(self.query_rates), alone, together)

    @cached_property
    def two_dearest(self) -> float:
        """What the two dearest units that may come at any level cost together, in mean items.

        Where turning to a query is free two of its places may be the first two of all.
        """
        is_free = np.isinf(self.query_rates)
        alone = self.costs[is_free[self.place_queries] & (self.place_rates > 0)]
        units = np.concatenate((self.dearest_units[~is_free], alone))
        return float(np.partition(units, max(units.size - 2, 0))[-2:].sum())

    def expected_cost(self, level: float) -> float:
        """Return what the Poisson sample of a level costs on average, in mean items."""
        self.check_whole()
        arrays = (self.offsets, self.query_rates, self.place_rates, self.overheads, self.costs)
        return float(rates.expected_cost(*arrays, self.is_nested, level))

    def level_for(self, cost: float) -> float:
        """Return the level whose sample costs so much on average; infinite where that pays for everything."""
        self.check_whole()
        if cost >= self.cost:
            return np.inf
        arrays = (self.offsets, self.query_rates, self.place_rates, self.overheads, self.costs)
        return float(rates.level_of_cost(*arrays, self.is_nested, cost))

    def planned_variance(self, level: float, matters: Bools) -> float:
        """Return what the variance at a level is proportional to, were all as the rates suppose.

        Rates are sqrt(variance / cost) but for floors, so that is Σ r² cost (1/a − 1) over places, and over turning to
        their queries.

        Parameters
        ----------
        matters : array of bool, shape (n_places,)
            The places that count.
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
        """Return the probability of every query, and of every place, to be judged at a level.

        π and a, min(1, κ r); 0 where nothing is judged.
        """
        with np.errstate(invalid="ignore"):
            pi, a = (np.minimum(1.0, level * of_unit) for of_unit in (self.query_rates, self.place_rates))
        return np.nan_to_num(pi), np.nan_to_num(a)


@dataclass(frozen=True, kw_only=True, eq=False)
class OrderPlaces:
    """What an order is made of before its rates are known.

    Attributes
    ----------
    offsets, items : ndarray of int64
    matters : ndarray of bool, shape (n_places,)
        Whether the label of a place is wanted; such places come first in their query.
    costs, overheads : ndarray
        As in `Order`, but in the unit of the item costs; no overhead where nothing is wanted.
    hashes : (ndarray, ndarray) of uint64, or None
        Of the ids of queries and items, where the pool has other names for them.
    """

    pool: QueryPool
    offsets: Ints
    items: Ints
    matters: Bools
    costs: Floats
    overheads: Floats
    hashes: tuple[Words, Words] | None = None

    @classmethod
    def of(
        cls, pool: QueryPool, offsets: Ints, items: Ints, wanted: Bools, priority: Floats | None = None
    ) -> OrderPlaces:
        """Return the places of items, wanted ones first, those of a higher priority the earlier.

        Parameters
        ----------
        wanted : ndarray of bool, shape (n_items,)
        priority : ndarray, shape (n_places,), optional
            By default places keep their order.
        """
        owners = np.repeat(np.arange(pool.n_queries), np.diff(offsets))
        last = np.zeros(items.size) if priority is None else -priority
        order = np.lexsort((last, ~wanted[items], owners))
        matters = wanted[items[order]]
        has_any = np.bincount(owners, matters, minlength=pool.n_queries) > 0
        return cls(
            pool=pool,
            offsets=offsets,
            items=items[order],
            matters=matters,
            costs=pool.item_costs[items[order]],
            overheads=np.where(has_any, pool.query_costs, 0.0),
        )

    @classmethod
    def of_order(cls, order: Order) -> OrderPlaces:
        """Return the places of an order, those that may be judged wanted; costs are in mean items."""
        return cls(
            pool=order.pool,
            offsets=order.offsets,
            items=order.items,
            matters=order.place_rates > 0,
            costs=order.costs,
            overheads=order.overheads,
        )

    def all_wanted(self) -> OrderPlaces:
        """Return the same places, all of them wanted."""
        return OrderPlaces.of(self.pool, self.offsets, self.items, np.ones(self.pool.n_items, dtype=np.bool_))

    @property
    def cheapest(self) -> float:
        """What the cheapest place costs; infinite where there is none."""
        return float(self.costs.min(initial=np.inf))

    @cached_property
    def open_offsets(self) -> Ints:
        """Where the wanted places of each query begin among all wanted places, shape (n_queries + 1,)."""
        return np.concatenate(([0], np.cumsum(self.matters)))[self.offsets]

    @cached_property
    def open_queries(self) -> Ints:
        """The query of every wanted place."""
        return np.repeat(np.arange(self.pool.n_queries), np.diff(self.open_offsets))

    @cached_property
    def open_costs(self) -> Floats:
        """The cost of every wanted place."""
        return self.costs[self.matters]

    def order(
        self,
        query_probs: Floats,
        of_query: Floats,
        of_open: Floats,
        unit: float,
        *,
        is_nested: bool,
        least: Floats | None = None,
    ) -> Order:
        """Return the order whose rates are p times what is given for queries and for wanted places.

        Parameters
        ----------
        unit : float
            Cost of the mean item of the whole pool.
        least : ndarray, shape (n_wanted_places,), optional
            Of a nested order the least rates of wanted places; its rates do not rise along a query.
        """
        slopes, floors = np.zeros((2, self.items.size))
        slopes[self.matters] = query_probs[self.open_queries] * of_open
        has_any = np.diff(self.open_offsets) > 0
        query_rates = np.where(has_any, query_probs * of_query, 0.0)
        if not is_nested:
            query_rates[has_any & (self.overheads == 0)] = np.inf
            place_rates = slopes
        else:
            floors[self.matters] = 0.0 if least is None else query_probs[self.open_queries] * least
            place_rates = self.rates_unseen(query_rates, slopes, floors)
        query_hashes, item_hashes = self.hashes or pool_hashes(self.pool)
        return Order(
            pool=self.pool,
            offsets=self.offsets,
            items=self.items,
            is_nested=is_nested,
            query_probs=query_probs,
            costs=self.costs / unit,
            overheads=self.overheads / unit,
            query_rates=rounded(query_rates),
            place_rates=rounded(place_rates),
            query_hashes=query_hashes,
            hashes=item_hashes[self.items],
            slopes=slopes if is_nested else None,
            floors=floors if is_nested else None,
        )

    def rates_unseen(self, query_rates: Floats, slopes: Floats, floors: Floats) -> Floats:
        """Return the rates of places that no label has a part in, shape (n_places,)."""
        n, wanted = self.items.size, np.diff(self.open_offsets)
        place_rates, nothing = np.empty(n), np.zeros(n, dtype=np.bool_)
        stops = np.full(wanted.size, n + 1)
        rates.go_on(
            *(self.offsets, wanted, wanted, query_rates, slopes, floors, slopes, slopes, nothing),
            *(stops, np.zeros(n), place_rates, stops.copy()),
        )
        return place_rates


def rounded(rates_of_units: Floats) -> Floats:
    """Return rates with `_RATE_BITS` bits; none that was as large as another is now smaller."""
    mantissas, exponents = np.frexp(rates_of_units)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissas, _RATE_BITS)), exponents - _RATE_BITS))
