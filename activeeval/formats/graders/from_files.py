"""Read a grader's grades from any supported file; the format is found by the name and the first lines."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from activeeval.core.errors import InputError
from activeeval.formats.dialects import by_roles, document_dialect
from activeeval.formats.file_kinds import JSON, kind_of, read_json
from activeeval.formats.graders.batch_answers import batch_replies, read_question_pairs
from activeeval.formats.graders.books import book_ratings, document_ratings, rating_replies, with_query_ids
from activeeval.formats.graders.file_forms import is_batch, is_book, is_umbrela
from activeeval.formats.graders.grade_tables import table_replies
from activeeval.formats.graders.joining import TextsOfIds
from activeeval.formats.graders.replies import Replies
from activeeval.formats.graders.umbrela import umbrela_replies
from activeeval.formats.suffixes import PathLike
from activeeval.formats.tables.read_tables import frame_sheet, json_sheet, read_sheet, sheet_parts
from activeeval.formats.tables.sheets import Sheet
from activeeval.formats.text.columns import read_columns

_QRELS = "query iteration document grade"
_ROWS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class GraderFormat:
    """Information that some grader formats need beside their file.

    Attributes
    ----------
    queries, documents : mapping of str to str, or None
        Texts by id, for files that name queries or documents by their texts.
    asked : path or None
        The table of the pairs that a batch of questions is about.
    rater : str
        Name of the grader in a file of several raters.
    judged : callable or None
        Converts the sheet of a sample or the log of a campaign to replies; returns None for any other table.
    """

    queries: TextsOfIds | None = None
    documents: TextsOfIds | None = None
    asked: PathLike | None = None
    rater: str = ""
    judged: Callable[[Sheet], Replies | None] | None = None


def read_replies(path: PathLike, how: GraderFormat | None = None) -> Replies:
    """Read the replies of a grader.

    Parameters
    ----------
    path : path
        TREC qrels, with integer or real grades, negative if the reply is missing; a table (.csv, .tsv, .jsonl,
        .parquet, .xlsx, .ods) of query_id, doc_id, and grade, score or p0, p1, …; output of umbrela; answers to a
        batch of questions; another tool's document, see
        `activeeval.formats.dialects`; books of Quepid. Text may be compressed.
    how : GraderFormat, optional

    Raises
    ------
    FormatError
        ``path:line: what is wrong``.
    """
    how = how or GraderFormat()
    kind = kind_of(path)
    if kind == JSON:
        value = read_json(path)
        sheet = json_sheet(value, path, "grade")
        return _of_document(value, path, how) if sheet is None else _of_sheet(sheet, how)
    if not kind:
        return _of_qrels(path)
    if kind == ".jsonl":
        return _of_lines(path, how)
    return _of_sheet(read_sheet(path, kind), how)


def _of_document(document: Any, path: PathLike, how: GraderFormat) -> Replies:
    """Convert another tool's document, or a list of its objects, to replies."""
    ratings = with_query_ids(document_ratings(document, path), how.queries)
    return rating_replies(ratings, os.fspath(path), how.rater)


def _of_lines(path: PathLike, how: GraderFormat) -> Replies:
    """Read replies from JSON lines; a large file has one format, that of its first rows."""
    parts = sheet_parts(path, _ROWS, ".jsonl")
    first = next(parts)
    if is_batch(first.columns):
        return batch_replies(chain([first], parts), path, None if how.asked is None else read_question_pairs(how.asked))
    if first.n_rows < _ROWS:
        return _of_sheet(first, how)
    from activeeval.formats.graders.lines import fast_replies  # imported late: short files do not need polars

    if (replies := fast_replies(path, first)) is not None:
        return replies
    return _of_sheet(read_sheet(path, ".jsonl"), how)


def _of_sheet(sheet: Sheet, how: GraderFormat) -> Replies:
    """Convert a table to replies, by the format that its columns show."""
    if document_dialect(sheet.columns) is not None:
        return _of_document(sheet.records(), sheet.source, how)
    plain = by_roles(sheet.plainly_named())
    if how.judged is not None and (replies := how.judged(plain)) is not None:
        return replies
    if is_umbrela(plain.columns):
        return umbrela_replies(plain, how.queries, how.documents)
    if is_book(plain.columns):
        # the original sheet: raters' names keep their case
        ratings = with_query_ids(book_ratings(sheet), how.queries)
        return rating_replies(ratings, sheet.source, how.rater, sheet.lines)
    return table_replies(plain)


def frame_replies(frame: Any, how: GraderFormat) -> Replies:
    """Convert a data frame of a grader's values, in a format given by ``how``, to replies (one value an item)."""
    try:
        sheet = frame_sheet(frame, "the grader's frame")
    except TypeError:
        kind = type(frame).__name__
        raise InputError(f"grades must come as a path, a data frame, Judgments or Grades, got {kind}") from None
    return _of_sheet(sheet, how)


def _of_qrels(path: PathLike) -> Replies:
    """Read replies from TREC qrels; negative grades are missing replies."""
    columns = read_columns(path, "q-tn", _QRELS)  # query and document are texts, iteration is ignored, grade a number
    values = columns.floats(0).copy()
    values[values < 0] = np.nan
    return Replies(
        query_ids=columns.texts[0],
        doc_ids=columns.texts[1],
        values=values,
        line_of=columns.line,
        source=os.fspath(path),
    )
