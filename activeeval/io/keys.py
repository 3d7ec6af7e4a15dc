"""Keys of rows: which rows hold the same query, the same document of the same query."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from activeeval.kernels import columns_text
from activeeval.pool import QueryPool
from activeeval.pool.doors import Texts

Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def text_keys(texts: Texts, seed: int = 0) -> Keys:
    """Return a key of every text, the same for the same text in any array."""
    # always read-only, so that the kernel compiles for one type
    codes = np.ascontiguousarray(texts).view(np.uint32).reshape(texts.size, texts.dtype.itemsize // 4)
    codes.setflags(write=False)
    keys: Keys = columns_text.text_hashes(codes, seed)
    return keys


def pair_keys(owners: Ints, texts: Texts, seed: int = 0) -> Keys:
    """Return a 64-bit key of every (owner, text), shape (n,)."""
    mixed: Keys = text_keys(texts, seed) + owners.astype(np.uint64) * _GOLDEN
    keys: Keys = mixed ^ (mixed >> np.uint64(29))
    return keys


def distinct_texts(texts: Texts) -> tuple[Texts, Ints]:
    """Return the distinct texts in order of first appearance, and the index of each row's."""
    if texts.size == 0:
        return texts, np.empty(0, dtype=np.int64)
    # ids of queries come in long runs, so that few texts need a key
    starts = np.flatnonzero(np.concatenate(([True], texts[1:] != texts[:-1])))
    heads = texts[starts]
    seed = 0
    while True:
        places = columns_text.first_places(text_keys(heads, seed))
        if np.array_equal(heads[places], heads):
            break
        seed += 1
    is_first = places == np.arange(heads.size)
    index = (np.cumsum(is_first) - 1)[places].astype(np.int64)
    return heads[is_first], np.repeat(index, np.diff(starts, append=texts.size))


def first_repeated_pair(owners: Ints, texts: Texts) -> tuple[int, int] | None:
    """Return the rows of the earliest pair that comes a second time, first and second, or None."""
    seed = 0
    while True:
        places = columns_text.first_places(pair_keys(owners, texts, seed))
        again = np.flatnonzero(places != np.arange(places.size))
        if not again.size:
            return None
        same = (owners[places[again]] == owners[again]) & (texts[places[again]] == texts[again])
        if same.all():
            return int(places[again[0]]), int(again[0])
        seed += 1


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
    seed = 0
    while True:
        keys = np.concatenate((pair_keys(pool.item_queries, pool.item_ids, seed), pair_keys(owners, doc_ids, seed)))
        places = columns_text.first_places(keys)
        found = places[pool.n_items :]
        found = np.where((found < pool.n_items) & (owners >= 0), found, -1)
        held = found >= 0
        matches = (pool.item_queries[found[held]] == owners[held]) & (pool.item_ids[found[held]] == doc_ids[held])
        if matches.all() and np.array_equal(places[: pool.n_items], np.arange(pool.n_items)):
            return found.astype(np.int64)
        seed += 1
