import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from activeeval.core.errors import InputError
from activeeval.core.grade_models import ForestGradeModel, log_loss
from activeeval.core.grade_models.probabilities import from_cumulative


@pytest.mark.parametrize("separate", [False, True])
def test_number_of_jobs_does_not_change_a_bit(separate, items):
    X, y = items(10_000, 1, missing=0.1)
    parameters = {"n_estimators": 6, "separate": separate, "random_state": 5}
    one = ForestGradeModel(**parameters, n_jobs=1).fit(X, y)
    two = ForestGradeModel(**parameters, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_one_forest_is_scikit_learns_and_monotone(items):
    X, y = items(500, 1, missing=0.1)
    model = ForestGradeModel(n_estimators=8, random_state=5).fit(X, y)
    seed = np.random.RandomState(5).randint(np.iinfo(np.int32).max)
    forest = RandomForestRegressor(8, min_samples_leaf=20, max_features="sqrt", random_state=seed)
    cumulative = forest.fit(X, (y[:, None] <= np.arange(3)).astype(float)).predict(X)
    assert np.diff(cumulative, axis=1).min() >= -1e-15
    np.testing.assert_allclose(np.cumsum(model.predict_proba(X), axis=1)[:, :3], cumulative, atol=1e-12)


def test_separate_forests_cross_and_are_rearranged(items):
    X, y = items(500, 1)
    model = ForestGradeModel(n_estimators=3, separate=True, min_samples_leaf=5, random_state=5).fit(X, y)
    cumulative = model._cumulative(X)
    assert np.diff(cumulative, axis=1).min() < 0
    np.testing.assert_allclose(
        np.cumsum(model.predict_proba(X), axis=1)[:, :3], np.sort(cumulative, axis=1), atol=1e-12
    )


def test_two_grades_make_both_kinds_the_same_forest(items):
    X, y = items(300, 1, n_grades=2)
    both = [ForestGradeModel(5, separate=s, random_state=1).fit(X, y).predict_proba(X) for s in (False, True)]
    np.testing.assert_array_equal(*both)


def test_leaves_hold_shares_of_the_grades(items):
    X, y = items(200, 1)
    model = ForestGradeModel(n_estimators=1, min_samples_leaf=200, random_state=0).fit(X, y)
    drawn = np.bincount(y, weights=np.bincount(_bootstrap(model, 200), minlength=200)) / 200
    np.testing.assert_allclose(model.predict_proba(X[:1])[0], drawn, atol=1e-12)


def _bootstrap(model, n):
    return model.forests_[0].estimators_samples_[0]


def test_what_is_missing_is_learned(items):
    """Half of the items of grade 1 miss their only feature, no other item does."""
    X = np.random.default_rng(0).normal(size=(400, 1))
    y = np.repeat([0, 1], 200)
    X[300:] = np.nan
    probs = ForestGradeModel(n_estimators=20, random_state=0).fit(X, y).predict_proba([[0.0], [np.nan]])
    assert probs[1, 1] > 0.99
    assert abs(probs[0, 1] - 1 / 3) < 0.2


def test_a_value_missing_only_at_prediction_is_no_error(items):
    X, y = items(300, 1)
    probs = ForestGradeModel(n_estimators=5, random_state=0).fit(X, y).predict_proba(np.full((1, 5), np.nan))
    np.testing.assert_allclose(probs.sum(), 1)


def test_a_generator_seeds_it_and_wrong_parameters_are_one_error(items):
    X, y = items(100, 1)
    probs = [ForestGradeModel(3, random_state=np.random.default_rng(s)).fit(X, y).predict_proba(X) for s in (0, 0, 1)]
    np.testing.assert_array_equal(probs[0], probs[1])
    assert np.any(probs[0] != probs[2])
    for wrong in ({"n_estimators": 0}, {"max_features": "all"}, {"max_samples": -1}, {"random_state": "x"}):
        with pytest.raises(InputError, match="forest cannot be grown"):
            ForestGradeModel(**wrong).fit(X, y)


def test_values_beyond_single_precision_are_named(items):
    X, y = items(60, 1)
    X[4, 1] = 1e39
    with pytest.raises(InputError, match=r"single precision, got 1e\+39 at row 4, column 1"):
        ForestGradeModel().fit(X, y)


def test_rearrangement_never_moves_away_from_a_distribution_function():
    random = np.random.default_rng(0)
    truth = np.sort(random.random((500, 4)), axis=1)
    estimate = np.clip(truth + random.normal(scale=0.2, size=truth.shape), 0, 1)
    arranged = np.cumsum(from_cumulative(estimate), axis=1)[:, :4]
    before, after = ((e - truth) ** 2 for e in (estimate, arranged))
    assert np.all(after.sum(axis=1) <= before.sum(axis=1) + 1e-12)


@pytest.mark.slow
def test_two_hundred_thousand_rows_of_136_features_can_be_fitted():
    random = np.random.default_rng(0)
    X = random.normal(size=(200_000, 136)).astype(np.float32)
    y = np.digitize(X[:, 0] + random.logistic(size=200_000), [0.0, 1.5, 3.0, 4.0])
    model = ForestGradeModel(n_estimators=4, max_samples=0.2, random_state=0).fit(X, y)
    assert log_loss(model.predict_proba(X[:1000]), y[:1000]) < 1.4
