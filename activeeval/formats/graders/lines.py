"""Read graders' tables of millions of JSON lines with polars.

Python objects for three million lines take a minute and twice the memory; polars reads a block of bytes into only the
columns in use. It checks less: it does not report a key that occurs twice in an object, and takes an id that is true
or 12.5 as text. Any file that it cannot read completely goes to the reader of tables, which names the line.
"""

from __future__ import annotations

import io
import os
from collections.abc import Container, Iterator
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from activeeval.core.pool.texts import LONGEST_ID, Texts
from activeeval.core.types import Bytes
from activeeval.formats.files import open_bytes, open_lines, release_pages
from activeeval.formats.graders.grade_tables import GRADE, SCORE
from activeeval.formats.graders.replies import Names, Replies
from activeeval.formats.loading import DOCUMENT, QUERY, distribution_columns
from activeeval.formats.suffixes import PathLike
from activeeval.formats.tables.sheets import Sheet

_BLOCK = 1 << 22
_NEWLINE = 10
_FEW = ("model", "prompt_version")
_LEFT_OUT = ("explanation", "sample", "judge_kind", "judge", "prompt")
"""Columns that only the reader of tables supports."""


class _Ids:
    """A column of ids that is filled block by block, in memory whose unfilled pages cost nothing."""

    def __init__(self, n_bytes: int, n_lines: int) -> None:
        """Reserve room for ids of at most ``n_bytes`` bytes in all, on at most ``n_lines`` lines."""
        self._room = np.empty(n_bytes, dtype=np.uint8)
        self._offsets = np.zeros(n_lines + 1, dtype=np.int64)

    def take(self, column: pl.Series, start: int) -> bool:
        """Store the ids of rows from row `start` on; return True if all are present, not too long and without NUL."""
        if column.null_count():
            return False
        letters = str(column.str.join("").item()).encode()
        lengths = column.str.len_bytes().to_numpy()
        ends, first = self._offsets[start + 1 : start + 1 + lengths.size], self._offsets[start]
        np.cumsum(lengths, out=ends)
        ends += first
        self._room[first : ends[-1]] = np.frombuffer(letters, dtype=np.uint8)
        return b"\0" not in letters and int(lengths.min()) > 0 and int(lengths.max()) <= LONGEST_ID

    def texts(self, n_rows: int) -> Texts:
        """Trim the arrays to the first rows, and return the ids."""
        self._room.resize(int(self._offsets[n_rows]), refcheck=False)
        self._offsets.resize(n_rows + 1, refcheck=False)
        return Texts(self._room, self._offsets)


class _CategoryColumn:
    """A column of few distinct texts that is filled block by block."""

    def __init__(self, n_lines: int) -> None:
        """Reserve room for at most ``n_lines`` texts."""
        self._names: dict[str, str] = {}
        self._texts = np.empty(n_lines, dtype=object)

    def take(self, column: pl.Series, start: int) -> None:
        """Store the texts of rows from row `start` on, each distinct text once in memory."""
        filled = column.fill_null("")
        kinds = filled.unique()
        places = filled.replace_strict(kinds, pl.Series(range(kinds.len()), dtype=pl.UInt32), return_dtype=pl.UInt32)
        names = [self._names.setdefault(name, name) for name in kinds.to_list()]
        self._texts[start : start + column.len()] = np.array(names, dtype=object)[places.to_numpy()]

    def texts(self, n_rows: int) -> Names:
        """Return the texts of the first rows."""
        return self._texts[:n_rows]


