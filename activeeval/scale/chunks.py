"""The chunks that a pool comes in: gone through one by one, cut down to some queries, put together again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass
from itertools import starmap
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike

from activeeval.errors import InputError
from activeeval.measures import SampledMeasure, Target
from activeeval.pool import QueryPool, Rankings
from activeeval.pool.texts import joined_texts
from activeeval.types import Floats, Ints

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some queries of a pool, their rankings and their grade probabilities.

    Attributes
    ----------
    ranking : Rankings
        Brings the queries and items of the chunk as its pool. Query ids are to be unique over all chunks.
    grade_probs : array of float, shape (n_items, n_grades) or (n_nodes, n_items, n_grades), or None
        None where the method uses no grade model.
    versus : Rankings or None
        The ranking to compare with.
    node_weights : array of float, shape (n_nodes,), or None
        Weights of the nodes of a query factor.
    judged : array of int, shape (n_items,), or None
        Grades that are known already, −1 where none is.
    traffic : float or None
        How much of the whole pool's p(x) falls to the chunk, in a unit that all chunks share (say, how
        often its queries were asked); its pool's ``query_probs`` divide it. By default its number of queries.
    """

    ranking: Rankings
    grade_probs: ArrayLike | None = None
    versus: Rankings | None = None
    _: KW_ONLY
    node_weights: ArrayLike | None = None
    judged: ArrayLike | None = None
    traffic: float | None = None

    @property
    def pool(self) -> QueryPool:
        """The queries and items of the chunk."""
        return self.ranking.pool

    @property
    def weights(self) -> Floats:
        """Traffic p(x) of each query in the unit that all chunks share, shape (n_queries,)."""
        traffic = float(self.pool.n_queries if self.traffic is None else self.traffic)
        if not (np.isfinite(traffic) and traffic > 0):
            raise InputError(f"traffic must be a positive number, got {self.traffic!r}")
        return self.pool.query_probs * traffic

    def restricted_to(self, queries: Ints) -> Chunk:
        """Return the chunk of some of its queries, at least one; their p(x) stays as it is."""
        pool, items = self.pool.subset(queries)
        probs = None if self.grade_probs is None else np.asarray(self.grade_probs, dtype=np.float32)[..., items, :]
        return Chunk(
            self.ranking.restricted_to(pool, items),
            probs,
            None if self.versus is None else self.versus.restricted_to(pool, items),
            node_weights=self.node_weights,
            judged=None if self.judged is None else np.asarray(self.judged)[items],
            traffic=float(self.weights[queries].sum()),
        )


Chunks = Iterable[Chunk] | Callable[[], Iterable[Chunk]]
Questions = Callable[[Chunk], Target | Sequence[Target]]


def asked_of(measure: SampledMeasure | Questions) -> Questions:
    """Return the function that makes the targets of a chunk: what was given, or the measure of its rankings."""
    if isinstance(measure, SampledMeasure):
        return lambda chunk: Target(measure, chunk.ranking, chunk.versus)
    return measure


def iterated(chunks: Chunks) -> Iterator[Chunk]:
    """Yield chunks once they are seen to be chunks."""
    for k, chunk in enumerate(chunks() if callable(chunks) else chunks):
        if not isinstance(chunk, Chunk):
            raise InputError(f"chunks[{k}] must be a Chunk, got {type(chunk).__name__}")
        yield chunk


def mapped(work: Callable[[int, Chunk], T], chunks: Chunks, n_jobs: int) -> Iterator[T]:
    """Yield what some work makes of every chunk in turn; on threads no more than one chunk waits for a free one.

    An error names the chunk.
    """

    def named(k: int, chunk: Chunk) -> T:
        try:
            return work(k, chunk)
        except InputError as problem:
            raise InputError(f"chunks[{k}]: {problem}") from None

    tasks, n = enumerate(iterated(chunks)), effective_n_jobs(n_jobs)
    if n == 1:
        yield from starmap(named, tasks)
        return
    waiting: deque[Future[T]] = deque()
    threads = ThreadPoolExecutor(n)
    try:
        for task in tasks:
            waiting.append(threads.submit(named, *task))
            if len(waiting) > n:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:  # without waiting: a generator that is given up may be closed in one of these threads
        threads.shutdown(wait=False, cancel_futures=True)


def joined(parts: Sequence[Chunk]) -> Chunk:
    """Return several chunks, of whose kind there is no doubt, as one."""
    if len(parts) == 1:
        return parts[0]
    pools, weights = [part.pool for part in parts], np.concatenate([part.weights for part in parts])
    pool = QueryPool(
        query_ids=joined_texts([source.query_texts for source in pools]),
        item_ids=joined_texts([source.item_texts for source in pools]),
        query_offsets=_end_to_end([source.query_offsets for source in pools]),
        query_probs=weights / weights.sum(),
        item_costs=np.concatenate([source.item_costs for source in pools]),
        query_costs=np.concatenate([source.query_costs for source in pools]),
    )
    return Chunk(
        _joined_rankings(pool, [part.ranking for part in parts]),
        _concatenated([part.grade_probs for part in parts], -2),
        None if parts[0].versus is None else _joined_rankings(pool, [p.versus for p in parts if p.versus is not None]),
        node_weights=parts[0].node_weights,
        judged=_joined_grades(parts),
        traffic=float(weights.sum()),
    )


def _joined_rankings(pool: QueryPool, parts: list[Rankings]) -> Rankings:
    starts = np.cumsum([0, *(part.pool.n_items for part in parts)])
    items = [part.items + start for part, start in zip(parts, starts.tolist(), strict=False)]
    return Rankings(pool, _end_to_end([part.offsets for part in parts]), np.concatenate(items))


def _joined_grades(parts: Sequence[Chunk]) -> Any:
    """Return the known grades of several chunks, some of which may know none."""
    if all(part.judged is None for part in parts):
        return None
    return np.concatenate([np.full(p.pool.n_items, -1) if p.judged is None else p.judged for p in parts])


def _concatenated(arrays: list[ArrayLike | None], axis: int) -> Any:
    return None if arrays[0] is None else np.concatenate(arrays, axis=axis)  # type: ignore[arg-type]


def _end_to_end(offsets: list[Ints]) -> Ints:
    """Return the offsets of segments that follow each other."""
    return np.concatenate(([0], np.cumsum(np.concatenate([np.diff(segment) for segment in offsets]))))
