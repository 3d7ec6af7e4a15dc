"""Boosted trees as a linear function of their leaves, adapted to preferences; the choice of λ; files."""

from __future__ import annotations

import io
import math
import zipfile
from dataclasses import replace
from functools import partial

import lightgbm
import numpy as np
import pytest
from each_once import each_once
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LinearRegression

from activeeval import NDCG, QueryPool, Rankings
from activeeval.adaptation import (
    HyperLinearRanker,
    b_measure,
    choose_regularization,
    pair_precision,
    read_ranker,
    write_ranker,
)
from activeeval.adaptation.folding import deal_out
from activeeval.adaptation.margins import LargestMargins
from activeeval.adaptation.ranker_files import _digest
from activeeval.adaptation.trees import Tree, Trees
from activeeval.adaptation.weights import Differences
from activeeval.core.errors import FormatError, InputError, SolverError
from activeeval.core.kernels.bundles import SparseRows
from activeeval.core.kernels.learning import leaf_pairs, losses
from activeeval.core.results import Figure
from activeeval.rankers.losses import PairHinge, PairSquared
from activeeval.rankers.pairs import WeightedPairs
from tests import naive_adaptation as naive

METHODS = ["closed_form", "sgd", "hinge"]


def judged(seed=0, n=300, n_features=5):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, n_features))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * random.normal(size=n)
    return X, np.digitize(signal, [-1, 0.5, 1.5])


def boosted_anew(**options):
    given = {"n_estimators": 8, "max_leaf_nodes": 5, "max_depth": None, "random_state": 0, **options}
    return GradientBoostingRegressor(**given)


def boosted(X, grades, **options):
    return boosted_anew(**options).fit(X, grades)


@pytest.fixture(scope="module")
def X():
    return judged()[0]


@pytest.fixture(scope="module")
def base():
    return HyperLinearRanker.from_gradient_boosting(boosted(*judged()))


def preferences(X, n_pairs, seed=1):
    """Pairs by another taste than the judges', with noise."""
    random = np.random.default_rng(seed)
    pairs = np.array([random.choice(len(X), 2, replace=False) for _ in range(n_pairs)])
    taste = X[:, 0] - X[:, 3] + 0.5 * random.normal(size=len(X))
    return np.where((taste[pairs[:, 0]] < taste[pairs[:, 1]])[:, None], pairs[:, ::-1], pairs)


def dense(ranker, X, pairs):
    return naive.differences(ranker.leaf_features(X).toarray(), pairs)


# The base


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
    model = lightgbm.train(
        {"objective": "regression", "verbose": -1, "seed": 0, "num_threads": 1, **options}, table, 20
    )
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


# The objective and its solvers


@each_once(("n_pairs", [12, 150]), ("ridge", [1e-4, 0.1, 10.0]))
def test_the_closed_form_solves_the_least_squares(base, X, n_pairs, ridge):
    pairs = preferences(X, n_pairs)
    adapted = base.adapt(X, pairs, method="closed_form", regularization=ridge)
    D = dense(base, X, pairs)
    expected = naive.least_squares(base.coef_, D, ridge)
    np.testing.assert_allclose(adapted.coef_, expected, rtol=0, atol=1e-9)
    value = naive.objective("squared", adapted.coef_, base.coef_, D, ridge)
    assert adapted.adaptation_.objective == pytest.approx(value, rel=1e-12)


@each_once(("n_pairs", [12, 150]), ("ridge", [1e-3, 0.1, 10.0]))
def test_the_hinge_solves_the_program_of_all_slacks(base, X, n_pairs, ridge):
    pairs = preferences(X, n_pairs)
    adapted = base.adapt(X, pairs, method="hinge", regularization=ridge, tol=1e-10, n_epochs=20_000, rng=0)
    D = dense(base, X, pairs)
    expected = naive.least_hinge(base.coef_, D, ridge)
    np.testing.assert_allclose(adapted.coef_, expected, rtol=0, atol=1e-4 * np.abs(expected).max())
    told = adapted.adaptation_
    least = naive.objective("hinge", expected, base.coef_, D, ridge)
    assert told.objective == pytest.approx(naive.objective("hinge", adapted.coef_, base.coef_, D, ridge), rel=1e-12)
    assert told.objective == pytest.approx(least, rel=1e-8)
    assert told.converged
    assert told.objective - told.gap <= least * (1 + 1e-9)


