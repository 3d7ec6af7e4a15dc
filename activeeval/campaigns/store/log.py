"""Event log of a campaign: each event has a digest of itself and of the previous event's digest.

The first event follows the digest of the campaign's set-up, so that the last digest identifies the complete log.
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
# one shared encoder: creating one for each event takes as long as encoding it, and each read encodes all events
_ENCODED = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
# statements that every answer runs are built once, because building one takes longer than running it
_OF_CAMPAIGN: Any = bindparam("of_campaign")
_OF_LOG = tables.event.c.campaign_id == _OF_CAMPAIGN
_WITH_KEY = select(*_COLUMNS).where(_OF_LOG, tables.event.c.key == bindparam("of_key"))
_LAST = tables.event.c.seq.desc()
_TAIL = select(tables.event.c.seq, tables.event.c.digest).where(_OF_LOG).order_by(_LAST).limit(1)
_LOCKED = select(tables.campaign.c.id).where(tables.campaign.c.id == _OF_CAMPAIGN).with_for_update(key_share=True)
_SETUP = ("name", "config", "judges_per_item", "lease_s", "max_grade", "created_at")
MOST_OF_A_NAME, MOST_OF_A_REASON = 200, 10_000
"""Maximum bytes of a judge's name or a key, which are indexed, and of a reason, which each read of the log loads."""
LARGEST = 2**31 - 1
"""Largest number of a four-byte integer in PostgreSQL."""


def canonical(value: Any) -> str:
    """Encode a value as canonical JSON: equal values give equal texts.

    Raises InputError if the value cannot be encoded.

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
    """Compute the 128-bit BLAKE2b digest of a text, in hexadecimal."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def check_text(name: str, value: object, *, may_be_empty: bool = True, most: int | None = None) -> None:
    """Raise InputError if a value is not text that both databases can store, or is too long.

    ``name`` names the value in messages; ``most`` is the maximum number of bytes, None for any.
    """
    if not isinstance(value, str):
        raise InputError(f"{name} must be text, got {value!r}")
    if not value and not may_be_empty:
        raise InputError(f"{name} must not be empty")
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise InputError(f"{name} has a character that cannot be stored: {shown(value)}")
    if most is not None and len(value.encode()) > most:
        raise InputError(f"{name} may have at most {most:,} bytes, got {len(value.encode()):,}: {shown(value)}")


def checked_judge(judge: str) -> str:
    """Normalize a judge's name for storage; raise InputError if it is not valid."""
    check_text("judge", judge, may_be_empty=False)
    name = judge_name(judge)
    check_text("judge", name, may_be_empty=False, most=MOST_OF_A_NAME)
    return name


def check_whole(name: str, value: object, largest: int = LARGEST, least: int = 0) -> None:
    """Raise InputError if a value is not a whole number from ``least`` to ``largest``.

    ``name`` names it in messages.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= largest:
        raise InputError(f"{name} must be a whole number from {least} to {largest}, got {value!r}")


def chained(event: Event, before: str) -> str:
    """Compute the digest of an event from its content and ``before``, the digest of the preceding event.

    The content is canonical JSON of all fields but the digest, sorted by name.
    """
    return digest_of(before + _TEMPLATE % tuple(map(_json, _CHAINED_VALUES(event))))


def _json(value: Any) -> str:
    """Encode an event's field as canonical JSON; integers, strings and empty mappings bypass the encoder for speed."""
    if value is None:
        return "null"
    if type(value) is int:
        return str(value)
    return encode_basestring(value) if type(value) is str else canonical(value) if value else "{}"


def breaks_of(log: Sequence[Event], start: str, after: int = 0) -> Iterator[str]:
    """Yield a message for each event that is missing or was altered, by checking the chain of digests.

    Parameters
    ----------
    start : str
        The digest of event ``after``, or the log's `genesis` for 0.
    after : int
        Number of the event before ``log``; 0 if the log is complete.
    """
    before, seq = start, after
    for event in log:
        if event.seq != seq + 1:
            yield f"event {seq + 1} is missing: after {seq} comes {event.seq}"
        elif event.digest != chained(event, before):
            what = "event 1 or the campaign's set-up" if seq == 0 else f"event {event.seq}"
            yield f"{what} was altered: its digest does not match"
        before, seq = event.digest, event.seq


