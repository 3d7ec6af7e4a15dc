"""Parse and check the URL of a store's database, and name it in messages without secrets.

A URL may contain a password, and so may a mistyped one: every address in a message passes through `masked`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from sqlalchemy import exc, make_url
from sqlalchemy.engine import URL

from activeeval.core.errors import InputError, shown
from activeeval.core.masked_addresses import PLAIN_OPTIONS, masked

_POSTGRESQL = {"postgres", "postgresql", "postgresql+psycopg"}
_SQLITE = {"sqlite", "sqlite+pysqlite"}
_LARGEST_PORT = 65_535

# must match how SQLAlchemy parses a URL
_BEHIND_USER = re.compile(r"[^:]+://[^:/]*(?::[^@]*)?@", re.S)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseAddress:
    """A database that can be opened.

    Attributes
    ----------
    url : URL
        As SQLAlchemy uses it; may contain a password.
    place : str
        Its name in messages, without secrets.
    path : str or None
        The SQLite file; None for a database in memory or on a server.
    """

    url: URL
    place: str
    path: str | None

    @property
    def is_sqlite(self) -> bool:
        """True for SQLite, False for PostgreSQL."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def is_in_memory(self) -> bool:
        """True if the data are lost when the process ends."""
        return self.is_sqlite and self.path is None

    def without_secrets(self, text: str) -> str:
        """Replace the passwords and secret options of the URL by ``***`` in an error text of the database or driver."""
        values = [(key, value) for key, some in self.url.normalized_query.items() for value in some]
        secrets = [value for key, value in values if key not in PLAIN_OPTIONS]
        for secret in filter(None, [str(self.url.password or ""), *secrets]):
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
        return text


def file_url(path: str) -> str:
    """Build the SQLite URL of a file, escaping % and ? in its name.

    Examples
    --------
    >>> file_url("what%20now?")
    'sqlite:///what%2520now%3F'
    """
    return "sqlite:///" + path.replace("%", "%25").replace("?", "%3F")


def checked_name(name: str) -> str:
    """Return a campaign's name if it is valid; raise InputError otherwise.

    It must not be empty, begin or end with blanks, or contain a slash, a backslash, a line break or a zero byte.
    """
    if not name or name != name.strip() or any(letter in name for letter in "/\\\0\n"):
        raise InputError(f"a campaign's name is a word or more without / and \\, got {shown(masked(name))}")
    return name


def address_of(url: str) -> DatabaseAddress:
    """Parse the URL of a database that can hold a store.

    Raises
    ------
    InputError
        If it is not a URL of SQLite or PostgreSQL. The message does not contain its secrets.
    """
    place = masked(url)
    try:
        parsed = make_url(url)
        if parsed.port is not None and parsed.port > _LARGEST_PORT:
            raise ValueError
    except (exc.ArgumentError, ValueError):  # their texts repeat the port, which may be a password
        raise InputError(
            f"a database is named by a URL, as sqlite:///night.activeeval or postgresql://USER@HOST:PORT/DATABASE, got "
            f"{shown(place)}"
        ) from None
    if parsed.drivername not in _SQLITE | _POSTGRESQL:
        raise InputError(f"a campaign is kept in sqlite or postgresql, got {shown(parsed.drivername)}")
    if parsed.get_backend_name() == "sqlite":
        _check_file(parsed, url, place)
        return DatabaseAddress(url=parsed, place=place, path=_path_of(parsed))
    _check_server(url, place)
    return DatabaseAddress(url=parsed.set(drivername="postgresql+psycopg"), place=place, path=None)


def _check_file(parsed: URL, url: str, place: str) -> None:
    """Raise InputError if the URL of a SQLite file has options, a host, or no valid file name.

    ``parsed`` is the URL ``url``, ``place`` its name in messages.
    """
    if "?" in url:
        name = place.partition("?")[0]
        raise InputError(f"{name}: a file of SQLite takes no options; a ? in its name is written %3F")
    if parsed.host or parsed.username or parsed.password or parsed.port:
        raise InputError(f"{place}: a file is named sqlite:///FILE, with three slashes")
    if "://" in (parsed.database or "") or "\0" in (parsed.database or ""):
        raise InputError(f"{place}: is not the name of a file")


def _check_server(url: str, place: str) -> None:
    """Raise InputError if a server's URL has an unescaped @ or ? in its password."""
    user = _BEHIND_USER.match(url)  # all up to the @ before the host; head: host, port and database
    head, mark, options = url[user.end() if user else 0 :].partition("?")
    if "@" in head or (mark and not all("=" in option for option in options.split("&"))):
        raise InputError(f"{place}: in a password @ and ? are written %40 and %3F, options as ?NAME=VALUE&NAME=VALUE")


def _path_of(url: URL) -> str | None:
    """Return the real path of a SQLite file; None for a database in memory."""
    name = url.database or ""
    return None if name in {"", ":memory:"} else os.path.realpath(name)
