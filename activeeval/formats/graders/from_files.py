"""The one door from files to what machines say; a form is told by the name and by what stands at the top."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from activeeval.core.errors import InputError
from activeeval.formats.graders.batch_answers import batch_replies, read_asked
from activeeval.formats.graders.books import book_ratings, document_ratings, rating_replies, with_query_ids
from activeeval.formats.graders.file_forms import is_batch, is_book, is_umbrela, read_document
from activeeval.formats.graders.grade_tables import table_replies
from activeeval.formats.graders.joining import TextsOfIds
from activeeval.formats.graders.replies import Replies
from activeeval.formats.graders.umbrela import umbrela_replies
from activeeval.formats.suffixes import TABLES, PathLike, bare_suffix
from activeeval.formats.tables.sheets import Sheet, frame_sheet, read_sheet, sheet_parts
from activeeval.formats.text.columns import read_columns
from activeeval.formats.text.plain import first_words

_QRELS = "query iteration document grade"
_ROWS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class GraderFormat:
    """What some forms need beside their file.

    Attributes
    ----------
    queries, documents : mapping of str to str, or None
        Texts by id, for files that name them by their texts.
    asked : path or None
        The table of the pairs that a batch of questions is about.
    rater : str
        Which of several raters is the machine.
    judged : callable or None
        Reads a table that is a sheet or the log of a campaign, as the room of judgments does; returns None of others.
    """

    queries: TextsOfIds | None = None
    documents: TextsOfIds | None = None
    asked: PathLike | None = None
    rater: str = ""
    judged: Callable[[Sheet], Replies | None] | None = None


def read_replies(path: PathLike, how: GraderFormat | None = None) -> Replies:
    """Read what a machine says of items.

    Parameters
    ----------
    path : path
        TREC qrels, of whole or of other grades, negative where the reply is missing; a table (.csv, .tsv, .jsonl,
        .parquet, .xlsx, .ods) of query_id, doc_id, and grade, score or p0, p1, …; what umbrela writes; the answers to a
        batch of questions; judgments of OpenSearch and books of Quepid (.json, .csv). Text may be packed by gzip.
    how : HowToRead, optional

    Raises
    ------
    FormatError
        ``path:line: what is wrong``.
    """
    how = how or GraderFormat()
    if (document := read_document(path)) is not None:
        ratings = with_query_ids(document_ratings(document, path), how.queries)
        return rating_replies(ratings, os.fspath(path), how.rater)
    suffix = bare_suffix(path)
    if suffix not in TABLES:
        words = first_words(path)
        if not (words and words[0].startswith("{")):
            return _of_qrels(path)
        suffix = ".jsonl"
    if suffix == ".jsonl":
        return _of_lines(path, how)
    return _of_sheet(read_sheet(path), how)


def _of_lines(path: PathLike, how: GraderFormat) -> Replies:
    """Return the replies of lines of JSON: large files are of one kind, by their first lines."""
    parts = sheet_parts(path, _ROWS, ".jsonl")
    first = next(parts)
    if is_batch(first.columns):
        return batch_replies(chain([first], parts), path, None if how.asked is None else read_asked(how.asked))
    if first.n_rows < _ROWS:
        return _of_sheet(first, how)
    from activeeval.formats.graders.lines import fast_replies  # polars, for which short files do not wait

    if (replies := fast_replies(path, first)) is not None:
        return replies
    return _of_sheet(read_sheet(path, ".jsonl"), how)


def _of_sheet(sheet: Sheet, how: GraderFormat) -> Replies:
    plain = sheet.plainly_named()
    if how.judged is not None and (replies := how.judged(plain)) is not None:
        return replies
    if is_umbrela(plain.columns):
        return umbrela_replies(plain, how.queries, how.documents)
    if is_book(plain.columns):
        # names of raters as they are written
        ratings = with_query_ids(book_ratings(sheet), how.queries)
        return rating_replies(ratings, sheet.source, how.rater, sheet.lines)
    return table_replies(sheet)


def frame_replies(frame: Any, how: GraderFormat) -> Replies:
    """Take what a machine says of items from a data frame of any kind, with the columns of a table or of umbrela."""
    try:
        sheet = frame_sheet(frame, "the grader's frame")
    except TypeError:
        kind = type(frame).__name__
        raise InputError(f"grades must come as a path, a data frame, Judgments or Grades, got {kind}") from None
    return _of_sheet(sheet, how)


def _of_qrels(path: PathLike) -> Replies:
    columns = read_columns(path, "q-tn", _QRELS)
    values = columns.floats(0).copy()
    values[values < 0] = np.nan
    return Replies(
        query_ids=columns.texts[0],
        doc_ids=columns.texts[1],
        values=values,
        line_of=columns.line,
        source=os.fspath(path),
    )
