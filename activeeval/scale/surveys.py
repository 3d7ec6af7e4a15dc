"""First pass: write the unit table of each partition, sum over all, and check that the partitions match."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.core.design import DesignInput, PoolSums, RateSums
from activeeval.core.errors import InputError
from activeeval.core.pool import known_digest, pool_hashes
from activeeval.core.types import Floats, Ints, Words
from activeeval.scale.chunks import Chunk
from activeeval.scale.duplicate_ids import digests
from activeeval.scale.packed_arrays import Arrays, as_array, of_array, packed, unpacked
from activeeval.scale.recipe import Recipe
from activeeval.scale.scratch import Scratch
from activeeval.scale.sources import Source, keep_state, named
from activeeval.scale.tables import UnitTable

_ALIKE = 1e-9
"""Relative tolerance for equal traffic."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kind:
    """Properties common to all chunks of a pool.

    `n_grades`: columns of the grade probabilities (None: no model). `n_seen`: number of grades with a positive
    probability (None: no factor). `questions`: a text for each target, as "DCG@10 of 2", its measure and rankings.
    """

    n_grades: int | None
    n_seen: int | None
    is_comparison: bool
    node_weights: tuple[float, ...] | None
    questions: tuple[str, ...]

    @classmethod
    def of(cls, chunk: Chunk, design_input: DesignInput) -> Kind:
        """Determine the kind of a chunk: what all must share, as `n_seen`, its number of grades that are possible."""
        beliefs = design_input.beliefs
        has_factor = beliefs is not None and beliefs.factor is not None
        return cls(
            n_seen=int(np.flatnonzero(beliefs.grade_probs.any(axis=0)).max()) + 1 if beliefs and has_factor else None,
            n_grades=None if chunk.grade_probs is None else int(np.shape(chunk.grade_probs)[-1]),
            is_comparison=chunk.versus is not None,
            node_weights=None if chunk.node_weights is None else tuple(np.asarray(chunk.node_weights).tolist()),
            questions=tuple(f"{t.measure} of {1 if t.versus is None else 2}" for t in design_input.targets),
        )

    @classmethod
    def of_words(cls, words: dict[str, Any]) -> Kind:
        """Rebuild a kind from a dict of its fields, as JSON has them."""
        nodes, questions = words.pop("node_weights"), tuple(words.pop("questions"))
        return cls(**words, node_weights=None if nodes is None else tuple(nodes), questions=questions)

    def check_fits(self, first: Kind, name: str, of_first: str) -> None:
        """Raise InputError if a partition differs from the first; `name` and `of_first` name the two."""
        if self.n_grades != first.n_grades:
            n_here, n_first = self.n_grades or "no", first.n_grades or "no"
            raise InputError(f"{name} has probabilities of {n_here} grades, {of_first} of {n_first}")
        if self.n_seen != first.n_seen:
            text = f"{name} gives a chance to {self.n_seen} grades, {of_first} to {first.n_seen}"
            raise InputError(f"{text}: with a query factor they must agree")
        if self.is_comparison != first.is_comparison:
            kinds = {True: "two rankings", False: "one ranking"}
            raise InputError(f"{name} has {kinds[self.is_comparison]}, {of_first} {kinds[first.is_comparison]}")
        if self.node_weights != first.node_weights:
            raise InputError(f"{name} has other node_weights than {of_first}")
        if self.questions != first.questions:
            raise InputError(f"{name} is asked for {self.questions}, {of_first} for {first.questions}")


