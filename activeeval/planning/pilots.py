"""What a judged pilot teaches: how many times as much values vary as the grade model expects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from activeeval.design import Beliefs, Design, Levels, Part, Places, Plan, Reading, Selection
from activeeval.errors import InputError
from activeeval.estimation import evaluate, judged_sample, population_variance
from activeeval.measures import Target
from activeeval.planning.values import Values

Ints = NDArray[np.int64]

PRIOR = 10.0
"""Degrees of freedom that the model's own word counts as. After pilots of 50 queries (MQ2008, MQ2007, four measures,
one ranking and two) the median error of half-widths was at most .21, .13, .13, .15, .17 with 0, 5, 10, 20, 40."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What pilots have shown of a target, beside what the grade model expects.

    Attributes
    ----------
    degrees_of_freedom : float
        Of all pilots together.
    of_residuals, of_values : float
        The variance of residuals and S² over what the model expects, as they were observed.
    """

    degrees_of_freedom: float
    of_residuals: float
    of_values: float

    @property
    def scales(self) -> tuple[float, float]:
        """What expected variances of residuals and of values are multiplied by.

        The observed, drawn to 1 as long as chance may have made it differ from 1: then the model is worth `PRIOR`.
        """
        share = self.degrees_of_freedom / (self.degrees_of_freedom + PRIOR)

        def drawn(ratio: float) -> float:
            return 1 + share * (ratio - 1) if self._may_be_chance(ratio) else ratio

        return drawn(self.of_residuals), drawn(self.of_values)

    @property
    def bounds(self) -> tuple[float, float]:
        """The 95 % interval of the ratio of residual variances, by the χ² distribution."""
        return self._bounds(self.of_residuals)

    @property
    def is_miscalibrated(self) -> bool:
        """Whether chance alone hardly makes the observed variance differ so much from the expected one."""
        return not self._may_be_chance(self.of_residuals)

    def _bounds(self, ratio: float) -> tuple[float, float]:
        from scipy.special import chdtri

        n = self.degrees_of_freedom
        return n * ratio / float(chdtri(n, 0.025)), n * ratio / float(chdtri(n, 0.975))

    def _may_be_chance(self, ratio: float) -> bool:
        low, high = self._bounds(ratio)
        return low <= 1 <= high

    @classmethod
    def together(cls, lessons: Sequence[Lesson]) -> Lesson:
        """Return what several pilots teach together, weighed by degrees of freedom."""
        weights = np.array([one.degrees_of_freedom for one in lessons])
        shares = weights / weights.sum()
        return cls(
            degrees_of_freedom=float(weights.sum()),
            of_residuals=float(shares @ [one.of_residuals for one in lessons]),
            of_values=float(shares @ [one.of_values for one in lessons]),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Pilot:
    """A pilot's design, read for a target with the planner's model in place of its own.

    The weights of the sample stay those it was drawn with, so that what it shows is as unbiased as before.

    Attributes
    ----------
    design : Design
        On the same pool, by levels.
    reading : Reading
    plan : Plan
        What the planner's model expects of its probabilities.
    values : Values
    """

    design: Design
    reading: Reading
    plan: Plan
    values: Values

    @classmethod
    def of(cls, design: Design, target: Target, beliefs: Beliefs) -> Pilot:
        """Return a design as a pilot.

        Raises
        ------
        InputError
            Where it draws with replacement, or does not reach the target.
        """
        if not isinstance(design.scheme, Levels):
            what = f"a pilot of method {design.name!r}, draws with replacement,"
            raise InputError(f"{what} teaches no plan: expected levels")
        order, stage, own = design.order, design.stage, design.stage.model(beliefs)
        reading = stage.reading(target, order, own, design.known)
        places = Places(
            pool=order.pool,
            offsets=order.offsets,
            items=order.items,
            matters=order.roots > 0,
            costs=order.costs,
            overheads=order.overheads,
        )
        part = Part(stage=stage, targets=(target,), beliefs=own, known=design.known, places=places)
        return cls(design=design, reading=reading, plan=Plan.of_part(part, order), values=Values.of(target, beliefs))

    def lesson(self, selection: Selection, grades: Ints) -> Lesson:
        """Return what a judged selection teaches.

        Parameters
        ----------
        selection : Selection
            What has been judged of it.
        grades : ndarray of int64, shape (n_items,)

        Raises
        ------
        InputError
            Where it shows no spread, or the model leaves nothing open.
        """
        name = self.reading.target.name
        sample = judged_sample(self.design, self.reading, self.reading.judge(grades), selection)
        found = evaluate(sample)
        if sample.is_census or not 0 < found.variance < math.inf:
            raise InputError(f"the pilot says nothing of how {name} varies: nothing in it was left to chance")
        expected = self.plan.at_level(selection.level)
        if not (expected > 0 and self.values.spread > 0):
            raise InputError(f"the grade model leaves nothing open of {name}: there is nothing to rescale")
        spread = population_variance(sample, found) * (self.values.size - 1)
        residuals = found.variance / expected
        return Lesson(
            degrees_of_freedom=found.degrees_of_freedom,
            of_residuals=residuals,
            of_values=spread / self.values.spread if spread > 0 else residuals,
        )
