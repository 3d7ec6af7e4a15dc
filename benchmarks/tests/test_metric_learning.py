"""The experiments on learning gains and discounts: seeds, averages, generated sets, small runs, what is expected."""

from __future__ import annotations

import json

import numpy as np
import pytest
from joblib import parallel_config

from benchmarks.machine import ROOT, store
from benchmarks.metric_learning import active, claims, curves, data, news_data, noise, reading, ties, web
from benchmarks.metric_learning.__main__ import EXPERIMENT
from benchmarks.metric_learning.experiments import EXPERIMENTS
from benchmarks.metric_learning.news import folds
from benchmarks.metric_learning.rows import Tables, pivot
from benchmarks.metric_learning.running import Job, averaged, run

STORED = ROOT / "benchmarks" / "results" / "metric-learning.json"


def throws(rng):
    yield "dice", {"sides": 6}, {"mean": rng.integers(1, 7, 10).mean()}


def test_every_row_of_the_table_of_experiments_is_expected_something_of():
    assert {claim.number for claim in claims.CLAIMS} == set(claims.TITLES) == set(range(1, 13))
    assert {claim.experiment for claim in claims.CLAIMS} <= set(EXPERIMENTS)
    assert all(row["found"] == "not run" for row in claims.rows_of({}))


@pytest.mark.skipif(not STORED.exists(), reason="no stored results")
def test_stored_results_answer_every_claim():
    result = json.loads(STORED.read_text())
    rows = claims.rows_of(result["experiments"])
    assert rows == result["claims"]
    assert not [row["what"] for row in rows if row["found"] in ("", "not run")]


def test_rows_are_averaged_within_a_repetition_first_and_without_what_is_undefined():
    first = [("t", {"n": 1}, {"x": 1.0, "y": np.nan}), ("t", {"n": 1}, {"x": 3.0, "y": 5.0})]
    second = [("t", {"n": 1}, {"x": 4.0, "y": np.nan})]
    (row,) = averaged([first, second])["t"]
    assert row["n"] == 1
    assert row["x"] == 3.0
    assert row["x_se"] == pytest.approx(1.0)
    assert row["y"] == 5.0
    assert row["y_se"] is None


def test_one_seed_one_answer_whatever_the_workers_and_further_repetitions():
    job = Job("dice", 3, throws)
    with parallel_config(backend="threading"):
        one, two = (run([job], 3, n_jobs)["dice"]["tables"] for n_jobs in (1, 2))
    assert one == two
    draws = [next(throws(job.rng(repetition)))[2]["mean"] for repetition in range(3)]
    assert one["dice"][0]["mean"] == pytest.approx(np.mean(draws))
    assert len(set(draws)) > 1


def test_pairs_are_told_apart_turned_and_regraded():
    rng = np.random.default_rng(0)
    pairs = data.draw(data.orders_of(data.ONE_LIST), data.TRUTHS["Data 1"], 300, rng)
    assert pairs.precision(data.TRUTHS["Data 1"]) == 1.0
    assert np.array_equal(np.sort(pairs.first, axis=1), np.tile(np.sort(data.ONE_LIST), (300, 1)))
    assert pairs.flipped(75, rng).precision(data.TRUTHS["Data 1"]) == 0.75
    preferred = pairs.preferences()
    gaps = data.Pairs(preferred.preferred, preferred.other, np.ones(300)).scores(data.TRUTHS["Data 1"])
    assert gaps.min() > 0
    # four in five of the new grades are other ones, a standard error is 0.005
    changed = (pairs.regraded(0.25, rng).first != pairs.first).mean()
    assert abs(changed - 0.2) < 0.03


def test_news_shaped_set_has_the_counts_and_its_folds_part_it():
    rng = np.random.default_rng(0)
    made = news_data.generate(rng)
    assert np.bincount(made.labels)[1:].tolist() == [13, 108, 473, 148, 24]
    assert made.pairs.first.shape == (766, 5)
    assert set(np.unique(made.pairs.first)) == {0, 1, 2, 3}
    assert made.is_clear.sum() == 37
    assert made.strict.size == 37 + 256
    tests = np.concatenate([test for _, test in folds(made, rng)])
    assert np.array_equal(np.sort(tests), np.arange(766))


def test_web_style_pairs_are_tops_of_one_query():
    queries = web.Queries([np.array([4] + [0] * 9), np.arange(12) % 3])
    pairs = queries.pairs(np.array([0, 1]), 50, np.random.default_rng(0))
    first = pairs.first[pairs.queries == 0]
    assert np.all((first == 4).sum(axis=1) == 1)
    assert pairs.precision(web.TRUTH) == 1.0


SMALL = {
    curves: {"PAIRS": (20,), "BINNED": (20,), "N_TEST": 200},
    noise: {"TURNED": {20: (0, 5)}, "CROSS_VALIDATED": (), "N_TEST": 200, "PAIRS": (20,), "FEW_PAIRS": (20,)},
    reading: {"N_PAIRS": (30,), "N_RESAMPLES": 3},
    ties: {"N_PAIRS": (40,), "WEIGHTS": (0.0, 1.0), "N_TEST": 200},
    active: {"SHOWN": (10, 14), "POOL": 30, "N_TEST": 200},
}


SLOW = ("agreement", "noisy-grades", "web", "ties-news", "active-web", "active-news", "news", "curves-at-200")
CHEAP = [name for name in EXPERIMENTS if name not in SLOW and not name.startswith(("speed", "coverage"))]


@pytest.mark.parametrize("name", CHEAP)
def test_experiments_run(name, monkeypatch):
    for module, settings in SMALL.items():
        for constant, value in settings.items():
            monkeypatch.setattr(module, constant, value)
    monkeypatch.setattr(noise, "UNGRADED_PAIRS", (20,))
    job = EXPERIMENTS[name]
    found = list(job.run(job.rng(0)))
    assert found
    precisions = [values["precision"] for _, _, values in found if "precision" in values]
    assert all(np.isnan(one) or 0 <= one <= 1 for one in precisions)


def test_a_run_keeps_what_is_stored_of_the_others(tmp_path):
    out = tmp_path / "metric-learning.json"
    store(out, {"command": "first", "experiments": {"ties-news": {"repetitions": 1, "seconds": 1.0, "tables": {}}}})
    result = EXPERIMENT.main(["--only", "agreement", "--repetitions", "2", "--out", str(out)])
    assert (list(result["experiments"]), result["command"]) == (["agreement", "ties-news"], "first")
    rows = Tables(json.loads(out.read_text())["experiments"]).rows("agreement", "summary")
    assert any("log2" in line for line in pivot(rows, ["discount"], "discount", "agree at 1"))


def test_random_choice_and_simple_margin_start_alike(monkeypatch):
    monkeypatch.setattr(active, "SHOWN", (10,))
    rng = np.random.default_rng(0)
    pool = data.draw(data.orders_of(data.ONE_LIST), data.TRUTHS["Data 2"], 40, rng)
    chosen, by_chance = active.both({"shape": "decreasing"}, pool, pool.precision, 10.0, rng)
    assert chosen[2] == by_chance[2]
