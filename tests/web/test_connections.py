"""Connections before anybody is known: limits of heads in bytes and in time, and of their number."""

import asyncio

import pytest
import uvicorn
from uvicorn.server import ServerState

from activeeval.web import connections
from activeeval.web.connections import HEAD_BYTES, HEAD_S, MOST, Connection, HandshakeTimeoutLoop
from activeeval.web.middleware import BODY_S, HEADERS, LINGERS_S

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\n"


class Hand:
    """A loop whose clock a test moves."""

    def __init__(self):
        self.now, self.timers, self.tasks = 0.0, [], []

    def time(self):
        return self.now

    def call_later(self, delay, then, *arguments):
        timer = asyncio.TimerHandle(self.now + delay, then, arguments, self)
        self.timers.append(timer)
        return timer

    def _timer_handle_cancelled(self, timer):
        pass

    def get_debug(self):
        return False

    def create_task(self, work, **_):
        work.close()  # what the application says is another test's matter
        task = asyncio.Future(loop=self)
        self.tasks.append(task)
        return task

    def call_soon(self, *_, **__):
        pass

    def wait(self, seconds):
        until = self.now + seconds
        while due := sorted(
            (t for t in self.timers if not t.cancelled() and t.when() <= until), key=lambda t: t.when()
        ):
            self.timers.remove(due[0])
            self.now = due[0].when()
            due[0]._callback(*due[0]._args)
        self.now = until


class Line:
    """The other side of a connection, and what it was sent."""

    def __init__(self, server, takes=True):
        self.sent, self.is_open, self.takes, self.n_left = b"", True, takes, 0
        self.protocol = Connection(server.config, server.state, {}, server.loop)
        self.protocol.connection_made(self)

    def get_extra_info(self, _, default=None):
        return default

    def write(self, data):
        self.sent += data
        self.n_left += 0 if self.takes else len(data)

    def get_write_buffer_size(self):
        return self.n_left

    def is_closing(self):
        return not self.is_open

    def close(self):
        self.is_open = False

    abort = close

    def pause_reading(self):
        pass

    resume_reading = pause_reading

    def send(self, data):
        self.protocol.data_received(data)

    @property
    def status(self):
        return int(self.sent.split()[1]) if self.sent else None

    def is_answered(self):
        """Have the application say that all is well."""
        cycle = self.protocol.cycle
        cycle.response_complete = True
        cycle.on_response()


class Server:
    def __init__(self):
        self.loop, self.state = Hand(), ServerState()
        self.config = uvicorn.Config(lambda *_: None, log_level="critical", http=Connection)
        self.config.load()


@pytest.fixture
def server():
    return Server()


HEADS = {
    "a long header": GET[:-2] + b"A: " + b"x" * 10**6,
    "many headers": GET[:-2] + b"".join(b"A%d: x\r\n" % k for k in range(10**5)),
    "the name of a header": GET[:-2] + b"A" * 10**6,
    "an address": b"GET /" + b"x" * 10**6,
    "a method": b"\r\n" * 10**5,
    "trailers": POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nA: " + b"x" * 10**6,
    "the extension of a chunk": POST + b"Transfer-Encoding: chunked\r\n\r\n1;a=" + b"x" * 10**6,
}


@pytest.mark.parametrize("size", [1, 1000, 10**7])
@pytest.mark.parametrize("name", HEADS)
def test_what_is_no_body_has_a_limit_in_whatever_pieces_it_comes(server, name, size):
    line, n = Line(server), 0
    data = HEADS[name][: 3 * HEAD_BYTES if size == 1 else None]
    for at in range(0, len(data), size):
        if not line.is_open or line.status:
            break
        n += size
        line.send(data[at : at + size])
    assert line.status in ({None} if "chunked" in str(data[:80]) else {400, 431})
    assert n <= HEAD_BYTES + 200 + 2 * size
    server.loop.wait(LINGERS_S)
    assert not line.is_open


