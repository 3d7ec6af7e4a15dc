"""Whether every query id is there once, in a pool whose ids no machine holds.

Each partition leaves its ids as 128 bits, ascending, with where each bucket of them begins. Whoever looks takes the ids
of one share of all buckets from every partition, and looks for two that are the same: the same id twice is always
seen, and of 10⁹ ids two others pass for it once in 7 · 10²⁰ pools.
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
"""Ids that one worker holds: 24 bytes each, and as much again while they are put in order."""
_BUCKETS = 4096
"""By the first bits: of 8 · 10⁹ ids a share is then one of them."""
_ID = np.dtype([("first", np.uint64), ("second", np.uint64), ("place", np.int64)])
_HEAD = 8 * (_BUCKETS + 1)


def digests(ids: Texts) -> bytes:
    """Return where each bucket of ids begins, then the 128 bits of each id, ascending, with where it stands."""
    plain = ids.plain()
    data, offsets = plain.data.tobytes(), plain.offsets.tolist()
    words = b"".join(hashlib.blake2b(data[a:b], digest_size=16).digest() for a, b in pairwise(offsets))
    rows = np.empty(ids.size, dtype=_ID)
    rows["first"], rows["second"] = np.frombuffer(words, dtype=np.uint64).reshape(-1, 2).T
    rows["place"] = np.arange(ids.size)
    rows = rows[np.lexsort((rows["second"], rows["first"]))]
    buckets = (rows["first"] >> np.uint64(64 - 12)).astype(np.int64)
    begins = np.searchsorted(buckets, np.arange(_BUCKETS + 1)).astype(np.int64)
    return begins.tobytes() + rows.tobytes()


@dataclass(frozen=True, slots=True)
class _DuplicateSearch:
    """Looks for two ids that are the same, in one share of all."""

    scratch: Scratch
    n_partitions: int
    n_shares: int

    def __call__(self, share: int) -> bytes:
        """Return the partitions and places of the earliest two that are the same; nothing where there are none."""
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
        name, size = f"queries-{partition}", _BUCKETS // self.n_shares
        head = np.frombuffer(self.scratch.read(name, 8 * share * size, 8 * (share + 1) * size + 8), dtype=np.int64)
        begin, end = (_HEAD + _ID.itemsize * int(row) for row in head[[0, -1]])
        return np.frombuffer(self.scratch.read(name, begin, end), dtype=_ID)


def check_unique(
    engine: Engine, scratch: Scratch, names: tuple[str, ...], n_queries: int, called: Callable[[int, int], str]
) -> None:
    """Raise InputError where two queries have one id; says where they stand.

    Parameters
    ----------
    names : tuple of str
        Of the partitions.
    called : function
        Of the number of a partition and that of a query in it: what messages call the query.
    """
    n_shares = min(_BUCKETS, 2 ** math.ceil(math.log2(max(n_queries / _MOST_AT_ONCE, 1.0))))
    looks = engine.map(_DuplicateSearch(scratch, len(names), n_shares), range(n_shares))
    twice = sorted(_rows(looks))
    if twice:
        part, place, other_part, other_place = twice[0]
        query, other = called(part, place), called(other_part, other_place)
        if query == other and part != other_part and query.startswith(("'", '"')):
            raise InputError(f"query {query} stands in two partitions, {names[other_part]} and {names[part]}")
        raise InputError(
            f"query ids must be unique over all chunks: {query} of {names[part]} has the id of "
            f"{other} of {names[other_part]}"
        )


def _rows(looks: Iterator[bytes]) -> Iterator[tuple[int, ...]]:
    for content in looks:
        for row in unpacked(content)["twice"].tolist():
            yield tuple(row)
