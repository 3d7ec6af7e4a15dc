"""Read tables in files, data frames and JSON: CSV as spreadsheets write it, JSON lines, parquet and spreadsheets."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from activeeval.core.errors import FormatError, shown
from activeeval.core.results import Note
from activeeval.formats.dialects import document_dialect, read_as
from activeeval.formats.file_kinds import QUERY_IDS, listed_values, nested_values
from activeeval.formats.files import MOST_PARSED, open_bytes, text_stream
from activeeval.formats.suffixes import TABLES, PathLike, bare_suffix, check_table
from activeeval.formats.tables.cells import is_empty
from activeeval.formats.tables.quoting import Quoting, QuotingColumns, quoting_of_tabs
from activeeval.formats.tables.records import Records, json_record
from activeeval.formats.tables.sheets import Sheet
from activeeval.formats.tables.text_records import (
    INDEX_NAMES,
    check_count,
    column_names,
    quoted_records,
    unquoted_records,
)

_BLOCK = 4096
"""Rows converted to columns at a time: a list for each row takes more memory than its cells."""


def read_sheet(path: PathLike, suffix: str | None = None) -> Sheet:
    """Read a table by the suffix of its name: .csv, .tsv, .jsonl (each also .gz), .parquet, .xlsx or .ods.

    ``suffix`` replaces that of the name.

    Raises
    ------
    FormatError
        ``path:line`` of a broken row; the file if it has no rows.
    """
    return next(sheet_parts(path, suffix=suffix))


def sheet_parts(
    path: PathLike, n_rows: int | None = None, suffix: str | None = None, header: Sequence[str] = ()
) -> Iterator[Sheet]:
    """Read a table in chunks of `n_rows` rows; a chunk of .jsonl has the columns that its rows name.

    Parameters
    ----------
    n_rows : int, optional
        None: the whole table in one chunk.
    suffix : str, optional
        Replaces that of the name.
    header : sequence of str
        Names of the columns of a .csv or .tsv file whose first line is a row.
    """
    suffix = suffix or bare_suffix(path)
    readers: dict[str, Callable[[PathLike, int | None], Iterator[Sheet]]] = {
        **dict.fromkeys((".csv", ".tsv"), partial(_read_csv, suffix=suffix, header=header)),
        ".jsonl": _read_jsonl,
        ".parquet": _read_parquet,
        ".xlsx": _read_spreadsheet,
        ".ods": _read_spreadsheet,
    }
    if suffix not in readers:
        ends = ", ".join(TABLES)
        raise FormatError(os.fspath(path), None, f"is not a table by its name, expected one that ends in {ends}")
    check_table(path)
    has_no_rows = True
    for part in readers[suffix](path, n_rows):
        has_no_rows = False
        yield part
    if has_no_rows:
        raise FormatError(os.fspath(path), None, "the table holds no rows")


def frame_sheet(frame: Any, source: str) -> Sheet:
    """Convert a data frame of any library that narwhals supports to a sheet; column names become text.

    Raises
    ------
    TypeError
        If `frame` is not a data frame.
    FormatError
        If two columns have the same name.
    """
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        native = nw.from_native(frame)
    except DuplicateError:
        names = [str(name) for name in frame.columns]
        again = next(name for k, name in enumerate(names) if name in names[:k])
        raise FormatError(source, None, f"column {shown(again)} is there twice, expected it once") from None
    table = native.collect() if isinstance(native, nw.LazyFrame) else native
    columns: dict[str, Any] = {}
    for name in table.columns:
        if str(name) in columns:
            raise FormatError(source, None, f"column {shown(str(name))} is there twice, expected it once")
        series = table.get_column(name)
        is_plain = series.dtype.is_numeric() and not series.dtype.is_decimal() and series.null_count() == 0
        # polars distinguishes NaN from null; both mean an empty cell here
        is_plain = is_plain and not (series.dtype.is_float() and series.is_nan().any())
        columns[str(name)] = series.to_numpy() if is_plain else series.to_list()
    return Sheet(source, columns)


def json_sheet(value: Any, path: PathLike, value_name: str) -> Sheet | None:
    """Convert JSON, {query: {document: value}} or a list of objects, to a table; None for a document of another tool.

    Parameters
    ----------
    value_name : str
        Name of the column of values.
    """
    name = os.fspath(path)
    if isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        if document_dialect(value[0]) is not None:
            return None
        return object_sheet(value, name)
    if isinstance(value, dict) and document_dialect(value) is not None:
        return None
    if isinstance(value, dict) and len(value) > 1 and not QUERY_IDS.isdisjoint(value):
        columns = {column: list(cells.values()) for column, cells in value.items() if isinstance(cells, dict)}
        if len(columns) == len(value) and len({tuple(cells) for cells in value.values()}) == 1:
            return Sheet(name, columns, notes=(read_as(name, "a data frame of pandas, column by column"),))
    is_run = value_name == "score"
    form = f"JSON {{query: [document, …]}}, as {'rankings' if is_run else 'documents of grade 1'}"
    nested = listed_values(value, name, is_run=is_run)
    if nested is None:
        form, nested = f"JSON {{query: {{document: {value_name}}}}}", nested_values(value, path)
    if nested is None:
        return None
    return replace(pair_sheet(nested, name, value_name), notes=(read_as(name, form),))


def object_sheet(objects: Iterable[Mapping[str, object]], source: str) -> Sheet:
    """Convert objects of JSON to a table; raise FormatError if they have too many names."""
    records = Records()
    for entry in objects:
        records.add(entry)
    check_count(source, None, len(records))
    return Sheet(source, records)


def pair_sheet(values: Mapping[Any, Mapping[Any, Any]], source: str, value_name: str) -> Sheet:
    """Convert a dict of dicts, query to document to value, to a table."""
    columns = {
        "query_id": [query for query, documents in values.items() for _ in documents],
        "doc_id": [document for documents in values.values() for document in documents],
        value_name: [value for documents in values.values() for value in documents.values()],
    }
    return Sheet(source, columns)


def _read_csv(path: PathLike, n_rows: int | None, suffix: str, header: Sequence[str]) -> Iterator[Sheet]:
    """Read a .csv or .tsv file in chunks; the separator of .csv is the most frequent of comma, semicolon and tab.

    Chunks have ``n_rows`` rows, None: all. ``header`` names the columns if the first line of the file is a row.
    """
    name, data, n_before = os.fspath(path), open_bytes(path, MOST_PARSED), 0
    # the first line that is not blank, with any kind of line end
    first = next((text.strip("\r\n ") for text in text_stream(data, "") if text.strip()), "")
    separator = "\t" if suffix == ".tsv" else max(",;\t", key=first.count)
    stream = text_stream(data, "")
    if re.fullmatch(r"sep=.", first, re.IGNORECASE):
        separator = first[4]
        n_before = next(line for line, text in enumerate(stream, start=1) if text.strip())
    if separator != "\t":
        records = quoted_records(name, stream, separator, n_before)
        return table_parts(name, chain(_headed(header), records), separator, n_rows)
    quoting = quoting_of_tabs(name, data)
    records = (
        quoted_records(name, stream, separator, n_before) if quoting.is_quoted else unquoted_records(stream, n_before)
    )
    return _refuse_ambiguous(table_parts(name, chain(_headed(header), records), separator, n_rows), quoting)


def _headed(header: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the names of columns as a first record, if there are any."""
    if header:
        yield 0, list(header)


