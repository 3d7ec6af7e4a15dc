"""The server killed again and again while eight programs judge: what it has acknowledged is there, once."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

import pytest
from databases import free_port
from store.store_cases import make_campaign, make_units

from activeeval.store import open_store

N_JUDGES, KILLS, LEAST, EACH_S = 8, 50, 5000, 1.5


@dataclass
class Program:
    """A judge's program that asks again until it has an answer."""

    port: int
    token: str
    acknowledged: list = field(default_factory=list)
    repeated: int = 0
    must_end: bool = False

    def ask(self, verb, body):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        while not self.must_end:
            line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
            try:
                line.request("POST", f"/api/campaigns/night/{verb}", json.dumps(body), headers)
                answer = line.getresponse()
                text = answer.read()
                if answer.status == 200:
                    return json.loads(text)
                assert answer.status == 503, text
            except (OSError, http.client.HTTPException):
                pass
            finally:
                line.close()
            time.sleep(0.05)
        return {}

    def work(self):
        item = self.ask("claim", {})
        while item and not self.must_end:
            done = self.ask("submit", {"token": item["token"], "grade": 1, "then_claim": True})
            if not done:
                return
            self.acknowledged.append((done["seq"], done["kind"], done["query_id"], done["doc_id"]))
            self.repeated += bool(done.get("repeated"))
            item = done["next"]


def started(url, port, *words):
    command = [sys.executable, "-m", "activeeval", "--quiet", "serve", "night", "--db", url]
    words = (*command, "--port", str(port), "-o", "jsonl", *words)
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_nothing_that_was_acknowledged_is_lost_or_stored_twice(database_url):
    with open_store(database_url, create=True) as store:
        make_campaign(store, make_units(4000, 4, per_block=500), max_grade=4)
    port = free_port()
    names = [word for k in range(N_JUDGES) for word in ("--judge", f"judge{k}")]
    server = started(database_url, port, *names)
    people = [json.loads(server.stdout.readline()) for _ in range(1 + N_JUDGES)][1:]
    programs = [Program(port, person["token"]) for person in people]
    threads = [threading.Thread(target=program.work, daemon=True) for program in programs]
    for thread in threads:
        thread.start()
    n_kills = 0
    while n_kills < KILLS or sum(len(program.acknowledged) for program in programs) < LEAST:
        n_kills += 1
        time.sleep(EACH_S)
        server.kill()
        server.communicate()
        server = started(database_url, port)
        server.stdout.readline()
    time.sleep(EACH_S)
    for program in programs:
        program.must_end = True
    for thread in threads:
        thread.join(30)
    server.kill()
    server.communicate()
    with open_store(database_url) as store:
        events = {event.seq: event for event in store.events("night")}
        assert store.verify("night") == []
    acknowledged = [row for program in programs for row in program.acknowledged]
    n_twice = sum(program.repeated for program in programs)
    print(f"{len(acknowledged)} acknowledged over {n_kills} kills, {n_twice} of them asked twice")
    assert {row[1] for row in acknowledged} == {"judged"}
    for seq, kind, query_id, doc_id in acknowledged:
        event = events[seq]
        assert (event.kind, event.query_id, event.doc_id) == (kind, query_id, doc_id)
    judged = [(event.unit, event.doc_id) for event in events.values() if event.kind == "judged"]
    assert len(judged) == len(set(judged))
    assert len(judged) - len({row[0] for row in acknowledged}) <= N_JUDGES
