"""Read learning-to-rank files: ``<grade> qid:<query> 1:<v> 2:<v> … #docid = <id>``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.checks import LARGEST_GRADE, first_above
from activeeval.core.errors import FormatError, InputError, shown
from activeeval.core.kernels.text import letor as letor_text
from activeeval.core.pool import QueryPool
from activeeval.core.pool.keys import first_repeated_pair
from activeeval.core.pool.texts import Texts, joined_texts
from activeeval.core.types import Bytes, Floats, Ints
from activeeval.formats.files import fill_exactly, line_of, open_lines, span_texts, token_at
from activeeval.formats.suffixes import PathLike

_MOST_ZEROS, _MOST_A_BYTE = 1 << 25, 100
"""Limits of the number of values of a file, in all and for each of its bytes; the larger one applies. Sparse texts with
a feature for each word (rcv1: 47,236 features, a kilobyte a line) need 50 a byte, dense lines less than one."""
_LINE = "<grade> qid:<query> <index>:<value> …"
_SLOW_ROOM = 1 << 16
_HEAD = 1 << 16
"""Bytes at the start of a file that are searched for the number of features; if later lines have more, all are."""


@dataclass(frozen=True, slots=True, eq=False)
class LetorData:
    """Rows of LETOR files, one a document, files concatenated.

    Attributes
    ----------
    grades : ndarray of int64, shape (n_items,)
    query_ids : Texts, shape (n_queries,)
    query_offsets : ndarray of int64, shape (n_queries + 1,)
        Start of each query's rows.
    item_ids : Texts, shape (n_items,), or None
        None if the files have no document ids.
    features : ndarray of float64, shape (n_items, n_features), or None
        An index missing in a line is 0, the text NULL is NaN. None if not requested.
    file_offsets : ndarray of int64, shape (n_files + 1,)
        Start of each file's rows.
    paths : tuple of str
        The files, in order.
    """

    grades: Ints
    query_ids: Texts
    query_offsets: Ints
    item_ids: Texts | None
    features: Floats | None
    file_offsets: Ints
    paths: tuple[str, ...]

    @property
    def n_items(self) -> int:
        """Number of rows."""
        return self.grades.size

    def pool(
        self,
        item_costs: ArrayLike | None = None,
        query_costs: ArrayLike | None = None,
        query_probs: ArrayLike | None = None,
    ) -> QueryPool:
        """Build a pool of the queries and documents, with items in the order of the rows."""
        return QueryPool(self.query_ids, self.query_offsets, self.item_ids, item_costs, query_costs, query_probs)

    def judgments(self) -> Ints:
        """Return the grades of the pool's items, shape (n_items,)."""
        return self.grades


@dataclass(slots=True)
class _File:
    """Rows of one file while it is read; spans (start, stop) are byte positions in its data.

    Attributes
    ----------
    queries : ndarray of int64, shape (n_queries, 3)
        First row of each query, and the span of its id.
    documents : ndarray of int64, shape (n_rows, 2)
        Span of each document's id; −1 without one.
    """

    path: str
    data: Bytes
    grades: Ints
    queries: Ints
    documents: Ints

    def line(self, place: int) -> int:
        """Find the line number of a byte position."""
        return line_of(self.data, int(place))


def read_letor(paths: PathLike | Sequence[PathLike], features: bool = True) -> LetorData:
    r"""Read LETOR files as one data set.

    Parameters
    ----------
    paths : path or sequence of paths
        Plain or gzip. A query's lines must be contiguous over the whole input.
    features : bool
        Read the feature values; if False, the pairs are skipped without checks.

    Raises
    ------
    FormatError
        ``path:line: what is wrong``: a grade that is not an integer, a line without ``qid:``, indices
        that do not increase, a value that is not a finite number, a query whose lines are not
        together, a document twice in a query.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     letor = pathlib.Path(folder, "S1.txt")
    ...     _ = letor.write_text("2 qid:1 1:0.5 2:0.1 # docid = a\n0 qid:1 1:0.2 2:0.9 # docid = b\n")
    ...     data = read_letor(letor)
    >>> data.grades, data.features.shape, data.pool().n_queries
    (array([2, 0]), (2, 2), 1)
    """
    names = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not names:
        raise InputError("read_letor was given no file")
    contents, n_lines = zip(*(open_lines(path) for path in names), strict=True)
    width = max(int(letor_text.widest_index(data[:_HEAD])) for data in contents) if features else 0
    parts_and_values = _read_parts(names, contents, n_lines, width, features, is_guess=features)
    if parts_and_values is None:  # a line beyond the first block has more features
        width = max(int(letor_text.widest_index(data)) for data in contents)
        parts_and_values = _read_parts(names, contents, n_lines, width, features)
        assert parts_and_values is not None
    parts, values = parts_and_values
    n_rows = len(values)
    query_ids, query_offsets = _queries(parts, n_rows)
    item_ids = _documents(parts, query_ids, query_offsets)
    file_offsets = np.concatenate(([0], np.cumsum([part.grades.size for part in parts]))).astype(np.int64)
    grades = np.concatenate([part.grades for part in parts])
    table = values if features else None
    for array in (grades, query_offsets, table, file_offsets):
        if array is not None:
            array.setflags(write=False)
    return LetorData(
        grades, query_ids, query_offsets, item_ids, table, file_offsets, tuple(os.fspath(path) for path in names)
    )


