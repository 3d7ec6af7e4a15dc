"""Read output of the package umbrela: a line a pair, with query, passage, reply, and the grade parsed from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from activeeval.core.errors import FormatError
from activeeval.core.pool.texts import Texts
from activeeval.core.types import Bools
from activeeval.formats.graders.grade_tables import numbers_or_missing
from activeeval.formats.graders.joining import IdsOfTexts, TextsOfIds, joined_pairs
from activeeval.formats.graders.replies import Replies, few_names
from activeeval.formats.tables.sheets import Sheet

_QUERY_ID = ("qid", "query_id", "q_id")
_DOC_ID = ("docid", "doc_id", "docno", "pid", "passage_id")
_UNREAD = 0
"""Value of ``result_status`` that marks a reply without a grade."""


def umbrela_replies(sheet: Sheet, queries: TextsOfIds | None = None, documents: TextsOfIds | None = None) -> Replies:
    """Convert a file of umbrela to replies.

    ``result_status`` 0 marks a reply without a grade, whose ``judgment`` is 0: it is missing. Older files have no
    status; there a reply without a digit is missing.

    Parameters
    ----------
    queries, documents : mapping of str to str, optional
        Texts by id, for files that have no ids.
    """
    values = numbers_or_missing(sheet, "judgment")
    values = np.where(_is_unread(sheet) | (values < 0), np.nan, values)
    rows, query_ids, doc_ids = _pairs(sheet, queries, documents)
    return Replies(
        query_ids=Texts.from_list(query_ids),
        doc_ids=Texts.from_list(doc_ids),
        values=values[np.array(rows, dtype=np.int64)],
        models=None if (models := _words(sheet, ("model",), rows)) is None else few_names(models),
        explanations=_words(sheet, ("reasoning", "prediction"), rows),
        line_of=None if sheet.lines is None else [sheet.lines[row] for row in rows].__getitem__,
        source=sheet.source,
    )


def _words(sheet: Sheet, names: tuple[str, ...], rows: list[int]) -> list[str] | None:
    """Read the given rows of the first of some columns that exists; None if none exists."""
    name = next((name for name in names if name in sheet.columns), None)
    if name is None:
        return None
    words = sheet.words(name)
    return [words[row] for row in rows]


def _is_unread(sheet: Sheet) -> Bools:
    """Mark rows whose reply contains no grade, shape (n_rows,)."""
    if "result_status" in sheet.columns:
        return np.asarray(sheet.wholes("result_status", empty=_UNREAD) == _UNREAD)
    replies = sheet.words("prediction")
    return np.array([not any(letter.isdigit() for letter in reply) for reply in replies], dtype=np.bool_)


def _pairs(
    sheet: Sheet, queries: TextsOfIds | None, documents: TextsOfIds | None
) -> tuple[list[int], list[str], list[str]]:
    """Return row numbers with the ids of their pairs; a text of several documents gives a row for each."""
    query_ids = _ids(sheet, _QUERY_ID, ("query", "qid"))
    doc_ids = _ids(sheet, _DOC_ID, ("candidate", "docid"))
    lacks = [
        side
        for side, ids, texts in (("queries", query_ids, queries), ("documents", doc_ids, documents))
        if ids is None and texts is None
    ]
    if lacks:
        needed = "".join(f":{side}=FILE" for side in lacks)
        problem = f"names its {' and '.join(lacks)} by their texts, expected ids, or the texts by id, as FILE{needed}"
        raise FormatError(sheet.source, None, problem)
    return joined_pairs(
        query_ids or _texts(sheet, "query", "text"),
        doc_ids or _texts(sheet, "passage", "segment"),
        IdsOfTexts.of(None if query_ids else queries),
        IdsOfTexts.of(None if doc_ids else documents),
    )


def _ids(sheet: Sheet, names: tuple[str, ...], within: tuple[str, str]) -> list[str] | None:
    """Read the first column of ids among ``names``, or ids inside the objects of another column; None without any.

    ``within`` is (that column, key of the id in its objects).
    """
    name = next((name for name in names if name in sheet.columns), None)
    if name is not None:
        ids: list[str] = sheet.texts(name).tolist()
        return ids
    column, key = within
    cells = sheet.columns.get(column, [])
    values = [cell[key] for cell in cells if isinstance(cell, dict) and key in cell]
    return [str(value) for value in values] if values and len(values) == sheet.n_rows else None


def _texts(sheet: Sheet, name: str, key: str) -> list[str]:
    """Read the column ``name`` of texts, or the texts under ``key`` inside its objects."""
    if name not in sheet.columns:
        sheet.column(name, (name,))  # raises the error of a missing column
    cells: list[Any] = list(sheet.columns[name])
    return [str(cell.get(key, "")) if isinstance(cell, dict) else str(cell) for cell in cells]
