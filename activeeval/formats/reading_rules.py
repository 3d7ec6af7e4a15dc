"""Rules for reading tables, runs and judgments that hold until they are lifted: names of columns, items left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from activeeval.core.checks import LARGEST_GRADE
from activeeval.core.errors import InputError, did_you_mean, shown
from activeeval.core.types import Floats, Ints

ROLES = {
    "query": "query_id",
    "document": "doc_id",
    "judge": "judge",
    "text": "text",
    "seconds": "seconds",
    "grade": "grade",
    "score": "score",
    "rank": "rank",
    "value": "value",
    "segment": "segment",
    "subtopic": "subtopic_id",
}
"""What users call a column in ``--columns`` -> its name in this library."""
_REGEX = re.compile(r"[\\^$.|?*+()\[\]{}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingRules:
    """Rules for reading files and data frames.

    Attributes
    ----------
    columns : mapping of str to str
        Column of the user's tables, in lower case -> its name in this library.
    leave_out_self : bool
        Leave out of runs and judgments the document whose id is that of its query.
    collapse : str
        How chunks become documents: a column with the document of each row, or a regular expression on document ids,
        whose group is the document, or which is removed if it has no group; "" keeps chunks.
    queries : str
        Table of ids and texts of queries, for judgments that name queries by texts; "" for none.
    gains : bool
        Accept grades that are not whole, as gains; see `coded_gains`.
    named : tuple of str
        The user's columns as they were spelt.
    is_nameable : bool
        True if the caller accepts names of columns, for messages.
    met : set of str
        The columns, as in `columns`, that a table had; `dialects.by_roles` adds to it.
    """

    columns: Mapping[str, str]
    leave_out_self: bool = False
    collapse: str = ""
    queries: str = ""
    gains: bool = False
    named: tuple[str, ...] = ()
    is_nameable: bool = False
    met: set[str] = field(default_factory=set)

    def document_of(self) -> Callable[[str], str]:
        """Build the function from the id of a chunk to that of its document."""
        if not _REGEX.search(self.collapse):
            return lambda chunk: chunk  # a column was renamed when the table was read
        pattern = re.compile(self.collapse)
        if not pattern.groups:
            return lambda chunk: pattern.sub("", chunk) or chunk
        return lambda chunk: (match[1] or chunk) if (match := pattern.search(chunk)) else chunk


_RULES: ContextVar[ReadingRules | None] = ContextVar("rules", default=None)


def rules() -> ReadingRules:
    """Get the rules for reading files that `reading` set in this context; rules without effect outside of it."""
    return _RULES.get() or ReadingRules(columns={})


def check_columns_met(named: Sequence[str] | None = None) -> None:
    """Raise InputError if no table read so far had one of the user's columns; called before results are written.

    ``named`` are the columns to check, by default all that are named.
    """
    held = rules()
    if lacking := [column for column in (held.named if named is None else named) if column.lower() not in held.met]:
        raise InputError(f"no table has a column {shown(lacking[0])}", field="columns")


def coded_gains(values: Floats, fail: Callable[[int, str], NoReturn]) -> tuple[Ints, Floats] | None:
    """Code grades that are not all whole as indices into the gains that occur, if the rules accept gains.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        −1, another whole number below 0, or NaN for an item without a grade.
    fail : callable
        Raises the error about a row: gets its number and the problem.

    Returns
    -------
    codes : ndarray of int64, shape (n,)
        −1 for an item without a grade.
    gains : ndarray of float64
        0 and each gain above it that occurs, ascending. None is returned instead of both if the grades are whole.

    Examples
    --------
    >>> with reading(gains=True):
    ...     coded_gains(np.array([0.5, -1.0, 2.0]), fail=print)
    (array([ 1, -1,  2]), array([0. , 0.5, 2. ]))
    """
    is_graded = values >= 0
    if not rules().gains or (values[is_graded] == np.floor(values[is_graded])).all():
        return None
    wrong = np.flatnonzero((values > LARGEST_GRADE) | ((values < 0) & (values != np.floor(values))))
    if wrong.size:
        fail(int(wrong[0]), f"holds {float(values[wrong[0]])!r}, expected a grade from 0 to {LARGEST_GRADE}")
    gains, codes = np.unique(np.append(0.0, values[is_graded]), return_inverse=True)
    coded = np.full(values.size, -1, dtype=np.int64)
    coded[is_graded] = codes[1:]
    return coded, gains


@contextmanager
def reading(
    columns: Mapping[str, str] | None = None,
    *,
    leave_out_self: bool = False,
    collapse: str = "",
    queries: str = "",
    gains: bool = False,
) -> Iterator[None]:
    """Read all files and data frames by rules within a ``with`` block; rules of outer blocks stay.

    Parameters
    ----------
    columns : mapping of str to str, or None
        Role (a key of `ROLES`, such as "query") -> column of the user's tables; None if the caller takes no names.
    leave_out_self : bool
        Leave out documents with the id of their query.
    collapse : str
        Column, or regular expression on ids, that gives the document of a chunk; "" keeps chunks.
    queries : str
        Table of ids and texts of queries, for judgments that name queries by texts.
    gains : bool
        Accept grades that are not whole, as gains.

    Raises
    ------
    InputError
        If a role is unknown, two have the same column, `collapse` is no regular expression, or, at the end, no table
        had one of the columns.
    """
    names: dict[str, str] = {}
    for role, column in (columns or {}).items():
        if role not in ROLES:
            hint = did_you_mean(role, tuple(ROLES))
            raise InputError(f"{shown(role)} is no role of a column; {hint}known: {', '.join(ROLES)}", field="columns")
        if column.strip().lower() in names:
            raise InputError(f"column {shown(column)} is named twice, expected it once", field="columns")
        names[column.strip().lower()] = ROLES[role]
    is_column = collapse != "" and not _REGEX.search(collapse)
    if is_column:
        names |= {collapse.strip().lower(): "doc_id"}
    try:
        re.compile(collapse)
    except re.error as problem:
        raise InputError(f"{shown(collapse)} is no regular expression: {problem}", field="collapse") from None
    before = rules()
    named = (*(column.strip() for column in (columns or {}).values()), *[collapse.strip()] * is_column)
    held = ReadingRules(
        columns={**before.columns, **names},
        leave_out_self=leave_out_self or before.leave_out_self,
        collapse=collapse or before.collapse,
        queries=queries or before.queries,
        gains=gains or before.gains,
        named=(*before.named, *named),
        is_nameable=columns is not None or before.is_nameable,
        met=before.met,
    )
    token = _RULES.set(held)
    try:
        yield
        check_columns_met(named)
    finally:
        _RULES.reset(token)
