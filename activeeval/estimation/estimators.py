"""Estimators: what a judged sample says about the pool, and how precisely."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from activeeval.errors import InputError, StateError
from activeeval.estimation.samples import JudgedSample
from activeeval.kernels import estimates
from activeeval.results import Estimate

Floats = NDArray[np.float64]

ESTIMATORS = {
    "ratio": "Σ w L / Σ w, the paper's; self-normalised",
    "difference": "M + Σ ω (L − m): needs a grade model, exactly unbiased",
    "regression": "Z̄'B + Σ ω (L − z'B), z = (1, m), B fitted: no model can spoil it much",
    "lure": "the difference of draws without replacement, levelled over the draws",
}
TARGETS = ("pool", "population")


@dataclass(frozen=True, slots=True, eq=False)
class Evaluated:
    """What an estimator makes of a sample.

    Attributes
    ----------
    value, variance : float
    degrees_of_freedom : float
        Of the t quantile.
    contributions : ndarray, shape (n,)
        What each draw adds to the estimate's error; their squares estimate the variance.
    """

    value: float
    variance: float
    degrees_of_freedom: float
    contributions: Floats


def evaluate(sample: JudgedSample, estimator: str) -> Evaluated:
    """Return what an estimator makes of a judged sample.

    Raises
    ------
    StateError
        Where nothing has been judged yet.
    InputError
        Where the estimator is not known or not one for the sample's scheme.
    """
    if estimator not in ESTIMATORS:
        raise InputError(f"unknown estimator {estimator!r}; known: {', '.join(ESTIMATORS)}")
    n = len(sample.totals)
    if sample.is_census:
        return Evaluated(estimates.weighted_sum(sample.query_probs, sample.values), 0.0, math.inf, np.zeros(n))
    if n == 0 and sample.scheme in ("replacement", "sequential"):
        raise StateError("no query has been judged yet, so there is nothing to estimate from")
    if sample.scheme == "sequential":
        return _sequential(sample, estimator)
    if estimator == "lure":
        raise InputError(f"the estimator 'lure' is for draws without replacement, not for {sample.scheme}")
    if sample.scheme == "replacement" and estimator == "ratio":
        return _ratio(sample)
    return _linear(sample, estimator)


def _ratio(sample: JudgedSample) -> Evaluated:
    weights = sample.importance_weights
    value, variance = estimates.ratio_estimate(weights, np.ascontiguousarray(sample.values))
    contributions = weights * (sample.values - value) / weights.sum()
    return Evaluated(float(value), float(variance), sample.n_draws - 1.0, contributions)


def _linear(sample: JudgedSample, estimator: str) -> Evaluated:
    with_replacement = sample.scheme == "replacement"
    n = len(sample.totals)
    omega = sample.importance_weights / (n if with_replacement else 1)
    keep = np.ones(n) if with_replacement else 1 - sample.sampling_probs
    totals, population = sample.totals, sample.population
    if estimator == "ratio":  # the only regressor is the first
        totals, population = totals * [1, 1, 0], population * [1, 0]
    contributions = np.empty(n)
    fitted = estimator != "difference"
    arrays = (omega, keep, totals, sample.within, population, sample.balancing)
    value, variance = estimates.linear_estimate(*arrays, fitted, with_replacement, contributions)
    freedom = n - float(max(2 if fitted else 1, sample.balancing.shape[1]))
    return Evaluated(float(value), float(variance), freedom, contributions)


def _sequential(sample: JudgedSample, estimator: str) -> Evaluated:
    if estimator not in ("difference", "lure"):
        raise InputError(f"draws without replacement are for the difference and lure estimators, not for {estimator!r}")
    contributions = np.empty(len(sample.totals))
    value, variance = estimates.sequential_estimate(
        sample.query_probs,
        sample.sampling_probs,
        sample.totals,
        sample.n_pool,
        float(sample.population[1]),
        estimator == "lure",
        contributions,
    )
    return Evaluated(float(value), float(variance), len(contributions) - 1.0, contributions / len(contributions))


def estimate(sample: JudgedSample, estimator: str, method: str, target: str = "pool") -> Estimate:
    """Return the estimate that a judged sample gives.

    Parameters
    ----------
    target : {"pool", "population"}
        The performance over the pool at hand, or over all the queries of which the pool is a
        sample: S² / N is then added to the variance, S² the variance of L over queries.

    Raises
    ------
    StateError
        Where nothing has been judged yet.
    InputError
        Where the estimator or the target is not known.
    """
    result = evaluate(sample, estimator)
    variance = result.variance + population_variance(sample, result, target)
    freedom = result.degrees_of_freedom
    if sample.is_census and target == "population":
        freedom = sample.n_pool - 1.0
    counts = (sample.n_draws, sample.n_queries, sample.n_items)
    return Estimate(
        result.value, math.sqrt(variance), *counts, cost=sample.cost, method=method, degrees_of_freedom=freedom
    )


def population_variance(sample: JudgedSample, result: Evaluated, target: str) -> float:
    """Return S² / N, what the choice of the pool adds to the variance; 0 for the pool itself.

    S² is the weighted mean of unbiased L² less R² by its unbiased estimate R̂² − V̂.
    """
    if target not in TARGETS:
        raise InputError(f"unknown target {target!r}; known: {', '.join(TARGETS)}")
    if target == "pool" or not math.isfinite(result.variance):
        return 0.0
    weights = sample.query_probs if sample.is_census else sample.importance_weights
    squares = sample.values**2 - sample.within[:, 0]
    spread = float(weights @ squares / weights.sum()) - (result.value**2 - result.variance)
    return max(spread, 0.0) / sample.pool_size
