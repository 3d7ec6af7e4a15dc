"""Estimators: value and variance of the performance over a pool or a population, from a judged sample."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from activeeval.core.checks import one_of
from activeeval.core.design import Reading
from activeeval.core.errors import StateError
from activeeval.core.estimation.evidence import Evidence, EvidenceArrays
from activeeval.core.estimation.first_phase import NO_SPREAD
from activeeval.core.interval_ends import UNLIMITED, IntervalBasis, Shares
from activeeval.core.kernels import estimates, evidence as kernel
from activeeval.core.results import Estimate
from activeeval.core.types import Floats

SCOPES = ("pool", "population")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EstimatorResult:
    """Estimate of the performance (Σ p L, L the value of a query) from a sample, with its variance.

    Attributes
    ----------
    value, variance : float
        The variance is V*, the observed one raised by the planned one; see `supported`.
    degrees_of_freedom : float
        Degrees of freedom of the t quantile of its interval.
    observed : float
        V̂, the variance observed in the sample; infinite without any spread.
    planned : float
        Variance that the design planned at the sampling level reached; 0 without a plan.
    contributions : ndarray, shape (n,)
        Contribution of each query (or draw) sampled by chance to the estimate's error; their squares estimate the
        variance.
    plain_variance : float
        V̂ as its equation gives it: unbiased if nothing is fitted, and possibly negative.
    limits : tuple of float
        Lowest and highest possible value of the target.
    inner : IntervalBasis or None
        For an estimate of a population: basis of the interval for the pool.
    shares : Shares or None
        For a population and a census of equally weighted queries: distribution of values around the most frequent.
    """

    value: float
    variance: float
    degrees_of_freedom: float
    observed: float
    planned: float
    contributions: Floats
    plain_variance: float
    limits: tuple[float, float] = UNLIMITED
    inner: IntervalBasis | None = None
    shares: Shares | None = None

    @property
    def basis(self) -> IntervalBasis:
        """Numbers from which the estimate's interval is computed at any confidence."""
        return IntervalBasis(
            value=self.value,
            std_error=math.sqrt(self.variance),
            degrees_of_freedom=self.degrees_of_freedom,
            limits=self.limits,
            inner=self.inner,
            shares=self.shares,
        )


WEIGHT_OF_PLANNED = 1.0
"""Degrees of freedom of the planned variance, used if it exceeds the sample's own.

Of 0, .2, .3, .5, .7, 1 and 3 on the cells of benchmarks/coverage.py (400 repetitions): of 30 to 50 queries 19, 11, 10,
9, 8, 7 and 6 % of the cells cover below 92 %, the mean is .943, .957, .958, .961, .962, .964 and .968; for pools of 200
queries or more, intervals are 1.045, 1.055, 1.058, 1.060, 1.063, 1.065 and 1.076 times as wide as 1.96 RMSE. With 3
both means exceed .965."""
STAND_IN_DEGREES = 3.0
"""Degrees of freedom of an interval based on the planned variance alone."""
LEAST_SPREAD = 1e-7
"""Share of the planned variance (by the model or by equally likely grades) below which an observed variance counts as
no spread. From 1e-8 to 1e-5 the only effect is that wrong intervals of zero width disappear (10 of 310,400)."""


def supported(observed: Floats, degrees: Floats, planned: Floats) -> Floats:
    """Raise observed variances V̂ towards the planned ones where a sample shows too little spread; all shapes (n,).

    V* = max(V̂, (df V̂ + V_plan) / (df + 1)), with ``degrees`` df of V̂; an infinite V̂ stays.

    V̂ is small if the rare large residual was not sampled. The variance that the model planned at the sampling level
    reached then raises it, and never lowers it: a model that expects too much spread is contradicted by the sample, one
    that expects too little has no effect.
    """
    with np.errstate(invalid="ignore"):
        weight = np.maximum(degrees, 0.0)
        pulled = (weight * observed + WEIGHT_OF_PLANNED * planned) / (weight + WEIGHT_OF_PLANNED)
    return np.where(np.isfinite(observed) & (planned > observed), pulled, observed)


