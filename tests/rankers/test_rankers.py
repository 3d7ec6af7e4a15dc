import tracemalloc

import numpy as np
import pytest
from each_once import each_once
from hypothesis import given, settings, strategies as st
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils import estimator_checks

from activeeval import ExpectedGradeRanker, ForestRegressionRanker, RankingSVM
from activeeval.core.errors import InputError
from activeeval.core.grade_models import ForestGradeModel, MixtureGradeModel, OrderedLogitModel, UniformGradeModel
from activeeval.rankers.pairs import PreferencePairs

GRADE_MODELS = [
    ForestGradeModel(n_estimators=5, random_state=3),
    OrderedLogitModel(),
    UniformGradeModel(),
    MixtureGradeModel([ForestGradeModel(n_estimators=5, random_state=3), OrderedLogitModel()]),
]
RANKERS = [
    ExpectedGradeRanker(GRADE_MODELS[0]),
    ExpectedGradeRanker(GRADE_MODELS[1]),
    ForestRegressionRanker(n_estimators=5, random_state=0),
    RankingSVM(rng=0),
]


def name(value):
    return repr(value).replace("\n", "")[:60]


def judged_items(n, seed, n_queries=10, n_features=4):
    """Items of interleaved queries whose grade is linear in the features but for noise."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, n_features)) * [10.0**k for k in range(n_features)] + 3
    latent = (X - 3) @ [(-1) ** k / 10.0**k for k in range(n_features)] + random.logistic(size=n)
    return X, np.digitize(latent, [0.0, 2.0, 3.5]), random.integers(n_queries, size=n)


def all_pairs(grades, query_ids):
    n = range(len(grades))
    return [(i, j) for i in n for j in n if query_ids[i] == query_ids[j] and grades[i] > grades[j]]


def weights_of_linear_svc(differences, C):
    """The same problem as a classification of the differences and their opposites, each of half the weight."""
    both = np.vstack((differences, -differences))
    labels = np.repeat([1, -1], len(differences))
    svc = LinearSVC(loss="squared_hinge", C=C / 2, fit_intercept=False, dual=False, tol=1e-12, max_iter=100_000)
    return svc.fit(both, labels).coef_[0]


# Ranking SVM


@each_once(("C", [1e-4, 0.01, 1.0, 100.0]), ("standardize", [True, False]))
def test_all_pairs_give_the_weights_of_a_classifier_of_differences(C, standardize):
    X, grades, query_ids = judged_items(120, 1)
    svm = RankingSVM(C, standardize=standardize).fit(X, grades, query_ids)
    preferred, other = np.transpose(all_pairs(grades, query_ids))
    differences = (X[preferred] - X[other]) / (X.std(axis=0) if standardize else 1)
    assert svm.n_pairs_ == len(differences)
    np.testing.assert_allclose(svm.coef_, weights_of_linear_svc(differences, C), rtol=1e-4, atol=1e-7)
    short = np.maximum(1 - differences @ svm.coef_, 0)
    slope = svm.coef_ - 2 * C * short @ differences
    assert np.all(np.abs(slope) < 1e-6 * 2 * C * np.abs(differences).sum(axis=0))
    scores = svm.predict(X)
    np.testing.assert_allclose(scores[preferred] - scores[other], differences @ svm.coef_, rtol=1e-9, atol=1e-12)


def test_few_pairs_of_many_features_of_any_scale_are_no_trouble():
    """All pairs can be kept apart and scales differ by 10¹²: first-order descents take thousands of steps here."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 100)) * 10.0 ** random.uniform(-4, 8, size=100)
    X[:, 1] = X[:, 0] * (1 + 1e-12 * random.normal(size=60))
    grades, query_ids = random.integers(3, size=60), np.arange(60) // 10
    preferred, other = np.transpose(all_pairs(grades, query_ids))
    for standardize in (True, False):
        svm = RankingSVM(C=100.0, standardize=standardize).fit(X, grades, query_ids)
        scores = svm.predict(X)
        assert np.all(scores[preferred] - scores[other] > 0.99)


