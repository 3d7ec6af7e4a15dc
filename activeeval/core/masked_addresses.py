"""Database addresses in messages, with possible passwords masked."""

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
"""Connection options that are not secret; the values of all others, mistyped ones included, are masked."""
_FILE = re.compile(r"sqlite(?:\+pysqlite)?:///(?!.*//)", re.S)
_SCHEME = r"^((?:[^:/@?]*:?/+|(?![^:/@?]*:?/))"
# the text between the first : after the user and the last @; a user name may contain an @
_PASSWORD = re.compile(_SCHEME + r"[^:/?]*:).*(?=@)", re.S)
# a password without a host after it is in the position of a port
_PORT = re.compile(_SCHEME + r"(?:[^:/?]*@)?(?:\[[^]/]*\]|[^:/?[]*):)(?!\d{0,5}(?:/|$))[^/@]*(?![^/@]*@)")
_KEYWORD = re.compile(r"(pass\w*\s*=\s*)(?:'[^']*'|\S+)", re.I)


def masked(address: str) -> str:
    """Mask everything that may be secret in a database address, or in an attempt at one, by ``***``.

    These are a password after the user, also where a port is expected, the value of ``password=…``, and the values of
    all options but those of `PLAIN_OPTIONS`.

    Examples
    --------
    >>> masked("postgresql://team:s%40cret@db/judging?sslmode=require&sslpassword=secret")
    'postgresql://team:***@db/judging?sslmode=require&sslpassword=***'
    >>> masked("postgres//team:secret@db/judging"), masked("postgresql://team:secret")
    ('postgres//team:***@db/judging', 'postgresql://team:***')
    """
    head, mark, options = address.partition("?")
    if "@" in options and "@" not in head:  # the ? belongs to a password
        head, mark, options = address, "", ""
    if not _FILE.match(head):  # a file name may contain any character
        head = _KEYWORD.sub(r"\1***", _PORT.sub(r"\1***", _PASSWORD.sub(r"\1***", head)))
    return head + mark + "&".join(_masked_option(option) for option in options.split("&") if mark)


def _masked_option(option: str) -> str:
    """Mask the value of an option ``name=value`` unless its name is harmless; a text without ``=`` is masked whole."""
    name, mark, _ = option.partition("=")
    if not mark:
        return "***" if name else ""
    return option if unquote(name) in PLAIN_OPTIONS else f"{name}=***"
