"""Calibration by a pilot (a judged sample): the ratio of observed variances to those expected by the grade model.

Notation: L is the value of a query, S² the variance of the values between queries, V̂ the observed variance of an
estimate, V the expected one and c their ratio.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from activeeval.core.design import Design, DesignInput, GradeProbs, OrderPlaces, RatePlan, Reading, Selection
from activeeval.core.errors import InputError
from activeeval.core.estimation import evaluate, evidence_of
from activeeval.core.estimation.effective import ValueVariance, value_variance
from activeeval.core.measures import LabelsLike, Target
from activeeval.core.planning.scales import Scale
from activeeval.core.planning.values import Values

_FEWEST = 1.0
PRIOR = 10.0
"""Degrees of freedom that the model's prediction counts as if its ratio is taken as known. After pilots of 50 queries
(MQ2008, MQ2007, four measures, one and two rankings) the median error of half-widths was at most .21, .13, .13, .15,
.17 with 0, 5, 10, 20, 40."""
_ELSEWHERE = 0.2
"""Standard deviation of the log ratio of a variance between the pilot's budget and another. Of samples of joint
questions, .81, .83, .85 and .86 were within the ranges after pilots with 0, .2, .3 and .4 (MQ2008, MQ2007-agg, OHSUMED,
generated pool), and .78, .80, .82 and .83 on pools that were not used for tuning."""
_TAILS = 4.0
"""Degrees of freedom of the prior of the ratio: a failing model's ratio is far from the usual one, and the pilot must
dominate then. The shares within the ranges were .84, .83, .82 and .82 with 2, 4, 8 and infinitely many."""
_FARTHEST, _N_LOGS = 5.0, 801


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Ratio of an observed variance to the one expected by a model, with the degrees of freedom of the observation."""

    value: float
    degrees_of_freedom: float

    @property
    def tells(self) -> bool:
        """True if the observation has enough degrees of freedom to learn from."""
        return self.degrees_of_freedom >= _FEWEST

    @property
    def bounds(self) -> tuple[float, float]:
        """The 95 % confidence interval of the ratio by the χ² distribution; (0, inf) if it does not tell anything."""
        from scipy.special import chdtri

        n = self.degrees_of_freedom
        if not self.tells:
            return 0.0, math.inf
        return n * self.value / float(chdtri(n, 0.025)), n * self.value / float(chdtri(n, 0.975))

    @property
    def may_be_chance(self) -> bool:
        """True if the 95 % interval contains 1."""
        low, high = self.bounds
        return low <= 1 <= high

    def taught(self, scale: Scale) -> Scale:
        """Update a scale, the distribution of the ratio c expected so far, by this observation.

        The result has the posterior mean and standard deviation of log c. The prior is a t with `_TAILS` degrees of
        freedom; the likelihood is that of n V̂ / (c V) under the χ² with n degrees of freedom, V̂ the observed and V the
        expected variance. A known scale (spread 0) counts as `PRIOR` degrees of freedom. The scale stays as it is if
        the observation has too few (`tells`).
        """
        if not self.tells:
            return scale
        # log V̂ has a variance of about 2 / n; that of the ratio between budgets adds to it
        n = 1 / (1 / self.degrees_of_freedom + _ELSEWHERE**2 / 2)
        before, spread = math.log(scale.value), scale.spread or math.sqrt(2 / PRIOR)
        seen = math.log(self.value)
        logs = np.linspace(min(before, seen) - _FARTHEST, max(before, seen) + _FARTHEST, _N_LOGS)
        prior = -(_TAILS + 1) / 2 * np.log1p(((logs - before) / spread) ** 2 / _TAILS)
        likelihood = -n / 2 * (np.exp(seen - logs) + logs)
        weights = np.exp(prior + likelihood - np.max(prior + likelihood))
        weights /= weights.sum()
        mean = float(weights @ logs)
        return Scale(value=math.exp(mean), spread=math.sqrt(float(weights @ (logs - mean) ** 2)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotRatios:
    """Ratios observed in pilots for a target, of the actual variance to the one that the grade model expects.

    Attributes
    ----------
    of_residuals : Ratio
        For the variance of the estimate, which comes from residuals of the model's predictions.
    of_values : Ratio
        For S², the variance of values between queries.
    """

    of_residuals: Ratio
    of_values: Ratio

    @classmethod
    def together(cls, lessons: Sequence[PilotRatios]) -> PilotRatios:
        """Average the ratios of several pilots (judged samples), weighted by degrees of freedom."""
        residuals, values = [lesson.of_residuals for lesson in lessons], [lesson.of_values for lesson in lessons]
        return cls(of_residuals=_together(residuals), of_values=_together(values))


def _together(ratios: Sequence[Ratio]) -> Ratio:
    """Average ratios, weighted by their degrees of freedom; a ratio of 1 with 0 degrees if none has any."""
    weights = [ratio.degrees_of_freedom for ratio in ratios]
    if sum(weights) == 0:
        return Ratio(value=1.0, degrees_of_freedom=0.0)
    value = math.fsum(w * ratio.value for w, ratio in zip(weights, ratios, strict=True)) / sum(weights)
    return Ratio(value=value, degrees_of_freedom=sum(weights))


@dataclass(frozen=True, kw_only=True, eq=False)
class Pilot:
    """A pilot's design, read for a target with the planner's grade model in place of its own.

    The weights of the sample stay those of the original design, so that the observed ratio stays unbiased.

    Attributes
    ----------
    design : Design
        The pilot's design; units judged by ascending random level, on the same pool.
    reading : Reading
        What the estimator needs for the target besides the labels, under the planner's grade model.
    plan : RatePlan
        The variance that the planner's grade model expects for the pilot's inclusion probabilities.
    values : Values
        Moments of the query values under the planner's grade model.
    """

    design: Design
    reading: Reading
    plan: RatePlan
    values: Values

    @classmethod
    def of(cls, design: Design, target: Target, beliefs: GradeProbs) -> Pilot:
        """Prepare a design for use as a pilot for a target; ``beliefs`` is the planner's grade model.

        Known grades are those that the pilot's design knew (`Design.known`), not the later ones.

        Raises
        ------
        InputError
            If it draws with replacement, or does not cover the target.
        """
        if not design.scheme.is_planned:
            pilot = f"a pilot of method {design.name!r} draws with replacement"
            raise InputError(f"{pilot} and cannot calibrate a plan: expected a method by levels")
        order, stage, predicting = design.order, design.stage, design.stage.model(beliefs)
        reading = stage.reading(target, order, predicting, design.known)
        places = OrderPlaces.of_order(order)
        design_input = DesignInput(
            stage=stage, targets=(target,), beliefs=predicting, known=design.known, places=places
        )
        return cls(
            design=design,
            reading=reading,
            plan=RatePlan.of_input(design_input, order),
            values=Values.of(target, beliefs),
        )

    def lesson(self, selection: Selection, labels: LabelsLike) -> PilotRatios:
        """Compute the ratios of observed to expected variances from the judged part of the pilot.

        Parameters
        ----------
        selection : Selection
            The judged part of the pilot.
        labels : ndarray of int64, shape (n_items,), or SoftLabels
            −1 for an item that cannot be judged; other items than the selected ones are not used.

        Raises
        ------
        InputError
            If the sample has no random variation, or the model expects none.
        """
        name = self.reading.target.name
        sample = evidence_of(self.design, self.reading, self.reading.judge(labels), selection)
        evaluated = evaluate(sample)
        if sample.is_census or not 0 < evaluated.observed < math.inf:
            raise InputError(f"the pilot does not show how {name} varies: its sample has no random variation")
        expected = self.plan.at_level(selection.level)
        if not (expected > 0 and self.values.spread > 0):
            raise InputError(f"the grade model expects no variance of {name}: there is nothing to rescale")
        return PilotRatios(
            of_residuals=Ratio(value=evaluated.observed / expected, degrees_of_freedom=evaluated.degrees_of_freedom),
            of_values=self._of_values(value_variance(sample, evaluated, self.reading, selection)),
        )

    def _of_values(self, variance: ValueVariance) -> Ratio:
        """Compute the ratio Ŝ² / S² of the observed to the expected variance of values between queries.

        The degrees of freedom are those of the χ² with the same mean and variance as Ŝ²; the ratio is 1 with 0 degrees
        if Ŝ² is not positive. ``variance.noise`` holds the contributions of queries to the variance of Ŝ².
        """
        noise = float(variance.noise.sum())
        if variance.value <= 0 or noise <= 0:
            return Ratio(value=1.0, degrees_of_freedom=0.0)
        return Ratio(value=variance.value / self.values.spread, degrees_of_freedom=2 * variance.value**2 / noise)
