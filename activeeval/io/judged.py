"""Tables of judgments that are no sheets of ours: a team's own, Quepid's ratings, a campaign's log written out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from activeeval.errors import FormatError, InputError
from activeeval.io.files import PathLike
from activeeval.io.loading import DOCUMENT, GRADE, QUERY
from activeeval.io.tables.draws import CANNOT, EMPTY, grade_cells
from activeeval.io.tables.sheets import Sheet, read_sheet

_GRADE = ("rating", *(name for name in GRADE if name != "score"))
_LOG = {"seq", "kind", "judge", "query_id", "doc_id", "unit", "grade", "reason", "supersedes"}
_UNSAID = "as the table says"


class JudgedRow(NamedTuple):
    """A row of such a table.

    Attributes
    ----------
    place : str
        The file and the row, for messages.
    query : str
        An id, or the text of a query where the table has no ids.
    grade : int
        `activeeval.io.tables.draws.CANNOT` where it cannot be judged.
    judge : str
        Empty where the table does not say.
    reason : str
        Why it cannot be judged.
    """

    place: str
    query: str
    doc: str
    grade: int
    judge: str
    reason: str


def read_judged(path: PathLike) -> tuple[list[JudgedRow], bool]:
    """Return what a table says, without the rows that have no grade yet, and whether queries are named by their texts.

    Columns are query_id (or q_id, qid; query, as Quepid writes their texts), doc_id (docid, docno), grade (relevance,
    label, rating) and, where there are any, judge and note. Grades are whole numbers, nothing, or ``cannot``, of which
    the note says why. Of a log, as `activeeval campaign export --format jsonl` writes it, what stands at its end.

    Raises
    ------
    FormatError
        ``path:line: column <name>: what is wrong``.
    """
    sheet = read_sheet(path).plainly_named()
    if set(sheet.columns) >= _LOG:
        return list(_standing(sheet)), False
    query = _column(sheet, "query", QUERY if any(name in sheet.columns for name in QUERY) else ("query",))
    doc, grade = _column(sheet, "document", DOCUMENT), _column(sheet, "grade", _GRADE)
    judges, notes = (sheet.words(name) if name in sheet.columns else [""] * sheet.n_rows for name in ("judge", "note"))
    columns = (sheet.texts(query).tolist(), sheet.texts(doc).tolist(), grade_cells(sheet, grade).tolist(), judges)
    rows = [
        JudgedRow(_place(sheet, row), *values, notes[row] or _UNSAID)
        for row, values in enumerate(zip(*columns, strict=True))
    ]
    return [row for row in rows if row.grade != EMPTY], query == "query"


def _column(sheet: Sheet, what: str, names: Sequence[str]) -> str:
    """Return the column of a meaning; a table with two of them does not say which one is meant."""
    there = [name for name in names if name in sheet.columns]
    if len(there) > 1:
        raise FormatError(sheet.source, 1, f"columns {' and '.join(there)} all say the {what}, expected one of them")
    return sheet.column(what, names)


def _standing(sheet: Sheet) -> Iterator[JudgedRow]:
    """Yield what stands at the end of a log; of an item that rounds asked for more than once, in the last of them."""
    kinds, judges, reasons = (sheet.words(name) for name in ("kind", "judge", "reason"))
    queries, docs, grades = sheet.words("query_id"), sheet.words("doc_id"), grade_cells(sheet, "grade")
    numbers, replaced = sheet.wholes("seq"), set(sheet.wholes("supersedes", EMPTY).tolist())
    units = sheet.wholes("unit", EMPTY)
    said = [row for row, kind in enumerate(kinds) if kind in ("judged", "cannot") and int(numbers[row]) not in replaced]
    last: dict[tuple[str, str], int] = {}
    for row in said:
        pair = queries[row], docs[row]
        last[pair] = max(int(units[row]), last.get(pair, EMPTY))
    for row in said:
        if units[row] != last[queries[row], docs[row]]:
            continue
        if kinds[row] == "judged" and grades[row] == EMPTY:
            raise InputError(f"{_place(sheet, row)}: the log is of comparisons, expected grades")
        grade = CANNOT if kinds[row] == "cannot" else int(grades[row])
        place = _place(sheet, row)
        yield JudgedRow(place, queries[row], docs[row], grade, judges[row], reasons[row] or _UNSAID)


def _place(sheet: Sheet, row: int) -> str:
    return f"{sheet.source}:{sheet.lines[row]}" if sheet.lines is not None else f"{sheet.source}: row {row + 1}"
