"""Processes killed with SIGKILL in the middle of their work: what was acknowledged is there."""

import json
import random
import subprocess
import time
from collections import Counter

import pytest
from store_cases import make_campaign, make_units, script

from activeeval.campaigns.store import open_store


class Judges:
    """Scripted judges, each a process that writes to a file of its own."""

    def __init__(self, url, folder, n_judges):
        self.url, self.folder = url, folder
        self.processes = [self.started(i) for i in range(n_judges)]

    def started(self, i):
        with (self.folder / f"{i}.jsonl").open("ab") as out:
            command, environment = script("scripted_judge.py", self.url, f"judge {i}")
            return subprocess.Popen(command, stdout=out, env=environment)

    def kill(self, i):
        """Kill a judge and start him anew; return whether he was still at work."""
        was_at_work = self.processes[i].poll() is None
        self.processes[i].kill()
        self.processes[i].wait()
        self.processes[i] = self.started(i)
        return was_at_work

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()

    def lines(self):
        """Return what was acknowledged; the last line of somebody who was killed may be cut off."""
        for path in sorted(self.folder.glob("*.jsonl")):
            for line in path.read_text().split("\n"):
                if line.endswith("}"):
                    yield json.loads(line)


@pytest.mark.parametrize(
    ("n_judges", "n_kills", "n_answers"), [(3, 2, 20), pytest.param(8, 55, 5000, marks=pytest.mark.slow)]
)
def test_what_was_acknowledged_is_there_after_kills(
    database_url, tmp_path, n_judges, n_kills, n_answers, record_property
):
    rng = random.Random(n_kills)
    with open_store(database_url, create=True) as store:
        make_campaign(store, make_units(max(300, n_answers), 4, per_block=100), lease_s=2)
        judges = Judges(database_url, tmp_path, n_judges)
        try:
            killed = 0
            while killed < n_kills or len(list(judges.lines())) < n_answers:
                time.sleep(rng.uniform(0.2, 0.8))
                if killed < n_kills:
                    killed += judges.kill(rng.randrange(n_judges))
        finally:
            judges.close()
        acknowledged = list(judges.lines())
        log = {event.seq: event for event in store.events("night")}
        assert not [line for line in acknowledged if "error" in line]
        assert len(acknowledged) >= n_answers
        for line in acknowledged:
            event = log[line["seq"]]
            assert (event.key, event.doc_id, event.grade) == (line["key"], line["doc_id"], line["grade"])
        judged = Counter((event.unit, event.doc_id) for event in log.values() if event.kind == "judged")
        assert set(judged.values()) == {1}
        assert store.verify("night") == []
        record_property("shown", f"0 of {len(acknowledged)} lost over {killed} kills, {n_judges} writers")
