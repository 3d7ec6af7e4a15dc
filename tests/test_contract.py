"""The names that outside programs call, each called: what they take and what comes back stays as it is."""

from itertools import product

import numpy as np
import pytest
from each_once import each_once

import activeeval as ae

CALLED = (
    *("QueryPool", "Rankings", "DCG", "ERR", "Additive", "Cascade", "NDCG", "AP", "Precision", "RBP", "RR"),
    *("parse_measure", "Moments", "Target", "METHODS", "Campaign", "replicate", "default_method", "ForestGradeModel"),
    *("QueryFactor", "cross_fitted_probs", "read_letor", "TopKLabelling", "HyperLinearRanker", "ActiveEvalError"),
)
N_QUERIES, N_ITEMS, TOP = 12, 5, 2
RANDOM = np.random.default_rng(0)
GRADES = RANDOM.integers(0, TOP + 1, N_QUERIES * N_ITEMS)
PROBS = RANDOM.dirichlet(np.ones(TOP + 1), N_QUERIES * N_ITEMS)
MEASURES = {
    "DCG": ae.DCG(gains=None, cutoff=3),
    "DCG of gains": ae.DCG(gains=[0.0, 1.0, 3.0], cutoff=3),
    "ERR": ae.ERR(TOP, cutoff=3),
    "Additive": ae.Additive([0.0, 1.0, 2.0], lambda ranks: 1.0 / ranks, 3),
    "Cascade": ae.Cascade([0.0, 0.5, 0.9], lambda ranks: 1.0 / ranks, 3),
    "NDCG": ae.NDCG(cutoff=3),
    "AP": ae.AP(),
    "Precision": ae.Precision(3),
    "RBP": ae.RBP(0.8),
    "RR": ae.RR(),
    "parsed": ae.parse_measure("DCG@3"),
}


@pytest.fixture(scope="module")
def pool():
    return ae.QueryPool(
        query_ids=[f"q{q}" for q in range(N_QUERIES)],
        query_offsets=np.arange(N_QUERIES + 1) * N_ITEMS,
        item_ids=[f"d{k}" for k in range(N_QUERIES * N_ITEMS)],
        item_costs=None,
        query_costs=None,
        query_probs=None,
    )


@pytest.fixture(scope="module")
def rankings(pool):
    scores = RANDOM.random(N_QUERIES * N_ITEMS)
    return ae.Rankings.from_scores(pool, scores), ae.Rankings.from_scores(pool, scores[::-1].copy())


def test_every_name_is_reached_from_the_top():
    assert {name for name in CALLED if not hasattr(ae, name)} == set()


@each_once(("name", MEASURES), ("is_pair", [False, True]))
def test_a_measure_scores_and_expects(pool, rankings, name, is_pair):
    measure, (first, second) = MEASURES[name], rankings
    versus = second if is_pair else None
    assert measure.score(pool, GRADES, first, versus=versus).shape == (N_QUERIES,)
    moments = measure.moments(pool, PROBS, first, versus=versus, node_weights=None)
    assert isinstance(moments, ae.Moments)
    assert moments.mean.shape == moments.second.shape == (N_QUERIES,)
    sure = np.eye(TOP + 1)[GRADES]
    np.testing.assert_allclose(
        measure.moments(pool, sure, first, versus=versus).mean, measure.score(pool, GRADES, first, versus=versus)
    )


def test_moments_are_those_of_all_grades_enumerated(pool, rankings):
    measure, (first, second) = ae.DCG(cutoff=3), rankings
    moments = measure.moments(pool, PROBS, first, versus=second)
    mean = square = 0.0
    for grades in product(range(TOP + 1), repeat=N_ITEMS):
        chance = np.prod(PROBS[np.arange(N_ITEMS), grades])
        value = measure.score(pool, np.concatenate((grades, GRADES[N_ITEMS:])), first, versus=second)[0]
        mean, square = mean + chance * value, square + chance * value**2
    assert (moments.mean[0], moments.second[0]) == (pytest.approx(mean), pytest.approx(square))