_SUMS = ("n_queries", "n_open", "base", "settled_squares", "open_squares", "open_share", "squares")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartitionSurvey:
    """Result of the first pass over a partition: sums, checks and, for draws with replacement, arrays by query.

    Attributes
    ----------
    kind : Kind
    sums : RateSums
        Sums of sampling rates, with the weights of targets if known.
    planned : ndarray, shape (n_targets,)
        Loss of each target under its own best design.
    pool_sums : tuple of PoolSums
        Of each target, p in the unit of the traffic; empty if queries are drawn with replacement.
    reaches : ndarray, shape (n_targets,)
        Number of items that can change each target, judged or not.
    whole : float
        Cost of judging all unjudged ones among them, overhead of queries included, in the unit of the item costs.
    cheapest : float
        Cost of its cheapest item.
    digest : int
        Digest of its known grades.
    mark : (int, float)
        Identifies the partition: a hash of its query ids, and its traffic.
    columns : tuple of ndarray
        If queries are drawn with replacement: hashes of their ids, p in the unit of the traffic, and mean, variance and
        cost of their values.
    """

    kind: Kind
    sums: RateSums
    planned: Floats
    pool_sums: tuple[PoolSums, ...]
    reaches: Floats
    whole: float
    cheapest: float
    digest: int
    mark: tuple[int, float]
    columns: tuple[Any, ...]

    def packed(self) -> bytes:
        """Convert the survey to bytes, to be sent by a worker."""
        arrays: dict[str, Any] = {
            "kind": as_array(asdict(self.kind)),
            "sums": as_array(asdict(self.sums)),
            "planned": self.planned,
            "pool_sums": np.array([[getattr(each, name) for name in _SUMS] for each in self.pool_sums]),
            "population": np.array([each.population for each in self.pool_sums]),
            "reaches": self.reaches,
            "costs": np.array([self.whole, self.cheapest]),
            "words": np.array([self.digest, self.mark[0]], dtype=np.uint64),
            "weight": np.array([self.mark[1]]),
        }
        return packed(arrays | {f"column{k}": column for k, column in enumerate(self.columns)})

    @classmethod
    def unpacked(cls, content: bytes) -> PartitionSurvey:
        """Rebuild a survey from the bytes of `packed`."""
        arrays = unpacked(content)
        digest, word = arrays["words"].tolist()
        return cls(
            kind=Kind.of_words(of_array(arrays["kind"])),
            sums=RateSums(**of_array(arrays["sums"])),
            planned=arrays["planned"],
            pool_sums=tuple(_sums_of(arrays)),
            reaches=arrays["reaches"],
            whole=float(arrays["costs"][0]),
            cheapest=float(arrays["costs"][1]),
            digest=digest,
            mark=(word, float(arrays["weight"][0])),
            columns=tuple(arrays[f"column{k}"] for k in range(5) if f"column{k}" in arrays),
        )


def _sums_of(arrays: Arrays) -> Iterator[PoolSums]:
    """Yield the pool sums of each target from the arrays of `PartitionSurvey.packed`."""
    for numbers, population in zip(arrays["pool_sums"].tolist(), arrays["population"], strict=True):
        fields: dict[str, Any] = dict(zip(_SUMS, numbers, strict=True))
        fields |= {name: int(fields[name]) for name in ("n_queries", "n_open")}
        yield PoolSums(**fields, population=population)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SurveyTask:
    """Task: survey a partition (sums and checks) and write its unit table (what later passes need of its items).

    Attributes
    ----------
    is_trusted : bool
        True: query ids are known to be unique, so no digests of them are written.
    """

    source: Source
    recipe: Recipe
    scratch: Scratch
    is_trusted: bool

    def __call__(self, part: tuple[int, Any]) -> bytes:
        """Survey a partition, (number, key), and write its table; return the survey as bytes; raises InputError."""
        number, key = part
        try:
            keep_state(self.source, self.scratch, number, key)
            chunk = self.source.read(key)
            survey, table = surveyed(chunk, self.recipe)
        except InputError as problem:
            raise named(problem, self.source.name(number, key)) from None
        self.scratch.write(f"units-{number}", table.packed())
        if not self.is_trusted:
            self.scratch.write(f"queries-{number}", digests(chunk.pool.query_texts))
        return survey.packed()


