"""A judge's earlier answers: list, correct and show them; training answers, lease renewals and guidelines."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import Connection, exists, select, update

from activeeval.campaigns.store import controls, tables
from activeeval.campaigns.store.answering import judgment_event, says_the_same
from activeeval.campaigns.store.claiming import hashed
from activeeval.campaigns.store.log import append, canonical, digest_of, events, lock_log, parsed, with_key
from activeeval.campaigns.store.rows import Acknowledged, ItemTexts, JudgeAnswer
from activeeval.campaigns.store.samples import insert_missing
from activeeval.core.errors import InputError, StateError, shown
from activeeval.core.judgments.log import ANSWERS, Event
from activeeval.core.judgments.state import MICROSECONDS

assignment, event = tables.assignment, tables.event
_SAID = (*ANSWERS, "checked")  # a judge cannot tell controls from other items


class Correction(NamedTuple):
    """A judge's new answer in place of an earlier one.

    Attributes
    ----------
    seq : int
        Event of the earlier answer.
    judge : str
    judgment : JudgeAnswer
    key : str
        Idempotency key: sending the same correction again stores nothing new.
    """

    seq: int
    judge: str
    judgment: JudgeAnswer
    key: str


class TrainingAnswer(NamedTuple):
    """A judge's answer to a training item, whose grade is known.

    Attributes
    ----------
    judge : str
    item : str
        Key of the item.
    grade, expected : int
        The judge's grade, and the known one.
    """

    judge: str
    item: str
    grade: int
    expected: int


def train(connection: Connection, campaign_id: int, answer: TrainingAnswer, at: int) -> Acknowledged:
    """Store a judge's answer to a training item (with a known grade); only the first answer to each item is kept.

    ``at`` is the time in UTC microseconds.
    """
    lock_log(connection, campaign_id)
    key = "trained:" + hashed(f"{answer.judge}\0{answer.item}")
    stored = with_key(connection, campaign_id, key)
    if stored is not None:
        return Acknowledged(event=stored, is_repeated=True)
    body = {"item": answer.item, "expected": answer.expected}
    new = Event(seq=0, kind="trained", at=at, judge=answer.judge, grade=answer.grade, body=body, key=key)
    return Acknowledged(event=append(connection, campaign_id, [new])[0])


def answers_of(connection: Connection, campaign_id: int, judge: str, most: int, before: int | None) -> list[Event]:
    """List a judge's latest valid answers, the newest first, at most ``most``.

    With ``before``, only answers whose event number is smaller. Answers to controls (items that check the judge) are
    included, because a judge cannot tell them apart.
    """
    later = event.alias("later")  # an event that replaces or retracts the answer
    is_replaced = exists().where(later.c.campaign_id == campaign_id, later.c.supersedes == event.c.seq)
    conditions = [event.c.judge == judge, event.c.kind.in_(_SAID), ~is_replaced]
    conditions += [] if before is None else [event.c.seq < before]
    of_judge = (event.c.campaign_id == campaign_id, *conditions)
    last = select(event.c.seq).where(*of_judge).order_by(event.c.seq.desc()).limit(most)
    seqs = list(connection.execute(last).scalars())
    return events(connection, campaign_id, event.c.seq.in_(seqs))[::-1] if seqs else []


def texts_of(connection: Connection, campaign_id: int, item: Event) -> ItemTexts:
    """Read the texts that judges see of the item of an event; raise InputError if there is no such item."""
    # a control (item that checks the judge) that was not drawn has its texts with it
    if (stored_with_it := controls.texts_in(connection, item.body)) is not None:
        return stored_with_it
    unit_number, doc_id = item.unit or 0, item.doc_id
    unit, place, query, document = tables.unit, tables.place, tables.query, tables.document
    joined = place.join(unit, tables.matches(place, unit, "campaign_id", ("unit", "number")))
    joined = joined.join(query, tables.matches(unit, query, "campaign_id", "query_id"))
    joined = joined.join(document, place.c.document == document.c.digest)
    of_item = (place.c.campaign_id == campaign_id, place.c.unit == unit_number, place.c.doc_id == doc_id)
    row = connection.execute(select(query.c.text, document.c.content).select_from(joined).where(*of_item)).first()
    if row is None:
        raise InputError(f"document {shown(doc_id)} is none of unit {unit_number}")
    return ItemTexts(query_text=row.text, text=parsed(row.content, f"the text of document {doc_id!r}"))


def correct(connection: Connection, campaign_id: int, correction: Correction, at: int) -> Acknowledged:
    """Store an answer that supersedes an earlier one of the same judge at time ``at`` (UTC microseconds).

    A correction whose key is stored already is acknowledged as repeated. The earlier answer may be to a control (item
    that checks the judge, event kind ``checked``): so is the new one then.

    Raises
    ------
    InputError
        If the event is not an answer of this judge.
    StateError
        If the earlier answer was replaced already, or the key is that of a different answer.
    """
    lock_log(connection, campaign_id)
    stored = with_key(connection, campaign_id, correction.key)
    if stored is not None:
        compare = controls.says_the_same if stored.kind == "checked" else says_the_same
        if stored.judge == correction.judge and compare(stored, correction.judgment):
            return Acknowledged(event=stored, is_repeated=True)
        raise StateError(f"the key {shown(correction.key)} is that of event {stored.seq}, which is a different answer")
    earlier = events(connection, campaign_id, event.c.seq == correction.seq, event.c.judge == correction.judge)
    if not earlier or earlier[0].kind not in _SAID:
        raise InputError(f"event {correction.seq} is not an answer of {shown(correction.judge)}")
    by = events(connection, campaign_id, event.c.supersedes == correction.seq)
    if by:
        raise StateError(f"event {correction.seq} is not valid any more: event {by[0].seq} replaced it")
    build = controls.answer_event if earlier[0].kind == "checked" else judgment_event
    new = build(earlier[0], correction.judgment, at, correction.key, supersedes=correction.seq)
    return Acknowledged(event=append(connection, campaign_id, [new])[0])


def renew(connection: Connection, campaign_id: int, token: str, at: int, lease_s: int) -> int | None:
    """Restart the lease of the item that was shown under a token; return its new end in UTC microseconds.

    Return None if the item is no longer held. ``at`` is the time in UTC microseconds, ``lease_s`` the duration.

    A control (item that checks the judge) has no assignment (row of a needed judgment, with its lease): its renewal is
    only an event of the log. A repeated pair, whose body has "sides", renews the lease of its query.
    """
    claimed = with_key(connection, campaign_id, "shown:" + hashed(token))
    if claimed is None:
        return None
    of_claim = [assignment.c.token_hash == hashed(token)]
    if "sides" in claimed.body:
        its = (assignment.c.campaign_id == campaign_id, assignment.c.unit == claimed.unit)
        of_claim = [*its, assignment.c.judge == claimed.judge, assignment.c.state == "leased"]
    row = connection.execute(select(assignment.c.id, assignment.c.k).where(*of_claim).with_for_update()).first()
    lock_log(connection, campaign_id)
    until = at + lease_s * MICROSECONDS
    if claimed.kind == "control_shown" and "sides" not in claimed.body:
        return until if controls.renew(connection, campaign_id, claimed, at) else None
    if row is None:
        return None
    item: dict[str, Any] = {name: getattr(claimed, name) for name in ("judge", "query_id", "doc_id", "unit")}
    append(connection, campaign_id, [Event(seq=0, kind="renewed", at=at, k=row.k, **item)])
    connection.execute(update(assignment).where(assignment.c.id == row.id).values(lease_until=until))
    return until


def keep_guidelines(connection: Connection, text: str) -> str:
    """Store a version of the guidelines for judges, unless it is stored already; return its digest."""
    content = canonical({"guidelines": text})
    digest = digest_of(content)
    insert_missing(connection, tables.document, [{"digest": digest, "content": content}], "digest")
    return digest


def guidelines_of(connection: Connection, digest: str) -> str:
    """Read a version of the guidelines by digest; raise InputError if none exists."""
    document = tables.document
    content = connection.execute(select(document.c.content).where(document.c.digest == digest)).scalar()
    text = {} if content is None else parsed(content, f"the guidelines {digest}")
    if "guidelines" not in text:
        raise InputError(f"there is no version {shown(digest)} of the guidelines")
    return str(text["guidelines"])
