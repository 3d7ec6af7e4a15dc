"""Where a store is: the URLs of databases, and what messages may say of them.

A URL may carry a password, and what was mistyped may be one: whatever is said of an address goes through `masked`.
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

# as SQLAlchemy takes a URL apart
_BEHIND_USER = re.compile(r"[^:]+://[^:/]*(?::[^@]*)?@", re.S)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseAddress:
    """A database that can be opened.

    Attributes
    ----------
    url : URL
    place : str
        How messages name it.
    path : str or None
        The file of SQLite; None in memory and elsewhere.
    """

    url: URL
    place: str
    path: str | None

    @property
    def is_sqlite(self) -> bool:
        return self.url.get_backend_name() == "sqlite"

    @property
    def is_in_memory(self) -> bool:
        """Whether all that is stored there goes with the process."""
        return self.is_sqlite and self.path is None

    def without_secrets(self, text: str) -> str:
        """Return what a database or a driver complains of without what it repeats of the address."""
        values = [(key, value) for key, some in self.url.normalized_query.items() for value in some]
        secrets = [value for key, value in values if key not in PLAIN_OPTIONS]
        for secret in filter(None, [str(self.url.password or ""), *secrets]):
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
        return text


def file_url(path: str) -> str:
    """Return the URL of a file of exactly that name.

    Examples
    --------
    >>> file_url("what%20now?")
    'sqlite:///what%2520now%3F'
    """
    return "sqlite:///" + path.replace("%", "%25").replace("?", "%3F")


def checked_name(name: str) -> str:
    """Return the name of a campaign; raises InputError where it would not do as one."""
    if not name or name != name.strip() or any(letter in name for letter in "/\\\0\n"):
        raise InputError(f"a campaign's name is a word or more without / and \\, got {shown(masked(name))}")
    return name


def address_of(url: str) -> DatabaseAddress:
    """Return what a URL names.

    Raises
    ------
    InputError
        Where it is none of a database that a store can be in, in a line without its secrets.
    """
    place = masked(url)
    try:
        parsed = make_url(url)
        if parsed.port is not None and parsed.port > _LARGEST_PORT:
            raise ValueError
    except (exc.ArgumentError, ValueError):  # what they say repeats the port, which may be a password
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
    if "?" in url:
        name = place.partition("?")[0]
        raise InputError(f"{name}: a file of SQLite takes no options; a ? in its name is written %3F")
    if parsed.host or parsed.username or parsed.password or parsed.port:
        raise InputError(f"{place}: a file is named sqlite:///FILE, with three slashes")
    if "://" in (parsed.database or "") or "\0" in (parsed.database or ""):
        raise InputError(f"{place}: is the name of no file")


def _check_server(url: str, place: str) -> None:
    user = _BEHIND_USER.match(url)
    head, mark, options = url[user.end() if user else 0 :].partition("?")
    if "@" in head or (mark and not all("=" in option for option in options.split("&"))):
        raise InputError(f"{place}: in a password @ and ? are written %40 and %3F, options as ?NAME=VALUE&NAME=VALUE")


def _path_of(url: URL) -> str | None:
    name = url.database or ""
    return None if name in {"", ":memory:"} else os.path.realpath(name)
