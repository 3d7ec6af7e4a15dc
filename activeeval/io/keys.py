"""Keys of rows: which rows hold the same query, the same document of the same query."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from activeeval.kernels import keys
from activeeval.pool import QueryPool
from activeeval.pool.doors import Texts, text_codes

Ints = NDArray[np.int64]


def first_places(owners: Ints, texts: Texts) -> Ints:
    """Return for every row the first place that holds the same owner and text, shape (n,)."""
    order, offsets = _segments(owners, int(owners.max(initial=-1)) + 1)
    if order is None:
        places: Ints = keys.first_places(offsets, text_codes(texts))
        return places
    places = np.empty(owners.size, dtype=np.int64)
    places[order] = order[keys.first_places(offsets, text_codes(texts[order]))]
    return places


def places_of(owners: Ints, texts: Texts, sought_owners: Ints, sought_texts: Texts) -> Ints:
    """Return the first place of each sought pair among the pairs (owner, text), -1 where it is not there."""
    if not owners.size:
        return np.full(sought_owners.size, -1, dtype=np.int64)
    n_owners = int(max(owners.max(initial=-1), sought_owners.max(initial=-1))) + 1
    (order, offsets), (sought_order, sought_offsets) = _segments(owners, n_owners), _segments(sought_owners, n_owners)
    held = texts if order is None else texts[order]
    sought = sought_texts if sought_order is None else sought_texts[sought_order]
    places: Ints = keys.places_of(offsets, text_codes(held), sought_offsets, text_codes(sought))
    if order is not None:
        places = np.append(order, -1)[places]
    if sought_order is not None:
        found, places = places, np.empty_like(places)
        places[sought_order] = found
    return places


def _segments(owners: Ints, n_owners: int) -> tuple[Ints | None, Ints]:
    """Return the order that brings the rows of each owner together, None where they are, and where each starts."""
    offsets = np.empty(n_owners + 1, dtype=np.int64)
    is_ordered = keys.segment_owners(owners, offsets)
    return None if is_ordered else np.argsort(owners, kind="stable"), offsets


def distinct_texts(texts: Texts) -> tuple[Texts, Ints]:
    """Return the distinct texts in order of first appearance, and the index of each row's."""
    if texts.size == 0:
        return texts, np.empty(0, dtype=np.int64)
    # ids of queries come in long runs, so that few texts need a key
    starts = np.flatnonzero(keys.starts_a_run(text_codes(texts)))
    heads = texts[starts]
    places = keys.first_places(np.array([0, heads.size]), text_codes(heads))
    is_first = places == np.arange(heads.size)
    index = (np.cumsum(is_first) - 1)[places].astype(np.int64)
    return heads[is_first], np.repeat(index, np.diff(starts, append=texts.size))


def first_repeated_pair(owners: Ints, texts: Texts) -> tuple[int, int] | None:
    """Return the rows of the earliest pair that comes a second time, first and second, or None."""
    order, offsets = _segments(owners, int(owners.max(initial=-1)) + 1)
    if order is None:
        found, before = keys.first_repeat(offsets, text_codes(texts))
        return (int(before), int(found)) if found >= 0 else None
    places = first_places(owners, texts)
    again = np.flatnonzero(places != np.arange(places.size))
    return (int(places[again[0]]), int(again[0])) if again.size else None


def places_within(codes: Ints) -> Ints:
    """Return the 1-based place of each row among the rows of its code, shape (n,)."""
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes)
    starts = np.cumsum(counts) - counts
    places = np.empty(codes.size, dtype=np.int64)
    places[order] = np.arange(codes.size) - np.repeat(starts, counts) + 1
    return places


def positions_in(pool: QueryPool, query_ids: Texts, doc_ids: Texts) -> Ints:
    """Return the position on the pool's item axis of each (query, document), -1 where it holds none."""
    names, codes = distinct_texts(query_ids)
    index = {name: i for i, name in enumerate(pool.query_ids.tolist())}
    owners = np.array([index.get(name, -1) for name in names.tolist()], dtype=np.int64)[codes]
    return places_of(pool.item_queries, pool.item_ids, owners, doc_ids)
