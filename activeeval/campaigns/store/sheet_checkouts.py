"""Check many items out to judges' sheets until a time, and return them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, select, update

from activeeval.campaigns.store import tables
from activeeval.campaigns.store.claiming import FREED
from activeeval.campaigns.store.log import append, lock_log
from activeeval.core.judgments.log import Event

assignment, place, unit = tables.assignment, tables.place, tables.unit
OVER = "the lease is over"
WRITTEN_ANEW = "its sheet was written anew"
OnSheet = tuple[str, str, str]
"""Judge ("" for a sheet without a named judge), query and document of a row of a sheet."""


class OpenPlace(NamedTuple):
    """An assignment (one of the judgments that an item needs) without an answer.

    Attributes
    ----------
    id : int
    block : int
        Number of the block (part of the sample).
    unit : int
        Number of the unit (items judged together).
    k : int
        Number of the assignment among those of the item, from 1.
    query_id, doc_id : str
    is_free : bool
        True if it can be checked out now.
    judge : str
        Its current holder; "" for none, or for a sheet without a named judge.
    judges : frozenset of str
        Judges who hold the item or have judged it.
    lease_until : int or None
        End of the reservation, UTC microseconds; None if there is none.
    """

    id: int
    block: int
    unit: int
    k: int
    query_id: str
    doc_id: str
    is_free: bool
    judge: str
    judges: frozenset[str]
    lease_until: int | None


Chosen = Sequence[tuple[OpenPlace, str]]
Choose = Callable[[Sequence[OpenPlace]], Chosen]
"""Selects from the open assignments, given in order, those to check out, with their judges ("" for no named judge)."""
_LEND = (
    update(assignment)
    .where(assignment.c.id == bindparam("of_assignment"))
    .values(state="checked_out", judge=bindparam("of_judge"), token_hash=None, lease_until=bindparam("until"))
)


def lend(
    connection: Connection, campaign_id: int, choose: Choose, now: int, until: int, replaced: Collection[OnSheet] = ()
) -> Chosen:
    """Check the chosen open assignments (needed judgments) out to their judges; return them with their judges.

    The judges' rows must be locked.

    Parameters
    ----------
    choose : callable
        Selects from the open assignments those to check out, with their judges; see `Choose`.
    now, until : int
        Time, and end of the reservations, in UTC microseconds.
    replaced : collection of OnSheet
        Rows of sheets that are overwritten: those still checked out are returned first.
    """
    # lock all assignments before the log: the transaction that holds the log waits for no other lock
    opened = _open(connection, campaign_id, now)
    lock_log(connection, campaign_id)
    # expired check-outs, and those on overwritten sheets, are returned before anything is chosen
    over = [item for item, state in opened if state == "checked_out" and item.is_free]
    give_back(connection, campaign_id, [(item, "") for item in over], now, OVER)
    of_old = [(item, item.judge) for item, state in opened if state == "checked_out" and _is_on(item, replaced)]
    if of_old:
        give_back(connection, campaign_id, of_old, now, WRITTEN_ANEW)
        opened = _open(connection, campaign_id, now)
    chosen = choose([item for item, _ in opened])
    new = [_event("checked_out", item, judge, now, body={"until": until}) for item, judge in chosen]
    append(connection, campaign_id, new)
    values = [{"of_assignment": item.id, "of_judge": judge or None, "until": until} for item, judge in chosen]
    if values:
        connection.execute(_LEND, values)
    return chosen


def _is_on(place: OpenPlace, sheets: Collection[OnSheet]) -> bool:
    """Check whether an assignment (needed judgment) is checked out with one of these (judge, query, document) rows."""
    return not place.is_free and (place.judge, place.query_id, place.doc_id) in sheets


def give_back(connection: Connection, campaign_id: int, lent: Chosen, at: int, reason: str) -> None:
    """Free checked-out assignments (needed judgments).

    These and the log must be locked. ``lent`` has them with their judges; ``at`` is the time in UTC microseconds,
    ``reason`` is stored with the events.
    """
    append(connection, campaign_id, [_event("returned", place, judge, at, reason) for place, judge in lent])
    for place, _ in lent:
        connection.execute(update(assignment).where(assignment.c.id == place.id).values(FREED))


def take_back(connection: Connection, campaign_id: int, lent: Chosen, at: int, reason: str) -> None:
    """Free those of the given assignments (needed judgments) that are still checked out to the same judge.

    ``lent`` has them with their judges; ``at`` is the time in UTC microseconds, ``reason`` is stored with the events.
    """
    ids = sorted(place.id for place, _ in lent)
    chosen = select(assignment.c.id, assignment.c.state, assignment.c.judge).where(assignment.c.id.in_(ids))
    rows = connection.execute(chosen.order_by(assignment.c.id).with_for_update())
    has = {row.id: row.judge or "" for row in rows if row.state == "checked_out"}  # current holders, "" if unnamed
    lock_log(connection, campaign_id)
    still = [(place, judge) for place, judge in lent if has.get(place.id) == judge]
    give_back(connection, campaign_id, still, at, reason)


def _open(connection: Connection, campaign_id: int, now: int) -> list[tuple[OpenPlace, str]]:
    """Lock and read the open assignments (needed judgments) with their states, in the order of giving out.

    ``now`` is the time in UTC microseconds: expired ones are free.
    """
    a = assignment
    holders: dict[tuple[int, int], set[str]] = {}  # by (unit, position): judges who hold or have judged the item
    locked = select(a.c.id).where(a.c.campaign_id == campaign_id, a.c.state != "done").order_by(a.c.id)
    connection.execute(locked.with_for_update()).all()
    rows = connection.execute(_assignments(campaign_id)).all()
    for row in rows:
        is_over = row.state == "checked_out" and row.lease_until < now
        if row.judge is not None and not is_over:
            holders.setdefault((row.unit, row.position), set()).add(row.judge)
    return [
        (
            OpenPlace(
                **{
                    name: getattr(row, name)
                    for name in ("id", "block", "unit", "k", "query_id", "doc_id", "lease_until")
                },
                is_free=row.state == "free" or row.lease_until < now,
                judge=row.judge or "",
                judges=frozenset(holders.get((row.unit, row.position), ())),
            ),
            row.state,
        )
        for row in rows
        if row.state != "done"
    ]


def _assignments(campaign_id: int) -> Any:
    """Select all assignments (needed judgments) of a campaign with query_id and doc_id, in the order of giving out.

    ``position`` is the item's index in its unit (items judged together), ``k`` the assignment's number among those of
    the item, ``lease_until`` in UTC microseconds.
    """
    a, p, u = assignment, place, unit
    of_place = (a.c.campaign_id == p.c.campaign_id) & (a.c.unit == p.c.unit) & (a.c.position == p.c.position)
    of_unit = (u.c.campaign_id == p.c.campaign_id) & (u.c.number == p.c.unit)
    columns = [a.c[name] for name in ("id", "block", "unit", "position", "k", "state", "judge", "lease_until")]
    chosen = select(*columns, u.c.query_id, p.c.doc_id).select_from(a.join(p, of_place).join(u, of_unit))
    return chosen.where(a.c.campaign_id == campaign_id).order_by(a.c.block, a.c.unit, a.c.position, a.c.k)


def _event(kind: str, place: OpenPlace, judge: str, at: int, reason: str = "", **fields: Any) -> Event:
    """Build an event on an assignment (needed judgment) at time ``at`` (UTC microseconds).

    ``fields`` are further fields of the event.
    """
    of_item: dict[str, Any] = {"query_id": place.query_id, "doc_id": place.doc_id, "unit": place.unit, "k": place.k}
    return Event(seq=0, kind=kind, at=at, judge=judge, reason=reason, **of_item, **fields)
