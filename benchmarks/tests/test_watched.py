"""The benchmark of watches on small pools: the same on every run, and what it counts is what it says."""

from __future__ import annotations

import json

import numpy as np
import pytest

from activeeval.core.pool import Rankings
from activeeval.core.pool.generated import generate_pool, noisy_scores
from activeeval.inputs.loading import Inputs
from activeeval.inputs.modelling import GradeBeliefs
from benchmarks import watched
from benchmarks.machine import store
from benchmarks.pools import JudgedPool
from benchmarks.watched_alarms import Part, gate_alarms, quiet_series


@pytest.fixture(scope="module")
def pool():
    made = generate_pool(25, 3)
    expected = made.grades + noisy_scores(np.zeros(made.grades.size), 1)
    probs = np.exp(-((np.arange(5) - expected[:, None]) ** 2) / 2)
    beliefs = GradeBeliefs(probs / probs.sum(axis=1, keepdims=True))
    ranking = Rankings.from_scores(made.pool, expected)
    return JudgedPool("small", Inputs(made.pool, (ranking,), made.grades, None), ranking, beliefs, 4)


def test_a_chain_is_the_same_again_and_shares_lie_below_one_later(pool, monkeypatch, tmp_path):
    monkeypatch.setitem(watched.POOLS, "small", lambda: pool)
    (section,) = watched.pool_sections("small", 1, 1, 10, 3)
    (again,) = watched.pool_sections("small", 1, 1, 10, 3)
    assert section["nights"] == again["nights"]
    assert [night["night"] for night in section["nights"]] == [1, 2, 3]
    assert section["nights"][2]["ratio"] < section["nights"][0]["ratio"]
    out = tmp_path / "out.json"
    for one in (section, section | {"title": "other"}, section | {"chains": 9}):
        store(out, watched.placed(out, {"seed": 1}, [one]))
    stored = json.loads(out.read_text())["watched"]["sections"]
    assert [each["title"] for each in stored] == ["other", "small, 3 nights"]
    assert stored[1]["chains"] == 9
    assert stored[1]["measured"]["seed"] == 1


def test_a_worse_ranking_loses_as_much_as_is_asked_and_both_ways_find_a_large_loss(pool):
    part = Part.of(pool, np.arange(25))
    bad = part.worse(0.3, 1)
    assert 1 - part.value(bad) / part.value(part.ranking) == pytest.approx(0.3, abs=0.02)
    assert gate_alarms(part, bad, part.ranking, 200.0, 20, 1, 0.95).mean() > 0.5
    assert not gate_alarms(part, part.ranking, part.ranking, 30.0, 20, 1, 0.999).all()
    by_rule = quiet_series(part, 1, 5, 3, 10.0, 0.1)
    assert {each.shape for both in by_rule.values() for each in both} == {(3, 5)}
