"""A base adapted to preferences: the objective, its solvers, laws, and what is refused."""

import numpy as np
import pytest
from boosted_trees import METHODS, dense, preferences
from each_once import each_once
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from activeeval.adaptation import pair_precision
from activeeval.adaptation.margins import LargestMargins
from activeeval.adaptation.weights import Differences
from activeeval.core.errors import InputError, SolverError
from activeeval.core.kernels.bundles import SparseRows
from activeeval.core.kernels.learning import leaf_pairs, losses
from tests import naive_adaptation as naive


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


def test_a_closed_form_that_would_not_fit_is_refused(base, X, monkeypatch):
    monkeypatch.setattr("activeeval.adaptation.weights.MOST_SIDE", 20)
    with pytest.raises(InputError, match=r"at most 20 pairs or leaves, .* got 3\d: method='sgd' has no such limit"):
        base.adapt(X, preferences(X, 150))
    assert base.adapt(X, preferences(X, 20)).adaptation_.n_pairs == 20


@pytest.mark.parametrize(("n_epochs", "tol", "n"), [(3, 1e9, 3), (5, 1e9, 5), (12, 1e9, 5), (12, -1.0, 12)])
def test_ascent_ends_early_only_where_the_gap_is_computed(n_epochs, tol, n):
    D, _, margins, _ = small_rows()
    differences = Differences(sparse.csr_array(D), np.arange(4), margins, np.zeros(4, int))
    assert LargestMargins(differences, n_epochs, tol, 11)(0.05).n_epochs == n
