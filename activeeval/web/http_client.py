"""Fetch JSON objects from another site, with limits on time and size and without redirects."""

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

_WAIT_S, _ALL_S = 5.0, 10.0  # seconds without data, and for the whole response
_MOST_BYTES = 1 << 20
_AT_ONCE = 8  # concurrent requests, so that they cannot occupy every thread
_CHUNK = 1 << 14
_places = threading.BoundedSemaphore(_AT_ONCE)


class UnreachableError(Exception):
    """Another site did not answer, or not with a valid response; the message is for the lead."""


def check_address(address: str, field: str | None = None) -> None:
    """Raise InputError unless an address is https, or http to this computer.

    ``field`` names the option in the error.
    """
    try:
        parts = urlsplit(address)
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
    except ValueError:
        raise InputError(f"expected an address that begins with https://, got {shown(address)}", field=field) from None
    if "@" in parts.netloc:  # so that messages never contain a password
        raise InputError("expected an address without a name and a password", field=field)
    if not is_safe or not parts.hostname or parts.fragment:
        raise InputError(f"expected an address that begins with https://, got {shown(address)}", field=field)


def answer_of(
    address: str, body: str | None = None, headers: Mapping[str, str] | None = None
) -> tuple[int, dict[str, Any]]:
    """Request an address; return the HTTP status and the JSON object of the response.

    Parameters
    ----------
    body : str, optional
        Form to send by POST; by default a GET request is sent.
    headers : mapping, optional
        Further headers.

    Raises
    ------
    UnreachableError
        If the site does not answer with a JSON object in time, reports a server error, or has no safe address.
    """
    data = None if body is None else body.encode()
    question = urllib.request.Request(address, data, {"Accept": "application/json", **(headers or {})})
    if not _places.acquire(timeout=_WAIT_S):
        raise UnreachableError(f"{address}: too many requests are waiting for it")
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
    """Send a request; return the status and the bytes of the response.

    Raises OSError or HTTPException if it fails, and ValueError if the response is too long or takes too long.
    """
    is_here = is_loopback(urlsplit(question.full_url).hostname or "")
    # a proxy could not reach a server on this computer
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
    """Follow no redirects, as a secret is only for the requested address."""

    def redirect_request(self, *_: Any) -> None:
        """Return None, so that the redirect itself is the response."""
