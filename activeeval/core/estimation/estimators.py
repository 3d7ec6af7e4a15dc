"""Estimators: what a judged sample says about the pool, and how precisely."""

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
    """What an estimator makes of a sample.

    Attributes
    ----------
    value, variance : float
        The variance is V*: not less than what the sample supports beside what was planned, see `supported`.
    degrees_of_freedom : float
        Of the t quantile.
    observed : float
        V̂, what the sample itself shows; infinite where it shows no spread.
    planned : float
        What the design planned for the level reached; 0 where it planned nothing.
    contributions : ndarray, shape (n,)
        What each draw of an open query adds to the estimate's error; their squares estimate the variance.
    plain_variance : float
        V̂ as its equation gives it: unbiased where nothing is fitted, and may be negative.
    limits : tuple of float
        Lowest and highest of what the target can be.
    inner : Basis or None
        For a population: what the interval for the pool rests on.
    shares : Shares or None
        For a population, of a census of queries that weigh alike: how many differ from most.
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
        """What its interval rests on."""
        return IntervalBasis(
            value=self.value,
            std_error=math.sqrt(self.variance),
            degrees_of_freedom=self.degrees_of_freedom,
            limits=self.limits,
            inner=self.inner,
            shares=self.shares,
        )


WEIGHT_OF_PLANNED = 1.0
"""Degrees of freedom that the planned variance counts as where it exceeds the sample's own.

