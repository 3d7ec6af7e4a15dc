"""Trees grown by histograms, beside scikit-learn's, which sort."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from activeeval.grade_models import ForestGradeModel
from activeeval.grade_models.trees import Forest, Growth, coded, intervals
from activeeval.kernels.forests import MISSING, grow_tree


def tree_of(X, targets, counts, min_leaf, n_tried=None, key=1):
    X, edges = X.astype(np.float32), intervals(X.astype(np.float32))
    grown = grow_tree(coded(X, edges), targets, counts, min_leaf, n_tried or X.shape[1], np.uint64(key))
    return Forest.of(edges, [grown])


@pytest.mark.kernel
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("min_leaf", [1, 7])
def test_a_tree_that_tries_all_features_is_scikit_learns(min_leaf, missing, n_outputs):
    random = np.random.default_rng(min_leaf)
    X = random.integers(0, 50, (300, 4)).astype(float)
    X[random.random(X.shape) < missing] = np.nan
    targets = np.nan_to_num(X[:, :1]) / 20 + random.normal(size=(300, n_outputs))  # no two splits are alike
    counts = np.bincount(random.integers(300, size=300), minlength=300)
    ours = tree_of(X, targets, counts, min_leaf).means_of(X.astype(np.float32))
    theirs = DecisionTreeRegressor(min_samples_leaf=min_leaf, random_state=0).fit(X, targets, sample_weight=counts)
    expected = theirs.predict(X).reshape(300, -1)
    # in the smallest nodes several features part the drawn rows alike, and others differently
    alike = counts > 0 if min_leaf == 1 else counts >= 0
    np.testing.assert_allclose(ours[alike], expected[alike], atol=1e-12)


@pytest.mark.kernel
def test_where_the_features_drawn_do_not_vary_others_are():
    X = np.zeros((40, 12))
    X[:, 11] = np.repeat([0.0, 1.0], 20)
    targets = X[:, 11:].copy()
    for key in range(5):
        grown = tree_of(X, targets, np.ones(40, dtype=np.int64), 5, n_tried=1, key=key)
        np.testing.assert_array_equal(grown.means_of(X.astype(np.float32)), targets)


def test_features_are_tried_equally_often():
    """Chance alone: a χ² of 4 degrees of freedom is above 23.5 once in 10,000 seeds; the seeds are fixed."""
    random = np.random.default_rng(0)
    X, targets = random.random((50, 5)), random.random((50, 1))
    counts = np.ones(50, dtype=np.int64)
    roots = [tree_of(X, targets, counts, 20, n_tried=1, key=key).nodes[0][0] for key in range(1000)]
    seen = np.bincount(roots, minlength=5)
    assert ((seen - 200) ** 2 / 200).sum() < 23.5


@pytest.mark.kernel
def test_a_value_that_only_predictions_miss_goes_with_the_larger_side():
    X = np.repeat([0.0, 1.0, 2.0], [30, 10, 5])[:, None]
    grown = tree_of(X, (X == 0).astype(float), np.ones(45, dtype=np.int64), 5)
    np.testing.assert_array_equal(grown.means_of(np.array([[np.nan], [0.0], [1.0]], np.float32)), [[1], [1], [0]])


def test_few_values_have_an_interval_each_and_many_share_them_equally():
    few = np.array([[3.0, 1.0, 2.0, np.nan, 1.0]], np.float32).T
    assert coded(few, intervals(few))[0].tolist() == [2, 0, 1, MISSING, 0]
    random = np.random.default_rng(0)
    many = np.concatenate((np.zeros(20_000), random.random(30_000))).astype(np.float32)[:, None]
    codes = coded(many, intervals(many))[0]
    assert np.array_equal(np.unique(codes[:20_000]), [0])
    assert codes[20_000:].min() == 1
    sizes = np.bincount(codes)[1:]
    assert sizes.min() >= 40
    assert sizes.max() <= 60  # 50,000 rows by 1,023
    order = np.argsort(many[:, 0], kind="stable")
    assert (np.diff(codes[order].astype(int)) >= 0).all()


def test_a_forest_is_the_mean_of_its_trees_and_grows_from_its_seed(items):
    X, y = items(400, 1, missing=0.1)
    single = X.astype(np.float32)
    model = ForestGradeModel(n_estimators=5, min_samples_leaf=9, max_features=0.5, max_samples=0.3)
    growth = Growth.of(model, *X.shape)
    assert (growth.n_trees, growth.min_leaf, growth.n_tried, growth.n_drawn) == (5, 9, 2, 120)
    edges = intervals(single)
    forest = growth.forest(single, edges, y.astype(float), seed=3)
    trees = []
    for t, (first, leaf) in enumerate(forest.roots):
        last, last_leaf = forest.roots[t + 1] if t < 4 else (forest.nodes[0].size, len(forest.nodes[-1]))
        own = tuple(array[first:last] for array in forest.nodes[:-1])
        trees.append(Forest.of(edges, [(*own, forest.nodes[-1][leaf:last_leaf])]).means_of(single))
    np.testing.assert_allclose(forest.means_of(single), np.mean(trees, axis=0), rtol=1e-12)
    assert not np.allclose(trees[0], trees[1])


@pytest.mark.parametrize(
    ("given", "meant"),
    [("sqrt", 3), ("log2", 3), (None, 10), (0.25, 2), (0.01, 1), (1.0, 10), (4, 4), (99, 10)],
)
def test_the_number_of_features_tried_is_scikit_learns(given, meant):
    assert Growth.of(ForestGradeModel(max_features=given), 50, 10).n_tried == meant
    X = np.random.default_rng(0).random((50, 10))
    if given != 99:
        forest = RandomForestRegressor(1, max_features=given).fit(X, X[:, 0])
        assert forest.estimators_[0].max_features_ == meant


@pytest.mark.statistical
def test_a_forest_loses_as_little_as_scikit_learns(items):
    """The same squared error on held-out items: means of ten differ by less than four standard errors (1 in 10⁴)."""
    X, y = items(1200, 1)
    differences = []
    for seed in range(10):
        ours = ForestGradeModel(n_estimators=20, random_state=seed).fit(X[:800], y[:800])._cumulative(X[800:])
        targets = (y[:, None] <= np.arange(3)).astype(float)
        theirs = RandomForestRegressor(20, min_samples_leaf=20, max_features="sqrt", random_state=seed)
        expected = theirs.fit(X[:800], targets[:800]).predict(X[800:])
        errors = [((given - targets[800:]) ** 2).mean() for given in (ours, expected)]
        differences.append(errors[0] - errors[1])
    assert abs(np.mean(differences)) < 4 * np.std(differences, ddof=1) / np.sqrt(10)
    assert np.std(differences) < 0.005