def _refuse_ambiguous(parts: Iterator[Sheet], quoting: Quoting) -> Iterator[Sheet]:
    """Wrap chunks so that doubtful columns raise FormatError on access."""
    for part in parts:
        names = list(part.columns)
        cells = {names[column]: cell for column, cell in quoting.doubtful.items() if column < len(names)}
        yield replace(part, columns=QuotingColumns(part.columns, part.source, cells)) if cells else part


def table_parts(
    name: str, records: Iterable[tuple[int, list[Any]]], separator: str, n_rows: int | None = None
) -> Iterator[Sheet]:
    """Yield chunks of a table from lines of cells, the first of which names the columns; empty lines are skipped.

    ``records`` are (line number, cells); chunks have ``n_rows`` rows (None: all). ``name`` and ``separator`` of cells
    are for messages. Raises FormatError for a line with another number of cells.
    """
    header: list[str] | None = None
    rows: list[list[Any]] = []
    columns: list[list[Any]] = []
    lines: list[int] = []
    for line, cells in records:
        if all(map(is_empty, cells)):
            continue
        if header is None:
            header = column_names(name, line, cells)
            columns = [[] for _ in header]
            continue
        while len(cells) > len(header) and is_empty(cells[-1]):
            cells.pop()
        if len(cells) != len(header):
            problem = f"{len(cells)} cells in {shown(separator.join(map(str, cells)))}, expected {len(header)}"
            raise FormatError(name, line, f"{problem}: {', '.join(header)}")
        rows.append(cells)
        lines.append(line)
        if len(rows) == _BLOCK:
            _append_rows(rows, columns)
        if len(lines) == n_rows:
            _append_rows(rows, columns)
            yield _without_index(Sheet(name, dict(zip(header, columns, strict=True)), lines, is_typed=False))
            columns, lines = [[] for _ in header], []
    if header is not None and lines:
        _append_rows(rows, columns)
        yield _without_index(Sheet(name, dict(zip(header, columns, strict=True)), lines, is_typed=False))


