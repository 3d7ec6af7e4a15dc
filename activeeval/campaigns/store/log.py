"""The log of a campaign: events in a row, each with a digest over itself and the digest of the one before.

The first follows the digest of the campaign's set-up, so that the last digest stands for all that was ever written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from json.encoder import encode_basestring
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select
from sqlalchemy.engine import Row

from activeeval.campaigns.store import tables
from activeeval.core.errors import InputError, StateError, shown
from activeeval.core.judgments.judge_names import judge_name
from activeeval.core.judgments.log import Event

_FIELDS = tuple(f.name for f in fields(Event))
_CHAINED = tuple(sorted(set(_FIELDS) - {"digest"}))
_CHAINED_VALUES = attrgetter(*_CHAINED)
_TEMPLATE = "{" + ",".join(f'"{name}":%s' for name in _CHAINED) + "}"
_COLUMNS = [tables.event.c[name] for name in _FIELDS]
# an encoder for each event takes as long as encoding it; every reading goes over all of them
_ENCODED = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
# what every answer asks is built once: building a statement takes longer than running it
_OF_CAMPAIGN: Any = bindparam("of_campaign")
_OF_LOG = tables.event.c.campaign_id == _OF_CAMPAIGN
_WITH_KEY = select(*_COLUMNS).where(_OF_LOG, tables.event.c.key == bindparam("of_key"))
_LAST = tables.event.c.seq.desc()
_TAIL = select(tables.event.c.seq, tables.event.c.digest).where(_OF_LOG).order_by(_LAST).limit(1)
_LOCKED = select(tables.campaign.c.id).where(tables.campaign.c.id == _OF_CAMPAIGN).with_for_update(key_share=True)
_SETUP = ("name", "config", "judges_per_item", "lease_s", "max_grade", "created_at")
MOST_OF_A_NAME, MOST_OF_A_REASON = 200, 10_000
"""Bytes of a judge's name and of a key, which are looked up by indices, and of a reason, which every reading reads."""
LARGEST = 2**31 - 1
"""Of a number that PostgreSQL keeps in four bytes."""


def canonical(value: Any) -> str:
    """Return a value as JSON in which equal values are equal texts.

    Examples
    --------
    >>> canonical({"b": 1, "a": [0.5, "é"]})
    '{"a":[0.5,"é"],"b":1}'
    """
    try:
        text = _ENCODED(value)
        text.encode()
    except (TypeError, ValueError) as error:
        raise InputError(f"what is stored must be plain JSON: {error}") from None
    return text