@each_once(("n_pairs", [12, 150]), ("ridge", [1e-5, 1e-4, 1e-3]))
def test_a_small_lambda_is_solved_by_the_interior_point(base, X, n_pairs, ridge):
    """Smaller λ end in rounding, C = 1/(2nλ) being a factor of all; ascent alone leaves .9 of the objective at 1e-5."""
    pairs = preferences(X, n_pairs)
    adapted = base.adapt(X, pairs, method="hinge", regularization=ridge, tol=1e-6, rng=0)
    D, told = dense(base, X, pairs), adapted.adaptation_
    expected = naive.least_hinge(base.coef_, D, ridge)
    least = naive.objective("hinge", expected, base.coef_, D, ridge)
    assert told.converged
    assert told.objective == pytest.approx(least, rel=3e-6)
    assert told.objective - told.gap <= least * (1 + 1e-9)


def test_where_leaves_are_too_many_for_a_matrix_ascent_goes_on(base, X, monkeypatch):
    monkeypatch.setattr("activeeval.adaptation.margins.MOST_SIDE", 20)
    pairs = preferences(X, 150)
    with pytest.warns(ConvergenceWarning, match="after 500 epochs"):
        base.adapt(X, pairs, method="hinge", regularization=1e-9, rng=0)


def test_a_gap_bounds_what_is_missing_and_is_warned_of(base, X):
    pairs = preferences(X, 150)
    text = r"not converged after 1 epochs: the objective of .* is at most .* too"
    with pytest.warns(ConvergenceWarning, match=text) as told:
        early = base.adapt(X, pairs, method="hinge", regularization=1e-3, n_epochs=1, rng=0)
    assert told[0].filename == __file__
    least = base.adapt(X, pairs, method="hinge", regularization=1e-3, n_epochs=20_000, tol=1e-10, rng=0)
    short = early.adaptation_.objective - least.adaptation_.objective
    assert 0 < short <= early.adaptation_.gap
    assert not early.adaptation_.converged


def test_many_epochs_of_stochastic_gradient_end_at_the_closed_form(base, X):
    ridge = 0.1
    pairs = preferences(X, 60)
    expected = base.adapt(X, pairs, method="closed_form", regularization=ridge).coef_
    distances = []
    for n_epochs in (1, 30, 20_000):
        adapted = base.adapt(X, pairs, method="sgd", regularization=ridge, n_epochs=n_epochs, rng=3)
        distances.append(np.abs(adapted.coef_ - expected).max())
    assert distances[0] > distances[1] > distances[2]
    assert distances[2] < 1e-4


@pytest.mark.kernel
def test_stochastic_steps_against_dense_ones():
    D, rows, margins, order = small_rows()
    order = np.tile(order, 8)
    for ridge in (0.01, 0.3, 1e7):  # the last shrinks the scale below what is kept
        v, total = np.linspace(-1, 1, 4), np.ones(4)
        expected = naive.stochastic_steps(D, order, 5, margins, ridge, 9.0 + 2 * ridge, v)
        given = (order, 5, margins, losses.SQUARED, ridge, 9.0 + 2 * ridge)
        weight = leaf_pairs.stochastic_steps(rows, *given, v, total)
        np.testing.assert_allclose(v, expected[0], rtol=1e-9)
        np.testing.assert_allclose(total - 1, expected[1], rtol=1e-9)
        assert weight == pytest.approx(expected[2], rel=1e-12)


@pytest.mark.kernel
def test_coordinate_steps_against_a_search():
    D, rows, margins, order = small_rows()
    multipliers = np.array([0.1, 0.0, 0.3, 0.0, 0.2])
    expected = naive.coordinate_steps(D, order, margins, 0.3, multipliers)
    v = multipliers @ D
    leaf_pairs.coordinate_steps(rows, order, margins, (D**2).sum(axis=1), 0.3, multipliers, v)
    np.testing.assert_allclose(multipliers, expected, atol=3e-4)
    np.testing.assert_allclose(v, multipliers @ D, atol=1e-12)
    assert multipliers[4] == 0.3  # nothing tells that pair apart


@pytest.mark.kernel
def test_the_gap_is_that_of_the_program_and_its_dual():
    D, _, margins, _ = small_rows()
    ridge, bound = 0.05, 1 / (2 * 5 * 0.05)
    differences = Differences(sparse.csr_array(D), np.arange(4), margins, np.zeros(4, int))
    moves = LargestMargins(differences, 1, 1e-6, 11)(ridge)
    multipliers, v = np.zeros(5), np.zeros(4)
    for i in np.random.default_rng(11).permutation(5):
        norm = D[i] @ D[i]
        best = min(max(multipliers[i] + (1 - margins[i] - D[i] @ v) / norm, 0), bound) if norm else bound
        multipliers[i], v = best, v + (best - multipliers[i]) * D[i]
    primal = ridge * v @ v + np.maximum(0, 1 - margins - D @ v).mean()
    dual = 2 * ridge * (multipliers @ (1 - margins) - 0.5 * v @ v)
    assert moves.gap == pytest.approx(primal - dual, rel=1e-12)
    assert moves.gap > 0.01
    np.testing.assert_allclose(moves.values, v, rtol=1e-12)


