"""Decide whether the cells of tab-separated text are quoted, for the whole file before its first row is read.

Most tab-separated files are not quoted: a quotation mark is an ordinary character. A spreadsheet quotes cells that
contain a tab, a line end or a quotation mark, and doubles the marks in them. A file is quoted if its column names are,
or if every mark belongs to a whole quoted cell and at least one of these cells must be quoted: it is empty, contains a
doubled mark, or contains a tab or line end without which its lines have the wrong number of cells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from activeeval.core.errors import FormatError, shown
from activeeval.core.types import Bytes
from activeeval.formats.tables.records import NamedColumns

_CELL = re.compile(rb'(?<![^\t\r\n])"([^"]*+(?:""[^"]*+)*+)"(?![^\t\r\n])|"')
"""A whole quoted cell, or a quotation mark outside of one."""
_LINE = re.compile(rb"[^\r\n]+")
_LINE_END = re.compile(rb"\r\n?|\n")
_SEPARATOR_LINE = re.compile(rb"\s*sep=.\s*", re.IGNORECASE)
_MARK = re.compile(rb'"')
_WAY_OUT = "save it as .csv where cells are quoted, as .jsonl where they are not"


@dataclass(frozen=True, slots=True)
class Quoting:
    """Decision whether the cells of a file are quoted.

    Attributes
    ----------
    is_quoted : bool
    doubtful : mapping of int to tuple of int and str
        By column from 0, line and text of the first cell that may be quoted or may contain literal marks.
    """

    is_quoted: bool
    doubtful: Mapping[int, tuple[int, str]] = field(default_factory=dict)


class QuotingColumns(NamedColumns):
    """Columns of which some raise FormatError on access, as their cells may or may not be quoted.

    Other columns stay usable: ambiguous texts in a judged sheet do not prevent reading its grades.
    """

    def __init__(self, columns: Mapping[str, Any], path: str, cells: Mapping[str, tuple[int, str]]) -> None:
        """Wrap ``columns`` of the file ``path``; ``cells`` has line and text of a doubtful cell by column name."""
        self._names = columns
        self._path = path
        self._cells = cells

    def __getitem__(self, name: str) -> Any:
        """Get a column; raise FormatError if it is unclear whether its cells are quoted."""
        if name in self._cells:
            line, text = self._cells[name]
            problem = f"column {name}: {shown(text)} is a quoted cell or has quotation marks of its own, the file does"
            raise FormatError(self._path, line, f"{problem} not say which; {_WAY_OUT}")
        return self._names[name]


def has_only_quoted_cells(data: Bytes, separator: str) -> bool:
    """Check whether every quotation mark of a text belongs to a whole quoted cell."""
    between = re.escape(separator.encode())
    cell = re.compile(_CELL.pattern.replace(rb"\t", between))
    return all(match[1] is not None for match in cell.finditer(data.data))


def quoting_of_tabs(path: str, data: Bytes) -> Quoting:
    """Decide whether the cells of tab-separated text are quoted.

    Raises
    ------
    FormatError
        ``path:line`` of a quotation mark that may open a cell of several lines or be a character of its text.
    """
    text = data.data
    if _MARK.search(text) is None:
        return Quoting(False)
    lines = (line for line in _LINE.finditer(text) if line[0].strip() and not _SEPARATOR_LINE.fullmatch(line[0]))
    header = next(lines, None)
    if header is None:
        return Quoting(False)
    n_columns = len(header[0].rstrip().split(b"\t"))
    # a cell with tabs or line ends may swallow whole rows if its marks are ordinary characters
    swallowing, is_certain, doubtful = -1, False, dict[int, tuple[int, bytes]]()
    for match in _CELL.finditer(text):
        cell = match[1]
        if cell is None:  # a mark that is not part of a quoted cell
            return Quoting(False)
        if match.start() < header.end():
            return Quoting(True)
        if b"\t" in cell or _LINE_END.search(cell):
            if not _holds_rows(text, match, n_columns):
                is_certain = True
            elif swallowing < 0:
                swallowing = match.start()
        elif not cell or b'"' in cell:
            is_certain = True
        else:
            column = bytes(text[_line_start(text, match.start()) : match.start()]).count(b"\t")
            doubtful.setdefault(column, (match.start(), match[0]))
    if swallowing >= 0:
        if not is_certain and all(_is_row(line[0], n_columns) for line in _LINE.finditer(text, header.start())):
            return Quoting(False)
        problem = "the quotation mark opens a cell of several lines or is a character of its text, the file does"
        raise FormatError(path, _line_of(text, swallowing), f"{problem} not say which; {_WAY_OUT}")
    if is_certain:
        return Quoting(True)
    places = {
        column: (_line_of(text, place), cell.decode("utf-8")) for column, (place, cell) in sorted(doubtful.items())
    }
    return Quoting(False, places)


def _holds_rows(text: memoryview, match: re.Match[bytes], n_columns: int) -> bool:
    """Check whether the lines inside a quoted cell would be complete rows if the marks were ordinary characters."""
    end = _LINE_END.search(text, match.end())
    stop = len(text) if end is None else end.start()
    lines = [line for line in _LINE.findall(text, _line_start(text, match.start()), stop) if line.strip()]
    return sum(_is_row(line, n_columns) for line in lines) > (len(lines) > 1)


def _is_row(line: bytes, n_columns: int) -> bool:
    """Check whether a line is blank or has `n_columns` cells, ignoring empty cells after the last column."""
    cells = line.split(b"\t")
    while len(cells) > n_columns and not cells[-1].strip():
        cells.pop()
    return len(cells) == n_columns or not line.strip()


def _line_start(text: memoryview, place: int) -> int:
    """Find the start of the line that contains a byte position."""
    window = 256
    while True:
        start = max(place - window, 0)
        before = bytes(text[start:place])
        end = max(before.rfind(b"\n"), before.rfind(b"\r"))
        if end >= 0 or start == 0:
            return start + end + 1
        window *= 8


def _line_of(text: memoryview, place: int) -> int:
    """Find the number of the line, from 1, that contains a byte position."""
    return sum(1 for _ in _LINE_END.finditer(text, 0, place)) + 1
