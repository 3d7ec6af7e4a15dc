"""Stands between a store and its server, and cuts the connection in the middle of a commit."""

import contextlib
import re
import socket
import threading

from patience import PATIENCE_S

BEFORE, DURING, AFTER = "before the server got it", "while the server did it", "after the server had done it"


class Proxy:
    """Forwards what it gets, but for the next commits that it is told to cut.

    The first commit of a connection is never cut: it belongs to its settings, and stores nothing.
    """

    def __init__(self, port):
        self._to = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._guard = threading.Lock()
        self._cuts = iter(())
        self.n_cut = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def url_of(self, url):
        return re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{self._listener.getsockname()[1]}", url)

    def cut(self, moments):
        """Cut the next commits, each at its moment (None: not at all), and no others."""
        with self._guard:
            self._cuts, self.n_cut = iter(moments), 0

    def close(self):
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):  # it was closed
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client):
        with contextlib.suppress(OSError), client, socket.create_connection(self._to) as server:
            is_cut, is_done = threading.Event(), threading.Event()
            threading.Thread(target=self._answer, args=(server, client, is_cut, is_done), daemon=True).start()
            is_set_up = False
            while sent := client.recv(65536):
                is_commit = b"COMMIT\0" in sent
                when = self._next_cut() if is_commit and is_set_up else None
                is_set_up |= is_commit
                if when is not None:
                    is_cut.set()
                if when != BEFORE:
                    server.sendall(sent)
                if when == AFTER:
                    assert is_done.wait(PATIENCE_S)
                if when is not None:
                    break
            for end in (client, server):
                end.shutdown(socket.SHUT_RDWR)

    def _answer(self, server, client, is_cut, is_done):
        with contextlib.suppress(OSError):
            while got := server.recv(65536):
                if not is_cut.is_set():
                    client.sendall(got)
                elif b"COMMIT\0" in got:
                    is_done.set()
            client.shutdown(socket.SHUT_RDWR)

    def _next_cut(self):
        with self._guard:
            moment = next(self._cuts, None)
            self.n_cut += moment is not None
            return moment