def evaluate(evidence: Evidence, scope: str = "pool") -> EstimatorResult:
    """Estimate the performance, its variance and degrees of freedom from a judged sample.

    A query is certain if its value does not depend on chance, else open. If only certain queries have been judged, the
    open ones count as predicted and the variance is infinite.

    Parameters
    ----------
    evidence : Evidence
        Data of the judged sample for one target.
    scope : {"pool", "population"}
        The performance over the pool itself, or over the population of queries of which the pool is a sample:
        W = S² / N is then added to the variance V*, S² the variance of L over queries; the degrees of freedom
        combine both terms (`joint_degrees`), as if they came from two samples instead of one. If the queries were
        drawn from a log, the population is all traffic of the log, and W the variance of that draw
        (`activeeval.core.estimation.first_phase`).

    Raises
    ------
    StateError
        If nothing has been judged yet.
    InputError
        If the scope is unknown.
    """
    check_scope(scope)
    result = _evaluate(evidence)
    if scope == "pool":
        return result
    of_pool = (result.variance, result.degrees_of_freedom)
    added, of_added = _choice(evidence, result)
    if math.isinf(added) and evidence.shares is not None and evidence.shares.n > 1 and math.isfinite(result.limits[1]):
        added = 0.0  # all values are equal: their shares bound the frequency of other values
    freedom = joint_degrees(*of_pool, added, of_added)
    wide = replace(result, variance=result.variance + added, degrees_of_freedom=freedom)
    return replace(wide, inner=result.basis, shares=evidence.shares)


def _choice(evidence: Evidence, result: EstimatorResult) -> tuple[float, float]:
    """Compute the variance that the choice of the pool's queries adds to an estimate, and its degrees of freedom.

    It is that between queries over their number or, for a pool drawn from a log (``evidence.drawn``), that of the draw;
    then 0 if the variance of ``result`` is infinite anyway.
    """
    if evidence.drawn is None:
        return population_variance(evidence, result), _degrees_of_choice(evidence, result)
    return evidence.drawn.choice(result.value) if math.isfinite(result.variance) else (0.0, math.inf)


def check_scope(scope: str) -> str:
    """Return a scope (the queries that an estimate is for); raise InputError unless it is "pool" or "population"."""
    return one_of(scope, SCOPES, "scope")


def _evaluate(evidence: Evidence) -> EstimatorResult:
    """Estimate value and variance for the queries of the pool; raise StateError if nothing has been judged yet.

    If nothing is left to chance, the value is exact: variance 0 with infinite degrees of freedom. Otherwise the
    observed variance is raised towards the planned one where it is too small.
    """
    n, limits = evidence.values.size, UNLIMITED if evidence.reading is None else evidence.reading.limits
    contributions = np.empty(n)
    if evidence.is_census:
        return EstimatorResult(
            value=evidence.base,
            variance=0.0,
            degrees_of_freedom=math.inf,
            observed=0.0,
            planned=0.0,
            contributions=np.zeros(n),
            plain_variance=0.0,
            limits=limits,
        )
    if evidence.n_queries == 0:
        raise StateError("nothing has been judged yet, so there is nothing to estimate from")
    value, variance, freedom, plain = evidence.solved(contributions)
    seen = (np.array([variance]), np.array([freedom]), np.array([n]))
    (blended,), (freedom,), (observed,), (planned,) = _with_plan(*seen, np.array([evidence.level]), evidence.reading)
    return EstimatorResult(
        value=float(evidence.base + value),
        variance=float(blended),
        degrees_of_freedom=float(freedom),
        observed=float(observed),
        planned=float(planned),
        contributions=contributions,
        plain_variance=float(plain),
        limits=limits,
    )


