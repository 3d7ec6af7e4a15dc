"""Planning for a case: what a budget should reach for a measure, what a goal should take; no label is looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from activeeval.errors import ActiveEvalError, BudgetError, InputError
from activeeval.measures import Target
from activeeval.methods import default_method, find_method
from activeeval.planning import MOST_ITEMS, Forecast, Goal, Lesson, MeasurePlan, Planner, evenness, needed_for, plan_of
from activeeval.session.budgets import Budget, check_open, whole_cost
from activeeval.session.cases import Case
from activeeval.session.samples import Sample
from activeeval.session.systems import check_differ

CURVE = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Shares of judging everything at which methods are shown where no budget is asked for."""
_REFERENCE = 0.1


def plan_measure(
    case: Case,
    measure: str,
    methods: Sequence[str] = (),
    budgets: Sequence[Budget] = (),
    goals: Sequence[Goal] = (),
    *,
    pilots: Mapping[str, Sample] | None = None,
    defensive_share: float | None = None,
) -> list[MeasurePlan]:
    """Return what methods should reach for a measure, for each contrast of several systems; no label is looked at.

    One sample answers all contrasts, passive's are of their own; a goal is reached where all of them reach it.

    Parameters
    ----------
    methods : sequence of str
        Beside passive and the default one.
    budgets : sequence of Budget
        Where methods are shown; none: shares of judging everything, as far as they work, and what goals take.
    goals : sequence of Goal
        What to reach, one or several.
    pilots : mapping of str to Sample, optional
        By the name of the file: judged samples of this pool, by whose residuals what is expected is rescaled.

    Raises
    ------
    InputError
        Where no label can change a target, no budget in the pool reaches a goal, or a pilot is of another pool or
        does not reach the targets.
    BudgetError
        Where a budget is too small for a method.
    """
    asked = case.asked([measure])
    check_differ(asked)
    targets = [one.target for one in asked]
    check_open(*targets)
    n_grades, default = case.n_grades(targets[0]), default_method(targets[0].measure).name
    planner = Planner(
        targets=targets,
        believed=lambda method: case.beliefs.for_method(method, n_grades),
        max_grade=n_grades - 1,
        known=case.known,
        defensive_share=defensive_share,
    )
    lessons = _lessons(planner, pilots or {})
    names = list(dict.fromkeys(("passive", default, *methods)))
    found = [_Method(case, planner, name).near(lessons, budgets, goals) for name in names]
    forecasts = [dict(zip(names, own, strict=True)) for own in zip(*found, strict=True)]
    needed = {} if budgets else {goal: needed_for(goal, forecasts, default) for goal in goals}
    plans = []
    for one, own, lesson in zip(asked, forecasts, lessons, strict=True):
        shown = {name: _shown(case, targets, forecast, budgets) for name, forecast in own.items()}
        systems = tuple(filter(None, (one.system, one.versus)))
        told: dict[str, Any] = {"goals": goals, "lesson": lesson, "systems": systems}
        plans.append(plan_of(one.target, own, shown, needed, default, **told))
    return plans


def _shown(case: Case, targets: Sequence[Target], forecast: Forecast, budgets: Sequence[Budget]) -> list[float]:
    """Return where a method is shown, in mean items: at the budgets asked for, or at those of the curve that work."""
    if not budgets:
        whole = whole_cost(*targets, known=case.known)
        return [amount for amount in (float(math.ceil(share * whole)) for share in CURVE) if amount >= forecast.least]
    amounts = [budget.of(*targets, known=case.known) for budget in budgets]
    for budget, amount in zip(budgets, amounts, strict=True):
        if amount < forecast.least * (1 - 1e-12):
            problem = f"{forecast.method}: budget {amount:g} is below what may have to be judged at once, "
            refusal = BudgetError(f"{problem}{forecast.least:g}", budget=amount, needed=forecast.least)
            raise budget.refused(refusal, *targets, known=case.known)
    return amounts


def _lessons(planner: Planner, pilots: Mapping[str, Sample]) -> list[Lesson | None]:
    """Return what pilots teach together of each target, None where there is no pilot."""
    pool = planner.targets[0].pool
    found: list[list[Lesson]] = [[] for _ in planner.targets]
    for name, pilot in pilots.items():
        campaign = pilot.campaign
        if not campaign.design.pool.holds_the_same(pool):
            own = f"{campaign.design.pool.n_queries} queries and {campaign.design.pool.n_items} items"
            here = f"{pool.n_queries} queries and {pool.n_items} items"
            raise InputError(f"{name}: the pilot is of another pool, of {own}, expected this one, of {here}")
        try:
            for k, lessons in enumerate(found):
                lessons.append(planner.lesson(campaign.design, campaign.selection, campaign.grades, k))
        except ActiveEvalError as problem:
            raise InputError(f"{name}: {problem}") from None
    return [Lesson.together(lessons) if lessons else None for lessons in found]


@dataclass(frozen=True, slots=True)
class _Method:
    """A method's forecasts, their degrees of freedom as rehearsals tell them near the budget that matters."""

    case: Case
    planner: Planner
    name: str

    def near(
        self, lessons: Sequence[Lesson | None], budgets: Sequence[Budget], goals: Sequence[Goal]
    ) -> list[Forecast]:
        """Return forecasts of all targets as near the largest budget asked for, or that the first goal takes."""
        found = []
        for forecast, lesson in zip(self.planner.forecasts(find_method(self.name)), lessons, strict=True):
            scales = (1.0, 1.0) if lesson is None else lesson.scales
            found.append(replace(forecast, of_residuals=scales[0], of_values=scales[1]))
        targets, known = self.planner.targets, self.case.known
        amounts = [budget.of(*targets, known=known) for budget in budgets]
        if amounts or not goals:
            near = max(amounts, default=_REFERENCE * whole_cost(*targets, known=known))
            return self._rehearsed(found, [near] * len(found))
        for _ in range(2):  # at the budget of the goal the judged queries may be less even
            needed = [goals[0].budget(forecast) for forecast in found]
            found = self._rehearsed(found, [cost if cost is not None else 0.0 for cost in needed])
        return found

    def _rehearsed(self, forecasts: Sequence[Forecast], budgets: Sequence[float]) -> list[Forecast]:
        """Return forecasts as rehearsals at budgets say, 0 for none; of a very large pool as they are."""
        case, targets, share = self.case, self.planner.targets, self.planner.defensive_share
        if case.workload.pool.n_items * len(targets) > MOST_ITEMS:
            return list(forecasts)
        is_drawn = find_method(self.name).with_replacement
        shared = None if is_drawn else case.design(self.name, targets, share)
        found = []
        for target, forecast, budget in zip(targets, forecasts, budgets, strict=True):
            if budget > 0:
                design = case.design(self.name, target, share) if shared is None else shared
                own = min(max(budget, forecast.least), forecast.cost)
                forecast = replace(forecast, evenness=evenness(design, self.planner.beliefs, own, target=target))
            found.append(forecast)
        return found
