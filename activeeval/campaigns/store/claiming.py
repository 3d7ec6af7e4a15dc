"""Give assignments to judges: in which order, and so that two judges never get the same one.

The lease is stored in the assignment's own row. One UPDATE statement takes it and checks again that the assignment is
free. With leases in another table, two judges could both find an assignment without a lease and both insert one.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Update,
    and_,
    bindparam,
    exists,
    func,
    literal_column,
    or_,
    select,
    update,
)

from activeeval.campaigns.store import tables
from activeeval.campaigns.store.log import append, lock_log, parsed
from activeeval.campaigns.store.rows import CampaignRow, ItemClaim
from activeeval.campaigns.store.samples import insert_missing
from activeeval.core.judgments.log import ANSWERS, Event
from activeeval.core.judgments.state import MICROSECONDS

assignment, event, place = tables.assignment, tables.event, tables.place
_CANDIDATE, _OTHER = assignment.alias("candidate"), assignment.alias("other")
# statements are built once, because building one takes longer than running it
_CAMPAIGN: Any = bindparam("of_campaign")
_JUDGE: Any = bindparam("of_judge")
_NOW: Any = bindparam("as_of")
_PRIME = 2_147_483_647
FREED = {"state": "free", "judge": None, "token_hash": None, "lease_until": None}


class Claim(NamedTuple):
    """A judge's request for an item of a campaign at ``now`` (UTC microseconds).

    With ``by_query`` the judge stays with a query while it has items in the block (part of the sample).
    """

    campaign_id: int
    campaign: CampaignRow
    judge: str
    now: int
    by_query: bool = False


def claim(connection: Connection, request: Claim) -> ItemClaim | None:
    """Give a judge the item that the judge holds, or else the next one; None if nothing is left for this judge.

    The judge and the held item must be locked (`lock_judge`, `lock_held`).
    """
    token = secrets.token_urlsafe(16)
    values = {
        "of_campaign": request.campaign_id,
        "of_judge": request.judge,
        "as_of": request.now,
        "new_hash": hashed(token),
        "strict_order": request.campaign.strict_order,
        "new_lease": request.now + request.campaign.lease_s * MICROSECONDS,
    }
    by_query = request.by_query and not request.campaign.strict_order
    digest = hashed(token)
    # random coefficients of the order in which a query's items are given out, see `_place_queries`
    values |= {"spin": 1 + int(digest[:8], 16) % _PRIME, "shift": int(digest[8:16], 16) % _PRIME}
    taken = connection.execute(_taking("held"), values).scalar() or _next(connection, values, by_query=by_query)
    return None if taken is None else _shown(connection, request, taken, token)


def hand_over(connection: Connection, request: Claim, chosen: int) -> ItemClaim:
    """Give a judge a free assignment (needed judgment) by its id, and free the judge's current one; both are locked."""
    token = secrets.token_urlsafe(16)
    is_held = (
        assignment.c.campaign_id == request.campaign_id,
        assignment.c.judge == request.judge,
        assignment.c.state == "leased",
    )
    connection.execute(update(assignment).where(*is_held).values(FREED))
    lease_until = request.now + request.campaign.lease_s * MICROSECONDS
    values = {"state": "leased", "judge": request.judge, "token_hash": hashed(token), "lease_until": lease_until}
    connection.execute(update(assignment).where(assignment.c.id == chosen).values(values))
    return _shown(connection, request, chosen, token)


def hashed(token: str) -> str:
    """Compute the SHA-256 digest of a token, which is stored in its place."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def lock_judge(connection: Connection, campaign_id: int, judge: str, now: int) -> None:
    """Lock a judge's row (inserted if new) until the commit, so that requests of one judge run one after another."""
    values = {"of_campaign": campaign_id, "of_judge": judge}
    if connection.execute(_judge(), values).first() is None:
        row = {"campaign_id": campaign_id, "name": judge, "created_at": now}
        insert_missing(connection, tables.judge, [row], "name")
        connection.execute(_judge(), values)


def lock_held(connection: Connection, campaign_id: int, judge: str) -> None:
    """Lock the assignment (needed judgment of an item) that a judge holds, until the commit.

    It must come before the lock of the log, whose holder waits for no other lock. Imports of files lock their
    assignments in the order of ids and must not hold this lock before.
    """
    connection.execute(_place_queries()["held"].with_for_update(), {"of_campaign": campaign_id, "of_judge": judge})