def feature_counts(paths: Sequence[PathLike]) -> list[int]:
    """Find the largest feature index of each file; `read_letor` fills features that a file lacks with 0."""
    return [int(letor_text.widest_index(open_lines(path)[0])) for path in paths]


def row_place(data: LetorData, row: int) -> str:
    """Find ``path:line`` of a row by reading its file again; for messages only."""
    file = int(np.searchsorted(data.file_offsets, row, side="right")) - 1
    content = open_lines(data.paths[file])[0]
    return f"{data.paths[file]}:{_line_of_row(content, row - int(data.file_offsets[file]))}"


def _read_parts(
    names: Sequence[PathLike],
    contents: Sequence[Bytes],
    n_lines: Sequence[int],
    width: int,
    features: bool,
    is_guess: bool = False,
) -> tuple[list[_File], Floats] | None:
    """Read all files' rows and features; None if `width` (number of features) was a guess and too small.

    ``contents`` are the bytes of the files ``names``, with at most ``n_lines`` lines each. Returns the rows by file,
    and the features of all, shape (n_rows, width).
    """
    values = _room(sum(n_lines), width, sum(data.size for data in contents), names)
    parts: list[_File] = []
    n_rows = 0
    for path, data, n in zip(names, contents, n_lines, strict=True):
        part = _read_part(os.fspath(path), data, n, values[n_rows : n_rows + n], features, is_guess)
        if part is None:
            return None
        parts.append(part)
        n_rows += part.grades.size
    return parts, values[:n_rows]


def _room(n_lines: int, n_features: int, n_bytes: int, names: Sequence[PathLike]) -> Floats:
    """Allocate the table of features, shape (n_lines, n_features); raise InputError if it is too large."""
    try:
        # zeros are untouched pages: blank lines take no memory
        room = np.zeros((n_lines, n_features))
    except (MemoryError, ValueError):
        size = n_lines * n_features * 8 / 2**30
        raise InputError(
            f"{os.fspath(names[0])}: {n_lines} lines of {n_features} features need {size:.1f} GB, more than there is"
        ) from None
    if room.size > max(_MOST_ZEROS, _MOST_A_BYTE * n_bytes):
        left_out = f"{n_lines} lines of {n_features} features have almost only zeros"
        raise InputError(f"{os.fspath(names[0])}: {left_out}, expected at most {_MOST_A_BYTE} for each byte")
    return room


def _read_part(path: str, data: Bytes, n_lines: int, values: Floats, features: bool, is_guess: bool) -> _File | None:
    """Read one file's rows; None if the number of features was a guess and too small.

    ``values`` (n_lines, n_features) receives the features. ``state`` of the kernel: byte position, number of rows, of
    queries, and of numbers for `fill_exactly` in this block.
    """
    grades = np.empty(n_lines, dtype=np.int64)
    queries = np.empty((n_lines, 3), dtype=np.int64)
    documents = np.empty((n_lines, 2), dtype=np.int64)
    slow = np.empty((_SLOW_ROOM + values.shape[1], 3), dtype=np.int64)
    state = np.zeros(4, dtype=np.int64)
    while state[0] < data.size:
        state[3] = 0
        code, place = letor_text.read_letor_rows(data, state, features, grades, queries, documents, values, slow)
        fill_exactly(path, data, values, slow[: state[3]], "value")
        if code == letor_text.BAD_ORDER and is_guess:
            return None
        if code != letor_text.FINE:
            _complain(path, data, int(code), int(place))
    n_rows, n_queries = int(state[1]), int(state[2])
    if n_rows == 0:
        raise FormatError(path, None, f"no data lines, expected {_LINE}")
    part = _File(path, data, grades[:n_rows], queries[:n_queries], documents[:n_rows])
    bad = first_above(part.grades, LARGEST_GRADE)
    if bad >= 0:
        problem = f"the grade {part.grades[bad]} is too large, expected at most {LARGEST_GRADE}"
        raise FormatError(path, _line_of_row(part.data, bad), problem)
    return part


