"""The design of a pool that comes in chunks.

Whom to judge depends on each query alone but for two sums over the pool, R_θ = Σ p m and the normaliser of
q* ∝ p sqrt((v + (m − R_θ)²) / λ), Sawade et al., eqs. (16)–(18). So one pass over the chunks takes m = E[L | x],
v = Var[L | x] and λ(x), and forgets the items: p, m, v, λ and q, 40 bytes a query, are left. The queries that are
drawn are few; a second pass picks them up, and from there on they are an ordinary record of a drawn sample.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.design import DRAWS_PER_QUERY, Spending, places, whole_queries
from activeeval.errors import InputError, StateError
from activeeval.kernels import replication
from activeeval.measures import SampledMeasure, Target
from activeeval.methods import METHODS, Method, find_method
from activeeval.record import Record
from activeeval.scale.chunks import Chunks, iterated, joined, summaries

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_DRAWS_AT_ONCE = 1000


@dataclass(frozen=True, slots=True, eq=False)
class ChunkedDesign(Spending):
    """A sampling design for a pool that came in chunks; its queries are numbered from 0 in the order they came.

    Attributes
    ----------
    method : Method
    measure : SampledMeasure
    max_grade : int or None
        Largest grade of the grade model; None where there was none.
    chunk_offsets : ndarray of int64, shape (n_chunks + 1,)
        The number of the first query of every chunk, then that of all queries.
    query_probs : ndarray, shape (n_queries,)
        p(x) over the whole pool.
    predictions, variances : ndarray, shape (n_queries,)
        m(x) = E[L | x] and Var[L | x] under the grade model; NaN where the method uses none.
    costs : ndarray, shape (n_queries,)
        λ(x), the cost of judging each query whole.
    sampling_probs : ndarray, shape (n_queries,)
        q(x), the probability that one draw takes the query; sums to 1.
    """

    method: Method
    measure: SampledMeasure
    max_grade: int | None
    chunk_offsets: Ints
    query_probs: Floats
    predictions: Floats
    variances: Floats
    costs: Floats
    sampling_probs: Floats

    @property
    def n_queries(self) -> int:
        """Number of queries of the whole pool."""
        return self.costs.size

    @property
    def performance(self) -> float:
        """R_θ = Σ p m, the performance (or difference Δ_θ) that the grade model expects."""
        return float(self.query_probs @ self.predictions)

    @property
    def expected_cost(self) -> float:
        """E_q[λ], the mean cost of a draw."""
        return float(self.sampling_probs @ self.costs)

    @property
    def most_draws(self) -> int:
        """Draws after which any run ends."""
        return DRAWS_PER_QUERY * self.n_queries

    def query_name(self, query: int) -> str:
        """Name a query for a message."""
        chunk = int(np.searchsorted(self.chunk_offsets, query, side="right")) - 1
        return f"query {query - self.chunk_offsets[chunk]} of chunks[{chunk}]"

    def draw(
        self,
        budget: float,
        rng: np.random.Generator | np.random.SeedSequence | int | None = None,
        *,
        expected: bool = False,
    ) -> Ints:
        """Draw queries, the same that `Campaign` draws with this seed from the design of the whole pool.

        Parameters
        ----------
        budget : float
            In the unit of the item costs.
        expected : bool
            False (default): draw until the budget, which is never overspent, cannot pay for the query that came
            up; a query drawn again is free. True: n* = Λ / E_q[λ] draws.

        Returns
        -------
        ndarray of int64, shape (n_draws,)
            Numbers of the queries, in the order of the draws. Every query once where a hard budget pays for all.

        Raises
        ------
        BudgetError
            Where a hard budget is below the dearest single query, or an expected one below one draw.
        """
        random, cumulative = np.random.default_rng(rng), np.cumsum(self.sampling_probs)
        if expected:
            return _located(cumulative, random.random(self.n_draws(budget)))
        self.check_hard_budget(budget)
        if self.is_census(budget):
            return np.arange(self.n_queries)
        drawn, limit = np.empty(0, dtype=np.int64), self.hard_limit(budget)
        while drawn.size < self.most_draws:
            n = min(drawn.size + _DRAWS_AT_ONCE, self.most_draws - drawn.size)
            drawn = np.concatenate((drawn, _located(cumulative, random.random(n))))
            unpaid = np.flatnonzero(self._spent(drawn) > limit)
            if unpaid.size:
                return drawn[: unpaid[0]]
        return drawn

    def record(self, draws: ArrayLike, chunks: Chunks) -> Record:
        """Return the record of drawn queries: what to judge, and what its estimate needs.

        ``record.stage`` says which items of ``record.stage.target.pool``, the drawn queries in the order of their
        numbers, are to be judged; ``record.estimate(grades)`` is the estimate for the whole pool.

        Parameters
        ----------
        draws : array of int, shape (n_draws,)
            Numbers of queries, as `draw` gives them.
        chunks : iterable of Chunk, or function that returns one
            The chunks that the design was made of, once more; they need no grade probabilities now.

        Raises
        ------
        StateError
            Where nothing was drawn.
        InputError
            Where the chunks are not those of the design.
        """
        drawn = self._checked(draws)
        kept, queries = np.unique(drawn, return_inverse=True)
        parts = list(self._targets_of(kept, chunks))
        stage = whole_queries(joined(self.measure, parts, self.query_probs[kept]), None, None)
        stage = replace(stage, predictions=self.predictions[kept], variances=self.variances[kept])
        counts = np.diff(stage.offsets)[queries]
        p = self.query_probs
        return Record(
            self.method.name,
            self.method.scheme,
            self.method.estimator,
            stage,
            p[kept],
            np.ones(stage.items.size),
            queries,
            counts,
            places(stage.offsets[queries], counts),
            self.sampling_probs[drawn],
            np.array([1.0, p @ np.nan_to_num(self.predictions), 0.0]),
            np.empty((kept.size, 0)),
            self.n_queries,
            float(self.costs[kept].sum()),
            1.0 / float(p @ p),
            1.0,
            kept.size == self.n_queries,
            self.max_grade if self.measure.max_grade is None else self.measure.max_grade,
        )

    def _spent(self, drawn: Ints) -> Floats:
        """Return what has been spent after every draw: a query costs when it is drawn first."""
        queries, first = np.unique(drawn, return_index=True)
        new = np.zeros(drawn.size)
        new[first] = self.costs[queries]
        return np.cumsum(new)

    def _checked(self, draws: ArrayLike) -> Ints:
        drawn = np.asarray(draws)
        if drawn.size == 0:
            raise StateError("no query has been drawn, so there is nothing to record")
        if drawn.ndim != 1 or drawn.dtype.kind not in "iu":
            raise InputError(f"draws must be a vector of query numbers, got dtype {drawn.dtype}, shape {drawn.shape}")
        bad = np.flatnonzero((drawn < 0) | (drawn >= self.n_queries))
        if bad.size:
            raise InputError(f"draws must be numbers from 0 to {self.n_queries - 1}, got {drawn[bad[0]]}")
        return drawn.astype(np.int64)

    def _targets_of(self, kept: Ints, chunks: Chunks) -> Iterator[Target]:
        """Yield what is left of every chunk once all but the kept queries are taken out."""
        last = -1
        for k, chunk in enumerate(iterated(chunks)):
            first, last = self.chunk_offsets[k : k + 2] if k < self.chunk_offsets.size - 1 else (last, last)
            pool = chunk.ranking.pool
            if pool.n_queries != last - first:
                raise InputError(f"chunks[{k}] holds {pool.n_queries} queries, it held {last - first} for the design")
            own = kept[np.searchsorted(kept, first) : np.searchsorted(kept, last)] - first
            if own.size:
                part, items = pool.subset(own)
                versus = None if chunk.versus is None else chunk.versus.restricted_to(part, items)
                yield Target(self.measure, chunk.ranking.restricted_to(part, items), versus)
        if last != self.n_queries:
            n = self.chunk_offsets.size - 1
            raise InputError(
                f"the design was made of {n} chunks, fewer came; a generator can be gone through only once"
            )


def chunked_design(
    chunks: Chunks,
    measure: SampledMeasure,
    method: str = "active",
    *,
    defensive_share: float | None = None,
    bias: float = 0.0,
    n_jobs: int = 1,
) -> ChunkedDesign:
    """Return the design of a pool that comes in chunks, that of the whole pool up to rounding.

    Time is linear in the number of items. Memory is what ``n_jobs + 2`` chunks need, and 40 bytes a query (twice that
    while q is computed). Moments of nDCG and AP are means over drawn labels, which depend on where
    chunks end.

    Parameters
    ----------
    chunks : iterable of Chunk, or function that returns one
        Gone through once, in the caller's thread.
    measure : SampledMeasure
    method : str
        One of those that draw whole queries with replacement: active, active_uniC, active_uniD, passive,
        difference, regression. Two draws of a very large pool hardly ever meet, so that nothing is lost by it.
    defensive_share, bias : float
        As in `activeeval.Method.design`.
    n_jobs : int
        Threads, −1 for all cores; the result is the same to the last bit.

    Raises
    ------
    InputError
        Where there is no chunk, a chunk is wrong (named as in ``chunks[3]``), or one does not fit the first.

    Examples
    --------
    >>> from activeeval import ERR, Chunk, QueryPool, Rankings
    >>> def chunk(k):
    ...     pool = QueryPool([2 * k, 2 * k + 1], [0, 1, 2 + k])
    ...     return Chunk(Rankings.from_scores(pool, np.arange(2.0 + k)), np.full((2 + k, 3), 1 / 3))
    >>> design = chunked_design((chunk(k) for k in range(3)), ERR(2))
    >>> design.sampling_probs.round(3), round(design.performance, 3)
    (array([0.193, 0.193, 0.193, 0.126, 0.193, 0.1  ]), 0.379)
    >>> draws = design.draw(budget=5, rng=0)
    >>> record = design.record(draws, map(chunk, range(3)))
    >>> record.stage.target.pool.query_ids.tolist(), record.cost
    (['0', '1', '3', '4'], 5.0)
    >>> record.estimate(np.array([2, 0, 1, 0, 2])).n_queries
    4
    """
    chosen = _whole_query_method(method)
    columns = [array("d") for _ in range(4)]  # they grow in place
    sizes, cheapest, first = [0], np.inf, None
    for k, summary in enumerate(summaries(chunks, chosen, measure, n_jobs)):
        first = first or summary
        summary.check_fits(first, k)
        for column, values in zip(columns, summary.columns, strict=True):
            column.frombytes(values.tobytes())
        sizes.append(summary.columns[0].size)
        cheapest = min(cheapest, summary.cheapest)
    if first is None:
        raise InputError("there is no chunk, so the pool is empty")
    p, predictions, variances, costs = (np.frombuffer(column) for column in columns)
    p /= p.sum()
    share = chosen.defensive_share if defensive_share is None else defensive_share
    q = chosen.draw_probs(p, predictions, variances, costs, cheapest, share, bias)
    top = None if first.n_grades is None else first.n_grades - 1
    return ChunkedDesign(chosen, measure, top, np.cumsum(sizes), p, predictions, variances, costs, q)


def _located(cumulative: Floats, uniforms: Floats) -> Ints:
    return np.array([replication.locate(cumulative, u) for u in uniforms], dtype=np.int64)


def _whole_query_method(name: str) -> Method:
    def fits(method: Method) -> bool:
        return method.scheme == "replacement" and method.stage == "whole"

    method = find_method(name)
    if not fits(method):
        names = ", ".join(other.name for other in METHODS.values() if fits(other))
        raise InputError(f"method {name!r} needs the whole pool at once; for a pool in chunks there are {names}")
    return method
