"""Read ratings of other tools' documents and of Quepid books, whose raters are people or models."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from activeeval.core.errors import FormatError, shown
from activeeval.core.pool.texts import Texts
from activeeval.formats.dialects import (
    DOCUMENT_DIALECTS,
    DocumentDialect,
    Lookup,
    document_dialect,
    entries,
    is_ai_name,
    is_asked,
    named_field,
    read_as,
)
from activeeval.formats.graders.file_forms import BOOK, NO_RATERS
from activeeval.formats.graders.joining import IdsOfTexts, TextsOfIds
from activeeval.formats.graders.replies import Replies, few_names
from activeeval.formats.reading_rules import ROLES, rules
from activeeval.formats.suffixes import PathLike
from activeeval.formats.tables.cells import as_float, is_empty
from activeeval.formats.tables.sheets import Sheet

_PLAIN_JSON = "{query: {document: value}}, a list of objects with query_id, doc_id and grade"


class Rating(NamedTuple):
    """One rating of an item in a book.

    Attributes
    ----------
    query, doc_id : str
        The query by its text.
    value : float
        NaN if the item is marked as unrateable or has no rating.
    judge : str
    is_machine : bool
    explanation : str
    row : int
        Row of the table, from 0; -1 if the book is not a table.
    seconds : float
        Time that it took; NaN if unknown.
    """

    query: str
    doc_id: str
    value: float
    judge: str
    is_machine: bool
    explanation: str = ""
    row: int = -1
    seconds: float = math.nan


def document_ratings(document: Any, path: PathLike) -> list[Rating]:
    """Extract the ratings of a JSON document, or of a list of objects, of a tool in `dialects.DOCUMENT_DIALECTS`.

    Raises
    ------
    FormatError
        If the document is of no known tool, holds no ratings, or a rating, an id or a list is malformed.
    """
    dialect = document_form(document, path)
    rows: list[Rating] = []
    questions: dict[str, None] = {}
    for k, entry in enumerate(document if isinstance(document, list) else [document]):
        if not isinstance(entry, dict):
            raise FormatError(os.fspath(path), None, f"entry {k + 1} is {shown(str(entry))}, expected an object")
        if lacking := [key for key in dialect.needs if key not in entry]:
            problem = f"entry {k + 1} has no {' and '.join(lacking)}, expected each as in {dialect.name}"
            raise FormatError(os.fspath(path), None, problem)
        try:
            asked = [at for at in entries(dialect, entry) if is_asked(dialect, at) and not dialect.is_left_out(at)]
            rows += [_rating(dialect, at, path, k) for at in asked]
        except FormatError:
            raise
        except ValueError as malformed:
            raise FormatError(os.fspath(path), None, f"entry {k + 1}: {malformed}") from None
        questions |= dict.fromkeys(str(at(dialect.control)) for at in asked if dialect.control)
    if len(questions) > 1:
        names = " and ".join(map(shown, questions))
        problem = f"answers the questions {names}: choose one with `columns`, as grade={next(iter(questions))}"
        raise FormatError(os.fspath(path), None, problem, field="columns")
    if not rows:
        raise FormatError(os.fspath(path), None, "holds no ratings that are numbers")
    return rows


def count_skipped(document: Any, path: PathLike) -> int:
    """Count the answers of a document that judges skipped or put off."""
    dialect = document_form(document, path)
    flagged = replace(dialect, rows=dialect.skipped.rpartition(".")[0])  # one entry for each object with the flag
    parts = document if isinstance(document, list) else [document]
    return sum(bool(at(dialect.skipped)) for part in parts for at in entries(flagged, part)) if dialect.skipped else 0


def document_form(document: Any, path: PathLike) -> DocumentDialect:
    """Find the format of a JSON document, or of a list of objects by its first one; raise FormatError if unknown."""
    first = document[0] if isinstance(document, list) and document else document
    dialect = document_dialect(first if isinstance(first, dict) else {})
    if dialect is None:
        raise FormatError(os.fspath(path), None, _unknown_form(first if isinstance(first, dict) else {}))
    return dialect


def _unknown_form(entry: Mapping[str, Any]) -> str:
    """Describe the problem of an object of JSON: the keys that a known format has and it lacks, or all formats."""
    for each in DOCUMENT_DIALECTS:
        if len(each.needs) > 1 and (present := [key for key in each.needs if key in entry]):
            lacking = " and ".join(key for key in each.needs if key not in entry)
            return f"has {' and '.join(present)}, but no {lacking}: expected both, as in {each.name}"
    known = ", ".join(dict.fromkeys(each.name for each in DOCUMENT_DIALECTS))
    return f"is JSON of no known form; expected {_PLAIN_JSON}, or {known}"


def document_sheet(document: Any, path: PathLike, value_name: str) -> Sheet:
    """Convert a JSON document of another tool, or a list of its objects, to a table.

    Its columns are query_id, doc_id and ``value_name``, the ratings.
    """
    ratings = document_ratings(document, path)
    columns = {"query_id": [r.query for r in ratings], "doc_id": [r.doc_id for r in ratings]}
    notes = (read_as(path, document_form(document, path).name),)
    return Sheet(os.fspath(path), {**columns, value_name: [r.value for r in ratings]}, notes=notes)


def _rating(dialect: DocumentDialect, at: Lookup, path: PathLike, k: int) -> Rating:
    """Build a rating of entry ``k`` (from 0) of a document; ``at`` looks up the paths of the dialect."""
    query, doc_id = (_id_of(dialect, at, path, k, side) for side in ("query", "document"))
    place = f"document {shown(doc_id)} of query {shown(query)}"
    seconds = as_float(at(dialect.seconds)) if dialect.seconds else None
    return Rating(
        query=query,
        doc_id=doc_id,
        value=math.nan if dialect.cannot(at) else _value(at(dialect.grade), place, path),
        judge=str(at(dialect.judge) or "") if dialect.judge else "",
        is_machine=bool(dialect.is_machine(at)),
        explanation=str(at(dialect.reason) or "") if dialect.reason else "",
        seconds=math.nan if seconds is None else seconds,
    )


def raters_of(sheet: Sheet) -> list[str]:
    """List the columns of the raters of a Quepid book in CSV."""
    return [name for name in sheet.columns if name.strip().lower() not in BOOK | NO_RATERS]


def book_ratings(sheet: Sheet) -> list[Rating]:
    """Extract the ratings of a Quepid book in CSV: query, docid, and a column for each rater."""
    raters = raters_of(sheet)
    queries, docs = sheet.words("query"), sheet.texts("docid").tolist()
    rows = []
    for name in raters:
        is_machine = is_ai_name(name)
        for row, cell in enumerate(sheet.columns[name]):
            if not is_empty(cell):
                number = as_float(cell)
                if number is None or not math.isfinite(number):
                    sheet.fail(row, name, f"holds {shown(str(cell))}, expected a rating")
                rows.append(Rating(queries[row].strip(), docs[row], number, name, is_machine, row=row))
    return rows


def _id_of(dialect: DocumentDialect, at: Lookup, path: PathLike, k: int, side: str) -> str:
    """Look up the id, or text, of the query or document (``side``) of a rating in entry ``k`` (from 0).

    ``at`` looks up the paths of the dialect. FormatError is raised if there is none.
    """
    paths = str(getattr(dialect, side))
    name = named_field(dialect, at, ROLES[side])
    if name is None:
        name = at(paths)
    if not is_empty(name) and isinstance(name, (str, int)) and not isinstance(name, bool):
        return str(name)
    keys = " or ".join(key.rpartition(".")[2] for key in dict.fromkeys(paths.split("|")))
    problem = f"entry {k + 1}: {f'no {keys}' if name is None else f'a {keys} is {shown(str(name))}'}, expected an id"
    if dialect.fields and rules().is_nameable:
        raise FormatError(os.fspath(path), None, f"{problem}, or `columns` {side}=NAME", field="columns")
    raise FormatError(os.fspath(path), None, f"{problem} or a text")


def _value(rating: Any, place: str, path: PathLike) -> float:
    """Convert a rating to a float, NaN if it is empty; raise FormatError if it is not a finite number."""
    if isinstance(rating, list) and len(rating) == 1:
        rating = rating[0]
    if is_empty(rating):
        return math.nan
    words = rating.partition(":")[0].strip() if isinstance(rating, str) else rating  # 2 of "2: relevant"
    number = as_float(words)
    if number is None or not math.isfinite(number):
        raise FormatError(os.fspath(path), None, f"the rating of {place} is {shown(str(rating))}, expected a number")
    return number


def rating_replies(
    ratings: Sequence[Rating], source: str, rater: str = "", lines: Sequence[int] | None = None
) -> Replies:
    """Convert the ratings of one grader among several raters to replies.

    Parameters
    ----------
    ratings : sequence of Rating
        Those of all raters; those of people are only counted.
    source : str
        Name of the file in messages.
    rater : str
        Name of the grader; by default the raters recognized as models, or the only rater.
    lines : sequence of int, optional
        Line of each row of the table.

    Raises
    ------
    FormatError
        If no rater is recognized as a model and there are several.
    """
    names = list(dict.fromkeys(rating.judge for rating in ratings))
    if rater in names:
        chosen = [rating for rating in ratings if rating.judge == rater]
    else:
        chosen = [rating for rating in ratings if rating.is_machine] or (list(ratings) if len(names) == 1 else [])
    if not chosen:
        listed = ", ".join(map(shown, names))
        raise FormatError(
            source, None, f"none of the raters {listed} is recognized as a model: give its `name`", field="name"
        )
    models = [rating.judge for rating in chosen]
    rows = [rating.row for rating in chosen]
    return Replies(
        query_ids=Texts.from_list([rating.query for rating in chosen]),
        doc_ids=Texts.from_list([rating.doc_id for rating in chosen]),
        values=np.array([rating.value for rating in chosen], dtype=np.float64),
        models=few_names(models) if any(models) else None,
        explanations=[rating.explanation for rating in chosen],
        n_of_people=len(ratings) - len(chosen),
        line_of=None if lines is None else (lambda k: lines[rows[k]]),
        source=source,
    )


def with_query_ids(ratings: Sequence[Rating], queries: TextsOfIds | None) -> list[Rating]:
    """Replace the query texts of ratings by query ids; a text of several queries gives a rating for each."""
    ids = IdsOfTexts.of(queries)
    return [rating._replace(query=query_id) for rating in ratings for query_id in ids[rating.query]]
