"""Plans: what methods should reach for a measure at some budgets, which one to take, and what that means."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from activeeval.design.methods import robust_methods
from activeeval.errors import InputError
from activeeval.measures import SampledMeasure, Target
from activeeval.planning.forecasts import ByLevels, Forecast
from activeeval.planning.goals import Goal
from activeeval.planning.pilots import Lesson
from activeeval.planning.prospects import Prospect
from activeeval.results import Note, Told, t_quantile

_HARDLY = 1.02
_FEW = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRow:
    """What to expect of a method at a budget.

    Attributes
    ----------
    prospect : Prospect
    least_variance : float
        The least variance for the pool that any probabilities of being judged leave at this budget.
    goal : Goal or None
        What the budget should reach.
    """

    prospect: Prospect
    least_variance: float
    goal: Goal | None = None

    def limit(self, confidence: float = 0.95) -> float:
        """Return the half-width of a normal interval with the least variance."""
        return float(t_quantile(confidence, math.inf)) * math.sqrt(self.least_variance)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasurePlan:
    """A measure with the forecasts of methods for it.

    Attributes
    ----------
    target : Target
    forecasts : mapping of str to Forecast
        By method, passive first.
    rows : tuple of PlannedRow
        By method, then by budget.
    goals : tuple of Goal
        What was asked for.
    best : str
        The method to take: of those that a bad model cannot spoil the one that needs, or errs, least.
    lesson : Lesson or None
        What pilots have taught.
    systems : tuple of str
        Of several the one that is asked of, and the one it is compared with; else empty.
    """

    target: Target
    forecasts: Mapping[str, Forecast]
    rows: tuple[PlannedRow, ...]
    goals: tuple[Goal, ...]
    best: str
    lesson: Lesson | None = None
    systems: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.target.name}, {' - '.join(self.systems)}" if self.systems else self.target.name

    @property
    def chosen(self) -> tuple[PlannedRow, ...]:
        """The rows of the method to take at the goals' budgets, or at the largest one."""
        rows = self.rows_of({self.best})
        return tuple(row for row in rows if row.goal is not None) or (rows[-1],)

    def rows_of(self, methods: Collection[str]) -> tuple[PlannedRow, ...]:
        """Return the rows of some methods."""
        return tuple(row for row in self.rows if row.prospect.method in methods)

    def passive_budget(self, row: PlannedRow, confidence: float) -> float | None:
        """Return what passive should need for the pool's half-width of a row; None where that is everything."""
        passive, wanted = self.forecasts["passive"], row.prospect.half_width("pool", confidence)
        if wanted == 0 or not math.isfinite(wanted):
            return None
        needed = Goal(half_width=wanted, confidence=confidence).budget(passive)
        return None if needed is None or needed >= passive.cost else needed

    def power(self, prospect: Prospect) -> tuple[float, float, float] | None:
        """Return the power for the difference that is to be detected and its range; None where there is no such one."""
        for goal in self.goals:
            if goal.difference is not None:
                asked = (goal.difference, goal.scope, goal.confidence)
                return prospect.power(*asked), *prospect.powers(*asked)
        return None

    def notes(self, confidence: float = 0.95, seconds: float | None = None) -> list[Note]:
        """Return what the rows mean: what to do, what limits it, what the queries themselves leave.

        Parameters
        ----------
        seconds : float, optional
            What judging a mean item takes.
        """
        taught = [] if self.lesson is None else [_taught(self.lesson, self.forecasts[self.best])]
        advice = [self._advice(row, confidence, seconds) for row in self.chosen]
        return [*taught, *advice, self._limits(self.chosen[0], confidence), self._floor(confidence)]

    def _advice(self, row: PlannedRow, confidence: float, seconds: float | None) -> Note:
        prospect, forecast = row.prospect, self.forecasts[self.best]
        numbers: dict[str, Told] = {
            "budget": math.ceil(prospect.budget - 1e-6),
            "unit": self.target.pool.cost_unit,
            "everything": int(prospect.budget >= forecast.cost * (1 - 1e-9)),
            "hours": None if seconds is None else prospect.budget * seconds / 3600,
            "method": self.best,
            "n_items": prospect.items,
            "n_queries": prospect.queries,
        }
        if not math.isfinite(prospect.half_width("pool", confidence)):
            return Note("no interval to expect", numbers)
        numbers["low"], numbers["high"] = prospect.half_widths("pool", confidence)
        numbers["goal"] = None if row.goal is None else str(row.goal)
        numbers["least"], numbers["most"] = (None, None) if row.goal is None else row.goal.budgets(forecast)
        numbers["few"] = min(_FEW, self.target.pool.n_queries)
        passive = self.passive_budget(row, confidence)
        numbers["passive"], numbers["times"] = passive, None if passive is None else passive / prospect.budget
        return Note("budget to take", numbers)

    def _limits(self, row: PlannedRow, confidence: float) -> Note:
        forecast, budget = self.forecasts[self.best], row.prospect.budget
        numbers: dict[str, Told] = {
            "budget": math.ceil(budget - 1e-6),
            "limit": row.limit(confidence),
            "explained": forecast.values.explained,
            "between": None,
            "free": None,
        }
        way = forecast.way
        if isinstance(way, ByLevels) and row.prospect.of_pool > 0:
            numbers["between"] = way.plan.between(budget)
            if self.target.pool.query_costs.any():
                free = forecast.taught_scale.value * way.plan.without_overhead().least(budget)
                numbers["free"] = replace(row, least_variance=free).limit(confidence)
        return Note("limits", numbers)

    def _floor(self, confidence: float) -> Note:
        floor = self.forecasts[self.best].all_judged.half_width("population", confidence)
        return Note("population floor", {"half_width": floor}) if math.isfinite(floor) else Note("population unknown")


