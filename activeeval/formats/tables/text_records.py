"""Split lines of text tables into cells, and check the names of their columns."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import Any

from activeeval.core.errors import FormatError, shown
from activeeval.formats.tables.cells import is_empty

_LONGEST_CELL = 2**31 - 1
INDEX_NAMES = ("", "unnamed: 0")
"""Names of the first column, in lower case, that pandas writes for the row numbers of a frame."""
MOST_COLUMNS = 1 << 16
"""Four times the columns of a spreadsheet; each takes half a kilobyte for its name, list and index entry."""


def unquoted_records(stream: Iterable[str], n_before: int) -> Iterator[tuple[int, list[str]]]:
    """Yield line numbers and cells of tab-separated lines, with quotation marks as ordinary characters.

    ``n_before`` is the number of lines of the file before the stream.
    """
    for line, text in enumerate(stream, start=1 + n_before):
        yield line, text.rstrip("\r\n").split("\t")


def quoted_records(name: str, stream: Iterable[str], separator: str, n_before: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each record's first line and its cells, with quoted cells unquoted.

    ``name`` is the file in messages, ``n_before`` the number of its lines before the stream.
    """
    csv.field_size_limit(_LONGEST_CELL)  # by default a text above 128 KB raises an error
    reader = csv.reader(stream, delimiter=separator, strict=True)
    while True:
        line = reader.line_num + 1 + n_before
        try:
            yield line, next(reader)
        except StopIteration:
            return
        except csv.Error as problem:
            raise FormatError(name, line, f"the quoting is broken: {problem}; expected a closed quoted cell") from None


def column_names(path: str, line: int, cells: list[Any]) -> list[str]:
    """Read the names of a header; raise FormatError if one, other than the first, is missing, or one occurs twice."""
    names = ["" if is_empty(cell) else str(cell).strip() for cell in cells]
    while names and not names[-1]:
        names.pop()
    check_count(path, line, len(names))
    before: set[str] = set()
    for k, name in enumerate(names):
        if not name and k:
            raise FormatError(path, line, f"column {k + 1} has no name, expected a header with a name for every column")
        if name in before:
            raise FormatError(path, line, f"column {shown(name)} is there twice, expected it once")
        before.add(name)
    return names


def check_count(path: str, line: int | None, n_columns: int) -> None:
    """Raise FormatError if a table has more than `MOST_COLUMNS` columns."""
    if n_columns > MOST_COLUMNS:
        raise FormatError(path, line, f"{n_columns} columns, expected at most {MOST_COLUMNS}")
