"""The sheet of a sample for its judges: one row an item, with its grade once it is judged."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from activeeval.core.errors import FormatError, InputError, shown
from activeeval.core.pool.keyed import typed_column
from activeeval.core.pool.texts import Texts
from activeeval.core.results import Note
from activeeval.core.types import Ints
from activeeval.formats.suffixes import PathLike, bare_suffix
from activeeval.formats.tables.cells import is_formula
from activeeval.formats.tables.grades import CANNOT as CANNOT_WORD, GradeGuide, cell_grades
from activeeval.formats.tables.read_tables import read_sheet
from activeeval.formats.tables.sheets import Sheet
from activeeval.formats.writing import AtomicFiles

EMPTY = -2
"""Grade of an item that is not judged yet: an empty cell."""
CANNOT = -1
"""Grade of an item that cannot be judged: the word `cannot`."""

COLUMNS = ("sample", "block", "query_id", "doc_id", "judge", "grade", "note")
_NEEDED = ("sample", "block", "query_id", "doc_id", "grade")
TEXTS = ("query", "title", "text", "url")
"""Optional columns between `doc_id` and `judge` for the judges to read; they are ignored when a sheet is read."""
_CUT = (".csv", ".tsv", ".xlsx")
_LONGEST = 32_767
"""Longest text of a cell in Excel, in UTF-16 code units."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_NO_TEXTS = Texts.from_list([])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Draws:
    """Items of a sample, in judging order.

    Attributes
    ----------
    sample : str
        The id of the sample that the rows belong to.
    block : ndarray of int64, shape (n,)
        Stage, from 1; a sample can be read at the end of each stage.
    query_id, doc_id : Texts, shape (n,)
    grade : ndarray of int64, shape (n,)
        `EMPTY` for an item not judged yet, `CANNOT` for one that cannot be judged.
    judge, note : Texts, shape (n,)
        The judge's name and a remark, "" if unknown (default).
    lines : sequence of int or None
        Line in the file at which each row starts, for messages; None if rows have no lines.
    n_of_machines : int
        Number of graders' judgments accepted as people's.
    notes : tuple of Note
        Notes on how the file was read.
    """

    sample: str
    block: Ints
    query_id: Texts
    doc_id: Texts
    grade: Ints
    judge: Texts = _NO_TEXTS
    note: Texts = _NO_TEXTS
    lines: Sequence[int] | None = None
    n_of_machines: int = 0
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        """Convert the columns to their types, read-only; raise InputError unless all have one entry a row."""
        n_rows = np.size(self.block)
        for name in ("block", "query_id", "doc_id", "grade", "judge", "note"):
            values = getattr(self, name)
            if name in ("judge", "note"):  # judge and note may be empty, ids may not
                column = Texts.from_list([""] * n_rows if values is _NO_TEXTS else list(values))
            else:
                column = typed_column(values, name, "i" if name in ("block", "grade") else "U")
            if column.shape != (n_rows,):
                raise InputError(f"{name} must have shape ({n_rows},), got {column.shape}")
            if isinstance(column, np.ndarray):
                column = column.view()
                column.setflags(write=False)
            object.__setattr__(self, name, column)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.block.size

    def at(self, rows: Ints) -> Self:
        """Select rows, in the given order."""
        columns = {
            name: getattr(self, name)[rows] for name in ("block", "query_id", "doc_id", "grade", "judge", "note")
        }
        lines = None if self.lines is None else [self.lines[row] for row in rows.tolist()]
        return replace(self, lines=lines, **columns)

    @property
    def by_query(self) -> Ints:
        """Row numbers in reading order, shape (n_rows,): stage by stage, with the rows of a query together."""
        first: dict[tuple[int, str], int] = {}
        keys = list(zip(self.block.tolist(), self.query_id.tolist(), strict=True))
        for row, key in enumerate(keys):
            first.setdefault(key, row)
        order = sorted(range(self.n_rows), key=lambda row: (keys[row][0], first[keys[row]]))
        return np.array(order, dtype=np.int64)

    @property
    def answers(self) -> frozenset[tuple[str, str, int, str]]:
        """Query, document, grade and judge of each judged row, whatever the order of the rows."""
        columns = (self.query_id, self.doc_id, self.grade, self.judge)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return frozenset(row for row in rows if row[2] != EMPTY)

    def place(self, name: str, row: int) -> str:
        """Format the file and line of a row for a message."""
        return name if self.lines is None else f"{name}:{self.lines[row]}"


