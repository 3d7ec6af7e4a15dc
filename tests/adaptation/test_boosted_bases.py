"""Boosted trees of scikit-learn and LightGBM as a linear function of their leaves."""

from dataclasses import replace
from functools import partial

import lightgbm
import numpy as np
import pytest
from boosted_trees import boosted, judged
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from activeeval.adaptation import HyperLinearRanker
from activeeval.adaptation.trees import Tree, Trees
from activeeval.core.errors import InputError
from tests import naive_adaptation as naive


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_estimators": 60, "max_leaf_nodes": None, "max_depth": 6, "learning_rate": 0.3},
        {"init": "zero"},
        {"init": DummyRegressor(strategy="median")},
        {"loss": "huber", "subsample": 0.5},
        {"min_samples_split": 10_000},
    ],
    ids=str,
)
def test_it_predicts_what_scikit_learn_predicts(options):
    X, grades = judged()
    model = boosted(X, grades, **options)
    ranker = HyperLinearRanker.from_gradient_boosting(model)
    for rows in (X, X.astype(np.float32), judged(1, 2000)[0], X[:0]):
        if len(rows):
            np.testing.assert_allclose(ranker.predict(rows), model.predict(rows), rtol=0, atol=1e-12)
        one_hot = ranker.leaf_features(rows)
        np.testing.assert_allclose(one_hot @ ranker.coef_ + ranker.intercept_, ranker.predict(rows), atol=1e-12)
        assert (one_hot.sum(axis=1) == ranker.trees.n_trees).all()


def leaf_numbers(model, X):
    """Which leaf in the order of nodes, tree by tree, by scikit-learn's own apply."""
    columns, n = [], 0
    for stage in model.estimators_[:, 0]:
        leaves = np.flatnonzero(stage.tree_.children_left < 0)
        columns.append(n + np.searchsorted(leaves, stage.apply(X)))
        n += leaves.size
    return np.array(columns).T


def test_leaves_are_those_of_scikit_learn_next_to_thresholds_too():
    X, grades = judged()
    model = boosted(X, grades, n_estimators=20)
    ranker = HyperLinearRanker.from_gradient_boosting(model)
    inner = ranker.trees.features >= 0
    close = []
    for feature, threshold in zip(ranker.trees.features[inner], ranker.trees.thresholds[inner], strict=True):
        # what single precision cannot tell apart, it does not
        for value in (threshold, threshold + 1e-9, threshold - 1e-9, np.nextafter(threshold, 9), threshold + 1e-6):
            row = X[0].copy()
            row[feature] = value
            close.append(row)
    np.testing.assert_array_equal(ranker.trees.leaves(close), leaf_numbers(model, np.array(close)))
    np.testing.assert_array_equal(ranker.predict(close), model.predict(close))
    double = replace(ranker.trees, single=False)
    assert (double.leaves(close) != ranker.trees.leaves(close)).any()  # or this test could not fail


@pytest.mark.parametrize("with_missing", [False, True])
def test_it_predicts_what_histogram_boosting_predicts(with_missing):
    X, grades = judged(0, 600)
    gaps = X.copy()
    gaps[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    model = HistGradientBoostingRegressor(max_iter=30, random_state=0).fit(gaps if with_missing else X, grades)
    ranker = HyperLinearRanker.from_gradient_boosting(model)
    for rows in (X, gaps):
        np.testing.assert_allclose(ranker.predict(rows), model.predict(rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"objective": "lambdarank"},
        {"zero_as_missing": True},
        {"use_missing": False},
        {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5},
        {"boosting": "dart"},
    ],
    ids=str,
)
def test_it_predicts_what_lightgbm_predicts(options):
    X, grades = judged(0, 600)
    random = np.random.default_rng(0)
    X[random.random(X.shape) < 0.1] = 0.0
    gaps = X.copy()
    gaps[random.random(X.shape) < 0.1] = np.nan
    table = lightgbm.Dataset(gaps, grades, group=np.full(60, 10) if "objective" in options else None)
    params = {"objective": "regression", "verbose": -1, "seed": 0, "num_threads": 1, **options}
    model = lightgbm.train(params, table, 20)
    ranker = HyperLinearRanker.from_gradient_boosting(model)
    for rows in (X, gaps):
        np.testing.assert_allclose(ranker.predict(rows), model.predict(rows), rtol=0, atol=1e-12)


