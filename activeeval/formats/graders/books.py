"""Judgments of OpenSearch's Search Relevance and of Quepid's books: who rates is a person or a machine."""

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
    """What somebody says of an item in a book.

    Attributes
    ----------
    query, doc_id : str
        A query by its text.
    value : float
        NaN where it is said that it cannot be rated, or nothing is said.
    judge : str
    is_machine : bool
    explanation : str
    row : int
        Of a table, from 0; else -1.
    """

    query: str
    doc_id: str
    value: float
    judge: str
    is_machine: bool
    explanation: str = ""
    row: int = -1


def document_ratings(document: Mapping[str, Any], path: PathLike) -> list[Rating]:
    """Return the ratings of a document of OpenSearch or of Quepid.

    Judgments of OpenSearch are a model's, or made of clicks, unless they were imported. In a book of Quepid machines
    are the users without an address, or with a name that machines have.
    """
    ratings = _of_opensearch(document, path) if OPENSEARCH in document else _of_quepid(document, path)
    rows = list(ratings)
    if not rows:
        raise FormatError(os.fspath(path), None, "holds no ratings")
    return rows


def book_ratings(sheet: Sheet) -> list[Rating]:
    """Return the ratings of a book of Quepid as CSV: query, docid, and a column for each rater."""
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
    metadata = document.get("metadata")
    model = str(metadata.get("modelId", "")) if isinstance(metadata, dict) else ""
    is_machine = document.get("type", _IMPORTED) != _IMPORTED
    for entry in _listed(document[OPENSEARCH], OPENSEARCH, path):
        query = _named(entry.get("query"), "query", path)
        for rating in _listed(entry.get("ratings", []), "ratings", path):
            doc_id = _named(rating.get("docId"), "docId", path)
            place = f"document {shown(doc_id)} of query {shown(query)}"
            yield Rating(query, doc_id, _value(rating.get("rating"), place, path), model, is_machine)


def _of_quepid(document: Mapping[str, Any], path: PathLike) -> Iterator[Rating]:
    for pair in _listed(document[QUEPID], QUEPID, path):
        query = _named(pair.get("query_text", pair.get("query")), "query_text", path)
        doc_id = _named(pair.get("doc_id"), "doc_id", path)
        for judgement in _listed(pair.get("judgements", []), "judgements", path):
            if judgement.get("judge_later"):
                continue
            address = judgement.get("user_email")
            name = str(judgement.get("user_name") or address or "")
            is_machine = ("user_email" in judgement and not address) or is_ai_name(name)
            cannot = bool(judgement.get("unrateable"))
            place = f"document {shown(doc_id)} of query {shown(query)}"
            value = math.nan if cannot else _value(judgement.get("rating"), place, path)
            yield Rating(query, doc_id, value, name, is_machine, str(judgement.get("explanation") or ""))


def _listed(entries: Any, name: str, path: PathLike) -> Sequence[Mapping[str, Any]]:
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise FormatError(os.fspath(path), None, f"{name} is no list of objects")
    return entries


def _named(name: Any, key: str, path: PathLike) -> str:
    if is_empty(name) or not isinstance(name, (str, int)):
        raise FormatError(os.fspath(path), None, f"a {key} is {shown(str(name))}, expected an id or a text")
    return str(name)


def _value(rating: Any, place: str, path: PathLike) -> float:
    if is_empty(rating):
        return math.nan
    number = as_float(rating)
    if number is None or not math.isfinite(number):
        raise FormatError(os.fspath(path), None, f"the rating of {place} is {shown(str(rating))}, expected a number")
    return number


def rating_replies(
    ratings: Sequence[Rating], source: str, rater: str = "", lines: Sequence[int] | None = None
) -> Replies:
    """Return what the machine among some raters says.

    Parameters
    ----------
    rater : str
        Its name; by default who is known for a machine, or the only one.

    Raises
    ------
    FormatError
        Where nobody is, and there are several.
    """
    names = list(dict.fromkeys(rating.judge for rating in ratings))
    if rater in names:
        kept = [rating for rating in ratings if rating.judge == rater]
    else:
        kept = [rating for rating in ratings if rating.is_machine] or (list(ratings) if len(names) == 1 else [])
    if not kept:
        listed = ", ".join(map(shown, names))
        raise FormatError(
            source, None, f"none of the raters {listed} is known for a machine: `name` says which", field="name"
        )
    named = [rating.judge for rating in kept]
    rows = [rating.row for rating in kept]
    return Replies(
        query_ids=Texts.from_list([rating.query for rating in kept]),
        doc_ids=Texts.from_list([rating.doc_id for rating in kept]),
        values=np.array([rating.value for rating in kept], dtype=np.float64),
        models=few_names(named) if any(named) else None,
        explanations=[rating.explanation for rating in kept],
        n_of_people=len(ratings) - len(kept),
        line_of=None if lines is None else (lambda k: lines[rows[k]]),
        source=source,
    )


def with_query_ids(ratings: Sequence[Rating], queries: TextsOfIds | None) -> list[Rating]:
    """Return ratings with the ids of their queries, one for each query that has the text."""
    ids = IdsOfTexts.of(queries)
    return [rating._replace(query=query_id) for rating in ratings for query_id in ids[rating.query]]
