"""Pages on which a campaign's lead reviews its texts: queries with documents, guidelines, missing texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from activeeval.campaigns.desk_views import ItemView
from activeeval.campaigns.store import GuidelinesRow, ItemFilter, ItemPosition, ItemTexts, Store, TextCounts, TextRow
from activeeval.core.errors import InputError
from activeeval.report.numbers import counted

ON_A_PAGE = 50
"""Items on a page; queries, if these are judged as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLine:
    """A document of an item, as a line of the list of texts.

    Attributes
    ----------
    at : ItemPosition
        Position of the item.
    number : int
        Index of the document in the item; 0 unless the item is a whole query.
    doc_id, title, url : str
    n_letters : int
        Length of the text in characters.
    is_ahead : bool
        True if a judgment of the item is still to come.
    """

    at: ItemPosition
    number: int
    doc_id: str
    title: str
    url: str
    n_letters: int
    is_ahead: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLines:
    """A query with its information need and its documents."""

    query_id: str
    text: str
    need: str
    documents: Sequence[DocumentLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuidelinesVersion:
    """A version of the guidelines for judges.

    Attributes
    ----------
    digest : str
        Identifies the version.
    text : str
        Markdown.
    n_answers : int
        Number of answers given while it was displayed.
    last_at : int or None
        Time of the last of them (UTC microseconds).
    is_served : bool
        True if it is displayed now.
    """

    digest: str
    text: str
    n_answers: int
    last_at: int | None
    is_served: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TextsView:
    """A page on which the lead (who runs the campaign) reviews the texts that judges read.

    Attributes
    ----------
    counts : TextCounts
        Counts of the whole campaign.
    queries : sequence of QueryLines
    following : ItemPosition or None
        The last item of this page, after which the next page begins; None on the last page.
    guidelines : sequence of GuidelinesVersion
    """

    counts: TextCounts
    queries: Sequence[QueryLines]
    following: ItemPosition | None
    guidelines: Sequence[GuidelinesVersion]


def texts_of(store: Store, name: str, wanted: ItemFilter, served_guidelines: str = "") -> TextsView:
    """Build a page of the texts that a campaign's judges read.

    Parameters
    ----------
    wanted : ItemFilter
        Items to show, and the item after which the page begins.
    served_guidelines : str
        Digest of the version of the guidelines that is displayed next to items now; empty if there is none.
    """
    rows = store.texts_page(name, wanted, ON_A_PAGE + 1)
    page = rows[:ON_A_PAGE]
    versions = [_version(row, served_guidelines) for row in store.guidelines_read(name, served_guidelines)]
    return TextsView(
        counts=store.text_counts(name),
        queries=[_query(list(of_query)) for _, of_query in groupby(page, key=lambda row: row.query_id)],
        following=page[-1].at if len(rows) > len(page) else None,
        guidelines=versions,
    )


def document_of(store: Store, name: str, at: ItemPosition, number: int) -> ItemView:
    """Build the view of one document of an item as judges see it.

    Parameters
    ----------
    at : ItemPosition
        Position of the item.
    number : int
        Index of the document in the item; 0 unless the item is a whole query.

    Raises
    ------
    InputError
        If there is no such item or document.
    """
    row = store.item_texts(name, at)
    documents = list(documents_of(row.doc_id, row.text))
    if not 0 <= number < len(documents):
        raise InputError(f"the item has {counted(len(documents), 'document')}, got number {number}")
    doc_id, text = documents[number]
    return ItemView.of(row.query_id, doc_id, ItemTexts(query_text=row.query_text, text=text))


def documents_of(doc_id: str, text: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield id and texts of an item's documents: one, or all documents of a query that is judged as a whole.

    Parameters
    ----------
    doc_id : str
        Id of the item.
    text : mapping
        Its stored texts by name; ``documents`` lists those of a whole query.
    """
    if "documents" not in text:
        yield doc_id, text
    for document in text.get("documents", ()):
        yield str(document["doc_id"]), document


def _query(rows: Sequence[TextRow]) -> QueryLines:
    """Build the lines of a query from the rows of its items, one for each document.

    An item is a document, or a whole query with all its documents.
    """
    lines, need = [], ""
    for row in rows:
        for number, (doc_id, text) in enumerate(documents_of(row.doc_id, row.text)):
            view = ItemView.of(row.query_id, doc_id, ItemTexts(query_text=row.query_text, text=text))
            need = need or view.need
            lines.append(_line(row, number, view))
    return QueryLines(query_id=rows[0].query_id, text=rows[0].query_text, need=need, documents=lines)


def _line(row: TextRow, number: int, view: ItemView) -> DocumentLine:
    """Build the line of a document; ``number`` is its index in the item."""
    return DocumentLine(
        at=row.at,
        number=number,
        doc_id=view.doc_id,
        title=view.title,
        url=view.url,
        n_letters=len(view.text),
        is_ahead=row.is_ahead,
    )


def _version(row: GuidelinesRow, served: str) -> GuidelinesVersion:
    """Build a version of the guidelines; ``served`` is the digest of the version displayed now."""
    return GuidelinesVersion(
        digest=row.digest, text=row.text, n_answers=row.n_answers, last_at=row.last_at, is_served=row.digest == served
    )
