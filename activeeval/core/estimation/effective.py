"""Effective sample size: the number of random queries judged whole that would be as informative as a sample.

Notation: p is the probability of a query and L its value, R = Σ p L the performance of the pool, π the probability of
sampling the query, q its probability in one draw with replacement; hats mark estimates from the sample.

The mean of n queries drawn by p with replacement and judged whole (`passive`) has the variance S² / n,

    S² = Σ p (L − R)²,

so a sample whose estimate has the variance V̂ is equivalent to n = Ŝ² / V̂ of them. As R̂² exceeds R² by V̂ on average,

    Ŝ² = Σ_certain p (L − R̂)² + V̂ + the part of the open queries,   ω = p/π, or p/q with replacement,

where the part of the open queries is estimated from the judged ones in one of two ways.

*Whole queries.* For queries judged whole or to a depth y is unbiased for L, with an unbiased variance s within the
query: (y − R̂)² − s is unbiased for (L − R̂)², and its mean with weights ω represents all open queries. This does not
depend on a model; for `passive` it is the sample's own variance, and n the number of draws.

*Items.* If a few items are sampled independently, y² is mostly noise, and queries without a sampled item are not seen.
So only the residual of a prediction m, known for every query (`estimates`' z'B), is estimated, with e of the judged
items:

    Σ_open p (m − R̂)² + Σ ω (2 (m − R̂) e + e² − s),

which is unbiased for any m, as e² − s is for (L − m)². The common part of a query's items shows in pairs of them: the
fewer are judged, the less is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from activeeval.core.design import Reading, Selection
from activeeval.core.estimation.estimators import EstimatorResult, evaluate
from activeeval.core.estimation.evidence import Evidence
from activeeval.core.types import Floats

FARTHEST = 0.22
"""Relative standard error of Ŝ² above which no n is reported. Of .2, .22, .25 and .3 the largest with which, together
with the next two limits, nine in ten Ŝ² lay within a factor of 1.5 of S² in nearly every cell where half of the samples
had an n (1,220 cells on MQ2008, LightGBM's example and OHSUMED, good and bad models;
benchmarks/effective_sample_size.py)."""
FEWEST_TERMS = 15
"""Least effective number of terms of Ŝ², (Σ |d|)² / Σ d²: a single rare and large term hides its own error. Without
this limit .92 of the Ŝ² by items that had an n lay within that factor, with it .97."""
FEWEST_DEGREES = 20
"""Least degrees of freedom of V̂. Of 10, 15, 20 and 25 the least with which nine in ten n lay within a factor of 1.5 of
the true one; with 10 it was .84."""
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ValueVariance:
    """An estimate of S², the variance of values between queries.

    Attributes
    ----------
    value : float
        Ŝ².
    terms, noise : ndarray, shape (n,)
        Contribution of each query (or draw) sampled by chance to the error of Ŝ², and to the variance of that error.
    """

    value: float
    terms: Floats
    noise: Floats


def effective_sample_size(evidence: Evidence, reading: Reading, selection: Selection) -> tuple[float | None, str]:
    """Estimate how many random queries, judged whole, would be as informative as a sample: n = Ŝ² / V̂ for the pool.

    Ŝ² is the estimated variance of values between queries, V̂ the variance of the sample's estimate.

    Parameters
    ----------
    evidence : Evidence
        Data of the judged ``selection`` for the target of ``reading``.
    reading : Reading
        What is known of the target besides labels: predictions, known grades, rates.
    selection : Selection
        The judged items of the sample.

    Returns
    -------
    n : float or None
        None if it is unknown, or nothing was left to chance.
    reason : {"", "chunks", "too few"}
        Why n is unknown: the pool is processed in parts, or the sample is too small for a reliable Ŝ². "" if n is
        known, nothing was left to chance, or V̂ itself is unknown.
    """
    evaluated = evaluate(evidence)
    if evaluated.variance == 0 or not math.isfinite(evaluated.observed):
        return None, ""
    if reading.kind == "items" and reading.order.larger_pool is not None:
        return None, "chunks"
    of_values = value_variance(evidence, evaluated, reading, selection)
    if of_values.value <= 0 or not _is_supported(evidence, evaluated, of_values):
        return None, "too few"
    return of_values.value / evaluated.variance, ""


def value_variance(
    evidence: Evidence, evaluated: EstimatorResult, reading: Reading, selection: Selection
) -> ValueVariance:
    """Estimate the variance S² = Σ p (L − R)² of values between queries, with the terms of its error.

    p is the probability of a query, L its value, R = Σ p L. ``evidence`` and ``evaluated`` (the estimate R̂) are of the
    judged ``selection`` for the target of ``reading``. The result adds Σ p (L − R̂)² over certain queries (whose value
    does not depend on chance), its estimate for the others, and the variance of R̂, because R̂² exceeds R² by that on
    average.
    """
    inside = _by_items if reading.kind == "items" else _as_a_whole
    certain, opened = inside(evidence, evaluated, reading, selection)
    centre, share = evaluated.value, 1.0 - evidence.open_share
    # Σ p (L − R̂)² over certain queries, from their sums of p L², p L and p
    squares = evidence.certain_squares - 2 * centre * certain + centre**2 * share
    return replace(opened, value=squares + opened.value + evaluated.plain_variance)


def _as_a_whole(
    evidence: Evidence, evaluated: EstimatorResult, reading: Reading, selection: Selection
) -> tuple[float, ValueVariance]:
    """Compute Σ p L over certain queries, and estimate Σ p (L − R̂)² over open ones from the values of judged ones.

    A query is certain if its value does not depend on chance, else open; p is its probability, L its value and R̂ the
    estimate of Σ p L. With l the estimates of L for the judged open queries (``evidence.values``), s the estimated
    variances of l within each query (first column of ``evidence.within``), ω their importance weights scaled to the
    share of open queries in p (``evidence.open_share``), it is Σ ω ((l − R̂)² − s). ``evidence.base`` is Σ p L over
    certain queries; the last two parameters are those of other ways to compute this, and not used.
    """
    weights = evidence.open_share * evidence.importance_weights / evidence.importance_weights.sum()
    beyond, s = evidence.values - evaluated.value, evidence.within[:, 0]
    total = float(weights @ (beyond**2 - s))
    terms = weights * (beyond**2 - s - total / evidence.open_share)
    return evidence.base, ValueVariance(value=total, terms=terms, noise=_noise(evidence, weights, terms, beyond, s))


def _by_items(
    evidence: Evidence, evaluated: EstimatorResult, reading: Reading, selection: Selection
) -> tuple[float, ValueVariance]:
    """Compute Σ p L over certain queries, and estimate Σ p (L − R̂)² over open ones from residuals of predictions.

    A query is certain if its value does not depend on chance, else open; p is its probability, L its value and R̂ the
    estimate of Σ p L. With predictions m of all open queries, and residuals e (variance s within the query) and
    importance weights ω of the judged ones, it is Σ_open p (m − R̂)² + Σ ω (2 (m − R̂) e + e² − s).
    """
    is_settled = reading.settled_by(selection)
    is_open = reading.is_open.copy()
    is_open[selection.queries[is_settled]] = False
    rows, weights = selection.queries[reading.chosen_by_chance(selection)], evidence.importance_weights
    coefficients, e, s = evidence.residuals()
    # m − R̂ of every query: its known part plus fitted regressors, minus the estimate
    beyond = reading.known_values + reading.regressors[:, : coefficients.size] @ coefficients - evaluated.value
    terms = weights * (2 * beyond[rows] * e + e**2 - s)
    p = np.where(is_open, reading.query_probs, 0.0)
    noise = _noise(evidence, weights, terms, beyond[rows] + e, s)
    of_values = ValueVariance(value=float(p @ beyond**2 + terms.sum()), terms=terms, noise=noise)
    # the base also holds the known parts of open queries
    return evidence.base - float(p @ reading.known_values), of_values


def _noise(evidence: Evidence, weights: Floats, terms: Floats, beyond: Floats, s: Floats) -> Floats:
    """Compute the variance of each term of Ŝ² (the variance between queries), from choosing and sampling its query.

    ``beyond`` is a query's estimated value minus the mean R̂, s its variance from sampling within the query, L the true
    value: beyond² has the variance 4 (L − R̂)² s + 2 s² under normality, capped at the square of the term. ``weights``
    are those of the queries in Ŝ². All shapes are (n,). ``evidence.keep`` is 1 − π, π the probability of the query.
    """
    keep, s = evidence.keep, np.abs(s)
    within = weights**2 * (4 * np.maximum(beyond**2 - s, 0.0) * s + 2 * s**2)
    return np.asarray(keep * terms**2 + (1 - keep) * np.minimum(terms**2, within))


def _is_supported(evidence: Evidence, evaluated: EstimatorResult, of_values: ValueVariance) -> bool:
    """True if the variance between queries and that of the estimate are known well enough to report their ratio n.

    The relative standard error of n must be at most `FARTHEST` and rest on `FEWEST_TERMS` terms or more, unless it is
    only rounding. Where V̂ has no error by row (all but draws with replacement), it needs `FEWEST_DEGREES` degrees.
    """
    terms, noise = of_values.terms / of_values.value, of_values.noise / of_values.value**2
    of_variance = evidence.variance_errors(evaluated.contributions, evaluated.variance)
    if of_variance is not None:  # the errors of V̂ come from the same rows
        terms = terms - of_variance
        noise = terms**2
    elif evaluated.degrees_of_freedom < FEWEST_DEGREES:
        return False
    error = float(noise.sum())
    is_lone = np.abs(terms).sum() ** 2 < FEWEST_TERMS * float(terms @ terms)
    return error <= FARTHEST**2 and not (is_lone and error > _ROUNDING**2)