@pytest.mark.kernel
def test_the_weighted_gram_is_that_of_dense_rows():
    D, rows, _, _ = small_rows()
    weights, out = np.array([0.5, 2.0, 0.0, 3.0, 1.0]), np.zeros((4, 4))
    leaf_pairs.weighted_gram(rows, weights, out)
    np.testing.assert_allclose(out, np.tril(D.T @ np.diag(weights) @ D), rtol=1e-12)


def small_rows():
    D = np.array([[1.0, -1, 0, 0], [0, 1, -1, 0], [1, 0, 1, -2], [0, 0, -1, 1], [0, 0, 0, 0]])
    kept = sparse.csr_array(D)
    rows = SparseRows(kept.indptr, kept.indices, kept.data)
    return D, rows, np.array([0.2, 2.0, -0.4, 0.1, 0.0]), np.array([2, 4, 0, 3, 1])


@pytest.mark.kernel
def test_losses_are_those_of_the_other_rankers():
    scores = np.array([0.3, 1.0, -2.0])
    pairs = WeightedPairs.alike(np.array([0, 1]), np.array([1, 2]))
    value, gradient = PairSquared().of_pairs(pairs)(scores)
    assert value == pytest.approx((1.7**2 + 2.0**2) / 2)
    np.testing.assert_allclose(gradient, [-1.7, 1.7 + 2.0, -2.0], rtol=1e-12)
    assert PairHinge().of_pairs(pairs)(scores)[0] == pytest.approx(1.7 / 2)


# Laws


@pytest.mark.parametrize("method", METHODS)
def test_a_large_lambda_leaves_the_base_and_a_small_one_suits_the_pairs(base, X, method):
    pairs = preferences(X, 100)
    far = base.adapt(X, pairs, method=method, regularization=1e9, rng=0)
    np.testing.assert_allclose(far.coef_, base.coef_, rtol=0, atol=1e-8)
    near = base.adapt(X, pairs, method=method, regularization=0.01, rng=0)
    before, after = pair_precision(base, X, pairs), pair_precision(near, X, pairs)
    assert after > before
    assert near.intercept_ == base.intercept_


def test_the_base_stays_and_an_adapted_ranker_can_be_the_base_of_another(base, X):
    before = base.coef_.copy()
    once = base.adapt(X, preferences(X, 50), regularization=0.1)
    np.testing.assert_array_equal(base.coef_, before)
    np.testing.assert_array_equal(once.base_coef_, before)
    assert base.adaptation_ is None
    twice = once.adapt(X, preferences(X, 50, seed=9), regularization=0.1)
    np.testing.assert_array_equal(twice.base_coef_, once.coef_)


@pytest.mark.parametrize("method", METHODS)
def test_neither_the_order_of_pairs_nor_that_of_rows_matters(base, X, method):
    random = np.random.default_rng(5)
    pairs = preferences(X, 80)
    rows = random.permutation(len(X))
    place = np.argsort(rows)
    one = base.adapt(X, pairs, method=method, regularization=0.1, rng=4)
    other = base.adapt(X[rows], place[random.permutation(pairs)], method=method, regularization=0.1, rng=4)
    np.testing.assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("method", METHODS)
def test_scalings_differ_by_the_number_of_pairs(base, X, method):
    pairs = preferences(X, 40)
    mean = base.adapt(X, pairs, method=method, regularization=0.5, rng=0)
    total = base.adapt(X, pairs, method=method, regularization=20.0, scaling="sum", rng=0)
    np.testing.assert_array_equal(mean.coef_, total.coef_)
    assert total.adaptation_.objective == pytest.approx(40 * mean.adaptation_.objective)


def test_a_pair_both_ways_draws_the_scores_together(base, X):
    scores = base.predict(X)
    u, v = int(np.argmax(scores)), int(np.argmin(scores))
    after = base.adapt(X, [[u, v], [v, u]], regularization=1e-8).predict(X)
    assert scores[u] - scores[v] > 1
    assert abs(after[u] - after[v]) < 1e-5


