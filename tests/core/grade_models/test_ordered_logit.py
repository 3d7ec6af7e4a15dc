import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from activeeval.core.errors import InputError
from activeeval.core.grade_models import OrderedLogitModel
from activeeval.core.grade_models.ordered_logit import proportional_odds_loss


def test_loss_stays_finite_far_out():
    Z, codes = np.array([[1000.0], [-1000.0], [0.0]]), np.array([0, 2, 1])
    value, gradient = proportional_odds_loss(np.array([1.0, 0.0, -20.0]), Z, codes, 0.0)
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))


def test_without_a_prior_it_is_statsmodels_ordered_model(items):
    ordinal = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    X, y = items(1000, 1)
    model = OrderedLogitModel(alpha=0).fit(X, y)
    reference = ordinal.OrderedModel(y, X, distr="logit").fit(method="bfgs", disp=False, gtol=1e-8, maxiter=500)
    np.testing.assert_allclose(model.coef_ / model.scales_, reference.params[:5], atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), reference.model.predict(reference.params, exog=X), atol=1e-5)


@pytest.mark.parametrize(
    ("loss", "reference"), [("all-threshold", "LogisticAT"), ("immediate-threshold", "LogisticIT")]
)
def test_surrogates_are_mords(loss, reference, items):
    mord = pytest.importorskip("mord")
    X, y = items(500, 1)
    model = OrderedLogitModel(alpha=2.0, loss=loss).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of SciPy 1.16 and later, about mord's own option `disp`
        theirs = getattr(mord, reference)(alpha=2.0).fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(model.thresholds_, theirs.theta_, atol=1e-4)


def test_with_two_grades_all_losses_are_one(items):
    X, y = items(300, 1, n_grades=2)
    probs = [
        OrderedLogitModel(loss=loss).fit(X, y).predict_proba(X)
        for loss in ("proportional-odds", "all-threshold", "immediate-threshold")
    ]
    np.testing.assert_allclose(probs[1], probs[0], atol=1e-5)
    np.testing.assert_allclose(probs[2], probs[0], atol=1e-5)


@pytest.mark.statistical
def test_it_recovers_the_truth(items):
    """20,000 items: a coefficient's standard error is about 0.016, four of them 0.065.

    False-alarm rate under 1e-3 over the eight numbers; a wrong sign or a lost gap misses by 0.5.
    """
    X, y = items(20_000, 1)
    model = OrderedLogitModel().fit(X, y)
    np.testing.assert_allclose(model.coef_ / model.scales_, [1.5, -1.0, 0.5, 0, 0], atol=0.065)
    shift = model.means_ @ (model.coef_ / model.scales_)
    np.testing.assert_allclose(model.thresholds_ + shift, [0.0, 1.5, 3.0], atol=0.08)


def test_thresholds_increase_and_the_prior_shrinks(items):
    X, y = items(300, 1)
    sizes = []
    for alpha in (0.0, 10.0, 1e3, 1e6):
        model = OrderedLogitModel(alpha=alpha).fit(X, y)
        assert np.all(np.diff(model.thresholds_) > 0)
        sizes.append(np.linalg.norm(model.coef_))
    assert sizes == sorted(sizes, reverse=True)
    shares = np.bincount(y) / y.size
    np.testing.assert_allclose(model.predict_proba(X[:1])[0], shares, atol=1e-3)


def test_units_of_the_features_do_not_matter(items):
    X, y = items(300, 1, missing=0.2)
    plain = OrderedLogitModel().fit(X, y).predict_proba(X)
    scaled = 1e6 * X + 5.0
    np.testing.assert_allclose(OrderedLogitModel().fit(scaled, y).predict_proba(scaled), plain, atol=1e-6)


def test_missing_values_are_mean_and_indicator(items):
    X, y = items(300, 1)
    gone = np.random.default_rng(0).random(300) < 0.3
    holed, filled = X.copy(), np.column_stack((X, gone))
    holed[gone, 2] = np.nan
    filled[gone, 2] = X[~gone, 2].mean()
    model = OrderedLogitModel().fit(holed, y)
    assert model.coef_.shape == (6,)
    # The mean-filled column has a smaller spread than the values held, which only the prior sees.
    bare = [OrderedLogitModel(alpha=0).fit(f, y).predict_proba(f) for f in (holed, filled)]
    np.testing.assert_allclose(*bare, atol=1e-5)


def test_constant_and_empty_columns_are_harmless(items):
    X, y = items(300, 1)
    padded = np.column_stack((X, np.full(300, 0.1), np.full(300, np.nan)))
    model = OrderedLogitModel().fit(padded, y)
    np.testing.assert_allclose(model.predict_proba(padded), OrderedLogitModel().fit(X, y).predict_proba(X), atol=1e-6)
    assert np.all(np.isfinite(model.predict_proba(np.ones((1, 7)))))


def test_too_few_iterations_warn_and_wrong_parameters_are_named(items):
    X, y = items(300, 1)
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 iterations"):
        OrderedLogitModel(max_iter=1).fit(X, y)
    with pytest.raises(InputError, match="loss must be one of"):
        OrderedLogitModel(loss="logit").fit(X, y)
    with pytest.raises(InputError, match="alpha must not be negative"):
        OrderedLogitModel(alpha=-1).fit(X, y)


def test_separable_grades_without_a_prior_stay_finite():
    X = np.arange(100.0).reshape(-1, 1)
    y = np.digitize(X[:, 0], [30, 60])
    probs = OrderedLogitModel(alpha=0, max_iter=10_000).fit(X, y).predict_proba(X)
    assert np.all(np.isfinite(probs))
    assert np.mean(np.argmax(probs, axis=1) == y) == 1