def is_takeable(assignments: Any, now: Any) -> ColumnElement[bool]:
    """Build the condition that an assignment (needed judgment) is free or its lease has expired at ``now``.

    It must name the states as the index of open assignments does. ``assignments`` is the table or an alias of it.
    """
    return and_(_is_open(assignments), or_(assignments.c.state == "free", assignments.c.lease_until < now))


def _next(connection: Connection, values: Mapping[str, Any], *, by_query: bool = False) -> int | None:
    """Take the best assignment (needed judgment) of the lowest block (part of the sample) that has one for this judge.

    Return its id, or None. Within a block come the judge's last unit (items judged together), units that no other judge
    holds, any unit, then items that the judge deferred; with ``by_query`` first the judge's last query, then queries
    that no judge has open. ``values`` are the bind parameters of the statements, as `claim` builds them.
    """
    has_put_off = connection.execute(_laters().limit(1), values).first() is not None
    unit = connection.execute(_last_unit(), values).scalar()
    places = ["unit", "alone", "any"] if unit is not None else ["alone", "any"]
    places = ["any"] if values["strict_order"] else places
    query = connection.execute(_last_query(), values).scalar() if by_query else None
    block = 0
    while (lowest := connection.execute(_lowest_block(), {**values, "above": block}).scalar()) is not None:
        block = lowest
        bound = {**values, "in_block": block, "in_unit": unit}
        prefix = "fresh " if has_put_off else ""
        taken = _of_query(connection, {**bound, "in_query": query}, prefix) if by_query else None
        for where in [prefix + place for place in places] + (["put off"] if has_put_off else []):
            taken = taken or connection.execute(_taking(where), bound).scalar()
        if taken is not None:
            return int(taken)
    return None


def _of_query(connection: Connection, bound: dict[str, Any], prefix: str) -> int | None:
    """Take a random item of the judge's current query, else of a query that no other judge has open.

    Return the id of its assignment (needed judgment), or None. The item is chosen at random by the token, because the
    order within a query depends on ranks, which the judge must not see. ``bound`` are the bind parameters of the
    statements, with the judge's query as ``in_query``; ``prefix`` is "fresh " to skip items that the judge deferred.
    """
    taken: int | None = connection.execute(_taking(f"{prefix}query"), bound).scalar()
    if taken is None and (query := connection.execute(_free_query(prefix), bound).scalar()) is not None:
        taken = connection.execute(_taking(f"{prefix}query"), {**bound, "in_query": query}).scalar()
    return taken


@cache
def _taking(where: str) -> Update:
    """Build the statement that takes the first assignment (needed judgment) of a selection, if it is still free.

    ``where`` is the selection's name in `_place_queries`. Bind parameters are those of the selection, new_hash (digest
    of the claim's token) and new_lease (end of the reservation). The statement returns the id of the assignment.
    """
    first = _place_queries()[where].limit(1).with_for_update(skip_locked=True, of=_CANDIDATE).scalar_subquery()
    still = assignment.c.state == "leased" if where == "held" else is_takeable(assignment, _NOW)
    values = {
        "state": "leased",
        "judge": _JUDGE,
        "token_hash": bindparam("new_hash"),
        "lease_until": bindparam("new_lease"),
    }
    return update(assignment).where(assignment.c.id == first, still).values(values).returning(assignment.c.id)


@cache
def _place_queries() -> dict[str, Select[Any]]:
    """Build the selections in which `_taking` looks for an assignment (needed judgment), by name.

    "held" is the judge's own item, "put off" the items that the judge deferred. "unit" is the judge's last unit (items
    judged together), "alone" are units that no other judge holds, "query" is one query, and "any" is all of the block
    (part of the sample). With the prefix "fresh " deferred items are left out. ``candidate`` is an alias of the table
    of assignments. Bind parameters: of_campaign, of_judge, as_of (UTC microseconds), in_block; for "unit" in_unit; for
    "query" in_query (an id), spin and shift (random integers).
    """
    s = _CANDIDATE
    is_leased = literal_column("candidate.state") == literal_column("'leased'")
    held = select(s.c.id).where(s.c.campaign_id == _CAMPAIGN, s.c.judge == _JUDGE, is_leased)
    of_block = select(s.c.id).where(_can_take(), s.c.block == bindparam("in_block"))
    oldest = _put_off().with_only_columns(func.max(event.c.seq)).scalar_subquery()
    put_off = of_block.where(exists(_put_off())).order_by(oldest, s.c.k)
    fresh = of_block.where(_put_off().limit(1).scalar_subquery().is_(None))
    places = {"held": held, "put off": put_off}
    for prefix, assignments in (("", of_block), ("fresh ", fresh)):
        in_order = assignments.order_by(s.c.unit, s.c.position, s.c.k)
        places[prefix + "unit"] = assignments.where(s.c.unit == bindparam("in_unit")).order_by(s.c.position, s.c.k)
        places[prefix + "alone"] = in_order.where(_is_in_no_hands())
        places[prefix + "any"] = in_order
        # a quadratic with random coefficients: with a linear function the first id would come first too often
        thrown = (((s.c.id * bindparam("spin")) % _PRIME) * ((s.c.id + bindparam("shift")) % _PRIME)) % _PRIME
        places[prefix + "query"] = assignments.where(_query_of(s) == bindparam("in_query")).order_by(thrown, s.c.id)
    return places


