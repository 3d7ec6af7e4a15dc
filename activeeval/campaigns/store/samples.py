"""Store samples: units with their items, an assignment for each judge of each item, and ``drawn`` events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Table, insert, select, text

from activeeval.campaigns.store import tables
from activeeval.campaigns.store.log import append, canonical, check_text, check_whole, chunks, digest_of, lock_log, tail
from activeeval.campaigns.store.rows import CampaignRow, SampleRow, UnitRow
from activeeval.core.errors import InputError, StateError, shown
from activeeval.core.judgments.log import Event
from activeeval.core.judgments.state import Assignment, State


def create(
    connection: Connection, campaign: CampaignRow, sample: SampleRow, units: Sequence[UnitRow], ended: str
) -> int:
    """Insert a new campaign with its sample and units (items judged together); return the number of its last event.

    ``ended`` states why no further units will follow; empty while they may. Raises InputError if the name is taken or a
    value cannot be stored.
    """
    _check_campaign(campaign)
    table = tables.campaign
    if connection.execute(select(table.c.id).where(table.c.name == campaign.name)).first():
        raise InputError(f"there is a campaign {shown(campaign.name)} already")
    values = {
        name: getattr(campaign, name)
        for name in ("name", "judges_per_item", "lease_s", "max_grade", "strict_order", "adjudicate")
    }
    values |= {"config": canonical(dict(campaign.config)), "created_at": campaign.created_at}
    # two processes may both have found the name free
    inserted = connection.execute(
        insertion(connection, table).values(values).on_conflict_do_nothing().returning(table.c.id)
    )
    campaign_id = inserted.scalar()
    if campaign_id is None:
        raise InputError(f"there is a campaign {shown(campaign.name)} already")
    return _add(connection, campaign_id, campaign, sample, units, ended)


def grow(
    connection: Connection,
    campaign_id: int,
    campaign: CampaignRow,
    sample: SampleRow,
    units: Sequence[UnitRow],
    ended: str,
) -> int:
    """Insert the next version of a sample and its new units (items judged together).

    Return the number of the last event.

    ``ended`` states why no further units will follow; empty while they may. Raises StateError if it is not the next
    version or a unit exists already.
    """
    lock_log(connection, campaign_id)
    versions = select(tables.sample.c.version).where(tables.sample.c.campaign_id == campaign_id)
    following = max(connection.execute(versions).scalars()) + 1
    if sample.version != following:
        raise StateError(f"the next version of this sample is {following}, got {sample.version}")
    numbers = select(tables.unit.c.number).where(tables.unit.c.campaign_id == campaign_id)
    existing = {unit.number for unit in units} & set(connection.execute(numbers).scalars())
    if existing:
        raise StateError(f"unit {min(existing)} exists already and never changes")
    return _add(connection, campaign_id, campaign, sample, units, ended)


def insert_missing(connection: Connection, table: Table, rows: Iterable[dict[str, Any]], column: str) -> None:
    """Insert the rows (dicts by column name) whose value of ``column`` is not yet in the table.

    All rows must be of one campaign, or of none. Rows that another process inserts meanwhile are left as they are.
    """
    # one global order, so that concurrent inserts cannot deadlock
    by_key = {row[column]: row for row in sorted(rows, key=lambda row: str(row[column]))}
    for keys in chunks(list(by_key)):
        chosen = select(table.c[column]).where(table.c[column].in_(keys))
        if "campaign_id" in table.c:
            chosen = chosen.where(table.c.campaign_id == by_key[keys[0]]["campaign_id"])
        existing = set(connection.execute(chosen).scalars())
        missing = [by_key[key] for key in keys if key not in existing]
        if missing:
            connection.execute(insertion(connection, table).on_conflict_do_nothing(), missing)


def insert_assignments(connection: Connection, campaign_id: int, assignments: Iterable[Assignment]) -> None:
    """Insert assignments (judgments needed by the items) of a campaign."""
    names = Assignment.__slots__
    rows = [
        {"campaign_id": campaign_id, **{name: getattr(assignment, name) for name in names}}
        for assignment in assignments
    ]
    if rows:
        connection.execute(insert(tables.assignment), rows)


def drawn(unit: UnitRow, at: int, sample: str) -> Event:
    """Build the ``drawn`` event of a unit (items judged together), with all its data and a digest of its texts.

    ``at`` is the time in UTC microseconds, ``sample`` the digest of the sample.
    """
    texts = [unit.query_text, *(dict(place.text) for place in unit.places)]
    members = [place.members for place in unit.places]  # documents of a query that is judged as a whole, else empty
    body = {
        "items": [place.doc_id for place in unit.places],
        "probabilities": [float(place.probability) for place in unit.places],
        "level": None if unit.level is None else float(unit.level),
        "cost": float(unit.cost),
        "block": unit.block,
        "version": unit.version,
        "sample": sample,
        "texts": digest_of(canonical(texts)),
    } | ({"members": members} if any(members) else {})
    return Event(seq=0, kind="drawn", at=at, unit=unit.number, query_id=unit.query_id, body=body)


def _add(
    connection: Connection,
    campaign_id: int,
    campaign: CampaignRow,
    sample: SampleRow,
    units: Sequence[UnitRow],
    ended: str,
) -> int:
    """Insert a sample version with its units (items judged together) and assignments (needed judgments).

    Return the last event's number. ``ended`` states why no further units will follow; if not empty, an ``ended`` event
    is added.
    """
    check_text("ended", ended)
    _check_units(sample, units)
    at = campaign.created_at  # the caller has set it to the time of the transaction
    before = tail(connection, campaign_id)[0]
    _insert_sample(connection, campaign_id, replace(sample, seq=before))
    _insert_queries(connection, campaign_id, units)
    _insert_units(connection, campaign_id, units)
    new = [drawn(unit, at, sample.digest) for unit in units]
    end = Event(seq=0, kind="ended", at=at, reason=ended, body={"sample": sample.digest, "version": sample.version})
    new += [end] if ended else []
    stored = append(connection, campaign_id, new)
    # the new events alone give the new assignments: as many free ones for each item as it needs judges
    state = State.of(stored, judges_per_item=campaign.judges_per_item)
    insert_assignments(connection, campaign_id, state.assigned)
    if connection.dialect.name == "postgresql":
        connection.execute(
            text("ANALYZE assignment")
        )  # without statistics PostgreSQL sorts all open assignments for each claim
    return stored[-1].seq if stored else before


def _insert_sample(connection: Connection, campaign_id: int, sample: SampleRow) -> None:
    """Insert a version of the sample."""
    names = ("version", "digest", "payload", "seq", "reason")
    values = {name: getattr(sample, name) for name in names}
    connection.execute(insert(tables.sample).values(campaign_id=campaign_id, **values))


def _insert_queries(connection: Connection, campaign_id: int, units: Sequence[UnitRow]) -> None:
    """Insert the queries of units that are not stored yet.

    Raises InputError if a query's text differs from the stored one.
    """
    table = tables.query
    chosen = select(table.c.query_id, table.c.text).where(table.c.campaign_id == campaign_id)
    texts: dict[str, str] = {row[0]: row[1] for row in connection.execute(chosen)}
    for unit in units:
        if texts.setdefault(unit.query_id, unit.query_text) != unit.query_text:
            raise InputError(f"query {shown(unit.query_id)} has another text in unit {unit.number} than before")
    rows = ({"campaign_id": campaign_id, "query_id": query_id, "text": text} for query_id, text in texts.items())
    insert_missing(connection, table, rows, "query_id")


def _insert_units(connection: Connection, campaign_id: int, units: Sequence[UnitRow]) -> None:
    """Insert units with their places (documents), and document texts that are not stored yet."""
    contents = {}  # texts by digest, so that equal texts are stored once
    rows, places = [], []
    for unit in units:
        names = ("number", "block", "query_id", "level", "cost", "version")
        rows.append({"campaign_id": campaign_id, **{name: getattr(unit, name) for name in names}})
        for position, place in enumerate(unit.places):
            content = canonical(dict(place.text))
            digest = digest_of(content)
            contents[digest] = {"digest": digest, "content": content}
            places.append(
                {
                    "campaign_id": campaign_id,
                    "unit": unit.number,
                    "position": position,
                    "doc_id": place.doc_id,
                    "probability": float(place.probability),
                    "document": digest,
                }
            )
    insert_missing(connection, tables.document, contents.values(), "digest")
    for table, values in ((tables.unit, rows), (tables.place, places)):
        if values:
            connection.execute(insert(table), values)


def insertion(connection: Connection, table: Table) -> Any:
    """Build an INSERT into a table, in the database's own dialect, which supports ON CONFLICT."""
    # import only the dialect that the engine has loaded: the other adds a tenth to SQLAlchemy's import time
    if connection.dialect.name == "sqlite":
        from sqlalchemy.dialects import sqlite

        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)


