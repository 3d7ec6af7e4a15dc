"""Access to a campaign: invites, sessions, tokens, members and passwords of leads.

The store keeps only digests of secrets. A secret has 256 random bits, so that a plain digest is safe. An invite can be
exchanged for a session once. A session ends after inactivity, at its maximum age, or when it is revoked. Of a password
the store keeps the slow hash that the page computes.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, insert, select, update

from activeeval.campaigns.store import password_attempts, sign_ins, tables
from activeeval.campaigns.store.claiming import hashed
from activeeval.campaigns.store.log import checked_judge
from activeeval.campaigns.store.rows import CampaignRow
from activeeval.core.errors import InputError, shown
from activeeval.core.judgments.judge_names import judge_name
from activeeval.core.judgments.state import MICROSECONDS

T = TypeVar("T")
credential = tables.credential

_DECADE_S = 3650 * 86_400
LASTS_S = {
    "invite": 7 * 86_400,
    "session": 30 * 86_400,
    "token": 90 * 86_400,
    "password": _DECADE_S,
    "member": _DECADE_S,
}
"""Maximum age of each kind of credential, in seconds."""
IDLE_S = 12 * 3600
"""Seconds without a request after which a session expires."""
_SECRET = ("invite", "session", "token")
_NOTED_S = 60  # the time of a session's last request is written at most this often, as each write waits for the disk
ROLES = ("judge", "lead")
SCOPES = ("all", "status")
"""Scope of a token: everything that its judge may do, or only reading the campaign's status."""


class Transaction(Protocol):
    """Callable that runs work on one campaign in a transaction."""

    def __call__(self, work: Callable[[Connection, int, CampaignRow], T]) -> T:
        """Run the work with the connection, the campaign's id and its row; return its result after the commit."""


@dataclass(frozen=True, slots=True)
class Person:
    """An authenticated judge or lead (who runs the campaign).

    Attributes
    ----------
    name : str
    role : {"judge", "lead"}
    scope : {"all", "status"}
        All that the role may do, or only reading the campaign's status.
    """

    name: str
    role: str
    scope: str = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordTry:
    """A password attempt, which counts as failed until `Access.sign_in` confirms it.

    Attributes
    ----------
    wait_s : int
        Seconds until the next attempt is allowed; 0 if this one may proceed.
    hash : str or None
        Stored hash of the password; None if the account has none.
    """

    wait_s: int
    hash: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialRow:
    """A credential without its secret; times are UTC microseconds.

    Attributes
    ----------
    kind : {"invite", "session", "token", "password", "member"}
        A member is a judge who signs in through another site.
    is_open : bool
        True if it is valid now.
    """

    id: int
    kind: str
    role: str
    scope: str
    person: str
    created_at: int
    seen_at: int
    is_open: bool


