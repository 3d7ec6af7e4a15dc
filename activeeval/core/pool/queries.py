"""The pool of queries and their items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.core.checks import numbers
from activeeval.core.errors import InputError, shown
from activeeval.core.pool.draws import QueryDraw
from activeeval.core.pool.id_checks import as_texts, segment_offsets
from activeeval.core.pool.texts import Texts
from activeeval.core.types import Floats, Ints, frozen, sealed_here

MOST_COST_RATIO = 1e15
"""Largest ratio between item costs: beyond it, the smaller costs vanish in sums with the larger ones."""
_LEAST_COST, _MOST_COST = 1e-100, 1e100
"""Between these bounds, squares and sums of costs and ratios of variances to costs neither overflow nor vanish."""


@dataclass(frozen=True, slots=True, eq=False, init=False)
class QueryPool:
    """A pool of queries and the items that can be judged for each.

    Parameters
    ----------
    query_ids : array of str or int, shape (n_queries,)
        Unique; whole numbers become text.
    query_offsets : array of int, shape (n_queries + 1,)
        Start of each query's items on the flat item axis. A query needs at least one item.
    item_ids : array of str or int, shape (n_items,), or None
        Unique within a query. None numbers the items of each query from 1.
    item_costs : array of float, shape (n_items,), optional
        Cost of judging each item, positive; 1 by default.
    query_costs : array of float, shape (n_queries,), optional
        Overhead paid once for each opened query, not negative; 0 by default.
    query_probs : array of float, shape (n_queries,), optional
        The query distribution p(x), positive, summing to 1; uniform by default.
    draw : QueryDraw, optional
        Sampling of the queries from a search log, if they were sampled.

    Attributes
    ----------
    query_texts, item_texts : Texts
        The ids in compact form; `query_ids` and `item_ids` convert them to arrays.
    given_costs : ndarray of float64, shape (n_items,), or None
        None if no costs were given, until `item_costs` is first read: scoring needs no costs.

    Raises
    ------
    InputError
        Names the first invalid position.

    Examples
    --------
    >>> pool = QueryPool(["q1", "q2"], [0, 2, 5], ["a", "b", "a", "b", "c"])
    >>> pool.n_queries, pool.n_items
    (2, 5)
    """

    query_texts: Texts
    query_offsets: Ints
    item_texts: Texts
    given_costs: Floats | None
    query_costs: Floats
    query_probs: Floats
    draw: QueryDraw | None

    def __init__(
        self,
        query_ids: ArrayLike | Texts,
        query_offsets: ArrayLike,
        item_ids: ArrayLike | Texts | None = None,
        item_costs: ArrayLike | None = None,
        query_costs: ArrayLike | None = None,
        query_probs: ArrayLike | None = None,
        draw: QueryDraw | None = None,
    ) -> None:
        """Check the columns and store them read-only; raise InputError at the first invalid position.

        Items of query q are ``query_offsets[q]`` to ``query_offsets[q + 1] - 1``. By default items are numbered from 1
        in each query, cost 1, queries have no overhead (``query_costs``) and the same probability (``query_probs``).
        """
        queries = as_texts(query_ids, "query_ids").plain()
        if queries.size == 0:
            raise InputError("the pool is empty: query_ids holds no query")
        items = None if item_ids is None else as_texts(item_ids, "item_ids").plain()
        total = None if items is None else items.size
        offsets = segment_offsets(query_offsets, "query_offsets", queries.size, total)
        _check_queries(queries, offsets)
        items = _numbered(offsets) if items is None else _checked_items(items, queries, offsets)
        freeze = object.__setattr__
        freeze(self, "query_texts", queries)
        freeze(self, "query_offsets", frozen(offsets))
        freeze(self, "item_texts", items)
        freeze(self, "given_costs", None if item_costs is None else frozen(self._checked_costs(item_costs)))
        freeze(self, "query_costs", frozen(self._query_costs(query_costs)))
        freeze(self, "query_probs", frozen(self._query_probs(query_probs)))
        if draw is not None and draw.strata.size != queries.size:
            raise InputError(f"draw must have {queries.size} queries, got {draw.strata.size}")
        freeze(self, "draw", draw)

    @property
    def query_ids(self) -> NDArray[Any]:
        """Ids of the queries as an array of text, shape (n_queries,); see `Texts.array`."""
        return self.query_texts.array()

    @property
    def item_ids(self) -> NDArray[Any]:
        """Ids of the items as an array of text, shape (n_items,); see `Texts.array`."""
        return self.item_texts.array()

    @property
    def item_costs(self) -> Floats:
        """Cost of judging each item, shape (n_items,); 1 if none was given."""
        if self.given_costs is None:  # made at first use, as a pool that is only scored needs no costs
            object.__setattr__(self, "given_costs", sealed_here(np.ones(self.n_items)))
        assert self.given_costs is not None
        return self.given_costs

    @property
    def n_queries(self) -> int:
        """Number of queries, m."""
        return self.query_texts.size

    @property
    def n_items(self) -> int:
        """Number of items over all queries."""
        return self.item_texts.size

    @property
    def item_queries(self) -> Ints:
        """Index of the query that owns each item, shape (n_items,)."""
        return np.repeat(np.arange(self.n_queries), np.diff(self.query_offsets))

    def item_positions(self) -> dict[tuple[int, str], int]:
        """Map (query index, item id) to the position on the flat item axis."""
        keys = zip(self.item_queries.tolist(), self.item_texts.tolist(), strict=True)
        return {key: position for position, key in enumerate(keys)}

    def pairs_of(self, items: ArrayLike) -> list[tuple[str, str]]:
        """List (query id, item id) of items, given by their positions."""
        positions = np.asarray(items, dtype=np.int64)
        queries = self.query_texts[self.item_queries[positions]]
        return list(zip(queries.tolist(), self.item_texts[positions].tolist(), strict=True))

    def place(self, item: int) -> str:
        """Name an item, given by its position, for a message: ``item 'd7' of query 'q3'``."""
        query = int(np.searchsorted(self.query_offsets, item, side="right")) - 1
        return f"item {shown(self.item_texts[item])} of query {shown(self.query_texts[query])}"

    def replace(self, **changes: Any) -> QueryPool:
        """Copy the pool with some constructor arguments changed, such as ``query_costs=…``.

        Raises InputError if the copy is invalid.
        """
        names = ("query_offsets", "item_costs", "query_costs", "query_probs", "draw")
        ids = {"query_ids": self.query_texts, "item_ids": self.item_texts}
        return QueryPool(**(ids | {name: getattr(self, name) for name in names} | changes))

    def holds_the_same(self, other: QueryPool) -> bool:
        """Check whether another pool has the same queries and items in the same order."""
        return other is self or (
            np.array_equal(self.query_offsets, other.query_offsets)
            and self.query_texts.equals(other.query_texts)
            and self.item_texts.equals(other.item_texts)
        )

    def with_items(self, items: ArrayLike) -> QueryPool:
        """Restrict the pool to some items, given by ascending positions; raises InputError if a query keeps none."""
        chosen = np.asarray(items, dtype=np.int64)
        counts = np.bincount(self.item_queries[chosen], minlength=self.n_queries)
        offsets = np.concatenate(([0], np.cumsum(counts)))
        return self.replace(query_offsets=offsets, item_ids=self.item_texts[chosen], item_costs=self.item_costs[chosen])

    def subset(self, queries: ArrayLike) -> tuple[QueryPool, NDArray[np.int64]]:
        """Restrict the pool to some queries.

        Parameters
        ----------
        queries : array of int
            Indices of the queries to keep, in their new order. Their p(x) is rescaled to sum to 1.

        Returns
        -------
        pool : QueryPool
        items : ndarray of int64
            Positions of the new pool's items on this pool's item axis.
        """
        chosen = np.asarray(queries, dtype=np.int64)
        lengths = np.diff(self.query_offsets)[chosen]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        items = np.arange(offsets[-1]) + np.repeat(self.query_offsets[chosen] - offsets[:-1], lengths)
        probs = self.query_probs[chosen]
        part = QueryPool(
            self.query_texts[chosen],
            offsets,
            self.item_texts[items],
            self.item_costs[items],
            self.query_costs[chosen],
            probs / probs.sum(),
            None if self.draw is None else self.draw.of(chosen),
        )
        return part, items

    @property
    def cost_unit(self) -> str:
        """Unit of costs: ``judgments`` if all items cost the same and queries have no overhead, else ``mean items``.

        Examples
        --------
        >>> QueryPool(["q"], [0, 2]).cost_unit, QueryPool(["q"], [0, 2], query_costs=[5.0]).cost_unit
        ('judgments', 'mean items')
        """
        is_alike = not self.query_costs.any() and self.item_costs.min() == self.item_costs.max()
        return "judgments" if is_alike else "mean items"

    def _checked_costs(self, values: ArrayLike) -> Floats:
        """Check item costs and return them; raise InputError unless they are positive and their sums are accurate."""
        costs = numbers(values, "item_costs", (self.n_items,))
        bad = np.flatnonzero(~((costs > 0) & np.isfinite(costs)))
        if bad.size:
            raise InputError(f"item_costs must be positive, got {costs[bad[0]]} at {self.place(int(bad[0]))}")
        bad = np.flatnonzero((costs < _LEAST_COST) | (costs > _MOST_COST))
        if bad.size:
            bounds = f"must lie between {_LEAST_COST:g} and {_MOST_COST:g}"
            raise InputError(f"item_costs {bounds}, got {costs[bad[0]]} at {self.place(int(bad[0]))}")
        if costs.size and costs.min() < costs.max() / MOST_COST_RATIO:
            place = self.place(int(costs.argmin()))
            raise InputError(
                f"item_costs must lie within a factor of 1e15, got {costs.min()} at {place}, up to {costs.max()}"
            )
        return costs

    def _query_costs(self, values: ArrayLike | None) -> Floats:
        """Check the overheads (costs of opening a query) and return them; raise InputError if one is negative.

        They are 0 by default.
        """
        if values is None:
            return np.zeros(self.n_queries)
        costs = numbers(values, "query_costs", (self.n_queries,))
        bad = np.flatnonzero(~((costs >= 0) & np.isfinite(costs)))
        if bad.size:
            query = self.query_texts[bad[0]]
            raise InputError(f"query_costs must not be negative, got {costs[bad[0]]} at query {shown(query)}")
        return costs

    def _query_probs(self, values: ArrayLike | None) -> Floats:
        """Check the query distribution and return it, uniform by default.

        Raises InputError unless all probabilities are positive and sum to 1.
        """
        if values is None:
            return np.full(self.n_queries, 1.0 / self.n_queries)
        probs = numbers(values, "query_probs", (self.n_queries,))
        bad = np.flatnonzero(~((probs > 0) & np.isfinite(probs)))
        if bad.size:
            query = self.query_texts[bad[0]]
            raise InputError(f"query_probs must be positive, got {probs[bad[0]]} at query {shown(query)}")
        if abs(probs.sum() - 1) > 1e-9:
            raise InputError(f"query_probs must sum to 1, got {probs.sum()!r}")
        return probs


def _refuse(pool: QueryPool, name: str, value: object) -> None:
    """Raise AttributeError, as the class's ``__setattr__``: a pool is immutable."""
    raise AttributeError(f"cannot assign to {name!r}: a pool is immutable, use replace()")