@pytest.mark.parametrize("method", METHODS)
def test_pairs_that_nothing_tells_apart_change_nothing(base, X, method):
    rows = np.vstack((X[:1], X[:1]))
    adapted = base.adapt(rows, [[0, 1]], method=method, rng=0)
    np.testing.assert_array_equal(adapted.coef_, base.coef_)
    assert adapted.adaptation_.objective == 1.0
    assert adapted.adaptation_.converged


@pytest.mark.parametrize("method", METHODS)
def test_a_path_is_its_lambdas_one_by_one(base, X, method):
    pairs = preferences(X, 40)
    for ridge, ranker in zip((0.1, 3.0), base.path(X, pairs, [0.1, 3.0], method=method, rng=2), strict=True):
        alone = base.adapt(X, pairs, method=method, regularization=ridge, rng=2)
        np.testing.assert_array_equal(ranker.coef_, alone.coef_)


def test_seeds(base, X):
    def adapted(rng):
        return base.adapt(X, preferences(X, 40), method="sgd", n_epochs=2, rng=rng).coef_

    np.testing.assert_array_equal(adapted(1), adapted(np.random.default_rng(1)))
    assert (adapted(1) != adapted(2)).any()


# Bad input


def test_bad_features_are_told_in_one_line(base, X):
    missing, large = X.copy(), X.copy()
    missing[3, 1], large[4, 2] = np.nan, 1e39
    for rows, message in (
        (X[:, :3], "X has 3 features, but HyperLinearRanker is expecting 5 features as input"),
        (missing, "X must not miss values, got nan at row 3, column 1"),
        (large, "X must fit into single precision, got 1e[+]39 at row 4, column 2"),
    ):
        with pytest.raises(InputError, match=message):
            base.predict(rows)
        with pytest.raises(InputError, match=message):
            base.adapt(rows, [[0, 1]])


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


def test_a_lambda_that_rounding_decides_is_refused(base, X):
    with pytest.raises(SolverError, match="regularization is too small for the closed form: with λ = 1e-30"):
        base.adapt(X, preferences(X, 150), regularization=1e-30)


@pytest.mark.parametrize("n_pairs", [12, 150])  # solved by pairs and by leaves
def test_the_closed_form_is_refused_from_where_rounding_shows(base, X, n_pairs, monkeypatch):
    pairs = preferences(X, n_pairs)
    D = dense(base, X, pairs)
    left, sizes, right = np.linalg.svd(D, full_matrices=False)
    held = sizes > 1e-9 * sizes[0]

    def distance(ridge):
        weights = sizes * (left.T @ (1 - D @ base.coef_)) / (sizes**2 + n_pairs * ridge)
        moves = base.adapt(X, pairs, regularization=ridge).coef_ - base.coef_
        return np.abs(moves - right[held].T @ weights[held]).max() / np.abs(moves).max()

    assert distance(1e-9) < 1e-6  # accepted, and right
    with pytest.raises(SolverError, match="rounding decides"):
        distance(1e-12)
    monkeypatch.setattr("activeeval.adaptation.weights.EXACT", np.inf)
    assert distance(1e-12) > 1e-6  # refused, and rightly


@each_once(("method", METHODS), ("ridge", [1e300, 1e-300]))
def test_a_lambda_that_overflows_is_refused(base, X, method, ridge):
    message = f"regularization must lie between 1e-100 and 1e[+]100, got {ridge:g}".replace("e+300", "e[+]300")
    with pytest.raises(InputError, match=message):
        base.adapt(X, preferences(X, 20), method=method, regularization=ridge)
    adapted = base.adapt(X, preferences(X, 20), method=method, regularization=1e100, rng=0)
    np.testing.assert_allclose(adapted.coef_, base.coef_, atol=1e-12)
    assert np.isfinite(adapted.adaptation_.objective)


def test_a_closed_form_that_would_not_fit_is_refused_before_any_fold(monkeypatch):
    monkeypatch.setattr("activeeval.adaptation.weights.MOST_SIDE", 20)
    learned = []

    class Counting(GradientBoostingRegressor):
        def fit(self, X, y):
            learned.append(len(X))
            return super().fit(X, y)

    with pytest.raises(InputError, match="at most 20 pairs or leaves"):
        choice_of(Counting(n_estimators=8))
    assert learned == [288]


def test_a_closed_form_that_would_not_fit_is_refused(base, X, monkeypatch):
    monkeypatch.setattr("activeeval.adaptation.weights.MOST_SIDE", 20)
    with pytest.raises(InputError, match=r"at most 20 pairs or leaves, .* got 3\d: method='sgd' has no such limit"):
        base.adapt(X, preferences(X, 150))
    assert base.adapt(X, preferences(X, 20)).adaptation_.n_pairs == 20


# The choice of λ


