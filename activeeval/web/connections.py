"""Connections before anybody has signed in: how large and how slow a request may be, and how many there are."""

from __future__ import annotations

import asyncio
from asyncio.events import TimerHandle
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from activeeval.web.middleware import BODY_S, HEADERS, LINGERS_S

HEAD_BYTES = 16 * 1024
"""Of a request without its body: as much as h11 and gunicorn take; a browser sends about one thousand."""
HEAD_S = 10.0
"""Seconds for the same, from the moment somebody connects, and for the handshake of TLS."""
MOST = 400
"""Connections: with what one turn of the loop accepts, and with files, below the 1,024 that a process may have open."""
BACKLOG = 256
"""Connections that one turn of the loop accepts."""
_MOST_PIPELINED = 8  # requests that wait behind one that is answered; browsers send none


class Connection(HttpToolsProtocol):
    """A connection whose requests are limited before they reach the application.

    Limits are of bytes (`HEAD_BYTES`), of time (`HEAD_S`) and of the number of connections (`MOST`): one more takes the
    place of the one that has kept the server waiting for longest.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._since = 0.0  # when the server began to wait for this connection
        self._n_unread = 0  # bytes since the parser last came to the end of a head, to some body or to the end of that
        self._has_moved = False
        self._in_body = False
        self._is_refused = False
        self._head_timer: TimerHandle | None = None
        self._write_timer: TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Take a connection, in place of another where there are too many."""
        super().connection_made(transport)
        self._wait_for_head()
        if len(self.connections) > MOST:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        super().connection_lost(exc)
        self._end_head()
        if self._write_timer is not None:
            self._write_timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Read what has come, in pieces that stay within the limit of a head."""
        at = 0
        while at < len(data) and not (self._is_refused or self.transport.is_closing()):
            piece = data[at : at + HEAD_BYTES - self._n_unread]
            self._has_moved = False
            super().data_received(piece)
            at += len(piece)
            self._n_unread = 0 if self._has_moved else self._n_unread + len(piece)
            if self._n_unread >= HEAD_BYTES:
                self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"Headers may have {HEAD_BYTES:,} bytes.")
        if self._n_unread and not self._in_body and self._head_timer is None:
            self._wait_for_head()

    def on_headers_complete(self) -> None:
        """Go on to the body."""
        self._has_moved = self._in_body = True
        self._end_head()
        if len(self.pipeline) >= _MOST_PIPELINED:
            raise ValueError("too many requests at once")  # the parser stops, and the connection is ended
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._has_moved = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Go on to the next request."""
        self._has_moved, self._in_body = True, False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request, and for the answer to be taken."""
        self._since = self.loop.time()
        super().on_response_complete()
        self._watch_writing()

    def pause_writing(self) -> None:
        """Wait for more of an answer to be taken."""
        super().pause_writing()
        self._watch_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that cannot be read."""
        self._refuse(HTTPStatus.BAD_REQUEST, msg)

    @property
    def waits(self) -> bool:
        """Whether the server waits for the other side: for a request, for its end, or for an answer to be taken."""
        is_answering = self.cycle is not None and not self.cycle.response_complete
        return not is_answering or self.cycle.more_body or self.transport.get_write_buffer_size() > 0

    def _make_room(self) -> None:
        others = [each for each in self.connections if each is not self and isinstance(each, Connection) and each.waits]
        if not others:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "There are too many connections: try again soon.")
            return
        # who was answered before is likelier to be somebody's browser
        longest = min(others, key=lambda each: (each.cycle is not None, each._since))
        self.connections.discard(longest)  # before the loop comes to it: the next one that connects ends another
        longest.transport.abort()

    def _wait_for_head(self) -> None:
        self._since = self.loop.time()
        self._head_timer = self.loop.call_later(HEAD_S, self._end_slow)

    def _end_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _end_slow(self) -> None:
        self._head_timer = None
        if self._n_unread:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, f"Headers may take {HEAD_S:.0f} seconds.")
        else:
            self.transport.close()

    def _watch_writing(self) -> None:
        """End the connection where nothing of what is written is taken for as long as a body may take to come."""
        n_bytes = self.transport.get_write_buffer_size()
        if n_bytes and self._write_timer is None:
            self._write_timer = self.loop.call_later(BODY_S, self._end_stalled, n_bytes)

    def _end_stalled(self, n_before: int) -> None:
        self._write_timer = None
        if self.transport.get_write_buffer_size() >= n_before:
            self.transport.abort()
        self._watch_writing()

    def _refuse(self, status: HTTPStatus, sentence: str) -> None:
        """Say why a request is refused, let go what still comes of it, and end the connection a little later.

        Whoever is still sending would else see that the connection broke, and not why.
        """
        if self._is_refused or (self.cycle is not None and not self.cycle.response_complete):
            self.transport.abort()  # within another answer nothing can be said
            return
        self._is_refused = True
        self._end_head()
        self._unset_keepalive_if_required()
        body = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(sentence))}
        fields = {**HEADERS, **body, "connection": "close"}
        lines = [f"HTTP/1.1 {status} {status.phrase}", *(f"{name}: {value}" for name, value in fields.items())]
        self.transport.write("\r\n".join([*lines, "", sentence]).encode("ascii"))
        self._head_timer = self.loop.call_later(LINGERS_S, self.transport.abort)


class HandshakeTimeoutLoop(asyncio.SelectorEventLoop):
    """A loop that ends slow handshakes of TLS: asyncio waits a minute, and uvicorn has no setting of that."""

    def create_server(self, *args: Any, **options: Any) -> Any:
        """Return a server; see `asyncio.loop.create_server`."""
        if options.get("ssl") is not None:
            options["ssl_handshake_timeout"] = HEAD_S
        return super().create_server(*args, **options)