def _check_campaign(campaign: CampaignRow) -> None:
    """Raise InputError if a campaign's settings cannot be stored."""
    check_text("the name of a campaign", campaign.name, may_be_empty=False)
    for name in ("judges_per_item", "lease_s"):
        check_whole(name, getattr(campaign, name), least=1)
    if campaign.max_grade is not None:
        check_whole("max_grade", campaign.max_grade)


def _check_units(sample: SampleRow, units: Sequence[UnitRow]) -> None:
    """Raise InputError if a sample version or its units (items judged together) cannot be stored."""
    check_whole("the version of a sample", sample.version, least=1)
    for name in ("digest", "reason"):
        check_text(f"the sample's {name}", getattr(sample, name))
    if len({unit.number for unit in units}) < len(units):
        raise InputError("two units have the same number")
    for unit in units:
        check_whole("the number of a unit", unit.number, least=1)
        check_whole(f"the block of unit {unit.number}", unit.block, least=1)
        if unit.version != sample.version:
            raise InputError(f"unit {unit.number} is of version {unit.version}, its sample of {sample.version}")
        check_text("query_id", unit.query_id, may_be_empty=False)
        check_text("query_text", unit.query_text)
        canonical(dict(drawn(unit, 0, sample.digest).body))  # raises InputError if not JSON
        for place in unit.places:
            check_text("doc_id", place.doc_id, may_be_empty=False)
        if len({place.doc_id for place in unit.places}) < len(unit.places):
            raise InputError(f"unit {unit.number} has a document twice")
