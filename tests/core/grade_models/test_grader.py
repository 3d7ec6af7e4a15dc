"""Graders as a model: against SciPy's bivariate normal, numerical integrals, and the law that marginals are kept."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.integrate import quad
from scipy.special import ndtr, ndtri
from scipy.stats import multivariate_normal, norm

from activeeval.core.errors import InputError
from activeeval.core.grade_models import cross_fitted_probs
from activeeval.core.grade_models.grader import GraderModel
from activeeval.core.grade_models.values import (
    RHO,
    ValueTable,
    bivariate_normal,
    default_shares,
    expected_grades,
    posterior,
)

sides = st.one_of(st.sampled_from([0.0, np.inf, -np.inf]), st.floats(-4, 4))


@given(h=sides, k=sides, rho=st.floats(-0.95, 0.95))
def test_the_bivariate_normal_is_scipys(h, k, rho):
    expected = min(ndtr(h), ndtr(k))
    if np.isfinite([h, k]).all():
        expected = multivariate_normal.cdf([h, k], cov=[[1, rho], [rho, 1]])
    assert bivariate_normal(h, k, rho) == pytest.approx(expected, abs=1e-7)


def test_expected_grades_are_the_mean_of_the_line_over_the_interval():
    counts, shares = np.array([5, 3, 2]), np.array([0.5, 0.3, 0.2])
    edges, thresholds = ndtri([0, 0.5, 0.8, 1]), ndtri([0.5, 0.8])
    for kind, (low, high) in enumerate(pairwise(edges)):
        below = [
            quad(lambda z, t=t: ndtr((t - RHO * z) / np.sqrt(1 - RHO**2)) * norm.pdf(z), max(low, -9), min(high, 9))[0]
            for t in thresholds
        ]
        cumulative = np.array([*below, counts[kind] / 10]) / (counts[kind] / 10)
        assert expected_grades(counts, shares)[kind] == pytest.approx(np.diff(cumulative, prepend=0), abs=1e-7)


@given(
    counts=st.lists(st.integers(1, 50), min_size=1, max_size=10),
    weights=st.lists(st.floats(0.05, 1), min_size=2, max_size=6),
    rho=st.floats(0, 0.95),
)
def test_people_s_shares_are_kept_and_rise_with_the_value(counts, weights, rho):
    shares = np.array(weights) / sum(weights)
    table = expected_grades(counts, shares, rho)
    assert np.array(counts) / sum(counts) @ table == pytest.approx(shares, abs=1e-9)
    assert (np.diff(table @ np.arange(shares.size)) >= -1e-9).all()


def test_without_correlation_a_value_says_nothing():
    assert expected_grades([3, 7], [0.2, 0.8], 0.0) == pytest.approx(np.tile([0.2, 0.8], (2, 1)))


def test_scores_come_in_ten_bins_and_missing_values_have_the_shares():
    values = np.append(np.random.default_rng(0).normal(size=1000), np.nan)
    table = ValueTable.of(values, [0.6, 0.4])
    assert np.bincount(table.codes).tolist() == [100] * 10 + [1]
    assert table.probs[-1].tolist() == [0.6, 0.4]
    order = np.argsort(values[:-1])
    assert (np.diff(table.codes[order]) >= 0).all()


def test_few_kinds_of_values_stay_as_they_are():
    table = ValueTable.of([0.5, 2.0, 2.0, 7.5], [0.6, 0.4])
    assert table.codes.tolist() == [0, 1, 1, 2]
    assert len(table.probs) == 4


def test_a_grader_of_one_value_says_what_is_usual():
    assert ValueTable.of([3.0, 3.0], [0.6, 0.4]).probs == pytest.approx(np.array([[0.6, 0.4]] * 2))


def test_a_grader_without_a_value_is_refused():
    with pytest.raises(InputError, match="every value of the grader is missing"):
        ValueTable.of([np.nan], [0.5, 0.5])


@pytest.mark.parametrize(
    ("n_grades", "shares"), [(2, [0.65, 0.35]), (3, [0.45, 0.3, 0.25]), (4, [0.35, 0.3, 0.2, 0.15])]
)
def test_usual_shares(n_grades, shares):
    if n_grades == 3:  # on the line between the points that are given: at 1/3 and 2/3 of the scale
        at = [0.35 + 0.3 * (1 / 3 - 0.25) / 0.25, 0.65 + 0.2 * (2 / 3 - 0.5) / 0.25]
        shares = [at[0], at[1] - at[0], 1 - at[1]]
    assert default_shares(n_grades) == pytest.approx(shares)


def test_labels_count_beside_eight_of_what_is_expected():
    """By hand: value 0 has four labels of grade 1, (0 + 8 · ¾) / 12 and (4 + 8 · ¼) / 12."""
    model = GraderModel([[0.75, 0.25], [0.5, 0.5]]).fit([[0.0]] * 4, [1] * 4)
    assert model.predict_proba([[0], [1]]) == pytest.approx(np.array([[0.5, 0.5], [0.5, 0.5]]))
    assert posterior(np.zeros((1, 2)), np.array([[0.9, 0.1]])).tolist() == [[0.9, 0.1]]


def test_a_query_s_own_labels_teach_nothing_of_it():
    """Every query's items are predicted from the others' labels alone."""
    rng = np.random.default_rng(1)
    codes, grades, queries = rng.integers(0, 2, (60, 1)), rng.integers(0, 2, 60), np.repeat(np.arange(12), 5)
    model = GraderModel([[0.75, 0.25], [0.4, 0.6], [0.5, 0.5]])
    first = cross_fitted_probs(model, codes, grades, queries, rng=0)
    turned = np.where(queries == 3, 1 - grades, grades)
    assert np.array_equal(cross_fitted_probs(model, codes, turned, queries, rng=0)[queries == 3], first[queries == 3])
    assert not np.array_equal(cross_fitted_probs(model, codes, turned, queries, rng=0), first)


def test_kinds_that_are_not_there_are_refused():
    with pytest.raises(InputError, match="kinds of values lie between 0 and 1, got 0 to 2"):
        GraderModel([[0.5, 0.5]] * 2).predict_proba([[0], [2]])
    with pytest.raises(InputError, match="expected has 2 columns, max_grade is 3"):
        GraderModel([[0.5, 0.5]] * 2, max_grade=3).fit([[0]])
