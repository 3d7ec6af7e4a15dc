"""Small campaigns, and a clock that goes on when it is told to."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S

import activeeval
from activeeval.campaigns.store import CampaignRow, JudgeAnswer, PlaceRow, SampleRow, UnitRow

SECOND = 1_000_000


class Clock:
    def __init__(self):
        self.now = 1_800_000_000 * SECOND

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += round(seconds * SECOND)


def make_units(n_units=4, n_items=2, per_block=2, first=1, version=1):
    units = []
    for number in range(first, first + n_units):
        pairs = [(f"d{number}-{j}", 1 / (number + j)) for j in range(n_items)]
        places = tuple(PlaceRow(doc_id=d, probability=p, text={"title": f"Title {number} é"}) for d, p in pairs)
        query = {"query_id": f"q{number % 3}", "query_text": f"text {number % 3}"}
        rest = {"level": number / 7, "cost": 1.25, "places": places, "version": version}
        units.append(UnitRow(number=number, block=1 + (number - 1) // per_block, **query, **rest))
    return units


def make_campaign(store, units=None, *, k=1, name="night", ended="", **rules):
    rules = {"judges_per_item": k, "lease_s": 900, "max_grade": 4} | rules
    campaign = CampaignRow(name=name, config={"b": [1, 0.5], "a": None}, **rules)
    sample = SampleRow(version=1, digest="abc", payload=b"\x00\xffsample")
    return store.create(campaign, sample, make_units() if units is None else units, ended)


def script(name, *arguments):
    """Return the command of a script beside this file, and the environment that it runs in."""
    home = str(Path(activeeval.__file__).parents[1])
    command = [sys.executable, str(Path(__file__).with_name(name)), *arguments]
    return command, {"PYTHONPATH": f"{home}:{home}/tests", "PATH": ""}


def output_of(command, environment):
    """Run a script to its end; return what came of it, and the rows of JSON that it has written."""
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE_S)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


def grade(value=1, **fields):
    return JudgeAnswer(kind="judged", grade=value, **fields)


def work_off(store, judge, name="night", value=1):
    """Judge until nothing is left; return what was claimed."""
    claimed = []
    got = store.claim(name, judge)
    while got is not None:
        claimed.append(got)
        _, got = store.submit_and_claim(name, got.token, grade(value))
    return claimed


def complaint(kind, ask):
    """Return the one line that something ends with."""
    with pytest.raises(kind) as caught:
        ask()
    says = str(caught.value)
    assert "\n" not in says
    assert len(says) < 400
    return says


def check_whole(store):
    """Check that the log is whole, and that rebuilding what follows from it changes nothing."""
    assert store.verify("night") == []
    before = store.waiting("night")
    store.rebuild("night")
    assert (store.verify("night"), store.waiting("night")) == ([], before)
