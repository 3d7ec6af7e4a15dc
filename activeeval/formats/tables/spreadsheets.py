"""The first worksheet of an .xlsx or .ods file as rows of cells.

The package that reads them sets a table up whole, from its first cell to its last: it ends the process where these are
so far apart that there is no room. So how much a file unpacks to, and how far its cells go, is looked at before.
"""

from __future__ import annotations

import io
import math
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from activeeval.core.errors import FormatError
from activeeval.formats.files import MOST_TIMES, MOST_UNPACKED, read_binary
from activeeval.formats.suffixes import PathLike, bare_suffix
from activeeval.formats.tables.cells import MOST_DIGITS

_MOST_BYTES = 1 << 28
_MOST_CELLS = 10_000_000
_MOST_ROWS = 1 << 20
"""No spreadsheet has more."""
_CELL = re.compile(rb"""<(?:\w+:)?c\s(?:[^>]*\s)?r\s*=\s*["']([A-Za-z]{1,7})([0-9]{1,9})["'][^>]*(?<!/)>""")
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_VALUE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}value-type"
# what is raised of bytes that are lost, changed, locked or foreign
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError),
    *(LookupError, ElementTree.ParseError),
)


def read_rows(path: PathLike) -> Iterator[tuple[int, list[Any]]]:
    """Yield the number of each row of the first worksheet, from 1 on, with its cells.

    Whole numbers are int as far as spreadsheets keep all digits; an empty cell is an empty text.

    Raises
    ------
    FormatError
        Where the package that reads them is missing, or the file is damaged, too large or no spreadsheet.
    """
    name, suffix = os.fspath(path), bare_suffix(path)
    try:
        from python_calamine import CalamineError, load_workbook
    except ImportError:
        needed = 'pip install "activeeval-ir[spreadsheets]"'
        raise FormatError(name, None, f"{suffix} is read with {needed}; or save the sheet as CSV (UTF-8)") from None
    content = read_binary(path)
    _check_size(name, content, suffix)
    try:
        sheet = load_workbook(io.BytesIO(content)).get_sheet_by_index(0)
    except CalamineError as problem:
        raise FormatError(name, None, f"cannot be read as {suffix}: {problem}") from None
    for number, cells in enumerate(sheet.iter_rows(), start=1):
        yield number, [_plain(cell) for cell in cells]


def _plain(cell: Any) -> Any:
    """Return a cell with a whole number as an integer: a spreadsheet has no others than floats."""
    return int(cell) if isinstance(cell, float) and cell.is_integer() and abs(cell) < MOST_DIGITS else cell


def _check_size(name: str, content: bytes, suffix: str) -> None:
    """Raise where a file is no sound archive, or holds more than there may be room for."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            n_bytes = sum(entry.file_size for entry in packed.infolist())
            most_bytes = min(_MOST_BYTES, max(MOST_UNPACKED, MOST_TIMES * len(content)))
            if n_bytes > most_bytes:
                most = f"expected at most {most_bytes >> 20} MB; save the sheet as CSV (UTF-8)"
                raise FormatError(name, None, f"unpacks to {n_bytes >> 20} MB, {most}")
            # each entry unpacks to no more than it says, and is read against its checksum
            extents = [_extent(packed.read(entry), entry) for entry in packed.namelist()]
    except FormatError:
        raise
    except _BROKEN as problem:
        raise FormatError(name, None, f"cannot be read as {suffix}: {problem}") from None
    n_rows, n_columns = max(extents, key=math.prod, default=(0, 0))
    if (n_cells := n_rows * n_columns) > _MOST_CELLS:
        most = f"expected at most {_MOST_CELLS}: is there a cell far behind the others?"
        raise FormatError(name, None, f"its cells span {n_cells} places, {most}")
    if n_rows > _MOST_ROWS:
        raise FormatError(name, None, f"its cells go to row {n_rows}, no spreadsheet has more than {_MOST_ROWS}")


def _extent(content: bytes, entry: str) -> tuple[int, int]:
    """Return the last row and column of an archive's entry, 0 if it is no table."""
    if entry == "content.xml":
        return _extent_of_repeats(content)
    n_rows, columns = 0, set()
    for cell in _CELL.finditer(content):
        columns.add(cell[1])
        n_rows = max(n_rows, int(cell[2]))
    return n_rows, max(map(_number_of, columns), default=0)


def _number_of(letters: bytes) -> int:
    """Return the number of a column, from 1 on: 28 of AB."""
    number = 0
    for code in letters.upper():
        number = 26 * number + code - ord("A") + 1
    return number


def _extent_of_repeats(content: bytes) -> tuple[int, int]:
    """Return the same of the tables of an .ods file, where rows and cells are told once with how often they come."""
    most, n_rows, last_row, last_column = (0, 0), 0, 0, 0
    for _, element in ElementTree.iterparse(io.BytesIO(content)):
        if element.tag == f"{_TABLE}table":
            most = max(most, (last_row, last_column), key=math.prod)
            n_rows = last_row = last_column = 0
        elif element.tag == f"{_TABLE}table-row":
            n_rows += int(element.get(f"{_TABLE}number-rows-repeated", 1))
            n_columns = 0
            for cell in element:
                n_columns += int(cell.get(f"{_TABLE}number-columns-repeated", 1))
                if _VALUE in cell.attrib:
                    last_row, last_column = n_rows, max(last_column, n_columns)
            element.clear()
    return most
