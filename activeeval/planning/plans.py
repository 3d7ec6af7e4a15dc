"""Plans: what methods should reach for a measure at some budgets, which one to take, and what that means in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from activeeval.errors import InputError
from activeeval.measures import Target
from activeeval.methods import METHODS
from activeeval.planning.forecasts import ByLevels, Forecast, Prospect
from activeeval.planning.goals import Goal
from activeeval.planning.pilots import Lesson
from activeeval.results import t_quantile


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRow:
    """What to expect of a method at a budget.

    Attributes
    ----------
    prospect : Prospect
    least_variance : float
        The least variance for the pool that any probabilities of being judged leave at this budget.
    is_goal : bool
        Whether the budget is the one that should reach the goal.
    """

    prospect: Prospect
    least_variance: float
    is_goal: bool = False

    def limit(self, level: float = 0.95) -> float:
        """Return the half-width of a normal interval with the least variance."""
        return float(t_quantile(level, math.inf)) * math.sqrt(self.least_variance)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasurePlan:
    """A measure with the forecasts of methods for it.

    Attributes
    ----------
    target : Target
    forecasts : mapping of str to Forecast
        By method, passive first.
    rows : tuple of PlannedRow
    needed : mapping of str to float or None
        The budget that should reach the goal, by method; empty without a goal.
    best : str
        The method to take: of those that a bad model cannot spoil the one that needs, or errs, least.
    lesson : Lesson or None
        What pilots have taught.
    """

    target: Target
    forecasts: Mapping[str, Forecast]
    rows: tuple[PlannedRow, ...]
    needed: Mapping[str, float | None]
    best: str
    lesson: Lesson | None = None

    @property
    def chosen(self) -> PlannedRow:
        """The row of the method to take at the goal's budget, or at the largest one."""
        own = [row for row in self.rows if row.prospect.method == self.best]
        return next((row for row in own if row.is_goal), own[-1])

    def passive_budget(self, level: float) -> float | None:
        """Return what passive should need for the pool's half-width of `chosen`; None where that is everything."""
        passive, wanted = self.forecasts["passive"], self.chosen.prospect.half_width("pool", level)
        if wanted == 0 or not math.isfinite(wanted):
            return None
        needed = Goal(half_width=wanted, level=level).budget(passive)
        return None if needed is None or needed >= passive.cost else needed

    def notes(self, goal: Goal | None, level: float = 0.95, seconds: float | None = None) -> list[str]:
        """Return what the rows mean, a line each: what to do, what limits it, what the queries themselves leave."""
        taught = [] if self.lesson is None else [_taught(self.lesson)]
        return [*taught, self._advice(goal, level, seconds), self._limits(level), self._floor(level)]

    def _advice(self, goal: Goal | None, level: float, seconds: float | None) -> str:
        row, unit = self.chosen, self.target.pool.cost_unit
        one, cost = row.prospect, self.forecasts[self.best].cost
        whole = ", all there are," if one.budget >= cost * (1 - 1e-9) else ""
        hours = "" if seconds is None else f" ({one.budget * seconds / 3600:.3g} hours)"
        amount = f"{math.ceil(one.budget - 1e-6):,} {unit}{whole}{hours}"
        taken = f"about {one.items:,.0f} items of {one.queries:,.0f} queries"
        first = (
            f"{goal} takes {amount} by {self.best}: {taken}"
            if row.is_goal
            else (f"{amount} by {self.best} give ± {one.half_width('pool', level):.3g}: {taken}")
        )
        passive = self.passive_budget(level)
        if passive is None:
            return f"{first}; random queries judged whole are not as precise before all are judged"
        return f"{first}; random queries judged whole would need {passive:,.0f}, {passive / one.budget:.1f} times that"

    def _limits(self, level: float) -> str:
        row, forecast = self.chosen, self.forecasts[self.best]
        text = f"at that cost no choice of items comes below ± {row.limit(level):.3g} with this grade model"
        way = forecast.way
        if isinstance(way, ByLevels) and row.prospect.of_pool > 0:
            between = way.plan.between(row.prospect.budget)
            text += f"; {between:.0%} of the variance is which queries are judged, the rest which items of them"
            if self.target.pool.query_costs.any():
                free = forecast.of_residuals * way.plan.without_overhead().least(row.prospect.budget)
                text += f"; were turning to a query free, below ± {replace(row, least_variance=free).limit(level):.3g}"
        return f"{text}; the model knows {forecast.values.explained:.0%} of how queries differ beforehand"

    def _floor(self, level: float) -> str:
        floor = self.forecasts[self.best].all_judged.half_width("population", level)
        return f"for all queries that these are a sample of, ± {floor:.3g} remains however much is judged of these"


