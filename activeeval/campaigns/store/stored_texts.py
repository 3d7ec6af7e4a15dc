"""Texts that judges read, for a lead's overview: items by query, items without text, versions of the guidelines.

Texts are stored as JSON. A key with its colon, ``"text":``, cannot occur within a text, where quotation marks are
escaped. So both databases can search for keys and words without parsing each text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import (
    Case,
    ColumnElement,
    Connection,
    Exists,
    Join,
    Select,
    and_,
    case,
    exists,
    func,
    or_,
    select,
    tuple_,
)

from activeeval.campaigns.store import tables
from activeeval.campaigns.store.log import canonical, parsed
from activeeval.core.errors import InputError

place, unit, query, document = tables.place, tables.unit, tables.query, tables.document
_NAMES = ("title", "text", "url", "need", "doc_id", "documents")
_GUIDELINES = '{"guidelines":'


class ItemPosition(NamedTuple):
    """Position of an item: the number of its unit (items judged together), and its index within the unit."""

    unit: int
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFilter:
    """Filter for items.

    Attributes
    ----------
    words : str
        Substring of an id, the query or a text; empty matches all.
    without_text : bool
        True to select only items without text.
    after : ItemPosition or None
        Select only items after this one, in the order of queries.
    """

    words: str = ""
    without_text: bool = False
    after: ItemPosition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRow:
    """An item with the texts that judges read.

    Attributes
    ----------
    at : ItemPosition
    query_id, query_text, doc_id : str
    text : mapping
        Texts of the document by name; for a query that is judged as a whole, ``documents``.
    is_ahead : bool
        True if a judgment of the item is still to come.
    """

    at: ItemPosition
    query_id: str
    query_text: str
    doc_id: str
    text: Mapping[str, Any]
    is_ahead: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TextCounts:
    """Counts of a campaign's items and queries, and of those without text.

    Attributes
    ----------
    items, items_without : int
        All items.
    ahead, ahead_without : int
        Items of which a judgment is still to come.
    queries, queries_without : int
    """

    items: int
    items_without: int
    ahead: int
    ahead_without: int
    queries: int
    queries_without: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GuidelinesRow:
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
        Time of the last of them, UTC microseconds.
    """

    digest: str
    text: str
    n_answers: int
    last_at: int | None


def page_of(connection: Connection, campaign_id: int, wanted: ItemFilter, most: int) -> list[TextRow]:
    """Read at most ``most`` items that match a filter, ordered by query, unit (items judged together) and position.

    ``wanted`` is the filter.
    """
    order = (unit.c.query_id, place.c.unit, place.c.position)
    conditions = [place.c.campaign_id == campaign_id]
    if wanted.without_text:
        conditions.append(_lacks_text())
    if wanted.words:
        conditions.append(_holds(connection, wanted.words))
    if wanted.after is not None:
        number, position = wanted.after
        of_unit = (unit.c.campaign_id == campaign_id, unit.c.number == number)
        last = connection.execute(select(unit.c.query_id).where(*of_unit)).scalar() or ""
        conditions.append(tuple_(*order) > tuple_(last, number, position))  # items after this one
    # select positions first: sorting rows with their texts would move all texts
    chosen = select(place.c.unit, place.c.position).select_from(_in_queries()).where(*conditions)
    places = [ItemPosition(*row) for row in connection.execute(chosen.order_by(*order).limit(most))]
    rows = {row.at: row for row in _rows(connection, _of(campaign_id, places))} if places else {}
    return [rows[at] for at in places]


def item_at(connection: Connection, campaign_id: int, at: ItemPosition) -> TextRow:
    """Read an item with its texts by position; raise InputError if none exists."""
    rows = _rows(connection, _of(campaign_id, [at]))
    if not rows:
        raise InputError(f"there is no item at {at.position} of unit {at.unit}")
    return rows[0]


def counts_of(connection: Connection, campaign_id: int) -> TextCounts:
    """Count a campaign's items and queries, and those without text; items also if a judgment is still to come."""
    lacks, is_ahead = _as_number(_lacks_text()), _as_number(_is_ahead())
    items = select(lacks.label("lacks"), is_ahead.label("ahead")).where(place.c.campaign_id == campaign_id)
    of_item = items.subquery()
    grouped = select(of_item.c.lacks, of_item.c.ahead, func.count()).group_by(of_item.c.lacks, of_item.c.ahead)
    # number of items by (has no text, has a judgment to come)
    n = {(bool(row[0]), bool(row[1])): int(row[2]) for row in connection.execute(grouped)}
    of_query = select(func.count(), func.sum(_as_number(query.c.text == ""))).where(query.c.campaign_id == campaign_id)
    n_queries, n_bare = connection.execute(of_query).one()
    ahead = {lacks: n.get((lacks, True), 0) for lacks in (True, False)}
    return TextCounts(
        items=sum(n.values()),
        items_without=n.get((True, False), 0) + ahead[True],
        ahead=sum(ahead.values()),
        ahead_without=ahead[True],
        queries=int(n_queries),
        queries_without=int(n_bare or 0),
    )


