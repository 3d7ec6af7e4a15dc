"""Sign-ins that were started here and are finished at another site: each is good once, and for ten minutes."""

from __future__ import annotations

import secrets

from sqlalchemy import Connection, delete, func, insert, select

from activeeval.campaigns.store import tables
from activeeval.campaigns.store.claiming import hashed
from activeeval.core.judgments.state import MICROSECONDS

LASTS_S = 600
"""How long somebody may take at the other site."""
MOST = 10_000
"""Open at a time: anybody may start one, and what nobody finishes must not fill the disk."""
_table = tables.sign_in_start


def start(connection: Connection, number: int, now: int) -> str | None:
    """Return the secret of a new sign-in; None where too many are open."""
    is_here = _table.c.campaign_id == number
    connection.execute(delete(_table).where(is_here, _table.c.expires_at <= now))
    if (connection.execute(select(func.count()).where(is_here)).scalar() or 0) >= MOST:
        return None
    secret = secrets.token_urlsafe(32)
    new = {"campaign_id": number, "digest": hashed(secret), "expires_at": now + LASTS_S * MICROSECONDS}
    connection.execute(insert(_table).values(new))
    return secret


def end(connection: Connection, number: int, secret: str, now: int) -> bool:
    """Take a sign-in away; whether it was there and its time was not over."""
    is_it = (_table.c.campaign_id == number, _table.c.digest == hashed(secret), _table.c.expires_at > now)
    return connection.execute(delete(_table).where(*is_it).returning(_table.c.digest)).first() is not None