def _query_of(assignments: Any) -> Any:
    """Select the query's id of each row of ``assignments`` (the table of needed judgments, or an alias of it)."""
    unit = tables.unit
    of_unit = (unit.c.campaign_id == _CAMPAIGN, unit.c.number == assignments.c.unit)
    return select(unit.c.query_id).where(*of_unit).correlate(assignments).scalar_subquery()


@cache
def _free_query(prefix: str) -> Select[Any]:
    """Build the statement for the first query of a block (part of the sample) that no judge has open.

    It is "any" of `_place_queries` (with its bind parameters), in judging order, without queries that have a lease,
    here of ``other``, an alias of the assignments. ``prefix`` is "fresh " to skip items that the judge has deferred.
    """
    s, o = _CANDIDATE, _OTHER
    in_hand = (o.c.campaign_id == _CAMPAIGN, literal_column("other.state") == literal_column("'leased'"))
    taken = select(_query_of(o)).where(*in_hand, o.c.lease_until >= _NOW)
    return _place_queries()[prefix + "any"].with_only_columns(_query_of(s)).where(_query_of(s).not_in(taken)).limit(1)


@cache
def _lowest_block() -> Select[Any]:
    """Select the lowest block (part of the sample) beyond :above in which judge :of_judge can take an item.

    Further bind parameters: of_campaign (an id), as_of (the time in UTC microseconds).
    """
    s = _CANDIDATE
    chosen = select(s.c.block).where(_can_take(), s.c.block > bindparam("above"))
    return chosen.order_by(s.c.block, s.c.unit, s.c.position, s.c.k).limit(1)


@cache
def _last_unit() -> Select[Any]:
    """Select the unit (items judged together) of the last answer of judge :of_judge in campaign :of_campaign."""
    kinds = (*ANSWERS, "deferred")
    of_judge = (event.c.campaign_id == _CAMPAIGN, event.c.judge == _JUDGE, event.c.kind.in_(kinds))
    return select(event.c.unit).where(*of_judge).order_by(event.c.seq.desc()).limit(1)


@cache
def _last_query() -> Select[Any]:
    """Select the query of the last answer of judge :of_judge in campaign :of_campaign."""
    kinds = (*ANSWERS, "deferred")
    of_judge = (event.c.campaign_id == _CAMPAIGN, event.c.judge == _JUDGE, event.c.kind.in_(kinds))
    return select(event.c.query_id).where(*of_judge).order_by(event.c.seq.desc()).limit(1)


@cache
def _laters() -> Select[Any]:
    """Select the numbers of the ``deferred`` events (items put off) of judge :of_judge in campaign :of_campaign."""
    is_deferred = literal_column("event.kind") == literal_column("'deferred'")
    return select(event.c.seq).where(event.c.campaign_id == _CAMPAIGN, event.c.judge == _JUDGE, is_deferred)


@cache
def _judge() -> Select[Any]:
    """Select, with a lock, the row of the judge with name :of_judge in the campaign with id :of_campaign."""
    table = tables.judge
    return select(table.c.name).where(table.c.campaign_id == _CAMPAIGN, table.c.name == _JUDGE).with_for_update()


def _is_open(assignments: Any) -> ColumnElement[bool]:
    """Build the condition that an assignment (needed judgment) has no answer yet."""
    return literal_column(f"{assignments.name}.state") != literal_column("'done'")


