"""Read texts of documents and queries by id, from tables that may be larger than memory."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from activeeval.core.errors import FormatError, shown
from activeeval.core.results import Note
from activeeval.formats.dialects import by_roles, read_as
from activeeval.formats.file_kinds import JSON, kind_of, read_json
from activeeval.formats.suffixes import SPREADSHEETS, PathLike, bare_suffix
from activeeval.formats.tables.cells import is_empty
from activeeval.formats.tables.read_tables import object_sheet, sheet_parts
from activeeval.formats.tables.sheets import Sheet
from activeeval.formats.text.plain import first_lines

_ROWS = 4096
_WITHOUT_HEADER: dict[int, tuple[str, ...]] = {2: ("id", "text"), 4: ("id", "url", "title", "text")}
"""Columns of MS MARCO's collections of passages, queries and documents by their number."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vocabulary:
    """Accepted column names of a table of texts: ids, of which the first present one counts, and texts."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]


DOCUMENTS = Vocabulary(ids=("id", "_id", "doc_id", "docno", "docid"), texts=("title", "text", "url"))
NEED = "need"
"""Information need behind a query, in sentences."""
QUERIES = Vocabulary(ids=("id", "_id", "query_id", "qid", "q_id"), texts=("text", "query", "title", NEED))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TextsById:
    """Texts of the requested ids in a table.

    Attributes
    ----------
    names : tuple of str
        The columns of text that the table has.
    by_id : dict of str to dict of str to str
        Texts by column name of each requested id that exists, without empty texts.
    n_rows : int
    first_id : str
        Id of the first row.
    notes : tuple of Note
        Notes on how the table was read.
    """

    names: tuple[str, ...]
    by_id: dict[str, dict[str, str]]
    n_rows: int
    first_id: str
    notes: tuple[Note, ...] = ()


def read_texts(path: PathLike, vocabulary: Vocabulary, wanted: Collection[str] | None = None) -> TextsById:
    """Read the texts of some ids, or of all: .jsonl, .csv, .tsv (also compressed), .parquet, .xlsx, .ods or .json.

    The table is read in chunks; of rows whose id is not ``wanted`` (None: all are) only the id stays in memory. A .tsv
    without names of columns has those of a collection of MS MARCO: id and text, or id, url, title and text.

    Raises
    ------
    FormatError
        If there is no column of ids or of texts, an id occurs twice, or a text is a list or an object.
    """
    seen: set[str] = set()
    by_id: dict[str, dict[str, str]] = {}
    names: set[str] = set()
    first_id, notes = "", tuple[Note, ...]()
    for part in _parts(path, vocabulary):
        sheet = by_roles(part.plainly_named())
        notes = notes or sheet.notes
        key = sheet.column("id", vocabulary.ids)
        present = [name for name in vocabulary.texts if name in sheet.columns]
        names.update(present)
        cells = {name: sheet.columns[name] for name in present}  # each access builds a column of JSON lines anew
        for row, row_id in enumerate(sheet.texts(key).tolist()):
            if row_id in seen:
                sheet.fail(row, key, f"{shown(row_id)} is there twice, expected it once")
            seen.add(row_id)
            first_id = first_id or row_id
            if wanted is None or row_id in wanted:
                by_id[row_id] = {name: text for name in present if (text := _text(sheet, cells[name][row], row, name))}
    if not names:
        sheet.column("text", vocabulary.texts)
    column_names = tuple(name for name in vocabulary.texts if name in names)
    return TextsById(names=column_names, by_id=by_id, n_rows=len(seen), first_id=first_id, notes=notes)


def _parts(path: PathLike, vocabulary: Vocabulary) -> Iterator[Sheet]:
    """Yield chunks of a table of texts; one without names of columns is read as a collection of MS MARCO."""
    suffix = bare_suffix(path)
    if suffix == JSON and kind_of(path) == JSON:
        yield _json_texts(read_json(path), path)
        return
    lines = first_lines(path) if suffix not in (".parquet", *SPREADSHEETS) else []
    cells = lines[0].split("\t") if lines else []
    header = _WITHOUT_HEADER.get(len(cells), ())
    known = {*vocabulary.ids, *vocabulary.texts}
    if suffix in (".tsv", ".txt") and header and known.isdisjoint(cell.strip().strip('"').lower() for cell in cells):
        note = read_as(path, f"a collection of MS MARCO without names of columns: {', '.join(header)}")
        parts = sheet_parts(path, _ROWS, ".tsv", header)
        yield from (replace(part, notes=(note,)) for part in parts)
        return
    yield from sheet_parts(path, _ROWS, ".jsonl" if suffix == JSON else None)


def _json_texts(value: Any, path: PathLike) -> Sheet:
    """Convert JSON, {id: text}, {id: {title: …, text: …}} or a list of objects, to a table."""
    if isinstance(value, dict) and value:
        value = [{"id": key, **(text if isinstance(text, dict) else {"text": text})} for key, text in value.items()]
    if not isinstance(value, list) or not value or not all(isinstance(entry, dict) for entry in value):
        expected = "{id: text}, or a list of objects with id and text"
        raise FormatError(os.fspath(path), None, f"is JSON of another form, expected {expected}")
    return object_sheet(value, os.fspath(path))


def _text(sheet: Sheet, value: Any, row: int, name: str) -> str:
    """Convert a cell to text; raise FormatError for a list or an object."""
    if isinstance(value, (list, dict)):
        sheet.fail(row, name, f"holds {shown(str(value))}, expected a text")
    return "" if is_empty(value) else str(value)
