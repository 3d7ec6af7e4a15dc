"""Limit password attempts, counted by account and by address before any password is checked.

The first five failures are free; after that each is followed by a wait that doubles. An attempt is counted as failed
first and refunded on success, so that concurrent attempts gain nothing over sequential ones. The typed account name is
stored as a digest, because it may be a password typed into the wrong field. Unknown accounts are counted alike.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, and_, delete, or_, select, update

from activeeval.campaigns.store import tables
from activeeval.campaigns.store.claiming import hashed
from activeeval.campaigns.store.samples import insert_missing
from activeeval.core.judgments.state import MICROSECONDS

N_FREE = 5
"""Failed attempts after which the next one must wait."""
FIRST_WAIT_S, LONGEST_WAIT_S = 30, 3600
FORGOTTEN_S = 86_400
"""Seconds after the last failed attempt until the count restarts."""
KINDS = ("account", "address")
_table = tables.sign_in_try


def wait_after(n_failed: int) -> int:
    """Compute the seconds to wait after a number of failed attempts.

    Examples
    --------
    >>> [wait_after(n) for n in (4, 5, 6, 7, 50)]
    [0, 30, 60, 120, 3600]
    """
    return 0 if n_failed < N_FREE else min(LONGEST_WAIT_S, FIRST_WAIT_S << min(n_failed - N_FREE, 20))


def take(connection: Connection, campaign_id: int, now: int, account: str, address: str) -> int:
    """Count an attempt for an account from an address as failed, unless an earlier failure still requires a wait.

    Parameters
    ----------
    campaign_id : int
        Id of the campaign.
    now : int
        Time in UTC microseconds.
    account, address : str
        Account name as typed, and network address of the client.

    Returns
    -------
    int
        Seconds to wait before an attempt is allowed; 0 if this one was counted, otherwise nothing is counted.
    """
    long_ago = now - FORGOTTEN_S * MICROSECONDS  # counters without a failure since then restart
    connection.execute(delete(_table).where(_table.c.campaign_id == campaign_id, _table.c.last_at < long_ago))
    digests = dict(zip(KINDS, map(hashed, (account, address)), strict=True))
    for kind, digest in digests.items():
        new = {"campaign_id": campaign_id, "kind": kind, "digest": digest}
        new |= {"n_failed": 0, "last_at": now, "waits_until": 0}
        insert_missing(connection, _table, [new], "digest")
    of_both = and_(_table.c.campaign_id == campaign_id, or_(*(_is(kind, digests[kind]) for kind in KINDS)))
    # the two counters, locked: concurrent attempts of this account or address wait here
    rows = list(connection.execute(select(_table).where(of_both).order_by(_table.c.kind).with_for_update()))
    wait = max(int(row.waits_until) for row in rows) - now
    if wait > 0:
        return -(-wait // MICROSECONDS)  # rounded up to seconds
    for row in rows:
        waits_until = now + wait_after(row.n_failed + 1) * MICROSECONDS
        values = {"n_failed": row.n_failed + 1, "last_at": now, "waits_until": waits_until}
        connection.execute(update(_table).where(of_both, _is(row.kind, row.digest)).values(values))
    return 0


def give_back(connection: Connection, campaign_id: int, account: str, address: str) -> None:
    """Clear the failed attempts of an account after a sign-in, and refund the last one of its address.

    ``campaign_id`` is the id of the campaign.
    """
    of_account = (_table.c.campaign_id == campaign_id, _is("account", hashed(account)))
    connection.execute(delete(_table).where(*of_account))
    of_address = (_table.c.campaign_id == campaign_id, _is("address", hashed(address)))
    values = {"n_failed": _table.c.n_failed - 1, "waits_until": 0}
    connection.execute(update(_table).where(*of_address, _table.c.n_failed > 0).values(values))


def _is(kind: str, digest: str) -> ColumnElement[bool]:
    """Build the condition that selects the counter of an account or an address (``kind``) by the digest of its name."""
    return and_(_table.c.kind == kind, _table.c.digest == digest)
