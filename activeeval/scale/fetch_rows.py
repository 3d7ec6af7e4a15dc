"""Last pass over the partitions: read the rows of the sampled queries."""

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
    """Task: read some queries of a partition, and check that they match the survey (result of the first pass)."""

    source: Source
    scratch: Scratch

    def __call__(self, part: tuple[int, Any, Ints]) -> bytes:
        """Read some queries of a partition; `part` is (partition number, key, ascending query numbers).

        Return packed arrays; a partition that is streamed also returns its mark (hash of its query ids, and its
        traffic). InputError is raised if the partition cannot be read or differs from the survey.
        """
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
        """Read a streamed partition, compute its mark (hash of its query ids, and its traffic), and select queries."""
        chunk = self.source.read(key)
        word, weight = mark_of(pool_hashes(chunk.pool)[0], chunk.weights)
        present = queries[queries < chunk.pool.n_queries]  # a changed chunk is detected by its mark
        arrays = chunk_arrays(chunk.restricted_to(present)) if present.size else {}
        return packed(arrays | {"word": np.array([word], dtype=np.uint64), "weight": np.array([weight])})

    def _check(self, chunk: Chunk, number: int, key: Any, queries: Ints) -> None:
        """Raise InputError if the queries' ids or traffic differ from the unit table (written by the first pass).

        `number` and `key` identify the partition, `queries` are numbers within it.
        """
        table = UnitTable.unpacked(self.scratch.read(f"units-{number}"))
        rows = np.searchsorted(table.numbers, queries)
        known = np.flatnonzero(np.isin(queries, table.numbers))  # the table lacks queries without a wanted item
        same = np.array_equal(pool_hashes(chunk.pool)[0][known], table.query_hashes[rows[known]])
        if not same or not np.allclose(chunk.weights[known], table.weights[rows[known]], rtol=1e-9, atol=0):
            text = "its queries, or their traffic, are not those that the design was made of"
            raise InputError(f"{self.source.name(number, key)}: {text}")


def fetched(source: Source, engine: Engine, scratch: Scratch, survey: Survey, chosen: Mapping[int, Ints]) -> Chunk:
    """Read the sampled queries as one chunk, partition by partition; `survey` is the result of the first pass.

    Parameters
    ----------
    chosen : mapping of int to ndarray of int64
        Partition number -> ascending query numbers.

    Raises
    ------
    InputError
        If a partition differs from the survey.
    """
    parts = list(_contents(source, engine, scratch, survey, chosen))
    return joined([chunk_of(arrays) for arrays in parts])


def _contents(
    source: Source, engine: Engine, scratch: Scratch, survey: Survey, chosen: Mapping[int, Ints]
) -> Iterator[Mapping[str, Any]]:
    """Yield the arrays of the selected queries of each partition, and check the marks (identity) of streamed ones.

    Of files only partitions with a selected query are read; a stream is read whole. A mark has a "word", the hash of
    the query ids, and a "weight", the traffic. ``chosen`` maps partition numbers to ascending query numbers.
    InputError is raised if a partition differs from the survey, or partitions are missing or added.
    """
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
