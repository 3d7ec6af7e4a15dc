"""Estimators: what a judged sample says about the pool, and how precisely."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

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
        What each draw of an open query adds to the estimate's error; their squares estimate the variance.
    """

    value: float
    variance: float
    degrees_of_freedom: float
    contributions: Floats


def evaluate(sample: JudgedSample, estimator: str, target: str = "pool") -> Evaluated:
    """Return what an estimator makes of a judged sample.

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
        Where the estimator or the target is not known, or the estimator is not one for the sample's scheme.
    """
    if estimator not in ESTIMATORS:
        raise InputError(f"unknown estimator {estimator!r}; known: {', '.join(ESTIMATORS)}")
    if target not in TARGETS:
        raise InputError(f"unknown target {target!r}; known: {', '.join(TARGETS)}")
    result = _evaluate(sample, estimator)
    if target == "pool":
        return result
    freedom = sample.pool_size - 1.0 if sample.is_census else result.degrees_of_freedom
    variance = result.variance + population_variance(sample, result)
    return replace(result, variance=variance, degrees_of_freedom=freedom)


def _evaluate(sample: JudgedSample, estimator: str) -> Evaluated:
    known = np.ascontiguousarray(sample.query_probs[sample.is_certain])
    base = float(estimates.weighted_sum(known, sample.values[sample.is_certain]))
    if sample.is_census:
        return Evaluated(base, 0.0, math.inf, np.empty(0))
    found = _of_chance(sample.open_part, estimator)
    return replace(found, value=base + found.value)


def _of_chance(sample: JudgedSample, estimator: str) -> Evaluated:
    """Return what an estimator makes of queries that chance chose."""
    n = len(sample.totals)
    if n == 0 and sample.scheme in ("replacement", "sequential"):
        raise StateError("no query has been judged yet, so there is nothing to estimate from")
    if sample.scheme == "sequential":
        return _sequential(sample, estimator)
    if estimator == "lure":
        raise InputError(f"the estimator 'lure' is for draws without replacement, not for {sample.scheme}")
    if sample.scheme == "replacement" and estimator == "ratio":
        contributions = np.empty(n)
        values = np.ascontiguousarray(sample.values)
        found = estimates.ratio_estimate(sample.importance_weights, values, contributions)
        return _found(found, contributions)
    return _linear(sample, estimator)


def _found(found: tuple[float, float, float], contributions: Floats) -> Evaluated:
    value, variance, freedom = found
    return Evaluated(float(value), float(variance), float(freedom), contributions)


def _linear(sample: JudgedSample, estimator: str) -> Evaluated:
    with_replacement = sample.scheme == "replacement"
    n = len(sample.totals)
    omega = sample.importance_weights / (n if with_replacement else 1)
    keep = np.ones(n) if with_replacement else 1 - sample.sampling_probs
    totals, population = sample.totals.copy(), sample.population.copy()
    if estimator == "ratio":  # the first regressor alone
        totals[:, 2:] = population[1:] = 0.0
    contributions = np.empty(n)
    fitted = estimator != "difference"
    arrays = (omega, keep, totals, sample.within, population, sample.balancing)
    found = estimates.linear_estimate(*arrays, fitted, with_replacement, contributions)
    return _found(found, contributions)


def _sequential(sample: JudgedSample, estimator: str) -> Evaluated:
    if estimator not in ("difference", "lure"):
        raise InputError(f"draws without replacement are for the difference and lure estimators, not for {estimator!r}")
    contributions = np.empty(len(sample.totals))
    found = estimates.sequential_estimate(
        sample.query_probs,
        sample.sampling_probs,
        sample.totals,
        sample.n_pool,
        float(sample.population[1]),
        estimator == "lure",
        contributions,
    )
    return _found(found, contributions / len(contributions))


def estimate(sample: JudgedSample, estimator: str, method: str, target: str = "pool") -> Estimate:
    """Return the estimate that a judged sample gives; everything else as in `evaluate`."""
    result = evaluate(sample, estimator, target)
    counts = (sample.n_draws, sample.n_queries, sample.n_items)
    return Estimate(
        result.value,
        math.sqrt(result.variance),
        *counts,
        cost=sample.cost,
        method=method,
        degrees_of_freedom=result.degrees_of_freedom,
        n_open=result.contributions.size,
    )


def population_variance(sample: JudgedSample, result: Evaluated) -> float:
    """Return S² / N, what the choice of the pool adds to the variance.

    S² (1 − Σ p²) is the mean of L² less R² by its unbiased estimate R̂² − V̂, and N is 1 / Σ p². L² is known of certain
    queries; of the open ones the weighted mean of unbiased squares stands for it.
    """
    if not math.isfinite(result.variance):
        return 0.0
    if sample.pool_size <= 1:
        return math.inf
    weights = np.where(sample.is_certain, 0.0, sample.importance_weights)
    if not sample.is_census:
        weights *= sample.open_share / weights.sum()
    squares = sample.values**2 - sample.within[:, 0]
    mean = float(np.where(sample.is_certain, sample.query_probs, weights) @ squares)
    spread = mean - (result.value**2 - result.variance)
    return max(spread, 0.0) / (sample.pool_size - 1)
