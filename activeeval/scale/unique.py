"""Whether every query id is there once, in a pool whose ids no machine holds.

Each partition leaves its ids as 128 bits, in their order. Whoever looks takes the ids of one share of all 128-bit
numbers from every partition, and looks for two that are the same: the same id twice is always seen, and of 10⁹ ids two
others pass for it once in 7 · 10²⁰ pools.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from activeeval.errors import InputError
from activeeval.pool.texts import Texts
from activeeval.scale.engines import Engine
from activeeval.scale.packing import packed, unpacked
from activeeval.scale.scratch import Scratch
from activeeval.types import Ints

_MOST_AT_ONCE = 2_000_000
"""Ids that one worker holds: 24 bytes each, and as much again while they are put in order."""


def digests(ids: Texts) -> bytes:
    """Return the 128 bits of each id, ascending, with where each stands, as bytes."""
    data, offsets = ids.plain().data.tobytes(), ids.plain().offsets.tolist()
    words = b"".join(hashlib.blake2b(data[a:b], digest_size=16).digest() for a, b in pairwise(offsets))
    first, second = np.frombuffer(words, dtype=np.uint64).reshape(-1, 2).T
    order = np.lexsort((second, first))
    return packed({"first": first[order], "second": second[order], "places": order.astype(np.int32)})


@dataclass(frozen=True, slots=True)
class _Look:
    """Looks for two ids that are the same, in one share of all."""

    scratch: Scratch
    n_partitions: int
    n_shares: int

    def __call__(self, share: int) -> bytes:
        """Return the partitions and places of the earliest two that are the same; nothing where there are none."""
        low, high = (share * 2**64 // self.n_shares, (share + 1) * 2**64 // self.n_shares)
        columns = [self._share_of(k, low, high) for k in range(self.n_partitions)]
        first, second, places = (np.concatenate([each[j] for each in columns]) for j in range(3))
        parts = np.repeat(np.arange(self.n_partitions), [each[0].size for each in columns])
        order = np.lexsort((places, parts, second, first))
        first, second = first[order], second[order]
        again = np.flatnonzero((first[1:] == first[:-1]) & (second[1:] == second[:-1]))
        if not again.size:
            return packed({"twice": np.empty((0, 4), np.int64)})
        pairs = np.column_stack(
            (parts[order[again + 1]], places[order[again + 1]], parts[order[again]], places[order[again]])
        )
        return packed({"twice": pairs[np.lexsort(pairs.T[::-1])][:1]})

    def _share_of(self, partition: int, low: int, high: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64], Ints]:
        held = unpacked(self.scratch.read(f"queries-{partition}"))
        begin = int(np.searchsorted(held["first"], np.uint64(low)))
        end = held["first"].size if high == 2**64 else int(np.searchsorted(held["first"], np.uint64(high)))
        return held["first"][begin:end], held["second"][begin:end], held["places"][begin:end].astype(np.int64)


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
    n_shares = max(1, math.ceil(n_queries / _MOST_AT_ONCE))
    looks = engine.map(_Look(scratch, len(names), n_shares), range(n_shares))
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
