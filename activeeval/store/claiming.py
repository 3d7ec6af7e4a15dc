"""Who gets which item: the order in which slots are given out, and how no two judges get the same one.

The lease is in the slot's own row and is taken by one statement that asks once more whether the slot is still
there to be taken. With leases in another table two judges both find a slot without one, and both write one.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, func, literal_column, or_, select, update

from activeeval.store import tables
from activeeval.store.drawing import insert_missing
from activeeval.store.fold import ANSWERS, MICROSECONDS
from activeeval.store.log import append, lock_log, parsed
from activeeval.store.rows import CampaignRow, Claimed, EventRow

slot, event, place = tables.slot, tables.event, tables.place
_CANDIDATE, _OTHER = slot.alias("candidate"), slot.alias("other")


class Claim(NamedTuple):
    """Who asks for an item, of what, and when."""

    campaign_id: int
    campaign: CampaignRow
    judge: str
    now: int


def claim(connection: Connection, asked: Claim) -> Claimed | None:
    """Give a judge the item that he has, or else the next one; None where there is none for him.

    The judge's row must be locked (`lock_judge`).
    """
    token = secrets.token_urlsafe(16)
    taken = _take(connection, asked, _own(asked), slot.c.state == "leased", token)
    if taken is None:
        taken = _next(connection, asked, token)
    return None if taken is None else _shown(connection, asked, taken, token)


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def lock_judge(connection: Connection, campaign_id: int, judge: str, now: int) -> None:
    """Let a judge do one thing at a time; he is entered where he is new."""
    table = tables.judge
    row = {"campaign_id": campaign_id, "name": judge, "created_at": now}
    chosen = select(table.c.name).where(table.c.campaign_id == campaign_id, table.c.name == judge)
    if connection.execute(chosen.with_for_update()).first() is None:
        insert_missing(connection, table, [row], "name")
        connection.execute(chosen.with_for_update())


def is_takeable(slots: Any, now: int) -> ColumnElement[bool]:
    """Return the condition that nobody has a slot; it names the states as the index of open slots does."""
    is_over = and_(slots.c.state == "leased", slots.c.lease_until < now)
    return and_(
        literal_column(f"{slots.name}.state") != literal_column("'done'"), or_(slots.c.state == "free", is_over)
    )


def _next(connection: Connection, asked: Claim, token: str) -> int | None:
    block = 0
    while (found := connection.execute(_lowest_block(asked, block)).scalar()) is not None:
        block = found
        for chosen in _preferences(connection, asked, block):
            taken = _take(connection, asked, chosen, is_takeable(slot, asked.now), token)
            if taken is not None:
                return taken
    return None  # whatever was open is being taken by others in this moment


def _take(
    connection: Connection, asked: Claim, chosen: Select[Any], still: ColumnElement[bool], token: str
) -> int | None:
    first = chosen.limit(1).with_for_update(skip_locked=True, of=_CANDIDATE).scalar_subquery()
    lease = asked.now + asked.campaign.lease_s * MICROSECONDS
    taking = update(slot).where(slot.c.id == first, still).returning(slot.c.id)
    values = {"state": "leased", "judge": asked.judge, "token_hash": hashed(token), "lease_until": lease}
    return connection.execute(taking.values(values)).scalar()


def _own(asked: Claim) -> Select[Any]:
    s = _CANDIDATE
    return select(s.c.id).where(
        s.c.campaign_id == asked.campaign_id,
        s.c.judge == asked.judge,
        literal_column("candidate.state") == literal_column("'leased'"),
    )


def _open(asked: Claim) -> ColumnElement[bool]:
    s, o = _CANDIDATE, _OTHER
    has_judged = exists().where(
        o.c.campaign_id == asked.campaign_id,
        o.c.unit == s.c.unit,
        o.c.position == s.c.position,
        o.c.judge == asked.judge,
    )
    return and_(s.c.campaign_id == asked.campaign_id, is_takeable(s, asked.now), ~has_judged)


def _lowest_block(asked: Claim, above: int) -> Select[Any]:
    s = _CANDIDATE
    chosen = select(s.c.block).where(_open(asked), s.c.block > above)
    return chosen.order_by(s.c.block, s.c.unit, s.c.position, s.c.k).limit(1)


def _preferences(connection: Connection, asked: Claim, block: int) -> Iterator[Select[Any]]:
    """Yield where to look for a slot of a block, the best place first."""
    s = _CANDIDATE
    there = select(s.c.id).where(_open(asked), s.c.block == block)
    fresh = there
    has_put_off = connection.execute(_latest_later(asked).limit(1)).first() is not None
    if has_put_off:
        fresh = there.where(~exists(_put_off(asked)))
    last = connection.execute(_last_unit(asked)).scalar()
    if last is not None:
        yield fresh.where(s.c.unit == last).order_by(s.c.position, s.c.k)
    in_order = fresh.order_by(s.c.unit, s.c.position, s.c.k)
    yield in_order.where(~_is_in_other_hands(asked))
    yield in_order
    if has_put_off:
        oldest = _put_off(asked).with_only_columns(func.max(event.c.seq)).scalar_subquery()
        yield there.where(exists(_put_off(asked))).order_by(oldest, s.c.k)


def _latest_later(asked: Claim) -> Select[Any]:
    later = literal_column("event.kind") == literal_column("'later'")
    return select(event.c.seq).where(event.c.campaign_id == asked.campaign_id, event.c.judge == asked.judge, later)


def _put_off(asked: Claim) -> Select[Any]:
    """Select what this judge has said ``later`` to, of the item of the candidate."""
    s = _CANDIDATE
    of_item = and_(
        place.c.campaign_id == asked.campaign_id,
        place.c.unit == s.c.unit,
        place.c.position == s.c.position,
        event.c.unit == place.c.unit,
        event.c.doc_id == place.c.doc_id,
    )
    return _latest_later(asked).where(of_item).correlate(s)


def _last_unit(asked: Claim) -> Select[Any]:
    kinds = (*ANSWERS, "later")
    mine = (event.c.campaign_id == asked.campaign_id, event.c.judge == asked.judge, event.c.kind.in_(kinds))
    return select(event.c.unit).where(*mine).order_by(event.c.seq.desc()).limit(1)


def _is_in_other_hands(asked: Claim) -> ColumnElement[bool]:
    s, o = _CANDIDATE, _OTHER
    return exists().where(
        o.c.campaign_id == asked.campaign_id,
        o.c.block == s.c.block,
        o.c.unit == s.c.unit,
        o.c.k == s.c.k,
        literal_column("other.state") != literal_column("'done'"),
        o.c.state == "leased",
        o.c.lease_until >= asked.now,
    )


def _shown(connection: Connection, asked: Claim, taken: int, token: str) -> Claimed:
    """Write down who was shown what, and say it."""
    unit, query, document = tables.unit, tables.query, tables.document
    of_slot = slot.join(place, _same(slot, place, ("unit", "unit"), ("position", "position")))
    of_slot = of_slot.join(unit, _same(slot, unit, ("unit", "number")))
    of_slot = of_slot.join(query, _same(unit, query, ("query_id", "query_id")))
    of_slot = of_slot.join(document, place.c.document == document.c.digest)
    columns = (slot.c.unit, slot.c.block, slot.c.k, slot.c.lease_until, place.c.doc_id, unit.c.query_id)
    chosen = select(*columns, query.c.text, document.c.content).select_from(of_slot).where(slot.c.id == taken)
    row = connection.execute(chosen).one()
    lock_log(connection, asked.campaign_id)
    put_off = _latest_later(asked).where(event.c.unit == row.unit, event.c.doc_id == row.doc_id)
    was_put_off = connection.execute(put_off.limit(1)).first() is not None
    happened = EventRow(
        seq=0,
        kind="shown",
        at=asked.now,
        judge=asked.judge,
        query_id=row.query_id,
        doc_id=row.doc_id,
        unit=row.unit,
        k=row.k,
        shown_at=asked.now,
        key="shown:" + hashed(token),
    )
    append(connection, asked.campaign_id, [happened])
    return Claimed(
        token=token,
        unit=row.unit,
        block=row.block,
        query_id=row.query_id,
        doc_id=row.doc_id,
        k=row.k,
        lease_until=row.lease_until,
        was_put_off=was_put_off,
        query_text=row.text,
        text=parsed(row.content, f"the text of document {row.doc_id!r}"),
    )


def _same(one: Any, other: Any, *columns: tuple[str, str]) -> ColumnElement[bool]:
    pairs = [one.c[mine] == other.c[theirs] for mine, theirs in columns]
    return and_(one.c.campaign_id == other.c.campaign_id, *pairs)
