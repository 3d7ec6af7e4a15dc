"""Goals: the required precision of an estimate, and the budget that should reach it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from activeeval.core.checks import brief, is_number, strict_share
from activeeval.core.errors import InputError
from activeeval.core.estimation import check_scope
from activeeval.core.planning.forecasts import Forecast
from activeeval.core.planning.forecasts_by_sums import ForecastBySums
from activeeval.core.planning.prospects import RANGE, Prospect

_CLOSE = 1.0001
_MOST_QUERIES = 2.0**40

SURE = 0.5 + RANGE / 2
"""Probability, over the uncertainty of the variance's scale, with which the promised power is reached: the default is
the upper end of the scale's range. Of 57 comparisons on MQ2008, MQ2007-agg and OHSUMED with forests trained on 22 to
339 queries and a promised power of .8, the shares with a power of at least .75 were .79, .83, .88, .91 and .93 for .5,
.6, .7, .8 and .9, at median budgets of .267, .271, .275, .278 and .29 of everything; of 64 with forests trained on 15
queries, .64, .84 and .90 for .5, .8 and .9."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A half-width to reach, or a difference to detect.

    Attributes
    ----------
    half_width : float or None
        Half-width ε of the interval.
    difference : float or None
        The difference to detect: if it is the true one, the interval should exclude 0.
    power : float
        Probability with which the interval should exclude 0 then.
    scope : {"pool", "population"}
        The queries that the interval covers.
    confidence : float

    Raises
    ------
    InputError
        If not exactly one of the two is given, or a number is out of its range.

    Examples
    --------
    >>> print(Goal(difference=0.05)), print(Goal(half_width=0.02, scope="population"))
    a difference of 0.05 detected with power 0.8
    ± 0.02 for the population
    (None, None)
    """

    half_width: float | None = None
    difference: float | None = None
    power: float = 0.8
    scope: str = "pool"
    confidence: float = 0.95

    def __post_init__(self) -> None:
        """Raise InputError unless exactly one goal is set and all numbers are in their ranges."""
        if (self.half_width is None) == (self.difference is None):
            raise InputError("give a half-width to reach or a difference to detect, one of the two")
        for name, value in (("half-width", self.half_width), ("difference", self.difference)):
            if value is not None and not (is_number(value) and 0 < value < math.inf):
                raise InputError(f"the {name} must be a positive number, got {brief(value)}")
        strict_share(self.power, "power")
        check_scope(self.scope)
        strict_share(self.confidence, "confidence")
        if self.difference is not None and self.power <= 1 - self.confidence:
            raise InputError(
                f"power {self.power:g} is reached without judgments: expected more than 1 - confidence, "
                f"{1 - self.confidence:g}"
            )

    def is_met(self, prospect: Prospect, chance: float | None = None) -> bool:
        """Check whether an expected precision reaches the goal.

        Parameters
        ----------
        prospect : Prospect
        chance : float, optional
            Probability with which a sample should reach the half-width, by default 0.5; or with which the design
            should have the power, given the uncertainty of its variance, by default `SURE` (0.9).
        """
        if self.half_width is not None:
            return prospect.half_width(self.scope, self.confidence, chance=chance or 0.5) <= self.half_width
        question = (self.difference or 0.0, self.scope, self.confidence)
        return prospect.power_at(chance or SURE, *question) >= self.power

    def budget(self, forecast: Forecast | ForecastBySums, chance: float | None = None) -> float | None:
        """Find the smallest budget, in mean items (the mean item costs 1), that should reach the goal.

        Returns None if judging everything does not reach it. ``chance`` is the probability with which it should be
        reached; by default 0.5 for a half-width and `SURE` (0.9) for a power.
        """
        lowest, highest = forecast.least, forecast.cost
        if self.is_met(forecast.at(lowest), chance):
            return lowest
        if not self.is_met(forecast.all_judged, chance):
            return None
        while highest > lowest * _CLOSE:
            middle = math.sqrt(lowest * highest)
            lowest, highest = (lowest, middle) if self.is_met(forecast.at(middle), chance) else (middle, highest)
        return highest

    def budgets(self, forecast: Forecast) -> tuple[float, float] | tuple[None, None]:
        """Compute the range that contains the budget needed for the goal with probability 0.8 (`RANGE`), in mean items.

        An end that is out of reach becomes the cost of judging everything. The range is (None, None) if the model has
        not been checked against labels. The mean item costs 1.
        """
        if forecast.is_guess:
            return None, None
        chances = (0.5 - RANGE / 2, 0.5 + RANGE / 2)
        low, high = (self.budget(forecast, chance) for chance in chances)
        return forecast.cost if low is None else low, forecast.cost if high is None else high

    def reachable(self, forecast: Forecast) -> str:
        """Describe in words the precision that judging everything would reach."""
        best = forecast.all_judged
        text = f"judging everything leaves ± {best.half_width(self.scope, self.confidence):.3g}"
        if self.difference is not None:
            text += f", a power of {best.power(self.difference, self.scope, self.confidence):.2f}"
        return text

    def queries_needed(self, forecast: Forecast) -> float:
        """Find how many queries like these, all of them judged, reach the goal for the population; at most 2^40.

        With N queries the variance is that with all of this pool judged, times (size − 1) / (N − 1).
        """
        lowest, highest = 2.0, _MOST_QUERIES
        size, of_scope = forecast.values.size, forecast.all_judged.of_scope
        while highest > lowest * _CLOSE:
            n = math.sqrt(lowest * highest)
            prospect = Prospect(
                method=forecast.method,
                budget=forecast.cost,
                of_pool=0.0,
                of_scope=of_scope * (size - 1) / (n - 1),
                n_open=math.inf,
                of_census=n - 1,
                queries=n,
                items=n,
            )
            lowest, highest = (lowest, n) if self.is_met(prospect) else (n, highest)
        return highest

    def __str__(self) -> str:
        """Describe the goal in a phrase for messages."""
        whose = " for the population" if self.scope == "population" else ""
        if self.half_width is not None:
            return f"± {self.half_width:g}{whose}"
        return f"a difference of {self.difference:g} detected with power {self.power:g}{whose}"
