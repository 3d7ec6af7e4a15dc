"""The last time to the partitions: the rows of the queries that a sample needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from activeeval.core.errors import InputError
from activeeval.core.pool import pool_hashes
from activeeval.core.types import Ints
from activeeval.scale.chunks import Chunk, chunk_arrays, chunk_of, joined
from activeeval.scale.engines import Engine
from activeeval.scale.packed_arrays import packed, unpacked
from activeeval.scale.scratch import Scratch
from activeeval.scale.sources import Source, check_state, named
from activeeval.scale.surveys import Survey, mark_of
from activeeval.scale.tables import UnitTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FetchTask:
    """Reads some queries of a partition, and sees whether they are those that were surveyed."""

    source: Source
    scratch: Scratch

    def __call__(self, part: tuple[int, Any, Ints]) -> bytes:
        """Return the chunk of some queries of a partition, and its mark where it is read as a whole."""
        number, key, queries = part
        try:
            if self.source.is_streamed:
                return self._of_whole(key, queries)
            chunk = self.source.read_some(key, queries)
        except InputError as problem:
            raise named(problem, self.source.name(number, key)) from None
        self._check(chunk, number, key, queries)
        check_state(self.source, self.scratch, number, key)
        return packed(chunk_arrays(chunk))

    def _of_whole(self, key: Any, queries: Ints) -> bytes:
        chunk = self.source.read(key)
        word, weight = mark_of(pool_hashes(chunk.pool)[0], chunk.weights)
        there = queries[queries < chunk.pool.n_queries]  # of another chunk the mark tells
        arrays = chunk_arrays(chunk.restricted_to(there)) if there.size else {}
        return packed(arrays | {"word": np.array([word], dtype=np.uint64), "weight": np.array([weight])})

    def _check(self, chunk: Chunk, number: int, key: Any, queries: Ints) -> None:
        table = UnitTable.unpacked(self.scratch.read(f"units-{number}"))
        rows = np.searchsorted(table.numbers, queries)
        known = np.flatnonzero(np.isin(queries, table.numbers))
        same = np.array_equal(pool_hashes(chunk.pool)[0][known], table.query_hashes[rows[known]])
        if not same or not np.allclose(chunk.weights[known], table.weights[rows[known]], rtol=1e-9, atol=0):
            text = "its queries, or their traffic, are not those that the design was made of"
            raise InputError(f"{self.source.name(number, key)}: {text}")


def fetched(source: Source, engine: Engine, scratch: Scratch, survey: Survey, chosen: Mapping[int, Ints]) -> Chunk:
    """Return the queries that a sample needs as one chunk, partition by partition.

    Parameters
    ----------
    chosen : mapping of int to ndarray of int64
        Numbers of queries, ascending, by the number of their partition.

    Raises
    ------
    InputError
        Where partitions are not those that were surveyed.
    """
    parts = list(_contents(source, engine, scratch, survey, chosen))
    return joined([chunk_of(arrays) for arrays in parts])


def _contents(
    source: Source, engine: Engine, scratch: Scratch, survey: Survey, chosen: Mapping[int, Ints]
) -> Iterator[Mapping[str, Any]]:
    nothing = np.empty(0, np.int64)
    parts = ((k, key, chosen.get(k, nothing)) for k, key in enumerate(source.keys()))
    needed = parts if source.is_streamed else (part for part in parts if part[2].size)
    n_chunks = 0
    for content in engine.map(FetchTask(source=source, scratch=scratch), needed):
        arrays = unpacked(content)
        if "word" in arrays:
            survey.check_again(n_chunks, (int(arrays["word"][0]), float(arrays["weight"][0])))
            n_chunks += 1
        if "query_offsets" in arrays:
            yield arrays
    if source.is_streamed:
        survey.check_complete(n_chunks)
