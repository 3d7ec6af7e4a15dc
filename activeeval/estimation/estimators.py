"""Estimators: what a judged sample says about the pool, and how precisely."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from activeeval.errors import InputError, StateError
from activeeval.estimation.samples import JudgedSample, JudgedSamples
from activeeval.kernels import estimates
from activeeval.kernels import samples as kernel
from activeeval.results import Estimate

Floats = NDArray[np.float64]

SCOPES = ("pool", "population")
NO_SPREAD = 1e-13
"""Share of the mean square that rounding leaves of a variance where all values are the same."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evaluated:
    """What an estimator makes of a sample.

    Attributes
    ----------
    value, variance : float
    degrees_of_freedom : float
        Of the t quantile.
    contributions : ndarray, shape (n,)
        What each draw of an open query adds to the estimate's error; their squares estimate the variance.
    plain_variance : float
        V̂ as its equation gives it: unbiased where nothing is fitted, and may be negative.
    """

    value: float
    variance: float
    degrees_of_freedom: float
    contributions: Floats
    plain_variance: float


def evaluate(sample: JudgedSample, scope: str = "pool") -> Evaluated:
    """Return what the estimator of a judged sample makes of it.

    Where only certain queries have been judged, the open ones stand as predicted and the variance is infinite.

    Parameters
    ----------
    scope : {"pool", "population"}
        The performance over the pool at hand, or over all the queries of which the pool is a
        sample: S² / N is then added to the variance, S² the variance of L over queries.

    Raises
    ------
    StateError
        Where nothing has been judged yet.
    InputError
        Where the scope is not known.
    """
    check_scope(scope)
    result = _evaluate(sample)
    if scope == "pool":
        return result
    freedom = sample.pool_size - 1.0 if sample.is_census else result.degrees_of_freedom
    variance = result.variance + population_variance(sample, result)
    return replace(result, variance=variance, degrees_of_freedom=freedom)


def check_scope(scope: str) -> None:
    """Raise InputError where an interval is to be about neither the pool nor the population."""
    if scope not in SCOPES:
        raise InputError(f"unknown scope {scope!r}; known: {', '.join(SCOPES)}")


def _evaluate(sample: JudgedSample) -> Evaluated:
    n = sample.values.size
    contributions = np.empty(n)
    if sample.is_census:
        return Evaluated(
            value=sample.base,
            variance=0.0,
            degrees_of_freedom=math.inf,
            contributions=np.zeros(n),
            plain_variance=0.0,
        )
    if sample.n_queries == 0:
        raise StateError("nothing has been judged yet, so there is nothing to estimate from")
    if sample.with_replacement:
        values = np.ascontiguousarray(sample.values)
        value, variance, freedom = estimates.ratio_estimate(sample.importance_weights, values, contributions)
        plain = variance
    else:
        keep = 1 - sample.inclusion_probs
        arrays = (sample.importance_weights, keep, sample.totals, sample.within, sample.population)
        value, variance, freedom, plain = estimates.linear_estimate(*arrays, sample.is_fitted, contributions)
    return Evaluated(
        value=float(sample.base + value),
        variance=float(variance),
        degrees_of_freedom=float(freedom),
        contributions=contributions,
        plain_variance=float(plain),
    )


def residuals(sample: JudgedSample) -> tuple[Floats, Floats, Floats]:
    """Return B, and e and s of each open query of a sample by levels; see `activeeval.kernels.estimates`."""
    left = np.empty((sample.values.size, 2))
    arrays = (sample.importance_weights, 1 - sample.inclusion_probs, sample.totals, sample.within, sample.population)
    coefficients = estimates.residuals(*arrays, sample.is_fitted, left)
    return coefficients, left[:, 0], left[:, 1]


def variance_shares(sample: JudgedSample) -> Floats:
    """Return what each open query, or draw, adds to V̂, shape (n,): (g ω)² (keep e² + (1 − keep) s), never below 0.

    Of draws with replacement the square of what it adds to the error.
    """
    contributions = _evaluate(sample).contributions
    if sample.with_replacement or sample.is_census:
        return np.asarray(contributions**2)
    keep, (_, e, s) = 1 - sample.inclusion_probs, residuals(sample)
    lifted = np.divide(contributions, e, out=sample.importance_weights.copy(), where=e != 0)  # g ω
    return np.asarray(np.maximum(keep * contributions**2 + (1 - keep) * lifted**2 * s, 0.0))


def evaluated(samples: JudgedSamples) -> Floats:
    """Return value, variance and degrees of freedom of each sample for its pool, as `evaluate` does one by one.

    Returns
    -------
    ndarray, shape (n_samples, 3)
    """
    out = np.empty((samples.base.size, 3))
    kernel.linear_estimates(samples.starts, samples.rows, samples.population, samples.is_fitted, out)
    out[:, 0] += samples.base
    is_census = samples.open_share == 0.0
    out[is_census, 0], out[is_census, 1:] = samples.base[is_census], (0.0, np.inf)
    return out


def estimate(sample: JudgedSample, method: str, scope: str = "pool") -> Estimate:
    """Return the estimate that a judged sample gives; everything else as in `evaluate`."""
    result = evaluate(sample, scope)
    return Estimate(
        value=result.value,
        std_error=math.sqrt(result.variance),
        degrees_of_freedom=result.degrees_of_freedom,
        n_open=sample.values.size,
        n_draws=sample.n_draws,
        n_queries=sample.n_queries,
        n_items=sample.n_items,
        cost=sample.cost,
        method=method,
        scope=scope,
    )


def population_variance(sample: JudgedSample, result: Evaluated) -> float:
    """Return S² / N, what the choice of the pool adds to the variance.

    S² (1 − Σ p²) is the mean of L² less R² by its unbiased estimate R̂² − V̂, and N is 1 / Σ p². L² is known of certain
    queries; of the open ones the weighted mean of unbiased squares stands for it, less the squares of their known
    terms, whose total over the pool is known. Where all queries are in and chance chose their items alone, one of which
    no item came counts too: the weights are then those of the pool. Values that are all known and all the same, but
    not 0, do not tell how others spread: infinite.
    """
    if not math.isfinite(result.variance):
        return 0.0
    if sample.pool_size <= 1:
        return math.inf
    mean = sample.certain_squares + sample.open_squares
    if not sample.is_census:
        weights = sample.importance_weights
        known = sample.values - sample.totals[:, 0]
        squares = sample.values**2 - sample.within[:, 0] - known**2
        are_in = not sample.with_replacement and bool((sample.inclusion_probs == 1).all())
        mean += float(weights @ squares) * (1.0 if are_in else sample.open_share / float(weights.sum()))
    spread = mean - (result.value**2 - result.variance)
    if sample.is_census and spread <= NO_SPREAD * mean and mean > 0:
        return math.inf
    return max(spread, 0.0) / (sample.pool_size - 1)
