"""Check that a campaign's log is intact and that all other tables agree with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, delete, exists, select, text

from activeeval.campaigns.store import tables
from activeeval.campaigns.store.log import breaks_of, digest_of, events, genesis, lock_log
from activeeval.campaigns.store.rows import CampaignRow, SampleRow, UnitRow
from activeeval.campaigns.store.samples import drawn, insert_assignments
from activeeval.campaigns.store.stored_rows import samples_of, units_of
from activeeval.core.errors import StateError
from activeeval.core.judgments.log import ANSWERS, Event
from activeeval.core.judgments.state import Assignment, State


def problems_of(connection: Connection, campaign_id: int, campaign: CampaignRow) -> list[str]:
    """List what is wrong with a stored campaign, one line each; empty if nothing is."""
    problems: list[str] = []
    # damage in one table must not hide damage in another
    for check in (_file, _guards, _orphans, _log, _units, _samples, _assignments):
        try:
            problems += check(connection, campaign_id, campaign)
        except StateError as error:
            problems.append(str(error))
        except (KeyError, TypeError, ValueError) as error:
            problems.append(f"a row cannot be read: {type(error).__name__} {error}")
    return list(dict.fromkeys(problems))


def rebuild(connection: Connection, campaign_id: int, campaign: CampaignRow) -> None:
    """Recreate the assignments (judgments needed by each item, with their holders) from the log alone.

    Raises StateError if the log is damaged.
    """
    if connection.dialect.name == "postgresql":
        # waits for transactions that hold an assignment, and blocks new ones
        connection.execute(text("LOCK TABLE assignment IN EXCLUSIVE MODE"))
    lock_log(connection, campaign_id)
    log = events(connection, campaign_id)
    state = _state_of(campaign, log)
    problems = [*breaks_of(log, genesis(connection, campaign_id)), *state.problems]
    if problems:
        raise StateError(f"the log is damaged: {problems[0]}")
    connection.execute(delete(tables.assignment).where(tables.assignment.c.campaign_id == campaign_id))
    insert_assignments(connection, campaign_id, state.assigned)


def _state_of(campaign: CampaignRow, log: Sequence[Event]) -> State:
    """Compute the state of a campaign from its whole log."""
    n, third = campaign.judges_per_item, campaign.adjudicate
    return State.of(log, judges_per_item=n, adjudicate=third, lease_s=campaign.lease_s)


def _file(connection: Connection, _: int, __: CampaignRow) -> Iterator[str]:
    """Check the SQLite file itself; yield a message for each problem."""
    if connection.dialect.name == "sqlite":
        rows = connection.exec_driver_sql("PRAGMA quick_check(5)").scalars()
        yield from (f"the file is damaged: {' '.join(str(row).split())}" for row in rows if row != "ok")


def _guards(connection: Connection, _: int, __: CampaignRow) -> Iterator[str]:
    """Check that the triggers that make tables append-only exist; yield a message for each table without them."""
    is_sqlite = connection.dialect.name == "sqlite"
    verbs = ("no_update", "no_delete", "no_replace") if is_sqlite else ("no_change", "no_truncate")
    statement = (
        "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        if is_sqlite
        else "SELECT tgname FROM pg_trigger WHERE tgenabled <> 'D' AND tgrelid = ANY(:tables ::regclass[])"
    )
    names = {"tables": [table.name for table in tables.APPEND_ONLY]}
    triggers = set(connection.execute(text(statement), {} if is_sqlite else names).scalars())
    for table in tables.APPEND_ONLY:
        if not triggers >= {f"{table.name}_{verb}" for verb in verbs}:
            yield f"{table.name} can be changed: a trigger that prevents it is missing"


def _orphans(connection: Connection, _: int, __: CampaignRow) -> Iterator[str]:
    """Check that rows of all campaigns refer to existing rows of other tables; yield a message for each that does not.

    A place is a document of a unit (items judged together), an assignment one of the judgments that a place needs.
    """
    place, unit, assignment = tables.place, tables.unit, tables.assignment
    in_unit = exists().where(tables.matches(place, unit, "campaign_id", ("unit", "number")))
    for row in connection.execute(select(place.c.unit, place.c.doc_id).where(~in_unit)):
        yield f"document {row.doc_id!r} is in unit {row.unit}, which is not there"
    at_place = exists().where(tables.matches(assignment, place, "campaign_id", "unit", "position"))
    for row in connection.execute(select(assignment.c.unit, assignment.c.position).where(~at_place)):
        yield f"an assignment is of place {row.position} of unit {row.unit}, which is not there"
    of_query = exists().where(tables.matches(unit, tables.query, "campaign_id", "query_id"))
    for row in connection.execute(select(unit.c.number, unit.c.query_id).where(~of_query)):
        yield f"query {row.query_id!r} of unit {row.number} is not there"
    for table in (tables.event, tables.sample, unit):
        of_campaign = exists().where(tables.matches(table, tables.campaign, ("campaign_id", "id")))
        for lost in connection.execute(select(table.c.campaign_id).where(~of_campaign).distinct()).scalars():
            yield f"{table.name} has rows of campaign {lost}, which is not there"


def _log(connection: Connection, campaign_id: int, _: CampaignRow) -> Iterator[str]:
    """Check the digest chain, the references between events, and that judges exist.

    Yield a message for each problem.
    """
    log = events(connection, campaign_id)
    yield from breaks_of(log, genesis(connection, campaign_id))
    yield from _references(log)
    names = select(tables.judge.c.name).where(tables.judge.c.campaign_id == campaign_id)
    judges = set(connection.execute(names).scalars())
    for event in log:
        if event.kind in ("shown", "checked_out", *ANSWERS) and event.judge not in {*judges, _nobody(event)}:
            yield f"event {event.seq} is of judge {event.judge!r}, who is not in the table of judges"


def _nobody(event: Event) -> str | None:
    """Return "" for a ``checked_out`` event, whose sheet may have no named judge; else None."""
    return "" if event.kind == "checked_out" else None


def _references(log: Sequence[Event]) -> Iterator[str]:
    """Check that superseded events are earlier answers; yield a message for each that is not.

    An answer is ``judged`` or ``cannot``, or ``checked`` for a control (item that checks the judge).
    """
    by_seq = {event.seq: event for event in log}
    for event in log:
        if event.supersedes is not None:
            before = by_seq.get(event.supersedes)
            if before is None or before.kind not in (*ANSWERS, "checked") or before.seq >= event.seq:
                yield f"event {event.seq} replaces event {event.supersedes}, which is not an earlier answer"


def _units(connection: Connection, campaign_id: int, _: CampaignRow) -> Iterator[str]:
    """Check that units (items judged together) and their texts equal those of the ``drawn`` events.

    Yield a message for each difference.
    """
    logged = {event.unit: event for event in events(connection, campaign_id, tables.event.c.kind == "drawn")}
    samples = {sample.version: sample for sample in samples_of(connection, campaign_id)}
    for unit in units_of(connection, campaign_id):
        event = logged.pop(unit.number, None)
        if event is None:
            yield f"unit {unit.number} was never drawn"
        elif unit.version not in samples or not _is_as_drawn(unit, event, samples[unit.version]):
            yield f"unit {unit.number} differs from the one drawn in event {event.seq}"
    yield from (f"unit {number} was drawn and is missing" for number in logged)
    for digest, content in connection.execute(_documents(campaign_id)):
        if digest_of(content) != digest:
            yield f"the text of document {digest} is not what was written"


def _samples(connection: Connection, campaign_id: int, _: CampaignRow) -> Iterator[str]:
    """Check that the first event of each sample version names the stored sample, and directly follows its drawing.

    The first event is ``drawn``, or ``ended`` if the sample has no units. A sample's `seq` is the number of the last
    event before it was drawn. Yield a message for each difference.
    """
    log = events(connection, campaign_id, tables.event.c.kind.in_(("drawn", "ended")))
    first: dict[int, Event] = {}
    for event in log:
        if "version" in event.body:
            first.setdefault(event.body["version"], event)
    for sample in samples_of(connection, campaign_id):
        named = first.get(sample.version)
        if named is None:
            yield f"version {sample.version} of the sample belongs to no event"
        elif named.body.get("sample") != sample.digest:
            yield f"version {sample.version} of the sample is not the one that event {named.seq} names"
        elif sample.seq != named.seq - 1:
            yield f"version {sample.version} of the sample is as of event {sample.seq}, its units as of {named.seq - 1}"


def _is_as_drawn(unit: UnitRow, event: Event, sample: SampleRow) -> bool:
    """Check whether a stored unit (items judged together) equals the ``drawn`` event that logged it."""
    expected = drawn(unit, event.at, sample.digest)
    return (dict(expected.body), expected.query_id) == (dict(event.body), event.query_id)


def _documents(campaign_id: int) -> Any:
    """Select digest and content (texts as JSON) of the documents that a campaign uses."""
    place, document = tables.place, tables.document
    used = select(place.c.document).where(place.c.campaign_id == campaign_id)
    return select(document.c.digest, document.c.content).where(document.c.digest.in_(used))


def _assignments(connection: Connection, campaign_id: int, campaign: CampaignRow) -> Iterator[str]:
    """Check that the stored assignments (needed judgments, with holders) equal those that follow from the log.

    Yield a message for each difference.
    """
    state = _state_of(campaign, events(connection, campaign_id))
    yield from state.problems
    table = tables.assignment
    columns = [table.c[name] for name in Assignment.__slots__]
    rows = connection.execute(select(*columns).where(table.c.campaign_id == campaign_id))
    by_place = {(row.unit, row.position, row.k): Assignment(**row._mapping) for row in rows}
    for assignment in state.assigned:
        unit, position, k = assignment.unit, assignment.position, assignment.k
        if by_place.pop((unit, position, k), None) != assignment:
            yield f"assignment {k} of place {position} of unit {unit} differs from the one that follows from the log"
    yield from (f"assignment {k} of place {position} of unit {unit} was never drawn" for unit, position, k in by_place)
