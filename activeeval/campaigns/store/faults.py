"""Translate errors of databases and drivers to one-line messages."""

from __future__ import annotations

from typing import Any

from sqlalchemy import exc

from activeeval.core.errors import ActiveEvalError, InputError, StateError

_DAMAGED = "is damaged or was cut short; take a backup, or what can be read of it"
_UNWRITTEN = "nothing of this was stored"

_SQLITE: tuple[tuple[str, type[ActiveEvalError], str], ...] = (
    ("is locked", StateError, "another process has been writing to it for {wait:g} s; " + _UNWRITTEN + ", try again"),
    ("readonly", InputError, "may only be read; " + _UNWRITTEN),
    ("unable to open", InputError, "cannot be opened"),
    ("not a database", InputError, "is not a database"),
    ("unsupported file format", InputError, _DAMAGED),
    ("malformed", InputError, _DAMAGED),
    ("decode to utf-8", InputError, _DAMAGED),
    ("codec can't decode", InputError, _DAMAGED),
    ("no such table", InputError, _DAMAGED),
    ("no such column", InputError, _DAMAGED),
    ("append-only", StateError, "is append-only: no row is changed or deleted"),
    ("is full", StateError, "the disk is full; " + _UNWRITTEN),
    ("i/o error", StateError, "could not be read or written: {text}; nothing was acknowledged, try again"),
)
_POSTGRESQL: dict[str, tuple[type[ActiveEvalError], str]] = {
    "55P03": (StateError, "another process has been writing to it for {wait:g} s; " + _UNWRITTEN + ", try again"),
    "25006": (InputError, "may only be read; " + _UNWRITTEN),
    "42501": (InputError, "{text}"),
    "53100": (StateError, "the disk is full; " + _UNWRITTEN),
    "P0001": (StateError, "{text}"),
    "42P01": (InputError, _DAMAGED),
    "42703": (InputError, _DAMAGED),
}
_RETRYABLE = {"40001", "40P01"}


def sqlstate(error: BaseException) -> str:
    """Read PostgreSQL's five-character error code from an exception; "" if it has none."""
    return getattr(getattr(error, "orig", None), "sqlstate", None) or ""


def was_rolled_back(error: BaseException) -> bool:
    """Check whether PostgreSQL rolled back a transaction that may succeed when retried, as after a deadlock."""
    return sqlstate(error) in _RETRYABLE


def is_disconnect(error: BaseException) -> bool:
    """Check whether the connection broke, so that the outcome of a commit is unknown."""
    return isinstance(error, exc.DBAPIError) and error.connection_invalidated


class ConnectionFaults:
    """Connection failures during the attempts at one transaction, and whether they leave its outcome unknown.

    Parameters
    ----------
    place : str
        The database, as named in messages.
    is_repeatable : bool
        True if running the transaction twice has the same effect as once.
    """

    def __init__(self, place: str, is_repeatable: bool) -> None:
        """Start without failures; ``place`` names the database, ``is_repeatable`` a transaction that may run twice."""
        self._place = place
        self._advice = (
            "try again, it is stored only once" if is_repeatable else "check what is stored before you try again"
        )
        self._first: BaseException | None = None  # first failure of a connection
        # first failure during a commit
        self._in_commit: BaseException | None = None

    def note(self, error: BaseException, *, in_commit: bool) -> None:
        """Record a connection failure.

        ``in_commit`` is True if it happened during a commit, whose outcome is then unknown.
        """
        self._first = self._first or error
        if in_commit:
            self._in_commit = self._in_commit or error

    def cause_of(self, error: BaseException) -> BaseException:
        """Choose the error that explains a failure: the first one recorded if its code is known, else ``error``.

        A server that stops on a full disk reports this once; later errors only say that the connection is gone.
        """
        first = self._first
        return first if first is not None and sqlstate(first) in _POSTGRESQL else error

    def unknown(self) -> ActiveEvalError | None:
        """Build the error for a commit whose outcome is unknown; None if no connection broke during a commit."""
        if self._in_commit is None:
            return None
        text = _first_line(getattr(self._in_commit, "orig", None))
        return StateError(
            f"{self._place}: the connection broke while this was being stored ({text}): nothing was acknowledged, and "
            f"whether it was stored is unknown; {self._advice}"
        )


def refusal_of(error: BaseException, place: str, wait_s: float, *, is_sqlite: bool) -> ActiveEvalError:
    """Convert an error of SQLAlchemy or of a driver to an error of activeeval, for the caller to raise.

    Parameters
    ----------
    place : str
        The database, as named in messages: without its password.
    wait_s : float
        Seconds for which locks were waited for.
    is_sqlite : bool
        True for SQLite, False for PostgreSQL.
    """
    text = _first_line(getattr(error, "orig", None) or error)
    kind, template = _kind_of(error, text, is_sqlite)
    return kind(f"{place}: {template.format(wait=wait_s, text=text)}")


def _kind_of(error: BaseException, text: str, is_sqlite: bool) -> tuple[type[ActiveEvalError], str]:
    """Choose the error class and the message template (with fields ``wait`` and ``text``) for a database error.

    ``text`` is the first line of the error.
    """
    if isinstance(error, exc.TimeoutError):
        return StateError, "all connections have been busy for {wait:g} s; " + _UNWRITTEN + ", try again"
    if is_sqlite:
        # entries: a part of SQLite's message, error class, template
        kinds = (entry[1:] for entry in _SQLITE if entry[0] in text.lower())
        return next(kinds, (StateError, "{text}"))
    if isinstance(error, exc.OperationalError) and not sqlstate(error):
        return InputError, "cannot be reached: {text}"
    return _POSTGRESQL.get(sqlstate(error), (StateError, "{text}"))


def _first_line(error: Any) -> str:
    """Return the first non-empty line of an error's text, or its class name."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
