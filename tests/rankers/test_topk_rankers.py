"""The rankers that learn from a top-k truth: their laws, what they refuse, the choice of their parameters."""

import pickle

import numpy as np
import pytest
from each_once import each_once
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import ParameterGrid

from activeeval import DCG, NDCG, ExpectedGradeRanker, ForestRegressionRanker, QueryPool, Rankings
from activeeval.core.errors import InputError
from activeeval.core.grade_models import ForestGradeModel, OrderedLogitModel
from activeeval.rankers import (
    SVMMAP,
    AdaRank,
    FocusedBoost,
    FocusedNet,
    FocusedSVM,
    ListMLE,
    ListNet,
    RankBoost,
    RankingSVM,
    RankNet,
    RankSVM,
    choose,
)
from benchmarks.topk.running import RANKERS
from tests import naive_rankers as naive

SVMS = [RankSVM(), SVMMAP(), FocusedSVM()]
NETS = [RankNet(), ListNet(), ListMLE(k=3, rng=0), FocusedNet()]
BOOSTED = [RankBoost(), AdaRank(tol=None), FocusedBoost()]
TEN = SVMS + NETS + BOOSTED
BESIDE = [
    ExpectedGradeRanker(ForestGradeModel(n_estimators=5, random_state=3)),
    ExpectedGradeRanker(OrderedLogitModel()),
    ForestRegressionRanker(n_estimators=5, random_state=0),
    RankingSVM(rng=0),
]
"""Rankers that learn from grades of any kind."""
ALL = [*TEN, AdaRank(), RankBoost(n_thresholds=5), AdaRank(max_repeats=1, tol=None), AdaRank(measure="ap")]


def name(value):
    return repr(value).replace("\n", "")[:60]


# Laws of all of them


@pytest.mark.parametrize("ranker", ALL + BESIDE, ids=name)
def test_rankers_are_estimators_and_learn(ranker):
    rows = naive.top_k_items(1, n_queries=40)
    before = repr(ranker)
    fitted = clone(ranker)
    assert fitted.fit(*rows) is fitted
    assert fitted.n_features_in_ == 4
    scores = fitted.predict(rows[0])
    assert scores.shape == rows[1].shape
    assert fitted.predict(rows[0][:0]).shape == (0,)
    assert np.corrcoef(scores, rows[1])[0, 1] > 0.4
    assert repr(clone(fitted)) == before
    np.testing.assert_array_equal(clone(fitted).fit(*rows).predict(rows[0]), scores)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(rows[0]), scores)
    with pytest.raises(NotFittedError):
        clone(ranker).predict(rows[0])
    with pytest.raises(InputError, match=r"X has 3 features, but .* is expecting 4 features"):
        fitted.predict(rows[0][:, :3])


@pytest.mark.parametrize("ranker", ALL, ids=name)
def test_order_of_rows_names_of_queries_scale_shift_and_sign_of_features_do_not_matter(ranker):
    X, grades, query_ids = naive.top_k_items(2, noise=1.0)
    ranker = clone(ranker).set_params(**({"tol": 1e-9} if hasattr(ranker, "C") else {}))
    scores = ranker.fit(X, grades, query_ids).predict(X)
    scores = scores - scores.mean()
    order = np.random.default_rng(5).permutation(grades.size)
    ids = np.array([f"q{q:02d}" for q in query_ids])
    again = clone(ranker).fit(X[order], grades[order], ids[order]).predict(X)
    np.testing.assert_array_equal(again - again.mean(), scores)
    moved = X * [3.0, 1e-4, 2.0, 1e5] + [1.0, 1e-2, 1e4, -3e6]
    again = clone(ranker).fit(moved, grades, query_ids).predict(moved)
    np.testing.assert_allclose(again - again.mean(), scores, atol=2e-5)
    again = clone(ranker).fit(X * [1, -1, 1, -1], grades, query_ids).predict(X * [1, -1, 1, -1])
    np.testing.assert_allclose(again - again.mean(), scores, atol=2e-5)


@pytest.mark.parametrize("ranker", ALL, ids=name)
def test_each_query_has_the_same_say_and_those_of_one_grade_none(ranker):
    X, grades, query_ids = naive.top_k_items(2, noise=1.0)
    ranker = clone(ranker).set_params(**({"tol": 1e-9} if hasattr(ranker, "C") else {}))
    coef = ranker.fit(X, grades, query_ids).coef_
    twice = clone(ranker).fit(np.tile(X, (2, 1)), np.tile(grades, 2), np.concatenate((query_ids, query_ids + 100)))
    np.testing.assert_allclose(twice.coef_, coef, atol=2e-5)
    # rows twice in a query of one grade: range and deviation of the features stay as they are
    silent = np.concatenate((query_ids, np.full(query_ids.size, 200)))
    for grade in (0, 2):
        more = clone(ranker).fit(np.tile(X, (2, 1)), np.append(grades, np.full(grades.size, grade)), silent)
        np.testing.assert_allclose(more.coef_, coef, atol=2e-5)


