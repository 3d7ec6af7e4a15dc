"""A pool in parquet files: the columns, and conversion of a partition to a chunk.

| column | content |
|---|---|
| query_id, doc_id | text; all rows of a query are in one partition, in any order |
| rank:NAME or score:NAME | of each run; empty if the run does not list the document |
| p0, p1, … | grade probabilities; of further models m1:p0, … |
| f0, f1, … | instead: features, from which a grade model sent with the task predicts the probabilities |
| grade | known grade; empty or below 0 if unknown |
| cost, query_cost, traffic | cost of judging the document, overhead of opening the query, number of searches; 1, 0, 1 |
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
"""Largest number of rows of a task, if row groups hold whole queries."""


class PartKey(NamedTuple):
    """A partition: a file, and the numbers of its row groups (all of them if empty)."""

    path: str
    groups: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartitionedPool:
    """Pool in parquet files.

    Attributes
    ----------
    files : tuple of str
    runs : tuple of str
        Selected runs: the evaluated one, the baseline, and further ones.
    said : dict
        Metadata that `activeeval pool write` stored: the scale, the model and its query factor, the depth of lists.
    columns : tuple of str
        Columns of the first file, which every file must have.
    n_grades : int or None
        Number of grades; None: number of columns of the probabilities.
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
        """Open the pool of a file pattern, with some of its runs or, by default, all.

        Raises
        ------
        InputError
            If no file matches, or a run is unknown.
        FormatError
            If a file is not a partition of a pool.
        """
        files = listed(pattern)
        with opened(files[0]) as file:
            columns, said = tuple(file.schema_arrow.names), said_of(files[0], file)
        lacking = [name for name in ("query_id", "doc_id") if name not in columns]
        if lacking:
            raise FormatError(files[0], None, f"lacks the column {lacking[0]}, expected a partition of a pool")
        run_names = list(dict.fromkeys(names_of(columns, RANK) + names_of(columns, SCORE)))
        if not run_names:
            raise FormatError(files[0], None, f"has no run: expected a column {RANK}NAME or {SCORE}NAME")
        for name in runs:
            if name not in run_names:
                stem = name.rpartition(".")[0]
                meant = f"did you mean {stem}? " if stem in run_names else did_you_mean(name, run_names)
                text = f"{pattern}: holds no run {shown(name)}; {meant}there are {', '.join(run_names)}"
                raise InputError(text, field="runs")
        return cls(files=tuple(files), runs=tuple(runs) or tuple(run_names), said=said, columns=columns)

    def for_scale(self, n_grades: int) -> PartitionedPool:
        """Set the number of grades; grades that a model has not seen have probability 0."""
        return replace(self, n_grades=n_grades)

    def predicted_by(self, model: Any) -> PartitionedPool:
        """Set a fitted model that predicts grade probabilities when a partition is read; InputError if no features."""
        if not self._features:
            raise InputError(f"{self.files[0]}: has no features: expected columns f0, f1, …")
        return replace(self, model=model)

    def keys(self) -> list[PartKey]:
        """List the partitions: files, or row groups of them if the metadata says that these hold whole queries."""
        if not self.said.get("whole_groups"):
            return [PartKey(path, ()) for path in self.files]
        return [key for path in self.files for key in _parts(path)]

    def name(self, number: int, key: PartKey) -> str:
        """Name a partition for messages."""
        return f"{key.path}, row groups {key.groups[0]} to {key.groups[-1]}" if key.groups else key.path

    def state(self, key: PartKey) -> bytes:
        """Return size and time of a partition's file as bytes, to detect a replacement."""
        return state_of(key.path)

    def query_name(self, partition: int, query: int) -> str:
        """Return the quoted id of a query, by the numbers of its partition and of the query, for messages."""
        return shown(str(self.read(self.keys()[partition]).pool.query_texts[query]))

    def read(self, key: PartKey) -> Chunk:
        """Read a partition.

        Raises
        ------
        InputError
            If it is truncated, of another schema, empty, or holds invalid values.
        """
        with opened(key.path) as file:
            self._check(key.path, file)
            table = file.read_row_groups(list(key.groups or range(file.num_row_groups)), columns=self._needed)
        return self._chunk(key.path, table)

    def read_some(self, key: PartKey, queries: Ints) -> Chunk:
        """Read some queries of a partition by their ascending numbers in `read`'s chunk, from their row groups only.

        InputError is raised as by `read` (truncated file, other schema, invalid values), and if there is no such query.
        """
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
        """Names of the columns to read."""
        wanted = {"query_id", "doc_id", "grade", "cost", "query_cost", "traffic"}
        wanted |= {f"{kind}{name}" for kind in (RANK, SCORE) for name in self.runs}
        wanted |= {*(self._of_models if self.model is None else self._features)}
        return [name for name in self.columns if name in wanted]

    @property
    def _of_models(self) -> list[str]:
        """Names of the probability columns of all models."""
        return [name for name in self.columns if _is_numbered(name.rpartition(":")[2], "p")]

    @property
    def _features(self) -> list[str]:
        """Names of the feature columns, in numerical order."""
        return sorted((name for name in self.columns if _is_numbered(name, "f")), key=lambda name: int(name[1:]))

    def _check(self, path: str, file: Any) -> None:
        """Raise InputError if the file at `path` lacks a column of the first, has other metadata, or has no rows."""
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
        """Convert the rows of an Arrow table to a chunk, queries sorted by id, items by hash; raises InputError."""
        ids, of_rows = _codes(table)  # sorted query ids; number of each row's query
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
        """Build the ranking of a run from its ranks or scores; raise InputError on equal ranks."""
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
        """Compute the probabilities of each model, shape (n_items, n_grades), padded to the grades of the scale."""
        if self.model is not None:
            features = np.column_stack([columns.numbers(name, 0.0) for name in self._features])
            return [self._widened(np.asarray(self.model.predict_proba(features)))]
        prefixes = list(dict.fromkeys(name.rpartition(":")[0] for name in self._of_models))
        return [self._of_model(columns, f"{prefix}:" if prefix else "") for prefix in sorted(prefixes)]

    def _of_model(self, columns: _Columns, prefix: str) -> NDArray[np.float32]:
        """Read the probability columns of one model, whose names have a prefix, as "m1:"."""
        names = [name for name in self._of_models if name.rpartition(":")[0] == prefix.rstrip(":")]
        probs = np.column_stack([columns.numbers(f"{prefix}p{k}", 0.0) for k in range(len(names))])
        return self._widened(probs)

    def _widened(self, probs: Floats) -> NDArray[np.float32]:
        """Pad probabilities to the grades of the scale with 0; uniform ones become uniform over the scale."""
        n_grades = max(self.n_grades or 0, probs.shape[1])
        if n_grades > probs.shape[1] and self.said.get("is_uniform"):
            return np.full((len(probs), n_grades), 1.0 / n_grades, dtype=np.float32)
        return np.pad(probs, ((0, 0), (0, n_grades - probs.shape[1]))).astype(np.float32)


