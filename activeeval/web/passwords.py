"""Passwords of leads: argon2id, one hash at a time, and equal work for unknown names."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING
from unicodedata import normalize

from activeeval.web.error_responses import RefusedError

if TYPE_CHECKING:
    from argon2 import PasswordHasher

LEAST, MOST = 12, 1000
"""Least and most characters of a password."""
NOBODYS = "$argon2id$v=19$m=65536,t=3,p=4$WmIqM1hce+tokMULmsHsRg$nRn+8m9zCSXZu0fxMXaT/DwTxZyFBgAkHQjcZYw2lZE"
"""Hash of a discarded secret, verified for names without a password so that they take the same time."""
_one_at_a_time = threading.Lock()  # each hash takes 64 MB


@cache
def hasher() -> PasswordHasher:
    """Create the password hasher: argon2id with the second recommended option of RFC 9106.

    That is 3 passes over 64 MB in 4 lanes.
    """
    from argon2 import PasswordHasher  # imported late: only sign-in needs it

    return PasswordHasher()


def problem_of(password: str) -> str:
    """Return the reason why a new password is not accepted, as a sentence; "" if it is accepted."""
    if len(password) < LEAST:
        return f"Please choose a password of at least {LEAST} characters: a few words are good."
    return f"Please choose a password of at most {MOST} characters." if len(password) > MOST else ""


def hashed_password(password: str, again: str) -> str:
    """Hash a new password, typed twice; raise RefusedError if its length is wrong or the two inputs differ."""
    if problem := problem_of(password):
        raise RefusedError(422, problem)
    if password != again:
        raise RefusedError(422, "The two passwords differ: please type the same one twice.")
    with _one_at_a_time:
        return hasher().hash(_plain(password))


def is_right(password: str, password_hash: str | None) -> bool:
    """Check a password against an argon2 hash; without a hash (None) it takes as long and fails."""
    from argon2.exceptions import VerificationError

    with _one_at_a_time:
        try:
            hasher().verify(password_hash or NOBODYS, _plain(password[: MOST + 1]))
        except VerificationError:
            return False
    return password_hash is not None


def _plain(password: str) -> bytes:
    """Convert a password to bytes, in Unicode form NFKC so that different keyboards give the same bytes."""
    return normalize("NFKC", password).encode(errors="surrogatepass")
