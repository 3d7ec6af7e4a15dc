"""The draws table: what was drawn, with which probabilities, what it cost, and the grades given."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from activeeval.errors import FormatError, InputError
from activeeval.io.columns import typed_column
from activeeval.io.files import PathLike, bare_suffix, write_atomically
from activeeval.io.keys import places_within
from activeeval.io.sheets import SUFFIXES, Sheet, read_sheet
from activeeval.pool.doors import Texts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EMPTY = -2
"""The grade of an item that waits for one; −1 is an item that could not be judged and earns nothing."""

_IDS = ("query_id", "doc_id")
_WORDS = ("design", "measure")
_FLOATS = ("query_prob", "item_prob", "weight", "cost")
# what an empty cell of a whole-number column means; None: the cell must not be empty
_EMPTY: dict[str, int | None] = {"draw": None, "depth": 0, "grade": EMPTY, "rank": 0, "versus_rank": 0}
_EMPTY["max_grade"] = 0
_EXTRA = ("rank", "versus_rank", "measure", "max_grade")


@dataclass(frozen=True, slots=True, eq=False)
class DrawsTable:
    """Drawn items, one row an item of a draw.

    Attributes
    ----------
    draw : ndarray of int64, shape (n,)
        Number of the draw that the row belongs to.
    query_id, doc_id : ndarray of str, shape (n,)
    query_prob, item_prob : ndarray of float64, shape (n,)
        Probability of the query in one draw, and of the item given the query.
    depth : ndarray of int64, shape (n,)
        How deep the draw reads its query; 0 where depth does not apply.
    weight, cost : ndarray of float64, shape (n,)
        Importance weight of the draw; cost of judging the item.
    design : ndarray of str, shape (n,)
    grade : ndarray of int64, shape (n,)
        `EMPTY` until judged, −1 where it could not be.
    rank, versus_rank : ndarray of int64, shape (n,)
        Rank in the list, and in the list compared with; 0 where that list does not hold the item.
    measure : ndarray of str, shape (n,)
    max_grade : ndarray of int64, shape (n,), optional
        Largest grade of the scale; 0 where it is not known.
    """

    draw: Ints
    query_id: Texts
    doc_id: Texts
    query_prob: Floats
    item_prob: Floats
    depth: Ints
    weight: Floats
    cost: Floats
    design: Texts
    grade: Ints
    rank: Ints
    versus_rank: Ints
    measure: Texts
    max_grade: Ints = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        n_rows = np.size(self.draw)
        if self.max_grade is None:
            object.__setattr__(self, "max_grade", np.zeros(n_rows, dtype=np.int64))
        for name in COLUMNS:
            column = _typed(name, getattr(self, name)).view()
            if column.shape != (n_rows,):
                raise InputError(f"{name} must have shape ({n_rows},), got {column.shape}")
            column.setflags(write=False)
            object.__setattr__(self, name, column)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.draw.size


COLUMNS = tuple(field.name for field in fields(DrawsTable))


def write_draws(table: DrawsTable, path: PathLike) -> None:
    """Write draws by the suffix of the name: .csv, .tsv, .jsonl (each also .gz) or .parquet.

    Floats keep every bit. What is empty (a grade until judged, a rank in a list that does not
    hold the item) is an empty cell, null in JSON lines and parquet.
    """
    suffix = bare_suffix(path)
    if suffix not in SUFFIXES:
        raise InputError(
            f"{os.fspath(path)}: cannot tell the format, expected a name that ends in {', '.join(SUFFIXES)}"
        )
    columns = {name: _cells(name, getattr(table, name)) for name in COLUMNS}
    with write_atomically(path, binary=suffix == ".parquet") as handle:
        if suffix == ".parquet":
            pl.DataFrame(columns, schema={name: _parquet_type(name) for name in COLUMNS}).write_parquet(handle)
        elif suffix == ".jsonl":
            for row in zip(*columns.values(), strict=True):
                handle.write(json.dumps(dict(zip(COLUMNS, row, strict=True)), ensure_ascii=False) + "\n")
        else:
            writer = csv.writer(handle, delimiter="\t" if suffix == ".tsv" else ",", lineterminator="\n")
            writer.writerow(COLUMNS)
            # csv writes None as an empty cell and a float as its shortest exact text
            writer.writerows(zip(*columns.values(), strict=True))


def read_draws(path: PathLike) -> DrawsTable:
    """Read draws that `write_draws` wrote, also after a spreadsheet had them.

    Columns may stand in any order, cells may be quoted, a comma, a semicolon or a tab may separate
    them, and a grade may read ``2.0``. Without a rank column a row's rank is its place within its
    draw; without versus_rank it is 0, without measure the empty text.

    Raises
    ------
    FormatError
        ``path:line: column <name>: what is wrong``.
    """
    sheet = read_sheet(path)
    missing = [name for name in COLUMNS if name not in sheet.columns and name not in _EXTRA]
    if missing:
        line = 1 if bare_suffix(path) in (".csv", ".tsv") else None
        held = ", ".join(sheet.columns)
        raise FormatError(os.fspath(path), line, f"no column {', '.join(missing)} in: {held}; expected a draws table")
    columns = {name: _column(sheet, name) for name in COLUMNS if name in sheet.columns}
    if "rank" not in columns:
        columns["rank"] = places_within(np.unique(columns["draw"], return_inverse=True)[1])
    columns.setdefault("versus_rank", np.zeros(sheet.n_rows, dtype=np.int64))
    columns.setdefault("measure", np.full(sheet.n_rows, "", dtype=np.str_))
    return DrawsTable(**columns)


def _column(sheet: Sheet, name: str) -> Any:
    if name in _IDS:
        return sheet.texts(name)
    if name in _WORDS:
        return np.array(sheet.words(name), dtype=np.str_)
    if name in _FLOATS:
        values = sheet.floats(name)
        bad = np.flatnonzero((values < 0) | ((values > 1) & name.endswith("_prob")))
        if bad.size:
            expected = "a probability" if name.endswith("_prob") else "no negative number"
            sheet.fail(int(bad[0]), name, f"holds {float(values[bad[0]])!r}, expected {expected}")
        return values
    return sheet.wholes(name, _EMPTY[name], least=-1 if name == "grade" else 0)


def _typed(name: str, values: Any) -> Any:
    if name in _WORDS:
        return np.ascontiguousarray(values, dtype=np.str_)
    return typed_column(values, name, "U" if name in _IDS else "f" if name in _FLOATS else "i")


def _cells(name: str, values: NDArray[Any]) -> list[Any]:
    empty = _EMPTY.get(name)
    return [None if empty is not None and cell == empty else cell for cell in values.tolist()]


def _parquet_type(name: str) -> type[pl.DataType]:
    if name in _IDS or name in _WORDS:
        return pl.String
    return pl.Float64 if name in _FLOATS else pl.Int64