def _with_plan(
    observed: Floats, degrees: Floats, n_open: NDArray[np.int64], levels: Floats, reading: Reading | None
) -> tuple[Floats, Floats, Floats, Floats]:
    """Combine the observed variances V̂ of several samples with those planned at their sampling levels, as V*.

    If several queries show no spread, or hardly any relative to equally likely grades, V̂ becomes infinite, and V* is
    the planned variance or that planned under equally likely grades, whichever is larger. At the sampling level T, an
    item of rate r is judged with probability min(1, T r).

    Parameters
    ----------
    observed, degrees, levels : ndarray, shape (n_samples,)
        V̂, its degrees of freedom, and the sampling level of each sample.
    n_open : ndarray of int64, shape (n_samples,)
        Number of judged queries that were sampled by chance.
    reading : Reading or None
        What is known of the target besides labels, with the variance planned by level; None if unknown.

    Returns
    -------
    tuple of four ndarrays, shape (n_samples,)
        V*, its degrees of freedom, V̂ and the planned variance.
    """
    if reading is None or np.isinf(levels).all():  # nothing is left to chance, or the scheme has no levels
        return observed, degrees, observed, np.zeros_like(observed)
    planned = stand_in = reading.planned.at(levels)
    # the plan under equally likely grades is as slow as a design: compute it only if it can matter
    is_known = reading.larger_pool_sums is not None  # a pool in parts has stored the plan
    can_matter = (observed < LEAST_SPREAD * reading.bounded.at(levels)) | np.isinf(observed) | is_known
    of_equal_grades = reading.planned_blindly if can_matter.any() else None
    if of_equal_grades is not None:
        stand_in = np.where(can_matter, np.maximum(planned, of_equal_grades.at(levels)), planned)
        observed = np.where(observed < LEAST_SPREAD * stand_in, np.inf, observed)
    variances = supported(observed, degrees, planned)
    lacks_spread = np.isinf(observed) & (n_open > 1) & (stand_in > 0)
    if of_equal_grades is not None:
        variances = np.where(lacks_spread, stand_in, variances)
        degrees = np.where(lacks_spread, STAND_IN_DEGREES, degrees)
    return variances, degrees, observed, planned


def variance_shares(evidence: Evidence) -> Floats:
    """Compute the contribution of each query, or draw, sampled by chance to the variance, shape (n,); never below 0."""
    contributions = _evaluate(evidence).contributions
    return contributions if evidence.is_census else evidence.variance_shares(contributions)


def evaluated(evidence: EvidenceArrays) -> Floats:
    """Estimate the performance over the pool from each of several judged samples.

    Returns
    -------
    ndarray, shape (n_samples, 5)
        Value, variance V* to report, its degrees of freedom, observed variance V̂ and planned variance.
    """
    observed, out = np.empty((evidence.base.size, 3)), np.empty((evidence.base.size, 5))
    # columns of observed: the part of the value that depends on chance, V̂ and its degrees of freedom
    kernel.linear_estimates(evidence.starts, evidence.rows, evidence.population, evidence.is_fitted, observed)
    out[:, 0] = evidence.base + observed[:, 0]
    seen = (observed[:, 1], observed[:, 2], np.diff(evidence.starts))
    out[:, 1], out[:, 2], out[:, 3], out[:, 4] = _with_plan(*seen, evidence.levels, evidence.reading)
    is_census = evidence.open_share == 0.0
    out[is_census, 0], out[is_census, 1:] = evidence.base[is_census], (0.0, np.inf, 0.0, 0.0)
    return out


def estimate(evidence: Evidence, method: str, scope: str = "pool") -> Estimate:
    """Build the estimate of a judged sample as users see it.

    ``method`` is the name of the design. ``scope`` is the queries that the estimate is for: "pool", or "population"
    (all that these are a sample of). Raise StateError if nothing has been judged yet, and InputError if the scope is
    unknown.
    """
    result = evaluate(evidence, scope)
    return Estimate(
        value=result.value,
        std_error=math.sqrt(result.variance),
        degrees_of_freedom=result.degrees_of_freedom,
        n_open=evidence.values.size,
        n_draws=evidence.n_draws,
        n_queries=evidence.n_queries,
        n_items=evidence.n_items,
        cost=evidence.cost,
        method=method,
        scope=scope,
        observed_error=math.sqrt(result.observed),
        planned_error=math.sqrt(result.planned) if result.planned > 0 else None,
        log="" if evidence.drawn is None else evidence.drawn.log,
        limits=result.limits,
        inner=result.inner,
        shares=result.shares,
    )


