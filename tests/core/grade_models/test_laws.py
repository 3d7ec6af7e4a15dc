"""Laws that every grade model obeys."""

import joblib
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.utils import estimator_checks

from activeeval.core.errors import FormatError, InputError
from activeeval.core.grade_models import (
    ForestGradeModel,
    MixtureGradeModel,
    OrderedLogitModel,
    UniformGradeModel,
    expected_grade,
    log_loss,
)
from activeeval.formats.grade_models import load_model, save_model

FORESTS = [
    ForestGradeModel(n_estimators=10, random_state=3),
    ForestGradeModel(n_estimators=10, separate=True, random_state=3),
]
LOGITS = [OrderedLogitModel(loss=loss) for loss in ("proportional-odds", "all-threshold", "immediate-threshold")]
THRESHOLD_MODELS = FORESTS + LOGITS
MODELS = [*THRESHOLD_MODELS, UniformGradeModel(), MixtureGradeModel([FORESTS[0], LOGITS[0]], weights=[3, 1])]


def name(model):
    return repr(model)[:60]


@pytest.mark.parametrize("model", MODELS, ids=name)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_rows_are_probability_distributions(model, missing, items):
    X, y = items(400, 1, missing=missing)
    fitted = clone(model).fit(X, y)
    probs = fitted.predict_proba(items(300, 2, missing=missing)[0])
    assert probs.shape == (300, 4)
    assert probs.min() >= 0
    np.testing.assert_allclose(probs.sum(axis=1), 1, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(fitted.classes_, np.arange(4))
    assert fitted.n_features_in_ == 5


@pytest.mark.parametrize("model", THRESHOLD_MODELS, ids=name)
def test_grades_unseen_in_training_have_no_probability(model, items):
    X, y = items(400, 1)
    keep = y != 1
    probs = clone(model).set_params(max_grade=5).fit(X[keep], y[keep]).predict_proba(X)
    assert probs.shape == (400, 6)
    np.testing.assert_array_equal(probs[:, [1, 4, 5]], 0)
    coded = clone(model).fit(X[keep], np.maximum(y[keep] - 1, 0)).predict_proba(X)
    np.testing.assert_array_equal(probs[:, [0, 2, 3]], coded)


@pytest.mark.parametrize("model", THRESHOLD_MODELS[:-1], ids=name)
def test_it_learns(model, items):
    """All but the immediate-threshold loss, whose thresholds are no quantiles and may coincide."""
    X, y = items(1500, 1)
    probs = clone(model).fit(X[:1000], y[:1000]).predict_proba(X[1000:])
    shares = np.tile(np.bincount(y[:1000]) / 1000, (500, 1))
    assert log_loss(probs, y[1000:]) < log_loss(shares, y[1000:]) - 0.1
    assert np.corrcoef(expected_grade(probs), y[1000:])[0, 1] > 0.5


@pytest.mark.parametrize("model", MODELS, ids=name)
def test_same_seed_same_model_and_fit_leaves_parameters_alone(model, items):
    X, y = items(300, 1)
    before = repr(model)
    first, second = clone(model).fit(X, y), clone(model).fit(X, y)
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    np.testing.assert_array_equal(first.fit(X, y).predict_proba(X), second.predict_proba(X))
    np.testing.assert_array_equal(first.predict(X), np.argmax(first.predict_proba(X), axis=1))
    assert repr(clone(first)) == before


@pytest.mark.parametrize("model", MODELS, ids=name)
def test_save_and_load_give_the_same_model(model, items, tmp_path):
    X, y = items(300, 1)
    fitted = clone(model).fit(X, y)
    save_model(fitted, tmp_path / "model.joblib")
    assert [p.name for p in tmp_path.iterdir()] == ["model.joblib"]
    again = load_model(tmp_path / "model.joblib", trusted=True)
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize("content", [b"", b"0 qid:1 1:0.5\n", b"\x80\x04garbage", None])
def test_a_wrong_file_is_one_clear_error(content, tmp_path):
    path = tmp_path / "model.joblib"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FormatError, match="grade model") as caught:
        load_model(path, trusted=True)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