def test_b_is_a_harmonic_mean():
    assert b_measure(0.3, 0.6) == pytest.approx(2 / (1 / 0.3 + 1 / 0.6))
    assert b_measure(0.3, 0.6, alpha=2.0) == pytest.approx(3 / (1 / 0.3 + 2 / 0.6))
    assert b_measure(0.7, 0.7, alpha=5.0) == pytest.approx(0.7)
    assert b_measure(0.0, 0.0) == b_measure(0.0, 1.0) == b_measure(1.0, 0.0) == 0.0


def test_ties_are_half_in_order(base, X):
    rows = np.vstack((X, X[:1]))
    scores = base.predict(X)
    low, high = int(np.argmin(scores)), int(np.argmax(scores))
    assert pair_precision(base, rows, [[0, 300], [high, low], [low, high], [high, low]]) == pytest.approx(2.5 / 4)


def of_queries(seed=0, n_queries=24):
    """Judged items of queries, pairs of other items of some of them and of further queries."""
    X, grades = judged(seed, 12 * n_queries)
    query_ids = np.repeat([f"q{i}" for i in range(n_queries)], 12)
    users = np.random.default_rng(seed + 1).normal(size=(10 * n_queries, X.shape[1]))
    users_ids = np.repeat([f"q{i + 8}" for i in range(n_queries)], 10)
    taste = users[:, 0] - users[:, 3]
    own = [np.arange(first, first + 10) for first in range(0, len(users), 10)]
    pairs = [(a, b) for rows in own for a in rows for b in rows if taste[a] > taste[b] + 0.5]
    return (X, grades, query_ids), (users, users_ids, np.array(pairs))


def choice_of(base=None, **changes):
    """Choose λ for a base, of all that `of_queries` makes but for the changes."""
    (X, grades, query_ids), (users, users_ids, pairs) = of_queries()
    given = {"X": X, "grades": grades, "query_ids": query_ids, "pairs": pairs}
    given |= {"pairs_X": users, "pairs_query_ids": users_ids, "rng": 0} | changes
    if base is None:
        base = HyperLinearRanker.from_gradient_boosting(boosted(*judged(5)))
    return choose_regularization(base, **given)


def in_order(X, grades, query_ids):
    order = np.lexsort((grades, *X.T, query_ids))
    return X[order], grades[order]


def plain_ndcg(scores, grades, cutoff=5):
    def dcg(order):
        return sum((2 ** int(grades[i]) - 1) / math.log2(r + 2) for r, i in enumerate(order[:cutoff]))

    best = dcg(np.argsort(-grades))
    return dcg(np.argsort(-scores)) / best if best else 0.0


def test_choosing_is_what_folds_by_hand_say():
    (X, grades, query_ids), (users, users_ids, pairs) = of_queries()
    model = boosted_anew(n_estimators=60, max_leaf_nodes=8)
    choice = choose_regularization(
        model, X, grades, query_ids, pairs,
        pairs_X=users, pairs_query_ids=users_ids, lambdas=(0.01, 1.0, 100.0), alpha=2.0, n_folds=4, rng=7,
    )  # fmt: skip
    assert not hasattr(model, "estimators_")
    seed = int(np.random.default_rng(7).integers(2**63))
    fold_of = deal_out(sorted(set(query_ids)), sorted(set(users_ids)), 4, seed)
    by_fold = []
    for fold in range(4):
        out = np.array([fold_of[q] == fold for q in query_ids])
        out_pairs = np.array([fold_of[users_ids[u]] == fold for u, _ in pairs])
        base = HyperLinearRanker.from_gradient_boosting(
            clone(model).fit(*in_order(X[~out], grades[~out], query_ids[~out]))
        )
        values = []
        for ridge in (0.01, 1.0, 100.0):
            ranker = base.adapt(users, pairs[~out_pairs], regularization=ridge)
            scores = ranker.predict(X)
            held = [np.flatnonzero(query_ids == q) for q in sorted(set(query_ids[out]))]
            assert all(np.unique(scores[rows]).size == 12 for rows in held)  # here no rule for ties has a say
            mu = np.mean([plain_ndcg(scores[rows], grades[rows]) for rows in held])
            mine = ranker.predict(users)
            nu = np.mean([0.5 + 0.5 * np.sign(mine[u] - mine[v]) for u, v in pairs[out_pairs]])
            values.append((mu, nu, 3 * mu * nu / (2 * mu + nu)))
        by_fold.append(values)
    means, errors = np.mean(by_fold, axis=0), np.std(by_fold, axis=0, ddof=1) / 2
    for row, mean, error in zip(choice.table, means, errors, strict=True):
        figures = (row.measure, row.precision, row.b)
        np.testing.assert_allclose([figure.value for figure in figures], mean, atol=1e-12)
        np.testing.assert_allclose([figure.se for figure in figures], error, atol=1e-12)
    assert choice.regularization == (0.01, 1.0, 100.0)[int(np.argmax(means[:, 2]))]
    whole = HyperLinearRanker.from_gradient_boosting(model.fit(*in_order(X, grades, query_ids)))
    expected = whole.adapt(users, pairs, regularization=choice.regularization)
    np.testing.assert_array_equal(choice.ranker.coef_, expected.coef_)
    assert choice.base.precision.value < choice.table[0].precision.value