@pytest.mark.parametrize("ranker", TEN, ids=name)
def test_a_feature_that_tells_nothing_within_a_query_has_no_say(ranker):
    X, grades, query_ids = naive.top_k_items(2)
    X[:, 1] = 0.1
    X[:, 2] = np.random.default_rng(0).normal(size=12)[query_ids]
    coef = clone(ranker).fit(X, grades, query_ids).coef_
    assert coef[1] == coef[2] == 0
    assert coef[0] > 0 > coef[3] or isinstance(ranker, AdaRank)


@pytest.mark.parametrize("ranker", NETS + BOOSTED, ids=name)
def test_stages_are_the_fits_of_fewer_steps(ranker):
    rows = naive.top_k_items(2, noise=1.0)
    whole = clone(ranker).set_params(n_iter=9).fit(*rows)
    assert whole.n_iter_ == 9
    staged = list(whole.staged_predict(rows[0]))
    for n_iter in (1, 2, 5, 9):
        fewer = clone(ranker).set_params(n_iter=n_iter).fit(*rows)
        np.testing.assert_array_equal(whole.after(n_iter).coef_, fewer.coef_)
        np.testing.assert_array_equal(staged[n_iter - 1], fewer.predict(rows[0]))
        assert whole.after(n_iter).n_iter == fewer.n_iter
    assert whole.n_iter_ == whole.n_iter == 9
    with pytest.raises(InputError, match="n_iter must be a positive whole number, got 0"):
        whole.after(0)


def test_the_seed_of_list_mle_orders_equal_grades():
    X, grades, query_ids = naive.top_k_items(2, n_queries=30)
    binary = np.minimum(grades, 1)
    first, again, other = (ListMLE(rng=seed).fit(X, binary, query_ids).coef_ for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other, rtol=1e-3)
    order = np.random.default_rng(5).permutation(grades.size)
    np.testing.assert_array_equal(ListMLE(rng=0).fit(X[order], binary[order], query_ids[order]).coef_, first)
    np.testing.assert_array_equal(*(ListMLE(k=3, rng=seed).fit(X, grades, query_ids).coef_ for seed in (0, 1)))


# What is wrong is named


@pytest.mark.parametrize("ranker", TEN, ids=name)
def test_bad_training_data_is_named(ranker):
    X, grades, query_ids = naive.top_k_items(1)
    kind = type(ranker).__name__
    with pytest.raises(InputError, match=f"no query holds items of different grades, {kind} needs at least one"):
        clone(ranker).fit(X, query_ids, query_ids)
    with pytest.raises(InputError, match="query_ids must name the query of each row"):
        clone(ranker).fit(X, grades, None)
    with pytest.raises(InputError, match="grades holds the grade -2 at row 7"):
        clone(ranker).fit(X, np.where(np.arange(grades.size) == 7, -2, grades), query_ids)
    missing = X.copy()
    missing[7, 2] = np.nan
    with pytest.raises(InputError, match="X must not miss values, got nan at row 7, column 2"):
        clone(ranker).fit(missing, grades, query_ids)
    with pytest.raises(InputError, match="X must not miss values, got nan at row 7, column 2"):
        clone(ranker).fit(X, grades, query_ids).predict(missing)


@each_once(("ranker", [FocusedSVM(), FocusedNet(), FocusedBoost()]), ("beta", [0.0, 0.5, 1.0]))
def test_a_focused_ranker_needs_a_top_in_order_and_a_rest(ranker, beta):
    X, grades, query_ids = naive.top_k_items(1)
    ranker = clone(ranker).set_params(beta=beta)
    with pytest.raises(InputError, match="no query holds two items of different grades above 0"):
        ranker.fit(X, np.minimum(grades, 1), query_ids)
    with pytest.raises(InputError, match="no query holds items of grade 0 beside better ones"):
        ranker.fit(X, grades + 1, query_ids)


def test_a_top_of_too_many_permutations_is_named():
    X, grades = np.arange(20.0)[:, None], np.r_[0, 0, 0, 0, np.arange(1, 17)]
    with pytest.raises(InputError, match=r"the query of row 19 has 16 items of a grade above 0, .* takes at most 15"):
        FocusedNet().fit(X, grades, np.zeros(20))
    FocusedNet(n_iter=2).fit(X[:-1], grades[:-1], np.zeros(19))


def test_gains_that_no_number_holds_are_refused():
    with pytest.raises(InputError, match=r"grades holds 1024, gains 2\^y − 1 go up to a grade of 1000"):
        AdaRank().fit([[0.0], [1.0]], [0, 1024], ["a", "a"])


