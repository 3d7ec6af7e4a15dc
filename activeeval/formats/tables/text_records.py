"""Records of text tables: lines taken apart into cells, and the names of their columns."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import Any

from activeeval.core.errors import FormatError, shown
from activeeval.formats.tables.cells import is_empty

_LONGEST_CELL = 2**31 - 1
MOST_COLUMNS = 1 << 16
"""Four times those of a spreadsheet; a name, its column and what they are found by take half a kilobyte."""


def unquoted_records(stream: Iterable[str], n_before: int) -> Iterator[tuple[int, list[str]]]:
    """Yield lines of cells between tabs, in which a quotation mark is a character as any other."""
    for line, text in enumerate(stream, start=1 + n_before):
        yield line, text.rstrip("\r\n").split("\t")


def quoted_records(name: str, stream: Iterable[str], separator: str, n_before: int) -> Iterator[tuple[int, list[str]]]:
    """Yield lines of cells, quoted ones among them, each with the number of its first line."""
    csv.field_size_limit(_LONGEST_CELL)  # by default a text of 128 KB would pass for broken quoting
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
    """Return the names in a header; raises FormatError where one is missing or stands there twice."""
    names = ["" if is_empty(cell) else str(cell).strip() for cell in cells]
    while names and not names[-1]:
        names.pop()
    check_count(path, line, len(names))
    before: set[str] = set()
    for k, name in enumerate(names):
        if not name:
            raise FormatError(path, line, f"column {k + 1} has no name, expected a header with a name for every column")
        if name in before:
            raise FormatError(path, line, f"column {shown(name)} is there twice, expected it once")
        before.add(name)
    return names


def check_count(path: str, line: int | None, n_columns: int) -> None:
    """Raise FormatError where a table has too many columns."""
    if n_columns > MOST_COLUMNS:
        raise FormatError(path, line, f"{n_columns} columns, expected at most {MOST_COLUMNS}")
