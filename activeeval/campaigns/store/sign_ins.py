"""Sign-ins that start here and finish at another site: each is valid once and for ten minutes."""

from __future__ import annotations

import secrets

from sqlalchemy import Connection, delete, func, insert, select

from activeeval.campaigns.store import tables
from activeeval.campaigns.store.claiming import hashed
from activeeval.core.judgments.state import MICROSECONDS

LASTS_S = 600
"""Seconds allowed at the other site."""
MOST = 10_000
"""Maximum number of open sign-ins: anyone may start one, and unfinished ones must not fill the disk."""
_table = tables.sign_in_start


def start(connection: Connection, campaign_id: int, now: int) -> str | None:
    """Create a sign-in for a campaign; return its secret, or None if too many are open.

    ``now`` is the time in UTC microseconds.
    """
    is_here = _table.c.campaign_id == campaign_id
    connection.execute(delete(_table).where(is_here, _table.c.expires_at <= now))
    if (connection.execute(select(func.count()).where(is_here)).scalar() or 0) >= MOST:
        return None
    secret = secrets.token_urlsafe(32)
    new = {"campaign_id": campaign_id, "digest": hashed(secret), "expires_at": now + LASTS_S * MICROSECONDS}
    connection.execute(insert(_table).values(new))
    return secret


def end(connection: Connection, campaign_id: int, secret: str, now: int) -> bool:
    """Delete the sign-in with this secret.

    Return True if it existed and had not expired at ``now`` (UTC microseconds).
    """
    is_it = (_table.c.campaign_id == campaign_id, _table.c.digest == hashed(secret), _table.c.expires_at > now)
    return connection.execute(delete(_table).where(*is_it).returning(_table.c.digest)).first() is not None