class Bomb:
    """What a pickle may do when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_nothing_of_a_file_runs_unless_it_is_trusted(tmp_path):
    joblib.dump(Bomb(str(tmp_path / "bang")), tmp_path / "model")
    expected = r"model: loading a grade model can run code of its writer, expected trusted=True$"
    with pytest.raises(FormatError, match=expected):
        load_model(tmp_path / "model")
    assert not (tmp_path / "bang").exists()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ([1, 2], "holds a list"),
        ({"format": "activeeval grade model", "version": 99}, "version 99"),
        ({"format": "activeeval grade model", "version": 1, "model": 3}, "holds a int"),
    ],
)
def test_another_pickle_or_version_is_refused(content, problem, tmp_path):
    joblib.dump(content, tmp_path / "model")
    with pytest.raises(FormatError, match=problem):
        load_model(tmp_path / "model", trusted=True)


def test_what_is_no_model_is_not_saved(tmp_path):
    with pytest.raises(InputError, match="got dict"):
        save_model({}, tmp_path / "dict")


@pytest.mark.parametrize("model", THRESHOLD_MODELS, ids=name)
def test_bad_training_data_is_named(model, items):
    X, y = items(60, 1)
    seventh, cell = np.arange(60) == 7, (np.arange(60)[:, None] == 3) & (np.arange(5) == 2)
    for features, grades, problem in (
        (X, y[:-1], "each of the 60 rows"),
        (X, np.where(seventh, -1, y), r"grade -1 at row 7.*not judged.*left out"),
        (X, np.where(seventh, 0.5, y), r"whole numbers, got 0\.5"),
        (X, np.zeros(60, dtype=int), "only grade 0 occurs"),
        (X[:0], y[:0], "no rows"),
        (np.where(cell, np.inf, X), y, "inf at row 3, column 2"),
        (X[:, 0], y, "must have shape"),
        (np.full(X.shape, "a"), y, "must be numbers"),
        (X[:, :0], y, "minimum of 1 is required"),
    ):
        with pytest.raises(InputError, match=problem):
            clone(model).fit(features, grades)
    for max_grade, problem in ((2, r"grade 3 at row \d+, above the largest grade 2"), (0, "max_grade must be")):
        with pytest.raises(InputError, match=problem):
            clone(model).set_params(max_grade=max_grade).fit(X, y)


@pytest.mark.parametrize("model", THRESHOLD_MODELS, ids=name)
def test_prediction_needs_a_fit_and_the_same_columns(model, items):
    X, y = items(60, 1)
    with pytest.raises(NotFittedError):
        clone(model).predict_proba(X)
    with pytest.raises(InputError, match="X has 4 features"):
        clone(model).fit(X, y).predict_proba(X[:, :4])


def test_sparse_features_are_refused_with_advice(items):
    with pytest.raises(InputError, match=r"X\.toarray\(\)"):
        OrderedLogitModel().fit(csr_array(np.eye(2)), [0, 1])


CHECKS = [
    *("parameters_default_constructible", "no_attributes_set_in_init", "get_params_invariance", "set_params"),
    *("estimators_dtypes", "estimators_pickle", "estimators_overwrite_params", "dont_overwrite_parameters"),
    *("dict_unchanged", "fit_idempotent", "methods_sample_order_invariance", "methods_subset_invariance"),
    *("estimators_unfitted", "fit2d_predict1d", "fit1d", "estimators_empty_data_messages"),
]


@pytest.mark.parametrize("check", [f"check_{name}" for name in CHECKS])
@pytest.mark.parametrize(
    "model", [ForestGradeModel(n_estimators=5, min_samples_leaf=2, random_state=0), LOGITS[0]], ids=name
)
def test_scikit_learn_checks(model, check):
    """The checks of check_estimator whose labels are grades: the others train on texts or on −1 and 1."""
    if not hasattr(estimator_checks, check):
        pytest.skip("not in this version of scikit-learn")
    getattr(estimator_checks, check)(type(model).__name__, clone(model))


@pytest.mark.parametrize("model", [FORESTS[0], LOGITS[0]], ids=name)
def test_it_works_with_cross_validation(model, items):
    X, y = items(300, 1)
    scores = cross_val_score(clone(model), X, y, groups=np.arange(300) // 10, cv=GroupKFold(3), scoring="neg_log_loss")
    assert np.all(scores > -1.5)
