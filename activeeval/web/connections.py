"""Limit the size, duration and number of connections before anyone signs in."""

from __future__ import annotations

import asyncio
from asyncio.events import TimerHandle
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from activeeval.web.middleware import BODY_S, HEADERS, LINGERS_S

HEAD_BYTES = 16 * 1024
"""Most bytes of a request without its body, as in h11 and gunicorn; a browser sends about one thousand."""
HEAD_S = 10.0
"""Most seconds for the same, from the connection on, and for the TLS handshake."""
MOST = 400
"""Most connections: with those accepted in one turn of the loop, and open files, below a process's 1,024 files."""
BACKLOG = 256
"""Connections accepted in one turn of the event loop."""
_MOST_PIPELINED = 8  # requests queued behind one in progress; browsers send none


class Connection(HttpToolsProtocol):
    """HTTP connection that limits requests before they reach the application.

    It limits bytes (`HEAD_BYTES`), time (`HEAD_S`) and the number of connections (`MOST`): a further connection
    replaces the one for which the server has waited longest.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        """Create a connection; the arguments are those of uvicorn's `HttpToolsProtocol`."""
        super().__init__(*args, **options)
        self._since = 0.0  # time at which the server began to wait for this connection
        self._n_unread = 0  # bytes since the parser last completed a head, a part of a body or a body
        self._has_moved = False  # True if the parser completed such a part in the last piece of data
        self._in_body = False  # True between the head and the end of a request
        self._is_refused = False  # True once a refusal was sent: further input is ignored
        self._head_timer: TimerHandle | None = None  # refuses a head that takes too long
        # closes the connection if the client does not read
        self._write_timer: TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Accept a connection; if there are too many, close the one for which the server has waited longest."""
        super().connection_made(transport)
        self._wait_for_head()
        if len(self.connections) > MOST:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timers of a closed connection."""
        super().connection_lost(exc)
        self._end_head()
        if self._write_timer is not None:
            self._write_timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Parse received bytes, in pieces so that the head of a request never exceeds `HEAD_BYTES`."""
        at = 0  # number of bytes that were parsed
        while at < len(data) and not (self._is_refused or self.transport.is_closing()):
            # at most the rest of a head: _n_unread bytes were parsed since the last complete head or part of a body
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
        """Start the body of a request; end the connection if too many requests are queued."""
        self._has_moved = self._in_body = True  # moved: `data_received` counts the bytes of a head anew
        self._end_head()
        if len(self.pipeline) >= _MOST_PIPELINED:
            raise ValueError("too many requests at once")  # stops the parser, which ends the connection
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Receive a part of a body."""
        self._has_moved = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Prepare for the next request."""
        self._has_moved, self._in_body = True, False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Start to wait for the next request, and for the client to read the response."""
        self._since = self.loop.time()
        super().on_response_complete()
        self._watch_writing()

    def pause_writing(self) -> None:
        """Stop writing a response until the client reads more of it; close the connection if it does not."""
        super().pause_writing()
        self._watch_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuse a malformed request with the reason ``msg``."""
        self._refuse(HTTPStatus.BAD_REQUEST, msg)

    @property
    def waits(self) -> bool:
        """True if the server waits for the client: for a request, for its end, or until it reads a response."""
        is_answering = self.cycle is not None and not self.cycle.response_complete
        return not is_answering or self.cycle.more_body or self.transport.get_write_buffer_size() > 0

    def _make_room(self) -> None:
        """Close the connection for which the server has waited longest; refuse this one if there is none."""
        others = [each for each in self.connections if each is not self and isinstance(each, Connection) and each.waits]
        if not others:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "There are too many connections: try again soon.")
            return
        # a connection that already had a response is more likely a browser
        longest = min(others, key=lambda each: (each.cycle is not None, each._since))
        self.connections.discard(longest)  # at once, so that the next connection closes another one
        longest.transport.abort()

    def _wait_for_head(self) -> None:
        """Start the timer for the head of a request (its first line and header fields)."""
        self._since = self.loop.time()
        self._head_timer = self.loop.call_later(HEAD_S, self._end_slow)

    def _end_head(self) -> None:
        """Cancel the timer for the head of a request."""
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _end_slow(self) -> None:
        """Refuse a head that takes too long; close an idle connection."""
        self._head_timer = None
        if self._n_unread:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, f"Headers may take {HEAD_S:.0f} seconds.")
        else:
            self.transport.close()

    def _watch_writing(self) -> None:
        """Start the timer that closes the connection if the client reads nothing of a response for `BODY_S` seconds.

        No effect if all bytes are sent or the timer runs already.
        """
        n_bytes = self.transport.get_write_buffer_size()
        if n_bytes and self._write_timer is None:
            self._write_timer = self.loop.call_later(BODY_S, self._end_stalled, n_bytes)

    def _end_stalled(self, n_before: int) -> None:
        """Close the connection if the client has read nothing since the timer started; else start the timer again.

        ``n_before`` is the number of bytes that waited then.
        """
        self._write_timer = None
        if self.transport.get_write_buffer_size() >= n_before:
            self.transport.abort()
        self._watch_writing()

    def _refuse(self, status: HTTPStatus, sentence: str) -> None:
        """Send the reason of a refusal, discard further input, and close the connection a little later.

        Closed at once, the connection would show a client that is still sending an error without the reason.
        """
        if self._is_refused or (self.cycle is not None and not self.cycle.response_complete):
            self.transport.abort()  # a refusal cannot be sent in the middle of another response
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
    """Event loop that ends slow TLS handshakes: asyncio waits a minute, and uvicorn has no setting for it."""

    def create_server(self, *args: Any, **options: Any) -> Any:
        """Create a server with `HEAD_S` as handshake timeout; see `asyncio.loop.create_server`."""
        if options.get("ssl") is not None:
            options["ssl_handshake_timeout"] = HEAD_S
        return super().create_server(*args, **options)
