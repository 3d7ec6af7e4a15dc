"""Rankings of a pool's items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.checks import numbers
from activeeval.core.errors import InputError
from activeeval.core.pool.id_checks import segment_offsets
from activeeval.core.pool.queries import QueryPool
from activeeval.core.types import Ints, frozen, sealed_here


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Rankings:
    """One ranked list for each query of a pool, best item first; lists can be partial or empty.

    Parameters
    ----------
    pool : QueryPool
    offsets : array of int, shape (n_queries + 1,)
        Start of each query's list in `items`.
    items : array of int, shape (offsets[-1],)
        Positions on the pool's flat item axis, best first.

    Raises
    ------
    InputError
        If offsets or items are not whole numbers that fit the pool, or an item belongs to another query or occurs
        twice.

    Examples
    --------
    >>> from activeeval import QueryPool
    >>> pool = QueryPool(["q1", "q2"], [0, 2, 5], list("ababc"))
    >>> ranking = Rankings.from_ids(pool, {"q1": ["b", "a"], "q2": ["c"]})
    >>> ranking.items, ranking.lengths
    (array([1, 0, 4]), array([2, 1]))
    >>> Rankings.from_scores(pool, [0.1, 0.9, 3, 2, np.nan]).items
    array([1, 0, 2, 3])
    """

    pool: QueryPool
    offsets: Ints
    items: Ints

    def __init__(self, pool: QueryPool, offsets: ArrayLike, items: ArrayLike) -> None:
        """Check the lists and store them read-only.

        The list of query q is ``items[offsets[q]:offsets[q + 1]]``, positions on the pool's item axis, best first.
        Raises InputError if an item belongs to another query or occurs twice, or the offsets do not fit.
        """
        from activeeval.core.kernels import checks

        items = np.asarray(items)
        if items.ndim != 1 or (items.size and items.dtype.kind not in "iu"):
            raise InputError(f"items must be a vector of positions, got dtype {items.dtype}, shape {items.shape}")
        offsets = segment_offsets(offsets, "offsets", pool.n_queries, items.size)
        object.__setattr__(self, "pool", pool)
        object.__setattr__(self, "offsets", frozen(offsets))
        object.__setattr__(self, "items", frozen(items.astype(np.int64, copy=False)))
        # kind 1: an item of another query; 2: an item for the second time; 0: all is well
        query, place, kind = checks.first_bad_ranked_item(self.pool.query_offsets, self.offsets, self.items)
        if kind:
            name, rank = self.pool.query_texts[query], place - offsets[query] + 1
            if kind == 1:
                raise InputError(
                    f"query {name!r} ranks item position {self.items[place]} at rank {rank}, not one of its own"
                )
            item = self.pool.item_texts[self.items[place]]
            raise InputError(f"query {name!r} ranks item {item!r} twice, again at rank {rank}")

    @classmethod
    def from_scores(cls, pool: QueryPool, scores: ArrayLike) -> Rankings:
        """Rank items by score descending, ties by item id descending (as trec_eval does).

        Parameters
        ----------
        scores : array of float, shape (n_items,)
            NaN marks an item that is not ranked.

        Raises
        ------
        InputError
            If the shape differs or a score is infinite.

        Examples
        --------
        >>> pool = QueryPool(["q", "r"], [0, 3, 4], ["a", "b", "c", "a"])
        >>> ranking = Rankings.from_scores(pool, [1.0, 2.0, 2.0, np.nan])
        >>> ranking.items.tolist(), ranking.lengths.tolist()
        ([2, 1, 0], [3, 0])
        """
        from activeeval.core.kernels import orders

        values = numbers(scores, "scores", (pool.n_items,))
        infinite = np.flatnonzero(np.isinf(values))
        if infinite.size:
            raise InputError(f"scores must be finite, got {values[infinite[0]]} at {pool.place(int(infinite[0]))}")
        offsets, items = np.empty(pool.n_queries + 1, dtype=np.int64), np.empty(pool.n_items, dtype=np.int64)
        scored = sealed_here(np.ascontiguousarray(values).view())
        ids = pool.item_texts
        n = orders.rank_by_score(pool.query_offsets, scored, ids.data, ids.offsets, offsets, items)
        return cls(pool, offsets, sealed_here(items)[:n])

    @classmethod
    def from_ids(cls, pool: QueryPool, lists: Mapping[str, Sequence[str]]) -> Rankings:
        """Build rankings from lists of item ids, best first; queries without a list stay unranked.

        Raises
        ------
        InputError
            If the pool lacks a query or an item, or an item is ranked twice; names it.

        Examples
        --------
        >>> pool = QueryPool(["q", "r"], [0, 2, 4], ["a", "b", "a", "b"])
        >>> Rankings.from_ids(pool, {"r": ["b", "a"]}).items.tolist()
        [3, 2]
        """
        positions = pool.item_positions()
        ranked: list[list[int]] = [[] for _ in range(pool.n_queries)]
        query_index = {q: i for i, q in enumerate(pool.query_texts)}
        for query, ids in lists.items():
            if str(query) not in query_index:
                raise InputError(f"the ranking names query {str(query)!r}, which the pool does not hold")
            q = query_index[str(query)]
            for item in ids:
                if (q, str(item)) not in positions:
                    raise InputError(f"query {str(query)!r} ranks item {str(item)!r}, which the pool does not hold")
                ranked[q].append(positions[q, str(item)])
        offsets = np.concatenate(([0], np.cumsum([len(items) for items in ranked])))
        return cls(pool, offsets, np.array([item for items in ranked for item in items], dtype=np.int64))

    @classmethod
    def empty(cls, pool: QueryPool) -> Rankings:
        """Build rankings with an empty list for every query."""
        return cls(pool, np.zeros(pool.n_queries + 1, dtype=np.int64), np.empty(0, dtype=np.int64))

    def restricted_to(self, pool: QueryPool, items: ArrayLike) -> Rankings:
        """Restrict the lists to the queries and items of a `QueryPool.subset` ``pool``.

        `items` are the positions of its items in this ranking's pool, as `subset` returns them.
        """
        chosen = np.asarray(items, dtype=np.int64)
        rank = np.zeros(self.pool.n_items, dtype=np.int64)
        rank[self.items] = self.ranks
        ranked = np.flatnonzero(rank[chosen] > 0)
        queries = pool.item_queries[ranked]
        order = ranked[np.lexsort((rank[chosen][ranked], queries))]
        counts = np.bincount(queries, minlength=pool.n_queries)
        return Rankings(pool, np.concatenate(([0], np.cumsum(counts))), order)

    def cut_at(self, depth: int) -> Rankings:
        """Cut every list after ``depth`` ranks.

        Examples
        --------
        >>> pool = QueryPool(["q"], [0, 3], ["a", "b", "c"])
        >>> Rankings.from_ids(pool, {"q": ["b", "a", "c"]}).cut_at(2).items
        array([1, 0])
        """
        lengths = np.minimum(self.lengths, depth)
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1] - offsets[:-1], lengths)
        return Rankings(self.pool, offsets, self.items[places])

    @property
    def lengths(self) -> Ints:
        """Number of ranked items of each query, shape (n_queries,)."""
        return np.diff(self.offsets)

    @property
    def ranks(self) -> Ints:
        """1-based rank of every entry of `items`, shape (items.size,)."""
        return np.arange(self.items.size) - np.repeat(self.offsets[:-1], self.lengths) + 1

    def without(self, fraction: float, rng: np.random.Generator | int | None = None) -> Rankings:
        """Remove a fraction of the items of every list at random, to simulate an index update.

        A list of n items loses ``⌊fraction · n + u⌋`` items with u uniform, so that lists of every
        length lose that fraction on average. Raises InputError unless the fraction lies in [0, 1].

        Examples
        --------
        >>> pool = QueryPool(["q"], [0, 4], ["a", "b", "c", "d"])
        >>> Rankings.from_ids(pool, {"q": ["a", "b", "c", "d"]}).without(0.5, rng=0).lengths
        array([2])
        """
        if not 0 <= fraction <= 1:
            raise InputError(f"the fraction to remove must lie in [0, 1], got {fraction}")
        rng = np.random.default_rng(rng)
        n_removed = np.floor(fraction * self.lengths + rng.random(self.pool.n_queries)).astype(np.int64)
        queries = np.repeat(np.arange(self.pool.n_queries), self.lengths)
        shuffled = np.lexsort((rng.random(self.items.size), queries))
        # the first n_removed items of each list in random order
        keep = np.ones(self.items.size, dtype=bool)
        keep[shuffled[self.ranks - 1 < n_removed[queries]]] = False
        lengths = np.bincount(queries[keep], minlength=self.pool.n_queries)
        return Rankings(self.pool, np.concatenate(([0], np.cumsum(lengths))), self.items[keep])
