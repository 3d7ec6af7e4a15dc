"""Parse grades in cells: a number, a number with its name, `cannot`, or empty."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from activeeval.core.checks import LARGEST_GRADE
from activeeval.core.errors import InputError, raise_all, shown
from activeeval.formats.json_text import parse_json
from activeeval.formats.tables.cells import as_float, is_empty
from activeeval.formats.tables.sheets import Sheet

CANNOT = "cannot"
_NAMED = re.compile(r"\s*(\d{1,4})\s*:\s*[^\d\s].*", re.DOTALL)
_MOST_LISTED = 12
"""Most grades of a scale that a message lists one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeGuide:
    """Explanation of the grades for judges.

    Attributes
    ----------
    max_grade : int or None
        The largest grade of the scale; None for an open scale.
    names : mapping of int to str
        Names of grades.
    guidelines : str
        Judging guidelines in plain text.
    """

    max_grade: int | None = None
    names: Mapping[int, str] = field(default_factory=dict)
    guidelines: str = ""

    def __post_init__(self) -> None:
        """Raise InputError if a name is of a grade outside the scale, or does not start with a letter."""
        for grade, name in self.names.items():
            if self.max_grade is not None and not 0 <= grade <= self.max_grade:
                raise InputError(f"the grade {grade} with the name {shown(name)} is none of 0 to {self.max_grade}")
            if not _NAMED.fullmatch(named_grade(grade, name)):
                raise InputError(f"the name of grade {grade} must start with a letter, got {shown(name)}")

    @property
    def choices(self) -> list[int | str]:
        """All allowed cells of a grade column; an empty list for an open scale."""
        if self.max_grade is None:
            return []
        grades = range(self.max_grade + 1)
        return [*(named_grade(g, self.names[g]) if g in self.names else g for g in grades), CANNOT]


def named_grade(grade: int, name: str) -> str:
    """Format a grade with its name, as cells have it.

    Examples
    --------
    >>> named_grade(2, "highly relevant")
    '2: highly relevant'
    """
    return f"{grade}: {name}" if name else str(grade)


def allowed(max_grade: int | None) -> str:
    """Describe the allowed cells of a grade column, for a message.

    Examples
    --------
    >>> allowed(2), allowed(None)
    ('0, 1, 2, empty or cannot', 'a whole number from 0 on, empty or cannot')
    """
    if max_grade is None:
        return f"a whole number from 0 on, empty or {CANNOT}"
    if max_grade > _MOST_LISTED:
        return f"a whole number from 0 to {max_grade}, empty or {CANNOT}"
    return f"{', '.join(map(str, range(max_grade + 1)))}, empty or {CANNOT}"


def cell_grades(sheet: Sheet, name: str, max_grade: int | None = None, least: int = 0) -> list[int | str]:
    """Parse a column of grades: an int each, ``"cannot"``, or ``""`` for an item not judged yet.

    Parameters
    ----------
    max_grade : int, optional
        The largest grade of the scale.
    least : int
        The smallest allowed number; negative ones mark items that were pooled but not judged.

    Raises
    ------
    FormatError
        Names every other cell, and the allowed ones.
    """
    largest = LARGEST_GRADE if max_grade is None else max_grade
    cells = list(map(_single, sheet.columns[name]))
    grades = [_grade(value, least, largest) for value in cell_values(sheet, name)]
    wrong = [row for row, grade in enumerate(grades) if grade is None]
    expected = f"expected {allowed(max_grade)}"
    if wrong and not any(character.isdigit() for row in wrong for character in str(cells[row])):
        expected += "; a grade with its name is '2: relevant'"
    raise_all([sheet.error(row, name, f"holds {shown(str(cells[row]))}, {expected}") for row in wrong])
    return [grade for grade in grades if grade is not None]


def _single(cell: Any) -> Any:
    """Take the entry of a list or an object of one entry, as tools for labels write a choice; other cells unchanged.

    Label Studio writes ``[{"rating": 1}]`` into the cells of CSV.
    """
    if isinstance(cell, str) and cell[:1] in ("[", "{"):
        try:
            return _single(parse_json(cell))
        except ValueError:
            return cell
    while isinstance(cell, (list, dict)) and len(cell) == 1:
        cell = cell[0] if isinstance(cell, list) else next(iter(cell.values()))
    return cell


def cell_values(sheet: Sheet, name: str) -> list[float | str | None]:
    """Parse a column of grades or gains: a number each, "cannot", or "" if empty; None for any other cell."""
    cells = list(map(_single, sheet.columns[name]))
    words = replace(sheet, columns={name: cells}).words(name)
    return list(map(_value, cells, words))


def _value(cell: Any, word: str) -> float | str | None:
    """Parse a cell, whose text is ``word``, as `cell_values`."""
    if is_empty(cell):
        return ""
    if word.strip().lower() == CANNOT:
        return CANNOT
    named = _NAMED.fullmatch(word)
    return float(named[1]) if named else as_float(word if isinstance(cell, str) else cell)


def _grade(value: float | str | None, least: int, largest: int) -> int | str | None:
    """Convert the value of a cell to a grade from ``least`` to ``largest``; texts stay, and None is no grade."""
    if value is None or isinstance(value, str):
        return value
    return int(value) if value.is_integer() and least <= value <= largest else None
