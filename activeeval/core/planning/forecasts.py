"""Forecasts of a method's variance, and of the number of judged queries and items, at a budget.

The variance is computed from the method's inclusion probabilities under the grade model: for methods by level Σ p² [V_0
(1/ρ − 1) + Σ V_i (1/a_i − 1)] (`activeeval.core.design.RatePlan`), for n draws with replacement (1/n) Σ p²/q E[(L −
R_θ)² | x], with L the value of a query x, R_θ the performance that the model expects, and p, q the probabilities of the
query and of drawing it. Both are increased by the degrees of freedom of a fit, as in the estimators. Budgets and costs
are in mean items: the mean item of the pool costs 1.
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
"""Share of the total variance below which the variance is rounding error, as all items are certain to be judged."""


class SpendingRule(Protocol):
    """Interface that computes what a method judges with a budget, and how precise the estimate is then."""

    @property
    def is_predicted(self) -> bool:
        """True if the varying quantity is the residual of a model's predictions, else the values themselves."""

    def expect(self, budget: float) -> tuple[float, float, float, float]:
        """Compute the variance and the expected amounts of judging at a budget in mean items (the mean item costs 1).

        Returns the variance of the estimate, the number of queries judged by chance (not with certainty) or of draws,
        which is infinite if the variance is 0, and the numbers of distinct judged queries and items.
        """


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LevelSpending:
    """What a method judges with a budget if it judges units by ascending random level.

    Attributes
    ----------
    plan : RatePlan
        Variance as a function of inclusion probabilities.
    is_fitted : bool
        True if the estimator fits coefficients, which cost degrees of freedom.
    is_predicted : bool
        See `SpendingRule.is_predicted`.
    curve : PlannedVariance or None
        The variance by level, if the design provides it; `plan` then only gives what is judged.
    within : ndarray of bool, shape (n_queries,), or None
        The queries of the target: numbers of judged queries and items count these only. None: all.
    """

    plan: RatePlan
    is_fitted: bool
    is_predicted: bool = True
    curve: PlannedVariance | None = None
    within: Bools | None = None

    @property
    def _all(self) -> float:
        """Sum of all variance terms (of queries and their items), the scale against which rounding is judged."""
        if self.curve is not None:
            return float(np.abs(self.curve.whole).sum())
        return float(np.abs(self.plan.of_query).sum() + np.abs(self.plan.of_open).sum())

    def expect(self, budget: float) -> tuple[float, float, float, float]:
        """Compute the variance of the estimate and the expected amounts of judging at a budget in mean items.

        The amounts are the numbers of queries judged by chance (infinite if the variance is 0), queries and items. The
        mean item costs 1. The variance is that of `curve` (by sampling level) if the design has one, else of the plan.
        """
        chances, judged = self.plan.chances(budget)
        if self.curve is None:
            return self.of_chances(chances, judged)
        variance = float(self.curve.at(np.array([self.plan.order.level_for(budget)]))[0])
        return self.of_chances(chances, judged, variance)

    def of_chances(
        self, chances: Floats, judged: Floats, planned: float | None = None
    ) -> tuple[float, float, float, float]:
        """Compute the variance of the estimate and the expected amounts of judging from inclusion probabilities.

        The amounts are the numbers of queries judged by chance (infinite if the variance is 0), queries and items.
        The queries and items count in the target's queries only (`within`). A fit of `FITTED` coefficients increases
        the variance by n / (n − `FITTED`), for n queries judged by chance.

        Parameters
        ----------
        chances : ndarray, shape (n_queries,)
            Probability of opening each query (judging any of its items).
        judged : ndarray, shape (n_wanted,)
            Probability of judging each wanted place (an item whose unknown label can change the value).
        planned : float, optional
            The variance at these probabilities, if known more exactly than from the plan.
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
    """What a method judges with a budget if the labels of a query decide how deep it is judged (adaptive depth).

    Attributes
    ----------
    order : Order
        The order averaged over labels simulated from the model.
    alive : ndarray, shape (n_places,)
        Probability, over the simulated labels, that a place may be judged at all.
    curve : PlannedVariance
        The variance by sampling level.
    is_fitted : bool
        True if the estimator fits coefficients, which cost degrees of freedom.
    """

    order: Order
    alive: Floats
    curve: PlannedVariance
    is_fitted: bool

    @property
    def is_predicted(self) -> bool:
        """True: the varying quantity is the residual of the model's predictions."""
        return True

    def expect(self, budget: float) -> tuple[float, float, float, float]:
        """Compute the variance of the estimate and the expected amounts of judging at a budget in mean items.

        The amounts are the numbers of queries judged by chance (infinite if the variance is 0), queries and items. The
        mean item costs 1. ``pi`` and ``a`` are the probabilities of opening each query and of drawing each place (item
        in judging order), which is then judged with probability `alive`, as simulated labels decide.
        """
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
    """What a method judges with a budget if it draws queries with replacement and judges them whole.

    Attributes
    ----------
    draws : ReplacementDraws
        The queries with their costs; a repeated draw costs nothing.
    sampling_probs : ndarray, shape (n_queries,)
        Probability q of each query in one draw.
    values : Values
        Moments of the query values under the grade model.
    sizes : ndarray, shape (n_queries,)
        Number of items to judge of each query.
    """

    draws: ReplacementDraws
    sampling_probs: Floats
    values: Values
    sizes: Floats

    @property
    def is_predicted(self) -> bool:
        """False: the values themselves vary, not residuals of predictions."""
        return False

    def expect(self, budget: float) -> tuple[float, float, float, float]:
        """Compute the variance, the number of draws, and the expected numbers of distinct queries and items.

        The budget is in mean items. If it pays for every query, the variance is 0 and the number of draws infinite.
        Otherwise n draws have the variance Σ p²/q E[(L − R)²] / (n − 1), with L the value of a query, R the mean value
        that the model expects, and p, q the probabilities of the query and of drawing it.
        """
        if self.draws.is_census(budget):
            return 0.0, math.inf, float(self.sizes.size), float(self.sizes.sum())
        n = self._draws(budget)
        p, q, seen = self.values.query_probs, self.sampling_probs, self._seen(n)
        variance = float((p**2 / q) @ self.values.squares) / n
        variance = variance * n / (n - 1.0) if n > 1.0 else math.inf
        return variance, n, float(seen.sum()), float(seen @ self.sizes)

    def _seen(self, n: float) -> Floats:
        """Compute the probability that each query is among n draws, shape (n_queries,)."""
        return np.asarray(-np.expm1(n * self._missed))

    @cached_property
    def _missed(self) -> Floats:
        """Log of the probability that one draw is not the query, shape (n_queries,); capped, as log 0 is not finite."""
        return np.asarray(np.log1p(-np.minimum(self.sampling_probs, _SURE)))

    def _draws(self, budget: float) -> float:
        """Find the number of draws, not rounded, whose expected cost is the budget; a repeated draw costs nothing."""
        lowest, highest = 0.0, float(DRAWS_PER_QUERY * self.draws.size)
        while highest - lowest > _CLOSE * highest:
            n = (lowest + highest) / 2
            lowest, highest = (n, highest) if self._seen(n) @ self.draws.costs <= budget else (lowest, n)
        return lowest