def test_a_sample_of_pairs_is_weighted_so_that_C_keeps_its_meaning():
    """Without the weight the norm would be about a tenth of what all pairs give."""
    X, grades, query_ids = judged_items(600, 1)
    whole = RankingSVM(C=1e-6).fit(X, grades, query_ids)
    part = RankingSVM(C=1e-6, max_pairs=whole.n_pairs_ // 10, rng=0).fit(X, grades, query_ids)
    assert part.n_pairs_ == whole.n_pairs_ > 10_000
    np.testing.assert_allclose(part.coef_, whole.coef_, rtol=0.1)
    pairs = PreferencePairs.of(grades, query_ids).draw(whole.n_pairs_ // 10, np.random.default_rng(0))
    differences = (X[pairs[0]] - X[pairs[1]]) / X.std(axis=0)
    n = len(differences)
    expected = weights_of_linear_svc(differences, 1e-6 * whole.n_pairs_ / n)
    np.testing.assert_allclose(part.coef_, expected, rtol=1e-4, atol=1e-9)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=25), st.integers(1, 30))
@settings(deadline=None)
def test_pairs_are_of_one_query_and_in_the_right_direction(rows, max_pairs):
    grades, codes = np.transpose(rows)
    pairs = PreferencePairs.of(grades, codes)
    expected = all_pairs(grades, codes)
    assert pairs.n_pairs == len(expected)
    if expected:
        everything = np.transpose(pairs.draw(len(expected), np.random.default_rng(0)))
        assert sorted(map(tuple, everything.tolist())) == sorted(expected)
        some = [tuple(p) for p in np.transpose(pairs.draw(max_pairs, np.random.default_rng(0))).tolist()]
        assert len(some) == len(set(some)) == min(max_pairs, len(expected))
        assert set(some) <= set(expected)


@pytest.mark.statistical
def test_pairs_are_drawn_evenly():
    """False alarms: 1e-4 (for another seed). A pair that is never drawn adds 480 to a statistic of about 29."""
    grades = np.array([0, 2, 1, 0, 3, 1, 0, 1, 2, 0, 0, 2])
    codes = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2])
    pairs, random = PreferencePairs.of(grades, codes), np.random.default_rng(5)
    n, n_drawn, repetitions = pairs.n_pairs, 4, 2000
    counts = np.zeros((12, 12))
    for _ in range(repetitions):
        np.add.at(counts, pairs.draw(n_drawn, random), 1)
    observed = np.array([counts[pair] for pair in all_pairs(grades, codes)])
    assert observed.sum() == repetitions * n_drawn
    share = n_drawn / n
    statistic = ((observed - repetitions * share) ** 2).sum() / (repetitions * share * (1 - share)) * (n - 1) / n
    assert chi2.ppf(1e-4, n - 1) < statistic < chi2.ppf(1 - 1e-4, n - 1)


def test_scale_shift_and_order_of_rows_do_not_matter():
    X, grades, query_ids = judged_items(200, 1)
    scores = RankingSVM().fit(X, grades, query_ids).predict(X)
    moved = X * [3.0, 1e-4, 2.0, 1e5] - [1.0, 1e-2, 1e4, 3e6]
    np.testing.assert_allclose(RankingSVM().fit(moved, grades, query_ids).predict(moved), scores, rtol=0, atol=1e-6)
    order = np.random.default_rng(2).permutation(200)
    other = RankingSVM().fit(X[order], grades[order], np.array([f"q{q}" for q in query_ids])[order])
    np.testing.assert_allclose(other.predict(X), scores, rtol=0, atol=1e-6)


def test_a_constant_feature_has_no_say():
    X, grades, query_ids = judged_items(200, 1)
    X[:, 1] = 0.1
    svm = RankingSVM().fit(X, grades, query_ids)
    assert svm.coef_[1] == 0
    scores = svm.predict(X)
    X[:100, 1] = 7
    np.testing.assert_array_equal(svm.predict(X), scores)


def test_rows_of_equal_features_tie_wherever_they_stand():
    _, grades, query_ids = judged_items(30_001, 1)
    X = np.random.default_rng(3).normal(size=(30_001, 45))
    svm = RankingSVM(max_pairs=1000, rng=0).fit(X, grades, query_ids)
    for table in (X, X.astype(np.float32)):
        table[[3, 8191, 8192, 20_001, 30_000]] = table[17]
        scores = svm.predict(table)
        np.testing.assert_array_equal(scores[[3, 8191, 8192, 20_001, 30_000]], scores[17])


