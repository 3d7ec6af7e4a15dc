"""Settle items on which judges differ: add an assignment for a third judge, or store the decision of a lead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection, select

from activeeval.campaigns.store import tables
from activeeval.campaigns.store.log import append, events, lock_log
from activeeval.campaigns.store.rows import Acknowledged, CampaignRow
from activeeval.campaigns.store.samples import insert_assignments
from activeeval.core.errors import InputError, StateError, shown
from activeeval.core.judgments.log import ANSWERS, Event
from activeeval.core.judgments.policies import needs_third
from activeeval.core.judgments.state import Assignment


class Adjudication(NamedTuple):
    """A lead's decision on the grade of an item on which judges differ.

    Attributes
    ----------
    seq : int
        Event of any judgment of the item.
    lead : str
        Name of the lead.
    grade : int
    reason : str
    judges : int
        Number of judges that each item needs.
    has_third : bool
        True if a third judge decides where two differ.
    """

    seq: int
    lead: str
    grade: int
    reason: str
    judges: int
    has_third: bool


assignment, event, place = tables.assignment, tables.event, tables.place


def ask_third(connection: Connection, campaign_id: int, campaign: CampaignRow, new: Iterable[Event]) -> None:
    """Ask for a third judgment (add an assignment) of each item on which judges differ after the ``new`` answers.

    No effect if the campaign has no third judges. The log must be locked.
    """
    if campaign.adjudicate:
        for unit, doc_id in sorted({(e.unit or 0, e.doc_id) for e in new if e.kind in ANSWERS}):
            if needs_third([e.grade for e in _standing(connection, campaign_id, unit, doc_id)]):
                _add(connection, campaign_id, unit, doc_id, campaign.judges_per_item + 1)


def decide(connection: Connection, campaign_id: int, ruling: Adjudication, at: int) -> Acknowledged:
    """Store a lead's grade for an item whose judges differ; their judgments stay in the log.

    Parameters
    ----------
    ruling : Adjudication
        The decision.
    at : int
        Time in UTC microseconds.

    Raises
    ------
    InputError
        If the event is not a judgment.
    StateError
        If judges do not differ, or the item waits for another judge.
    """
    lock_log(connection, campaign_id)
    answers = events(connection, campaign_id, event.c.seq == ruling.seq, event.c.kind.in_(ANSWERS))
    if not answers:
        raise InputError(f"event {ruling.seq} is not a judgment")
    item = answers[0]
    standing = _standing(connection, campaign_id, item.unit or 0, item.doc_id)
    if len({answer.grade for answer in standing}) < 2:
        raise StateError(f"judges do not differ on document {shown(item.doc_id)} of query {shown(item.query_id)}")
    if len(standing) < ruling.judges or (ruling.has_third and needs_third([answer.grade for answer in standing])):
        raise StateError(f"document {shown(item.doc_id)} of query {shown(item.query_id)} waits for another judge")
    of_item = {name: getattr(item, name) for name in ("query_id", "doc_id", "unit", "k")}
    new = Event(
        seq=0, kind="adjudicated", at=at, judge=ruling.lead, grade=ruling.grade, reason=ruling.reason, **of_item
    )
    return Acknowledged(event=append(connection, campaign_id, [new])[0])


def _standing(connection: Connection, campaign_id: int, unit: int, doc_id: str) -> list[Event]:
    """Read the valid answers (not replaced or retracted) to a document of a unit (items judged together)."""
    of_place = (event.c.unit == unit, event.c.doc_id == doc_id)
    stored = events(connection, campaign_id, *of_place, event.c.kind.in_((*ANSWERS, "retracted")))
    replaced = {e.supersedes for e in stored}
    return [e for e in stored if e.kind in ANSWERS and e.seq not in replaced]


def _add(connection: Connection, campaign_id: int, unit: int, doc_id: str, k: int) -> None:
    """Insert the assignment (needed judgment) number ``k`` of a document of a unit, unless it exists.

    Block and position are copied from the document's other assignments, of which there is at least one.
    """
    at_place = (place.c.campaign_id == campaign_id, place.c.unit == unit, place.c.doc_id == doc_id)
    position = select(place.c.position).where(*at_place).scalar_subquery()
    columns = (assignment.c.block, assignment.c.position, assignment.c.k)
    chosen = select(*columns).where(
        assignment.c.campaign_id == campaign_id, assignment.c.unit == unit, assignment.c.position == position
    )
    rows = connection.execute(chosen).all()
    if all(row.k != k for row in rows):
        third = Assignment(block=rows[0].block, unit=unit, position=rows[0].position, k=k)
        insert_assignments(connection, campaign_id, [third])