def _can_take() -> ColumnElement[bool]:
    """Build the condition that the candidate is free and the judge has no other assignment of its document.

    An assignment is one of the judgments that a document needs; ``candidate`` and ``other`` are aliases of their table.
    Bind parameters: of_campaign (an id), of_judge, as_of (the time in UTC microseconds).
    """
    s, o = _CANDIDATE, _OTHER
    has_judged = select(o.c.id).where(
        *(o.c.campaign_id == _CAMPAIGN, o.c.unit == s.c.unit, o.c.position == s.c.position, o.c.judge == _JUDGE),
        o.c.id != s.c.id,  # a judge may claim an item again whose own check-out has expired
    )
    # not NOT EXISTS: PostgreSQL would join all open assignments, 2 s instead of 1 ms with 16,000 of them
    return and_(s.c.campaign_id == _CAMPAIGN, is_takeable(s, _NOW), has_judged.scalar_subquery().is_(None))


def _put_off() -> Select[Any]:
    """Select judge :of_judge's ``deferred`` events on the item of ``candidate``, an alias of the assignments."""
    s = _CANDIDATE
    of_item = and_(
        place.c.campaign_id == _CAMPAIGN,
        place.c.unit == s.c.unit,
        place.c.position == s.c.position,
        event.c.unit == place.c.unit,
        event.c.doc_id == place.c.doc_id,
    )
    return _laters().where(of_item).correlate(s)


def _is_in_no_hands() -> ColumnElement[bool]:
    """Build the condition that no judge holds an item of the unit (items judged together) of alias ``candidate``."""
    s, o = _CANDIDATE, _OTHER
    # k: number of the judgment among those that an item needs, as each may come from another judge
    same = (o.c.campaign_id == _CAMPAIGN, o.c.block == s.c.block, o.c.unit == s.c.unit, o.c.k == s.c.k)
    others = select(o.c.id).where(*same, _is_open(o), o.c.state == "leased", o.c.lease_until >= _NOW)
    return others.limit(1).scalar_subquery().is_(None)


@cache
def _item() -> Select[Any]:
    """Select what a judge is shown of the assignment with id :of_assignment: ids and texts.

    An assignment is a needed judgment. ``text`` is the query's text, ``content`` the document's texts as JSON.
    """
    unit, query, document = tables.unit, tables.query, tables.document
    of_assignment = assignment.join(place, tables.matches(assignment, place, "campaign_id", "unit", "position"))
    of_assignment = of_assignment.join(unit, tables.matches(assignment, unit, "campaign_id", ("unit", "number")))
    of_assignment = of_assignment.join(query, tables.matches(unit, query, "campaign_id", "query_id"))
    of_assignment = of_assignment.join(document, place.c.document == document.c.digest)
    columns = (
        assignment.c.unit,
        assignment.c.block,
        assignment.c.k,
        assignment.c.lease_until,
        place.c.doc_id,
        unit.c.query_id,
    )
    chosen = select(*columns, query.c.text, document.c.content).select_from(of_assignment)
    return chosen.where(assignment.c.id == bindparam("of_assignment"))


@cache
def _laters_of_item() -> Select[Any]:
    """Select a ``deferred`` event of :of_judge in :of_campaign for document :of_document of the unit :of_unit."""
    of_item = (event.c.unit == bindparam("of_unit"), event.c.doc_id == bindparam("of_document"))
    return _laters().where(*of_item).limit(1)


def _shown(connection: Connection, request: Claim, taken: int, token: str) -> ItemClaim:
    """Append the ``shown`` event of the assignment (needed judgment) with id ``taken``; return its item as a claim."""
    row = connection.execute(_item(), {"of_assignment": taken}).one()
    lock_log(connection, request.campaign_id)
    of_item = {"of_campaign": request.campaign_id, "of_judge": request.judge}
    of_item |= {"of_unit": row.unit, "of_document": row.doc_id}
    was_put_off = connection.execute(_laters_of_item(), of_item).first() is not None
    item = {name: getattr(row, name) for name in ("query_id", "doc_id", "unit", "k")}
    about: dict[str, Any] = {
        "at": request.now,
        "judge": request.judge,
        "shown_at": request.now,
        "key": "shown:" + hashed(token),
    }
    happened = Event(seq=0, kind="shown", **about, **item)
    append(connection, request.campaign_id, [happened])
    return ItemClaim(
        **item,
        token=token,
        block=row.block,
        lease_until=row.lease_until,
        was_put_off=was_put_off,
        query_text=row.text,
        text=parsed(row.content, f"the text of document {row.doc_id!r}"),
    )
