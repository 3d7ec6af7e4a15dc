"""Smallest budget of one sample that reaches a separate half-width for each of several targets, such as segments.

Half-widths become bounds on variances, v_g = h_g² / f_g, for which `activeeval.core.design.least_cost` finds the
weights of the targets. f_g is the ratio of the squared expected half-width to the variance under the grade model. It
contains all other effects: the t quantile, the degrees of freedom of a fit, the model's errors, the variation between
samples, and the effect of minimum probabilities. It hardly depends on the weights: it is computed from the design
with these weights, at the level they are made for, and substituted again, until all targets with a positive weight are
reached. The budget is then the one at which that design reaches every half-width, and at most that of the design that
ignores the goals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from activeeval.core.design import LeastCost, RatePlan, least_cost
from activeeval.core.design.methods import Method
from activeeval.core.planning.forecasts import Forecast, LevelSpending
from activeeval.core.planning.goals import Goal
from activeeval.core.planning.planner import Planner
from activeeval.core.planning.prospects import Prospect
from activeeval.core.types import Floats

_STEPS, _REHEARSALS = 8, 2
"""Largest numbers of substitutions of f_g (stops when bounds settle), and of new rehearsals, which change f_g most."""
_NEAR = 0.002
_LEAST_BOUND = 1e-300
_MOST = 10.0
"""Largest factor by which a bound changes in a step: with few judged queries the expected half-width is infinite."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundedPlan:
    """Plan that reaches a half-width for each of several targets.

    Attributes
    ----------
    method : str
    budget : float
        In mean items (the mean item of the pool costs 1).
    weights : ndarray, shape (n_targets,)
        Weights of all targets of the planner; 0 for a target without a goal, or whose goal the others imply.
    forecasts : tuple of Forecast
        Expected precision by budget, one for each target.
    alike : float
        Budget with which a design that ignores the goals would reach them.
    residual : float
        How far the weights are from the optimum; see `activeeval.core.design.LeastCost`.
    """

    method: str
    budget: float
    weights: Floats
    forecasts: tuple[Forecast, ...]
    alike: float
    residual: float

    def prospect(self, which: int) -> Prospect:
        """Compute the expected precision for a target, given by its index, at the budget."""
        return self.forecasts[which].at(self.budget)


