"""Effective sample size: how many random queries judged whole would tell as much as a sample does.

The mean of n queries that are drawn by p with replacement and judged whole (`passive`) has the variance S² / n,

    S² = Σ p (L − R)²,

so that a sample whose estimate has the variance V̂ is worth n = Ŝ² / V̂ of them. As R̂² is V̂ above R² in the mean,

    Ŝ² = Σ_certain p (L − R̂)² + V̂ + what judged queries say of the open ones,   ω = p/π, or p/q with replacement.

*Seen as a whole.* Of queries judged whole or to a depth y is unbiased for L, with an unbiased variance s within the
query: (y − R̂)² − s is unbiased for (L − R̂)², and its mean with weights ω stands for all open queries. Nothing of it
rests on a model; for `passive` it is the sample's own variance, and n the number of draws.

*Seen by items.* Where a few items come on their own y² is all noise, and queries of which none came are not seen. So
only what a prediction m, known of every query (`estimates`' z'B), leaves is estimated, with e of the judged items:

    Σ_open p (m − R̂)² + Σ ω (2 (m − R̂) e + e² − s),

without bias for any m, as e² − s is for (L − m)². What the items of a query have in common shows in pairs of them: the
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
"""Standard error of Ŝ², as a share of it, above which no n is given. Of .2, .22, .25 and .3 the largest with which, by
the next two too, nine in ten Ŝ² lay within a factor of 1.5 of S² in nearly every cell where half of the samples had an
n (1,220 cells on MQ2008, LightGBM's example and OHSUMED, good and bad models; benchmarks/effective_sample_size.py)."""
FEWEST_TERMS = 15
"""Queries of equal weight that Ŝ² must come from, (Σ |d|)² / Σ d²: one that is rare and large hides its own error.
Without this bar .92 of the Ŝ² by items that had an n lay within that factor, with it .97."""
FEWEST_DEGREES = 20
"""Degrees of freedom of V̂. Of 10, 15, 20 and 25 the least with which nine in ten n lay within a factor of 1.5 of what
they estimate; with 10 it was .84."""
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ValueVariance:
    """An estimate of S², how much values differ between queries.

    Attributes
    ----------
    value : float
    terms, noise : ndarray, shape (n,)
        What each draw of an open query adds to its error, and to the variance of that.
    """

    value: float
    terms: Floats
    noise: Floats


def effective_sample_size(evidence: Evidence, reading: Reading, selection: Selection) -> tuple[float | None, str]:
    """Return how many random queries judged whole would tell as much, or None and why the sample does not tell.

    n = Ŝ² / V̂ for the pool.

    Parameters
    ----------
    evidence : Evidence
        What judging ``selection`` showed of ``reading``.

    Returns
    -------
    float or None
        None without a reason where nothing was left to chance, or V̂ itself is not known.
    {"", "chunks", "too few"}
        See `activeeval.core.results.Estimate.size_unknown`.
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
    """Return how much values differ between queries, Ŝ² by the equations above.

    ``evaluated`` is the sample's estimate for the pool.
    """
    inside = _by_items if reading.kind == "items" else _as_a_whole
    certain, opened = inside(evidence, evaluated, reading, selection)
    centre, share = evaluated.value, 1.0 - evidence.open_share
    squares = evidence.certain_squares - 2 * centre * certain + centre**2 * share
    return replace(opened, value=squares + opened.value + evaluated.plain_variance)


def _as_a_whole(
    evidence: Evidence, evaluated: EstimatorResult, reading: Reading, selection: Selection
) -> tuple[float, ValueVariance]:
    """Return Σ p L of certain queries, and what the open ones' values say of their Σ p (L − R̂)²."""
    weights = evidence.open_share * evidence.importance_weights / evidence.importance_weights.sum()
    beyond, s = evidence.values - evaluated.value, evidence.within[:, 0]
    total = float(weights @ (beyond**2 - s))
    terms = weights * (beyond**2 - s - total / evidence.open_share)
    return evidence.base, ValueVariance(value=total, terms=terms, noise=_noise(evidence, weights, terms, beyond, s))


def _by_items(
    evidence: Evidence, evaluated: EstimatorResult, reading: Reading, selection: Selection
) -> tuple[float, ValueVariance]:
    """Return Σ p L of certain queries, and of the open ones Σ p (L − R̂)² from what predictions leave."""
    is_settled = reading.settled_by(selection)
    is_open = reading.is_open.copy()
    is_open[selection.queries[is_settled]] = False
    rows, weights = selection.queries[reading.chosen_by_chance(selection)], evidence.importance_weights
    coefficients, e, s = evidence.residuals()
    beyond = reading.known_values + reading.regressors[:, : coefficients.size] @ coefficients - evaluated.value
    terms = weights * (2 * beyond[rows] * e + e**2 - s)
    p = np.where(is_open, reading.query_probs, 0.0)
    noise = _noise(evidence, weights, terms, beyond[rows] + e, s)
    of_values = ValueVariance(value=float(p @ beyond**2 + terms.sum()), terms=terms, noise=noise)
    return evidence.base - float(p @ reading.known_values), of_values


def _noise(evidence: Evidence, weights: Floats, terms: Floats, beyond: Floats, s: Floats) -> Floats:
    """Return the variance of terms: of the choice of the query, and of what is seen within it, with variance s.

    Were that normal, (beyond)² had the variance 4 (L − R̂)² s + 2 s²; it is never taken for more than the whole term.
    """
    keep, s = evidence.keep, np.abs(s)
    within = weights**2 * (4 * np.maximum(beyond**2 - s, 0.0) * s + 2 * s**2)
    return np.asarray(keep * terms**2 + (1 - keep) * np.minimum(terms**2, within))


def _is_supported(evidence: Evidence, evaluated: EstimatorResult, of_values: ValueVariance) -> bool:
    """Return whether a sample tells its n."""
    terms, noise = of_values.terms / of_values.value, of_values.noise / of_values.value**2
    of_variance = evidence.variance_errors(evaluated.contributions, evaluated.variance)
    if of_variance is not None:  # V̂ errs by the same rows
        terms = terms - of_variance
        noise = terms**2
    elif evaluated.degrees_of_freedom < FEWEST_DEGREES:
        return False
    error = float(noise.sum())
    is_lone = np.abs(terms).sum() ** 2 < FEWEST_TERMS * float(terms @ terms)
    return error <= FARTHEST**2 and not (is_lone and error > _ROUNDING**2)
