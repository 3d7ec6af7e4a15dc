"""Store judges' answers to claimed items, and retract them.

Answers are never discarded: one that does not count is stored as ``late`` with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, select, update

from activeeval.campaigns.store import tables
from activeeval.campaigns.store.claiming import FREED, Claim, hand_over, hashed
from activeeval.campaigns.store.log import (
    LARGEST,
    MOST_OF_A_NAME,
    MOST_OF_A_REASON,
    append,
    canonical,
    check_text,
    check_whole,
    events,
    lock_log,
    with_key,
)
from activeeval.campaigns.store.rows import Acknowledged, CampaignRow, ItemClaim, JudgeAnswer
from activeeval.core.errors import InputError, StateError, shown
from activeeval.core.judgments.log import ANSWERS, BESIDE, OF_MACHINE, REOPENED, Event
from activeeval.core.judgments.state import MICROSECONDS

assignment, event = tables.assignment, tables.event

_HELD = select(assignment.c.id).where(assignment.c.token_hash == bindparam("of_hash")).with_for_update()
GONE = "the item had gone to another judge"
RECLAIMED = "a later claim took its place"
ANSWERED = "the item had been answered already"


class KeyedAnswer(NamedTuple):
    """An answer with its idempotency key: sending it again under the same key stores nothing new."""

    judgment: JudgeAnswer
    key: str


def check_judgment(
    judgment: JudgeAnswer, campaign: CampaignRow, kinds: Iterable[str] = (*ANSWERS, "deferred", "preferred")
) -> None:
    """Raise InputError if an answer is malformed or of a kind that the campaign does not allow.

    ``kinds`` are the kinds allowed here; see `JudgeAnswer`. In a campaign with strict order (items given out one by
    one) an item cannot be deferred.
    """
    if judgment.kind not in tuple(kinds):
        raise InputError(f"an answer is one of {', '.join(kinds)}, got {shown(str(judgment.kind))}")
    if judgment.kind == "deferred" and campaign.strict_order:
        raise InputError(
            "this campaign has strict order: items cannot be deferred; judge it, or say why it cannot be judged"
        )
    check_text("reason", judgment.reason, most=MOST_OF_A_REASON)
    canonical([dict(judgment.body), dict(judgment.settles)])  # raises InputError if not JSON
    if judgment.kind == "preferred" and not judgment.body:
        raise InputError("preferred needs the pair and the preference, got nothing")
    # a body with other keys than remarks holds an order of documents in place of a grade
    if judgment.kind == "judged" and not set(judgment.body) - {OF_MACHINE, *BESIDE}:
        check_whole("grade", judgment.grade, LARGEST if campaign.max_grade is None else campaign.max_grade)
    elif judgment.grade is not None:
        raise InputError(f"{judgment.kind} has no grade, got {judgment.grade!r}")
    for name in ("active_ms", "idle_ms"):
        if getattr(judgment, name) is not None:
            check_whole(name, getattr(judgment, name), 2**62)


def check_key(key: str | None) -> None:
    """Raise InputError if an answer's key is empty or too long."""
    if key is not None:
        check_text("key", key, may_be_empty=False, most=MOST_OF_A_NAME)


def claim_of(connection: Connection, campaign_id: int, token: str) -> Event:
    """Look up the event in which an item was shown under a token (secret of a claim).

    Raises InputError if there is none.
    """
    claimed = with_key(connection, campaign_id, "shown:" + hashed(token))
    if claimed is None:
        raise InputError(f"no item was given out under the token {shown(token)}")
    return claimed


