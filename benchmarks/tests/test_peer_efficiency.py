"""What peers are given of a question, and what is made of their answers; their own code runs where it is installed."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from activeeval import METHODS
from benchmarks import peer_efficiency, peer_environment, peer_worker
from benchmarks.frame.experiment import Options
from benchmarks.pools import generated

POOL = generated(n_queries=110)
GRADES = POOL.inputs.grades
QUESTIONS = [
    ("DCG@10", "one ranking", 5.0),
    ("P@10", "two rankers", 0.0),
    ("ERR", "index update", 1.0),
    ("nDCG@10", "two rankers", 5.0),
]


@pytest.fixture(scope="module", params=QUESTIONS, ids=lambda question: f"{question[0]}, {question[1]}")
def question(request):
    where, arrays, passive = peer_efficiency.asked(POOL, request.param, "forest", 0.1)
    return POOL.target(*request.param), where, arrays, passive


def test_units_that_are_all_labelled_give_the_truth(question):
    target, _, arrays, _ = question
    truth = float(target.pool.query_probs @ target.values(GRADES))
    assert arrays["truth"] == pytest.approx(truth)
    for name in ("values", "item_values"):
        if name in arrays:
            assert arrays["known"] + arrays["scale"] * arrays[name].mean() == pytest.approx(truth, abs=1e-12)
    assert ("item_values" in arrays) == METHODS["items"].fits(target.measure)


def test_predictions_are_the_model_s_moments(question):
    target, _, arrays, _ = question
    model = POOL.beliefs.for_method(METHODS["whole"], POOL.max_grade + 1)
    expected = METHODS["whole"].design(target, **model).reading().predictions
    total = arrays["known"] + arrays["scale"] * arrays["predictions"].mean()
    assert total == pytest.approx(float(target.pool.query_probs @ expected))
    assert (arrays["spreads"] >= 0).all()
    if "item_values" in arrays:
        assert arrays["item_predictions"].mean() == pytest.approx(arrays["predictions"].mean())


def test_costs_are_those_of_judging_and_of_turning_to_a_query(question):
    target, where, arrays, passive = question
    assert arrays["budget"] == pytest.approx(0.1 * passive.cost)
    pool, unit = target.pool, target.pool.item_costs.mean()
    wanted = np.bincount(pool.item_queries, target.matters * pool.item_costs / unit, minlength=pool.n_queries)
    assert arrays["costs"] == pytest.approx(wanted[wanted > 0] + where["overhead"])
    by_depth = np.vstack((np.full(arrays["costs"].size, where["overhead"]), arrays["head_costs"], arrays["costs"]))
    assert (np.diff(by_depth, axis=0) >= -1e-9).all()
    assert (by_depth[1] > by_depth[0]).all()
    if "item_costs" in arrays:
        owned = np.bincount(arrays["item_owners"], arrays["item_costs"])
        assert owned + arrays["overheads"] == pytest.approx(arrays["costs"])


def test_a_head_as_long_as_its_list_is_the_whole_query(monkeypatch):
    monkeypatch.setattr(peer_efficiency, "DEPTHS", (1, 10_000))
    _, arrays, _ = peer_efficiency.asked(POOL, ("ERR", "two rankers", 1.0), "forest", 0.1)
    assert arrays["heads"][1] == pytest.approx(arrays["values"], abs=1e-9)
    assert arrays["head_costs"][1] == pytest.approx(arrays["costs"])
    assert np.abs(arrays["heads"][0] - arrays["values"]).max() > 1e-3


def test_the_cost_of_items_counts_their_queries_once():
    columns, owners, overheads = np.ones((3, 4)), np.array([0, 0, 0, 1]), np.array([5.0, 3.0])
    costs, strata = np.array([1.0, 1, 1, 2]), np.zeros(4, int)
    units = peer_worker.Units("items", columns[0], *columns, costs, strata, owners, overheads)
    assert units.spent(np.array([0, 2])) == 2 + 5
    assert units.cost(np.full(4, 0.5)) == pytest.approx(2.5 + 5 * (1 - 0.5**3) + 3 * 0.5)
    n = peer_worker.number_for(lambda n: units.cost(np.full(4, n / 4)), 4, 9.0)
    assert n == 2
    probs = peer_worker.capped(np.array([1.0, 1, 1, 97]), 2.0)
    assert probs == pytest.approx([0.3333667, 0.3333667, 0.3333667, 0.9999])


def test_no_figure_stands_where_a_peer_does_not_run():
    assert peer_efficiency.against({"missing": "too few"}, 1.0, 0.1) == {}
    found = peer_efficiency.against({"mse": 0.25, "mse_se": 0.025}, 1.0, 0.05)
    assert (found["efficiency"], found["efficiency_se"]) == pytest.approx((4.0, 4 * np.hypot(0.1, 0.1)))
    rows = peer_worker.answer({**dict(QUIET), "budget": 5.0}, 3, 0)
    assert all("missing" in row or row["mse"] >= 0 for row in rows)


QUIET = {
    **{name: np.linspace(1, 2, 12) for name in ("values", "predictions", "spreads", "costs")},
    "depths": np.empty(0, int),
    "heads": np.empty((0, 12)),
    "head_costs": np.empty((0, 12)),
    "truth": 1.5,
    "known": 0.0,
    "scale": 1.0,
    "overheads": np.zeros(12),
}


def test_the_environment_is_made_with_a_python_that_runs():
    assert peer_environment.interpreter().exists()
    assert peer_environment.versions(peer_environment.ROOT / "nowhere") == {}
    assert sys.version_info >= (3, 11)


@pytest.mark.skipif(not peer_environment.python().exists(), reason="the peers' environment is not made here")
def test_peers_run_on_a_question_and_say_how_well():
    options = Options(overhead=[5.0], model=["forest"], share=0.2, repetitions=40, seed=1, passive=60)
    options.environment = peer_environment.FOLDER
    rows = peer_efficiency.rows_of(POOL, "DCG@10", "one ranking", options)
    budget = 0.2 * METHODS["passive"].design(POOL.target("DCG@10", "one ranking", 5.0)).cost
    ran = [row for row in rows if "missing" not in row]
    assert {row["peer"].split(",")[0] for row in ran} == {"PPI++", "ASI", "stratified PPI++"}
    assert {row["units"] for row in ran} >= {"queries", "items", "heads of 1"}
    for row in ran:
        assert row["spent"] == pytest.approx(budget, rel=0.25)
        assert row["efficiency"] > 0
        if not row["units"].startswith("heads"):
            assert abs(row["bias"]) < 5 * np.sqrt(row["mse"] / 40)  # one false alarm in a million
            assert row["coverage"] > 0.6