# Choosing


def held_out():
    return naive.top_k_items(1, n_queries=20, noise=1.0), naive.top_k_items(2, n_queries=30, noise=1.0)


def mean_dcg(ranker, rows):
    """Each query by itself, rows as they stand."""
    X, grades, query_ids = rows
    values = []
    for q in np.unique(query_ids):
        own = query_ids == q
        pool = QueryPool(["q"], [0, own.sum()])
        values.append(DCG(cutoff=3).score(pool, grades[own], Rankings.from_scores(pool, ranker.predict(X[own])))[0])
    return np.mean(values)


@pytest.mark.parametrize(
    ("ranker", "grid"),
    [
        (FocusedSVM(), {"beta": [0.1, 0.9], "C": [0.01, 10.0]}),
        (FocusedNet(), {"beta": [0.1, 0.9], "n_iter": [6, 1, 2]}),
        (RankBoost(), [{"n_iter": [1, 30]}, {"n_iter": [20, 5], "n_thresholds": [4]}]),
        (RankNet(n_iter=3), {"standardize": [True, False]}),
    ],
    ids=name,
)
def test_the_choice_is_the_best_of_fits_one_by_one(ranker, grid):
    train, validation = held_out()
    choice = choose(ranker, grid, train=train, validation=validation, measure=DCG(cutoff=3))
    tried, expected = (
        [sorted(params.items()) for params in each]
        for each in ((candidate.params for candidate in choice.table), ParameterGrid(grid))
    )
    assert sorted(map(repr, tried)) == sorted(map(repr, expected))
    for candidate in choice.table:
        fitted = clone(ranker).set_params(**candidate.params).fit(*train)
        assert candidate.value == pytest.approx(mean_dcg(fitted, validation), rel=1e-12)
    best = max(choice.table, key=lambda candidate: candidate.value)
    assert choice.params == best.params
    assert choice.ranker.get_params() == clone(ranker).set_params(**best.params).get_params()
    assert mean_dcg(choice.ranker, validation) == pytest.approx(best.value, rel=1e-12)
    assert len({candidate.value for candidate in choice.table}) > 1


def test_an_estimator_that_goes_by_no_steps_is_chosen_too_and_nothing_from_nothing():
    train, validation = held_out()
    measure = NDCG(cutoff=3)
    choice = choose(RankingSVM(rng=0), {"C": [1e-4, 1.0]}, train=train, validation=validation, measure=measure)
    assert len(choice.table) == 2
    for grid in ({"C": []}, []):
        with pytest.raises(InputError, match="the grid holds no candidate"):
            choose(RankSVM(), grid, train=train, validation=validation, measure=measure)
    with pytest.raises(InputError, match="the grid holds no candidate"):
        choose(RankNet(), {"n_iter": []}, train=train, validation=validation, measure=measure)


def test_every_ranker_has_a_grid_of_its_own_parameters():
    assert {type(entry.ranker) for entry in RANKERS.values()} == {type(ranker) for ranker in TEN}
    for key, entry in RANKERS.items():
        assert key.replace("-", "") == type(entry.ranker).__name__
        for values in ParameterGrid({parameter: values[:1] for parameter, values in entry.grid.items()}):
            clone(entry.ranker).set_params(**values).fit(*naive.top_k_items(1))


# Real data


def test_mq2008_is_ranked_like_by_the_rankers_that_come_with_it(mq2008):
    """Fold 1: the stored scores are of the original svm_rank, trained on the same queries."""
    train, test, stored = mq2008
    pool, queries = test.pool(), train.query_ids[train.pool().item_queries]

    def mean_ndcg(scores):
        values = NDCG("exp", cutoff=10).score(pool, test.grades, Rankings.from_scores(pool, scores))
        return values[np.maximum.reduceat(test.grades, test.query_offsets[:-1]) > 0].mean()

    goal, chance = mean_ndcg(stored), mean_ndcg(np.random.default_rng(0).random(pool.n_items))
    assert goal > 1.3 * chance
    # the cross entropy takes at most 15 relevant items a query
    few = np.add.reduceat(train.grades > 0, train.query_offsets[:-1])[train.pool().item_queries] <= 15
    forest = ForestRegressionRanker(n_estimators=40, random_state=0)
    for ranker in (SVMS[2], NETS[3], BOOSTED[2], RankSVM(), RankingSVM(C=0.01, rng=0), forest):
        rows = few if isinstance(ranker, FocusedNet) else np.ones_like(few)
        fitted = clone(ranker).fit(train.features[rows], train.grades[rows], queries[rows])
        assert mean_ndcg(fitted.predict(test.features)) > 0.94 * goal