@dataclass(frozen=True, kw_only=True, eq=False)
class Forecast:
    """Forecast of a method's precision on a target, as a function of the budget.

    Attributes
    ----------
    method : str
    spending : SpendingRule
        What the method judges with a budget.
    values : Values
        Moments of the query values under the grade model.
    cost, least : float
        Cost of judging everything, and the smallest valid budget, in mean items.
    scale : Scale
        Ratio of the actual variance to the variance that the model expects, with its uncertainty.
    lesson : PilotRatios or None
        The same ratio as observed in pilots (judged samples).
    rehearsal : Rehearsal or None
        Variation between simulated samples; None assumes a χ² variation.
    is_untried : bool
        True if the model was not checked against any label, so that only pilots can calibrate it.
    widest : float
        Upper bound of half-widths: half the range of the measure.
    """

    method: str
    spending: SpendingRule
    values: Values
    cost: float
    least: float
    scale: Scale = KNOWN
    lesson: PilotRatios | None = None
    rehearsal: Rehearsal | None = None
    is_untried: bool = False
    widest: float = math.inf

    def works(self, budget: float) -> bool:
        """Check whether a budget pays for the largest amount that may have to be judged at once."""
        return budget >= self.least * (1 - _CLOSE)

    def at(self, budget: float) -> Prospect:
        """Compute the expected precision at a budget in mean items; an infinite variance if the budget is too small.

        The mean item costs 1.

        Raises
        ------
        InputError
            If the budget is not a positive number.
        """
        if not budget > 0:
            raise InputError(f"the budget must be a positive number, got {budget!r}")
        return replace(self._alone(budget), curve=self._curve)

    def _alone(self, budget: float) -> Prospect:
        """Compute the expected precision at a budget, without regard to others; an infinite variance if too small."""
        return self.prospect(budget, self.spending.expect(budget) if self.works(budget) else (math.inf, 0.0, 0.0, 0.0))

    @cached_property
    def _curve(self) -> Curve:
        """Half-widths as a non-increasing function of the budget."""
        knots = () if self.rehearsal is None else tuple(self.rehearsal.budgets.tolist())
        return Curve(self._alone, self.least, self.cost, knots)

    def prospect(self, budget: float, expected: tuple[float, float, float, float]) -> Prospect:
        """Build the expected precision at a budget in mean items from ``expected``.

        These are variance, and numbers of queries judged by chance, queries and items (`SpendingRule.expect`). The
        variance is multiplied by the ratio of actual to expected variances (`taught_scale`). The choice of the pool
        adds the variance `of_scope` for the population, with `of_census` degrees of freedom.
        """
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
        """True with adaptive depth: the least variance over all inclusion probabilities is then unknown."""
        return isinstance(self.spending, AdaptiveSpending)

    @property
    def is_guess(self) -> bool:
        """True if the model was checked neither against labels nor by a pilot (judged sample)."""
        return self.is_untried and (self.lesson is None or not self.lesson.of_residuals.tells)

    def least_variance(self, budget: float) -> float:
        """Compute the least variance that any inclusion probabilities could reach at a budget in mean items.

        The bound is the expected one of the grade model times `taught_scale`, the ratio of actual to expected variance.
        It is known only for designs with a level per item whose variance the model predicts; else it is infinite, so
        that a minimum of several bounds ignores it.
        """
        if not isinstance(self.spending, LevelSpending) or not self.spending.is_predicted:
            return math.inf
        return self.taught_scale.value * self.spending.plan.least(budget)

    def taught(self, lesson: PilotRatios | None) -> Forecast:
        """Return the forecast with the variance ratios observed in pilots (judged samples); None without pilots."""
        return replace(self, lesson=lesson)

    @cached_property
    def taught_scale(self) -> Scale:
        """Ratio of the actual to the expected variance, with its uncertainty, updated by pilots (judged samples).

        It is that of the residuals of predictions, or of the values if the method does not use predictions.
        """
        if self.lesson is None:
            return self.scale
        return self.lesson.of_residuals.taught(self.scale) if self.spending.is_predicted else self._scale_of_values

    @property
    def of_values(self) -> float:
        """Ratio of S² (variance of values between queries) in pilots to the model's expectation; 1 without pilots."""
        return 1.0 if self.lesson is None else self._scale_of_values.value

    @cached_property
    def _scale_of_values(self) -> Scale:
        """Ratio of the actual variance between queries to the expected one, updated by pilots (judged samples).

        The ratio of the residuals' variances, which the pilots update first, is the best guess before the update.
        """
        assert self.lesson is not None
        before = self.lesson.of_residuals.taught(self.scale).value
        return self.lesson.of_values.taught(replace(self.scale, value=before))

    @cached_property
    def all_judged(self) -> Prospect:
        """Expected precision if everything is judged."""
        return self.at(self.cost)
