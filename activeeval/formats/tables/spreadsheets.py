"""Read the first worksheet of an .xlsx or .ods file as rows of cells.

The library that reads them allocates the whole rectangle from the first cell to the last, and ends the process if
there is not enough memory. Therefore the unpacked size and the extent of the cells are checked first.
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
"""Largest number of rows of any spreadsheet program."""
_CELL = re.compile(rb"""<(?:\w+:)?c\s(?:[^>]*\s)?r\s*=\s*["']([A-Za-z]{1,7})([0-9]{1,9})["'][^>]*(?<!/)>""")
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_VALUE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}value-type"
# exceptions for files that are truncated, corrupted, encrypted or of another format
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError),
    *(LookupError, ElementTree.ParseError),
)


def read_rows(path: PathLike) -> Iterator[tuple[int, list[Any]]]:
    """Yield the number of each row of the first worksheet, from 1, and its cells.

    Numbers without a fraction are int if spreadsheets keep all their digits; an empty cell is "".

    Raises
    ------
    FormatError
        If python-calamine is missing, or the file is damaged, too large or not a spreadsheet.
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
    """Convert a float without a fraction to int: spreadsheets store all numbers as floats."""
    return int(cell) if isinstance(cell, float) and cell.is_integer() and abs(cell) < MOST_DIGITS else cell


def _check_size(name: str, content: bytes, suffix: str) -> None:
    """Raise FormatError if a file is not a sound archive, or is too large to read."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            n_bytes = sum(entry.file_size for entry in packed.infolist())
            most_bytes = min(_MOST_BYTES, max(MOST_UNPACKED, MOST_TIMES * len(content)))
            if n_bytes > most_bytes:
                most = f"expected at most {most_bytes >> 20} MB; save the sheet as CSV (UTF-8)"
                raise FormatError(name, None, f"unpacks to {n_bytes >> 20} MB, {most}")
            # zipfile limits each entry to its declared size and verifies its checksum
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
    """Find the last row and column of an archive's entry, (0, 0) if it is not a table."""
    if entry == "content.xml":
        return _extent_of_repeats(content)
    n_rows, columns = 0, set()
    for cell in _CELL.finditer(content):
        columns.add(cell[1])
        n_rows = max(n_rows, int(cell[2]))
    return n_rows, max(map(_number_of, columns), default=0)


def _number_of(letters: bytes) -> int:
    """Convert the letters of a column to its number from 1: AB to 28."""
    number = 0
    for code in letters.upper():
        number = 26 * number + code - ord("A") + 1
    return number


def _extent_of_repeats(content: bytes) -> tuple[int, int]:
    """Find the last row and column of an .ods table, which stores repeated rows and cells once with a count."""
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
                if _VALUE in cell.attrib:  # not empty
                    last_row, last_column = n_rows, max(last_column, n_columns)
            element.clear()
    return most
