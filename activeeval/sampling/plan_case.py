"""Planning for a case: what a budget should reach for its questions, what a goal should take; no label is looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Unpack

from activeeval.core.design.methods import Method, default_method, find_method, robust_methods
from activeeval.core.errors import ActiveEvalError, BudgetError, InputError
from activeeval.core.measures import Target
from activeeval.core.planning import (
    Forecast,
    Goal,
    PilotRatios,
    Planner,
    QuestionPlan,
    SamplePlan,
    best_method,
    needed_for,
    planned_rows,
)
from activeeval.core.results import rounded_up
from activeeval.inputs.budgets import Budget, whole_cost
from activeeval.inputs.prepared_case import PreparedCase, target_weights
from activeeval.inputs.systems import QuestionTarget, check_differ
from activeeval.report.numbers import counted
from activeeval.sampling.adaptive_depth import OF_SHEETS, DrawOptions, adaptive_depth_in, adaptive_depth_of
from activeeval.sampling.drawn_sample import DrawnSample

CURVE = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Shares of judging everything at which methods are shown where no budget is asked for."""


def planner_of(
    case: PreparedCase,
    targets: Sequence[Target],
    defensive_share: float | None = None,
    weights: str | Sequence[float] = "equal",
) -> Planner:
    """Create the planner of one sample for several targets; ``weights`` balance them as in `PreparedCase.design`."""
    n_grades = case.n_grades(targets[0])
    return Planner(
        targets=targets,
        believed=lambda method: case.beliefs.for_method(method, n_grades),
        max_grade=n_grades - 1,
        known=case.known,
        defensive_share=defensive_share,
        weights=target_weights(weights, len(targets)),
        held_out=case.beliefs.held_out,
        is_uniform=case.beliefs.is_uniform,
    )


def plan_sample(
    case: PreparedCase,
    measures: Sequence[str],
    questions: Sequence[str] = (),
    methods: Sequence[str] = (),
    budgets: Sequence[Budget] = (),
    goals: Sequence[Goal] = (),
    *,
    pilots: Mapping[str, DrawnSample] | None = None,
    **how: Unpack[DrawOptions],
) -> SamplePlan:
    """Return what methods should reach for every measure and question by one sample; no label is looked at.

    The sample is the one that `activeeval.sampling.draw_case.draw` draws with the same choices; passive's are of their
    own. A goal is reached where all questions reach it.

    Parameters
    ----------
    questions : sequence of {"difference", "run", "versus"}
        None: the differences of several rankings, or the one there is.
    methods : sequence of str
        To show beside passive and the default one; none: a better one, where there is one that a bad model cannot
        spoil.
    budgets : sequence of Budget
        Where methods are shown; none: shares of judging everything, as far as they work, and what goals take.
    goals : sequence of Goal
        What to reach, one or several.
    pilots : mapping of str to DrawnSample, optional
        By the name of the file: judged samples of this pool, by whose residuals what is expected is rescaled.
    how
        `activeeval.sampling.adaptive_depth.DrawOptions`.

    Raises
    ------
    InputError
        Where no label can change a target, no budget in the pool reaches a goal, or a pilot is of another pool or
        does not reach the targets.
    BudgetError
        Where a budget is too small for a method.
    """
    asked = case.asked(list(dict.fromkeys(measures)), list(dict.fromkeys(questions)))
    check_differ(asked)
    targets = [question.target for question in asked]
    whole_cost(*targets, known=case.known)  # refuses where nothing is left to judge
    planner = planner_of(case, targets, how.get("defensive_share"), how.get("weights", "equal"))
    lessons, measured = _lessons(planner, pilots or {}), [target.measure for target in targets]
    default = default_method(*measured).name
    asked_for = list(dict.fromkeys(("passive", default, *methods)))
    names = list(dict.fromkeys((*asked_for, *(() if methods else robust_methods(*measured)))))
    planned = _planned(case, names, methods or (default,), targets, how)
    for name in asked_for[1:]:
        _check_pays(case, planner, find_method(name), budgets, is_named=name in methods)
    rehearsed = list(map(planner.rehearsed, planned))
    forecasts = [
        {name: forecast.taught(lesson) for name, forecast in zip(names, of_target, strict=True)}
        for of_target, lesson in zip(zip(*rehearsed, strict=True), lessons, strict=True)
    ]
    titles = [name_of(case, question) for question in asked]
    needed = {} if budgets else {goal: needed_for(goal, forecasts, default, titles) for goal in goals}
    shown = [
        {
            name: _shown(case, targets, forecast, budgets, must_work=name in asked_for)
            for name, forecast in of_target.items()
        }
        for of_target in forecasts
    ]
    rows = [planned_rows(of_target, budgets_of, needed) for of_target, budgets_of in zip(forecasts, shown, strict=True)]
    best = best_method(rows, measured, default)
    plans = [
        QuestionPlan(
            question=question.question,
            target=question.target,
            forecasts=of_target,
            rows=tuple(row for row in all_rows if row.prospect.method in {*asked_for, best}),
            goals=tuple(goals),
            best=best,
            lesson=lesson,
            systems=tuple(filter(None, (question.system, question.versus))),
            name=title,
            names=names_of(case, question),
        )
        for question, title, of_target, all_rows, lesson in zip(asked, titles, forecasts, rows, lessons, strict=True)
    ]
    return SamplePlan(questions=tuple(plans))


