"""Addresses of databases in messages: what may be a password is masked."""

from __future__ import annotations

import re
from urllib.parse import unquote

PLAIN_OPTIONS = {
    "application_name",
    "connect_timeout",
    "dbname",
    "host",
    "options",
    "port",
    "service",
    "sslmode",
    "user",
}
"""Options of a connection that are no secrets; of all others, mistyped ones too, only the name is said."""
_FILE = re.compile(r"sqlite(?:\+pysqlite)?:///(?!.*//)", re.S)
_SCHEME = r"^((?:[^:/@?]*:?/+|(?![^:/@?]*:?/))"
# what stands between the first : behind a user and the last @; a user may have an @ of his own
_PASSWORD = re.compile(_SCHEME + r"[^:/?]*:).*(?=@)", re.S)
# a password without a host behind it stands where a port is
_PORT = re.compile(_SCHEME + r"(?:[^:/?]*@)?(?:\[[^]/]*\]|[^:/?[]*):)(?!\d{0,5}(?:/|$))[^/@]*(?![^/@]*@)")
_KEYWORD = re.compile(r"(pass\w*\s*=\s*)(?:'[^']*'|\S+)", re.I)


def masked(address: str) -> str:
    """Return an address, or what was meant to be one, without what may be secret in it.

    Examples
    --------
    >>> masked("postgresql://team:s%40cret@db/judging?sslmode=require&sslpassword=secret")
    'postgresql://team:***@db/judging?sslmode=require&sslpassword=***'
    >>> masked("postgres//team:secret@db/judging"), masked("postgresql://team:secret")
    ('postgres//team:***@db/judging', 'postgresql://team:***')
    """
    head, mark, options = address.partition("?")
    if "@" in options and "@" not in head:  # the ? is one of a password
        head, mark, options = address, "", ""
    if not _FILE.match(head):  # the name of a file may have any sign
        head = _KEYWORD.sub(r"\1***", _PORT.sub(r"\1***", _PASSWORD.sub(r"\1***", head)))
    return head + mark + "&".join(_masked_option(option) for option in options.split("&") if mark)


def _masked_option(option: str) -> str:
    name, mark, _ = option.partition("=")
    if not mark:
        return "***" if name else ""
    return option if unquote(name) in PLAIN_OPTIONS else f"{name}=***"
