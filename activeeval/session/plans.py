"""Plans: what a budget should reach for a measure, and what a goal should take, before any label is looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from activeeval.errors import BudgetError, InputError
from activeeval.measures import Target
from activeeval.methods import METHODS, default_method, find_method
from activeeval.planning import MOST_ITEMS, ByLevels, Forecast, Goal, Lesson, Planner, Prospect, evenness
from activeeval.results import t_quantile
from activeeval.session.budgets import Budget, check_open, whole_cost
from activeeval.session.cases import Case
from activeeval.session.samples import Sample

CURVE = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Shares of judging everything at which methods are shown where no budget is asked for."""
_REFERENCE = 0.1


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
    text = (
        f"in the pilot values vary {lesson.of_residuals:.2g} times as much around the grade model's predictions as it "
    )
    text += (
        f"expects (95 %: {low:.2g} to {high:.2g}): its half-widths are multiplied by {math.sqrt(lesson.scales[0]):.2g}"
    )
    if not lesson.is_miscalibrated:
        return text
    what = "too sure of itself" if lesson.of_residuals > 1 else "less sure of itself than it could be"
    return f"{text}; the grade model is miscalibrated, {what}"


def plan_measure(
    case: Case,
    measure: str,
    methods: Sequence[str],
    budgets: Sequence[Budget],
    goal: Goal | None,
    *,
    pilots: Sequence[Sample] = (),
    defensive_share: float | None = None,
) -> MeasurePlan:
    """Return what methods should reach for a measure; no label of the pool is looked at.

    Parameters
    ----------
    methods : sequence of str
        Beside passive and the default one.
    budgets : sequence of Budget
        Where methods are shown; none: shares of judging everything, as far as they work.
    goal : Goal, optional
        What to reach.
    pilots : sequence of Sample
        Judged samples of this pool, by whose residuals what is expected is rescaled.

    Raises
    ------
    InputError
        Where no label can change the target, no budget in the pool reaches the goal, or a pilot is of another pool or
        does not reach the target.
    BudgetError
        Where a budget is too small for a method.
    """
    target = case.target(measure)
    check_open(target)
    n_grades = case.n_grades(target)
    planner = Planner(
        targets=[target],
        believed=lambda method: case.beliefs.for_method(method, n_grades),
        max_grade=n_grades - 1,
        known=case.known,
        defensive_share=defensive_share,
    )
    default = default_method(target.measure).name
    lesson = _lesson(planner, pilots)
    scales = (1.0, 1.0) if lesson is None else lesson.scales
    forecasts: dict[str, Forecast] = {}
    needed: dict[str, float | None] = {}
    for name in dict.fromkeys(("passive", default, *methods)):
        scaled = replace(planner.forecasts(find_method(name))[0], of_residuals=scales[0], of_values=scales[1])
        expected = _Rehearsed(case, planner, scaled, defensive_share)
        shown = sorted(budget.of(target, known=case.known) for budget in budgets)
        forecasts[name] = expected.at(shown[-1] if shown else _REFERENCE * whole_cost(target, known=case.known))
        if goal is not None:
            needed[name] = goal.budget(forecasts[name])
            if (first := needed[name]) is not None:  # at that budget the judged queries may be less even
                forecasts[name] = expected.at(first)
                needed[name] = goal.budget(forecasts[name])
    if goal is not None and all(one is None for one in needed.values()):
        raise InputError(_out_of_reach(goal, forecasts[default]))
    rows = _rows(case, target, forecasts, budgets, needed)
    best = _best(rows, needed, default)
    return MeasurePlan(target=target, forecasts=forecasts, rows=rows, needed=needed, best=best, lesson=lesson)


def _lesson(planner: Planner, pilots: Sequence[Sample]) -> Lesson | None:
    """Return what pilots teach together, None where there is none."""
    pool, lessons = planner.targets[0].pool, []
    for pilot in pilots:
        campaign = pilot.campaign
        if not campaign.design.pool.holds_the_same(pool):
            own = f"{campaign.design.pool.n_queries} queries, {campaign.design.pool.n_items} items"
            here = f"{pool.n_queries} queries, {pool.n_items} items"
            raise InputError(f"a pilot is of another pool ({own}) than the plan's ({here}): expected the same runs")
        lessons.append(planner.lesson(campaign.design, campaign.selection, campaign.grades))
    return Lesson.together(lessons) if lessons else None


@dataclass(frozen=True, slots=True)
class _Rehearsed:
    """A forecast whose degrees of freedom come of a rehearsal, near the budget that matters."""

    case: Case
    planner: Planner
    forecast: Forecast
    defensive_share: float | None

    def at(self, budget: float) -> Forecast:
        """Return the forecast as a rehearsal at a budget says; of a very large pool as it is."""
        case, (target,) = self.case, self.planner.targets
        if case.workload.pool.n_items > MOST_ITEMS:
            return self.forecast
        design = case.design(self.forecast.method, target, self.defensive_share)
        own = min(max(budget, self.forecast.least), self.forecast.cost)
        return replace(self.forecast, evenness=evenness(design, self.planner.beliefs, own))


def _rows(
    case: Case,
    target: Target,
    forecasts: Mapping[str, Forecast],
    budgets: Sequence[Budget],
    needed: Mapping[str, float | None],
) -> tuple[PlannedRow, ...]:
    """Return a row for each method and budget that is asked for, or that works, and that of the goal."""
    asked = sorted(((budget, budget.of(target, known=case.known)) for budget in budgets), key=lambda one: one[1])
    curve = [Budget(share, is_share=True).of(target, known=case.known) for share in CURVE]
    rows = []
    for name, forecast in forecasts.items():
        for budget, amount in asked:
            if amount < forecast.least * (1 - 1e-12):
                problem = f"{name}: budget {amount:g} is below what may have to be judged at once, {forecast.least:g}"
                raise budget.refused(
                    BudgetError(problem, budget=amount, needed=forecast.least), target, known=case.known
                )
        own = [amount for _, amount in asked] or [amount for amount in curve if amount >= forecast.least]
        goal = needed.get(name)
        own = own if goal is None or asked else sorted({*own, goal})
        for amount in own:
            prospect = forecast.at(amount)
            least = min(prospect.of_pool, *(one.least_variance(amount) for one in forecasts.values()))
            rows.append(PlannedRow(prospect=prospect, least_variance=least, is_goal=amount == goal))
    return tuple(rows)


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
