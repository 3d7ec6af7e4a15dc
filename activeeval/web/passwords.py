"""Passwords of leads: argon2id, one at a time, and as much work for a name that nobody has as for one of a lead."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING
from unicodedata import normalize

from activeeval.web.error_responses import RefusedError

if TYPE_CHECKING:
    from argon2 import PasswordHasher

LEAST, MOST = 12, 1000
"""Letters of a password."""
NOBODYS = "$argon2id$v=19$m=65536,t=3,p=4$WmIqM1hce+tokMULmsHsRg$nRn+8m9zCSXZu0fxMXaT/DwTxZyFBgAkHQjcZYw2lZE"
"""The hash of a secret that nobody kept: it is looked at in place of that of a name without a password."""
_one_at_a_time = threading.Lock()  # each takes 64 MB: many at once would take all there is


@cache
def hasher() -> PasswordHasher:
    """Return what hashes: argon2id with the second choice of RFC 9106 (3 passes, 64 MB, 4 lanes)."""
    from argon2 import PasswordHasher  # late: a page that nobody signs in to does without

    return PasswordHasher()


def problem_of(password: str) -> str:
    """Return why a new password is none; nothing where it is one."""
    if len(password) < LEAST:
        return f"Please take at least {LEAST} letters for the password: a few words are good."
    return f"Please take at most {MOST} letters for the password." if len(password) > MOST else ""


def hashed_password(password: str, again: str) -> str:
    """Return the hash of a new password; raise RefusedError where it is too short or not the same twice."""
    if problem := problem_of(password):
        raise RefusedError(422, problem)
    if password != again:
        raise RefusedError(422, "The two passwords differ: please type the same one twice.")
    with _one_at_a_time:
        return hasher().hash(_plain(password))


def is_right(password: str, password_hash: str | None) -> bool:
    """Whether a password is that of a hash; of none it takes as long to say no."""
    from argon2.exceptions import VerificationError

    with _one_at_a_time:
        try:
            hasher().verify(password_hash or NOBODYS, _plain(password[: MOST + 1]))
        except VerificationError:
            return False
    return password_hash is not None


def _plain(password: str) -> bytes:
    """Return a password as bytes, however a keyboard composes its letters."""
    return normalize("NFKC", password).encode(errors="surrogatepass")