class Access:
    """Credentials of one campaign (invites, sessions, tokens, passwords, memberships): create, check, revoke."""

    def __init__(self, read: Transaction, write: Transaction, now: Callable[[Connection], int]) -> None:
        """Keep callables that run work on the campaign in a transaction, and that read the clock (microseconds)."""
        self._read, self._write, self._now = read, write, now

    def issue(self, kind: str, role: str, person: str, scope: str = "all") -> str:
        """Create an invite, session or token (``kind``) for a person; return its secret.

        A token of scope "status" only reads the status. Raises InputError if kind, role or scope is unknown, or the
        name is not valid.
        """
        if kind not in _SECRET or role not in ROLES:
            raise InputError(f"expected one of {', '.join(_SECRET)} for a judge or a lead, got {kind!r} for {role!r}")
        if scope not in SCOPES:
            raise InputError(f"scope must be one of {', '.join(SCOPES)}, got {shown(scope)}", field="scope")
        owner = Person(checked_judge(person), role, scope)
        return self._write(lambda connection, campaign_id, _: self._add(connection, campaign_id, kind, owner))

    def come_in(self, invite: str, instead_of: str | None = None) -> tuple[str, Person] | None:
        """Exchange an invite (a secret) for a session, once; return the session's secret and the invited person.

        ``instead_of`` is the secret of the browser's previous session, which ends. Return None if the invite is
        unknown, used, revoked or expired.
        """

        def work(connection: Connection, campaign_id: int, _: CampaignRow) -> tuple[str, Person] | None:
            """End the invite and begin the session; None if the invite is not valid."""
            now = self._now(connection)
            used = update(credential).where(*_good("invite", campaign_id, invite, now)).values(ended_at=now)
            row = connection.execute(used.returning(credential.c.person, credential.c.role)).first()
            if row is None:
                return None
            person = Person(row.person, row.role)
            return self._begin(connection, campaign_id, person, instead_of), person

        return self._write(work)

    def start_sign_in(self) -> str | None:
        """Start a sign-in at another site; return its secret, valid once for ten minutes, or None if too many wait."""
        return self._write(
            lambda connection, campaign_id, _: sign_ins.start(connection, campaign_id, self._now(connection))
        )

    def end_sign_in(self, secret: str) -> bool:
        """Consume the secret of a started sign-in; return True if it was valid."""
        return self._write(
            lambda connection, campaign_id, _: sign_ins.end(connection, campaign_id, secret, self._now(connection))
        )

    def let_in(self, person: str) -> None:
        """Allow the judge of this name to sign in through another site, until the membership is revoked."""
        member = Person(checked_judge(person), "judge")

        def work(connection: Connection, campaign_id: int, _: CampaignRow) -> None:
            """Add the membership unless the judge has a valid one."""
            if not self._is_member(connection, campaign_id, member.name):
                self._add(connection, campaign_id, "member", member)

        self._write(work)

    def begin_session(self, person: Person, instead_of: str | None = None, *, of_member: bool = False) -> str | None:
        """Create a session for a person whom another site has authenticated; return its secret, or None.

        Parameters
        ----------
        instead_of : str, optional
            Secret of the browser's previous session, which ends.
        of_member : bool
            True to require that `let_in` has admitted this person; None is returned otherwise.
        """

        def work(connection: Connection, campaign_id: int, _: CampaignRow) -> str | None:
            """Begin the session; None if a membership is required and missing."""
            if of_member and not self._is_member(connection, campaign_id, person.name):
                return None
            return self._begin(connection, campaign_id, person, instead_of)

        return self._write(work)

    def set_password(self, person: str, password_hash: str) -> str:
        """Set a lead's password hash, revoke the old one and all sessions; return the secret of a new session."""
        lead = Person(checked_judge(person), "lead")

        def work(connection: Connection, campaign_id: int, _: CampaignRow) -> str:
            """End the lead's passwords and sessions, store the hash, and return the secret of a new session."""
            now = self._now(connection)
            is_old = credential.c.kind.in_(("password", "session")) & credential.c.ended_at.is_(None)
            _end(connection, now, credential.c.campaign_id == campaign_id, credential.c.person == lead.name, is_old)
            self._insert(connection, campaign_id, "password", lead, password_hash)
            return self._add(connection, campaign_id, "session", lead)

        return self._write(work)

    def password_of(self, person: str) -> str | None:
        """Read the hash of a person's password; None if the person has none."""
        return self._read(lambda connection, campaign_id, _: _password(connection, campaign_id, person))

    def try_password(self, person: str, address: str) -> PasswordTry:
        """Record a password attempt for a name from a network address, as failed until `sign_in` confirms it.

        Attempts for unknown names are counted in the same way. If attempts must wait, this one is not counted.
        """
        name = judge_name(person)

        def work(connection: Connection, campaign_id: int, _: CampaignRow) -> PasswordTry:
            """Count the attempt as failed unless it must wait, and read the stored hash."""
            wait_s = password_attempts.take(connection, campaign_id, self._now(connection), name, address)
            return PasswordTry(wait_s=wait_s, hash=_password(connection, campaign_id, name))

        return self._write(work)

    def sign_in(
        self, person: str, address: str, password_hash: str, instead_of: str | None = None
    ) -> tuple[str, Person] | None:
        """Create a session after a correct password; return the session's secret and the lead.

        ``address`` is the network address of the attempt, ``password_hash`` the hash of the password that was correct,
        ``instead_of`` the secret of the browser's previous session, which ends. Return None if the password was revoked
        or changed meanwhile.
        """
        lead = Person(judge_name(person), "lead")

        def work(connection: Connection, campaign_id: int, _: CampaignRow) -> tuple[str, Person] | None:
            """Refund the attempt and begin the session, if the password is still the one that was checked."""
            now = self._now(connection)
            if _password(connection, campaign_id, lead.name) != password_hash:
                return None
            password_attempts.give_back(connection, campaign_id, lead.name, address)
            connection.execute(update(credential).where(credential.c.digest == password_hash).values(seen_at=now))
            return self._begin(connection, campaign_id, lead, instead_of), lead

        return self._write(work)

    def person_of(self, kind: str, secret: str) -> Person | None:
        """Look up the person of a session, token or invite (``kind``) by its secret; None if it is not valid now."""

        def look(connection: Connection, campaign_id: int, _: CampaignRow) -> tuple[Person | None, bool]:
            """Read the person, and True if the time of this request is to be stored."""
            now = self._now(connection)
            row = connection.execute(select(credential).where(*_good(kind, campaign_id, secret, now))).first()
            if row is None:
                return None, False
            return Person(row.person, row.role, row.scope), now - row.seen_at > _NOTED_S * MICROSECONDS

        person, is_note_due = self._read(look)  # the time of a request is written once a minute: a write is slow
        if is_note_due:
            self._note(kind, secret)
        return person

    def end(self, kind: str, secret: str) -> None:
        """Revoke the credential of this kind with this secret; no effect if it is not valid."""

        def work(connection: Connection, campaign_id: int, _: CampaignRow) -> None:
            """End the valid credential with this secret."""
            now = self._now(connection)
            _end(connection, now, *_good(kind, campaign_id, secret, now))

        self._write(work)

    def end_by_id(self, row_id: int) -> None:
        """Revoke a credential by its id in `rows`, and for a member also the sessions; no effect if it has ended."""

        def work(connection: Connection, campaign_id: int, _: CampaignRow) -> None:
            """End the credential with this id, and the open sessions of a member."""
            now = self._now(connection)
            is_open = (credential.c.campaign_id == campaign_id, credential.c.ended_at.is_(None))
            of_row = (*is_open, credential.c.id == row_id)
            row = connection.execute(select(credential).where(*of_row)).first()
            _end(connection, now, *of_row)
            if row is not None and row.kind == "member":
                of_person = (credential.c.person == row.person, credential.c.role == row.role)
                _end(connection, now, *is_open, *of_person, credential.c.kind == "session")

        self._write(work)

    def rows(self) -> list[CredentialRow]:
        """List all credentials of the campaign, valid or ended, the newest first."""

        def work(connection: Connection, campaign_id: int, _: CampaignRow) -> list[CredentialRow]:
            """Read the credentials without their secrets."""
            now = self._now(connection)
            chosen = select(credential).where(credential.c.campaign_id == campaign_id).order_by(credential.c.id.desc())
            return [_row(row, now) for row in connection.execute(chosen)]

        return self._read(work)

    def _begin(self, connection: Connection, campaign_id: int, person: Person, instead_of: str | None) -> str:
        """Create a session, and end the browser's previous one with secret ``instead_of``; return the new secret."""
        now = self._now(connection)
        if instead_of is not None:
            _end(connection, now, *_good("session", campaign_id, instead_of, now))
        return self._add(connection, campaign_id, "session", person)

    def _is_member(self, connection: Connection, campaign_id: int, person: str) -> bool:
        """Check whether a person has a valid membership, which allows to sign in through another site."""
        is_it = (credential.c.campaign_id == campaign_id, credential.c.kind == "member", credential.c.person == person)
        is_good = (credential.c.ended_at.is_(None), credential.c.expires_at > self._now(connection))
        return connection.execute(select(credential.c.id).where(*is_it, *is_good)).first() is not None

    def _add(self, connection: Connection, campaign_id: int, kind: str, person: Person) -> str:
        """Create a credential of this kind (a key of `LASTS_S`) with a new secret; return the secret."""
        secret = secrets.token_urlsafe(32)
        self._insert(connection, campaign_id, kind, person, hashed(secret))
        return secret

    def _insert(self, connection: Connection, campaign_id: int, kind: str, person: Person, digest: str) -> None:
        """Insert a credential with the digest of its secret (for a password: its slow hash)."""
        now = self._now(connection)
        who = {"role": person.role, "scope": person.scope, "person": person.name}
        times = {"created_at": now, "seen_at": now, "expires_at": now + LASTS_S[kind] * MICROSECONDS}
        values = {"campaign_id": campaign_id, "kind": kind, "digest": digest, **who, **times}
        connection.execute(insert(credential).values(values))

    def _note(self, kind: str, secret: str) -> None:
        """Store the current time as that of the credential's last request."""

        def work(connection: Connection, campaign_id: int, _: CampaignRow) -> None:
            """Set the time of the last request of the valid credential with this secret."""
            now = self._now(connection)
            connection.execute(update(credential).where(*_good(kind, campaign_id, secret, now)).values(seen_at=now))

        self._write(work)


