"""Detection of duplicate query ids in a pool whose ids exceed memory.

Each partition writes its ids as sorted 128-bit digests, with the start of each bucket of them. A worker reads the ids
of one share of the buckets from every partition and searches for duplicates. A duplicate is always found; two different
ids out of 10⁹ collide once in 7 · 10²⁰ pools.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.core.errors import InputError
from activeeval.core.pool.texts import Texts
from activeeval.scale.engines import Engine
from activeeval.scale.packed_arrays import packed, unpacked
from activeeval.scale.scratch import Scratch

_MOST_AT_ONCE = 2_000_000
"""Number of ids in a worker's memory: 24 bytes each, twice that during the sort."""
_BUCKETS = 4096
"""Number of buckets, by the first bits: with 8 · 10⁹ ids a share is a single bucket."""
_ID = np.dtype([("first", np.uint64), ("second", np.uint64), ("place", np.int64)])
_HEAD = 8 * (_BUCKETS + 1)


def digests(ids: Texts) -> bytes:
    """Convert ids to bytes: the start of each bucket, then the sorted 128-bit digests, each with its position."""
    plain = ids.plain()
    data, offsets = plain.data.tobytes(), plain.offsets.tolist()
    words = b"".join(hashlib.blake2b(data[a:b], digest_size=16).digest() for a, b in pairwise(offsets))
    rows = np.empty(ids.size, dtype=_ID)
    rows["first"], rows["second"] = np.frombuffer(words, dtype=np.uint64).reshape(-1, 2).T
    rows["place"] = np.arange(ids.size)
    rows = rows[np.lexsort((rows["second"], rows["first"]))]
    buckets = (rows["first"] >> np.uint64(64 - 12)).astype(np.int64)  # the first 12 bits: 4096 buckets
    begins = np.searchsorted(buckets, np.arange(_BUCKETS + 1)).astype(np.int64)
    return begins.tobytes() + rows.tobytes()


@dataclass(frozen=True, slots=True)
class _DuplicateSearch:
    """Task: find the earliest duplicate among one share of the buckets of id digests.

    Each of ``n_partitions`` partitions has its digests in ``scratch``, in `_BUCKETS` buckets; a share is the same
    range of buckets of every partition, and there are ``n_shares``.
    """

    scratch: Scratch
    n_partitions: int
    n_shares: int

    def __call__(self, share: int) -> bytes:
        """Find the earliest duplicate of a share (number from 0), as the bytes of an array "twice".

        It has shape (1, 4), partition and position of the duplicate and of the id it repeats, or no row.
        """
        parts = [self._share_of(k, share) for k in range(self.n_partitions)]
        rows = np.concatenate(parts)
        numbers = np.repeat(np.arange(self.n_partitions), [part.size for part in parts])
        order = np.lexsort((rows["place"], numbers, rows["second"], rows["first"]))
        rows, numbers = rows[order], numbers[order]
        same = (rows["first"][1:] == rows["first"][:-1]) & (rows["second"][1:] == rows["second"][:-1])
        again = np.flatnonzero(same)
        later, earlier = again + 1, again
        pairs = np.column_stack((numbers[later], rows["place"][later], numbers[earlier], rows["place"][earlier]))
        return packed({"twice": pairs[np.lexsort(pairs.T[::-1])][:1]})

    def _share_of(self, partition: int, share: int) -> NDArray[Any]:
        """Read the rows (digest and position) of a partition in one share of the buckets.

        The file starts with the first row number of each bucket (8 bytes each, `_HEAD` in all), then has the rows.
        """
        name, size = f"queries-{partition}", _BUCKETS // self.n_shares
        begins = np.frombuffer(self.scratch.read(name, 8 * share * size, 8 * (share + 1) * size + 8), dtype=np.int64)
        begin, end = (_HEAD + _ID.itemsize * int(row) for row in begins[[0, -1]])
        return np.frombuffer(self.scratch.read(name, begin, end), dtype=_ID)


def check_unique(
    engine: Engine, scratch: Scratch, names: tuple[str, ...], n_queries: int, query_name: Callable[[int, int], str]
) -> None:
    """Raise InputError if two queries have the same id, naming their partitions.

    Parameters
    ----------
    names : tuple of str
        Names of the partitions.
    n_queries : int
        Number of queries of the pool, which determines the memory of a worker.
    query_name : function
        (partition number, query number) -> name of the query for messages.
    """
    n_shares = min(_BUCKETS, 2 ** math.ceil(math.log2(max(n_queries / _MOST_AT_ONCE, 1.0))))
    contents = engine.map(_DuplicateSearch(scratch, len(names), n_shares), range(n_shares))
    twice = sorted(_rows(contents))
    if twice:
        part, place, other_part, other_place = twice[0]
        query, other = query_name(part, place), query_name(other_part, other_place)
        # a quoted name is an id; chunks that the caller supplied only know the numbers of queries
        if query == other and part != other_part and query.startswith(("'", '"')):
            raise InputError(f"query {query} stands in two partitions, {names[other_part]} and {names[part]}")
        raise InputError(
            f"query ids must be unique over all chunks: {query} of {names[part]} has the id of "
            f"{other} of {names[other_part]}"
        )


def _rows(contents: Iterator[bytes]) -> Iterator[tuple[int, ...]]:
    """Yield the duplicates of all shares: partition and position of the later query, then of the earlier one."""
    for content in contents:
        for row in unpacked(content)["twice"].tolist():
            yield tuple(row)
