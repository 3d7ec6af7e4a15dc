"""Read lines of columns separated by white space, the common form of score, run and judgment files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import NoReturn

import numpy as np

from activeeval.core.checks import LARGEST_GRADE, first_above
from activeeval.core.errors import FormatError, shown
from activeeval.core.kernels import checks
from activeeval.core.kernels.text import bytes as texts, columns as columns_text
from activeeval.core.pool.keys import first_repeated_pair
from activeeval.core.pool.texts import LONGEST_ID, Texts
from activeeval.core.types import Bytes, Floats, Ints
from activeeval.formats.files import (
    check_lengths,
    fill_exactly,
    line_of,
    line_text,
    open_lines,
    release_pages,
    token_at,
)
from activeeval.formats.suffixes import PathLike

_LARGEST_WHOLE = 2.0**53
_KINDS = {
    "-": columns_text.LEFT_OUT,
    "t": columns_text.TEXT,
    "q": columns_text.TEXT,
    "1": columns_text.TEXT,
    "n": columns_text.NUMBER,
    "*": columns_text.REST,
}
_SLOW_ROOM = 1 << 16
_BLOCK = 1 << 14
_PAST = 1 << 24
"""Bytes of a mapped file that are read before their memory is released."""
_BLANKS = bytes(range(33))


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The rows of one file: its text columns, and its number columns, shape (n_numbers, n_rows).

    `n_longer` counts rows with more columns than expected. `tiny`, shape (k, 3), lists the numbers that are not 0 but
    below the smallest normal float: flat position in the number columns of `room` rows each, start and stop in `data`.
    """

    path: str
    data: Bytes
    texts: list[Texts]
    numbers: Floats
    n_longer: int = 0
    tiny: Ints | None = None
    room: int = 0

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        n_rows: int = self.numbers.shape[1]
        return n_rows

    def floats(self, k: int) -> Floats:
        """Return the k-th number column, shape (n_rows,)."""
        values: Floats = self.numbers[k]
        return values

    def tiny_texts(self, k: int) -> dict[int, str]:
        """Collect, by row, the texts of the k-th number column that are not 0 but below the smallest normal float."""
        if self.tiny is None or not self.tiny.size:
            return {}
        # their places count through all columns, of ``room`` rows each
        rows = self.tiny[self.tiny[:, 0] // self.room == k]
        view = self.data.data
        return {place % self.room: view[start:stop].tobytes().decode("ascii") for place, start, stop in rows.tolist()}

    def wholes(self, k: int, what: str) -> Ints:
        """Return the k-th number column as integers; raise FormatError with the line of any other number."""
        values = self.numbers[k]
        bad = int(checks.first_not_whole(values, _LARGEST_WHOLE))
        if bad >= 0:
            self.fail(bad, f"the {what} {float(values[bad])!r} is not a whole number, expected one")
        wholes: Ints = values.view(np.int64)
        for start in range(0, values.size, _BLOCK):  # converted in place, as the floats are not needed again
            wholes[start : start + _BLOCK] = values[start : start + _BLOCK].astype(np.int64)
        return wholes

    def grades(self, k: int) -> Ints:
        """Return the k-th number column as grades; raise FormatError with the line of an invalid one."""
        grades = self.wholes(k, "grade")
        bad = first_above(grades, LARGEST_GRADE)
        if bad >= 0:
            self.fail(bad, f"the grade {grades[bad]} is too large, expected at most {LARGEST_GRADE}")
        return grades

    def fail(self, row: int, problem: str) -> NoReturn:
        """Raise FormatError that names the line of a row."""
        raise FormatError(self.path, self.line(row), problem)

    def line(self, row: int) -> int:
        """Find the line number, from 1, of a row."""
        lines = self.data.tobytes().split(b"\n")
        numbers = (n for n, line in enumerate(lines, start=1) if line.translate(None, _BLANKS) and line[:1] != b"#")
        return next(islice(numbers, row, None))

    def words(self, row: int) -> list[str]:
        """Split the line of a row into its columns."""
        return self.data.tobytes().split(b"\n")[self.line(row) - 1].decode("utf-8", "replace").split()

    def pairs(self, hint: Callable[[int, int], str] = lambda first, again: "") -> tuple[Texts, Texts]:
        """Return the first two text columns, query and document; raise FormatError if a pair occurs twice.

        Parameters
        ----------
        hint : callable
            Builds the end of the error's message from both rows.
        """
        query_ids, doc_ids = self.texts[:2]
        repeated = first_repeated_pair(query_ids, doc_ids)
        if repeated is not None:
            first, again = repeated
            of = f"document {shown(doc_ids[again])} of query {shown(query_ids[again])}"
            problem = f"{of} is there twice, first at line {self.line(first)}; expected it once"
            self.fail(again, problem + hint(first, again))
        return query_ids, doc_ids


class _TextColumn:
    """A text column that is filled block by block; consecutive rows with the same query share one text."""

    def __init__(self, kind: str, data: Bytes, n_lines: int) -> None:
        """Reserve room for a column of ``kind`` of the file ``data`` with at most ``n_lines`` lines.

        Kind "t" stores each text, "q" one for a run of equal rows, "1" that of the first row only.
        """
        self._n_most = 1 if kind == "1" else n_lines
        # untouched pages: the part that is not filled takes no memory
        self._room = np.empty(data.size if kind != "1" else LONGEST_ID, dtype=np.uint8)
        self._offsets = np.zeros(self._n_most + 1, dtype=np.int64)
        self._starts = np.empty(n_lines + 1, dtype=np.int64) if kind == "q" else None
        self._n = 0

    def take(self, path: str, data: Bytes, spans: Ints, start: int) -> None:
        """Store the texts of the rows from row ``start`` on; ``path`` is the file that an error names.

        ``spans`` (n_rows, 2) are the first byte of each text in ``data`` and the one after its last.
        """
        spans = spans[: max(self._n_most - start, 0)]
        check_lengths(path, data, spans)
        if self._starts is not None:
            self._n = texts.append_runs(data, spans, self._room, self._offsets, self._starts, self._n, start)
        else:
            texts.append_spans(data, spans, self._room, self._offsets, self._n)
            self._n += len(spans)

    def texts(self) -> Texts:
        """Trim the arrays to the stored rows, and return the texts."""
        n_bytes = int(self._offsets[self._n])
        self._room.resize(n_bytes, refcheck=False)
        for ends in (self._offsets, self._starts):
            if ends is not None:
                ends.resize(self._n + 1, refcheck=False)
        return Texts(self._room, self._offsets, self._starts)


def read_columns(path: PathLike, kinds: str, expected: str) -> Columns:
    """Read the columns of a file line by line; skip blank lines and lines that start with ``#``.

    Parameters
    ----------
    kinds : str
        One letter a column: ``t`` text, ``q`` text that repeats in long runs, ``1`` text of which only the first row is
        stored, ``n`` finite number, ``-`` ignored; ``*`` at the end allows further columns, which are ignored.
    expected : str
        Names of the columns, for messages: ``query iteration document grade``.

    Raises
    ------
    FormatError
        ``path:line`` of a line with another number of columns or an invalid number.
    """
    data, n_lines = open_lines(path)
    name = os.fspath(path)
    texts = [_TextColumn(kind, data, n_lines) for kind in kinds if kind in "tq1"]
    numbers = np.empty((kinds.count("n"), n_lines))
    n_rows, n_longer, tiny = _read(name, data, kinds, expected, texts, numbers)
    if n_rows == 0:
        raise FormatError(name, None, f"no data lines, expected lines of: {expected}")
    columns = [column.texts() for column in texts]
    return Columns(name, data, columns, numbers[:, :n_rows], n_longer, tiny=tiny, room=n_lines)


def _read(
    path: str, data: Bytes, kinds: str, expected: str, texts: list[_TextColumn], numbers: Floats
) -> tuple[int, int, Ints]:
    """Fill the columns in blocks that fit the cache; return the number of rows, of longer rows, and tiny numbers.

    ``kinds`` has a letter for each column of the file, as `read_columns` explains, ``expected`` their names.
    ``state`` of the kernel: byte position, number of rows, of numbers for `fill_exactly` in this block, first row of
    the block, number of rows with more columns than expected.
    """
    codes = np.array([_KINDS[kind] for kind in kinds], dtype=np.int64)
    spans = np.empty((len(texts), _BLOCK, 2), dtype=np.int64)
    slow = np.empty((_SLOW_ROOM, 3), dtype=np.int64)
    state = np.zeros(5, dtype=np.int64)
    n_past, tiny = 0, [np.empty((0, 3), dtype=np.int64)]
    while state[0] < data.size:
        state[2], state[3] = 0, state[1]
        code, place = columns_text.read_column_rows(data, state, codes, spans, numbers, slow)
        tiny.append(fill_exactly(path, data, numbers, slow[: state[2]], "number"))
        if code != columns_text.FINE:
            _complain(path, data, int(code), int(place), kinds, expected)
        for column, of_column in zip(texts, spans, strict=True):
            column.take(path, data, of_column[: state[1] - state[3]], int(state[3]))
        if state[0] - n_past > _PAST:
            release_pages(data, n_past, int(state[0]))
            n_past = int(state[0])
    return int(state[1]), int(state[4]), np.concatenate(tiny)


def _complain(path: str, data: Bytes, code: int, place: int, kinds: str, expected: str) -> NoReturn:
    """Raise FormatError about the line at which a kernel stopped, for the reason ``code``, at the byte ``place``.

    ``kinds`` has a letter for each column, ``expected`` their names.
    """
    number = line_of(data, min(place, data.size - 1))
    if code == columns_text.BAD_NUMBER:
        problem = f"{token_at(data, place)} is not a finite number, expected: {expected}"
        raise FormatError(path, number, problem)
    line, n_columns = line_text(data, place), len(kinds.rstrip("*"))
    raise FormatError(path, number, f"{len(line.split())} columns in {shown(line)}, expected {n_columns}: {expected}")
