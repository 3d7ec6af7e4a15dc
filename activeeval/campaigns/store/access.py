"""Who may come in: invites, sessions and tokens, of which the store keeps digests alone, and leads' passwords.

A secret has 256 random bits, so that a plain digest is enough. An invite becomes a session once; a session ends by
being left alone, by its age, or because somebody ends it. Of a password the store keeps what it is given: the page
makes a slow hash of it.
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
"""How long each kind is good for, whatever happens."""
IDLE_S = 12 * 3600
"""After so long without a request a session is over."""
_SECRET = ("invite", "session", "token")
_NOTED_S = 60  # a session is written to at most so often: each time costs a wait for the disk
ROLES = ("judge", "lead")
SCOPES = ("all", "status")
"""What a token is good for: all that its judge may, or to ask how far the campaign is and nothing else."""


class Transaction(Protocol):
    """Runs work on a campaign in one transaction."""

    def __call__(self, work: Callable[[Connection, int, CampaignRow], T]) -> T:
        """Return what the work returns, after the commit."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who came in.

    Attributes
    ----------
    name : str
    role : {"judge", "lead"}
    scope : {"all", "status"}
    """

    name: str
    role: str
    scope: str = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordTry:
    """A try of a password, which counts as failed until `Access.sign_in` says otherwise.

    Attributes
    ----------
    wait_s : int
        Seconds until there may be one; 0 where it may go on.
    hash : str or None
        Of the password, as it was set; None where there is none.
    """

    wait_s: int
    hash: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialRow:
    """What lets somebody in, without its secret; times are UTC microseconds.

    Attributes
    ----------
    kind : {"invite", "session", "token", "password", "member"}
        A member is let in by another site that knows him.
    is_open : bool
        Whether it is good now.
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
    """Who may come in to a campaign; see `activeeval.campaigns.store.Store.access`."""

    def __init__(self, read: Transaction, write: Transaction, now: Callable[[Connection], int]) -> None:
        self._read, self._write, self._now = read, write, now

    def issue(self, kind: str, role: str, person: str, scope: str = "all") -> str:
        """Return the secret of a new invite, session or token."""
        if kind not in _SECRET or role not in ROLES:
            raise InputError(f"expected one of {', '.join(_SECRET)} for a judge or a lead, got {kind!r} for {role!r}")
        if scope not in SCOPES:
            raise InputError(f"scope must be one of {', '.join(SCOPES)}, got {shown(scope)}", field="scope")
        whose = Person(checked_judge(person), role, scope)
        return self._write(lambda connection, number, _: self._add(connection, number, kind, whose))

    def come_in(self, invite: str, instead_of: str | None = None) -> tuple[str, Person] | None:
        """Make a session of an invite, once; None where it is none, used, ended or too old.

        Parameters
        ----------
        instead_of : str, optional
            The session that the same browser had, which ends.
        """

        def work(connection: Connection, number: int, _: CampaignRow) -> tuple[str, Person] | None:
            now = self._now(connection)
            taken = update(credential).where(*_good("invite", number, invite, now)).values(ended_at=now)
            row = connection.execute(taken.returning(credential.c.person, credential.c.role)).first()
            if row is None:
                return None
            person = Person(row.person, row.role)
            return self._begin(connection, number, person, instead_of), person

        return self._write(work)

    def start_sign_in(self) -> str | None:
        """Return the secret of a sign-in at another site, good once and for ten minutes; None where too many wait."""
        return self._write(lambda connection, number, _: sign_ins.start(connection, number, self._now(connection)))

    def end_sign_in(self, secret: str) -> bool:
        """Take the secret of a sign-in that was started; whether it was good, which it is once."""

        def work(connection: Connection, number: int, _: CampaignRow) -> bool:
            return sign_ins.end(connection, number, secret, self._now(connection))

        return self._write(work)

    def let_in(self, person: str) -> None:
        """Let a judge sign in at another site that knows him by this name, until somebody ends it."""
        member = Person(checked_judge(person), "judge")

        def work(connection: Connection, number: int, _: CampaignRow) -> None:
            if not self._is_member(connection, number, member.name):
                self._add(connection, number, "member", member)

        self._write(work)

    def begin_session(self, person: Person, instead_of: str | None = None, *, of_member: bool = False) -> str | None:
        """Make a session of somebody whom another site knows.

        Parameters
        ----------
        instead_of : str, optional
            The session that the same browser had, which ends.
        of_member : bool
            Only where `let_in` has let him in: else nobody comes in, and there is None.
        """

        def work(connection: Connection, number: int, _: CampaignRow) -> str | None:
            if of_member and not self._is_member(connection, number, person.name):
                return None
            return self._begin(connection, number, person, instead_of)

        return self._write(work)

    def set_password(self, person: str, password_hash: str) -> str:
        """Let a lead sign in with a password from now on; return the secret of a new session, the only one left."""
        lead = Person(checked_judge(person), "lead")

        def work(connection: Connection, number: int, _: CampaignRow) -> str:
            now = self._now(connection)
            is_old = credential.c.kind.in_(("password", "session")) & credential.c.ended_at.is_(None)
            _end(connection, now, credential.c.campaign_id == number, credential.c.person == lead.name, is_old)
            self._insert(connection, number, "password", lead, password_hash)
            return self._add(connection, number, "session", lead)

        return self._write(work)

    def password_of(self, person: str) -> str | None:
        """Return the hash of somebody's password; None where there is none."""
        return self._read(lambda connection, number, _: _password(connection, number, person))

    def try_password(self, person: str, address: str) -> PasswordTry:
        """Take a try of a password, as a failed one, of a name and from an address.

        It is the same whether or not anybody has that name.
        """
        name = judge_name(person)

        def work(connection: Connection, number: int, _: CampaignRow) -> PasswordTry:
            wait_s = password_attempts.take(connection, number, self._now(connection), name, address)
            return PasswordTry(wait_s=wait_s, hash=_password(connection, number, name))

        return self._write(work)

    def sign_in(
        self, person: str, address: str, password_hash: str, instead_of: str | None = None
    ) -> tuple[str, Person] | None:
        """Make a session of a try that was right; None where the password was ended or changed meanwhile.

        Parameters
        ----------
        password_hash : str
            Of the password that was right.
        instead_of : str, optional
            The session that the same browser had, which ends.
        """
        lead = Person(judge_name(person), "lead")

        def work(connection: Connection, number: int, _: CampaignRow) -> tuple[str, Person] | None:
            now = self._now(connection)
            if _password(connection, number, lead.name) != password_hash:
                return None
            password_attempts.give_back(connection, number, lead.name, address)
            connection.execute(update(credential).where(credential.c.digest == password_hash).values(seen_at=now))
            return self._begin(connection, number, lead, instead_of), lead

        return self._write(work)

    def person_of(self, kind: str, secret: str) -> Person | None:
        """Return whose session or token a secret is; None where it is none that is good now."""

        def look(connection: Connection, number: int, _: CampaignRow) -> tuple[Person | None, bool]:
            now = self._now(connection)
            row = connection.execute(select(credential).where(*_good(kind, number, secret, now))).first()
            if row is None:
                return None, False
            return Person(row.person, row.role, row.scope), now - row.seen_at > _NOTED_S * MICROSECONDS

        person, is_due = self._read(look)
        if is_due:
            self._note(kind, secret)
        return person

    def end(self, kind: str, secret: str) -> None:
        """End what a secret lets in."""

        def work(connection: Connection, number: int, _: CampaignRow) -> None:
            now = self._now(connection)
            _end(connection, now, *_good(kind, number, secret, now))

        self._write(work)

    def end_by_id(self, row_id: int) -> None:
        """End a credential by its number in `rows`, with a member all his sessions; what has ended stays so."""

        def work(connection: Connection, number: int, _: CampaignRow) -> None:
            is_open, now = (credential.c.campaign_id == number, credential.c.ended_at.is_(None)), self._now(connection)
            of_row = (*is_open, credential.c.id == row_id)
            row = connection.execute(select(credential).where(*of_row)).first()
            _end(connection, now, *of_row)
            if row is not None and row.kind == "member":
                whose = (credential.c.person == row.person, credential.c.role == row.role)
                _end(connection, now, *is_open, *whose, credential.c.kind == "session")

        self._write(work)

    def rows(self) -> list[CredentialRow]:
        """Return what lets people in, and did, the newest first."""

        def work(connection: Connection, number: int, _: CampaignRow) -> list[CredentialRow]:
            now = self._now(connection)
            chosen = select(credential).where(credential.c.campaign_id == number).order_by(credential.c.id.desc())
            return [_row(row, now) for row in connection.execute(chosen)]

        return self._read(work)

    def _begin(self, connection: Connection, number: int, person: Person, instead_of: str | None) -> str:
        """Return the secret of a new session, in place of the one that a browser had."""
        now = self._now(connection)
        if instead_of is not None:
            _end(connection, now, *_good("session", number, instead_of, now))
        return self._add(connection, number, "session", person)

    def _is_member(self, connection: Connection, number: int, person: str) -> bool:
        is_it = (credential.c.campaign_id == number, credential.c.kind == "member", credential.c.person == person)
        is_good = (credential.c.ended_at.is_(None), credential.c.expires_at > self._now(connection))
        return connection.execute(select(credential.c.id).where(*is_it, *is_good)).first() is not None

    def _add(self, connection: Connection, number: int, kind: str, person: Person) -> str:
        secret = secrets.token_urlsafe(32)
        self._insert(connection, number, kind, person, hashed(secret))
        return secret

    def _insert(self, connection: Connection, number: int, kind: str, person: Person, digest: str) -> None:
        now = self._now(connection)
        values = {
            "campaign_id": number,
            "kind": kind,
            "role": person.role,
            "scope": person.scope,
            "person": person.name,
            "digest": digest,
            "created_at": now,
            "seen_at": now,
            "expires_at": now + LASTS_S[kind] * MICROSECONDS,
        }
        connection.execute(insert(credential).values(values))

    def _note(self, kind: str, secret: str) -> None:
        def work(connection: Connection, number: int, _: CampaignRow) -> None:
            now = self._now(connection)
            connection.execute(update(credential).where(*_good(kind, number, secret, now)).values(seen_at=now))

        self._write(work)