def digest_of(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def check_text(name: str, value: object, *, may_be_empty: bool = True, most: int | None = None) -> None:
    """Raise InputError where a value is no text that both databases can keep, or has more than ``most`` bytes."""
    if not isinstance(value, str):
        raise InputError(f"{name} must be text, got {value!r}")
    if not value and not may_be_empty:
        raise InputError(f"{name} must not be empty")
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise InputError(f"{name} has a letter that cannot be stored: {shown(value)}")
    if most is not None and len(value.encode()) > most:
        raise InputError(f"{name} may have {most:,} bytes, got {len(value.encode()):,}: {shown(value)}")


def checked_judge(judge: str) -> str:
    """Return a judge's name as it is kept; InputError where it cannot be."""
    check_text("judge", judge, may_be_empty=False)
    name = judge_name(judge)
    check_text("judge", name, may_be_empty=False, most=MOST_OF_A_NAME)
    return name


def check_whole(name: str, value: object, largest: int = LARGEST, least: int = 0) -> None:
    """Raise InputError where a value is no whole number of a range."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= largest:
        raise InputError(f"{name} must be a whole number from {least} to {largest}, got {value!r}")


def chained(event: Event, before: str) -> str:
    """Return the digest of an event that follows one with the digest ``before``."""
    return digest_of(before + _TEMPLATE % tuple(map(_json, _CHAINED_VALUES(event))))


def _json(value: Any) -> str:
    """Return a value as `canonical` does, numbers and texts without the way round by an encoder."""
    if value is None:
        return "null"
    if type(value) is int:
        return str(value)
    return encode_basestring(value) if type(value) is str else canonical(value) if value else "{}"


def breaks_of(log: Sequence[Event], start: str, after: int = 0) -> Iterator[str]:
    """Yield where a log is not what was written, from the event that follows event ``after`` on.

    Parameters
    ----------
    start : str
        The digest of that event, or the log's `genesis`.
    """
    before, seq = start, after
    for event in log:
        if event.seq != seq + 1:
            yield f"event {seq + 1} is missing: after {seq} comes {event.seq}"
        elif event.digest != chained(event, before):
            what = "event 1 or the campaign's set-up" if seq == 0 else f"event {event.seq}"
            yield f"{what} is not what was written: its digest does not fit"
        before, seq = event.digest, event.seq


def append(connection: Connection, campaign_id: int, events: Iterable[Event]) -> list[Event]:
    """Put events at the end of a log, which is the caller's until the commit; return them as they are stored."""
    seq, digest = tail(connection, campaign_id)
    stored = []
    for event in events:
        seq += 1
        event = replace(event, seq=seq, body=json.loads(canonical(dict(event.body))))
        digest = chained(event, digest)
        stored.append(replace(event, digest=digest))
    if stored:
        connection.execute(insert(tables.event), [_record(campaign_id, event) for event in stored])
    return stored


def lock_log(connection: Connection, campaign_id: int) -> None:
    """Let nobody else append until the commit: a number given is a number kept.

    Whoever holds this waits for no other lock: assignments and judges are locked before, or passed over where they are.
    """
    # SQLite has a single writer anyway, and its SELECT knows no FOR UPDATE
    connection.execute(_LOCKED, {"of_campaign": campaign_id})


def tail(connection: Connection, campaign_id: int) -> tuple[int, str]:
    """Return number and digest of the last event; of an empty log 0 and the digest of the campaign's set-up."""
    row = connection.execute(_TAIL, {"of_campaign": campaign_id}).first()
    return (row[0], row[1]) if row else (0, genesis(connection, campaign_id))


def genesis(connection: Connection, campaign_id: int) -> str:
    """Return what the chain starts with: the digest of the campaign as it was set up."""
    row = connection.execute(select(tables.campaign).where(tables.campaign.c.id == campaign_id)).one()
    # a column that is added later counts where it is set, so that the digests of before stay what they are
    setup = {name: getattr(row, name) for name in _SETUP}
    setup |= {name: True for name in ("strict_order", "adjudicate") if getattr(row, name)}
    return digest_of(canonical(setup))


def events(connection: Connection, campaign_id: int, *conditions: Any) -> list[Event]:
    """Return the events of a campaign for which all conditions hold, in their order."""
    chosen = select(*_COLUMNS).where(tables.event.c.campaign_id == campaign_id, *conditions)
    return [_event(row) for row in connection.execute(chosen.order_by(tables.event.c.seq)).fetchall()]


def digest_at(connection: Connection, campaign_id: int, seq: int) -> str | None:
    """Return the digest of an event; None where there is none of that number."""
    table = tables.event
    chosen = select(table.c.digest).where(table.c.campaign_id == campaign_id, table.c.seq == seq)
    return connection.execute(chosen).scalar()


def with_key(connection: Connection, campaign_id: int, key: str) -> Event | None:
    row = connection.execute(_WITH_KEY, {"of_campaign": campaign_id, "of_key": key}).first()
    return None if row is None else _event(row)


def parsed(text: str, what: str) -> Any:
    """Return what a stored text says; what the store has not written itself is named."""
    try:
        return json.loads(text)
    except ValueError:
        raise StateError(f"{what} is damaged: {shown(text)} is no JSON") from None


def _event(row: Row[Any]) -> Event:
    values = dict(zip(_FIELDS, row, strict=True))
    values["body"] = {} if values["body"] == "{}" else parsed(values["body"], f"event {values['seq']}")
    return Event(**values)


def _record(campaign_id: int, event: Event) -> dict[str, int | str | None]:
    """Return an event as a row of its table."""
    values = {name: getattr(event, name) for name in _FIELDS}
    return {**values, "campaign_id": campaign_id, "body": canonical(dict(event.body))}


def chunks(values: Sequence[Any], size: int = 500) -> Iterable[Sequence[Any]]:
    """Yield pieces that fit into one statement."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