def population_variance(evidence: Evidence, result: EstimatorResult) -> float:
    """Estimate the variance that the choice of the pool adds: S² / N, the variance between queries over their number.

    A query with probability p and value L is certain if L does not depend on chance, else open. S² (1 − Σ p²) is the
    mean of L² minus R², R = Σ p L, which R̂² − V̂ (the estimate's square minus its variance) estimates without bias; N
    is 1 / Σ p². L² is known for certain queries. For the open ones it is estimated by the weighted mean of unbiased
    squares, minus the squares of their known terms, whose total over the pool is known. If all queries are included and
    only items were sampled, a query without a sampled item counts too: the weights are then those of the pool. If all
    values are known and equal, but not 0, or there is one query, their spread in the population is unknown: infinite.
    The result is 0 if the variance of ``result`` is infinite already.
    """
    if not math.isfinite(result.variance):
        return 0.0
    observed = result.observed if math.isfinite(result.observed) else 0.0
    if evidence.pool_size <= 1:
        return math.inf
    mean = evidence.certain_squares + evidence.open_squares
    if not evidence.is_census:
        weights = evidence.importance_weights
        known = evidence.values - evidence.totals[:, 0]
        squares = evidence.values**2 - evidence.within[:, 0] - known**2
        all_included = not evidence.keep.any()  # each query is sampled with probability 1
        mean += float(weights @ squares) * (1.0 if all_included else evidence.open_share / float(weights.sum()))
    spread = mean - (result.value**2 - observed)
    if evidence.is_census and spread <= NO_SPREAD * mean and mean > 0:
        return math.inf
    return max(spread, 0.0) / (evidence.pool_size - 1)


def joint_degrees(of_pool: float, degrees: float, added: float, of_added: float) -> float:
    """Compute Satterthwaite's degrees of freedom of a sum of two variances V* + W.

    They are (V* + W)² / (V*²/df₁ + W²/df₂), with V* = ``of_pool``, df₁ = ``degrees``, W = ``added``, df₂ =
    ``of_added``; df₁ if W is 0 or a variance is infinite.

    Examples
    --------
    >>> joint_degrees(1.0, 5.0, 1.0, 20.0), joint_degrees(0.0, float("inf"), 1.0, 20.0)
    (16.0, 20.0)
    """
    if not math.isfinite(of_pool + added) or added <= 0:
        return degrees
    lost = of_pool**2 / max(degrees, 1.0) + added**2 / max(of_added, 1.0)
    return (of_pool + added) ** 2 / lost


def _degrees_of_choice(evidence: Evidence, result: EstimatorResult) -> float:
    """Compute the degrees of freedom of the variance between queries, from the shares of single queries in it.

    A few dominant shares reduce them (`activeeval.core.kernels.estimates.degrees`). They are at most N − 1, N the
    effective number of queries of the pool. Queries whose value is certain count with equal shares.
    """
    most = evidence.pool_size - 1.0
    if evidence.is_census:
        return most
    centre, certain_share = result.value, 1.0 - evidence.open_share
    shares = evidence.importance_weights * np.maximum((evidence.values - centre) ** 2 - evidence.within[:, 0], 0.0)
    if n_certain := round(certain_share * evidence.pool_size):
        # Σ p (L − R̂)² over certain queries, from their sums of p L², p L and p
        certain = evidence.certain_squares - 2 * centre * evidence.base + certain_share * centre**2
        shares = np.append(shares, np.full(n_certain, max(certain, 0.0) / n_certain))
    return min(float(estimates.degrees(shares, 1.0)), most)
