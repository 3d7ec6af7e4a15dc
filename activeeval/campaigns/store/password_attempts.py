"""Tries of passwords, counted by account and by address before anybody looks at a password.

Five failed ones are free; from then on each is followed by a wait, twice as long as the one before. A try is taken as a
failed one first and given back where it was none: so many at once are no more than one after another. What was typed
is kept as a digest, as it may be a password in the wrong field; an account that nobody has is counted like any other.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, and_, delete, or_, select, update

from activeeval.campaigns.store import tables
from activeeval.campaigns.store.claiming import hashed
from activeeval.campaigns.store.samples import insert_missing
from activeeval.core.judgments.state import MICROSECONDS

N_FREE = 5
"""Failed tries after which the next one has to wait."""
FIRST_WAIT_S, LONGEST_WAIT_S = 30, 3600
FORGOTTEN_S = 86_400
"""A day after the last failed try all begins anew."""
KINDS = ("account", "address")
_table = tables.sign_in_try


def wait_after(n_failed: int) -> int:
    """Return how many seconds the next try waits after so many failed ones.

    Examples
    --------
    >>> [wait_after(n) for n in (4, 5, 6, 7, 50)]
    [0, 30, 60, 120, 3600]
    """
    return 0 if n_failed < N_FREE else min(LONGEST_WAIT_S, FIRST_WAIT_S << min(n_failed - N_FREE, 20))


def take(connection: Connection, number: int, now: int, account: str, address: str) -> int:
    """Take a try of an account from an address, as a failed one.

    Returns
    -------
    int
        Seconds that have to pass before there is one: 0 where it was taken, and nothing is taken otherwise.
    """
    long_ago = now - FORGOTTEN_S * MICROSECONDS
    connection.execute(delete(_table).where(_table.c.campaign_id == number, _table.c.last_at < long_ago))
    digests = dict(zip(KINDS, map(hashed, (account, address)), strict=True))
    for kind, digest in digests.items():
        new = {"campaign_id": number, "kind": kind, "digest": digest, "n_failed": 0, "last_at": now, "waits_until": 0}
        insert_missing(connection, _table, [new], "digest")
    of_both = and_(_table.c.campaign_id == number, or_(*(_is(kind, digests[kind]) for kind in KINDS)))
    rows = list(connection.execute(select(_table).where(of_both).order_by(_table.c.kind).with_for_update()))
    wait = max(int(row.waits_until) for row in rows) - now
    if wait > 0:
        return -(-wait // MICROSECONDS)
    for row in rows:
        waits_until = now + wait_after(row.n_failed + 1) * MICROSECONDS
        values = {"n_failed": row.n_failed + 1, "last_at": now, "waits_until": waits_until}
        connection.execute(update(_table).where(of_both, _is(row.kind, row.digest)).values(values))
    return 0


def give_back(connection: Connection, number: int, account: str, address: str) -> None:
    """Forget the failed tries of an account that was signed in to, and the last one of its address."""
    of_account = (_table.c.campaign_id == number, _is("account", hashed(account)))
    connection.execute(delete(_table).where(*of_account))
    of_address = (_table.c.campaign_id == number, _is("address", hashed(address)))
    values = {"n_failed": _table.c.n_failed - 1, "waits_until": 0}
    connection.execute(update(_table).where(*of_address, _table.c.n_failed > 0).values(values))


def _is(kind: str, digest: str) -> ColumnElement[bool]:
    return and_(_table.c.kind == kind, _table.c.digest == digest)
