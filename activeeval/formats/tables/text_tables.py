"""Read texts of documents and queries by id, from tables that may be larger than memory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from activeeval.core.errors import shown
from activeeval.formats.suffixes import PathLike
from activeeval.formats.tables.cells import is_empty
from activeeval.formats.tables.sheets import Sheet, sheet_parts

_ROWS = 4096


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
    """

    names: tuple[str, ...]
    by_id: dict[str, dict[str, str]]
    n_rows: int
    first_id: str


def read_texts(path: PathLike, vocabulary: Vocabulary, wanted: Collection[str] | None = None) -> TextsById:
    """Read the texts of some ids, or of all: .jsonl, .csv, .tsv (each also .gz), .parquet, .xlsx or .ods.

    The table is read in chunks; of rows that are not requested only the ids stay in memory.

    Raises
    ------
    FormatError
        If there is no column of ids or of texts, an id occurs twice, or a text is a list or an object.
    """
    seen: set[str] = set()
    by_id: dict[str, dict[str, str]] = {}
    names: set[str] = set()
    first_id = ""
    for part in sheet_parts(path, _ROWS):
        sheet = part.plainly_named()
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
    return TextsById(names=column_names, by_id=by_id, n_rows=len(seen), first_id=first_id)


def _text(sheet: Sheet, value: Any, row: int, name: str) -> str:
    """Convert a cell to text; raise FormatError for a list or an object."""
    if isinstance(value, (list, dict)):
        sheet.fail(row, name, f"holds {shown(str(value))}, expected a text")
    return "" if is_empty(value) else str(value)
