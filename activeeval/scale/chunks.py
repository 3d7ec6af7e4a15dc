"""The chunks that a pool comes in: what is taken of each, and what is put together of several."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import starmap

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray

from activeeval.errors import InputError
from activeeval.measures import SampledMeasure, Target
from activeeval.methods import Method
from activeeval.pool import QueryPool, Rankings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
    traffic : float or None
        How much of the whole pool's p(x) falls to the chunk, in a unit that all chunks share (say, how
        often its queries were asked); its pool's ``query_probs`` divide it. By default its number of queries.
    """

    ranking: Rankings
    grade_probs: ArrayLike | None = None
    versus: Rankings | None = None
    node_weights: ArrayLike | None = None
    traffic: float | None = None


Chunks = Iterable[Chunk] | Callable[[], Iterable[Chunk]]


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """What is left of a chunk: p in the unit of its traffic, m, v and λ of its queries."""

    columns: tuple[Floats, Floats, Floats, Floats]
    cheapest: float
    n_grades: int | None
    is_comparison: bool

    def check_fits(self, first: Summary, k: int) -> None:
        """Raise InputError where chunk ``k`` has other grades than the first, or another number of rankings."""
        if self.n_grades != first.n_grades:
            own, wanted = self.n_grades or "no", first.n_grades or "no"
            raise InputError(f"chunks[{k}] has probabilities of {own} grades, chunks[0] of {wanted}")
        if self.is_comparison != first.is_comparison:
            names = {True: "two rankings", False: "one ranking"}
            raise InputError(f"chunks[{k}] has {names[self.is_comparison]}, chunks[0] {names[first.is_comparison]}")


def summaries(chunks: Chunks, method: Method, measure: SampledMeasure, n_jobs: int) -> Iterator[Summary]:
    """Yield the summary of every chunk in turn; on threads no more than one chunk waits for a free one."""
    work, tasks = partial(_summary, method, measure), enumerate(iterated(chunks))
    n = effective_n_jobs(n_jobs)
    if n == 1:
        yield from starmap(work, tasks)
        return
    waiting: deque[Future[Summary]] = deque()
    with ThreadPoolExecutor(n) as threads:
        for task in tasks:
            waiting.append(threads.submit(work, *task))
            if len(waiting) > n:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _summary(method: Method, measure: SampledMeasure, k: int, chunk: Chunk) -> Summary:
    try:
        target = Target(measure, chunk.ranking, chunk.versus)
        stage = method.plan(target, chunk.grade_probs, node_weights=chunk.node_weights).stage
        p = target.pool.query_probs * _traffic(chunk)
    except InputError as problem:
        raise InputError(f"chunks[{k}]: {problem}") from None
    n_grades = None if chunk.grade_probs is None else np.shape(chunk.grade_probs)[-1]
    columns = (p, stage.predictions, stage.variances, stage.costs)
    return Summary(columns, float(target.pool.item_costs.min()), n_grades, chunk.versus is not None)


def _traffic(chunk: Chunk) -> float:
    traffic = float(chunk.ranking.pool.n_queries if chunk.traffic is None else chunk.traffic)
    if not (np.isfinite(traffic) and traffic > 0):
        raise InputError(f"traffic must be a positive number, got {chunk.traffic!r}")
    return traffic


def iterated(chunks: Chunks) -> Iterator[Chunk]:
    """Yield chunks once they are seen to be chunks."""
    for k, chunk in enumerate(chunks() if callable(chunks) else chunks):
        if not isinstance(chunk, Chunk):
            raise InputError(f"chunks[{k}] must be a Chunk, got {type(chunk).__name__}")
        yield chunk


def joined(measure: SampledMeasure, parts: list[Target], query_probs: Floats) -> Target:
    """Return the target of several pools end to end."""
    pools = [part.pool for part in parts]
    offsets = _end_to_end([pool.query_offsets for pool in pools])
    pool = QueryPool(
        np.concatenate([pool.query_ids for pool in pools]),
        offsets,
        np.concatenate([pool.item_ids for pool in pools]),
        np.concatenate([pool.item_costs for pool in pools]),
        np.concatenate([pool.query_costs for pool in pools]),
        query_probs / query_probs.sum(),
    )
    versus = [part.versus for part in parts if part.versus is not None]
    return Target(
        measure,
        _joined_rankings(pool, [part.ranking for part in parts]),
        _joined_rankings(pool, versus) if versus else None,
    )


def _joined_rankings(pool: QueryPool, parts: list[Rankings]) -> Rankings:
    starts = np.cumsum([0, *(part.pool.n_items for part in parts)])
    items = [part.items + start for part, start in zip(parts, starts.tolist(), strict=False)]
    return Rankings(pool, _end_to_end([part.offsets for part in parts]), np.concatenate(items))


def _end_to_end(offsets: list[Ints]) -> Ints:
    """Return the offsets of segments that follow each other."""
    return np.concatenate(([0], np.cumsum(np.concatenate([np.diff(own) for own in offsets]))))