# the __setattr__ of a frozen dataclass with slots refers to the class before slots and fails for unknown names
QueryPool.__setattr__ = _refuse  # type: ignore[method-assign, assignment]


def _check_queries(query_ids: Texts, offsets: Ints) -> None:
    """Raise InputError for repeated query ids or a query without items."""
    from activeeval.core.kernels.text import keys

    again, _ = keys.first_repeat(np.array([0, query_ids.size]), query_ids.data, query_ids.offsets)
    if again >= 0:
        raise InputError(f"query_ids holds {shown(query_ids[again])} twice")
    empty = np.flatnonzero(np.diff(offsets) == 0)
    if empty.size:
        raise InputError(f"query {shown(query_ids[empty[0]])} has no items")


def _numbered(offsets: Ints) -> Texts:
    """Number the items of each query from 1, as the texts of their ids.

    ``offsets`` (n_queries + 1,) are the start of each query's items and their total number.
    """
    lengths = np.diff(offsets)
    names = Texts.from_list([str(number) for number in range(1, lengths.max() + 1)])
    numbered: Texts = names[np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)]
    return numbered


def _checked_items(item_ids: Texts, query_ids: Texts, offsets: Ints) -> Texts:
    """Return the item ids; raise InputError if one occurs twice in a query."""
    from activeeval.core.kernels.text import keys

    again, _ = keys.first_repeat(offsets, item_ids.data, item_ids.offsets)
    if again >= 0:
        query = int(np.searchsorted(offsets, again, side="right")) - 1
        raise InputError(f"query {shown(query_ids[query])} holds item {shown(item_ids[again])} twice")
    return item_ids
