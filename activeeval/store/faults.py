"""What databases complain of, in one line each."""

from __future__ import annotations

from typing import Any

from sqlalchemy import exc

from activeeval.errors import ActiveEvalError, InputError, StateError

_DAMAGED = "is damaged or was cut short; take a backup, or what can be read of it"
_UNWRITTEN = "nothing of this was stored"

_SQLITE: tuple[tuple[str, type[ActiveEvalError], str], ...] = (
    ("is locked", StateError, "another process has been writing to it for {wait:g} s; " + _UNWRITTEN + ", try again"),
    ("readonly", InputError, "may only be read; " + _UNWRITTEN),
    ("unable to open", InputError, "cannot be opened"),
    ("not a database", InputError, "is no database"),
    ("unsupported file format", InputError, _DAMAGED),
    ("malformed", InputError, _DAMAGED),
    ("decode to utf-8", InputError, _DAMAGED),
    ("codec can't decode", InputError, _DAMAGED),
    ("no such table", InputError, _DAMAGED),
    ("no such column", InputError, _DAMAGED),
    ("append-only", StateError, "keeps what it has: no row of it is changed or deleted"),
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
    """Return PostgreSQL's code of an error, "" where it has none."""
    return getattr(getattr(error, "orig", None), "sqlstate", None) or ""


def was_rolled_back(error: BaseException) -> bool:
    """Whether a database gave up a transaction that may well work when it is tried again."""
    return sqlstate(error) in _RETRYABLE


def is_disconnect(error: BaseException) -> bool:
    """Whether the connection broke, so that nobody knows what became of a commit."""
    return isinstance(error, exc.DBAPIError) and error.connection_invalidated


def said_of(error: BaseException, place: str, wait_s: float, *, is_sqlite: bool) -> ActiveEvalError:
    """Return an error of SQLAlchemy or of a driver as one of ours.

    Parameters
    ----------
    place : str
        The database, as a message may name it: without its password.
    wait_s : float
        How long a lock was waited for.
    """
    text = _first_line(getattr(error, "orig", None) or error)
    kind, says = _kind_of(error, text, is_sqlite)
    return kind(f"{place}: {says.format(wait=wait_s, text=text)}")


def _kind_of(error: BaseException, text: str, is_sqlite: bool) -> tuple[type[ActiveEvalError], str]:
    if isinstance(error, exc.TimeoutError):
        return StateError, "all connections have been busy for {wait:g} s; " + _UNWRITTEN + ", try again"
    if is_sqlite:
        found = (entry[1:] for entry in _SQLITE if entry[0] in text.lower())
        return next(found, (StateError, "{text}"))
    if isinstance(error, exc.OperationalError) and not sqlstate(error):
        return InputError, "cannot be reached: {text}"
    return _POSTGRESQL.get(sqlstate(error), (StateError, "{text}"))


def _first_line(error: Any) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