def test_the_seed_decides_and_single_precision_is_the_same():
    X, grades, query_ids = judged_items(400, 1)
    X = X.astype(np.float32)
    first, again, other = (RankingSVM(max_pairs=500, rng=s).fit(X, grades, query_ids) for s in (0, 0, 1))
    np.testing.assert_array_equal(first.coef_, again.coef_)
    assert not np.array_equal(first.coef_, other.coef_)
    random = np.random.default_rng(0)
    np.testing.assert_array_equal(RankingSVM(max_pairs=500, rng=random).fit(X, grades, query_ids).coef_, first.coef_)
    double = RankingSVM(max_pairs=500, rng=0).fit(X.astype(np.float64), grades, query_ids)
    np.testing.assert_allclose(double.coef_, first.coef_, rtol=1e-6)


def test_a_descent_that_is_cut_short_warns():
    X, grades, query_ids = judged_items(200, 1)
    with pytest.warns(ConvergenceWarning, match="the ranking SVM did not converge in 1 iterations"):
        RankingSVM(max_iter=1).fit(X, grades, query_ids)


def test_what_the_svm_cannot_learn_from_is_named():
    X, grades, query_ids = judged_items(50, 1)
    with pytest.raises(InputError, match="no query holds items of different grades"):
        RankingSVM().fit(X, query_ids, query_ids)
    with pytest.raises(InputError, match="query_ids must name the query of each row"):
        RankingSVM().fit(X, grades, None)
    with pytest.raises(InputError, match="all be text or all be numbers"):
        RankingSVM().fit(X, grades, np.array(["a", *range(49)], dtype=object))
    missing = np.where((np.arange(50)[:, None] == 7) & (np.arange(4) == 2), np.nan, X)
    with pytest.raises(InputError, match="X must not miss values, got nan at row 7, column 2"):
        RankingSVM().fit(missing, grades, query_ids)
    with pytest.raises(InputError, match="X must not miss values, got nan at row 7, column 2"):
        RankingSVM().fit(X, grades, query_ids).predict(missing)


# Regression forest


def test_the_forest_is_scikit_learns():
    X, grades, _ = judged_items(500, 1)
    X[::7, 1] = np.nan
    ranker = ForestRegressionRanker(n_estimators=8, random_state=5).fit(X, grades)
    seed = np.random.RandomState(5).randint(np.iinfo(np.int32).max)
    forest = RandomForestRegressor(8, min_samples_leaf=20, max_features="sqrt", random_state=seed).fit(X, grades)
    np.testing.assert_allclose(ranker.predict(X), forest.predict(X), rtol=1e-14)
    two_jobs = clone(ranker).set_params(n_jobs=2).fit(X, grades)
    np.testing.assert_array_equal(two_jobs.predict(X), ranker.predict(X))


class Seen(RandomForestRegressor):
    """Keeps what it learned from."""

    def fit(self, X, y):
        self.rows_ = X[:, 0].astype(int)
        self.targets_ = y
        return super().fit(X, y)


@pytest.mark.parametrize("ranks", [True, False])
def test_a_row_limit_draws_rows_without_replacement(ranks, monkeypatch):
    monkeypatch.setattr("activeeval.core.grade_models.forest.RandomForestRegressor", Seen)
    X = np.arange(300.0)[:, None]
    grades = (np.arange(300) * 7) % 3
    kind = ForestRegressionRanker if ranks else ForestGradeModel

    def grown(max_rows, seed=0):
        return kind(n_estimators=2, max_rows=max_rows, random_state=seed).fit(X, grades).forests_[0]

    limited, again, other = grown(100), grown(100), grown(100, seed=1)
    assert np.unique(limited.rows_).size == limited.rows_.size == 100
    expected = grades if ranks else (grades[:, None] <= np.arange(2)).astype(float)
    np.testing.assert_array_equal(limited.targets_, expected[limited.rows_])
    np.testing.assert_array_equal(limited.rows_, again.rows_)
    assert not np.array_equal(limited.rows_, other.rows_)
    for enough in (300, 1000, None):
        np.testing.assert_array_equal(grown(enough).rows_, np.arange(300))
        np.testing.assert_array_equal(grown(enough).predict(X), grown(None).predict(X))