class _Columns:
    """Columns of a partition, sorted like its pool: `order` has the rows, `offsets` the start of each query."""

    def __init__(self, table: Any, order: Ints, offsets: Ints) -> None:
        """Store the table, the order of its rows and the offsets of queries."""
        self._table, self._order, self._offsets = table, order, offsets

    def __contains__(self, name: str) -> bool:
        """Check whether a column exists."""
        return name in self._table.column_names

    def numbers(self, name: str, default: float, *, empty: float | None = None) -> Floats:
        """Read a numeric column, shape (n_items,); ``default`` if it is missing, ``empty`` for empty cells.

        Raises
        ------
        InputError
            If a cell is not a number, or empty without ``empty``.
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
        """Read a column, else `default`, shape (n_queries,); raise InputError if a query (of `ids`) has two values."""
        values = self.numbers(name, default)
        firsts = values[self._offsets[:-1]]
        differs = values != np.repeat(firsts, np.diff(self._offsets))
        if differs.any():
            query = ids[int(np.searchsorted(self._offsets, np.flatnonzero(differs)[0], side="right")) - 1]
            raise InputError(f"column {name} has two values for query {shown(str(query))}")
        return firsts

    def whole(self, name: str) -> Ints | None:
        """Read grades, shape (n_items,), −1 for empty cells; None without the column; InputError if not whole."""
        if name not in self:
            return None
        values = self.numbers(name, -1.0, empty=-1.0)
        values = np.where(np.isnan(values), -1.0, values)
        if (values != np.floor(values)).any():
            raise InputError(f"column {name} holds {values[values != np.floor(values)][0]:g}, expected whole grades")
        return values.astype(np.int64)


def _is_numbered(name: str, letter: str) -> bool:
    """Check whether a name is a letter followed by a number."""
    return name[:1] == letter and name[1:].isdigit()


def _parts(path: str) -> list[PartKey]:
    """Split a file into partitions: runs of consecutive row groups of at most 2^20 rows each."""
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
    """Return sorted query ids, and each row's query number, shape (n_rows,); raise InputError on empty cells."""
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
    """Read a text column as Texts (bytes and offsets, Arrow's buffers, not copied); raise InputError on empty cells."""
    import pyarrow as pa

    column = table.column(name)
    if column.null_count:
        raise InputError(f"column {name} has empty cells")
    whole = pa.concat_arrays(column.cast(pa.large_string()).chunks)
    _, offsets, data = whole.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[whole.offset : whole.offset + len(whole) + 1]
    data_used = np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]] if data is not None else np.empty(0, np.uint8)
    return Texts(data_used, ends - ends[0])


def _by_hash(ids: Texts, offsets: Ints, docs: Texts) -> Ints:
    """Sort the items of each query by hash, so that the result does not depend on the order of rows."""
    pool = QueryPool(ids, offsets, docs)
    return np.lexsort((pool_hashes(pool)[1], pool.item_queries))
