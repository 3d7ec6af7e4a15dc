"""The server of `benchmarks.page` before anybody has signed in: slow connections, headers without end, and its page.

Slow connections send a byte of a request every second and are opened anew once they are ended. Meanwhile somebody signs
in, again and again, each time by a connection of his own.
"""

from __future__ import annotations

import http.client
import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from benchmarks.frame.report import figure
from benchmarks.page_served import made, served

N_SLOW, N_LARGE, HEADER_MB = 400, 8, 100
LASTING_S = 30.0
MOST_S, MOST_MB = 1.0, 20.0
_MEGABYTE = 1 << 20
_PAUSE_S = 0.1
_HEAD = b"GET /sign-in HTTP/1.1\r\nHost: x\r\nX-Slow: " + b"x" * 1000


class Slow(threading.Thread):
    """Connections that are as slow as can be.

    Attributes
    ----------
    lasted : list of float
        Seconds after which each of those that were ended was so.
    """

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.must_end, self.lasted = threading.Event(), list[float]()
        self._port = port

    def run(self) -> None:
        """Send a byte of each request every second, and go on with a new one where it is ended."""
        lines = {self._opened(): (time.perf_counter(), iter(_HEAD)) for _ in range(N_SLOW)}
        while not self.must_end.wait(1.0):
            for line, (begun, left) in list(lines.items()):
                if not _goes_on(line, next(left)):
                    del lines[line]
                    self.lasted.append(time.perf_counter() - begun)
                    line.close()
                    lines[self._opened()] = time.perf_counter(), iter(_HEAD)
        for line in lines:
            line.close()

    def _opened(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self._port), timeout=30)


def _goes_on(line: socket.socket, byte: int) -> bool:
    if select.select([line], [], [], 0)[0]:  # an answer, or the end
        return False
    with suppress(OSError):
        line.send(bytes([byte]))
        return True
    return False


def page_seconds(port: int, goes_on: Callable[[], bool]) -> list[float]:
    """Measure the seconds of the page again and again, for as long as something goes on."""
    taken = []
    while goes_on():
        begun = time.perf_counter()
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        line.request("GET", "/sign-in")
        answer = line.getresponse()
        answer.read()
        line.close()
        if answer.status != 200:
            raise RuntimeError(f"the page answered {answer.status}")
        taken.append(time.perf_counter() - begun)
        time.sleep(_PAUSE_S)
    return taken


def large_header(port: int) -> str:
    """Send a header of 100 MB, and return the status of the answer; nothing where the connection broke."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as line, suppress(OSError):
        line.sendall(f"GET /sign-in HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-Large: ".encode())
        for _ in range(HEADER_MB):
            if select.select([line], [], [], 0)[0]:
                break
            line.sendall(b"x" * _MEGABYTE)
        line.sendall(b"\r\n\r\n")
        return line.recv(4096).split(b" ", 2)[1].decode()
    return ""


@contextmanager
def memory_of(pid: int, seen: list[float]) -> Any:
    """Note the memory of a process, in MB, twenty times a second."""
    must_end = threading.Event()

    def look() -> None:
        while not must_end.wait(0.05):
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            seen.append(int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        must_end.set()
        thread.join()


def crowded(url: str) -> list[dict[str, Any]]:
    """Measure the page beside slow connections and large headers, and their memory."""
    made(url, 100)
    with served(url, ["ann"]) as server:
        port = urlsplit(server.lead).port or 0
        until = time.perf_counter() + 5.0  # what the server imports later is there
        page_seconds(port, lambda: time.perf_counter() < until)
        before: list[float] = []
        with memory_of(server.process.pid, before):
            time.sleep(0.3)
        held: list[float] = []
        with memory_of(server.process.pid, held):
            slow = Slow(port)
            slow.start()
            until = time.perf_counter() + LASTING_S
            beside_slow = page_seconds(port, lambda: time.perf_counter() < until)
            slow.must_end.set()
            slow.join()
        large: list[float] = []
        statuses: list[str] = []
        with memory_of(server.process.pid, large):
            senders = [threading.Thread(target=lambda: statuses.append(large_header(port))) for _ in range(N_LARGE)]
            for sender in senders:
                sender.start()
            beside_large = page_seconds(port, lambda: any(sender.is_alive() for sender in senders))
    return [
        figure(
            f"page beside {N_SLOW} slow connections: slowest", max(beside_slow), "s", at_most=MOST_S, n=len(beside_slow)
        ),
        figure("the same: p50", float(np.median(beside_slow)), "s"),
        figure("slow connections that were ended", len(slow.lasted), ""),
        figure("a slow connection lasts: longest", max(slow.lasted, default=np.inf), "s"),
        figure(f"memory for {N_SLOW} slow connections", max(held) - max(before), "MB", at_most=MOST_MB),
        figure(f"page beside {N_LARGE} headers of {HEADER_MB} MB: slowest", max(beside_large), "s", at_most=MOST_S),
        figure(f"memory for {N_LARGE} headers of {HEADER_MB} MB", max(large) - max(before), "MB", at_most=MOST_MB),
        figure("such headers that were answered with a page", statuses.count("200"), "", at_most=0, statuses=statuses),
    ]