def write_draws(
    draws: Draws,
    path: PathLike,
    files: AtomicFiles | None = None,
    texts: Mapping[str, Sequence[str]] | None = None,
    guide: GradeGuide | None = None,
) -> None:
    """Write a sheet by the suffix of the name: .csv, .tsv, .jsonl (each also .gz), .parquet or .xlsx.

    Grades are text, so that a judge can write a word; a missing grade is an empty cell, null in JSON lines and parquet.
    In .csv, .tsv and .xlsx a text is cut at the longest text of a spreadsheet's cell.

    Parameters
    ----------
    files : AtomicFiles, optional
        Group of files to write together.
    texts : mapping of str to sequence of str, optional
        Texts for the judges beside the ids, under names of `TEXTS`: one a row, "" if there is none.
    guide : GradeGuide, optional
        Explanation of the grades, for .xlsx.
    """
    words = {EMPTY: None, CANNOT: CANNOT_WORD}
    is_cut = bare_suffix(path) in _CUT
    columns: dict[str, Any] = {"sample": [draws.sample] * draws.n_rows, "block": draws.block}
    for name, ids in (("query_id", draws.query_id), ("doc_id", draws.doc_id)):
        columns[name] = ids.tolist()
    for name in TEXTS:
        if texts is not None and name in texts:
            columns[name] = [_readable(text, is_cut) or None for text in texts[name]]
    columns["judge"] = [name or None for name in draws.judge]
    columns["grade"] = [words.get(grade, str(grade)) for grade in draws.grade.tolist()]
    columns["note"] = [None] * draws.n_rows
    if bare_suffix(path) == ".xlsx":
        from activeeval.formats.tables.workbooks import write_workbook

        write_workbook(columns, path, guide or GradeGuide(), files)
        return
    from activeeval.formats.tables.export import write_columns  # imported late: reading does not need polars

    write_columns(columns, path, files)


def read_draws(path: PathLike) -> Draws:
    """Read a sheet written by `write_draws`, also after a spreadsheet edited it or saved it as .xlsx or .ods.

    Columns may be in any order and their names in capitals, cells may be quoted, a comma, a semicolon or a tab may
    separate them, a grade may be ``2.0`` or ``2: relevant``, and further columns are ignored.

    Raises
    ------
    FormatError
        ``path:line: column <name>: what is wrong``.
    """
    return draws_of(read_sheet(path).plainly_named(), path)


def draws_of(sheet: Sheet, path: PathLike, max_grade: int | None = None) -> Draws:
    """Convert a table to the sheet of a sample; raises as `read_draws`, also for a grade above `max_grade`.

    Column names are lower-case.
    """
    missing = [name for name in _NEEDED if name not in sheet.columns]
    if missing:
        line, present = None if sheet.lines is None else 1, ", ".join(sheet.columns)
        raise FormatError(
            os.fspath(path), line, f"no column {', '.join(missing)} in: {present}; expected the sheet of a sample"
        )
    codes: dict[int | str, int] = {"": EMPTY, CANNOT_WORD: CANNOT}
    return Draws(
        sample=_single_value(sheet, "sample"),
        block=sheet.wholes("block", least=1),
        # blanks around an id are part of it: an id that lost them is not in the sample
        query_id=sheet.verbatim("query_id"),
        doc_id=sheet.verbatim("doc_id"),
        grade=np.array([codes.get(grade, grade) for grade in cell_grades(sheet, "grade", max_grade)], dtype=np.int64),
        judge=Texts.from_list(sheet.words("judge")) if "judge" in sheet.columns else _NO_TEXTS,
        note=Texts.from_list(sheet.words("note")) if "note" in sheet.columns else _NO_TEXTS,
        lines=sheet.lines,
    )


def _readable(text: str, is_cut: bool) -> str:
    """Convert a text to what a cell can hold: uniform line ends, blanks for control characters, cut if ``is_cut``."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    plain = _CONTROL.sub(" ", whole.replace("\r\n", "\n").replace("\r", "\n"))
    return _cut(plain) if is_cut else plain


def _cut(text: str) -> str:
    """Cut a text to the longest text of an Excel cell."""
    room = _LONGEST - is_formula(text)  # for the apostrophe that will guard it
    units = text.encode("utf-16-le")
    if len(units) <= 2 * room:
        return text
    return units[: 2 * (room - 1)].decode("utf-16-le", "ignore") + "…"


def _single_value(sheet: Sheet, name: str) -> str:
    """Read a column whose cells are all equal, and return that text."""
    words = [word.strip() for word in sheet.words(name)]
    for row, word in enumerate(words):
        if word != words[0]:
            sheet.fail(row, name, f"holds {shown(word)}, the first row {shown(words[0])}: expected one sample a sheet")
    return words[0]
