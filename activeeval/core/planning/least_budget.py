"""The least budget of one sample that reaches a half-width of its own for each of several targets, as of segments.

Half-widths become bounds on variances, v_g = h_g² / f_g, for which `activeeval.core.design.least_cost` finds the
weights of the targets. f_g, the square of the half-width to expect over the variance under the grade model, holds all
that a plan allows for beside: the t quantile, what a fit costs, by how much the model errs, how samples differ, and
what least probabilities give away. It hardly depends on the weights: it is read off the design that they make, at the
level that they are made for, and put in again, until all that costs something is reached. Whatever comes out, the
budget is then the one at which that design reaches every half-width, and never more than that of the design for all
queries alike.
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
"""Of putting f_g in again, as long as bounds move, and of rehearsing the design anew, by which f_g moves most."""
_NEAR = 0.002
_LEAST_BOUND = 1e-300
_MOST = 10.0
"""How much a bound may move in a step: where few queries are judged no half-width is to be expected at all."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundedPlan:
    """What reaches a half-width for each of several targets.

    Attributes
    ----------
    method : str
    budget : float
        In mean items.
    weights : ndarray, shape (n_targets,)
        Of all targets of the planner; 0 where others imply the half-width, or none is asked for.
    forecasts : tuple of Forecast
        For all targets.
    alike : float
        The budget that a design which knows of no goals takes to reach them.
    residual : float
        Of `activeeval.core.design.LeastCost`.
    """

    method: str
    budget: float
    weights: Floats
    forecasts: tuple[Forecast, ...]
    alike: float
    residual: float

    def prospect(self, which: int) -> Prospect:
        """Return what to expect of a target."""
        return self.forecasts[which].at(self.budget)


def least_budget(
    planner: Planner,
    method: Method,
    goals: Mapping[int, Goal],
    whole: Sequence[float],
    unreachable: Callable[[int, Forecast], Exception],
) -> BoundedPlan:
    """Return the least budget that reaches a half-width for each of several targets, and by which weights.

    Parameters
    ----------
    planner : Planner
        Of all targets, its weights put aside.
    method : Method
        By levels, with a grade model; its depths follow no labels.
    goals : mapping of int to Goal
        Half-widths, by the number of the target.
    whole : sequence of float, shape (n_targets,)
        Weights of a design that knows of no goals.
    unreachable : callable
        Makes the error of the number of a target and its forecast, where judging everything does not reach its goal.
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
        if not least.weights.any():  # nothing that is asked about is left to chance
            break
        known = search.rehearsed(least.weights)
        best = min(best, search.plan(least.weights, known, enough, least.residual), key=lambda plan: plan.budget)
    return best


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _BoundedSearch:
    """What is planned for, and by which method."""

    planner: Planner
    method: Method
    goals: Mapping[int, Goal]

    def rehearsed(self, weights: Floats) -> tuple[Forecast, ...]:
        """Return what to expect of the design that weights make, for each target, once it has been rehearsed."""
        return self.planner.weighing(weights.tolist()).rehearsed(self.method)

    def settled(self, bounds: Floats, known: Sequence[Forecast]) -> tuple[LeastCost, Floats]:
        """Return the weights that reach the goals if samples differ as ``known`` ones do, and the bounds for them."""
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
        """Return the budget at which all goals are reached."""
        budgets = [goal.budget(forecasts[which]) for which, goal in self.goals.items()]
        return max(forecasts[0].cost if budget is None else budget for budget in budgets)

    def plan(
        self, weights: Floats, forecasts: tuple[Forecast, ...], alike: float, residual: float = 0.0
    ) -> BoundedPlan:
        """Return the plan of weights."""
        return BoundedPlan(
            method=self.method.name,
            budget=self.budget(forecasts),
            weights=weights,
            forecasts=forecasts,
            alike=alike,
            residual=residual,
        )

    def first_bounds(self, forecasts: Sequence[Forecast], budget: float) -> Floats:
        """Return bounds on variances by what a design that knows of no goals has to expect at a budget."""
        bounds = np.full(len(forecasts), math.inf)
        for which, goal in self.goals.items():
            left = plan_of(forecasts[which]).at_budget(budget)
            bounds[which] = max(left, _LEAST_BOUND) * move(goal, forecasts[which].at(budget))
        return bounds

    def moves(self, forecasts: Sequence[Forecast]) -> Floats:
        """Return how many times its variance, at the level that weights are made for, would just reach each goal."""
        order = plan_of(forecasts[0]).order
        at = max(order.expected_cost(1.0 / math.sqrt(order.pool.item_costs.mean())), forecasts[0].least)
        moves = np.ones(len(forecasts))
        for which, goal in self.goals.items():
            moves[which] = move(goal, forecasts[which].at(at))
        return moves


def forecasts_like(
    planner: Planner, method: Method, weights: Floats, known: Sequence[Forecast]
) -> tuple[Forecast, ...]:
    """Return what to expect of the design that weights make, where its samples differ as the known ones do."""
    made = zip(planner.weighing(weights.tolist()).forecasts(method), known, strict=True)
    return tuple(replace(each, scale=like.scale, rehearsal=like.rehearsal) for each, like in made)


def plan_of(forecast: Forecast) -> RatePlan:
    """Return the plan of a method by levels."""
    assert isinstance(forecast.way, LevelSpending)
    return forecast.way.plan


def move(goal: Goal, prospect: Prospect) -> float:
    """Return how many times its variance for the pool would just reach a goal, but for what that changes beside."""
    half = prospect.half_width_alone(goal.scope, goal.confidence)
    of_scope = prospect.variance(goal.scope) - prospect.of_pool
    if half == 0 or prospect.of_pool == 0:
        return _MOST
    if not math.isfinite(half):
        return 1.0 / _MOST
    wanted = ((goal.half_width or 0.0) / half) ** 2 * prospect.variance(goal.scope) - of_scope
    return min(max(wanted / prospect.of_pool, 1.0 / _MOST), _MOST)