NO_HTTP = (b"nothing\r\n\r\n", b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", b"\x16\x03\x01\x00\r\n\r\n")


@pytest.mark.parametrize("data", [HEADS["many headers"], *NO_HTTP], ids=range(4))
def test_what_is_refused_says_why_with_the_headers_of_all_answers(server, data):
    line = Line(server)
    line.send(data)
    head, _, says = line.sent.decode().partition("\r\n\r\n")
    status = "400 Bad Request" if data in NO_HTTP else "431 Request Header Fields Too Large"
    assert head.splitlines()[0] == f"HTTP/1.1 {status}"
    assert {f"{name}: {value}" for name, value in HEADERS.items()} <= set(head.splitlines())
    assert data in NO_HTTP or says == "Headers may have 16,384 bytes."
    before = line.sent
    line.send(b"x" * 10**7)  # is let go
    assert line.sent == before


def test_a_head_below_the_limit_and_a_large_body_are_read(server):
    line = Line(server)
    line.send(GET[:-2] + b"A: " + b"x" * (HEAD_BYTES - 100) + b"\r\n\r\n")
    assert line.status is None
    assert len(server.loop.tasks) == 1
    line.is_answered()
    line.send(POST + b"Content-Length: 60000\r\n\r\n" + b"x" * 60_000)
    assert len(line.protocol.cycle.body) == 60_000
    line = Line(server)
    line.send(POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 30_000)
    assert len(line.protocol.cycle.body) == 30_000
    assert line.is_open


@pytest.mark.parametrize("begins", [True, False])
def test_a_head_that_trickles_in_is_waited_for_ten_seconds(server, begins):
    line = Line(server)
    for second in range(int(HEAD_S)):
        assert line.is_open
        if begins:
            line.send(GET[second : second + 1])
        server.loop.wait(1)
    assert line.status == (408 if begins else None)
    server.loop.wait(LINGERS_S)
    assert not line.is_open


def test_who_was_answered_may_be_slow_neither_in_the_next_request(server):
    line = Line(server)
    line.send(GET)
    server.loop.wait(100)
    assert line.is_open  # while the application is at it nobody hurries it
    line.is_answered()
    for _ in range(20):
        line.send(b"\r\n")
        server.loop.wait(1)
    assert not line.is_open


def test_whoever_takes_nothing_of_an_answer_is_ended_and_whoever_takes_some_is_not(server):
    stalls, takes = Line(server, takes=False), Line(server, takes=False)
    for line in (stalls, takes):
        line.send(GET[:-2] + b"Connection: close\r\n\r\n")
        line.write(b"x" * 1000)
        line.is_answered()
    for _ in range(3):
        server.loop.wait(BODY_S - 1)
        takes.n_left = max(1, takes.n_left - 100)
    assert (stalls.is_open, takes.is_open) == (False, False)  # uvicorn ends who is idle, and waits for what is left
    stalls, takes = Line(server, takes=False), Line(server, takes=False)
    for line in (stalls, takes):
        line.send(GET)
        line.write(b"x" * 10**6)
        line.protocol.pause_writing()
    for _ in range(5):
        server.loop.wait(BODY_S - 1)
        takes.n_left -= 1000
    assert (stalls.is_open, takes.is_open) == (False, True)


def test_one_more_takes_the_place_of_the_one_that_has_kept_the_server_waiting_longest(server):
    answering, judge = Line(server), Line(server)
    answering.send(GET)
    judge.send(GET)
    judge.is_answered()
    slow = []
    for _ in range(MOST - 2):
        server.loop.wait(0.001)
        slow.append(Line(server))
        slow[-1].send(b"G")
    assert all(line.is_open for line in (answering, judge, *slow))
    more = [Line(server) for _ in range(100)]  # in one turn of the loop
    assert [line.is_open for line in slow] == [False] * 100 + [True] * (MOST - 102)
    assert all(line.is_open for line in (answering, judge, *more))
    assert len(server.state.connections) == MOST


def test_a_body_that_is_waited_for_gives_way_and_answers_do_not(server):
    bodies = [Line(server) for _ in range(MOST)]
    for line in bodies:
        line.send(POST + b"Content-Length: 9\r\n\r\n")
    assert Line(server).is_open
    assert sum(line.is_open for line in bodies) == MOST - 1
    busy = Server()
    answers = [Line(busy) for _ in range(MOST)]
    for line in answers:
        line.send(GET)
    late = Line(busy)
    assert late.status == 503
    assert all(line.is_open for line in answers)


def test_requests_that_are_sent_before_the_answer_have_a_limit(server):
    line = Line(server)
    line.send(GET * 10_000)
    assert not line.is_open
    assert len(line.protocol.pipeline) < 10


def test_a_handshake_of_tls_is_waited_for_as_long_as_a_head(monkeypatch):
    asked = []
    monkeypatch.setattr(asyncio.SelectorEventLoop, "create_server", lambda *_, **options: asked.append(options))
    loop = HandshakeTimeoutLoop()
    loop.create_server(None, ssl=None)
    loop.create_server(None, ssl="context")
    loop.close()
    assert asked == [{"ssl": None}, {"ssl": "context", "ssl_handshake_timeout": HEAD_S}]
    assert connections.MOST + 2 * connections.BACKLOG < 1024
