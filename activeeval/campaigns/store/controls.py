"""Store control items: items with an expected answer, shown to a judge among the others; they never count as judgments.

A control is shown under a token and answered with it, as any item is. It has no assignment.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, select

from activeeval.campaigns.store import answering, tables
from activeeval.campaigns.store.answering import ANSWERED, judgment_event, late_event
from activeeval.campaigns.store.claiming import hashed
from activeeval.campaigns.store.log import append, canonical, digest_of, events, lock_log, parsed, with_key
from activeeval.campaigns.store.rows import Acknowledged, ItemTexts, JudgeAnswer
from activeeval.campaigns.store.samples import insert_missing
from activeeval.core.errors import StateError
from activeeval.core.judgments.log import CONTROLS, Event

_TEXTS = "document"
_PAIR = ("preferred", "strength")


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A control to show to a judge: an item with an expected answer, mixed among the others to check the judge.

    Attributes
    ----------
    judge : str
    item : str
        Key of the control for its judge: each is shown once, unless the judge defers it.
    what : {"known", "repeated", "swapped"}
        An item with a known grade, an item that the judge has graded before, or a pair that the judge has compared
        before.
    expected : int, str or None
        The known grade, or the judge's earlier grade. For a pair shown again with sides swapped: the document preferred
        before, None for a tie.
    query_id, doc_id : str
    unit : int or None
        Unit of an item that was drawn; None if its texts are ``texts``.
    block : int
        Block (part of the sample) among whose items it is shown; if deferred, it returns with the deferred items of
        this block.
    supersedes : int or None
        Event of the answer that showing the control again retracts.
    sides : tuple of str
        For a pair: the left and the right document.
    texts : ItemTexts
        Texts of an item that was not drawn.
    """

    judge: str
    item: str
    what: str
    expected: int | str | None
    query_id: str
    doc_id: str
    unit: int | None = None
    block: int = 0
    supersedes: int | None = None
    sides: tuple[str, ...] = ()
    texts: ItemTexts = field(default_factory=lambda: ItemTexts(query_text="", text={}))


def pose(connection: Connection, campaign_id: int, control: Control, at: int) -> tuple[str, Event]:
    """Show a control (item with an expected answer) to a judge; return the token for the answer, and the event.

    ``at`` is the time in UTC microseconds.
    """
    token = secrets.token_urlsafe(16)
    body: dict[str, Any] = {"item": control.item, "what": control.what, "expected": control.expected}
    body |= {"block": control.block} if control.block else {}
    body |= {"sides": list(control.sides)} if control.sides else {}
    if control.unit is None:  # an item that was not drawn: its texts are stored with the control
        content = canonical({"query": control.texts.query_text, "text": dict(control.texts.text)})
        body[_TEXTS] = digest_of(content)
        insert_missing(connection, tables.document, [{"digest": body[_TEXTS], "content": content}], "digest")
    lock_log(connection, campaign_id)
    new = Event(
        seq=0,
        kind="control_shown",
        at=at,
        judge=control.judge,
        query_id=control.query_id,
        doc_id=control.doc_id,
        unit=control.unit,
        body=body,
        shown_at=at,
        supersedes=control.supersedes,
        key="shown:" + hashed(token),
    )
    return token, append(connection, campaign_id, [new])[0]


