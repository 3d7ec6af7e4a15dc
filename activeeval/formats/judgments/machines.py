"""Read files written by graders: their grades feed models, and are refused as labels."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from activeeval.core.errors import FormatError, shown
from activeeval.core.judgments.judgment import UNJUDGED, Judge, Judgment
from activeeval.core.judgments.policies import refuse_as_labels
from activeeval.core.judgments.table import Judgments
from activeeval.core.results import Note
from activeeval.formats.graders.file_forms import column_of_replies, is_batch, is_umbrela
from activeeval.formats.reading_rules import coded_gains
from activeeval.formats.suffixes import PathLike

if TYPE_CHECKING:
    from activeeval.formats.graders.books import Rating
    from activeeval.formats.graders.replies import Replies
    from activeeval.formats.tables.sheets import Sheet

_IMPORTED = "IMPORT_JUDGMENT"


def machine_form(columns: Collection[str]) -> str:
    """Describe the origin of a table whose columns show that a grader wrote it, "" for any other table.

    Examples
    --------
    >>> machine_form({"query", "passage", "judgment", "result_status"}), machine_form({"query_id", "doc_id", "grade"})
    ('umbrela', '')
    """
    if is_umbrela(columns):
        return "umbrela"
    if is_batch(columns):
        return "a batch of questions"
    name = column_of_replies(columns)
    return (
        f"as its column {name} says; where people judged, add a column judge_kind with the word person" if name else ""
    )


def check_of_people(sheet: Sheet) -> None:
    """Raise InputError if a table, or one of its rows, is by a grader. Column names are lower-case."""
    if origin := machine_form(sheet.columns):
        refuse_as_labels(sheet.source, origin)
    if "judge_kind" in sheet.columns and any(word.strip().lower() == "machine" for word in sheet.words("judge_kind")):
        refuse_as_labels(sheet.source)


def of_machine(path: PathLike, origin: str, kind: str) -> Judgments:
    """Read the grades of a grader's file as judgments; refuse them unless `kind` is "machine".

    ``origin`` describes, for the message, how the file shows that a grader wrote it (`machine_form`).

    Raises
    ------
    InputError
        If `kind` is not "machine".
    FormatError
        If grades are not integers.
    """
    if kind != "machine":
        refuse_as_labels(os.fspath(path), origin)
    from activeeval.formats.graders.from_files import read_replies

    return _of_replies(read_replies(path))


def of_document(document: Any, path: PathLike, kind: str) -> Judgments:
    """Convert a JSON document of another tool, or a list of its objects, to judgments of people and graders.

    Raises
    ------
    InputError
        If all ratings are by graders and `kind` is not "machine".
    """
    from activeeval.formats.dialects import read_as
    from activeeval.formats.graders.books import count_skipped, document_form, document_ratings

    if isinstance(document, dict) and document.get("type", _IMPORTED) != _IMPORTED and kind != "machine":
        refuse_as_labels(os.fspath(path), f"of the type {document['type']}")
    judgments = _of_ratings(document_ratings(document, path), os.fspath(path), kind)
    notes = [read_as(path, document_form(document, path).name)]
    if n_skipped := count_skipped(document, path):
        notes.append(Note("skipped answers", {"source": os.fspath(path), "n": n_skipped}))
    return replace(judgments, read_notes=tuple(notes))


def of_book(sheet: Sheet, kind: str) -> Judgments:
    """Convert a Quepid book in CSV to judgments; ``kind`` is that of judges who are not recognized as models."""
    from activeeval.formats.graders.books import book_ratings

    return _of_ratings(book_ratings(sheet), sheet.source, kind)


def _of_ratings(ratings: Sequence[Rating], source: str, kind: str) -> Judgments:
    """Convert ratings to judgments; a rating of NaN means that the item cannot be judged.

    ``kind`` ("person" or "machine") is that of judges who are not known to be machines.
    """

    def fail(row: int, problem: str) -> NoReturn:
        """Raise the error about a rating."""
        at = f"document {shown(ratings[row].doc_id)} of query {shown(ratings[row].query)}"
        raise FormatError(source, None, f"the rating of {at} {problem}")

    # indices into the gains that occur, and these gains; None if all ratings are whole numbers
    coded = coded_gains(np.array([rating.value for rating in ratings], dtype=np.float64), fail)
    values = [_whole(rating.value, source) for rating in ratings] if coded is None else coded[0].tolist()
    rows = [
        Judgment(
            rating.query,
            rating.doc_id,
            Judge(rating.judge, "machine" if rating.is_machine else kind),
            "cannot" if rating.value != rating.value else "grade",  # NaN differs from itself
            value,
            reason=rating.explanation,
            seconds=None if rating.seconds != rating.seconds else rating.seconds,
        )
        for rating, value in zip(ratings, values, strict=True)
    ]
    return Judgments.of(rows, source=source, is_by_text=True, gains=None if coded is None else coded[1])


def _whole(value: float, source: str) -> int:
    """Convert a rating to an integer grade, NaN to `UNJUDGED`; raise FormatError if it is not an integer."""
    if value != value:
        return UNJUDGED
    if value != int(value):
        problem = f"holds {value:g}, a rating between two grades: expected whole grades, or `grader` for a machine's"
        raise FormatError(source, None, problem, field="grader")
    return int(value)


def _of_replies(replies: Replies) -> Judgments:
    """Convert replies to judgments; raise FormatError if a grade is not an integer."""
    values = np.where(np.isnan(replies.values), UNJUDGED, replies.values)
    between = np.flatnonzero(values != np.floor(values))
    if between.size:
        row = int(between[0])
        problem = f"{replies.pair(row)} has the grade {float(values[row]):g}, expected whole grades"
        replies.fail(row, f"{problem}; others are for `grader`")
    names = replies.models if replies.models is not None else np.full(values.size, "", dtype=object)
    judges = {name: k for k, name in enumerate(dict.fromkeys(names.tolist()))}
    return Judgments(
        query_ids=replies.query_ids,
        item_ids=replies.doc_ids,
        values=values.astype(np.int64),
        judge=np.array([judges[name] for name in names.tolist()], dtype=np.int64),
        judges=tuple(Judge(name, "machine") for name in judges) or (Judge("", "machine"),),
        source=replies.source,
    )