def least_budget(
    planner: Planner,
    method: Method,
    goals: Mapping[int, Goal],
    whole: Sequence[float],
    unreachable: Callable[[int, Forecast], Exception],
) -> BoundedPlan:
    """Find the smallest budget, and its weights, that reach a half-width for each of several targets.

    Parameters
    ----------
    planner : Planner
        Planner of all targets; its weights are ignored.
    method : Method
        A method that judges units (items judged at once) by random levels (without replacement), with a grade model,
        without adaptive depth.
    goals : mapping of int to Goal
        Half-widths by index of the target.
    whole : sequence of float, shape (n_targets,)
        Weights of a design that ignores the goals.
    unreachable : callable
        Builds the error to raise from the index of a target and its forecast, if judging everything does not reach its
        goal.

    Returns
    -------
    BoundedPlan
        The plan with the smallest budget among the weights that were tried, ``whole`` included.
    """
    search = _BoundedSearch(planner=planner, method=method, goals=goals)
    known = search.rehearsed(np.array(whole))
    for which, goal in goals.items():
        if not goal.is_met(known[which].all_judged):
            raise unreachable(which, known[which])
    enough = search.budget(known)
    best, bounds = search.plan(np.array(whole), known, enough), search.first_bounds(known, enough)
    for _ in range(_REHEARSALS):
        least, bounds = search.settled(bounds, known)
        if not least.weights.any():  # every item that the targets need is certain to be judged
            break
        known = search.rehearsed(least.weights)
        best = min(best, search.plan(least.weights, known, enough, least.residual), key=lambda plan: plan.budget)
    return best


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _BoundedSearch:
    """Search for the smallest budget that reaches a half-width for each target: the steps of `least_budget`.

    ``goals`` has the half-width to reach by index of the target.
    """

    planner: Planner
    method: Method
    goals: Mapping[int, Goal]

    def rehearsed(self, weights: Floats) -> tuple[Forecast, ...]:
        """Forecast the design with these weights of the targets, calibrated by simulated samples; one by target."""
        return self.planner.weighing(weights.tolist()).rehearsed(self.method)

    def settled(self, bounds: Floats, known: Sequence[Forecast]) -> tuple[LeastCost, Floats]:
        """Find weights that reach the goals, by moving the bounds on variances until they settle.

        Parameters
        ----------
        bounds : ndarray, shape (n_targets,)
            First bounds on the variances; infinite for a target without a goal.
        known : sequence of Forecast
            Forecasts whose calibration and sampling variation are used for all weights, one for each target.

        Returns
        -------
        least : LeastCost
            The optimum for the last bounds, with the weights.
        bounds : ndarray, shape (n_targets,)
        """
        for _ in range(_STEPS):
            least = least_cost(self.planner.design_input(self.method), bounds)
            if not least.weights.any():
                break
            moves = self.moves(forecasts_like(self.planner, self.method, least.weights, known))
            bounds = np.where(np.isfinite(bounds) & (least.variances > 0), least.variances * moves, bounds)
            if (np.abs(moves - 1.0) < _NEAR)[least.weights > 0].all():
                break
        return least, bounds

    def budget(self, forecasts: Sequence[Forecast]) -> float:
        """Find the smallest budget at which all goals are reached; judging everything if one is out of reach."""
        budgets = [goal.budget(forecasts[which]) for which, goal in self.goals.items()]
        return max(forecasts[0].cost if budget is None else budget for budget in budgets)

    def plan(
        self, weights: Floats, forecasts: tuple[Forecast, ...], alike: float, residual: float = 0.0
    ) -> BoundedPlan:
        """Build the plan for these weights of the targets (n_targets,) and their forecasts.

        ``alike`` is the budget with which a design that ignores the goals would reach them, ``residual`` how far the
        weights are from the optimum.
        """
        return BoundedPlan(
            method=self.method.name,
            budget=self.budget(forecasts),
            weights=weights,
            forecasts=forecasts,
            alike=alike,
            residual=residual,
        )

    def first_bounds(self, forecasts: Sequence[Forecast], budget: float) -> Floats:
        """Compute first bounds on variances, shape (n_targets,), from forecasts of a design that ignores the goals.

        A bound is the variance at the budget, times the factor that just reaches the goal; infinite without a goal.
        """
        bounds = np.full(len(forecasts), math.inf)
        for which, goal in self.goals.items():
            left = plan_of(forecasts[which]).at_budget(budget)
            bounds[which] = max(left, _LEAST_BOUND) * move(goal, forecasts[which].at(budget))
        return bounds

    def moves(self, forecasts: Sequence[Forecast]) -> Floats:
        """Compute the factor by which each target's variance must change to just reach its goal, shape (n_targets,).

        It is computed at the budget for which `least_cost` chose the weights; 1 for a target without a goal.
        """
        order = plan_of(forecasts[0]).order
        # least_cost's probabilities use costs in the pool's unit, the order's rates costs in mean items
        budget = max(order.expected_cost(1.0 / math.sqrt(order.pool.item_costs.mean())), forecasts[0].least)
        moves = np.ones(len(forecasts))
        for which, goal in self.goals.items():
            moves[which] = move(goal, forecasts[which].at(budget))
        return moves


def forecasts_like(
    planner: Planner, method: Method, weights: Floats, known: Sequence[Forecast]
) -> tuple[Forecast, ...]:
    """Forecast the design with these weights (n_targets,), calibrated as the forecasts ``known``, one by target.

    The calibration is ``scale`` (ratio of actual to expected variances) and ``rehearsal`` (simulated samples).
    """
    pairs = zip(planner.weighing(weights.tolist()).forecasts(method), known, strict=True)
    return tuple(replace(forecast, scale=like.scale, rehearsal=like.rehearsal) for forecast, like in pairs)


def plan_of(forecast: Forecast) -> RatePlan:
    """Return the `RatePlan` (variance as a function of inclusion probabilities) of a forecast, which must have one."""
    assert isinstance(forecast.spending, LevelSpending)
    return forecast.spending.plan


def move(goal: Goal, prospect: Prospect) -> float:
    """Compute the factor by which the variance of the pool's estimate must change to just reach a goal.

    Everything else stays equal, in particular the variance that the choice of the pool adds for the population, which
    judgments do not reduce. The factor is limited to the range from 1/10 to 10: 10 if nothing varies, 1/10 if the
    half-width is infinite, as with few judged queries.
    """
    half = prospect.half_width_alone(goal.scope, goal.confidence)
    of_scope = prospect.variance(goal.scope) - prospect.of_pool
    if half == 0 or prospect.of_pool == 0:
        return _MOST
    if not math.isfinite(half):
        return 1.0 / _MOST
    wanted = ((goal.half_width or 0.0) / half) ** 2 * prospect.variance(goal.scope) - of_scope
    return min(max(wanted / prospect.of_pool, 1.0 / _MOST), _MOST)
