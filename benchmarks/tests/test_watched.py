"""The benchmark of watches on small pools: the same on every run, and what it counts is what it says."""

from __future__ import annotations

from argparse import Namespace

import numpy as np
import pytest

from activeeval.core.pool import Rankings
from activeeval.core.pool.generated import generate_pool, noisy_scores
from activeeval.inputs.loading import Inputs
from activeeval.inputs.modelling import GradeBeliefs
from benchmarks import watched
from benchmarks.pools import JudgedPool
from benchmarks.watched import question
from benchmarks.watched_alarms import gate_alarms, quiet_series, value_of, worse


@pytest.fixture(scope="module")
def pool():
    made = generate_pool(25, 3)
    expected = made.grades + noisy_scores(np.zeros(made.grades.size), 1)
    probs = np.exp(-((np.arange(5) - expected[:, None]) ** 2) / 2)
    beliefs = GradeBeliefs(probs / probs.sum(axis=1, keepdims=True))
    ranking = Rankings.from_scores(made.pool, expected)
    return JudgedPool("small", Inputs(made.pool, (ranking,), made.grades, made.features), ranking, beliefs, 4)


def test_a_chain_is_the_same_again_and_shares_lie_below_one_later(pool):
    options = Namespace(chains=1, keys=10, nights=3, seed=1)
    section, again = (watched.labels(options, lambda: pool) for _ in range(2))
    assert section["rows"] == again["rows"]
    assert [night["night"] for night in section["rows"]] == [1, 2, 3]
    assert section["rows"][2]["ratio"] < section["rows"][0]["ratio"]


def test_a_worse_ranking_loses_as_much_as_is_asked_and_both_ways_find_a_large_loss(pool):
    good, bad = pool.inputs.ranking, worse(pool, 0.3, 1)
    assert 1 - value_of(pool, bad) / value_of(pool, good) == pytest.approx(0.3, abs=0.02)
    assert gate_alarms(pool, question(pool, bad, good), 200.0, 20, 1, 0.95).mean() > 0.5
    assert not gate_alarms(pool, question(pool, good, good), 30.0, 20, 1, 0.999).all()
    by_rule = quiet_series(pool.part(np.arange(20)), 1, 5, 3, 10.0, 0.1)
    assert {each.shape for both in by_rule.values() for each in both} == {(3, 5)}