def _without_index(sheet: Sheet) -> Sheet:
    """Leave out a first column of row numbers, as pandas writes it: without a name, or named after that.

    Raises
    ------
    FormatError
        If a column without a name holds anything else.
    """
    name = next(iter(sheet.columns))
    if name.lower() not in INDEX_NAMES:
        return sheet
    if all(str(cell).strip().isdigit() for cell in sheet.columns[name]):
        rest = {other: cells for other, cells in sheet.columns.items() if other != name}
        return replace(sheet, columns=rest, notes=(*sheet.notes, Note("index column", {"source": sheet.source})))
    if name:
        return sheet
    line = None if sheet.lines is None else sheet.lines[0] - 1
    raise FormatError(sheet.source, line, "column 1 has no name, expected a header with a name for every column")


def _append_rows(rows: list[list[Any]], columns: list[list[Any]]) -> None:
    """Append buffered rows to the columns."""
    for column, cells in zip(columns, zip(*rows, strict=True), strict=False):
        column.extend(cells)
    rows.clear()


def _read_jsonl(path: PathLike, n_rows: int | None) -> Iterator[Sheet]:
    """Read JSON lines in chunks of ``n_rows`` objects, None: all in one; blank lines are skipped."""
    name = os.fspath(path)
    records, lines = Records(), list[int]()
    for line, text in enumerate(text_stream(open_bytes(path, MOST_PARSED), "\n"), start=1):
        if not text.strip():
            continue
        records.add(json_record(name, line, text.strip()))
        check_count(name, line, len(records))
        lines.append(line)
        if len(lines) == n_rows:
            yield Sheet(name, records, lines)
            records, lines = Records(), []
    if lines:
        yield Sheet(name, records, lines)


def _read_parquet(path: PathLike, n_rows: int | None) -> Iterator[Sheet]:
    """Read a parquet file in chunks of ``n_rows`` rows, None: all in one."""
    from activeeval.formats.tables.parquet import read_frame

    frame = read_frame(path)
    for part in frame.iter_slices(n_rows or max(frame.height, 1)):
        yield frame_sheet(part, os.fspath(path))


def _read_spreadsheet(path: PathLike, n_rows: int | None) -> Iterator[Sheet]:
    """Read the first worksheet of a spreadsheet in chunks of ``n_rows`` rows, None: all in one."""
    from activeeval.formats.tables.spreadsheets import read_rows

    return table_parts(os.fspath(path), read_rows(path), "|", n_rows)