def check(connection: Connection, campaign_id: int, posed: Event, judgment: JudgeAnswer, at: int) -> Acknowledged:
    """Store a judge's answer to a control (an item with an expected answer).

    It is stored as ``late`` if another display of this control was answered before.

    Parameters
    ----------
    posed : Event
        Event in which the control was shown.
    at : int
        Time in UTC microseconds.

    Raises
    ------
    StateError
        If a different answer to this display is stored.
    """
    lock_log(connection, campaign_id)
    key = "token:" + (posed.key or "").removeprefix("shown:")  # of the answer: both keys have the token's digest
    stored = with_key(connection, campaign_id, key)
    if stored is not None:
        if not says_the_same(stored, judgment):
            raise StateError(f"the token was answered by event {stored.seq}, which is a different answer")
        return Acknowledged(event=stored, is_repeated=True)
    if _last_of(connection, campaign_id, posed).kind == "control_shown":
        new = answer_event(posed, judgment, at, key)
    else:
        new = late_event(posed, judgment, at, key, ANSWERED)
        new = replace(new, body={**new.body, "item": posed.body["item"]})  # the control's key, as in its other events
    return Acknowledged(event=append(connection, campaign_id, [new])[0])


def renew(connection: Connection, campaign_id: int, posed: Event, at: int) -> bool:
    """Restart the lease of a control (an item that checks the judge) while its judge works on it.

    The log must be locked. Return False if the control was answered or shown again since event ``posed``.

    ``at`` is the time in UTC microseconds.
    """
    if _last_of(connection, campaign_id, posed).seq != posed.seq:
        return False
    of_item = {name: getattr(posed, name) for name in ("judge", "query_id", "doc_id", "unit")}
    new = Event(seq=0, kind="renewed", at=at, body={"item": posed.body["item"]}, **of_item)
    append(connection, campaign_id, [new])
    return True


def _last_of(connection: Connection, campaign_id: int, posed: Event) -> Event:
    """Find the latest event in which the same control (item that checks the judge) was shown, answered or deferred.

    ``posed`` is one such event; its body has the control's key ("item").
    """
    event = tables.event
    since = (event.c.judge == posed.judge, event.c.kind.in_(CONTROLS), event.c.seq >= posed.seq)
    later_events = events(connection, campaign_id, *since)
    return [later for later in later_events if later.body["item"] == posed.body["item"]][-1]


def says_the_same(stored: Event, judgment: JudgeAnswer) -> bool:
    """Check whether a stored event has the content of an answer to a control (an item that checks the judge).

    Compared are grade, reason, deferral (stored as ``passed`` or ``deferred``), and of a pair the preferred document
    and the strength of the preference; times and remarks are ignored.
    """
    if stored.kind in ("late", "preferred"):
        return answering.says_the_same(stored, judgment)
    content = (stored.grade, stored.reason, stored.kind in ("passed", "deferred"), *map(stored.body.get, _PAIR))
    return content == (judgment.grade, judgment.reason, judgment.kind == "deferred", *map(judgment.body.get, _PAIR))


def answer_event(item: Event, judgment: JudgeAnswer, at: int, key: str | None, supersedes: int | None = None) -> Event:
    """Build the event of an answer to a control (an item that checks the judge).

    Its kind is ``checked``, or ``passed`` if the control is deferred.

    Parameters
    ----------
    item : Event
        An event of the control, from which its data are copied.
    at : int
        Time in UTC microseconds.
    key : str or None
        Idempotency key.
    supersedes : int, optional
        Number of the event that the answer replaces.
    """
    names = ("item", "what", "expected", "block", "sides", _TEXTS)
    control = {name: item.body[name] for name in names if name in item.body}
    event = judgment_event(item, judgment, at, key, supersedes)
    return replace(
        event, kind="passed" if judgment.kind == "deferred" else "checked", body={**judgment.body, **control}
    )


def texts_in(connection: Connection, body: Mapping[str, Any]) -> ItemTexts | None:
    """Read the texts of a control (an item that checks the judge) that were stored with it.

    Return None for an item that was drawn, whose texts are elsewhere. ``body`` is that of the control's event.
    """
    if _TEXTS not in body:
        return None
    document = tables.document
    of_digest = document.c.digest == str(body[_TEXTS])
    content = connection.execute(select(document.c.content).where(of_digest)).scalar_one()
    stored = parsed(content, "the text of a control")
    return ItemTexts(query_text=str(stored["query"]), text=stored["text"])
