"""Forecasts: what a method's estimate should vary by at a budget, how many queries and items that judges.

Every method's variance is that of its probabilities under the grade model: Σ p² [V_0 (1/ρ − 1) + Σ V_i (1/a_i − 1)] of
levels (`activeeval.core.design.RatePlan`), (1/n) Σ p²/q E[(L − R_θ)² | x] of n draws with replacement. What a fit costs
comes to both, as the estimators have it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from activeeval.core.design import Order, RatePlan
from activeeval.core.design.planned_variance import PlannedVariance
from activeeval.core.design.replacement import DRAWS_PER_QUERY, ReplacementDraws
from activeeval.core.errors import InputError
from activeeval.core.planning.curves import Curve
from activeeval.core.planning.pilots import PilotRatios
from activeeval.core.planning.prospects import FITTED, Prospect
from activeeval.core.planning.rehearsals import Rehearsal
from activeeval.core.planning.scales import KNOWN, Scale
from activeeval.core.planning.values import Values
from activeeval.core.types import Bools, Floats

_CLOSE = 1e-9
_SURE = 1 - 1e-12
_NOTHING = 1e-12
"""A share of all that varies which is rounding: all that a question needs is judged for sure."""


class SpendingRule(Protocol):
    """How a method spends a budget: by levels, or by draws with replacement."""

    @property
    def is_predicted(self) -> bool:
        """Whether what varies is what a model's predictions leave, else the values themselves."""

    def expect(self, budget: float) -> tuple[float, float, float, float]:
        """Return the variance, how many draws or judged queries chance chose, how many queries and items are judged."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LevelSpending:
    """A method that judges upward by level.

    Attributes
    ----------
    plan : RatePlan
    is_fitted, is_predicted : bool
    curve : Planned or None
        The variance by level, where a design has it at hand; the plan then says no more than what is judged.
    within : ndarray of bool, shape (n_queries,), or None
        The queries that the target is about: of these alone it is said how many are judged. None: all.
    """

    plan: RatePlan
    is_fitted: bool
    is_predicted: bool = True
    curve: PlannedVariance | None = None
    within: Bools | None = None

    @property
    def _all(self) -> float:
        """What varies at all."""
        if self.curve is not None:
            return float(np.abs(self.curve.whole).sum())
        return float(np.abs(self.plan.of_query).sum() + np.abs(self.plan.of_open).sum())

    def expect(self, budget: float) -> tuple[float, float, float, float]:
        """Return the variance, how many draws or judged queries chance chose, how many queries and items are judged."""
        chances, judged = self.plan.chances(budget)
        if self.curve is None:
            return self.of_chances(chances, judged)
        variance = float(self.curve.at(np.array([self.plan.order.level_for(budget)]))[0])
        return self.of_chances(chances, judged, variance)

    def of_chances(
        self, chances: Floats, judged: Floats, planned: float | None = None
    ) -> tuple[float, float, float, float]:
        """Return the same of probabilities of queries, ρ (n_queries,), and of wanted places, a (n_wanted,).

        Parameters
        ----------
        planned : float, optional
            Their variance, where it is known better than by the plan.
        """
        variance = self.plan.variance(chances, judged) if planned is None else planned
        turned_to = self.plan.turned_to(chances, judged)
        if abs(variance) < _NOTHING * self._all:
            variance = 0.0
        if self.within is not None:
            owners = np.repeat(self.within, np.diff(self.plan.offsets))
            turned_to, judged = np.where(self.within, turned_to, 0.0), np.where(owners, judged, 0.0)
        queries, items = float(turned_to.sum()), float(judged.sum())
        n = float(turned_to[~self.plan.is_certain(judged)].sum())
        if self.is_fitted and variance > 0:
            variance = variance * n / (n - FITTED) if n > FITTED else math.inf
        return variance, n if variance > 0 else math.inf, queries, items


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AdaptiveSpending:
    """A method that judges upward by level, to depths that follow the labels of their queries.

    Attributes
    ----------
    order : Order
        As labels that the model draws have it on average.
    alive : ndarray, shape (n_places,)
        How often a place is asked at all.
    curve : Planned
        The variance by level.
    is_fitted : bool
    """

    order: Order
    alive: Floats
    curve: PlannedVariance
    is_fitted: bool

    @property
    def is_predicted(self) -> bool:
        """Whether what varies is what a model's predictions leave."""
        return True

    def expect(self, budget: float) -> tuple[float, float, float, float]:
        """Return the variance, how many draws or judged queries chance chose, how many queries and items are judged."""
        level = self.order.level_for(budget)
        pi, a = self.order.inclusion_probs(level)
        variance = float(self.curve.at(np.array([level]))[0]) if math.isfinite(level) else 0.0
        is_open = np.bincount(self.order.place_queries, (a < 1) & (self.alive > 0), minlength=pi.size) > 0
        queries, n = float(pi.sum()), float(pi[is_open].sum())
        if self.is_fitted and variance > 0:
            variance = variance * n / (n - FITTED) if n > FITTED else math.inf
        return variance, n if variance > 0 else math.inf, queries, float((a * self.alive).sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawSpending:
    """A method that draws queries with replacement and judges them whole, those drawn again for nothing.

    Attributes
    ----------
    draws : ReplacementDraws
    sampling_probs : ndarray, shape (n_queries,)
    values : Values
    sizes : ndarray, shape (n_queries,)
        Items to judge of each query.
    """

    draws: ReplacementDraws
    sampling_probs: Floats
    values: Values
    sizes: Floats

    @property
    def is_predicted(self) -> bool:
        """Whether what varies is what a model's predictions leave; here the values themselves vary."""
        return False

    def expect(self, budget: float) -> tuple[float, float, float, float]:
        """Return the variance, how many draws or judged queries chance chose, how many queries and items are judged."""
        if self.draws.is_census(budget):
            return 0.0, math.inf, float(self.sizes.size), float(self.sizes.sum())
        n = self._draws(budget)
        p, q, seen = self.values.query_probs, self.sampling_probs, self._seen(n)
        variance = float((p**2 / q) @ self.values.squares) / n
        variance = variance * n / (n - 1.0) if n > 1.0 else math.inf
        return variance, n, float(seen.sum()), float(seen @ self.sizes)

    def _seen(self, n: float) -> Floats:
        """Return the probability that each query is among n draws."""
        return np.asarray(-np.expm1(n * self._missed))

    @cached_property
    def _missed(self) -> Floats:
        """The logarithm of the probability that one draw is not each query."""
        return np.asarray(np.log1p(-np.minimum(self.sampling_probs, _SURE)))

    def _draws(self, budget: float) -> float:
        """Return how many draws cost the budget on average."""
        lowest, highest = 0.0, float(DRAWS_PER_QUERY * self.draws.size)
        while highest - lowest > _CLOSE * highest:
            n = (lowest + highest) / 2
            lowest, highest = (n, highest) if self._seen(n) @ self.draws.costs <= budget else (lowest, n)
        return lowest


@dataclass(frozen=True, kw_only=True, eq=False)
class Forecast:
    """What to expect of a method on a target, by its budget.

    Attributes
    ----------
    method : str
    way : Way
    values : Values
    cost, least : float
        What judging everything costs, in mean items, and the smallest budget that works.
    scale : Scale
        How many times what the model expects the variance should be.
    lesson : Lesson or None
        What pilots have shown beside.
    rehearsal : Rehearsal or None
        How samples differ; None takes all judged queries that chance chose for alike.
    is_untried : bool
        Whether no label has been held against the model: only pilots tell then how far its word may be taken.
    widest : float
        Of half-widths: half of what lies between the lowest and the highest that the measure can be.
    """

    method: str
    way: SpendingRule
    values: Values
    cost: float
    least: float
    scale: Scale = KNOWN
    lesson: PilotRatios | None = None
    rehearsal: Rehearsal | None = None
    is_untried: bool = False
    widest: float = math.inf

    def works(self, budget: float) -> bool:
        """Whether a budget pays for what may have to be judged at once."""
        return budget >= self.least * (1 - _CLOSE)

    def at(self, budget: float) -> Prospect:
        """Return what to expect at a budget, in mean items; of one that does not work nothing.

        Raises
        ------
        InputError
            Where the budget is no positive number.
        """
        if not budget > 0:
            raise InputError(f"the budget must be a positive number, got {budget!r}")
        return replace(self._alone(budget), curve=self._curve)

    def _alone(self, budget: float) -> Prospect:
        """Plan for a budget, whatever other budgets say."""
        return self.prospect(budget, self.way.expect(budget) if self.works(budget) else (math.inf, 0.0, 0.0, 0.0))

    @cached_property
    def _curve(self) -> Curve:
        knots = () if self.rehearsal is None else tuple(self.rehearsal.budgets.tolist())
        return Curve(self._alone, self.least, self.cost, knots)

    def prospect(self, budget: float, expected: tuple[float, float, float, float]) -> Prospect:
        """Return what to expect where its way says this of a budget."""
        variance, n_open, queries, items = expected
        return Prospect(
            method=self.method,
            budget=budget,
            of_pool=self.taught_scale.value * variance,
            of_scope=self.of_values * self.values.of_population,
            n_open=n_open,
            of_census=self.values.size - 1.0,
            queries=queries,
            items=items,
            spread=self.taught_scale.spread,
            noises=() if self.rehearsal is None else self.rehearsal.near(budget),
            is_guess=self.is_guess,
            widest=self.widest,
        )

    @property
    def is_followed(self) -> bool:
        """Whether depths follow labels: no bound is known of what other probabilities would leave."""
        return isinstance(self.way, AdaptiveSpending)

    @property
    def is_guess(self) -> bool:
        """Whether no label has shown yet how far the model's word may be taken, nor a pilot."""
        return self.is_untried and (self.lesson is None or not self.lesson.of_residuals.tells)

    def least_variance(self, budget: float) -> float:
        """Return the least variance that any probabilities of this method's places leave; infinite where unknown."""
        if not isinstance(self.way, LevelSpending) or not self.way.is_predicted:
            return math.inf
        return self.taught_scale.value * self.way.plan.least(budget)

    def taught(self, lesson: PilotRatios | None) -> Forecast:
        """Return the forecast rescaled by what pilots have shown, where there are any."""
        return replace(self, lesson=lesson)

    @cached_property
    def taught_scale(self) -> Scale:
        """How many times what the model expects the variance should be, once pilots have taught what they can."""
        if self.lesson is None:
            return self.scale
        return self.lesson.of_residuals.taught(self.scale) if self.way.is_predicted else self._scale_of_values

    @property
    def of_values(self) -> float:
        """How many times what the model expects S² turned out to be in pilots; 1 without."""
        return 1.0 if self.lesson is None else self._scale_of_values.value

    @cached_property
    def _scale_of_values(self) -> Scale:
        """What pilots have taught of the factor of S²; that of residuals is what is thought of it before."""
        assert self.lesson is not None
        before = self.lesson.of_residuals.taught(self.scale).value
        return self.lesson.of_values.taught(replace(self.scale, value=before))

    @cached_property
    def all_judged(self) -> Prospect:
        """What to expect once everything is judged."""
        return self.at(self.cost)