def guidelines_of(connection: Connection, campaign_id: int, served: str) -> list[GuidelinesRow]:
    """List the versions of the guidelines that judges of a campaign have read or read now.

    The version displayed now comes first, then the others by last use.

    Parameters
    ----------
    served : str
        Digest of the version displayed now; empty if none exists.
    """
    event = tables.event
    versions = select(document.c.digest, document.c.content).where(document.c.content.startswith(_GUIDELINES))
    rows = []
    for digest, content in connection.execute(versions):
        # the body of an answer names the version that was displayed
        says_it = event.c.body.contains(f'"guidelines":"{digest}"', autoescape=True)
        counted = select(func.count(), func.max(event.c.at)).where(event.c.campaign_id == campaign_id, says_it)
        n_answers, last_at = connection.execute(counted).one()
        if n_answers or digest == served:
            text = str(parsed(content, f"the guidelines {digest}")["guidelines"])
            rows.append(GuidelinesRow(digest=digest, text=text, n_answers=n_answers, last_at=last_at))
    return sorted(rows, key=lambda row: (row.digest != served, -(row.last_at or 0)))


def _rows(connection: Connection, conditions: ColumnElement[bool]) -> list[TextRow]:
    """Read the items that meet SQL conditions on `place` (documents of units), with their texts, in any order."""
    joined = _in_queries().join(document, place.c.document == document.c.digest)
    columns = (place.c.unit, place.c.position, unit.c.query_id, query.c.text, place.c.doc_id, document.c.content)
    chosen: Select[Any] = select(*columns, _is_ahead().label("is_ahead")).select_from(joined).where(conditions)
    return [
        TextRow(
            at=ItemPosition(row.unit, row.position),
            query_id=row.query_id,
            query_text=row.text,
            doc_id=row.doc_id,
            text=parsed(row.content, f"the text of document {row.doc_id!r}"),
            is_ahead=bool(row.is_ahead),
        )
        for row in connection.execute(chosen)
    ]


def _in_queries() -> Join:
    """Join places (documents of a unit) with their units and queries."""
    joined = place.join(unit, tables.matches(place, unit, "campaign_id", ("unit", "number")))
    return joined.join(query, tables.matches(unit, query, "campaign_id", "query_id"))


def _of(campaign_id: int, places: list[ItemPosition]) -> ColumnElement[bool]:
    """Build the condition that a place (document of a unit) is one of those given."""
    is_any = or_(*(and_(place.c.unit == at.unit, place.c.position == at.position) for at in places))
    return and_(place.c.campaign_id == campaign_id, is_any)


def _is_ahead() -> Exists:
    """Build the condition that a judgment of a place (document of a unit) is still to come."""
    assignment = tables.assignment
    is_its = tables.matches(assignment, place, "campaign_id", "unit", "position")
    return exists().where(is_its, assignment.c.state != "done").correlate(place)


def _lacks_text() -> ColumnElement[bool]:
    """Build the condition that the document of a place (document of a unit) has no text.

    Texts are stored as JSON with the key "text".
    """
    return _is_among(~document.c.content.contains('"text":'))


def _holds(connection: Connection, words: str) -> ColumnElement[bool]:
    """Build the condition that an item's ids, query or texts contain words; ASCII letters match in either case."""
    content: Any = document.c.content
    for name in _NAMES:
        if words.lower() in name:  # only then could the words match a JSON key
            content = func.replace(content, f'"{name}":', "")
    ids = [_says(connection, column, words) for column in (unit.c.query_id, place.c.doc_id, query.c.text)]
    # words as they are within JSON, without the quotation marks around them
    return or_(*ids, _is_among(_says(connection, content, canonical(words)[1:-1])))


def _says(connection: Connection, column: ColumnElement[Any], words: str) -> ColumnElement[bool]:
    """Build the condition that a column contains words; ASCII letters match in either case."""
    # LIKE of SQLite ignores case already, and lowering the text would double the time
    contains = column.contains if connection.dialect.name == "sqlite" else column.icontains
    return contains(words, autoescape=True)


def _is_among(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    """Build the condition that the text of a place (document of a unit) is among those that meet a condition.

    The subquery scans the documents once: looking them up place by place takes ten times as long.
    """
    return place.c.document.in_(select(document.c.digest).where(condition))


def _as_number(condition: ColumnElement[bool] | Exists) -> Case[int]:
    """Convert a condition to 1 or 0, so that it can be summed."""
    return case((condition, 1), else_=0)
