"""What this server asks of another site: a JSON object, within seconds, of the address that was meant and no other."""

from __future__ import annotations

import http.client
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from activeeval.core.errors import InputError, shown
from activeeval.web.settings import is_loopback

_WAIT_S, _ALL_S = 5.0, 10.0  # for a sign of life, and for the whole answer
_MOST_BYTES = 1 << 20
_AT_ONCE = 8  # questions: whoever asks many times must not keep every thread busy
_CHUNK = 1 << 14
_places = threading.BoundedSemaphore(_AT_ONCE)


class UnreachableError(Exception):
    """Another site that does not answer, or with something that is no answer; the text is for whoever leads."""


def check_address(address: str, field: str | None = None) -> None:
    """Raise InputError where an address is not https, but for one of this machine itself."""
    try:
        parts = urlsplit(address)
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
    except ValueError:
        raise InputError(f"expected an address that begins with https://, got {shown(address)}", field=field) from None
    if "@" in parts.netloc:  # a message says no password
        raise InputError("expected an address without a name and a password", field=field)
    if not is_safe or not parts.hostname or parts.fragment:
        raise InputError(f"expected an address that begins with https://, got {shown(address)}", field=field)


def answer_of(
    address: str, body: str | None = None, headers: Mapping[str, str] | None = None
) -> tuple[int, dict[str, Any]]:
    """Return the status and the JSON object with which an address answers; a body is a form that is posted.

    Raises
    ------
    UnreachableError
        Where there is no such answer in time.
    """
    data = None if body is None else body.encode()
    question = urllib.request.Request(address, data, {"Accept": "application/json", **(headers or {})})
    if not _places.acquire(timeout=_WAIT_S):
        raise UnreachableError(f"{address}: too many wait for it")
    try:
        check_address(address)
        status, content = _fetched(question)
        answer = json.loads(content)
    except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
        raise UnreachableError(f"{address}: {error}") from None
    finally:
        _places.release()
    if not isinstance(answer, dict) or status >= 500:
        raise UnreachableError(f"{address}: status {status}, expected a JSON object")
    return status, answer


def _fetched(question: urllib.request.Request) -> tuple[int, bytes]:
    is_here = is_loopback(urlsplit(question.full_url).hostname or "")
    proxies = urllib.request.ProxyHandler({} if is_here else None)
    try:
        response = urllib.request.build_opener(proxies, _NoRedirects).open(question, timeout=_WAIT_S)
    except urllib.error.HTTPError as refusal:
        response = refusal
    content, until = bytearray(), time.monotonic() + _ALL_S
    with response:
        while chunk := response.read1(_CHUNK):
            content += chunk
            if len(content) > _MOST_BYTES or time.monotonic() > until:
                raise ValueError("the answer is too long")
        return int(response.status), bytes(content)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Goes nowhere else: a secret is for the address that was meant."""

    def redirect_request(self, *_: Any) -> None:
        """Return nothing, so that the redirection itself is the answer."""