def append(connection: Connection, campaign_id: int, events: Iterable[Event]) -> list[Event]:
    """Append events to a log, which the caller must have locked (`lock_log`).

    Return them as stored, with numbers and digests.
    """
    seq, digest = tail(connection, campaign_id)
    stored = []
    for event in events:
        seq += 1
        # the body as it will be read from the database, where it is JSON
        event = replace(event, seq=seq, body=json.loads(canonical(dict(event.body))))
        digest = chained(event, digest)
        stored.append(replace(event, digest=digest))
    if stored:
        connection.execute(insert(tables.event), [_record(campaign_id, event) for event in stored])
    return stored


def lock_log(connection: Connection, campaign_id: int) -> None:
    """Lock the log against other writers until the commit, so that event numbers have no gaps.

    The holder of this lock waits for no other lock: assignments (needed judgments) and judges' rows are locked before
    it, or skipped if locked.
    """
    # SQLite has a single writer anyway; SQLAlchemy omits FOR UPDATE there
    connection.execute(_LOCKED, {"of_campaign": campaign_id})


def tail(connection: Connection, campaign_id: int) -> tuple[int, str]:
    """Read number and digest of the last event; for an empty log 0 and the digest of the campaign's set-up."""
    row = connection.execute(_TAIL, {"of_campaign": campaign_id}).first()
    return (row[0], row[1]) if row else (0, genesis(connection, campaign_id))


def genesis(connection: Connection, campaign_id: int) -> str:
    """Compute the start of the digest chain: the digest of the campaign's set-up."""
    row = connection.execute(select(tables.campaign).where(tables.campaign.c.id == campaign_id)).one()
    # columns added later count only if set, so that earlier digests remain valid
    setup = {name: getattr(row, name) for name in _SETUP}
    setup |= {name: True for name in ("strict_order", "adjudicate") if getattr(row, name)}
    return digest_of(canonical(setup))


def events(connection: Connection, campaign_id: int, *conditions: Any) -> list[Event]:
    """Read the events of a campaign that meet all SQL conditions, in order."""
    chosen = select(*_COLUMNS).where(tables.event.c.campaign_id == campaign_id, *conditions)
    return [_event(row) for row in connection.execute(chosen.order_by(tables.event.c.seq)).fetchall()]


def digest_at(connection: Connection, campaign_id: int, seq: int) -> str | None:
    """Read the digest of an event; None if there is no event of this number."""
    table = tables.event
    chosen = select(table.c.digest).where(table.c.campaign_id == campaign_id, table.c.seq == seq)
    return connection.execute(chosen).scalar()


def with_key(connection: Connection, campaign_id: int, key: str) -> Event | None:
    """Read the event with an idempotency key; None if there is none."""
    row = connection.execute(_WITH_KEY, {"of_campaign": campaign_id, "of_key": key}).first()
    return None if row is None else _event(row)


def parsed(text: str, what: str) -> Any:
    """Parse stored JSON; raise StateError naming ``what`` if it is damaged."""
    try:
        return json.loads(text)
    except ValueError:
        raise StateError(f"{what} is damaged: {shown(text)} is no JSON") from None


def _event(row: Row[Any]) -> Event:
    """Convert a database row (the event's fields in order, the body as JSON) to an event."""
    values = dict(zip(_FIELDS, row, strict=True))
    values["body"] = {} if values["body"] == "{}" else parsed(values["body"], f"event {values['seq']}")
    return Event(**values)


def _record(campaign_id: int, event: Event) -> dict[str, int | str | None]:
    """Convert an event to a row of the table of events: its fields by name, the body as JSON, and the campaign's id."""
    values = {name: getattr(event, name) for name in _FIELDS}
    return {**values, "campaign_id": campaign_id, "body": canonical(dict(event.body))}


def chunks(values: Sequence[Any], size: int = 500) -> Iterable[Sequence[Any]]:
    """Split values into slices of at most ``size`` values, which fit into one SQL statement."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