@pytest.mark.parametrize("kind", [str, int])
def test_ids_are_the_same_query_whatever_holds_them(kind):
    (_, _, query_ids), (_, users_ids, _) = of_queries()
    ids, of_pairs = (np.array([kind(name[1:]) for name in names]) for names in (query_ids, users_ids))
    first, *others = (
        choice_of(query_ids=ids, pairs_query_ids=same, lambdas=[1.0])
        for same in (of_pairs, of_pairs.astype(object), *([of_pairs.astype("S")] if kind is str else []))
    )
    for other in others:
        assert first.table == other.table
        np.testing.assert_array_equal(first.ranker.query_hashes_, other.ranker.query_hashes_)


def test_what_a_choice_says_of_itself():
    (X, grades, query_ids), _ = of_queries()
    given = {"grades": np.where(query_ids == "q3", 0, grades)}
    choice = choice_of(lambdas=(0.1, 1.0, 1e9), **given)
    assert (choice.n_queries, choice.n_irrelevant, choice.n_seen) == (24, 1, 0)
    assert choice.chosen in choice.table
    assert choice.is_better == (choice.chosen.b.value > choice.base.b.value)
    assert choice.lead.value == pytest.approx(choice.chosen.b.value - choice.base.b.value, abs=1e-12)
    assert choice.lead.se < choice.chosen.b.se + choice.base.b.se  # of pairs of folds
    better = replace(choice, base=replace(choice.base, b=Figure(choice.chosen.b.value - 0.01, 0.0)))
    for lead, is_within in ((Figure(0.01, 0.02), True), (Figure(0.01, 0.005), False), (Figure(0.01, np.nan), True)):
        assert replace(better, lead=lead).is_within_error == is_within
    assert not replace(choice, base=choice.chosen, lead=Figure(0.0, 0.1)).is_within_error  # no better at all
    assert replace(choice, regularization=1.0).end == ""
    assert replace(choice, regularization=0.1).end == "smallest"
    assert replace(choice, regularization=1e9).end == "largest"
    alone = choice_of(lambdas=(1e9,), **given)
    assert (alone.is_better, alone.end) == (False, "")
    again = choice_of(choice.ranker, lambdas=(1.0,), **given)
    assert again.n_seen == 32
    assert choice_of(X=-X, lambdas=(1.0,), **given).n_seen == 0


def test_a_hinge_that_has_not_converged_is_told_by_its_row(recwarn):
    choice = choice_of(method="hinge", n_epochs=5, lambdas=(1e-4, 1e6))
    assert [row.converged for row in choice.table] == [False, True]
    assert not recwarn.list


def test_measured_queries_are_scored_as_the_library_scores_them():
    base = HyperLinearRanker.from_gradient_boosting(boosted(*judged(5)))
    choice = choice_of(base, lambdas=[1.0], n_folds=24)
    X, grades = in_order(*of_queries()[0])
    scores = []
    for first in range(0, len(X), 12):
        # ties go by document id, of rows in their order, the last one first
        pool, rows = QueryPool(["q"], [0, 12], [f"{row:02d}" for row in range(12)]), slice(first, first + 12)
        ranking = Rankings.from_scores(pool, base.predict(X[rows]))
        scores.append(NDCG("exp", cutoff=5).score(pool, grades[rows], ranking)[0])
    assert choice.base.measure.value == pytest.approx(np.mean(scores), rel=1e-12)  # a fold for each query


