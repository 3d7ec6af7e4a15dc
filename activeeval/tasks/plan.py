"""Planning for a case: what a budget should reach for a measure, what a goal should take; no label is looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from activeeval.cases.budgets import Budget, whole_cost
from activeeval.cases.case import Case
from activeeval.cases.systems import check_differ
from activeeval.design.methods import default_method, find_method, robust_methods
from activeeval.errors import ActiveEvalError, BudgetError, InputError
from activeeval.measures import Target
from activeeval.planning import Forecast, Goal, Lesson, MeasurePlan, Planner, needed_for, plan_of
from activeeval.tasks.samples import Sample

CURVE = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Shares of judging everything at which methods are shown where no budget is asked for."""


def goals_of(
    half_width: float | None, difference: float | None, power: float, *, scope: str, confidence: float
) -> list[Goal]:
    """Return what is to be reached: a half-width, a difference that is to be detected, both or nothing."""
    goals = [] if half_width is None else [Goal(half_width=half_width, scope=scope, confidence=confidence)]
    if difference is not None:
        goals.append(Goal(difference=difference, power=power, scope=scope, confidence=confidence))
    return goals


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
        To show beside passive and the default one; none: a better one, where there is one that a bad model cannot
        spoil.
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
    targets = [question.target for question in asked]
    whole_cost(*targets, known=case.known)  # refuses where nothing is left to judge
    n_grades, default = case.n_grades(targets[0]), default_method(targets[0].measure).name
    planner = Planner(
        targets=targets,
        believed=lambda method: case.beliefs.for_method(method, n_grades),
        max_grade=n_grades - 1,
        known=case.known,
        defensive_share=defensive_share,
        held_out=case.beliefs.held_out,
    )
    lessons = _lessons(planner, pilots or {})
    asked_for = list(dict.fromkeys(("passive", default, *methods)))
    names = list(dict.fromkeys((*asked_for, *(() if methods else robust_methods(targets[0].measure)))))
    rehearsed = [planner.rehearsed(find_method(name)) for name in names]
    forecasts = [
        {name: forecast.taught(lesson) for name, forecast in zip(names, of_target, strict=True)}
        for of_target, lesson in zip(zip(*rehearsed, strict=True), lessons, strict=True)
    ]
    needed = {} if budgets else {goal: needed_for(goal, forecasts, default) for goal in goals}
    plans = []
    for question, of_target, lesson in zip(asked, forecasts, lessons, strict=True):
        shown = {
            name: _shown(case, targets, forecast, budgets, must_work=name in asked_for)
            for name, forecast in of_target.items()
        }
        systems = tuple(filter(None, (question.system, question.versus)))
        beside: dict[str, Any] = {"goals": goals, "lesson": lesson, "systems": systems}
        plan = plan_of(question.target, of_target, shown, needed, default, **beside)
        plans.append(replace(plan, rows=plan.rows_of({*asked_for, plan.best})))
    return plans


def budget_for(
    case: Case, measures: Sequence[str], goal: Goal, method: str | None = None, defensive_share: float | None = None
) -> Budget:
    """Return the budget with which every measure of a case should reach a goal, each by its default method or one.

    Raises
    ------
    InputError
        Where no budget in the pool does.
    """
    budgets = []
    for measure in measures:
        name = method or default_method(case.target(measure).measure).name
        for plan in plan_measure(case, measure, [name], goals=[goal], defensive_share=defensive_share):
            enough = [row.prospect.budget for row in plan.rows_of({name}) if row.goal is not None]
            if not enough:
                raise InputError(f"{plan.name}: no budget in this pool reaches {goal} by {name}")
            budgets += enough
    return Budget(float(math.ceil(max(budgets) - 1e-6)))


def _shown(
    case: Case, targets: Sequence[Target], forecast: Forecast, budgets: Sequence[Budget], *, must_work: bool
) -> list[float]:
    """Return where a method is shown, in mean items: at the budgets asked for, or at those of the curve that work."""
    if not budgets:
        whole = whole_cost(*targets, known=case.known)
        return [amount for amount in (float(math.ceil(share * whole)) for share in CURVE) if forecast.works(amount)]
    amounts = [budget.of(*targets, known=case.known) for budget in budgets]
    if not must_work:
        return [amount for amount in amounts if forecast.works(amount)]
    for budget, amount in zip(budgets, amounts, strict=True):
        if not forecast.works(amount) and forecast.method != "passive":
            problem = f"{forecast.method}: budget {amount:g} is below what may have to be judged at once, "
            refusal = BudgetError(f"{problem}{forecast.least:g}", budget=amount, needed=forecast.least)
            raise budget.refused(refusal, *targets, known=case.known)
    return amounts


def _lessons(planner: Planner, pilots: Mapping[str, Sample]) -> list[Lesson | None]:
    """Return what pilots teach together of each target, None where there is no pilot."""
    pool = planner.targets[0].pool
    by_target: list[list[Lesson]] = [[] for _ in planner.targets]
    for name, pilot in pilots.items():
        campaign = pilot.campaign
        if not campaign.design.pool.holds_the_same(pool):
            theirs = f"{campaign.design.pool.n_queries} queries and {campaign.design.pool.n_items} items"
            here = f"{pool.n_queries} queries and {pool.n_items} items"
            raise InputError(f"{name}: the pilot is of another pool, of {theirs}, expected this one, of {here}")
        try:
            for k, lessons in enumerate(by_target):
                lessons.append(planner.lesson(campaign.design, campaign.selection, campaign.labels, k))
        except ActiveEvalError as problem:
            raise InputError(f"{name}: {problem}") from None
    return [Lesson.together(lessons) if lessons else None for lessons in by_target]