def _good(kind: str, number: int, secret: str, now: int) -> tuple[Any, ...]:
    """Return the conditions under which a secret lets somebody in."""
    is_it = (credential.c.campaign_id == number, credential.c.kind == kind, credential.c.digest == hashed(secret))
    idle = (credential.c.seen_at > now - IDLE_S * MICROSECONDS,) if kind == "session" else ()
    return (*is_it, credential.c.ended_at.is_(None), credential.c.expires_at > now, *idle)


def _password(connection: Connection, number: int, person: str) -> str | None:
    """Return the hash of the password that somebody has; None of whoever has none."""
    is_it = (credential.c.campaign_id == number, credential.c.kind == "password", credential.c.person == person)
    chosen = select(credential.c.digest).where(*is_it, credential.c.ended_at.is_(None))
    return connection.execute(chosen.order_by(credential.c.id.desc())).scalars().first()


def _end(connection: Connection, now: int, *conditions: Any) -> None:
    connection.execute(update(credential).where(*conditions).values(ended_at=now))


def _row(row: Any, now: int) -> CredentialRow:
    is_idle = row.kind == "session" and row.seen_at <= now - IDLE_S * MICROSECONDS
    return CredentialRow(
        **{name: getattr(row, name) for name in ("id", "kind", "role", "scope", "person", "created_at", "seen_at")},
        is_open=row.ended_at is None and row.expires_at > now and not is_idle,
    )
