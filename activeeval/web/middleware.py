"""What stands before every route: the host that was meant, the site that asks, the size of the body, the headers.

It is around the whole application, so that errors and refusals have the headers too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from activeeval.web.error_responses import refused
from activeeval.web.settings import ServerSettings

MOST_BYTES = 64 * 1024
"""Of a body: an answer with its note takes a few hundred."""
LINGERS_S = 2
"""Seconds for which what still comes of a request that is refused is let go."""
_LETS_GO_BYTES = 1 << 20
BODY_S = 30
"""Seconds for which a body that trickles in is waited for."""
_SAFE = ("GET", "HEAD", "OPTIONS")
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": PAGE_POLICY,
    "x-content-type-options": "nosniff",
    # not no-referrer: forms would then say that they come from nowhere
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
_log = logging.getLogger(__name__)


class SecurityMiddleware:
    """An application behind what every request must pass.

    Parameters
    ----------
    app : ASGIApp
    door : Door
    """

    def __init__(self, app: ASGIApp, door: ServerSettings) -> None:
        self.app, self.door = app, door
        secure = {"strict-transport-security": "max-age=31536000"} if door.is_secure else {}
        self._headers: Mapping[str, str] = HEADERS | secure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return None
        headers = Headers(scope=scope)
        has_begun = False

        async def with_headers(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                sent = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    sent.setdefault(name, value)
            await send(message)

        async def refuse(status: int, sentence: str, send_by: Send = with_headers) -> None:
            response = refused(scope["path"], "hx-request" in headers, status, sentence)
            await response(scope, receive, send_by)

        problem = self._problem(scope, headers)
        if problem is not None:
            return await refuse(*problem)
        body = await _body(receive, headers)
        if isinstance(body, int):
            sentence = "This is more than an answer can be." if body == 413 else "This took too long."
            return await refuse(body, sentence, _lingering(receive, with_headers))
        try:
            await self.app(scope, _replayed(body, receive), with_headers)
        except Exception:
            _log.exception("%s %s", scope["method"], scope["path"])
            if not has_begun:
                await refuse(500, "Something went wrong here; nothing of this was stored.")
        return None

    def _problem(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        """Return why a request is refused before anybody reads it; None where it may go on."""
        peer = scope["client"][0] if scope.get("client") else ""
        if self.door.behind_proxy and peer != self.door.behind_proxy:
            return 403, "This server answers its proxy alone."
        host = headers.get("host", "")
        if not self.door.is_meant(host):
            return 421, "This server has another name: open the link that you were sent."
        if scope["method"] in _SAFE:
            return None
        # a program with a token says nothing of where it comes from; a browser always does
        is_silent = not {"sec-fetch-site", "origin"} & set(headers.keys())
        if not (is_silent and scope["path"].startswith("/api/")) and not _is_from_here(headers, host):
            return 403, "This form was not sent from this page: open the page again, and send it from there."
        return None


def _is_from_here(headers: Headers, host: str) -> bool:
    """Whether a browser says that a form was sent from a page of this server; one that says nothing is not believed."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    try:
        return urlsplit(headers.get("origin", "")).netloc.lower() == host.lower()
    except ValueError:  # it is no address at all
        return False


async def _body(receive: Receive, headers: Headers) -> bytes | int:
    """Return the body of a request, or the status with which it is refused."""
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit() and len(length) < 20) or int(length) > MOST_BYTES:
        return 413
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            while True:
                message = await receive()
                body += message.get("body", b"")
                if len(body) > MOST_BYTES:
                    return 413
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        return 408


def _lingering(receive: Receive, send: Send) -> Send:
    """Return what sends a whole answer at once, and ends the connection a little later.

    Whoever is still sending would else be told that the connection broke, and not why. A little of what still comes is
    let go, the rest is not read.
    """

    async def send_and_linger(message: Message) -> None:
        if message["type"] != "http.response.body":
            return await send(message)
        await send({**message, "more_body": True})
        n_read, is_more = 0, True
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGERS_S):
                while is_more and n_read < _LETS_GO_BYTES:
                    got = await receive()
                    n_read, is_more = n_read + len(got.get("body", b"")), got.get("more_body", False)
                await asyncio.sleep(LINGERS_S if is_more else 0)
        return await send({"type": "http.response.body", "body": b"", "more_body": False})

    return send_and_linger


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return the body that was read, once, and what comes after it."""
    is_read = False

    async def replay() -> Message:
        nonlocal is_read
        if is_read:
            return await receive()
        is_read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