def test_rankings_by_offsets_ties_and_items_that_are_not_ranked(pool):
    scores = np.zeros(N_QUERIES * N_ITEMS)
    scores[0] = np.nan
    ranking = ae.Rankings.from_scores(pool, scores)
    of_first = ranking.items[: ranking.offsets[1]].tolist()
    assert of_first == [4, 3, 2, 1]  # equal scores by item id descending, NaN is not ranked
    again = ae.Rankings(pool, ranking.offsets, ranking.items)
    assert again.items.tolist() == ranking.items.tolist()


@pytest.mark.parametrize("name", ["passive", "active", "random", "depth", "items"])
def test_a_method_designs_and_a_campaign_asks_until_all_is_told(pool, rankings, name):
    target = ae.Target(ae.DCG(cutoff=3), *rankings)
    design = ae.METHODS[name].design(target, PROBS, factor=None, budget=20)
    campaign = ae.Campaign(design, rng=0)
    while (unit := campaign.ask()) is not None:
        campaign.tell(unit, GRADES[list(unit.items)])
    low, high = campaign.estimate().interval(0.95)
    assert low <= campaign.estimate().value <= high
    replicated = ae.replicate(design, GRADES, [10, 20], 5, rng=0)
    assert replicated is not None


def test_depth_follows_labels_by_looking(pool, rankings):
    target = ae.Target(ae.RR(cutoff=3), rankings[0])
    design = ae.METHODS["depth"].looking("each").design(target, PROBS, budget=20)
    campaign = ae.Campaign(design, rng=0)
    while (unit := campaign.ask()) is not None:
        campaign.tell(unit, GRADES[list(unit.items)])
    assert campaign.estimate().n_items <= 20


def test_the_default_method_is_one_of_the_methods():
    assert ae.default_method(ae.DCG(cutoff=3)).name in ae.METHODS


def test_grade_models(tmp_path):
    X = RANDOM.normal(size=(N_QUERIES * N_ITEMS, 3))
    model = ae.ForestGradeModel(max_grade=TOP, n_estimators=5, random_state=0)
    assert model.fit(X, GRADES).predict_proba(X).shape == (N_QUERIES * N_ITEMS, TOP + 1)
    queries = np.repeat(np.arange(N_QUERIES), N_ITEMS)
    probs = ae.cross_fitted_probs(model, X, GRADES, queries, rng=0)
    np.testing.assert_allclose(probs.sum(axis=1), 1.0)
    factor = ae.QueryFactor.fit(probs, GRADES, queries)
    assert factor.node_probs(probs).shape[1:] == probs.shape
    lines = [f"{g} qid:{q} 1:{x[0]:.3f} 2:{x[1]:.3f}\n" for g, q, x in zip(GRADES, queries, X, strict=True)]
    path = tmp_path / "letor.txt"
    path.write_text("".join(lines))
    data = ae.read_letor(path)
    assert (data.pool().n_queries, data.features.shape) == (N_QUERIES, (N_QUERIES * N_ITEMS, 2))
    assert data.grades.tolist() == GRADES.tolist()


def test_top_k_labelling_asks_pairs():
    labelling = ae.TopKLabelling(5, 2, order="given")
    while (pair := labelling.ask()) is not None:
        labelling.tell(max(pair))
    assert set(labelling.top()) == {3, 4}


def test_a_tree_ensemble_becomes_a_linear_ranker():
    from sklearn.ensemble import GradientBoostingRegressor

    X = RANDOM.normal(size=(30, 3))
    model = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(X, X[:, 0])
    np.testing.assert_allclose(ae.HyperLinearRanker.from_gradient_boosting(model).predict(X), model.predict(X))


def test_what_is_wrong_is_one_error():
    with pytest.raises(ae.ActiveEvalError, match="query_offsets"):
        ae.QueryPool(["q"], [0, 3], ["a", "b"])
