"""Places of an order before their rates are computed: the items that may be judged, in judging order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from activeeval.core.design.orders import Order, rounded, shared
from activeeval.core.kernels import rates
from activeeval.core.pool import QueryPool, pool_hashes
from activeeval.core.types import Bools, Floats, Ints, Words


@dataclass(frozen=True, kw_only=True, eq=False)
class OrderPlaces:
    """The places of an order before their rates are computed.

    Attributes
    ----------
    offsets, items : ndarray of int64
    matters : ndarray of bool, shape (n_places,)
        True if a place is wanted: its label is unknown and can change a value. These come first in their query.
    costs, overheads : ndarray
        As in `Order`, but in the unit of the item costs; no overhead if nothing is wanted.
    hashes : (ndarray, ndarray) of uint64, or None
        Hashes of the ids of queries and items, if the pool renames them.
    joined : ndarray of bool, shape (n_places,), or None
        Places that are judged together with the place before them; None for none.
    """

    pool: QueryPool
    offsets: Ints
    items: Ints
    matters: Bools
    costs: Floats
    overheads: Floats
    hashes: tuple[Words, Words] | None = None
    joined: Bools | None = None

    @classmethod
    def of(
        cls, pool: QueryPool, offsets: Ints, items: Ints, wanted: Bools, priority: Floats | None = None
    ) -> OrderPlaces:
        """Arrange items as places of their queries: wanted ones (labels to request) first, then by descending priority.

        Parameters
        ----------
        offsets, items : ndarray of int64, shape (n_queries + 1,) and (n_places,)
            Start of each query's items in ``items``, and the items as indices into the pool's.
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
        """Return the places (items in judging order) of an order, without rates; a positive rate means wanted."""
        return cls(
            pool=order.pool,
            offsets=order.offsets,
            items=order.items,
            matters=order.place_rates > 0,
            costs=order.costs,
            overheads=order.overheads,
            joined=order.joined if order.joined.any() else None,
        )

    def all_wanted(self) -> OrderPlaces:
        """Return the same places (items in judging order), all of them wanted."""
        return OrderPlaces.of(self.pool, self.offsets, self.items, np.ones(self.pool.n_items, dtype=np.bool_))

    @property
    def cheapest(self) -> float:
        """Cost of the cheapest place; infinite if there are no places (items in judging order)."""
        return float(self.costs.min(initial=np.inf))

    @cached_property
    def open_offsets(self) -> Ints:
        """Start of each query's wanted places (labels to request) among all wanted ones, shape (n_queries + 1,)."""
        return np.concatenate(([0], np.cumsum(self.matters)))[self.offsets]

    @cached_property
    def open_queries(self) -> Ints:
        """Query of every wanted place (a label to request), shape (n_wanted_places,)."""
        return np.repeat(np.arange(self.pool.n_queries), np.diff(self.open_offsets))

    @cached_property
    def open_costs(self) -> Floats:
        """Cost of every wanted place (a label to request), in the unit of the item costs, (n_wanted_places,)."""
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
        """Build the order whose rates are p times ``of_query`` (n_queries,) and ``of_open`` (n_wanted_places,).

        Parameters
        ----------
        query_probs : ndarray, shape (n_queries,)
            p over the whole pool.
        unit : float
            Cost of the mean item of the whole pool; costs of the order are multiples of it.
        least : ndarray, shape (n_wanted_places,), optional
            Least rates of wanted places if ``is_nested``: a place is judged only with all before it in its query.
        """
        slopes, floors = np.zeros((2, self.items.size))
        slopes[self.matters] = query_probs[self.open_queries] * of_open
        has_any = np.diff(self.open_offsets) > 0
        query_rates = np.where(has_any, query_probs * of_query, 0.0)
        if not is_nested:
            query_rates[has_any & (self.overheads == 0)] = np.inf  # opening is free: the query is always opened
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
            place_rates=rounded(shared(place_rates, self.joined)),
            query_hashes=query_hashes,
            hashes=shared(item_hashes[self.items], self.joined),
            slopes=slopes if is_nested else None,
            floors=floors if is_nested else None,
        )

    def rates_unseen(self, query_rates: Floats, slopes: Floats, floors: Floats) -> Floats:
        """Compute the planned rates (n_places,) of an order that judges prefixes, before any label is seen.

        They are p sqrt(variance / cost), ``slopes``, or ``floors`` if larger (n_places,), and never rise along a query.
        """
        n, wanted = self.items.size, np.diff(self.open_offsets)
        place_rates, no_looks = np.empty(n), np.zeros(n, dtype=np.bool_)
        stops = np.full(wanted.size, n + 1)  # no query stops; without looks, ratios and shares are not read
        rates.go_on(
            *(self.offsets, wanted, wanted, query_rates, slopes, floors, slopes, slopes, no_looks),
            *(stops, np.zeros(n), place_rates, stops.copy()),
        )
        return place_rates