def test_an_infinite_threshold_of_lightgbm_is_infinite():
    X, grades = np.array([[0.0], [1.0], [np.nan]] * 40), np.tile([0.0, 0.0, 1.0], 40)
    params = {"objective": "regression", "verbose": -1, "min_data_in_leaf": 1, "num_threads": 1}
    model = lightgbm.train(params, lightgbm.Dataset(X, grades), 5)
    ranker = HyperLinearRanker.from_gradient_boosting(model)
    rows = np.array([[1e305], [np.nan], [3.0]])
    assert np.isinf(ranker.trees.thresholds).any()  # LightGBM writes 1e300
    np.testing.assert_allclose(ranker.predict(rows), model.predict(rows), rtol=0, atol=1e-12)


def test_models_of_lightgbm_that_are_no_sum_of_numbers_are_refused():
    X, grades = judged()
    X[:, 0] = np.digitize(X[:, 0], [-1, 0, 1])
    kept = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(X, grades)
    np.testing.assert_array_equal(HyperLinearRanker.from_gradient_boosting(kept).predict(X), kept.predict(X))
    with pytest.raises(NotFittedError):
        HyperLinearRanker.from_gradient_boosting(lightgbm.LGBMRegressor())
    cases = [
        ({"objective": "poisson"}, {}, "objective is 'poisson'"),
        ({"objective": "multiclass", "num_class": 4}, {}, "objective is 'multiclass num_class:4'"),
        ({"objective": "regression", "linear_tree": True}, {}, "leaves hold linear models"),
        ({"objective": "regression", "min_data_per_group": 1}, {"categorical_feature": [0]}, "splits on categories"),
    ]
    for params, given, message in cases:
        table = lightgbm.Dataset(X, grades, **given)
        model = lightgbm.train({"verbose": -1, **params}, table, 5)
        with pytest.raises(InputError, match=message):
            HyperLinearRanker.from_gradient_boosting(model)


@pytest.mark.kernel
def test_leaves_against_a_plain_walk_with_missing_values_and_zeros():
    random = np.random.default_rng(0)
    one = Tree(
        np.array([0, 1, -1, -1, -1]),
        np.array([0.5, -0.5, 0.0, 0.0, 0.0]),
        np.array([1, 2, -1, -1, -1]),
        np.array([4, 3, -1, -1, -1]),
        np.array([False, True, False, False, False]),
        np.array([False, True, False, False, False]),
    )
    other = Tree(*(np.array(a) for a in ([1, -1, -1], [0.0] * 3, [1, -1, -1], [2, -1, -1], [False] * 3, [False] * 3)))
    trees = Trees.joined([one, other], n_features=2, single=False, takes_missing=True)
    assert trees.problem() is None
    X = random.choice([np.nan, 0.0, 1e-36, -1e-30, 0.5, -0.5, 0.7, -2.0], size=(80, 2))
    columns = {(0, 2): 0, (0, 3): 1, (0, 4): 2, (1, 1): 3, (1, 2): 4}
    expected = [[columns[t, naive.leaf_of(x, tree)] for t, tree in enumerate((one, other))] for x in X]
    np.testing.assert_array_equal(trees.leaves(X), expected)
    assert len(np.unique(expected)) == 5
    weights = random.normal(size=5)
    np.testing.assert_allclose(trees.sums(X, weights, 2.0), [2 + weights[a] + weights[b] for a, b in expected])


def test_bases_that_are_no_sum_of_trees_are_refused():
    X, grades = judged()
    linear = LinearRegression().fit(X, grades)
    named = np.column_stack((np.digitize(X[:, 0], [-1, 0, 1]), X[:, 1:]))
    constant = np.where(np.arange(5) == 2, 1.0, X)
    of_categories = partial(HistGradientBoostingRegressor, max_iter=5)
    for model, message in (
        (linear, "gradient-boosted regression trees of scikit-learn or LightGBM, got sklearn's LinearRegression"),
        (GradientBoostingClassifier(n_estimators=1).fit(X, grades), "got sklearn's GradientBoostingClassifier"),
        ("model.txt", "got builtins's str"),
        (boosted(X, grades, init=LinearRegression()), "starts from sklearn's LinearRegression, expected a constant"),
        (HistGradientBoostingRegressor(loss="poisson", max_iter=2).fit(X, grades), "loss is 'poisson'"),
        (of_categories(categorical_features=[0]).fit(named, named[:, 0] % 2), "splits on categories"),
        # no tree splits on a category, yet the model moves its columns
        (of_categories(categorical_features=[2]).fit(constant, grades), "splits on categories"),
    ):
        with pytest.raises(InputError, match=message):
            HyperLinearRanker.from_gradient_boosting(model)
    with pytest.raises(NotFittedError):
        HyperLinearRanker.from_gradient_boosting(GradientBoostingRegressor())