def test_rows_of_a_limited_forest_keep_their_numbers_in_messages():
    X, grades, _ = judged_items(60, 1)
    X[44, 1] = 1e39
    with pytest.raises(InputError, match=r"got 1e\+39 at row 44, column 1"):
        ForestRegressionRanker(max_rows=59, random_state=0).fit(X, grades)


# Expected grade


@pytest.mark.parametrize("model", GRADE_MODELS, ids=name)
def test_the_expected_grade_is_the_models(model):
    X, grades, query_ids = judged_items(300, 1)
    fitted = clone(model).fit(X, grades)
    probs = fitted.predict_proba(X)
    expected = probs @ np.arange(probs.shape[1])
    for given_model in (clone(model), fitted):
        ranker = ExpectedGradeRanker(given_model).fit(X, grades, query_ids)
        np.testing.assert_allclose(ranker.predict(X), expected, rtol=1e-12)
        assert ranker.model_ is not given_model
    fewer = ExpectedGradeRanker(fitted).fit(X[:100], grades[:100])
    assert fewer.n_features_in_ == 4
    np.testing.assert_array_equal(fitted.predict_proba(X), probs)


def test_only_grade_models_have_expected_grades():
    X, grades, _ = judged_items(60, 1)
    with pytest.raises(InputError, match=r"model must be a grade model, got RankingSVM\(\)"):
        ExpectedGradeRanker(RankingSVM()).fit(X, grades)


# All of them


@pytest.mark.parametrize("ranker", RANKERS, ids=name)
def test_bad_training_data_is_named(ranker):
    X, grades, query_ids = judged_items(60, 1)
    with pytest.raises(InputError, match="grades must hold one grade for each of the 60 rows"):
        clone(ranker).fit(X, grades[:-1], query_ids)
    with pytest.raises(InputError, match="query_ids must name the query of each of the 60 rows, got shape"):
        clone(ranker).fit(X, grades, query_ids[:-1])
    with pytest.raises(InputError, match="grades holds the grade -2 at row 7"):
        clone(ranker).fit(X, np.where(np.arange(60) == 7, -2, grades), query_ids)
    with pytest.raises(InputError, match="no rows"):
        clone(ranker).fit(X[:0], grades[:0], query_ids[:0])
    with pytest.raises(InputError, match="inf at row 3, column 2"):
        clone(ranker).fit(np.where((np.arange(60)[:, None] == 3) & (np.arange(4) == 2), np.inf, X), grades, query_ids)


CHECKS = """no_attributes_set_in_init get_params_invariance set_params estimators_pickle estimators_overwrite_params
dont_overwrite_parameters dict_unchanged fit_idempotent methods_sample_order_invariance methods_subset_invariance
estimators_unfitted fit2d_predict1d"""


@pytest.mark.parametrize("check", [f"check_{check}" for check in CHECKS.split()])
@pytest.mark.parametrize("ranker", RANKERS[:3], ids=name)
def test_scikit_learn_checks(ranker, check):
    """The Ranking SVM is not among them: the checks know of no queries."""
    if not hasattr(estimator_checks, check):
        pytest.skip("not in this version of scikit-learn")
    getattr(estimator_checks, check)(type(ranker).__name__, clone(ranker))


# Real data, and a lot of it


@pytest.mark.slow
def test_millions_of_pairs_take_little_memory():
    random = np.random.default_rng(0)
    X = random.standard_normal((360_000, 136), dtype=np.float32)
    grades = np.digitize(X[:, 0] + random.logistic(size=360_000), [0.0, 1.5, 3.0, 4.0])
    tracemalloc.start()
    svm = RankingSVM(rng=0).fit(X, grades, np.repeat(np.arange(3000), 120))
    scores = svm.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert svm.n_pairs_ > 10_000_000
    assert peak < 300e6
    assert np.corrcoef(scores, X[:, 0])[0, 1] > 0.98