def test_folds_are_even_keep_queries_whole_and_do_not_depend_on_the_order_of_rows():
    judged_ids, pair_ids = [f"q{i}" for i in range(23)], [f"q{i}" for i in range(9, 41)]
    fold_of = deal_out(judged_ids, pair_ids, 5, 3)
    for names in (judged_ids, pair_ids):
        counts = np.bincount([fold_of[name] for name in names], minlength=5)
        assert counts.max() - counts.min() <= 1
    (X, grades, query_ids), (users, users_ids, pairs) = of_queries()
    base = boosted_anew(subsample=0.5)
    order, own = np.random.default_rng(0).permutation(len(X)), np.random.default_rng(1).permutation(len(users))
    given = {"lambdas": (0.1, 10.0), "n_folds": 3, "method": "sgd"}
    one = choice_of(base, **given)
    given |= {"X": X[order], "grades": grades[order], "query_ids": query_ids[order], "pairs": np.argsort(own)[pairs]}
    other = choice_of(base, **given, pairs_X=users[own], pairs_query_ids=users_ids[own])
    for a, b in zip((one.base, *one.table), (other.base, *other.table), strict=True):
        np.testing.assert_allclose([a.measure.value, a.b.value], [b.measure.value, b.b.value], rtol=1e-12)
        assert a.precision.value == pytest.approx(b.precision.value, rel=1e-12)
    np.testing.assert_array_equal(one.ranker.coef_, other.ranker.coef_)


def test_of_equal_lambdas_the_one_closest_to_the_base_is_chosen():
    within = {"pairs": [[s, s + 1] for s in range(0, 288, 12)], "pairs_X": None, "pairs_query_ids": None}
    choice = choice_of(lambdas=(1e9, 1e11, 1e10), **within)
    assert choice.regularization == 1e11
    assert choice.table[0].b == choice.table[1].b


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_folds": 25}, "n_folds must be from 2 to the number of queries judged, 24, got 25"),
        ({"n_folds": 1}, "n_folds must be from 2"),
        ({"lambdas": ()}, "lambdas holds no λ"),
        ({"lambdas": (1.0, 0.1, 1)}, "lambdas holds 1 twice, expected each λ once"),
        ({"lambdas": (1.0, 1e300)}, "lambdas must lie between 1e-100 and 1e[+]100, got 1e[+]300"),
        ({"grades": np.repeat(np.arange(24) % 3, 12)}, "hold no order: no query has two of different grades"),
        ({"query_ids": np.arange(288) / 12 // 1}, "query_ids must be texts or whole numbers, got float64 values"),
        ({"pairs_query_ids": [object()] * 240}, "pairs_query_ids must be texts or whole numbers, got object values"),
        ({"lambdas": (1.0, 0.0)}, "lambdas must be positive and finite, got 0.0"),
        ({"alpha": 0.0}, "alpha must be positive and finite, got 0.0"),
        ({"pairs": [[0, 12]]}, "pairs must be of two rows of one query, got rows of q8 and q9 in pair 0"),
        ({"pairs": [[0, 1]]}, "number of queries in pairs, 1, got 5"),
        ({"pairs_X": None}, "pairs_X and pairs_query_ids belong together, got one of them"),
        ({"pairs_query_ids": np.repeat(np.arange(24), 10)}, "must both be text or both be numbers"),
        ({"pairs_query_ids": ["q0"]}, "must name the query of each of the 240 rows of pairs_X"),
        ({"base": "model"}, "base must be a HyperLinearRanker or a regressor of boosted trees, got 'model'"),
        ({"base": LinearRegression()}, "gradient-boosted regression trees"),
    ],
)
def test_bad_choices_are_told_in_one_line(change, message):
    with pytest.raises(InputError, match=message):
        choice_of(**{"base": GradientBoostingRegressor(n_estimators=2)} | change)


# Files


@pytest.mark.parametrize("adapted", [False, True])
def test_a_ranker_survives_its_file_to_the_last_bit(base, X, tmp_path, adapted):
    ranker = base.adapt(X, preferences(X, 30), method="hinge", rng=0) if adapted else base
    for name in ("model.npz", "model.skops", "model"):
        write_ranker(tmp_path / name, ranker)
        back = read_ranker(tmp_path / name)
        for rows in (X, judged(3)[0]):
            np.testing.assert_array_equal(back.predict(rows), ranker.predict(rows))
        np.testing.assert_array_equal(back.base.predict(X), ranker.base.predict(X))
        assert (back.adaptation_ is not None) is adapted
        assert back.adaptation_ == ranker.adaptation_
    assert (tmp_path / "model").read_bytes() == (tmp_path / "model.npz").read_bytes()
    again = back.adapt(X, preferences(X, 30), regularization=0.1)
    np.testing.assert_array_equal(again.coef_, ranker.adapt(X, preferences(X, 30), regularization=0.1).coef_)


def rewritten(path, change, sealed=True):
    """The file with some arrays changed, its digest made anew or not."""
    with np.load(path) as held:
        arrays = {name: held[name] for name in held.files}
    change(arrays)
    if sealed:
        arrays["digest"] = np.array([_digest({k: v for k, v in arrays.items() if k != "digest"})])
    np.savez(path, **arrays)


