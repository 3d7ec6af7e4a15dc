"""Weighted shares, correlations and slopes against numpy, and standard errors by query against simulation."""

import math

import numpy as np
import pytest

from activeeval.core.estimation.clustered import (
    by_query,
    correlation,
    jackknifed,
    ratios,
    share_between,
    slope,
    weighted_mean,
)

RANDOM = np.random.default_rng(3)
N = 200
QUERIES = np.sort(RANDOM.integers(0, 25, N))
X, NOISE, WEIGHTS = RANDOM.normal(size=N), RANDOM.normal(size=N), RANDOM.uniform(1, 9, N)
Y = 0.5 * X + NOISE


def test_values_are_those_of_numpy():
    covariance = np.cov(X, Y, aweights=WEIGHTS)
    assert weighted_mean(Y, WEIGHTS, QUERIES).value == pytest.approx(np.average(Y, weights=WEIGHTS))
    assert slope(X, Y, WEIGHTS, QUERIES).value == pytest.approx(covariance[0, 1] / covariance[0, 0])
    expected = covariance[0, 1] / math.sqrt(covariance[0, 0] * covariance[1, 1])
    assert correlation(X, Y, WEIGHTS, QUERIES).value == pytest.approx(expected)


def test_the_jackknife_leaves_out_each_query_in_turn():
    statistic = weighted_mean(Y, WEIGHTS, QUERIES)
    without = []
    for query in np.unique(QUERIES):
        kept = query != QUERIES
        without.append(np.average(Y[kept], weights=WEIGHTS[kept]))
    m = len(without)
    assert statistic.se == pytest.approx(math.sqrt((m - 1) / m * np.sum((np.array(without) - np.mean(without)) ** 2)))


def test_a_mean_of_one_item_a_query_has_the_usual_standard_error():
    figure = weighted_mean(Y, np.ones(N), np.arange(N))
    assert figure.se == pytest.approx(Y.std(ddof=1) / math.sqrt(N))


def test_what_is_constant_or_of_one_query_has_no_error_and_no_slope():
    constant = np.full(N, 0.1)
    assert math.isnan(slope(constant, Y, WEIGHTS, QUERIES).value)
    assert math.isnan(correlation(X, constant, WEIGHTS, QUERIES).value)
    alone = weighted_mean(Y, WEIGHTS, np.zeros(N, dtype=np.int64))
    assert math.isfinite(alone.value)
    assert math.isnan(alone.se)
    # the second total is of the first query alone: without it there is no share
    assert math.isnan(jackknifed(by_query([np.ones(2), np.array([1.0, 0.0])], np.array([0, 1])), ratios).se)


def test_what_queries_share_is_seen_in_pairs_of_their_items():
    """The mean of 400 pools of 40 queries lies within four of its standard errors, once in 16,000 runs not."""
    queries = np.repeat(np.arange(40), 5)
    shares = []
    for _ in range(400):
        residuals = math.sqrt(0.3) * RANDOM.normal(size=40)[queries] + math.sqrt(0.7) * RANDOM.normal(size=200)
        shares.append(share_between(residuals, np.ones(200), queries).value)
    # a ratio of means is below its limit by about its variance over the mean square
    assert abs(np.mean(shares) - 0.3) < 4 * np.std(shares) / 20 + 0.01