def submit(
    connection: Connection, campaign_id: int, claimed: Event, answer: KeyedAnswer, at: int, lease_s: int
) -> Acknowledged:
    """Store the answer to an item that was shown, as ``late`` if its claim has expired or was replaced.

    Parameters
    ----------
    claimed : Event
        Event in which the item was shown.
    answer : KeyedAnswer
        An answer whose key is stored already is acknowledged as repeated.
    at : int
        Time in UTC microseconds.
    lease_s : int
        Seconds for which a query stays reserved after a comparison.

    Raises
    ------
    StateError
        If a different answer is stored under the key.
    """
    # lock the assignment that holds the token's hash: a concurrent submit waits here, then finds that the hash is gone
    assignment_id = connection.execute(_HELD, {"of_hash": (claimed.key or "").removeprefix("shown:")}).scalar()
    lock_log(connection, campaign_id)
    stored = with_key(connection, campaign_id, answer.key)
    if stored is not None:
        return _repeated(stored, claimed, answer)
    if assignment_id is None:
        why = _why_late(connection, campaign_id, claimed)
        late = late_event(claimed, answer.judgment, at, answer.key, why)
        return _acknowledged(connection, campaign_id, late)
    judgment = answer.judgment
    happened = [judgment_event(claimed, judgment, at, answer.key)]
    if judgment.settles:
        # nothing is left to compare: the resulting order completes the query
        happened.append(judgment_event(claimed, JudgeAnswer(kind="judged", body=judgment.settles), at, None))
    # a comparison keeps its query reserved, a deferral frees the item, other answers complete it
    goes_on = {"token_hash": None, "lease_until": at + lease_s * MICROSECONDS}
    becomes: dict[str, dict[str, Any]] = {"preferred": goes_on, "deferred": FREED}
    values = becomes.get(happened[-1].kind, {**FREED, "state": "done", "judge": claimed.judge})
    connection.execute(update(assignment).where(assignment.c.id == assignment_id).values(values))
    return _acknowledged(connection, campaign_id, *happened)


def judgment_event(
    item: Event, judgment: JudgeAnswer, at: int, key: str | None, supersedes: int | None = None
) -> Event:
    """Build the event of an answer; its number and digest are set when it is appended to the log.

    Parameters
    ----------
    item : Event
        An event of the item, from which ids and unit are copied.
    at : int
        Time in UTC microseconds.
    key : str or None
        Idempotency key.
    supersedes : int, optional
        Number of the event that the answer replaces.
    """
    return replace(
        item,
        seq=0,
        digest="",
        kind=judgment.kind,
        at=at,
        grade=None if judgment.grade is None else int(judgment.grade),
        reason=judgment.reason,
        body=judgment.body,
        active_ms=judgment.active_ms,
        idle_ms=judgment.idle_ms,
        supersedes=supersedes,
        key=key,
    )


def late_event(item: Event, judgment: JudgeAnswer, at: int, key: str | None, why: str) -> Event:
    """Build the ``late`` event of an answer that does not count; its body keeps the answer's kind, reason and body.

    ``item`` is an event of the item, ``at`` the time in UTC microseconds, ``key`` the idempotency key, and ``why`` the
    reason why the answer does not count.
    """
    body: dict[str, Any] = {"said": judgment.kind, "reason": judgment.reason}
    body |= {"body": dict(judgment.body)} if judgment.body else {}
    return replace(judgment_event(item, judgment, at, key), kind="late", reason=why, body=body)


def says_the_same(stored: Event, judgment: JudgeAnswer) -> bool:
    """Check whether a stored event has the content of an answer; times and remarks are ignored."""
    body = stored.body
    stored_content = (stored.kind, stored.reason, dict(body))
    if stored.kind == "late":  # its body has the answer: kind ("said"), reason and body
        stored_content = (str(body.get("said")), str(body.get("reason")), dict(body.get("body", {})))
    kind, reason, item_body = stored_content
    content = (kind, reason, _of_item(item_body), stored.grade)
    return content == (judgment.kind, judgment.reason, _of_item(judgment.body), judgment.grade)


def _of_item(body: Mapping[str, Any]) -> dict[str, Any]:
    """Drop clock times and remarks from the body of an answer: they do not make an answer different."""
    return {name: value for name, value in body.items() if name not in BESIDE}


def retract(
    connection: Connection, campaign_id: int, seq: int, judge: str, reason: str, at: int, what: str = ""
) -> Acknowledged:
    """Retract the answer of event ``seq``, so that its item waits for a judge again.

    Parameters
    ----------
    judge : str
        Who retracts it.
    reason : str
        Required if it is another judge's answer.
    at : int
        Time in UTC microseconds.
    what : str
        `REOPENED` to keep the comparisons made so far, else empty.

    Raises
    ------
    StateError
        If the event is not a valid answer.
    InputError
        If it is another judge's answer and no reason is given.
    """
    answer = _answer_of(connection, campaign_id, seq)
    if judge != answer.judge and not reason:
        raise InputError(
            f"event {seq} is an answer of {shown(answer.judge)}: retracting another judge's answer needs a reason"
        )
    assignment_id = _assignment_of(connection, campaign_id, answer)
    lock_log(connection, campaign_id)
    by = events(connection, campaign_id, event.c.supersedes == seq)
    if by:
        raise StateError(f"event {seq} is not valid any more: event {by[0].seq} replaced it")
    connection.execute(update(assignment).where(assignment.c.id == assignment_id).values(FREED))
    names = ("query_id", "doc_id", "unit", "k")
    item = {name: getattr(answer, name) for name in names}
    body = {"what": what} if what else {}
    taken_back = Event(seq=0, kind="retracted", at=at, judge=judge, reason=reason, supersedes=seq, body=body, **item)
    return _acknowledged(connection, campaign_id, taken_back)


