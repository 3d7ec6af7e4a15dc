"""Lookup of rows by query and document: repeated rows, distinct texts, positions in a pool."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from activeeval.core.kernels.text import keys
from activeeval.core.pool import QueryPool
from activeeval.core.pool.texts import Texts, offsets_of
from activeeval.core.types import Ints


def first_places(owners: Ints, texts: Texts) -> Ints:
    """Find for every row the first row with the same owner and text, shape (n,).

    ``owners`` (n,) are whole numbers, for example indices of queries.
    """
    order, offsets = segments(owners, int(owners.max(initial=-1)) + 1)
    grouped = texts.plain() if order is None else texts[order]
    firsts: Ints = keys.first_places(offsets, grouped.data, grouped.offsets)
    if order is None:
        return firsts
    places = np.empty(owners.size, dtype=np.int64)
    places[order] = order[firsts]
    return places


def places_of(owners: Ints, texts: Texts, sought_owners: Ints, sought_texts: Texts) -> Ints:
    """Find each sought (owner, text) pair among the given pairs: the index of the first match, or -1 (n_sought,)."""
    if not owners.size:
        return np.full(sought_owners.size, -1, dtype=np.int64)
    n_owners = int(max(owners.max(initial=-1), sought_owners.max(initial=-1))) + 1
    (order, offsets), (sought_order, sought_offsets) = segments(owners, n_owners), segments(sought_owners, n_owners)
    grouped = texts.plain() if order is None else texts[order]
    sought = sought_texts.plain() if sought_order is None else sought_texts[sought_order]
    places = places_within_segments(offsets, grouped, sought_offsets, sought)
    if order is not None:
        places = np.append(order, -1)[places]  # from positions in the grouped order to rows
    if sought_order is not None:
        sorted_places, places = places, np.empty_like(places)
        places[sought_order] = sorted_places
    return places


def places_within_segments(offsets: Ints, texts: Texts, sought_offsets: Ints, sought_texts: Texts) -> Ints:
    """Find each sought text among the texts of its segment: the index of the first match, or -1, shape (n_sought,).

    Segment q has the rows ``offsets[q]`` to ``offsets[q + 1] - 1`` of the texts, and with ``sought_offsets`` likewise
    of the sought ones.
    """
    places: Ints = keys.places_of(
        offsets, texts.data, texts.offsets, sought_offsets, sought_texts.data, sought_texts.offsets
    )
    return places


def segments(owners: Ints, n_owners: int) -> tuple[Ints | None, Ints]:
    """Group rows by owner; return ``(order, offsets)``.

    The order sorts the rows, or is None if they are grouped already; ``offsets[q]`` is then the start of owner q's
    rows. Rows with a negative owner come before all others.
    """
    offsets = np.empty(n_owners + 1, dtype=np.int64)
    is_ordered = keys.segment_owners(owners, offsets)
    return None if is_ordered else np.argsort(owners, kind="stable"), offsets


def distinct_texts(texts: Texts) -> tuple[Texts, Ints]:
    """Find the distinct texts in order of first appearance; return ``(distinct texts, index of each row's text)``."""
    names, codes = distinct_runs(texts)
    return names, np.repeat(codes, texts.repeats)


def distinct_runs(texts: Texts) -> tuple[Texts, Ints]:
    """Find the distinct texts in order of first appearance; return ``(distinct texts, index of each stored text)``.

    Adjacent equal rows of `Texts` can share one stored text, so the index can be shorter than the rows.
    """
    runs = Texts(texts.data, texts.offsets)
    places = keys.first_places(np.array([0, runs.size]), runs.data, runs.offsets)
    is_first = places == np.arange(runs.size)
    index: Ints = (np.cumsum(is_first) - 1)[places]
    return (runs if is_first.all() else runs[is_first]), index


def first_repeated_pair(query_ids: Texts, doc_ids: Texts) -> tuple[int, int] | None:
    """Find the earliest repeated (query, document) pair; return its first and second row, or None."""
    names, codes = distinct_runs(query_ids)
    order, offsets = segments_of_runs(codes, query_ids.repeats, names.size)
    if order is None:
        return first_repeated(offsets, doc_ids.plain())
    places = first_places(np.repeat(codes, query_ids.repeats), doc_ids)
    again = np.flatnonzero(places != np.arange(places.size))
    return (int(places[again[0]]), int(again[0])) if again.size else None


def first_repeated(offsets: Ints, texts: Texts) -> tuple[int, int] | None:
    """Find the earliest text repeated within its segment; return its first and second row, or None.

    Segment q has the rows ``offsets[q]`` to ``offsets[q + 1] - 1``.
    """
    repeat, before = keys.first_repeat(offsets, texts.data, texts.offsets)
    return (int(before), int(repeat)) if repeat >= 0 else None


def segments_of_runs(owners: Ints, repeats: Ints, n_owners: int) -> tuple[Ints | None, Ints]:
    """Group rows by owner, given once for each run of rows; return ``(order, offsets)``, as `segments` does.

    ``owners`` and ``repeats`` (n_runs,) are the owner and the number of rows of each run. The order sorts the rows, or
    is None if they are grouped already; ``offsets[q]`` is then the start of owner q's rows.
    """
    if owners.size and owners[0] >= 0 and (np.diff(owners) > 0).all():
        counts = np.zeros(n_owners, dtype=np.int64)
        counts[owners] = repeats
        return None, offsets_of(counts)
    return segments(np.repeat(owners, repeats), n_owners)


def follows_its_query(query_ids: Texts) -> NDArray[np.bool_]:
    """Flag every row whose preceding row has the same query, shape (n,)."""
    _, codes = distinct_runs(query_ids)
    starts = np.arange(codes.size + 1) if query_ids.starts is None else query_ids.starts
    follows = np.ones(query_ids.size, dtype=np.bool_)
    follows[:1] = False
    follows[starts[1:-1]] = codes[1:] == codes[:-1]
    return follows


def places_within(codes: Ints) -> Ints:
    """Number the rows that have the same code from 1 in order of appearance, shape (n,)."""
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes)
    starts = np.cumsum(counts) - counts
    places = np.empty(codes.size, dtype=np.int64)
    places[order] = np.arange(codes.size) - np.repeat(starts, counts) + 1
    return places


def positions_in(pool: QueryPool, query_ids: Texts, doc_ids: Texts) -> Ints:
    """Find the position of each (query, document) on the pool's item axis, shape (n,); -1 if it is not in the pool."""
    names, codes = distinct_texts(query_ids)
    index = {name: i for i, name in enumerate(pool.query_texts)}
    owners = np.array([index.get(name, -1) for name in names.tolist()], dtype=np.int64)[codes]
    return places_of(pool.item_queries, pool.item_texts, owners, doc_ids)
