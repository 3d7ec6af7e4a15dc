"""Pools in parquet of any size, partition by partition, for `benchmarks.engines`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from activeeval.core.types import Ints
from activeeval.scale.partition_files import write

N_ITEMS, N_GRADES, N_PROTOTYPES = 20, 5, 4096
PARTITION_QUERIES = 25_000
_GROUP_QUERIES = 6_500
"""Of a row group: 130,000 rows, as `activeeval pool write` has them."""
_SAID = {"version": 1, "whole_groups": True, "max_grade": N_GRADES - 1, "model": "prototypes"}


@dataclass(frozen=True, slots=True)
class WritePartition:
    """Writes a partition, each from a seed of its own, as a task of an engine.

    Attributes
    ----------
    folder : str
    n_queries : int
        Of the pool.
    """

    folder: str
    n_queries: int

    def __call__(self, number: int) -> bytes:
        """Write a partition and return nothing."""
        write(str(Path(self.folder, f"part-{number:05d}.parquet")), self._groups(number), _SAID)
        return b""

    def _groups(self, number: int) -> Iterator[Mapping[str, Any]]:
        first, rng = number * PARTITION_QUERIES, np.random.default_rng((2, number))
        prototypes = np.random.default_rng(0).dirichlet((5, 3, 1.3, 0.3, 0.2), N_PROTOTYPES).astype(np.float32)
        last = min(self.n_queries, first + PARTITION_QUERIES)
        for start in range(first, last, _GROUP_QUERIES):
            yield _columns(np.arange(start, min(last, start + _GROUP_QUERIES)), prototypes, rng)


def n_partitions(n_queries: int) -> int:
    """Count the partitions of a pool."""
    return -(-n_queries // PARTITION_QUERIES)


def _columns(queries: Ints, prototypes: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Return the columns of some queries: what documents are like is chance, and so is their order."""
    probs = prototypes[rng.integers(0, N_PROTOTYPES, queries.size * N_ITEMS)]
    keys = rng.random((queries.size, N_ITEMS), dtype=np.float32)
    documents = rng.integers(0, 10**9, queries.size)[:, None] * N_ITEMS + np.arange(N_ITEMS)
    return {
        "query_id": _named("q", np.repeat(queries, N_ITEMS)),
        "doc_id": _named("D", documents.ravel()),
        "rank:new": (np.argsort(np.argsort(keys, axis=1), axis=1) + 1).astype(np.int32).ravel(),
        **{f"p{k}": probs[:, k] for k in range(N_GRADES)},
    }


def _named(letter: str, numbers: Ints) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    return compute.binary_join_element_wise(letter, pa.array(numbers).cast(pa.string()), "")
