"""Read judgments of OpenSearch's Search Relevance and of Quepid books, whose raters are people or models."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from activeeval.core.errors import FormatError, shown
from activeeval.core.pool.texts import Texts
from activeeval.formats.graders.file_forms import OPENSEARCH, QUEPID, is_ai_name
from activeeval.formats.graders.joining import IdsOfTexts, TextsOfIds
from activeeval.formats.graders.replies import Replies, few_names
from activeeval.formats.suffixes import PathLike
from activeeval.formats.tables.cells import as_float, is_empty
from activeeval.formats.tables.sheets import Sheet

_IMPORTED = "IMPORT_JUDGMENT"
_BOOK = ("query", "docid")


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
    """

    query: str
    doc_id: str
    value: float
    judge: str
    is_machine: bool
    explanation: str = ""
    row: int = -1


def document_ratings(document: Mapping[str, Any], path: PathLike) -> list[Rating]:
    """Extract the ratings of a JSON document of OpenSearch or Quepid.

    Judgments of OpenSearch come from a model, or from clicks, unless they were imported. In a book of Quepid, users
    without an address or with the name of a model are graders.
    """
    ratings = _of_opensearch(document, path) if OPENSEARCH in document else _of_quepid(document, path)
    rows = list(ratings)
    if not rows:
        raise FormatError(os.fspath(path), None, "holds no ratings")
    return rows


def book_ratings(sheet: Sheet) -> list[Rating]:
    """Extract the ratings of a Quepid book in CSV: query, docid, and a column for each rater."""
    raters = [name for name in sheet.columns if name not in _BOOK]
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


def _of_opensearch(document: Mapping[str, Any], path: PathLike) -> Iterator[Rating]:
    """Yield the ratings of an OpenSearch document."""
    metadata = document.get("metadata")
    model = str(metadata.get("modelId", "")) if isinstance(metadata, dict) else ""
    is_machine = document.get("type", _IMPORTED) != _IMPORTED
    for entry in _objects(document[OPENSEARCH], OPENSEARCH, path):
        query = _id_of(entry.get("query"), "query", path)
        for rating in _objects(entry.get("ratings", []), "ratings", path):
            doc_id = _id_of(rating.get("docId"), "docId", path)
            place = f"document {shown(doc_id)} of query {shown(query)}"
            yield Rating(query, doc_id, _value(rating.get("rating"), place, path), model, is_machine)


def _of_quepid(document: Mapping[str, Any], path: PathLike) -> Iterator[Rating]:
    """Yield the ratings of a Quepid document, without items put off for later."""
    for pair in _objects(document[QUEPID], QUEPID, path):
        query = _id_of(pair.get("query_text", pair.get("query")), "query_text", path)
        doc_id = _id_of(pair.get("doc_id"), "doc_id", path)
        for judgement in _objects(pair.get("judgements", []), "judgements", path):
            if judgement.get("judge_later"):
                continue
            address = judgement.get("user_email")
            name = str(judgement.get("user_name") or address or "")
            is_machine = ("user_email" in judgement and not address) or is_ai_name(name)
            cannot = bool(judgement.get("unrateable"))
            place = f"document {shown(doc_id)} of query {shown(query)}"
            value = math.nan if cannot else _value(judgement.get("rating"), place, path)
            yield Rating(query, doc_id, value, name, is_machine, str(judgement.get("explanation") or ""))


def _objects(entries: Any, name: str, path: PathLike) -> Sequence[Mapping[str, Any]]:
    """Check that a value is a list of objects."""
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise FormatError(os.fspath(path), None, f"{name} is no list of objects")
    return entries


def _id_of(name: Any, key: str, path: PathLike) -> str:
    """Check that a value is an id or a text, and convert it to text."""
    if is_empty(name) or not isinstance(name, (str, int)):
        raise FormatError(os.fspath(path), None, f"a {key} is {shown(str(name))}, expected an id or a text")
    return str(name)


def _value(rating: Any, place: str, path: PathLike) -> float:
    """Convert a rating to a float, NaN if it is empty; raise FormatError if it is not a finite number."""
    if is_empty(rating):
        return math.nan
    number = as_float(rating)
    if number is None or not math.isfinite(number):
        raise FormatError(os.fspath(path), None, f"the rating of {place} is {shown(str(rating))}, expected a number")
    return number


def rating_replies(
    ratings: Sequence[Rating], source: str, rater: str = "", lines: Sequence[int] | None = None
) -> Replies:
    """Convert the ratings of one grader among several raters to replies.

    Parameters
    ----------
    rater : str
        Name of the grader; by default the raters recognized as models, or the only rater.

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
