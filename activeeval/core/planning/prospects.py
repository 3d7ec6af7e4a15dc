"""Prospects: expected half-widths of a sample by one method at one budget, with their ranges.

Samples of one design differ in their half-widths for three reasons: V̂ varies, the more so from few queries; the t
quantile depends on its degrees of freedom; and the variance expected by the model is off by a factor common to all
samples. A prospect contains all three: its half-widths are those of sqrt(c v V) with the t quantile of v's own degrees
of freedom, c from the nodes of the scale and v from rehearsed samples (from χ² without rehearsal).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from activeeval.core.checks import strict_share
from activeeval.core.interval_ends import t_quantile
from activeeval.core.planning.rehearsals import Noise
from activeeval.core.planning.scales import Scale
from activeeval.core.types import Floats

FITTED = 2.0
"""Coefficients of a fit, which cost degrees of freedom."""
RANGE = 0.8
"""Probability content of a range."""


class HalfWidths(Protocol):
    """Half-widths of a method by budget, non-increasing."""

    def half_width(self, budget: float, scope: str, confidence: float, chance: float) -> float:
        """Compute the half-width below which that of a sample stays with probability ``chance``.

        The budget is in mean items (the mean item costs 1); ``scope`` is "pool" or "population".
        """


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prospect:
    """Expected precision of a method at a budget.

    ``scope`` of its methods is "pool" (the queries of the pool) or "population" (all that these are a sample of).

    Attributes
    ----------
    method : str
    budget : float
        In mean items (the mean item of the pool costs 1).
    of_pool, of_scope : float
        Variance of the estimate for the pool, and the variance that the choice of the pool adds for the population.
    n_open : float
        Expected number of judged queries that were selected at random, not with certainty.
    of_census : float
        Degrees of freedom if everything is judged and only the choice of the pool's queries is random.
    queries, items : float
        Expected numbers of distinct judged queries and items.
    spread : float
        Standard deviation of the log of the factor by which ``of_pool`` can be off.
    noises : tuple of (float, Noise)
        Weight, and variation between simulated samples, at budgets near this one; empty: the variation is χ².
    is_guess : bool
        True if the model has not been calibrated by labels: the range is then meaningless.
    widest : float
        Upper bound of half-widths: half the range of the measure.
    curve : HalfWidths or None
        Half-widths made non-increasing over the budgets of the method; None: this budget alone.
    """

    method: str
    budget: float
    of_pool: float
    of_scope: float
    n_open: float
    of_census: float
    queries: float
    items: float
    spread: float = 0.0
    noises: tuple[tuple[float, Noise], ...] = ()
    is_guess: bool = False
    widest: float = math.inf
    curve: HalfWidths | None = None

    def variance(self, scope: str) -> float:
        """Return the variance of the estimate for the "pool" or the "population"."""
        return self.of_pool + (self.of_scope if scope == "population" else 0.0)

    def half_width(self, scope: str = "pool", confidence: float = 0.95, *, chance: float = 0.5) -> float:
        """Compute the half-width that a sample's interval stays below with probability ``chance``: the median for .5.

        It never exceeds half the range of the measure, nor the half-width at a smaller budget
        (`activeeval.core.planning.curves`). ``scope`` is "pool" or "population".
        """
        if self.curve is None:
            half = self.half_width_alone(scope, confidence, chance=chance)
        else:
            half = self.curve.half_width(self.budget, scope, strict_share(confidence, "confidence"), chance)
        return min(half, self.widest) if math.isfinite(half) else half

    def half_width_alone(self, scope: str = "pool", confidence: float = 0.95, *, chance: float = 0.5) -> float:
        """Compute the half-width below which that of a sample stays with probability ``chance``.

        Unlike `half_width` it ignores other budgets (larger budgets may get wider intervals) and the measure's range.
        ``scope`` is "pool" or "population". It is a quantile over the factors by which the variance can be off and over
        simulated samples, averaged in the log over the simulated budgets near this one. If the pool's value is known
        exactly, only the choice of the pool varies, by a t distribution.
        """
        strict_share(confidence, "confidence")
        variance = self.variance(scope)
        if self.of_pool == 0 or not math.isfinite(variance):
            freedom = max(self.of_census, 1.0) if variance else math.inf
            return float(t_quantile(confidence, freedom)) * math.sqrt(variance)
        nodes = Scale(spread=self.spread).nodes
        halves = [self._half_widths(noise, nodes, scope, confidence) for _, noise in self._noises]
        near = [np.quantile(of_noise, chance, method="hazen") for of_noise in halves]
        return math.exp(math.fsum(w * math.log(half) for (w, _), half in zip(self._noises, near, strict=True)))

    def half_widths(self, scope: str = "pool", confidence: float = 0.95) -> tuple[float, float]:
        """Compute the range ``(low, high)`` that contains the half-width of a sample with probability 0.8 (`RANGE`).

        ``scope`` is "pool" (these queries) or "population" (all that they are a sample of).
        """
        low, high = (self.half_width(scope, confidence, chance=0.5 + side * RANGE / 2) for side in (-1, 1))
        return low, high

    def known_half_widths(
        self, scope: str = "pool", confidence: float = 0.95
    ) -> tuple[float, float] | tuple[None, None]:
        """Compute `half_widths` for reports: (None, None) if the model was never calibrated, unless nothing varies."""
        if self.is_guess and self.variance(scope) > 0:
            return None, None
        return self.half_widths(scope, confidence)

    def power(self, difference: float, scope: str = "pool", confidence: float = 0.95) -> float:
        """Compute the probability that the t interval excludes 0 if the true value is ``difference``.

        ``scope`` of the interval is "pool" (these queries) or "population" (all that they are a sample of).
        """
        return self._power(difference, Scale(spread=self.spread).nodes, scope, confidence)

    def powers(self, difference: float, scope: str = "pool", confidence: float = 0.95) -> tuple[float, float]:
        """Compute the range that contains the power of the design with probability 0.8 (`RANGE`), as ``(low, high)``.

        The power is the probability that the t interval excludes 0 if the true value is ``difference``; ``scope`` is
        "pool" or "population".
        """
        low, high = (self.power_at(0.5 - side * RANGE / 2, difference, scope, confidence) for side in (-1, 1))
        return low, high

    def power_at(self, chance: float, difference: float, scope: str = "pool", confidence: float = 0.95) -> float:
        """Compute the power at the variance that the actual one does not exceed with probability ``chance``.

        The power is the probability that the t interval excludes 0 if the true value is ``difference``; ``scope`` is
        "pool" or "population".
        """
        return self._power(difference, np.array([Scale(spread=self.spread).at(chance)]), scope, confidence)

    @property
    def _noises(self) -> tuple[tuple[float, Noise], ...]:
        """Variation of variance estimates between samples, with weights; χ² if no samples were simulated."""
        return self.noises or ((1.0, Noise.of_degrees(self._most)),)

    @property
    def _most(self) -> float:
        """Most degrees of freedom of a sample: its `n_open` queries judged by chance, less those that a fit costs."""
        return max(self.n_open - FITTED, 1.0)

    @property
    def degrees_of_freedom(self) -> float:
        """Degrees of freedom of the t intervals, median over samples; infinite if everything is judged."""
        return math.fsum(weight * float(np.median(self._degrees(noise))) for weight, noise in self._noises)

    def _degrees(self, noise: Noise) -> Floats:
        """Compute the degrees of freedom of each simulated sample of ``noise``, shape (n,).

        ``noise.shares`` (n,) are the degrees of freedom per judged query that was selected at random.
        """
        if not math.isfinite(self.n_open):
            return np.full_like(noise.shares, math.inf)
        return np.clip(noise.shares * self.n_open, 1.0, self._most)

    def _half_widths(self, noise: Noise, scales: Floats, scope: str, confidence: float) -> Floats:
        """Compute the half-width of each simulated sample if the variance is off by each factor, shape (n_scales, n).

        ``scales`` (n_scales,) are the factors, ``noise.ratios`` (n,) the samples' estimates of the variance relative to
        their mean. Half-widths for the population have the combined degrees of freedom of both variances, as in
        `activeeval.core.estimation`, and are never narrower than those for the pool.
        """
        of_pool, degrees = self.of_pool * scales[:, None] * noise.ratios, self._degrees(noise)
        halves = np.asarray(t_quantile(confidence, degrees) * np.sqrt(of_pool))
        added = self.variance(scope) - self.of_pool
        if not added > 0:
            return halves
        lost = of_pool**2 / degrees + added**2 / max(self.of_census, 1.0)
        wider = t_quantile(confidence, (of_pool + added) ** 2 / lost) * np.sqrt(of_pool + added)
        return np.asarray(np.maximum(halves, wider))

    def _power(self, difference: float, scales: Floats, scope: str, confidence: float) -> float:
        """Compute the power, averaged over factors of the variance (``scales``) and the variation between samples.

        It is the probability that the t interval excludes 0, on either side, if the true value is ``difference``; 1 if
        nothing varies and the difference is not 0, 0 if the variance is infinite.
        """
        from scipy.special import ndtr

        variance = self.variance(scope)
        if variance == 0:
            return 1.0 if difference else 0.0
        if not math.isfinite(variance):
            return 0.0
        d, of_scope = abs(difference), variance - self.of_pool
        errors = np.sqrt(self.of_pool * scales + of_scope)[:, None]
        powers = 0.0
        for weight, noise in self._noises:
            halves = self._half_widths(noise, scales, scope, confidence)
            powers += weight * float(np.mean(ndtr((d - halves) / errors) + ndtr((-d - halves) / errors)))
        return powers


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRow:
    """Expected precision of a question in a segment, or in the whole pool.

    Attributes
    ----------
    segment : str or None
        None: all queries of the pool.
    measure, question : str
        Name of the measure, and kind of the question: "difference", "run" or "versus".
    name : str
        Name of the question in messages.
    goal : float or None
        The half-width to reach.
    half_width : float
        Expected half-width.
    low, high : float or None
        Range that should contain the half-width of four samples in five; None before the first label.
    queries, items : float
        Expected numbers of judged queries and items.
    n_queries : int
        Number of queries in the segment, or in the pool.
    is_slack : bool
        True if the labels for the other goals make the half-width much smaller than the goal.
    """

    segment: str | None
    measure: str
    question: str
    name: str
    goal: float | None
    half_width: float
    low: float | None
    high: float | None
    queries: float
    items: float
    n_queries: int
    is_slack: bool
