"""Read tables with named columns: CSV in its spreadsheet dialects, JSON lines, parquet, spreadsheets, data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NoReturn

import numpy as np

from activeeval.core.checks import LARGEST_GRADE, first_above
from activeeval.core.errors import FormatError, did_you_mean, shown
from activeeval.core.pool.id_checks import told_too_long
from activeeval.core.pool.texts import Texts
from activeeval.core.results import Note
from activeeval.core.types import Floats, Ints
from activeeval.formats.reading_rules import ROLES, rules
from activeeval.formats.tables.cells import as_float, has_decimal_comma, is_altered, is_empty, plain_floats, unguarded
from activeeval.formats.tables.records import RenamedColumns

_LARGEST_WHOLE = 2**53
_HINTED = 1000
"""Most names compared with the expected ones for a hint; a tenth of a millisecond each."""


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Columns by name, with the line of every row for messages.

    Attributes
    ----------
    source : str
        The file as the caller named it, or a description of data in memory.
    columns : mapping of str to list or ndarray
        Raw values: text from CSV, typed ones from JSON lines, parquet and frames.
    lines : sequence of int or None
        Line at which each row starts; None if rows have no lines.
    is_typed : bool
        True if blanks around an id are part of it; in cells of CSV and spreadsheets they are not.
    notes : tuple of Note
        Notes on how the table was read.
    """

    source: str
    columns: Mapping[str, Any]
    lines: Sequence[int] | None = None
    is_typed: bool = True
    notes: tuple[Note, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        if self.lines is not None:
            return len(self.lines)
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def column(self, what: str, names: Sequence[str]) -> str:
        """Find the first of `names` that is a column; raise FormatError if none is.

        ``what`` is what the column holds, for the message.
        """
        for name in names:
            if name in self.columns:
                return name
        line = 1 if self.lines is not None else None
        present = ", ".join(self.columns) or "no columns"
        # nearly the same alone: a doc_id is no misspelt q_id
        meant = ((name, did_you_mean(name, names, likeness=0.75)) for name in islice(self.columns, _HINTED))
        hint = next((f"{shown(name)}: {likely}" for name, likely in meant if likely), "")
        problem, field = f"no {what} column in: {present}; {hint}expected {' or '.join(names)}", None
        if rules().is_nameable and what in ROLES:
            problem, field = f"{problem}, or `columns` {what}=NAME", "columns"
        raise FormatError(self.source, line, problem, field=field)

    def only_column(self, what: str, names: Sequence[str]) -> str:
        """Find the only one of `names` that is a column; raise FormatError if several are, or none.

        ``what`` is what the column holds, for the message.
        """
        present = [name for name in names if name in self.columns]
        if len(present) > 1:
            line, listed = 1 if self.lines is not None else None, " and ".join(present)
            raise FormatError(self.source, line, f"columns {listed} all hold the {what}, expected one of them")
        return self.column(what, names)

    def error(self, row: int, name: str, problem: str) -> FormatError:
        """Build the error about the cell in ``row`` (from 0) of the column ``name``."""
        if self.lines is not None:
            return FormatError(self.source, self.lines[row], f"column {name}: {problem}")
        return FormatError(self.source, None, f"row {row + 1}, column {name}: {problem}")

    def fail(self, row: int, name: str, problem: str) -> NoReturn:
        """Raise the error about a cell."""
        raise self.error(row, name, problem)

    def place(self, row: int) -> str:
        """Format the place of a row for a message."""
        return f"line {self.lines[row]}" if self.lines is not None else f"row {row + 1}"

    def plainly_named(self) -> Sheet:
        """Convert column names to lower case without blanks at their ends; raise FormatError for duplicates."""
        names: dict[str, str] = {}
        for name in self.columns:
            plain = name.strip().lower()
            if plain in names:
                raise FormatError(self.source, None, f"column {shown(plain)} is there twice, expected it once")
            names[plain] = name
        return replace(self, columns=RenamedColumns(self.columns, names))

    def records(self) -> list[dict[str, Any]]:
        """List the rows as objects by column name, without missing fields."""
        rows = zip(*self.columns.values(), strict=True)
        return [{name: v for name, v in zip(self.columns, row, strict=True) if v is not None} for row in rows]

    def texts(self, name: str) -> Texts:
        """Read a column of ids; integers become decimal text, blanks around text cells are removed."""
        return self.verbatim(name) if self.is_typed else self._bare(name).verbatim(name)

    def _bare(self, name: str) -> Sheet:
        """Remove the blanks around the texts of a column."""
        cells = self.columns[name]
        bare = [cell.strip() if isinstance(cell, str) else cell for cell in cells]
        for row, (cell, text) in enumerate(zip(cells, bare, strict=True)):
            if text != cell and text[:1] == '"' and cell[:1] != '"':
                self.fail(row, name, f"holds {shown(cell)}, expected no blank before a quoted cell")
        return replace(self, columns={name: bare})

    def verbatim(self, name: str) -> Texts:
        """Read a column of ids as `texts` does, but keep all blanks."""
        values = self.columns[name]
        if isinstance(values, np.ndarray):
            values = values.astype(np.str_).tolist() if values.dtype.kind in "iu" else values.tolist()
        values = self._unguarded(values)
        if not set(map(type, values)) <= {str} or "" in values:
            values = [self._id(row, name, value) for row, value in enumerate(values)]
        texts = Texts.from_list(values)
        if (row := texts.first_too_long()) >= 0:
            self.fail(row, name, f"holds {told_too_long(texts[row])}")
        if (texts.data == 0).any():
            row = next(row for row, text in enumerate(values) if "\0" in text)
            self.fail(row, name, f"holds {shown(values[row])}, expected an id without NUL")
        return texts

    def _id(self, row: int, name: str, value: Any) -> str:
        """Convert a cell to an id; raise FormatError if it is not text or an integer."""
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            problem = "is empty" if is_empty(value) else f"holds {shown(str(value))}"
            spoilt = "; did a spreadsheet change it?" if is_altered(value) else ""
            self.fail(row, name, f"{problem}, expected an id, text or a whole number{spoilt}")
        if value == "":
            self.fail(row, name, "is empty, expected an id")
        return str(value)

    def words(self, name: str) -> list[str]:
        """Read a column of free text; an empty cell is ""."""
        return ["" if is_empty(value) else str(value) for value in self._unguarded(self.columns[name])]

    def _unguarded(self, values: list[Any]) -> list[Any]:
        """Remove the apostrophes that `write_columns` puts before texts that look like formulas."""
        return values if self.is_typed else [unguarded(v) if isinstance(v, str) else v for v in values]

    def floats(self, name: str, empty: float | None = None) -> Floats:
        """Read a column of finite numbers; an empty cell gives `empty`, or raises FormatError if that is None."""
        values = self.columns[name]
        if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
            out = values.astype(np.float64)
        elif (plain := plain_floats(values)) is not None:
            out = plain
        else:
            numbers = [self._number(row, name, value, empty) for row, value in enumerate(values)]
            out = np.array(numbers, dtype=np.float64)
        bad = np.flatnonzero(~np.isfinite(out))
        if bad.size:
            self.fail(int(bad[0]), name, f"holds {out[bad[0]]}, expected a finite number")
        return out

    def wholes(self, name: str, empty: int | None = None, least: int | None = None) -> Ints:
        """Read a column of integers, ``2`` or ``2.0``, all at least `least` except for empty cells."""
        values = self.floats(name, empty)
        bad = np.flatnonzero((values != np.floor(values)) | (np.abs(values) >= _LARGEST_WHOLE))
        if bad.size:
            self.fail(int(bad[0]), name, f"holds {float(values[bad[0]])!r}, expected a whole number")
        out = values.astype(np.int64)
        if least is not None:
            cells = self.columns[name]
            for row in np.flatnonzero(out < least).tolist():
                if not is_empty(cells[row]):
                    self.fail(row, name, f"holds {out[row]}, expected a whole number from {least} on")
        return out

    def grades(self, name: str, empty: int | None = None) -> Ints:
        """Read a column of integer grades of at most `LARGEST_GRADE`."""
        grades = self.wholes(name, empty)
        bad = first_above(grades, LARGEST_GRADE)
        if bad >= 0:
            self.fail(bad, name, f"holds {grades[bad]}, expected a grade of at most {LARGEST_GRADE}")
        return grades

    def _number(self, row: int, name: str, value: Any, empty: float | None) -> float:
        """Convert a cell to a float; raise FormatError, with its ``row`` and column ``name``, if it is not a number.

        An empty cell becomes ``empty``; with None it is an error too.
        """
        if is_empty(value):
            if empty is None:
                self.fail(row, name, "is empty, expected a number")
            return empty
        number = as_float(value)
        if number is None and has_decimal_comma(value):
            self.fail(row, name, f"{shown(value)} has a decimal comma, expected a decimal point")
        if number is None:
            self.fail(row, name, f"{shown(str(value))} is not a number, expected one")
        return number
