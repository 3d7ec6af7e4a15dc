"""The server of `benchmarks.page` killed again and again while programs judge."""

from __future__ import annotations

import http.client
import json
import random
import socket
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from activeeval.store import open_store
from benchmarks.machine import figure
from benchmarks.page_served import NAME, made, served

N_PROGRAMS = 8
MOST_S = 3.0
"""A server lives so long at most before it is killed."""


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


def killed(url: str, kills: int, least: int, seed: int = 0) -> list[dict[str, Any]]:
    """Return what became of the answers that a server acknowledged before it was killed."""
    made(url, 3 * least + 500)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    throw = random.Random(seed)
    programs: list[Program] = []
    threads: list[threading.Thread] = []
    done = 0
    while done < kills or sum(len(program.acknowledged) for program in programs) < least:
        # later servers print tokens too; those of the first one stay good
        judges = [] if programs else [f"program{k}" for k in range(N_PROGRAMS)]
        with served(url, judges, port) as server:
            if not programs:
                programs = [Program(port, judge["token"]) for judge in server.judges]
                threads = [threading.Thread(target=program.run, daemon=True) for program in programs]
                for thread in threads:
                    thread.start()
            time.sleep(throw.uniform(0.2, MOST_S))
            server.process.kill()
            server.process.wait()
        done += 1
        if not any(thread.is_alive() for thread in threads):
            break
    for program in programs:
        program.must_end = True
    for thread in threads:
        thread.join()
    return _told(url, done, programs)


def _told(url: str, done: int, programs: list[Program]) -> list[dict[str, Any]]:
    acknowledged = [(reply["seq"], reply["grade"]) for program in programs for reply in program.acknowledged]
    with open_store(url) as db:
        stored = {event.seq: event for event in db.events(NAME) if event.kind == "judged"}
        problems = db.verify(NAME)
    lost = [seq for seq, grade in acknowledged if seq not in stored or stored[seq].grade != grade]
    places = Counter((event.unit, event.doc_id) for event in stored.values())
    return [
        figure("kills", done, ""),
        figure("answers acknowledged", len(acknowledged), ""),
        figure("acknowledged and lost", len(lost), "", at_most=0),
        figure("items stored twice", sum(n > 1 for n in places.values()), "", at_most=0),
        figure("what campaign verify finds", len(problems), "", at_most=0, problems=problems[:5]),
    ]
