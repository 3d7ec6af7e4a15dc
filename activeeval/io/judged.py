"""Tables of judgments that are no sheets of ours: a team's own, Quepid's ratings, a campaign's log written out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from activeeval.errors import InputError
from activeeval.io.draws import CANNOT, EMPTY, grade_cells
from activeeval.io.files import PathLike
from activeeval.io.sheets import Sheet, read_sheet
from activeeval.io.tables import DOCUMENT, GRADE, QUERY

_QUERY = (*QUERY, "query")
_GRADE = ("rating", *GRADE)
_LOG = {"seq", "kind", "judge", "query_id", "doc_id", "grade", "supersedes"}


class JudgedRow(NamedTuple):
    """A row of such a table.

    Attributes
    ----------
    place : str
        The file and the row, for messages.
    query : str
        An id, or the text of a query where the table has no ids.
    grade : int
        `activeeval.io.draws.CANNOT` where it cannot be judged.
    judge : str
        Empty where the table does not say.
    """

    place: str
    query: str
    doc: str
    grade: int
    judge: str


def read_judged(path: PathLike) -> tuple[list[JudgedRow], bool]:
    """Return what a table says, without the rows that have no grade yet, and whether queries are named by their texts.

    Columns are query_id (or q_id, qid; query, as Quepid writes their texts), doc_id (docid, docno), grade (relevance,
    label, rating) and, where there is one, judge. Grades are whole numbers, ``cannot`` or nothing. Of a log, as
    `activeeval campaign export --format jsonl` writes it, what stands at its end.

    Raises
    ------
    FormatError
        ``path:line: column <name>: what is wrong``.
    """
    sheet = read_sheet(path).plainly_named()
    if set(sheet.columns) >= _LOG:
        return list(_standing(sheet)), False
    query, doc = sheet.column("query", _QUERY), sheet.column("document", DOCUMENT)
    grade = sheet.column("grade", _GRADE)
    judges = sheet.words("judge") if "judge" in sheet.columns else [""] * sheet.n_rows
    columns = (sheet.texts(query).tolist(), sheet.texts(doc).tolist(), grade_cells(sheet, grade).tolist(), judges)
    rows = (JudgedRow(_place(sheet, row), *values) for row, values in enumerate(zip(*columns, strict=True)))
    return [row for row in rows if row.grade != EMPTY], query == "query"


def _standing(sheet: Sheet) -> Iterator[JudgedRow]:
    """Yield what stands at the end of a log, in the order in which it was said."""
    kinds, judges = sheet.words("kind"), sheet.words("judge")
    queries, docs, grades = sheet.words("query_id"), sheet.words("doc_id"), grade_cells(sheet, "grade")
    numbers, replaced = sheet.wholes("seq"), set(sheet.wholes("supersedes", EMPTY).tolist())
    for row, kind in enumerate(kinds):
        if kind not in ("judged", "cannot") or int(numbers[row]) in replaced:
            continue
        if kind == "judged" and grades[row] == EMPTY:
            raise InputError(f"{_place(sheet, row)}: the log is of comparisons, expected grades")
        grade = CANNOT if kind == "cannot" else int(grades[row])
        yield JudgedRow(_place(sheet, row), queries[row], docs[row], grade, judges[row])


def _place(sheet: Sheet, row: int) -> str:
    return f"{sheet.source}:{sheet.lines[row]}" if sheet.lines is not None else f"{sheet.source}: row {row + 1}"