def _taught(lesson: Lesson, forecast: Forecast) -> Note:
    """Return what pilots have taught."""
    ratio = lesson.of_residuals
    low, high = ratio.bounds
    numbers: dict[str, Told] = {
        "ratio": ratio.value,
        "low": low,
        "high": high,
        "factor": math.sqrt(forecast.taught_scale.value / forecast.scale.value),
        "may_be_chance": int(ratio.may_be_chance),
    }
    return Note("pilots", numbers)


def plan_of(
    target: Target,
    forecasts: Mapping[str, Forecast],
    budgets: Mapping[str, Sequence[float]],
    needed: Mapping[Goal, Mapping[str, float | None]],
    default: str,
    *,
    goals: Sequence[Goal] = (),
    lesson: Lesson | None = None,
    systems: tuple[str, ...] = (),
) -> MeasurePlan:
    """Return the plan of a measure.

    Parameters
    ----------
    forecasts : mapping of str to Forecast
        By method, passive first.
    budgets : mapping of str to sequence of float
        Where each method is shown, in mean items.
    needed : mapping of Goal to mapping of str to float or None
        What reaches each goal, by method, where that is to be shown too.
    default : str
        The method to take where another is hardly better.
    goals, lesson, systems
        As in `MeasurePlan`.
    """
    rows = []
    for name, forecast in forecasts.items():
        amounts = [(amount, None) for amount in set(budgets[name])]
        wanted = [(amount, goal) for goal, budget_of in needed.items() if (amount := budget_of[name]) is not None]
        for amount, goal in sorted([*amounts, *wanted], key=lambda pair: pair[0]):
            prospect = forecast.at(amount)
            least = min(prospect.of_pool, *(rival.least_variance(amount) for rival in forecasts.values()))
            rows.append(PlannedRow(prospect=prospect, least_variance=least, goal=goal))
    return MeasurePlan(
        target=target,
        forecasts=forecasts,
        rows=tuple(rows),
        goals=tuple(goals),
        best=_best(rows, target.measure, default),
        lesson=lesson,
        systems=systems,
    )


def needed_for(goal: Goal, forecasts: Sequence[Mapping[str, Forecast]], default: str) -> dict[str, float | None]:
    """Return the budget of each method at which all of several questions reach a goal; None where none does.

    Raises
    ------
    InputError
        Where no method gets there.
    """
    needed: dict[str, float | None] = {}
    for name in forecasts[0]:
        budgets = [goal.budget(forecast_of[name]) for forecast_of in forecasts]
        needed[name] = None if None in budgets else max(budget for budget in budgets if budget is not None)
    if all(budget is None for budget in needed.values()):
        lost = next(forecast_of[default] for forecast_of in forecasts if goal.budget(forecast_of[default]) is None)
        raise InputError(_out_of_reach(goal, lost))
    return needed


def _best(rows: Sequence[PlannedRow], measure: SampledMeasure, default: str) -> str:
    """Return the method that needs least for the first goal, or errs least at the largest budget.

    The default where it is hardly worse.
    """
    robust = robust_methods(measure)
    candidates = [row for row in rows if row.prospect.method in robust]
    first = next((row.goal for row in candidates if row.goal is not None), None)
    if first is not None:
        merit = {row.prospect.method: row.prospect.budget for row in candidates if row.goal == first}
    else:
        last = max(row.prospect.budget for row in candidates)
        merit = {row.prospect.method: row.prospect.half_width() for row in candidates if row.prospect.budget == last}
    return min(merit, key=lambda name: (merit[name] * (1.0 if name == default else _HARDLY), name))


def _out_of_reach(goal: Goal, forecast: Forecast) -> str:
    text = f"no budget in this pool reaches {goal}: {goal.reachable(forecast)}"
    if goal.scope == "population":
        text += f"; about {goal.queries_needed(forecast):,.0f} queries like these, all of them judged, should reach it"
    return text
