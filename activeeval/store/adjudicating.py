"""A third judge where two differ: an assignment that is there once their grades do."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, select

from activeeval.judgments.log import ANSWERS, Event
from activeeval.judgments.policies import needs_third
from activeeval.judgments.state import Assignment
from activeeval.store import tables
from activeeval.store.drawing import insert_assignments
from activeeval.store.log import events
from activeeval.store.rows import CampaignRow

assignment, event, place = tables.assignment, tables.event, tables.place


def ask_third(connection: Connection, campaign_id: int, campaign: CampaignRow, new: Iterable[Event]) -> None:
    """Make an assignment more of each item on which two judges differ by new answers; the log must be locked."""
    if campaign.adjudicate:
        for unit, doc_id in sorted({(e.unit or 0, e.doc_id) for e in new if e.kind in ANSWERS}):
            if needs_third([e.grade for e in _standing(connection, campaign_id, unit, doc_id)]):
                _add(connection, campaign_id, unit, doc_id, campaign.judges_per_item + 1)


def _standing(connection: Connection, campaign_id: int, unit: int, doc_id: str) -> list[Event]:
    of_place = (event.c.unit == unit, event.c.doc_id == doc_id)
    stored = events(connection, campaign_id, *of_place, event.c.kind.in_((*ANSWERS, "retracted")))
    replaced = {e.supersedes for e in stored}
    return [e for e in stored if e.kind in ANSWERS and e.seq not in replaced]


def _add(connection: Connection, campaign_id: int, unit: int, doc_id: str, k: int) -> None:
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