def _good(kind: str, campaign_id: int, secret: str, now: int) -> tuple[Any, ...]:
    """Build the SQL conditions under which a secret is valid for a campaign at ``now`` (UTC microseconds).

    ``kind`` is "invite", "session" or "token"; a session also expires without requests. The table has digests only.
    """
    is_it = (credential.c.campaign_id == campaign_id, credential.c.kind == kind, credential.c.digest == hashed(secret))
    idle = (credential.c.seen_at > now - IDLE_S * MICROSECONDS,) if kind == "session" else ()
    return (*is_it, credential.c.ended_at.is_(None), credential.c.expires_at > now, *idle)


def _password(connection: Connection, campaign_id: int, person: str) -> str | None:
    """Read the hash of a person's valid password for a campaign; None if there is none."""
    is_it = (credential.c.campaign_id == campaign_id, credential.c.kind == "password", credential.c.person == person)
    chosen = select(credential.c.digest).where(*is_it, credential.c.ended_at.is_(None))
    return connection.execute(chosen.order_by(credential.c.id.desc())).scalars().first()


def _end(connection: Connection, now: int, *conditions: Any) -> None:
    """Mark the credentials that meet the SQL conditions as ended at ``now`` (UTC microseconds)."""
    connection.execute(update(credential).where(*conditions).values(ended_at=now))


def _row(row: Any, now: int) -> CredentialRow:
    """Convert a database row to a credential without its secret, as of ``now`` (UTC microseconds)."""
    is_idle = row.kind == "session" and row.seen_at <= now - IDLE_S * MICROSECONDS
    return CredentialRow(
        **{name: getattr(row, name) for name in ("id", "kind", "role", "scope", "person", "created_at", "seen_at")},
        is_open=row.ended_at is None and row.expires_at > now and not is_idle,
    )
