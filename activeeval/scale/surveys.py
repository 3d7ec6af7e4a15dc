"""The first time through the chunks: sums over the whole pool, and whether its chunks fit together."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from activeeval.design import DesignInput, RateSums
from activeeval.errors import InputError
from activeeval.pool import known_digest, pool_hashes
from activeeval.scale.chunks import Chunk
from activeeval.types import Floats, Ints, Words

_ALIKE = 1e-9
"""The same traffic, but for the rounding of how it was computed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kind:
    """What all chunks of a pool have in common: ``n_seen`` are the grades that a model with a query factor has seen."""

    n_grades: int | None
    n_seen: int | None
    is_comparison: bool
    node_weights: tuple[float, ...] | None
    questions: tuple[str, ...]

    @classmethod
    def of(cls, chunk: Chunk, design_input: DesignInput) -> Kind:
        """Return the kind of a chunk."""
        beliefs = design_input.beliefs
        has_factor = beliefs is not None and beliefs.factor is not None
        return cls(
            n_seen=int(np.flatnonzero(beliefs.grade_probs.any(axis=0)).max()) + 1 if beliefs and has_factor else None,
            n_grades=None if chunk.grade_probs is None else int(np.shape(chunk.grade_probs)[-1]),
            is_comparison=chunk.versus is not None,
            node_weights=None if chunk.node_weights is None else tuple(np.asarray(chunk.node_weights).tolist()),
            questions=tuple(f"{t.measure} of {1 if t.versus is None else 2}" for t in design_input.targets),
        )

    def check_fits(self, first: Kind, k: int) -> None:
        """Raise InputError where chunk ``k`` is of another kind than the first."""
        if self.n_grades != first.n_grades:
            here, wanted = self.n_grades or "no", first.n_grades or "no"
            raise InputError(f"chunks[{k}] has probabilities of {here} grades, chunks[0] of {wanted}")
        if self.n_seen != first.n_seen:
            text = f"chunks[{k}] gives a chance to {self.n_seen} grades, chunks[0] to {first.n_seen}"
            raise InputError(f"{text}: with a query factor they must agree")
        if self.is_comparison != first.is_comparison:
            names = {True: "two rankings", False: "one ranking"}
            raise InputError(f"chunks[{k}] has {names[self.is_comparison]}, chunks[0] {names[first.is_comparison]}")
        if self.node_weights != first.node_weights:
            raise InputError(f"chunks[{k}] has other node_weights than chunks[0]")
        if self.questions != first.questions:
            raise InputError(f"chunks[{k}] is asked for {self.questions}, chunks[0] for {first.questions}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartitionSurvey:
    """What is left of a chunk once it has gone by.

    Attributes
    ----------
    kind : Kind
    sums : RateSums
    cheapest : float
        What its cheapest place costs.
    digest : int
        Of its known grades.
    hashes : ndarray of uint64, shape (n_queries,)
        Of its query ids.
    mark : tuple
        By which it is known again.
    columns : tuple of ndarray
        Where queries are drawn with replacement: p in the unit of the traffic, m, v and λ.
    """

    kind: Kind
    sums: RateSums
    cheapest: float
    digest: int
    hashes: Words
    mark: tuple[int, float]
    columns: tuple[Floats, ...]


def partition_survey(
    chunk: Chunk, design_input: DesignInput, sums: RateSums, columns: tuple[Floats, ...]
) -> PartitionSurvey:
    """Return what is left of a chunk; ``columns`` are what its scheme wants to know of every query."""
    of_queries, of_items = pool_hashes(chunk.pool)
    weights = chunk.weights
    return PartitionSurvey(
        kind=Kind.of(chunk, design_input),
        sums=sums,
        cheapest=design_input.places.cheapest,
        digest=int(known_digest(of_items, design_input.known)),
        hashes=of_queries,
        mark=_mark(of_queries, weights),
        columns=(weights, *columns) if columns else (),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Survey:
    """What is left of all chunks.

    Attributes
    ----------
    chunk_offsets : ndarray of int64, shape (n_chunks + 1,)
        The number of the first query of every chunk, then that of all.
    marks : tuple of (int, float)
        By which each chunk is known again: its query ids in a word, and its traffic.
    sums, cheapest, digest
        As in `PartitionSurvey`, over the whole pool.
    hashes, columns
        As in `PartitionSurvey`, one after the other.
    """

    chunk_offsets: Ints
    marks: tuple[tuple[int, float], ...]
    sums: RateSums
    cheapest: float
    digest: int
    hashes: Words
    columns: tuple[Floats, ...]

    @classmethod
    def of(cls, chunks: Iterable[PartitionSurvey]) -> Survey:
        """Return what is left of all chunks, once they are seen to be of one kind and their query ids unique."""
        hashes, columns = array("Q"), tuple(array("d") for _ in range(4))  # they grow in place
        first, sums, digest = None, None, 0
        sizes, marks, cheapest = [0], [], np.inf
        for k, of_chunk in enumerate(chunks):
            first = first or of_chunk
            of_chunk.kind.check_fits(first.kind, k)
            hashes.frombytes(of_chunk.hashes.tobytes())
            for column, values in zip(columns, of_chunk.columns, strict=False):
                column.frombytes(values.tobytes())
            sums = of_chunk.sums if sums is None else sums + of_chunk.sums
            sizes.append(of_chunk.hashes.size)
            marks.append(of_chunk.mark)
            cheapest = min(cheapest, of_chunk.cheapest)
            digest = (digest + of_chunk.digest) % 2**64
        if sums is None:
            raise InputError("there is no chunk, so the pool is empty")
        offsets, words = np.cumsum(sizes), np.frombuffer(hashes, dtype=np.uint64)
        _check_unique(words, offsets)
        return cls(
            chunk_offsets=offsets,
            marks=tuple(marks),
            sums=sums,
            cheapest=float(cheapest),
            digest=digest,
            hashes=words,
            columns=tuple(np.frombuffer(column) for column in columns if column),
        )

    def without_columns(self) -> Survey:
        """Return the survey once there is nothing left to compute from what it holds by query."""
        return replace(self, hashes=np.empty(0, np.uint64), columns=())

    def check_complete(self, n_chunks: int) -> None:
        """Raise InputError where fewer chunks came than the design was made of."""
        if n_chunks < len(self.marks):
            raise InputError(f"the design was made of {len(self.marks)} chunks, {n_chunks} came")

    def check_again(self, k: int, chunk: Chunk) -> None:
        """Raise InputError where chunk ``k`` is not the one that it was."""
        if k >= len(self.marks):
            raise InputError(f"the design was made of {len(self.marks)} chunks, more came")
        word, weight = _mark(pool_hashes(chunk.pool)[0], chunk.weights)
        was_word, was_weight = self.marks[k]
        if word != was_word or abs(weight - was_weight) > _ALIKE * was_weight:
            raise InputError("its queries, or their traffic, are not those that the design was made of")


def _mark(hashes: Words, weights: Floats) -> tuple[int, float]:
    """Return queries, in their order, as a word, and their traffic."""
    odd = np.arange(1, 2 * hashes.size, 2, dtype=np.uint64)
    return int((hashes * odd).sum(dtype=np.uint64)), float(weights.sum())


def _check_unique(hashes: Words, offsets: Ints) -> None:
    """Raise InputError where two queries have one id. Of 10⁷ ids two share a hash once in 400,000 pools."""
    order = np.argsort(hashes, kind="stable")
    again = np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]])
    if again.size:
        earliest = again[np.argmin(order[again + 1])]
        first, second = order[earliest : earliest + 2].tolist()
        of_first, of_second = (int(np.searchsorted(offsets, query, side="right")) - 1 for query in (first, second))
        raise InputError(
            f"query ids must be unique over all chunks: query {second - offsets[of_second]} of chunks[{of_second}] "
            f"has the id of query {first - offsets[of_first]} of chunks[{of_first}]"
        )
