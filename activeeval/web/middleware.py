"""Security middleware before all routes: host check, same-site check, body size, response headers.

It wraps the whole application, so that errors and refusals have the headers too.
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
"""Most bytes of a body: an answer with its note takes a few hundred."""
LINGERS_S = 2
"""Seconds for which further input of a refused request is discarded."""
_LETS_GO_BYTES = 1 << 20
BODY_S = 30
"""Most seconds for receiving a body."""
_SAFE = ("GET", "HEAD", "OPTIONS")
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": PAGE_POLICY,
    "x-content-type-options": "nosniff",
    # with no-referrer, forms would send the origin "null"
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
_log = logging.getLogger(__name__)


class SecurityMiddleware:
    """ASGI middleware that checks every request and adds security headers to every response.

    Parameters
    ----------
    app : ASGIApp
        The application to protect.
    door : ServerSettings
        Address of the server and checks of requests.
    """

    def __init__(self, app: ASGIApp, door: ServerSettings) -> None:
        """Wrap an application; ``door`` has the server's address and decides which requests it accepts."""
        self.app, self.door = app, door
        secure = {"strict-transport-security": "max-age=31536000"} if door.is_secure else {}
        self._headers: Mapping[str, str] = HEADERS | secure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request: refuse it by its headers or body, or pass it on.

        See the ASGI specification for the arguments.
        """
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return None
        headers = Headers(scope=scope)
        has_begun = False

        async def with_headers(message: Message) -> None:
            """Send a message of the response, with the security headers at its start."""
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                sent = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    sent.setdefault(name, value)
            await send(message)

        async def refuse(status: int, sentence: str, send_by: Send = with_headers) -> None:
            """Send a refusal with a status and a sentence; ``send_by`` sends its messages."""
            response = refused(scope["path"], "hx-request" in headers, status, sentence)
            await response(scope, receive, send_by)

        problem = self._problem(scope, headers)
        if problem is not None:
            return await refuse(*problem)
        body = await _body(receive, headers)
        if isinstance(body, int):
            sentence = "The request is too large." if body == 413 else "The request took too long."
            return await refuse(body, sentence, _lingering(receive, with_headers))
        try:
            await self.app(scope, _replayed(body, receive), with_headers)
        except Exception:
            _log.exception("%s %s", scope["method"], scope["path"])
            if not has_begun:
                await refuse(500, "Something went wrong on the server; nothing was stored.")
        return None

    def _problem(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        """Return (status, sentence) of a refusal by the headers alone; None if the request is allowed.

        It checks the proxy, the Host header, and that a form comes from a page of this server.
        """
        peer = scope["client"][0] if scope.get("client") else ""
        if self.door.behind_proxy and peer != self.door.behind_proxy:
            return 403, "This server accepts requests only from its proxy."
        host = headers.get("host", "")
        if not self.door.is_meant(host):
            return 421, "This server has another name: open the link that you were sent."
        if scope["method"] in _SAFE:
            return None
        # programs with a token send no origin; browsers always do
        is_silent = not {"sec-fetch-site", "origin"} & set(headers.keys())  # names no origin
        if not (is_silent and scope["path"].startswith("/api/")) and not _is_from_here(headers, host):
            return 403, "This form was not sent from this page: open the page again, and send it from there."
        return None


def _is_from_here(headers: Headers, host: str) -> bool:
    """Check by its headers whether a form was sent from a page of this server; False without such headers.

    ``host`` is the Host header.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    try:
        return urlsplit(headers.get("origin", "")).netloc.lower() == host.lower()
    except ValueError:  # not a URL
        return False


async def _body(receive: Receive, headers: Headers) -> bytes | int:
    """Read the body of a request; return a status if it is refused: 408 if it is too slow, 413 if it is too long.

    ``receive`` is the ASGI function that yields the parts of the body.
    """
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
    """Wrap ``send`` to send the whole response at once and close the connection a little later.

    Closed at once, the connection would show a client that is still sending an error without the reason. A limited
    amount of further input is discarded, the rest is not read.

    ``receive`` and ``send`` are ASGI functions for messages of one request.
    """

    async def send_and_linger(message: Message) -> None:
        """Send a message of the response; after its body read and discard input for a while, then end it."""
        if message["type"] != "http.response.body":
            return await send(message)
        await send({**message, "more_body": True})
        n_read, is_more = 0, True
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGERS_S):
                while is_more and n_read < _LETS_GO_BYTES:
                    message_in = await receive()
                    n_read, is_more = n_read + len(message_in.get("body", b"")), message_in.get("more_body", False)
                await asyncio.sleep(LINGERS_S if is_more else 0)
        return await send({"type": "http.response.body", "body": b"", "more_body": False})

    return send_and_linger


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Build an ASGI ``receive`` function that returns the body already read, and then further messages."""
    is_read = False

    async def replay() -> Message:
        """Return the whole body at the first call, later messages of the client after that."""
        nonlocal is_read
        if is_read:
            return await receive()
        is_read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
