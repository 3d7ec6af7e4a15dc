"""Planning for a case: what a budget should reach for a measure, what a goal should take; no label is looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from activeeval.errors import ActiveEvalError, BudgetError, InputError
from activeeval.measures import Target
from activeeval.methods import default_method, find_method
from activeeval.planning import MOST_ITEMS, Forecast, Goal, Lesson, MeasurePlan, Planner, evenness, plan_of
from activeeval.session.budgets import Budget, check_open, whole_cost
from activeeval.session.cases import Case
from activeeval.session.samples import Sample

CURVE = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Shares of judging everything at which methods are shown where no budget is asked for."""
_REFERENCE = 0.1


def plan_measure(
    case: Case,
    measure: str,
    methods: Sequence[str] = (),
    budgets: Sequence[Budget] = (),
    goal: Goal | None = None,
    *,
    pilots: Mapping[str, Sample] | None = None,
    defensive_share: float | None = None,
) -> MeasurePlan:
    """Return what methods should reach for a measure; no label of the pool is looked at.

    Parameters
    ----------
    methods : sequence of str
        Beside passive and the default one.
    budgets : sequence of Budget
        Where methods are shown; none: shares of judging everything, as far as they work, and what the goal takes.
    goal : Goal, optional
        What to reach.
    pilots : mapping of str to Sample, optional
        By the name of the file: judged samples of this pool, by whose residuals what is expected is rescaled.

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
    n_grades, default = case.n_grades(target), default_method(target.measure).name
    planner = Planner(
        targets=[target],
        believed=lambda method: case.beliefs.for_method(method, n_grades),
        max_grade=n_grades - 1,
        known=case.known,
        defensive_share=defensive_share,
    )
    lesson, forecasts = _lesson(planner, pilots or {}), {}
    for name in dict.fromkeys(("passive", default, *methods)):
        forecast = planner.forecasts(find_method(name))[0]
        if lesson is not None:
            forecast = replace(forecast, of_residuals=lesson.scales[0], of_values=lesson.scales[1])
        forecasts[name] = _Rehearsed(case, planner, forecast).near(budgets, goal)
    shown = {name: _shown(case, target, forecast, budgets) for name, forecast in forecasts.items()}
    return plan_of(target, forecasts, shown, None if budgets else goal, default, lesson)


def _shown(case: Case, target: Target, forecast: Forecast, budgets: Sequence[Budget]) -> list[float]:
    """Return where a method is shown, in mean items: at the budgets asked for, or at those of the curve that work."""
    if not budgets:
        curve = [share * whole_cost(target, known=case.known) for share in CURVE]
        return [amount for amount in curve if amount >= forecast.least]
    amounts = [budget.of(target, known=case.known) for budget in budgets]
    for budget, amount in zip(budgets, amounts, strict=True):
        if amount < forecast.least * (1 - 1e-12):
            problem = f"{forecast.method}: budget {amount:g} is below what may have to be judged at once, "
            refusal = BudgetError(f"{problem}{forecast.least:g}", budget=amount, needed=forecast.least)
            raise budget.refused(refusal, target, known=case.known)
    return amounts


def _lesson(planner: Planner, pilots: Mapping[str, Sample]) -> Lesson | None:
    """Return what pilots teach together, None where there is none."""
    pool, lessons = planner.targets[0].pool, []
    for name, pilot in pilots.items():
        campaign = pilot.campaign
        if not campaign.design.pool.holds_the_same(pool):
            own = f"{campaign.design.pool.n_queries} queries and {campaign.design.pool.n_items} items"
            here = f"{pool.n_queries} queries and {pool.n_items} items"
            raise InputError(f"{name}: the pilot is of another pool, of {own}, expected this one, of {here}")
        try:
            lessons.append(planner.lesson(campaign.design, campaign.selection, campaign.grades))
        except ActiveEvalError as problem:
            raise InputError(f"{name}: {problem}") from None
    return Lesson.together(lessons) if lessons else None


@dataclass(frozen=True, slots=True)
class _Rehearsed:
    """A forecast whose degrees of freedom a rehearsal tells, near the budget that matters."""

    case: Case
    planner: Planner
    forecast: Forecast

    def near(self, budgets: Sequence[Budget], goal: Goal | None) -> Forecast:
        """Return the forecast as it is near the largest budget asked for, or near the one that the goal takes."""
        (target,) = self.planner.targets
        amounts = [budget.of(target, known=self.case.known) for budget in budgets]
        if amounts or goal is None:
            return self._at(max(amounts, default=_REFERENCE * whole_cost(target, known=self.case.known)))
        needed = goal.budget(self.forecast)
        needed = needed if needed is None else goal.budget(self._at(needed))
        return self.forecast if needed is None else self._at(needed)

    def _at(self, budget: float) -> Forecast:
        """Return the forecast as a rehearsal at a budget says; of a very large pool as it is."""
        case, (target,) = self.case, self.planner.targets
        if case.workload.pool.n_items > MOST_ITEMS:
            return self.forecast
        design = case.design(self.forecast.method, target, self.planner.defensive_share)
        own = min(max(budget, self.forecast.least), self.forecast.cost)
        return replace(self.forecast, evenness=evenness(design, self.planner.beliefs, own))
