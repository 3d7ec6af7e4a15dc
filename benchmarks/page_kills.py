"""The server of `benchmarks.page` killed again and again while programs judge, or people's pages in a browser."""

from __future__ import annotations

import http.client
import json
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from activeeval.campaigns.store import open_store
from benchmarks.frame.report import figure
from benchmarks.page_served import NAME, Server, made, served

N_PROGRAMS = 8
MOST_S = 20.0
"""A server lives so long at most before it is killed."""
JUST_AFTER_S = 0.1
"""It is killed within so long after the answer that it was to live for."""


@dataclass(slots=True)
class Program:
    """A judge's program that asks again until it has an answer."""

    port: int
    token: str
    campaign: str = NAME
    acknowledged: list[dict[str, Any]] = field(default_factory=list)
    must_end: bool = False

    def run(self) -> None:
        """Judge until it must end, or nothing is left."""
        item = self._ask("claim", {})
        while item and not self.must_end:
            grade = len(self.acknowledged) % 3
            reply = self._ask("submit", {"token": item["token"], "grade": grade, "then_claim": True})
            if not reply:
                return
            self.acknowledged.append(reply)
            item = reply["next"]

    def _ask(self, verb: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        while not self.must_end:
            line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
            try:
                line.request("POST", f"/api/campaigns/{self.campaign}/{verb}", json.dumps(body), headers)
                answer = line.getresponse()
                text = answer.read()
                if answer.status == 200:
                    reply: dict[str, Any] = json.loads(text)
                    return reply
                if answer.status != 503:
                    raise RuntimeError(f"{answer.status}: {text[:200]!r}")
            except (OSError, http.client.HTTPException, json.JSONDecodeError):
                pass
            finally:
                line.close()
            time.sleep(0.05)
        return {}


class Programs:
    """Eight programs, each in a thread."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._programs: list[Program] = []
        self._threads: list[threading.Thread] = []

    def begin(self, server: Server) -> None:
        """Begin to judge; the tokens that the first server printed stay good."""
        self._programs = [Program(self._port, judge["token"]) for judge in server.judges]
        self._threads = [threading.Thread(target=program.run, daemon=True) for program in self._programs]
        for thread in self._threads:
            thread.start()

    def is_at_it(self) -> bool:
        """Whether any program judges still."""
        return any(thread.is_alive() for thread in self._threads)

    @property
    def n_acknowledged(self) -> int:
        """How many answers servers have acknowledged so far."""
        return sum(len(program.acknowledged) for program in self._programs)

    def end(self) -> list[tuple[int, int]]:
        """Stop; return number of the event and grade of each answer that was acknowledged."""
        for program in self._programs:
            program.must_end = True
        for thread in self._threads:
            thread.join()
        replies = (reply for program in self._programs for reply in program.acknowledged)
        return [(reply["seq"], reply["grade"]) for reply in replies]


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def kill_servers(url: str, port: int, names: list[str], judges: Any, kills: int, least: int, seed: int = 0) -> int:
    """Kill a campaign's server ``kills`` times, and until ``least`` answers are acknowledged; count the kills.

    Each lives for a random number of answers, so that all together come to what is wanted, and a moment longer.
    """
    throw, done = random.Random(seed), 0
    while not done or (judges.is_at_it() and (done < kills or judges.n_acknowledged < least)):
        # later servers print links and tokens too; those of the first one stay good
        with served(url, [] if done else names, port) as server:
            if not done:
                judges.begin(server)
            until, most = judges.n_acknowledged + throw.uniform(0.2, 2.0) * least / kills, time.perf_counter() + MOST_S
            while judges.is_at_it() and judges.n_acknowledged < until and time.perf_counter() < most:
                time.sleep(0.005)
            time.sleep(throw.uniform(0.0, JUST_AFTER_S))
            server.process.kill()
            server.process.wait()
        done += 1
    return done


def killed(url: str, kills: int, least: int) -> list[dict[str, Any]]:
    """Kill the server beside programs, and check the answers that it acknowledged before."""
    made(url, 2 * least + 500)
    port = free_port()
    programs = Programs(port)
    names = [f"program{k}" for k in range(N_PROGRAMS)]
    done = kill_servers(url, port, names, programs, kills, least)
    acknowledged = programs.end()
    with open_store(url) as db:
        stored = {event.seq: event for event in db.events(NAME) if event.kind == "judged"}
    lost = sum(seq not in stored or stored[seq].grade != grade for seq, grade in acknowledged)
    return kept_figures(url, done, len(acknowledged), lost, least)


def kept_figures(url: str, done: int, n_acknowledged: int, lost: int, least: int) -> list[dict[str, Any]]:
    """Return figures of the answers that were acknowledged, and of what is stored."""
    with open_store(url) as db:
        places = Counter((event.unit, event.doc_id) for event in db.events(NAME) if event.kind == "judged")
        problems = db.verify(NAME)
    return [
        figure("kills", done, ""),
        figure("answers acknowledged", n_acknowledged, "", at_least=least),
        figure("acknowledged and lost", lost, "", at_most=0),
        figure("items stored twice", _repeated(places.values()), "", at_most=0),
        figure("what campaign verify finds", len(problems), "", at_most=0, problems=problems[:5]),
    ]


def _repeated(counts: Iterable[int]) -> int:
    return sum(n > 1 for n in counts)