def _complain(path: str, data: Bytes, code: int, place: int) -> NoReturn:
    """Raise FormatError about the token, at the byte ``place``, at which a kernel stopped for the reason ``code``."""
    token = token_at(data, place)
    if code == letor_text.BAD_GRADE:
        problem = f"the grade {token} is not a whole number from 0 on, expected {_LINE}"
    elif code == letor_text.NO_QUERY:
        problem = f"no query id at {token}, expected {_LINE}"
    elif code == letor_text.BAD_PAIR:
        problem = f"{token} is not a feature, expected <index>:<value> with an index from 1 on"
    elif code == letor_text.BAD_ORDER:
        problem = f"the feature {token} is out of order, expected indices from 1 on that increase along the line"
    else:
        problem = f"the value of feature {token} is not a finite number, expected a number or NULL"
    raise FormatError(path, line_of(data, place), problem)


def _queries(parts: list[_File], n_rows: int) -> tuple[Texts, Ints]:
    """Join the queries of the files; return their ids, and the first row of each with ``n_rows`` at the end.

    The lines of a query may continue in the next file.
    """
    names: list[str] = []
    starts: list[int] = []
    seen: dict[str, tuple[_File, int]] = {}
    row = 0
    for part in parts:
        # ``queries`` has the first row of each query in its file, and the first byte and the end of its id
        texts = span_texts(part.path, part.data, part.queries[:, 1:]).tolist()
        for name, (first, place, _) in zip(texts, part.queries.tolist(), strict=True):
            if names and names[-1] == name:
                continue
            if name in seen:
                before, place_before = seen[name]
                problem = (
                    f"query {shown(name)} has lines in two places, first at {before.path}:{before.line(place_before)}"
                )
                raise FormatError(part.path, part.line(place), f"{problem}; expected a query's lines together")
            seen[name] = (part, place)
            names.append(name)
            starts.append(row + first)
        row += part.grades.size
    return Texts.from_list(names), np.array([*starts, n_rows], dtype=np.int64)


def _documents(parts: list[_File], query_ids: Texts, query_offsets: Ints) -> Texts | None:
    """Read the document ids, None if the files have none; raise FormatError if one is missing or repeats in a query."""
    has_id = [part.documents[:, 0] >= 0 for part in parts]
    if not any(mask.any() for mask in has_id):
        return None
    for part, mask in zip(parts, has_id, strict=True):
        if not mask.all():
            raise FormatError(
                part.path,
                _line_of_row(part.data, int(np.argmin(mask))),
                "no document id, expected '#docid = <id>' as on other lines",
            )
    item_ids = joined_texts([span_texts(part.path, part.data, part.documents) for part in parts])
    repeated = first_repeated_pair(Texts(query_ids.data, query_ids.offsets, query_offsets), item_ids)
    if repeated is not None:
        first, second = (_place_of_row(parts, row) for row in repeated)
        problem = f"document {shown(item_ids[repeated[1]])} is twice in its query, first at {first[0]}:{first[1]}"
        raise FormatError(second[0], second[1], f"{problem}; expected it once")
    return item_ids


def _line_of_row(data: Bytes, row: int) -> int:
    """Find the line of a row of one file by splitting it into lines; for messages only."""
    seen = -1
    for number, line in enumerate(data.tobytes().split(b"\n"), start=1):
        if line.strip() and not line.startswith(b"#"):
            seen += 1
            if seen == row:
                return number
    raise AssertionError("a row without a line")


def _place_of_row(parts: list[_File], row: int) -> tuple[str, int]:
    """Find the file and line of a row."""
    for part in parts:
        if row < part.grades.size:
            return part.path, part.line(int(part.documents[row, 0]))
        row -= part.grades.size
    raise AssertionError("a row without a file")