def reopen(connection: Connection, request: Claim, seq: int) -> ItemClaim:
    """Retract a query's completed comparisons and give the query to the same judge again.

    The pairs compared so far are kept. The judge and the judge's current item must be locked; the current item becomes
    free.

    Parameters
    ----------
    request : Claim
        The judge's request.
    seq : int
        Event that completed the query.

    Raises
    ------
    StateError
        If the event is not a valid answer.
    """
    retract(connection, request.campaign_id, seq, request.judge, "", request.now, REOPENED)
    held = _assignment_of(connection, request.campaign_id, _answer_of(connection, request.campaign_id, seq))
    return hand_over(connection, request, held)


def _answer_of(connection: Connection, campaign_id: int, seq: int) -> Event:
    """Look up the answer with an event number; raise StateError if this event is not an answer."""
    check_whole("seq", seq, 2**62)
    matching = events(connection, campaign_id, event.c.seq == seq)
    if not matching or matching[0].kind not in ANSWERS:
        kind = matching[0].kind if matching else "not there"
        raise StateError(f"event {seq} is {kind}: only judged and cannot can be retracted")
    return matching[0]


def _repeated(stored: Event, item: Event, answer: KeyedAnswer) -> Acknowledged:
    """Acknowledge an answer sent again under its key; raise StateError if its content differs from the stored one.

    Parameters
    ----------
    stored : Event
        The event with this key.
    item : Event
        Event in which the item was shown.
    """
    is_of_item = (stored.query_id, stored.doc_id, stored.judge) == (item.query_id, item.doc_id, item.judge)
    if not is_of_item or not says_the_same(stored, answer.judgment):
        has_key = not answer.key.startswith("token:")  # else the key was derived from the token
        place = f"the key {shown(answer.key)} is that of" if has_key else "the token was answered by"
        raise StateError(f"{place} event {stored.seq}, which is a different answer")
    return Acknowledged(event=stored, is_repeated=True)


def _acknowledged(connection: Connection, campaign_id: int, *happened: Event) -> Acknowledged:
    """Append events and return the acknowledgment of the first."""
    return Acknowledged(event=append(connection, campaign_id, happened)[0])


def _why_late(connection: Connection, campaign_id: int, claimed: Event) -> str:
    """Find the reason why an answer to a claim is late, from the first event on the item after the claim.

    The item was answered or deferred by this judge before, claimed again by this judge, or went to another judge.
    """
    kinds = ("shown", "checked_out", "deferred", *ANSWERS)
    of_item = (event.c.unit == claimed.unit, event.c.doc_id == claimed.doc_id, event.c.k == claimed.k)
    after = events(connection, campaign_id, *of_item, event.c.seq > claimed.seq, event.c.kind.in_(kinds))
    if not after or (after[0].judge == claimed.judge and after[0].kind not in ("shown", "checked_out")):
        return ANSWERED
    return RECLAIMED if after[0].judge == claimed.judge else GONE


def _assignment_of(connection: Connection, campaign_id: int, answer: Event) -> int:
    """Lock the assignment (one of the judgments that an item needs) of an answer, and return its id."""
    place = tables.place
    of_item = (place.c.campaign_id == campaign_id, place.c.unit == answer.unit, place.c.doc_id == answer.doc_id)
    position = select(place.c.position).where(*of_item).scalar_subquery()
    its = (assignment.c.campaign_id == campaign_id, assignment.c.unit == answer.unit, assignment.c.k == answer.k)
    chosen = select(assignment.c.id).where(*its, assignment.c.position == position)
    return int(connection.execute(chosen.with_for_update()).scalar_one())
