"""Bodies that are too large for a server, as a process: refused, and nothing of them is held."""

import select
import socket
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.cookiejar import CookieJar
from pathlib import Path

import pytest
from patience import PATIENCE_S
from web.test_serving import ask, come_in, folder, serving  # noqa: F401

pytestmark = pytest.mark.slow  # a process; what it does is asked of test_connections and test_shield
MEGABYTE = 1 << 20
MOST_BYTES = 50 * MEGABYTE
FORM, JSON = b"application/x-www-form-urlencoded", b"application/json"


def chunked(pieces):
    for piece in pieces:
        yield b"%x\r\n%s\r\n" % (len(piece), piece)


def endless(piece):
    while True:
        yield piece


BODIES = {
    # name: (what stands in the head, pieces, content type, statuses)
    "1 GB, announced": (b"Content-Length: 1000000000", lambda: endless(b"x" * 65_536), FORM, {413}),
    "1 GB, announced, and nothing comes": (b"Content-Length: 1000000000", list, FORM, {413}),
    "endless chunks": (b"Transfer-Encoding: chunked", lambda: chunked(endless(b"x" * 65_536)), FORM, {413}),
    "endless small chunks": (b"Transfer-Encoding: chunked", lambda: endless(b"1\r\nx\r\n" * 10_000), FORM, {413}),
    "a million fields": (b"Transfer-Encoding: chunked", lambda: chunked([b"a=1&" * 10**6]), FORM, {413}),
    "as many fields as a body holds": (b"Content-Length: 64000", lambda: [b"a&" * 32_000], FORM, {400, 422}),
    "deep JSON of 100 MB": (b"Transfer-Encoding: chunked", lambda: chunked(endless(b"[" * 65_536)), JSON, {413}),
    "JSON as deep as a body holds": (b"Content-Length: 64000", lambda: [b"[" * 64_000], JSON, {400, 415, 422}),
    "deep objects": (b"Content-Length: 60000", lambda: [b'{"a":' * 12_000], JSON, {400, 415, 422}),
    "a long number": (b"Content-Length: 60000", lambda: [b"9" * 60_000], JSON, {400, 415, 422}),
}


def refused(port, path, credentials, name):
    """Send a body until an answer comes; return its status."""
    head, pieces, kind, _ = BODIES[name]
    lines = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Origin: http://127.0.0.1:{port}", credentials]
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as line:
        began = time.monotonic()
        line.sendall("\r\n".join(lines).encode() + b"\r\nContent-Type: " + kind + b"\r\n" + head + b"\r\n\r\n")
        for piece in pieces():
            if select.select([line], [], [], 0)[0] or time.monotonic() - began > PATIENCE_S:
                break
            with suppress(TimeoutError):
                line.settimeout(0.1)
                line.sendall(piece)
        line.settimeout(PATIENCE_S)
        answer = line.recv(4096)
    return int(answer.split(b" ", 2)[1])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read where Linux tells it")
def test_headers_of_100_mb_are_refused_and_not_held(at_door):
    pid, port, _ = at_door

    def sent(_):
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as line:
            line.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nA: ".encode())
            for _ in range(100):
                if select.select([line], [], [], 0)[0]:
                    break
                with suppress(OSError):
                    line.sendall(b"x" * MEGABYTE)
            return int(line.recv(4096).split(b" ", 2)[1])

    before = peak(pid)
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(sent, range(8))) == {431}
    grown = peak(pid) - before
    assert grown < MOST_BYTES, f"{grown / MEGABYTE:.0f} MB"


def peak(pid):
    """Return the most memory that a process ever held, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024


@pytest.fixture(scope="module")
def at_door(folder):  # noqa: F811
    """Return the process of a server that has all that it needs in memory, and who may ask it."""
    with serving(folder, "--judge", "eve") as (process, people):
        jar = CookieJar()
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
        for person in people:
            come_in(browser, person["url"]).close()  # the page of the lead imports what estimates need
        cookie = "; ".join(f"{each.name}={each.value}" for each in jar)
        port = int(people[0]["url"].split("/")[2].split(":")[1])
        token = people[1]["token"]
        ask(f"http://127.0.0.1:{port}/api/campaigns/week/claim", token, {})
        time.sleep(2)  # the precision is made
        who = {
            "/judge/answer": f"Cookie: {cookie}",
            "/sign-in": "Accept: text/html",
            "/api/campaigns/week/submit": f"Authorization: Bearer {token}",
        }
        yield process.pid, port, who


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read where Linux tells it")
def test_what_is_too_much_is_refused_and_not_held(at_door):
    """Each body at one of the doors for it, which have the limits of all."""
    pid, port, who = at_door
    before = peak(pid)
    for k, (name, (_, _, kind, statuses)) in enumerate(BODIES.items()):
        path = "/api/campaigns/week/submit" if kind == JSON else ("/judge/answer", "/sign-in")[k % 2]
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _, name=name, path=path: refused(port, path, who[path], name), range(4)))
        assert set(answers) <= statuses, name
    grown = peak(pid) - before
    assert grown < MOST_BYTES, f"{grown / MEGABYTE:.0f} MB"
