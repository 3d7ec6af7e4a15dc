"""Tables of values keyed by query and document, and their alignment with the items of a pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.core.checks import numbers
from activeeval.core.errors import FormatError, InputError
from activeeval.core.pool.id_checks import as_texts
from activeeval.core.pool.keys import positions_in
from activeeval.core.pool.queries import QueryPool
from activeeval.core.pool.texts import Texts
from activeeval.core.results import Caution, Note
from activeeval.core.types import Floats, Ints

_LARGEST_WHOLE = 2.0**53


@dataclass(frozen=True, slots=True, eq=False)
class Qrels:
    """Graded judgments, one row per judgment; a negative grade means pooled but not judged.

    Attributes
    ----------
    query_ids, doc_ids : Texts, shape (n,)
    grades : ndarray of int64, shape (n,)
    source : str
        Name of the judgments in messages, for example the name of their file.
    notes : tuple of Note
        Notes and warnings of the reader of the file.
    gains : ndarray of float64, or None
        If the judgments are gains, not grades: the gains that occur, ascending from 0; `grades` are indices into them.
    """

    query_ids: Texts
    doc_ids: Texts
    grades: Ints
    source: str = "the judgments"
    notes: tuple[Note | Caution, ...] = ()
    gains: Floats | None = None

    def __post_init__(self) -> None:
        """Convert the columns to their types and make them read-only; raise InputError if one does not fit."""
        close_columns(self, {"query_ids": "U", "doc_ids": "U", "grades": "i"})


@dataclass(frozen=True, slots=True, eq=False)
class Probabilities:
    """Distributions over grades, one row per item.

    Attributes
    ----------
    query_ids, doc_ids : Texts, shape (n,)
    probs : ndarray of float64, shape (n, n_grades)
    source : str
        Origin of the probabilities, for messages.
    """

    query_ids: Texts
    doc_ids: Texts
    probs: Floats
    source: str

    def align(self, pool: QueryPool) -> Floats:
        """Select the rows of the pool's items, shape (n_items, n_grades).

        Raises
        ------
        InputError
            If an item of the pool has no row; names the first.
        """
        return self.probs[_rows_of(pool, self.query_ids, self.doc_ids, self.source, "probabilities")]


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """Costs of judging, either in the order of the pool's items or keyed by query and document.

    Attributes
    ----------
    values : ndarray of float64, shape (n,)
    query_ids, doc_ids : Texts, shape (n,), or None
        None if the costs follow the order of the items.
    source : str
        Origin of the costs, for messages.
    """

    values: Floats
    query_ids: Texts | None
    doc_ids: Texts | None
    source: str

    def align(self, pool: QueryPool) -> Floats:
        """Select the costs of the pool's items, shape (n_items,).

        Raises InputError if an item has no cost, or FormatError if the number of costs without ids differs from the
        items'.
        """
        if self.query_ids is not None and self.doc_ids is not None:
            return self.values[_rows_of(pool, self.query_ids, self.doc_ids, self.source, "cost")]
        if self.values.size != pool.n_items:
            raise FormatError(self.source, None, f"{self.values.size} costs for {pool.n_items} items")
        return self.values


def typed_column(values: Any, name: str, kind: str) -> Any:
    """Convert a column to `Texts` (kind ``U``), finite floats (``f``) or whole numbers (``i``).

    Raises InputError with the column's ``name`` if it does not fit.
    """
    if kind == "U":
        return as_texts(values, name)
    array = np.asarray(values)
    if kind == "i":
        return np.ascontiguousarray(_wholes(array, name))
    out = np.ascontiguousarray(numbers(array, name, (array.size,)))
    bad = np.flatnonzero(~np.isfinite(out))
    if bad.size:
        raise InputError(f"{name}[{bad[0]}] must be a finite number, got {out[bad[0]]}")
    return out


def close_columns(table: object, kinds: dict[str, str]) -> None:
    """Convert the columns of a frozen table in place, check that their lengths are equal, and make them read-only.

    ``kinds`` maps the name of a column to its kind: ``U`` text, ``f`` finite floats, ``i`` whole numbers. Raises
    InputError if one does not fit.
    """
    n_rows = np.size(getattr(table, next(iter(kinds))))
    for name, kind in kinds.items():
        column = typed_column(getattr(table, name), name, kind)
        if column.shape != (n_rows,):
            raise InputError(f"{name} must have shape ({n_rows},), got {column.shape}")
        if kind != "U":
            column = column.view()
            column.setflags(write=False)
        object.__setattr__(table, name, column)


def _wholes(array: NDArray[Any], name: str) -> Ints:
    """Convert a column to int64; raise InputError if a value is not a whole number below 2^53."""
    if array.dtype.kind in "iu" and array.ndim == 1:
        return array.astype(np.int64, copy=False)
    values = numbers(array, name, (array.size,))
    bad = np.flatnonzero(~((values == np.floor(values)) & (np.abs(values) < _LARGEST_WHOLE)))
    if bad.size:
        raise InputError(f"{name}[{bad[0]}] must be a whole number, got {values[bad[0]]}")
    return values.astype(np.int64)


def _rows_of(pool: QueryPool, query_ids: Texts, doc_ids: Texts, source: str, what: str) -> Ints:
    """Find the row of each item of the pool, shape (n_items,); raise InputError if one has none.

    ``source`` is the origin of the table and `what` the name of its values, both for the message.
    """
    positions = positions_in(pool, query_ids, doc_ids)
    rows = np.full(pool.n_items, -1, dtype=np.int64)
    present = np.flatnonzero(positions >= 0)
    rows[positions[present]] = present
    missing = np.flatnonzero(rows < 0)
    if missing.size:
        n_more = f", nor for {missing.size - 1} more" if missing.size > 1 else ""
        raise InputError(f"{source}: no {what} for {pool.place(int(missing[0]))}{n_more}")
    return rows