def put(name, place, value):
    def change(arrays):
        arrays[name][place] = value

    return change


def turn_round(arrays):
    """Two inner nodes become each other's children, every node still has one parent."""
    left, features = arrays["left"], arrays["features"]
    first = next(a for a in left[left >= 0] if features[a] >= 0 and features[left[a]] >= 0)
    parent = int(np.flatnonzero(left == first)[0])
    second = left[first]
    left[parent], left[second] = left[second], left[parent]


@pytest.mark.parametrize(
    ("change", "sealed", "message"),
    [
        (put("coef", 0, 9.0), False, "it was changed after it was written"),
        (lambda arrays: arrays.update(extra=np.zeros(1)), False, "it was changed after it was written"),
        (put("format", 0, "other"), True, "it is of another format"),
        (put("version", 0, 3), True, "it is version 3 of the format, not 1,"),
        (lambda arrays: arrays.pop("left"), True, "lacks left"),
        (lambda arrays: arrays.pop("query_hashes"), True, "lacks query_hashes"),
        (lambda arrays: arrays.update(coef=arrays["coef"].astype(str)), True, "coef is <U32 of shape"),
        (lambda arrays: arrays.update(version=np.array([1, 1])), True, r"version is int64 of shape \(2,\)"),
        (lambda arrays: arrays.update(coef=arrays["coef"][1:]), True, "weights are not as many as its leaves"),
        (put("coef", 0, np.nan), True, "its weights are not finite"),
        (put("intercept", 0, np.inf), True, "its weights are not finite"),
        (put("left", 0, 0), True, "its nodes are no trees"),
        (put("right", 0, 1), True, "its nodes are no trees"),
        (turn_round, True, "its nodes are no trees"),
        (put("left", 0, 10**9), True, "its nodes are no trees"),
        (put("left", 0, -7), True, "its nodes are no trees"),
        (put("roots", 1, 0), True, "its nodes are no trees"),
        (lambda arrays: arrays.update(roots=arrays["roots"][:0]), True, "its nodes are no trees"),
        (lambda arrays: arrays.update(thresholds=arrays["thresholds"][1:]), True, "its nodes are no trees"),
        (put("features", 0, 5), True, "it compares a feature outside 0 … 4"),
        (put("features", 0, -2), True, "it compares a feature outside 0 … 4"),
        (put("thresholds", 0, np.nan), True, "a threshold is missing"),
        (put("method", 0, "x"), True, "its method is unknown"),
    ],
)
def test_damaged_files_are_refused_in_one_line(base, X, tmp_path, change, sealed, message):
    path = tmp_path / "model"
    write_ranker(path, base.adapt(X, preferences(X, 30)))
    read_ranker(path)
    path.rename(tmp_path / "model.npz")
    rewritten(tmp_path / "model.npz", change, sealed)
    with pytest.raises(FormatError, match=message) as told:
        read_ranker(tmp_path / "model.npz")
    assert "\n" not in str(told.value)
    assert "expected a hyper-linear ranker that write_ranker wrote" in str(told.value)


def test_files_of_another_kind_are_refused_and_nothing_in_them_is_run(base, tmp_path):
    write_ranker(tmp_path / "model", base)
    whole = (tmp_path / "model").read_bytes()
    pickled = io.BytesIO()
    np.save(pickled, np.array([{}], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(tmp_path / "pickle", "w") as packed:
        packed.writestr("coef.npy", pickled.getvalue())
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text").write_text("1 qid:1 1:0.5\n")
    (tmp_path / "empty").write_bytes(b"")
    for name in ("pickle", "cut", "text", "empty", "missing"):
        with pytest.raises(InputError) as told:
            read_ranker(tmp_path / name)
        assert str(tmp_path / name) in str(told.value)
        assert "\n" not in str(told.value)


def test_no_changed_byte_goes_unnoticed(base, X, tmp_path):
    """Every change of one byte is refused, or was in what an archive holds beside its arrays."""
    write_ranker(tmp_path / "model", base)
    whole, scores = (tmp_path / "model").read_bytes(), base.predict(X)
    random = np.random.default_rng(0)
    refused = 0
    for place in random.choice(len(whole), 150, replace=False):
        changed = bytearray(whole)
        changed[place] ^= 1 << int(random.integers(8))
        (tmp_path / "changed").write_bytes(changed)
        try:
            np.testing.assert_array_equal(read_ranker(tmp_path / "changed").predict(X), scores)
        except FormatError:
            refused += 1
    assert refused > 100
