"""A pool in parquet files: which columns they have, and how a partition becomes a chunk.

| column | what |
|---|---|
| query_id, doc_id | text; a query's rows stand in one partition, in any order |
| rank:NAME or score:NAME | of each run; empty where it does not list the document |
| p0, p1, … | grade probabilities; of further models m1:p0, … |
| f0, f1, … | in their place features, of which a grade model that travels with the task predicts them |
| grade | known already; empty or below 0 where it is not |
| cost, query_cost, traffic | of judging the document, of turning to the query, how often the query is asked; 1, 0, 1 |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from activeeval.core.errors import FormatError, InputError, did_you_mean, shown
from activeeval.core.pool import QueryPool, Rankings, pool_hashes
from activeeval.core.pool.texts import Texts
from activeeval.core.types import Floats, Ints
from activeeval.scale.chunks import Chunk
from activeeval.scale.partition_files import listed, names_of, opened, said_of, state_of

RANK, SCORE = "rank:", "score:"
_AT_ONCE = 2**20
"""Rows of a file that one task takes where row groups hold whole queries."""


class PartKey(NamedTuple):
    """A file and the row groups of it that are one partition; all where these are not told apart."""

    path: str
    groups: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartitionedPool:
    """A pool in parquet files.

    Attributes
    ----------
    files : tuple of str
    runs : tuple of str
        Which of its runs are ranked, the first, the one to compare with, and further ones.
    said : dict
        What `activeeval pool write` has written beside: the scale, the model and its query factor, where lists end.
    n_grades : int or None
        Of the scale; None as the probabilities have it.
    model : object or None
        A fitted grade model of `activeeval.core.grade_models`, which predicts from the features.

    Examples
    --------
    >>> PartitionedPool.of("nowhere/*.parquet")
    Traceback (most recent call last):
    activeeval.core.errors.InputError: nowhere/*.parquet: there is no such file
    """

    files: tuple[str, ...]
    runs: tuple[str, ...]
    said: dict[str, Any]
    columns: tuple[str, ...]
    n_grades: int | None = None
    model: Any = None
    is_streamed = False

    @classmethod
    def of(cls, pattern: str, runs: Sequence[str] = ()) -> PartitionedPool:
        """Return the pool of a pattern of files; of their runs some, by default all.

        Raises
        ------
        InputError
            Where there is no such file, or it holds no such run.
        FormatError
            Where a file is none of a pool.
        """
        files = listed(pattern)
        with opened(files[0]) as file:
            columns, said = tuple(file.schema_arrow.names), said_of(files[0], file)
        lacking = [name for name in ("query_id", "doc_id") if name not in columns]
        if lacking:
            raise FormatError(files[0], None, f"lacks the column {lacking[0]}, expected a partition of a pool")
        there = list(dict.fromkeys(names_of(columns, RANK) + names_of(columns, SCORE)))
        if not there:
            raise FormatError(files[0], None, f"has no run: expected a column {RANK}NAME or {SCORE}NAME")
        for name in runs:
            if name not in there:
                stem = name.rpartition(".")[0]
                meant = f"did you mean {stem}? " if stem in there else did_you_mean(name, there)
                text = f"{pattern}: holds no run {shown(name)}; {meant}there are {', '.join(there)}"
                raise InputError(text, field="runs")
        return cls(files=tuple(files), runs=tuple(runs) or tuple(there), said=said, columns=columns)

    def for_scale(self, n_grades: int) -> PartitionedPool:
        """Return the pool with probabilities of so many grades: those that a model has not seen get none."""
        return replace(self, n_grades=n_grades)

    def predicted_by(self, model: Any) -> PartitionedPool:
        """Return the pool whose grades a fitted model predicts from its features, wherever a partition is read."""
        if not self._features:
            raise InputError(f"{self.files[0]}: has no features: expected columns f0, f1, …")
        return replace(self, model=model)

    def keys(self) -> list[PartKey]:
        """Return its partitions: files, or parts of those whose row groups are told to hold whole queries."""
        if not self.said.get("whole_groups"):
            return [PartKey(path, ()) for path in self.files]
        return [key for path in self.files for key in _parts(path)]

    def name(self, number: int, key: PartKey) -> str:
        """Return what messages call a partition."""
        return f"{key.path}, row groups {key.groups[0]} to {key.groups[-1]}" if key.groups else key.path

    def state(self, key: PartKey) -> bytes:
        """Return what another file in the place of a partition's has not."""
        return state_of(key.path)

    def query_name(self, partition: int, query: int) -> str:
        """Return the id of a query, quoted."""
        return shown(str(self.read(self.keys()[partition]).pool.query_texts[query]))

    def read(self, key: PartKey) -> Chunk:
        """Return a partition.

        Raises
        ------
        InputError
            Where it is cut short, of another schema, empty, or holds what cannot be.
        """
        with opened(key.path) as file:
            self._check(key.path, file)
            table = file.read_row_groups(list(key.groups or range(file.num_row_groups)), columns=self._needed)
        return self._chunk(key.path, table)

    def read_some(self, key: PartKey, queries: Ints) -> Chunk:
        """Return some queries of a partition, ascending by their numbers in `read`; only their row groups are read."""
        import pyarrow as pa
        from pyarrow import compute

        with opened(key.path) as file:
            self._check(key.path, file)
            groups = list(key.groups or range(file.num_row_groups))
            ids = [file.read_row_group(group, columns=["query_id"]).column(0).cast(pa.string()) for group in groups]
            distinct = sorted({text for column in ids for text in column.unique().to_pylist()})
            if queries[-1] >= len(distinct):
                raise InputError("its queries, or their traffic, are not those that the design was made of")
            wanted = pa.array([distinct[q] for q in queries.tolist()])
            parts = []
            for group, column in zip(groups, ids, strict=True):
                mask = compute.is_in(column, value_set=wanted)
                if compute.any(mask).as_py():
                    parts.append(file.read_row_group(group, columns=self._needed).filter(mask))
        return self._chunk(key.path, pa.concat_tables(parts))

    @property
    def _needed(self) -> list[str]:
        """The columns that are read."""
        wanted = {"query_id", "doc_id", "grade", "cost", "query_cost", "traffic"}
        wanted |= {f"{kind}{name}" for kind in (RANK, SCORE) for name in self.runs}
        wanted |= {*(self._of_models if self.model is None else self._features)}
        return [name for name in self.columns if name in wanted]

    @property
    def _of_models(self) -> list[str]:
        return [name for name in self.columns if _is_numbered(name.rpartition(":")[2], "p")]

    @property
    def _features(self) -> list[str]:
        return sorted((name for name in self.columns if _is_numbered(name, "f")), key=lambda name: int(name[1:]))

    def _check(self, path: str, file: Any) -> None:
        """Raise where a file is not of the kind that the first is."""
        names, said = tuple(file.schema_arrow.names), said_of(path, file)
        lacking = [name for name in self.columns if name not in names]
        if lacking:
            raise InputError(f"lacks the column {lacking[0]}, which {self.files[0]} has")
        if said != self.said:
            other = next(name for name in {**said, **self.said} if said.get(name) != self.said.get(name))
            raise InputError(f"is of another pool than {self.files[0]}: it has another {other}")
        if not file.metadata.num_rows:
            raise InputError("is empty")

    def _chunk(self, path: str, table: Any) -> Chunk:
        ids, of_rows = _codes(table)
        order = np.argsort(of_rows, kind="stable")
        counts = np.bincount(of_rows, minlength=ids.size)
        offsets = np.concatenate(([0], np.cumsum(counts)))
        docs = _texts(table, "doc_id")[order]
        by_hash = _by_hash(ids, offsets, docs)
        order, docs = order[by_hash], docs[by_hash]
        columns = _Columns(table, order, offsets)
        weights = columns.of_queries("traffic", 1.0, ids)
        pool = QueryPool(
            ids,
            offsets,
            docs,
            columns.numbers("cost", 1.0),
            columns.of_queries("query_cost", 0.0, ids),
            weights / weights.sum(),
        )
        first, *others = (self._ranking(pool, columns, name) for name in self.runs)
        probs = self._probs(columns)
        return Chunk(
            first,
            probs[0] if probs else None,
            others[0] if others else None,
            judged=columns.whole("grade"),
            traffic=float(weights.sum()),
            others=tuple(others[1:]),
            extra_probs=tuple(probs[1:]),
        )

    def _ranking(self, pool: QueryPool, columns: _Columns, name: str) -> Rankings:
        if f"{RANK}{name}" in columns:
            ranks = columns.numbers(f"{RANK}{name}", np.nan, empty=np.nan)
            ranking = Rankings.from_scores(pool, -ranks)
            in_turn, queries = ranks[ranking.items], pool.item_queries[ranking.items]
            same = np.flatnonzero((np.diff(in_turn) == 0) & (np.diff(queries) == 0))
            if same.size:
                place = pool.place(int(ranking.items[same[0]]))
                raise InputError(f"{RANK}{name}: {place} shares its rank with another")
            return ranking
        return Rankings.from_scores(pool, columns.numbers(f"{SCORE}{name}", np.nan, empty=np.nan))

    def _probs(self, columns: _Columns) -> list[NDArray[np.float32]]:
        """Return the probabilities of each model, in as many columns as the scale has grades."""
        if self.model is not None:
            features = np.column_stack([columns.numbers(name, 0.0) for name in self._features])
            return [self._widened(np.asarray(self.model.predict_proba(features)))]
        prefixes = list(dict.fromkeys(name.rpartition(":")[0] for name in self._of_models))
        return [self._of_model(columns, f"{prefix}:" if prefix else "") for prefix in sorted(prefixes)]

    def _of_model(self, columns: _Columns, prefix: str) -> NDArray[np.float32]:
        names = [name for name in self._of_models if name.rpartition(":")[0] == prefix.rstrip(":")]
        probs = np.column_stack([columns.numbers(f"{prefix}p{k}", 0.0) for k in range(len(names))])
        return self._widened(probs)

    def _widened(self, probs: Floats) -> NDArray[np.float32]:
        """Return probabilities in as many columns as the scale has grades."""
        n_grades = max(self.n_grades or 0, probs.shape[1])
        if n_grades > probs.shape[1] and self.said.get("is_uniform"):
            return np.full((len(probs), n_grades), 1.0 / n_grades, dtype=np.float32)
        return np.pad(probs, ((0, 0), (0, n_grades - probs.shape[1]))).astype(np.float32)


class _Columns:
    """The columns of a partition in the order of its pool."""

    def __init__(self, table: Any, order: Ints, offsets: Ints) -> None:
        self._table, self._order, self._offsets = table, order, offsets

    def __contains__(self, name: str) -> bool:
        return name in self._table.column_names

    def numbers(self, name: str, default: float, *, empty: float | None = None) -> Floats:
        """Return a column of numbers, shape (n_items,); ``empty`` is what an empty cell stands for.

        Raises
        ------
        InputError
            Where a cell is empty that must not be, or is no number.
        """
        if name not in self:
            return np.full(self._order.size, default)
        column = self._table.column(name)
        try:
            values = column.to_numpy().astype(np.float64)
        except (TypeError, ValueError):
            raise InputError(f"column {name} holds {column.type}, expected numbers") from None
        is_empty = column.is_null().to_numpy()
        if (np.isnan(values) & ~is_empty).any():
            raise InputError(f"column {name} holds NaN: expected numbers{'' if empty is None else ', or empty cells'}")
        if empty is None and is_empty.any():
            raise InputError(f"column {name} has empty cells, expected numbers")
        return np.asarray(values[self._order])

    def of_queries(self, name: str, default: float, ids: Texts) -> Floats:
        """Return a column whose rows say the same of each query, shape (n_queries,)."""
        values = self.numbers(name, default)
        firsts = values[self._offsets[:-1]]
        differs = values != np.repeat(firsts, np.diff(self._offsets))
        if differs.any():
            query = ids[int(np.searchsorted(self._offsets, np.flatnonzero(differs)[0], side="right")) - 1]
            raise InputError(f"column {name} says two things of query {shown(str(query))}")
        return firsts

    def whole(self, name: str) -> Ints | None:
        """Return a column of grades, −1 where a cell is empty; None where there is none."""
        if name not in self:
            return None
        values = self.numbers(name, -1.0, empty=-1.0)
        values = np.where(np.isnan(values), -1.0, values)
        if (values != np.floor(values)).any():
            raise InputError(f"column {name} holds {values[values != np.floor(values)][0]:g}, expected whole grades")
        return values.astype(np.int64)


def _is_numbered(name: str, letter: str) -> bool:
    return name[:1] == letter and name[1:].isdigit()


def _parts(path: str) -> list[PartKey]:
    """Return the parts of a file that tasks take: row groups that follow each other, up to `_AT_ONCE` rows."""
    with opened(path) as file:
        sizes = [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)]
    if sum(sizes) <= _AT_ONCE:
        return [PartKey(path, ())]
    starts, n = [0], 0
    for k, size in enumerate(sizes):
        if n and n + size > _AT_ONCE:
            starts, n = [*starts, k], 0
        n += size
    return [PartKey(path, tuple(range(a, b))) for a, b in zip(starts, [*starts[1:], len(sizes)], strict=True)]


def _codes(table: Any) -> tuple[Texts, Ints]:
    """Return the query ids in their order, and the number of each row's query among them."""
    import pyarrow as pa

    column = table.column("query_id")
    if column.null_count:
        raise InputError("column query_id has empty cells")
    coded = column.cast(pa.string()).combine_chunks().dictionary_encode()
    ids = coded.dictionary.to_pylist()
    order = sorted(range(len(ids)), key=ids.__getitem__)
    rank = np.empty(len(ids), dtype=np.int64)
    rank[order] = np.arange(len(ids))
    return Texts.from_list([ids[k] for k in order]), rank[coded.indices.to_numpy()]


def _texts(table: Any, name: str) -> Texts:
    """Return a column of texts, its bytes as they lie."""
    import pyarrow as pa

    column = table.column(name)
    if column.null_count:
        raise InputError(f"column {name} has empty cells")
    whole = pa.concat_arrays(column.cast(pa.large_string()).chunks)
    _, offsets, data = whole.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[whole.offset : whole.offset + len(whole) + 1]
    held = np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]] if data is not None else np.empty(0, np.uint8)
    return Texts(held, ends - ends[0])


def _by_hash(ids: Texts, offsets: Ints, docs: Texts) -> Ints:
    """Return the items of each query in the order of their hashes: that of rows is chance."""
    pool = QueryPool(ids, offsets, docs)
    return np.lexsort((pool_hashes(pool)[1], pool.item_queries))
