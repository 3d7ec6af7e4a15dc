"""The server killed again and again while eight programs judge: what it has acknowledged is there, once."""

import json
import subprocess
import sys
import threading
import time

import pytest
from campaigns.store.store_cases import make_campaign, make_units
from databases import free_port
from patience import PATIENCE_S

from activeeval.campaigns.store import open_store
from benchmarks.page_kills import Program

N_JUDGES, KILLS, LEAST, EACH_S = 8, 50, 5000, 1.5


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
    programs = [Program(port, person["token"], "night") for person in people]
    threads = [threading.Thread(target=program.run, daemon=True) for program in programs]
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
        thread.join(PATIENCE_S)
    server.kill()
    server.communicate()
    with open_store(database_url) as store:
        events = {event.seq: event for event in store.events("night")}
        assert store.verify("night") == []
    acknowledged = [reply for program in programs for reply in program.acknowledged]
    n_twice = sum(bool(reply.get("repeated")) for reply in acknowledged)
    print(f"{len(acknowledged)} acknowledged over {n_kills} kills, {n_twice} of them asked twice")
    assert {reply["kind"] for reply in acknowledged} == {"judged"}
    for reply in acknowledged:
        event = events[reply["seq"]]
        assert all(getattr(event, name) == reply[name] for name in ("kind", "query_id", "doc_id", "grade"))
    judged = [(event.unit, event.doc_id) for event in events.values() if event.kind == "judged"]
    assert len(judged) == len(set(judged))
    assert len(judged) - len({reply["seq"] for reply in acknowledged}) <= N_JUDGES