def _taught(lesson: Lesson) -> str:
    """Return what pilots have taught, in words."""
    low, high = lesson.bounds
    bounds = f"(95 %: {low:.2g} to {high:.2g})"
    text = (
        f"the pilot's values vary {lesson.of_residuals:.2g} times as much around what the grade model predicts as it "
    )
    text += f"expects {bounds}: half-widths are multiplied by {math.sqrt(lesson.scales[0]):.2g}"
    if not lesson.is_miscalibrated:
        return text
    what = "too sure of itself" if lesson.of_residuals > 1 else "less sure of itself than it could be"
    return f"{text}; the grade model is miscalibrated, {what}"


def plan_of(
    target: Target,
    forecasts: Mapping[str, Forecast],
    budgets: Mapping[str, Sequence[float]],
    goal: Goal | None,
    default: str,
    lesson: Lesson | None = None,
) -> MeasurePlan:
    """Return the plan of a measure.

    Parameters
    ----------
    forecasts : mapping of str to Forecast
        By method, passive first.
    budgets : mapping of str to sequence of float
        Where each method is shown, in mean items.
    goal : Goal, optional
    default : str
        The method to take where another is hardly better.

    Raises
    ------
    InputError
        Where no budget in the pool reaches the goal.
    """
    needed = {} if goal is None else {name: goal.budget(forecast) for name, forecast in forecasts.items()}
    if goal is not None and all(one is None for one in needed.values()):
        raise InputError(_out_of_reach(goal, forecasts[default]))
    rows = []
    for name, forecast in forecasts.items():
        wanted = needed.get(name)
        for amount in sorted({*budgets[name], *([] if wanted is None else [wanted])}):
            prospect = forecast.at(amount)
            least = min(prospect.of_pool, *(one.least_variance(amount) for one in forecasts.values()))
            rows.append(PlannedRow(prospect=prospect, least_variance=least, is_goal=amount == wanted))
    best = _best(rows, needed, default)
    return MeasurePlan(target=target, forecasts=forecasts, rows=tuple(rows), needed=needed, best=best, lesson=lesson)


def _best(rows: Sequence[PlannedRow], needed: Mapping[str, float | None], default: str) -> str:
    """Return the method that needs least for the goal, or errs least at the largest budget; the default where alike."""
    robust = [name for name, method in METHODS.items() if method.is_fitted and not method.with_replacement]
    shown = [row.prospect for row in rows if row.prospect.method in robust]
    if needed:
        found = {name: budget for name, budget in needed.items() if name in robust and budget is not None}
    else:
        last = max(prospect.budget for prospect in shown)
        found = {prospect.method: prospect.half_width() for prospect in shown if prospect.budget == last}
    return min(found, key=lambda name: (found[name] * (1.0 if name == default else 1.02), name))


def _out_of_reach(goal: Goal, forecast: Forecast) -> str:
    text = f"no budget in this pool reaches {goal}: {goal.reachable(forecast)}"
    if goal.scope == "population":
        text += f"; about {goal.queries_needed(forecast):,.0f} queries like these, all of them judged, should reach it"
    return text