def surveyed(chunk: Chunk, recipe: Recipe) -> tuple[PartitionSurvey, UnitTable]:
    """Survey a chunk; return its survey (sums and checks) and its unit table (what later passes need of its items)."""
    design_input, weights = recipe.design_input(chunk), chunk.weights
    method, places = recipe.method, design_input.places
    n_targets, n_wanted = len(design_input.targets), places.open_costs.size
    nested = method.stage.is_nested  # prefixes of a query's items are judged, not single items
    # equal rates: of this order only ids, p and sums that no rate enters are used
    flat = places.order(weights, np.ones(weights.size), np.ones(n_wanted), 1.0, is_nested=nested)
    columns = method.scheme.columns(design_input)
    is_drawn = bool(columns)  # with replacement: the draws need only q and λ of the queries
    readings = tuple(  # what an estimator needs of a target besides labels
        method.stage.reading(target, flat, design_input.beliefs, design_input.known)
        for target in (() if is_drawn else design_input.targets)
    )
    matters = [target.matters for target in design_input.targets]
    known_weights = recipe.weights or (1.0,) * n_targets
    survey = PartitionSurvey(
        kind=Kind.of(chunk, design_input),
        sums=RateSums.of(places, method.rates(design_input, known_weights).ratios, weights),
        planned=design_input.planned(weights) if n_targets > 1 else np.zeros(1),
        pool_sums=tuple(reading.pool_sums for reading in readings),
        reaches=np.array([np.count_nonzero(each) for each in matters]),
        whole=_whole_cost(design_input, np.logical_or.reduce(matters)),
        cheapest=places.cheapest,
        digest=int(_known_digest(chunk, design_input)),
        mark=mark_of(flat.query_hashes, weights),
        columns=(flat.query_hashes, weights, *columns) if is_drawn else (),
    )
    table = UnitTable.of_queries(flat) if is_drawn else UnitTable.of(design_input, flat, readings)
    return survey, table


def _whole_cost(design_input: DesignInput, matters: NDArray[np.bool_]) -> float:
    """Compute the cost of judging all unjudged items in the mask `matters`, with the overhead of their queries."""
    pool = design_input.places.pool
    matters = matters & (design_input.known < 0)
    is_opened = np.bincount(pool.item_queries, matters, minlength=pool.n_queries) > 0
    return float(pool.item_costs[matters].sum() + pool.query_costs[is_opened].sum())


def _known_digest(chunk: Chunk, design_input: DesignInput) -> int:
    """Compute a digest of the chunk's known grades; 0 if there are none."""
    if not (design_input.known >= 0).any():
        return 0
    return int(known_digest(pool_hashes(chunk.pool)[1], design_input.known))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Survey:
    """Combined results of the first pass over all partitions: sums over the pool, and checks for later passes.

    Attributes
    ----------
    names : tuple of str
        Names of the partitions for messages.
    offsets : ndarray of int64, shape (n_partitions + 1,)
        Number of the first query of every partition, then the total.
    marks : tuple of (int, float)
        Marks that identify the partitions.
    sums, planned, pool_sums, reaches, whole, cheapest, digest
        Rate sums, loss of each target alone, value sums, items that can change each, cost of judging them, cost of the
        cheapest item, digest of known grades: as in `PartitionSurvey`, over the whole pool, with p that sums to 1.
    hashes, columns
        Hashes of query ids, and p, mean, variance and cost by query, concatenated; only for draws with replacement.
    """

    names: tuple[str, ...]
    offsets: Ints
    marks: tuple[tuple[int, float], ...]
    sums: RateSums
    planned: Floats
    pool_sums: tuple[PoolSums, ...]
    reaches: Floats
    whole: float
    cheapest: float
    digest: int
    hashes: Words
    columns: tuple[Floats, ...]

    @classmethod
    def of(cls, parts: Iterable[tuple[str, PartitionSurvey]]) -> Survey:
        """Combine the surveys of partitions, each with its partition's name; raise InputError if kinds differ."""
        collected = _CollectedPartitions()
        for name, survey in parts:
            collected.take(name, survey)
        return collected.survey()

    @property
    def n_queries(self) -> int:
        """Number of queries of the pool."""
        return self.sums.n_queries

    def without_columns(self) -> Survey:
        """Drop the arrays by query once they are no longer needed."""
        return replace(self, hashes=np.empty(0, np.uint64), columns=())

    def check_complete(self, n_chunks: int) -> None:
        """Raise InputError if fewer chunks came in a later pass than in the first."""
        if n_chunks < len(self.marks):
            raise InputError(f"the design was made of {len(self.marks)} chunks, {n_chunks} came")

    def check_again(self, k: int, mark: tuple[int, float]) -> None:
        """Raise InputError if chunk ``k`` differs from the first pass by its mark (hash of query ids, and traffic)."""
        if k >= len(self.marks):
            raise InputError(f"chunks[{k}]: the design was made of {len(self.marks)} chunks, more came")
        (word, weight), (was_word, was_weight) = mark, self.marks[k]
        if word != was_word or abs(weight - was_weight) > _ALIKE * was_weight:
            text = "its queries, or their traffic, are not those that the design was made of"
            raise InputError(f"{self.names[k]}: {text}")


