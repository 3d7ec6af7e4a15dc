"""The sheet that goes to the judges of a drawn sample: one row an item, with its grade once it has one."""

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
from activeeval.core.types import Ints
from activeeval.formats.suffixes import PathLike, bare_suffix
from activeeval.formats.tables.cells import is_formula
from activeeval.formats.tables.grades import CANNOT as CANNOT_WORD, GradeGuide, cell_grades
from activeeval.formats.tables.sheets import Sheet, read_sheet
from activeeval.formats.writing import AtomicFiles

EMPTY = -2
"""The grade of an item that waits for one: an empty cell."""
CANNOT = -1
"""The grade of an item that cannot be judged: the word `cannot`."""

COLUMNS = ("sample", "block", "query_id", "doc_id", "judge", "grade", "note")
_NEEDED = ("sample", "block", "query_id", "doc_id", "grade")
TEXTS = ("query", "title", "text", "url")
"""Columns that may stand between `doc_id` and `judge`, for the judges to read; nothing reads them back."""
_CUT = (".csv", ".tsv", ".xlsx")
_LONGEST = 32_767
"""Of a cell in Excel, counted in UTF-16."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_NOBODY = Texts.from_list([])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Draws:
    """Items of a drawn sample, in the order in which they are to be judged.

    Attributes
    ----------
    sample : str
        The id of the sample that the rows belong to.
    block : ndarray of int64, shape (n,)
        From 1; a sample may be read early at the end of a block.
    query_id, doc_id : Texts, shape (n,)
    grade : ndarray of int64, shape (n,)
        `EMPTY` while an item waits, `CANNOT` where it cannot be judged.
    judge, note : Texts, shape (n,)
        Who judged it, and what else was written down; empty where nobody says, throughout by default.
    lines : sequence of int or None
        On which line of its file each row starts, for messages; None where rows have no lines.
    n_of_machines : int
        Judgments of machines that are taken for people's.
    """

    sample: str
    block: Ints
    query_id: Texts
    doc_id: Texts
    grade: Ints
    judge: Texts = _NOBODY
    note: Texts = _NOBODY
    lines: Sequence[int] | None = None
    n_of_machines: int = 0

    def __post_init__(self) -> None:
        n_rows = np.size(self.block)
        for name in ("block", "query_id", "doc_id", "grade", "judge", "note"):
            values = getattr(self, name)
            if name in ("judge", "note"):  # nobody need say who judged, an id must not be empty
                column = Texts.from_list([""] * n_rows if values is _NOBODY else list(values))
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
        """Return some of the rows, in an order of one's own."""
        columns = {
            name: getattr(self, name)[rows] for name in ("block", "query_id", "doc_id", "grade", "judge", "note")
        }
        lines = None if self.lines is None else [self.lines[row] for row in rows.tolist()]
        return replace(self, lines=lines, **columns)

    @property
    def by_query(self) -> Ints:
        """The rows, block by block, as they are read at one go: in a block those of a query together."""
        first: dict[tuple[int, str], int] = {}
        keys = list(zip(self.block.tolist(), self.query_id.tolist(), strict=True))
        for row, key in enumerate(keys):
            first.setdefault(key, row)
        order = sorted(range(self.n_rows), key=lambda row: (keys[row][0], first[keys[row]]))
        return np.array(order, dtype=np.int64)

    @property
    def answers(self) -> frozenset[tuple[str, str, int, str]]:
        """What it says, whatever the order of its rows: query, document, grade and judge of each that was judged."""
        columns = (self.query_id, self.doc_id, self.grade, self.judge)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return frozenset(row for row in rows if row[2] != EMPTY)

    def place(self, name: str, row: int) -> str:
        """Return the file and line of a row for a message."""
        return name if self.lines is None else f"{name}:{self.lines[row]}"


def write_draws(
    draws: Draws,
    path: PathLike,
    files: AtomicFiles | None = None,
    texts: Mapping[str, Sequence[str]] | None = None,
    guide: GradeGuide | None = None,
) -> None:
    """Write a sheet by the suffix of the name: .csv, .tsv, .jsonl (each also .gz), .parquet or .xlsx.

    Grades are text, so that a judge can write a word; one that is waited for is an empty cell, null in JSON lines
    and parquet. In .csv, .tsv and .xlsx a text is cut where a spreadsheet's cell ends.

    Parameters
    ----------
    texts : mapping of str to sequence of str, optional
        What the judges are to read beside the ids, under names of `TEXTS`: one a row, empty where there is none.
    guide : Guide, optional
        What .xlsx says of the grades.
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
    from activeeval.formats.tables.export import write_columns  # polars, for which whoever reads alone does not wait

    write_columns(columns, path, files)


def read_draws(path: PathLike) -> Draws:
    """Read a sheet that `write_draws` wrote, also after a spreadsheet had it, which may have saved it as .xlsx or .ods.

    Columns may stand in any order and their names in capitals, cells may be quoted, a comma, a semicolon or a tab may
    separate them, a grade may read ``2.0`` or ``2: relevant``, and further columns do no harm.

    Raises
    ------
    FormatError
        ``path:line: column <name>: what is wrong``.
    """
    return draws_of(read_sheet(path).plainly_named(), path)


def draws_of(sheet: Sheet, path: PathLike, max_grade: int | None = None) -> Draws:
    """Return the sheet of a sample that a plainly named table is; raises as `read_draws`, also above a scale's end."""
    missing = [name for name in _NEEDED if name not in sheet.columns]
    if missing:
        line, held = None if sheet.lines is None else 1, ", ".join(sheet.columns)
        raise FormatError(
            os.fspath(path), line, f"no column {', '.join(missing)} in: {held}; expected the sheet of a sample"
        )
    codes: dict[int | str, int] = {"": EMPTY, CANNOT_WORD: CANNOT}
    return Draws(
        sample=_only(sheet, "sample"),
        block=sheet.wholes("block", least=1),
        # an id of a sample may have blanks around it; one that lost them, or has others, is none of the sample
        query_id=sheet.verbatim("query_id"),
        doc_id=sheet.verbatim("doc_id"),
        grade=np.array([codes.get(grade, grade) for grade in cell_grades(sheet, "grade", max_grade)], dtype=np.int64),
        judge=Texts.from_list(sheet.words("judge")) if "judge" in sheet.columns else _NOBODY,
        note=Texts.from_list(sheet.words("note")) if "note" in sheet.columns else _NOBODY,
        lines=sheet.lines,
    )


def _readable(text: str, is_cut: bool) -> str:
    """Return a text as a cell can hold it: lines end alike, and what no file of text may hold is a blank."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    plain = _CONTROL.sub(" ", whole.replace("\r\n", "\n").replace("\r", "\n"))
    return _cut(plain) if is_cut else plain


def _cut(text: str) -> str:
    room = _LONGEST - is_formula(text)  # for the apostrophe that it will stand behind
    units = text.encode("utf-16-le")
    if len(units) <= 2 * room:
        return text
    return units[: 2 * (room - 1)].decode("utf-16-le", "ignore") + "…"


def _only(sheet: Sheet, name: str) -> str:
    """Return the one text that a column holds."""
    words = [word.strip() for word in sheet.words(name)]
    for row, word in enumerate(words):
        if word != words[0]:
            sheet.fail(row, name, f"holds {shown(word)}, the first row {shown(words[0])}: expected one sample a sheet")
    return words[0]