Of 0, .2, .3, .5, .7, 1 and 3 on the cells of benchmarks/coverage.py (400 repetitions): of 30 to 50 queries 19, 11, 10,
9, 8, 7 and 6 % of the cells cover below 92 %, the mean is .943, .957, .958, .961, .962, .964 and .968; of pools of 200
queries on intervals are 1.045, 1.055, 1.058, 1.060, 1.063, 1.065 and 1.076 times as wide as 1.96 RMSE. With 3 both
means exceed .965."""
STAND_IN_DEGREES = 3.0
"""Of an interval that rests on what was planned alone."""
LEAST_SPREAD = 1e-7
"""Of the planned variance, by the model or by grades that are all equally likely: an observed one below it has seen no
relevant difference. From 1e-8 to 1e-5 nothing else changes than that wrong intervals of no width go (10 of 310,400)."""


def supported(observed: Floats, degrees: Floats, planned: Floats) -> Floats:
    """Return variances that what was planned lifts where a sample shows too little, shape (n,).

    V* = max(V̂, (df V̂ + V_plan) / (df + 1)).

    V̂ is small where the rare large residual was not drawn. What the model planned for the level reached lifts it then,
    and never lowers it: a model that expects too much spread is contradicted by the sample, one that expects too
    little says nothing.
    """
    with np.errstate(invalid="ignore"):
        weight = np.maximum(degrees, 0.0)
        pulled = (weight * observed + WEIGHT_OF_PLANNED * planned) / (weight + WEIGHT_OF_PLANNED)
    return np.where(np.isfinite(observed) & (planned > observed), pulled, observed)


def evaluate(evidence: Evidence, scope: str = "pool") -> EstimatorResult:
    """Return what the estimator of a judged sample makes of it.

    Where only certain queries have been judged, the open ones stand as predicted and the variance is infinite.

    Parameters
    ----------
    scope : {"pool", "population"}
        The performance over the pool at hand, or over all the queries of which the pool is a
        sample: W = S² / N is then added to the variance V*, S² the variance of L over queries; the degrees of freedom
        are those of both terms (`joint_degrees`). Both come from one sample, which these take for two. Of queries that
        were drawn from a log it is all the traffic of the log, and W what that draw adds
        (`activeeval.core.estimation.first_phase`).

    Raises
    ------
    StateError
        Where nothing has been judged yet.
    InputError
        Where the scope is not known.
    """
    check_scope(scope)
    result = _evaluate(evidence)
    if scope == "pool":
        return result
    of_pool = (result.variance, result.degrees_of_freedom)
    added, of_added = _choice(evidence, result)
    if math.isinf(added) and evidence.shares is not None and evidence.shares.n > 1 and math.isfinite(result.limits[1]):
        added = 0.0  # all values are the same: their shares tell how many others there may be
    freedom = joint_degrees(*of_pool, added, of_added)
    wide = replace(result, variance=result.variance + added, degrees_of_freedom=freedom)
    return replace(wide, inner=result.basis, shares=evidence.shares)


def _choice(evidence: Evidence, result: EstimatorResult) -> tuple[float, float]:
    """Return what the choice of the pool adds to the variance, and its degrees of freedom."""
    if evidence.drawn is None:
        return population_variance(evidence, result), _degrees_of_choice(evidence, result)
    return evidence.drawn.choice(result.value) if math.isfinite(result.variance) else (0.0, math.inf)


def check_scope(scope: str) -> str:
    """Return a scope; raise InputError where it is neither the pool nor the population."""
    return one_of(scope, SCOPES, "scope")


def _evaluate(evidence: Evidence) -> EstimatorResult:
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
    """Return V*, its degrees of freedom, V̂ and the planned variance of samples at levels, shape (n,) each.

    Where several queries show no spread, or hardly any beside what all grades being equally likely would make, V̂ is
    infinite and V* what was planned, or would have been by such grades, whichever is more.
    """
    if reading is None or np.isinf(levels).all():  # nothing is left to chance, or levels have no say in it
        return observed, degrees, observed, np.zeros_like(observed)
    planned = stand_in = reading.planned.at(levels)
    # what all grades being equally likely would make takes as long as a design: it is asked where it can matter
    is_known = reading.larger_pool_sums is not None
    can_matter = (observed < LEAST_SPREAD * reading.bounded.at(levels)) | np.isinf(observed) | is_known
    blindly = reading.planned_blindly if can_matter.any() else None
    if blindly is not None:
        stand_in = np.where(can_matter, np.maximum(planned, blindly.at(levels)), planned)
        observed = np.where(observed < LEAST_SPREAD * stand_in, np.inf, observed)
    variances = supported(observed, degrees, planned)
    is_blind = np.isinf(observed) & (n_open > 1) & (stand_in > 0)
    if blindly is not None:
        variances = np.where(is_blind, stand_in, variances)
        degrees = np.where(is_blind, STAND_IN_DEGREES, degrees)
    return variances, degrees, observed, planned


def variance_shares(evidence: Evidence) -> Floats:
    """Return what each open query, or draw, adds to the variance, shape (n,), never below 0."""
    contributions = _evaluate(evidence).contributions
    return contributions if evidence.is_census else evidence.variance_shares(contributions)


def evaluated(evidence: EvidenceArrays) -> Floats:
    """Return what `evaluate` does of each sample for its pool, one by one.

    Returns
    -------
    ndarray, shape (n_samples, 5)
        Value, V*, degrees of freedom, V̂ and what was planned.
    """
    observed, out = np.empty((evidence.base.size, 3)), np.empty((evidence.base.size, 5))
    kernel.linear_estimates(evidence.starts, evidence.rows, evidence.population, evidence.is_fitted, observed)
    out[:, 0] = evidence.base + observed[:, 0]
    seen = (observed[:, 1], observed[:, 2], np.diff(evidence.starts))
    out[:, 1], out[:, 2], out[:, 3], out[:, 4] = _with_plan(*seen, evidence.levels, evidence.reading)
    is_census = evidence.open_share == 0.0
    out[is_census, 0], out[is_census, 1:] = evidence.base[is_census], (0.0, np.inf, 0.0, 0.0)
    return out


def estimate(evidence: Evidence, method: str, scope: str = "pool") -> Estimate:
    """Return the estimate that a judged sample gives; everything else as in `evaluate`."""
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
    """Return what the choice of the pool adds to the variance, S² / N.

    S² (1 − Σ p²) is the mean of L² less R² by its unbiased estimate R̂² − V̂, and N is 1 / Σ p². L² is known of certain
    queries; of the open ones the weighted mean of unbiased squares stands for it, less the squares of their known
    terms, whose total over the pool is known. Where all queries are in and chance chose their items alone, one of which
    no item came counts too: the weights are then those of the pool. Values that are all known and all the same, but
    not 0, do not tell how others spread: infinite.
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
        are_in = not evidence.keep.any()
        mean += float(weights @ squares) * (1.0 if are_in else evidence.open_share / float(weights.sum()))
    spread = mean - (result.value**2 - observed)
    if evidence.is_census and spread <= NO_SPREAD * mean and mean > 0:
        return math.inf
    return max(spread, 0.0) / (evidence.pool_size - 1)


def joint_degrees(of_pool: float, degrees: float, added: float, of_added: float) -> float:
    """Return the degrees of freedom of a sum of two variances after Satterthwaite.

    (V* + W)² / (V*²/df₁ + W²/df₂) for V* + W.

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
    """Return the degrees of freedom of S²: those of the queries' shares of it by the rule for V̂, at most N − 1.

    What certain queries add counts as equal shares.
    """
    most = evidence.pool_size - 1.0
    if evidence.is_census:
        return most
    centre, certain_share = result.value, 1.0 - evidence.open_share
    shares = evidence.importance_weights * np.maximum((evidence.values - centre) ** 2 - evidence.within[:, 0], 0.0)
    if n_certain := round(certain_share * evidence.pool_size):
        certain = evidence.certain_squares - 2 * centre * evidence.base + certain_share * centre**2
        shares = np.append(shares, np.full(n_certain, max(certain, 0.0) / n_certain))
    return min(float(estimates.degrees(shares, 1.0)), most)