class _Table:
    """The columns of a file, filled block by block."""

    def __init__(self, query: str, doc: str, value: str, columns: Container[str], n_bytes: int, n_lines: int) -> None:
        """Reserve room for the columns ``query``, ``doc`` and ``value``, and the optional ones among ``columns``.

        ``n_bytes`` and ``n_lines`` are the size of the file and an upper bound of its number of lines.
        """
        self._ids = {name: _Ids(n_bytes, n_lines) for name in (query, doc)}
        self._few = {name: _CategoryColumn(n_lines) for name in _FEW if name in columns}
        self._numbers = {name: np.empty(n_lines) for name in (value, "cost") if name in columns}
        self._schema: dict[str, Any] = dict.fromkeys((*self._ids, *self._few), pl.String)
        self._schema |= dict.fromkeys(self._numbers, pl.Float64)
        self._value, self._n_rows = value, 0

    def take(self, block: bytes) -> bool:
        """Store the rows of a block of lines; return True if all ids are valid."""
        frame, start = pl.read_ndjson(io.BytesIO(block), schema=self._schema), self._n_rows
        for name, numbers in self._numbers.items():
            numbers[start : start + frame.height] = frame[name].fill_null(np.nan).to_numpy()
        for name, few in self._few.items():
            few.take(frame[name], start)
        self._n_rows += frame.height
        return all(ids.take(frame[name], start) for name, ids in self._ids.items())

    def replies(self, path: PathLike) -> Replies:
        """Build replies of all stored rows; a negative grade is a missing reply, a negative score is valid."""
        query_ids, doc_ids = (ids.texts(self._n_rows) for ids in self._ids.values())
        numbers = {name: column[: self._n_rows] for name, column in self._numbers.items()}
        texts = {name: column.texts(self._n_rows) for name, column in self._few.items()}
        values = numbers[self._value]
        return Replies(
            query_ids=query_ids,
            doc_ids=doc_ids,
            values=np.where(values < 0, np.nan, values) if self._value in GRADE else values,
            costs=numbers.get("cost"),
            models=texts.get("model"),
            prompt_versions=texts.get("prompt_version"),
            line_of=partial(_line_of, path),
            source=os.fspath(path),
        )


def fast_replies(path: PathLike, first: Sheet) -> Replies | None:
    """Read replies from JSON lines with polars; None if the file needs the reader of tables.

    Parameters
    ----------
    first : Sheet
        The first rows of the file, whose keys are its columns.
    """
    names = _columns(first)
    if names is None:
        return None
    data, n_lines = open_lines(path)
    table = _Table(*names, first.columns, data.size, n_lines)
    try:
        is_plain = all(table.take(block) for block in _blocks(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    return table.replies(path) if is_plain else None


def _columns(first: Sheet) -> tuple[str, str, str] | None:
    """Find the columns of queries, documents and values in the first rows; None unless the table is a plain one.

    A plain table has one column of values, no probabilities, and only columns that `_Table` supports.
    """
    columns = set(first.columns)
    values = [name for name in (*GRADE, *SCORE) if name in columns]
    query = next((name for name in QUERY if name in columns), None)
    doc = next((name for name in DOCUMENT if name in columns), None)
    is_plain = len(values) == 1 and not distribution_columns(first) and columns.isdisjoint(_LEFT_OUT)
    if query is None or doc is None or not is_plain:
        return None
    ids = {type(cell) for name in (query, doc) for cell in first.columns[name]}
    return (query, doc, values[0]) if ids <= {str, int} else None


def _blocks(data: Bytes) -> Iterator[bytes]:
    """Yield the data in blocks of whole lines, and release each block's memory."""
    start = 0
    while start < data.size:
        stop = min(start + _BLOCK, data.size)
        while stop < data.size and data[stop - 1] != _NEWLINE:
            rest = np.flatnonzero(data[stop : stop + _BLOCK] == _NEWLINE)
            stop = stop + int(rest[0]) + 1 if rest.size else min(stop + _BLOCK, data.size)
        yield data[start:stop].tobytes()
        release_pages(data, start, stop)
        start = stop


def _line_of(path: PathLike, row: int) -> int:
    """Find the line number of a row, as rows exclude empty lines."""
    lines = open_bytes(path).tobytes().split(b"\n")
    return [number for number, line in enumerate(lines, start=1) if line.strip()][row]
