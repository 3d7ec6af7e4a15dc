"""Read tables of pairs of lists, with the preferred one or unanswered."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import ne
from typing import Any

import numpy as np

from activeeval.core.checks import LARGEST_GRADE
from activeeval.core.errors import FormatError, InputError, shown
from activeeval.core.types import Ints
from activeeval.formats.suffixes import PathLike
from activeeval.formats.tables.read_tables import read_sheet
from activeeval.formats.tables.sheets import Sheet

UNANSWERED = 9
_WHOLE = re.compile(r"-?\d{1,18}")
QUERY = ("query", "query_id", "q_id", "qid")
_ANSWERS = {"first": 1, "second": -1, "tie": 0, "": UNANSWERED}
_TRUE = {True: True, False: False, None: False, "": False, "true": True, "false": False, "1": True, "0": False}


@dataclass(frozen=True, slots=True, eq=False)
class PairTable:
    """Pairs of lists from tables, in their order.

    Attributes
    ----------
    queries : list of str or None
        None if no table names queries.
    first, second : list
        A list of grades by rank, or text: the name of a run.
    answers : ndarray of int64, shape (n,)
        1 if the first list is preferred, −1 the second, 0 a tie, or `UNANSWERED`.
    moved : ndarray of int64, shape (n,), or None
        Number of ranks at which the two lists have different documents, if the tables name documents.
    places : list of str
        ``path:line`` of every pair.
    """

    queries: list[str] | None
    first: list[Any]
    second: list[Any]
    answers: Ints
    moved: Ints | None
    places: list[str]


def read_pairs(paths: Sequence[PathLike]) -> PairTable:
    """Read pairs of lists from tables (.jsonl, .csv, .tsv, .parquet; text ones also .gz).

    A table has the columns ``preferred`` and ``other``, with ``tie`` if neither is preferred, or ``first`` and
    ``second`` with ``answer`` (first, second, tie or empty); ``query`` is optional, and so are lists of documents,
    ``preferred_docs`` and ``other_docs`` or ``first_docs`` and ``second_docs``. In a text cell of CSV a list is
    separated by spaces.

    Raises
    ------
    FormatError
        ``path:line`` of a cell that cannot be read.
    """
    if not isinstance(paths, Sequence) or not paths:
        raise InputError("there is no file of pairs to read")
    parts = [_read(path) for path in paths]
    has_queries = {part.queries is not None for part in parts}
    if len(has_queries) > 1:
        without = next(path for path, part in zip(paths, parts, strict=True) if part.queries is None)
        raise FormatError(os.fspath(without), None, "no query column, where another file has one")
    return PairTable(
        [query for part in parts for query in part.queries or []] if has_queries == {True} else None,
        [pair_list for part in parts for pair_list in part.first],
        [pair_list for part in parts for pair_list in part.second],
        np.concatenate([part.answers for part in parts]),
        np.concatenate(moved) if len(moved := [m for p in parts if (m := p.moved) is not None]) == len(parts) else None,
        [place for part in parts for place in part.places],
    )


def _read(path: PathLike) -> PairTable:
    """Read the pairs of one table: of lists first and second, with an answer, or preferred and other."""
    sheet = read_sheet(path)
    is_asked = "first" in sheet.columns
    if is_asked and "preferred" in sheet.columns:
        raise FormatError(sheet.source, None, "columns first and preferred, expected one of the two")
    names = ("first", "second") if is_asked else ("preferred", "other")
    sides = [_lists(sheet, sheet.column("list", [name])) for name in names]
    queries = next((sheet.texts(name).tolist() for name in QUERY if name in sheet.columns), None)
    places = [_place(sheet, row) for row in range(sheet.n_rows)]
    return PairTable(queries, sides[0], sides[1], pair_answers(sheet, is_asked), _moved(sheet, names), places)


def _place(sheet: Sheet, row: int) -> str:
    """Format the file and line of a row for a message."""
    return f"{sheet.source}:{sheet.lines[row]}" if sheet.lines is not None else f"{sheet.source}: row {row + 1}"


def _lists(sheet: Sheet, name: str) -> list[Any]:
    """Read a column of lists or texts; a text of integers only becomes a list."""
    lists = []
    for row, cell in enumerate(sheet.columns[name]):
        value = cell.tolist() if hasattr(cell, "tolist") else cell
        if value is None or value == "":
            sheet.fail(row, name, "is empty, expected a list of grades or the name of a run")
        if isinstance(value, str):
            words = value.split()
            value = [int(word) for word in words] if all(map(_WHOLE.fullmatch, words)) else value.strip()
        elif not isinstance(value, (list, tuple)):
            sheet.fail(row, name, f"holds {shown(str(value))}, expected a list of grades or the name of a run")
        grades = [] if isinstance(value, str) else [grade for grade in value if isinstance(grade, (int, float))]
        if (large := next((grade for grade in grades if grade > LARGEST_GRADE), None)) is not None:
            sheet.fail(row, name, f"holds {shown(str(large))}, expected grades of at most {LARGEST_GRADE}")
        lists.append(value)
    return lists


def _moved(sheet: Sheet, names: Sequence[str]) -> Ints | None:
    """Count the ranks with different documents, from columns such as preferred_docs and other_docs; None if missing."""
    columns = [f"{name}_docs" for name in names]
    if not all(column in sheet.columns for column in columns):
        return None
    counts = []
    for row, sides in enumerate(zip(*(sheet.columns[column] for column in columns), strict=True)):
        texts = [_documents(sheet, row, column, side) for column, side in zip(columns, sides, strict=True)]
        if len(texts[0]) != len(texts[1]):
            sheet.fail(
                row, columns[1], f"holds {len(texts[1])} documents, {columns[0]} {len(texts[0])}, expected as many"
            )
        counts.append(sum(map(ne, *texts)))
    return np.array(counts, dtype=np.int64)


def _documents(sheet: Sheet, row: int, column: str, cell: Any) -> list[Any]:
    """Read a cell as a list of documents."""
    if cell is not None and not isinstance(cell, (str, list, tuple)):
        sheet.fail(row, column, f"holds {shown(str(cell))}, expected a list of documents")
    return cell.split() if isinstance(cell, str) else list(cell or ())


def pair_answers(sheet: Sheet, is_asked: bool) -> Ints:
    """Read the answers of pairs, shape (n,), from the column ``answer`` if `is_asked`, otherwise from ``tie``.

    1 prefers the first list, −1 the second, 0 is a tie. Without the column they are `UNANSWERED`, or 1 without ``tie``.
    """
    column = "answer" if is_asked else "tie"
    if column not in sheet.columns:
        return np.full(sheet.n_rows, UNANSWERED if is_asked else 1)
    parse: Callable[[Any], int | None] = _answer if is_asked else _tie
    answers = []
    for row, cell in enumerate(sheet.columns[column]):
        value = parse(cell)
        if value is None:
            expected = "first, second, tie or nothing" if is_asked else "true or false"
            sheet.fail(row, column, f"holds {shown(str(cell))}, expected {expected}")
        answers.append(value)
    return np.array(answers, dtype=np.int64)


def _answer(cell: Any) -> int | None:
    """Parse a cell of the column ``answer``; None if it is invalid."""
    return _ANSWERS.get("" if cell is None else str(cell).strip().lower())


def _tie(cell: Any) -> int | None:
    """Parse a cell of the column ``tie`` to 0 (tie) or 1 (no tie); None if it is invalid."""
    key = cell.strip().lower() if isinstance(cell, str) else cell
    is_known = key is None or isinstance(key, (bool, str)) or key in (0, 1)
    if not is_known or key not in _TRUE:
        return None
    return 0 if _TRUE[key] else 1