class _CollectedPartitions:
    """Accumulator of the surveys (results of the first pass) of partitions."""

    def __init__(self) -> None:
        """Start without partitions; ``sizes`` begins with 0, so that its cumulative sums are the offsets of queries."""
        self.names: list[str] = []
        self.sizes, self.marks = [0], []  # type: ignore[var-annotated]
        self.first: PartitionSurvey | None = None  # its kind is that of all
        self.total: PartitionSurvey | None = None  # sums of the partitions so far
        self.hashes, self.columns = array("Q"), tuple(array("d") for _ in range(4))  # arrays that grow in place

    def take(self, name: str, survey: PartitionSurvey) -> None:
        """Add the survey of the next partition; raise InputError if it differs in kind from the first."""
        self.first, total = self.first or survey, self.total
        survey.kind.check_fits(self.first.kind, name, (self.names or [name])[0])
        if survey.columns:
            self.hashes.frombytes(survey.columns[0].tobytes())
        for column, values in zip(self.columns, survey.columns[1:], strict=False):  # none unless with replacement
            column.frombytes(values.tobytes())
        self.names.append(name)
        self.sizes.append(survey.sums.n_queries)
        self.marks.append(survey.mark)
        if total is not None:
            survey = replace(
                survey,
                sums=total.sums + survey.sums,
                planned=total.planned + survey.planned,
                pool_sums=tuple(a + b for a, b in zip(total.pool_sums, survey.pool_sums, strict=True)),
                reaches=total.reaches + survey.reaches,
                whole=total.whole + survey.whole,
                cheapest=min(total.cheapest, survey.cheapest),
                digest=(total.digest + survey.digest) % 2**64,
            )
        self.total = replace(survey, columns=())

    def survey(self) -> Survey:
        """Build the combined survey; raise InputError if there is no partition."""
        total = self.total
        if total is None:
            raise InputError("there is no chunk, so the pool is empty")
        return Survey(
            names=tuple(self.names),
            offsets=np.cumsum(self.sizes),
            marks=tuple(self.marks),
            sums=total.sums,
            planned=total.planned,
            pool_sums=tuple(_scaled(each, total.sums.weight) for each in total.pool_sums),
            reaches=total.reaches,
            whole=total.whole,
            cheapest=float(total.cheapest),
            digest=total.digest,
            hashes=np.frombuffer(self.hashes, dtype=np.uint64),
            columns=tuple(np.frombuffer(column) for column in self.columns if column),
        )


def _scaled(sums: PoolSums, weight: float) -> PoolSums:
    """Divide sums of p in the unit of the traffic by the total traffic `weight`, so that p sums to 1."""
    names = ("population", "base", "settled_squares", "open_squares", "open_share")
    linear: dict[str, Any] = {name: getattr(sums, name) / weight for name in names}
    return replace(sums, **linear, squares=sums.squares / weight**2)


def mark_of(hashes: Words, weights: Floats) -> tuple[int, float]:
    """Compute the mark of queries (weights of shape (n_queries,)): a 64-bit hash of their ids, and total traffic."""
    odd = np.arange(1, 2 * hashes.size, 2, dtype=np.uint64)  # factors, so that the order of the queries counts
    return int((hashes * odd).sum(dtype=np.uint64)), float(weights.sum())