def _planned(
    case: PreparedCase, names: Sequence[str], main: Sequence[str], targets: Sequence[Target], how: DrawOptions
) -> list[Method]:
    """Return methods with their adaptive depth; raise InputError where it is asked for and none of the main has any."""
    asked, usual, methods = how.get("adaptive_depth"), how.get("usual", OF_SHEETS), list(map(find_method, names))
    if asked is not None and not any(find_method(name).has_depths for name in main):
        adaptive_depth_of(find_method(main[0]), [target.measure for target in targets], asked)
    return [
        method.looking(adaptive_depth_in(case, method, targets, asked, usual)) if method.has_depths else method
        for method in methods
    ]


def name_of(case: PreparedCase, asked: QuestionTarget) -> str:
    """Return what messages call a question: its measure, and the rankings that it is of."""
    return f"{asked.target.name}, {' − '.join(names_of(case, asked))}"


def names_of(case: PreparedCase, asked: QuestionTarget) -> tuple[str, ...]:
    """Return what the ranking that a question is of is called, and of a difference the one it is compared with."""
    names = case.inputs.names or tuple(f"run {k + 1}" for k in range(len(case.inputs.rankings)))
    if asked.system:
        return tuple(filter(None, (asked.system, asked.versus)))
    return {"difference": names[:2], "versus": names[1:2]}.get(asked.question, names[:1])


def budget_for(
    case: PreparedCase,
    measures: Sequence[str],
    goal: Goal,
    method: str | None = None,
    *,
    questions: Sequence[str] = (),
    **how: Unpack[DrawOptions],
) -> Budget:
    """Return the budget with which one sample should reach a goal for every question, by the default method or another.

    Raises
    ------
    InputError
        Where no budget in the pool does.
    """
    name = method or default_method(*(target.measure for target in case.targets(measures, questions))).name
    plan = plan_sample(case, measures, questions, [name], goals=[goal], **how)
    first = plan.questions[0]
    enough = [row.prospect.budget for row in first.rows_of({name}) if row.goal is not None]
    if not enough:
        raise InputError(f"{first.target.name}: no budget in this pool reaches {goal} by {name}")
    asking = case.asking_cost(*(each.target for each in plan.questions))
    return Budget(float(rounded_up(max(enough) + asking)))


def _shown(
    case: PreparedCase, targets: Sequence[Target], forecast: Forecast, budgets: Sequence[Budget], *, must_work: bool
) -> list[float]:
    """Return where a method is shown, in mean items: at the budgets asked for, or at those of the curve that work."""
    if not budgets:
        whole = whole_cost(*targets, known=case.known)
        return [amount for amount in (float(math.ceil(share * whole)) for share in CURVE) if forecast.works(amount)]
    amounts = [case.for_people(budget, *targets) for budget in budgets]
    if not must_work:
        return [amount for amount in amounts if forecast.works(amount)]
    return amounts


def _check_pays(
    case: PreparedCase, planner: Planner, method: Method, budgets: Sequence[Budget], *, is_named: bool
) -> None:
    """Raise where a budget does not pay for what a method may have to judge at once; before it is rehearsed."""
    least = planner.least(method)
    for budget in budgets:
        amount = case.for_people(budget, *planner.targets)
        if amount < least * (1 - 1e-9):
            refusal = case.refused(budget, BudgetError("", budget=amount, needed=least), *planner.targets)
            if is_named:
                refusal.args = (f"{method.name}: {refusal}",)
            raise refusal


def _lessons(planner: Planner, pilots: Mapping[str, DrawnSample]) -> list[PilotRatios | None]:
    """Return what pilots teach together of each target, None where there is no pilot."""
    pool = planner.targets[0].pool
    by_target: list[list[PilotRatios]] = [[] for _ in planner.targets]
    for name, pilot in pilots.items():
        campaign = pilot.campaign
        if not campaign.design.pool.holds_the_same(pool):
            theirs, here = (
                f"{counted(each.n_queries, 'query')} and {counted(each.n_items, 'item')}"
                for each in (campaign.design.pool, pool)
            )
            raise InputError(f"{name}: the pilot is of another pool, of {theirs}, expected this one, of {here}")
        try:
            for k, lessons in enumerate(by_target):
                lessons.append(planner.lesson(campaign.design, campaign.selection, campaign.labels, k))
        except ActiveEvalError as problem:
            raise InputError(f"{name}: {problem}") from None
    return [PilotRatios.together(lessons) if lessons else None for lessons in by_target]
