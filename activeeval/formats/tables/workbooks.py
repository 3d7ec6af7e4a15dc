"""Write judges' sheets as .xlsx workbooks: a drop-down list for the grade, and a second page with guidelines.

The same columns give the same bytes: time stamps of the workbook are replaced by a constant.
"""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from activeeval.core.errors import InputError, shown
from activeeval.formats.suffixes import PathLike
from activeeval.formats.tables.grades import CANNOT, GradeGuide
from activeeval.formats.writing import AtomicFiles, write_atomically

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

PAGES = ("sheet", "guidelines")
_THEN = datetime(2000, 1, 1)
_MODIFIED = re.compile(rb"(<dcterms:(created|modified)[^>]*>)[^<]*")
_ESCAPE = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")
_UNFIT = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]")
_WIDTHS = {"sample": 8, "block": 7, "query": 30, "title": 40, "text": 80, "url": 30, "grade": 22, "note": 30}
_WIDTH = 14
_WRAPPED = ("query", "title", "text", "note")
_PAGE_WIDTH = 100
_DEFAULT_GUIDELINES = """\
One row is one document of one query: read both, and choose the grade in the column `grade`.
How good is the document as an answer to the query? Judge each by itself, not against its neighbours.
`cannot`: the document cannot be judged, as a page that does not load. Say why in the column `note`.
An empty grade waits: a sheet may be handed in half done.
Leave the columns sample, block, query_id and doc_id as they are; rows may be sorted.
Save the file as it is (.xlsx), or as CSV UTF-8."""


def write_workbook(
    columns: Mapping[str, Any], path: PathLike, guide: GradeGuide, files: AtomicFiles | None = None
) -> None:
    """Write a sheet for judges as .xlsx.

    Parameters
    ----------
    columns : mapping of str to sequence of str, int or None
        Columns of equal length.
    guide : GradeGuide
    files : AtomicFiles, optional
        Group of files to write together.

    Raises
    ------
    InputError
        If openpyxl is missing, the file cannot be written, or a text is not valid in a cell.
    """
    try:
        from openpyxl import Workbook
    except ImportError:
        needed = 'pip install "activeeval-ir[spreadsheets]"'
        raise InputError(f"{os.fspath(path)}: .xlsx is written with {needed}; or name the sheet .csv") from None
    book = Workbook()
    sheet = book.worksheets[0]
    sheet.title = PAGES[0]
    _fill(sheet, columns, os.fspath(path))
    page = book.create_sheet(PAGES[1])
    first, last = _write_guidelines(page, guide)
    if guide.choices:
        _add_choices(sheet, list(columns).index("grade") + 1, f"{PAGES[1]}!$A${first}:$A${last}", guide)
    book.properties.created = _THEN
    content = io.BytesIO()
    book.save(content)
    opened = write_atomically if files is None else files.open
    with opened(path, binary=True) as handle:
        handle.write(_timeless(content.getvalue()))


def _fill(sheet: Worksheet, columns: Mapping[str, Any], path: str) -> None:
    """Write the columns and their formatting to a worksheet."""
    from openpyxl.styles import Alignment, Font
    from openpyxl.utils import get_column_letter

    for number, (name, values) in enumerate(columns.items(), start=1):
        sheet.column_dimensions[get_column_letter(number)].width = _WIDTHS.get(name, _WIDTH)
        sheet.cell(1, number, name).font = Font(bold=True)
        for row, value in enumerate(values, start=2):
            cell = sheet.cell(row, number)
            cell.alignment = Alignment(vertical="top", wrap_text=name in _WRAPPED)
            if isinstance(value, str):
                _set_text(cell, value, f"{path}: column {name}")
            elif value is not None:
                cell.value = int(value)
    sheet.freeze_panes = "A2"


def _set_text(cell: Any, text: str, place: str) -> None:
    """Write a text to a cell literally: not as a formula, number or escape sequence."""
    if _UNFIT.search(text):
        raise InputError(f"{place}: {shown(text)} holds a letter that no .xlsx can; name the sheet .csv")
    cell.value = _ESCAPE.sub("_x005F_", text)
    cell.data_type = "s"
    cell.number_format = "@"


def _write_guidelines(page: Worksheet, guide: GradeGuide) -> tuple[int, int]:
    """Write the grades and the guidelines; return the first and the last row of the list of grades."""
    from openpyxl.styles import Alignment, Font

    page.column_dimensions["A"].width = _PAGE_WIDTH
    page.cell(1, 1, "Grades").font = Font(bold=True)
    first, choices = 2, guide.choices
    for row, choice in enumerate(choices, start=first):
        cell = page.cell(row, 1)
        if isinstance(choice, str):
            _set_text(cell, choice, "the grades")
        else:
            cell.value = choice
        cell.alignment = Alignment(horizontal="left")
    row = first + len(choices)
    if not choices:
        page.cell(row, 1, f"a whole number from 0 on, or {CANNOT}")
        row += 1
    row += 1
    page.cell(row, 1, "How to judge").font = Font(bold=True)
    for line in (guide.guidelines or _DEFAULT_GUIDELINES).splitlines():
        row += 1
        if line.strip():
            cell = page.cell(row, 1)
            _set_text(cell, line, "the guidelines")
            cell.alignment = Alignment(wrap_text=True, vertical="top")
    return first, first + len(choices) - 1


def _add_choices(sheet: Worksheet, column: int, source: str, guide: GradeGuide) -> None:
    """Add a drop-down list of grades to each row of a ``column``, from 1; ``source`` are the cells with the grades."""
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation

    chosen = DataValidation(type="list", formula1=source, allow_blank=True, showErrorMessage=True)
    chosen.errorTitle, chosen.error = "No grade", f"Choose one from the list, 0 to {guide.max_grade} or {CANNOT}."
    letter = get_column_letter(column)
    chosen.add(f"{letter}2:{letter}{max(sheet.max_row, 2)}")
    sheet.add_data_validation(chosen)


def _timeless(content: bytes) -> bytes:
    """Replace the time stamps of a workbook by a constant."""
    then, out = f"{_THEN:%Y-%m-%dT%H:%M:%SZ}".encode(), io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as after:
        for entry in before.infolist():
            data = before.read(entry)
            if entry.filename == "docProps/core.xml":
                data = _MODIFIED.sub(rb"\g<1>" + then, data)
            after.writestr(zipfile.ZipInfo(entry.filename, _THEN.timetuple()[:6]), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()
