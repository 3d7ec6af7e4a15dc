"""Plan for a prepared case: predict the precision of budgets, and the budgets that goals need; uses no label.

A case is a pool with its rankings, grade model and known grades; a pilot is a judged sample that corrects a plan.
"""

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
"""Default budgets, as shares of the cost of judging everything."""


def planner_of(
    case: PreparedCase,
    targets: Sequence[Target],
    defensive_share: float | None = None,
    weights: str | Sequence[float] = "equal",
) -> Planner:
    """Build the planner (forecasts of methods) of one sample for several targets of a prepared pool.

    ``weights`` ("equal", "sum", "minimax" or numbers) balance the targets; ``defensive_share`` is the least share of
    sampling that does not follow the model. The planner gets the model's predictions for labelled queries that it was
    not trained on (``held_out``), from which it learns by how much variances exceed the expected ones.
    """
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
    """Predict the precision of methods for every measure and question by one sample; uses no label.

    The sample is the one that `activeeval.sampling.draw_case.draw` draws with the same choices; method passive (random
    queries, judged whole) has a sample of its own. A goal is reached if all questions reach it.

    Parameters
    ----------
    case : PreparedCase
        The pool with its rankings, grade model and known grades.
    measures : sequence of str
        Names of measures, as "DCG@10".
    questions : sequence of {"difference", "run", "versus"}
        By default the differences of several rankings, or the value of one.
    methods : sequence of str
        Methods to show besides passive and the default one; by default a better one, if there is one that stays
        unbiased under a bad grade model.
    budgets : sequence of Budget
        Budgets to show; by default the shares `CURVE` of judging everything, if large enough, and those goals need.
    goals : sequence of Goal
        Goals to reach.
    pilots : mapping of str to DrawnSample, optional
        By file name: judged samples of this pool, whose residuals rescale the predictions.
    how
        Defensive share, weights of the questions and adaptive depth, see `DrawOptions`.

    Raises
    ------
    InputError
        If no label can change a target, no budget in the pool reaches a goal, or a pilot is of another pool or does
        not support the targets.
    BudgetError
        If a budget is too small for a method.
    """
    questions_asked = case.asked(list(dict.fromkeys(measures)), list(dict.fromkeys(questions)))
    check_differ(questions_asked)
    targets = [question.target for question in questions_asked]
    whole_cost(*targets, known=case.known)  # raises if nothing is left to judge
    planner = planner_of(case, targets, how.get("defensive_share"), how.get("weights", "equal"))
    lessons, measured = _lessons(planner, pilots or {}), [target.measure for target in targets]
    default = default_method(*measured).name
    shown_methods = list(dict.fromkeys(("passive", default, *methods)))
    names = list(dict.fromkeys((*shown_methods, *(() if methods else robust_methods(*measured)))))
    planned = _planned(case, names, methods or (default,), targets, how)
    for name in shown_methods[1:]:
        _check_pays(case, planner, find_method(name), budgets, is_named=name in methods)
    # for each target: forecasts by name of the method, then the budgets to show by method, then rows of the table
    forecasts = _rescaled(names, list(map(planner.rehearsed, planned)), lessons)
    titles = [name_of(case, question) for question in questions_asked]
    needed = {} if budgets else {goal: needed_for(goal, forecasts, default, titles) for goal in goals}
    budgets_shown = [
        {
            name: _amounts(case, targets, forecast, budgets, must_work=name in shown_methods)
            for name, forecast in of_target.items()
        }
        for of_target in forecasts
    ]
    rows = [planned_rows(of_target, of_it, needed) for of_target, of_it in zip(forecasts, budgets_shown, strict=True)]
    best = best_method(rows, measured, default)
    plans = [
        QuestionPlan(
            question=question.question,
            target=question.target,
            forecasts=of_target,
            rows=tuple(row for row in all_rows if row.prospect.method in {*shown_methods, best}),
            goals=tuple(goals),
            best=best,
            lesson=lesson,
            systems=tuple(filter(None, (question.system, question.versus))),
            name=title,
            names=names_of(case, question),
        )
        for question, title, of_target, all_rows, lesson in zip(
            questions_asked, titles, forecasts, rows, lessons, strict=True
        )
    ]
    return SamplePlan(questions=tuple(plans))


def _rescaled(
    names: Sequence[str], rehearsed: Sequence[Sequence[Forecast]], lessons: Sequence[PilotRatios | None]
) -> list[dict[str, Forecast]]:
    """For each target, map the name of each method to its forecast, rescaled by what pilots showed of the target.

    Parameters
    ----------
    names : sequence of str
        Names of the methods.
    rehearsed : sequence of sequence of Forecast
        For each method, one for each target.
    lessons : sequence of PilotRatios or None
        For each target; None without pilots.
    """
    return [
        {name: forecast.taught(lesson) for name, forecast in zip(names, of_target, strict=True)}
        for of_target, lesson in zip(zip(*rehearsed, strict=True), lessons, strict=True)
    ]


def _planned(
    case: PreparedCase, names: Sequence[str], main: Sequence[str], targets: Sequence[Target], how: DrawOptions
) -> list[Method]:
    """Find methods by name and set their adaptive depth (when labels decide how deep a query is judged).

    ``names`` are the methods to find, ``how`` has the adaptive depth chosen and its default. Raise InputError if one is
    chosen and none of the methods ``main`` judges to a depth.
    """
    adaptive_depth, usual, methods = (
        how.get("adaptive_depth"),
        how.get("usual", OF_SHEETS),
        list(map(find_method, names)),
    )
    if adaptive_depth is not None and not any(find_method(name).has_depths for name in main):
        adaptive_depth_of(find_method(main[0]), [target.measure for target in targets], adaptive_depth)
    return [
        method.looking(adaptive_depth_in(case, method, targets, adaptive_depth, usual)) if method.has_depths else method
        for method in methods
    ]


def name_of(case: PreparedCase, question: QuestionTarget) -> str:
    """Format a question for messages: its measure and its rankings."""
    return f"{question.target.name}, {' − '.join(names_of(case, question))}"


def names_of(case: PreparedCase, question: QuestionTarget) -> tuple[str, ...]:
    """Return the name of a question's ranking, and for a difference that of the ranking subtracted."""
    names = case.inputs.names or tuple(f"run {k + 1}" for k in range(len(case.inputs.rankings)))
    if question.system:
        return tuple(filter(None, (question.system, question.versus)))
    return {"difference": names[:2], "versus": names[1:2]}.get(question.question, names[:1])


def budget_for(
    case: PreparedCase,
    measures: Sequence[str],
    goal: Goal,
    method: str | None = None,
    *,
    questions: Sequence[str] = (),
    **how: Unpack[DrawOptions],
) -> Budget:
    """Find the budget with which one sample should reach a goal for every question, by one method.

    The budget includes the price of graders' grades.

    Parameters
    ----------
    case : PreparedCase
        The pool with its rankings, grade model and known grades.
    measures : sequence of str
        Names of measures, as "DCG@10".
    method : str, optional
        By default the best one for the measures.
    questions : sequence of {"difference", "run", "versus"}
        By default the differences of several rankings, or the value of one.
    how
        Defensive share, weights of the questions and adaptive depth, see `DrawOptions`.

    Raises
    ------
    InputError
        If no budget in the pool reaches the goal, or no label can change a target.
    """
    name = method or default_method(*(target.measure for target in case.targets(measures, questions))).name
    plan = plan_sample(case, measures, questions, [name], goals=[goal], **how)
    first = plan.questions[0]
    enough = [row.prospect.budget for row in first.rows_of({name}) if row.goal is not None]
    if not enough:
        raise InputError(f"{first.target.name}: no budget in this pool reaches {goal} by {name}")
    asking = case.asking_cost(*(question.target for question in plan.questions))
    return Budget(float(rounded_up(max(enough) + asking)))


def _amounts(
    case: PreparedCase, targets: Sequence[Target], forecast: Forecast, budgets: Sequence[Budget], *, must_work: bool
) -> list[float]:
    """List the budgets at which to show a method, in mean items (the mean item of the pool costs 1).

    They are those requested, less the price of graders, or the shares `CURVE` of judging everything. Budgets too small
    for the method, whose expected precision is ``forecast``, are left out, except requested ones if ``must_work``.
    """
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
    """Raise BudgetError if a budget does not pay for the method's most expensive unit (what is judged at once).

    The message starts with the method's name if the user named it (``is_named``).
    """
    least = planner.least(method)
    for budget in budgets:
        amount = case.for_people(budget, *planner.targets)
        if amount < least * (1 - 1e-9):  # smaller by more than rounding
            refusal = case.refused(budget, BudgetError("", budget=amount, needed=least), *planner.targets)
            if is_named:
                refusal.args = (f"{method.name}: {refusal}",)
            raise refusal


def _lessons(planner: Planner, pilots: Mapping[str, DrawnSample]) -> list[PilotRatios | None]:
    """Combine what pilots (by file name) show about each target: ratios of actual to expected variances.

    There is one entry for each target, None without pilots. Raise InputError for a pilot of another pool, or that does
    not support a target.
    """
    pool = planner.targets[0].pool
    by_target: list[list[PilotRatios]] = [[] for _ in planner.targets]
    for name, pilot in pilots.items():
        campaign = pilot.campaign
        if not campaign.design.pool.holds_the_same(pool):
            actual, expected = (
                f"{counted(some_pool.n_queries, 'query')} and {counted(some_pool.n_items, 'item')}"
                for some_pool in (campaign.design.pool, pool)
            )
            raise InputError(f"{name}: the pilot is of another pool, of {actual}, expected this one, of {expected}")
        try:
            for k, lessons in enumerate(by_target):
                lessons.append(planner.lesson(campaign.design, campaign.selection, campaign.labels, k))
        except ActiveEvalError as problem:
            raise InputError(f"{name}: {problem}") from None
    return [PilotRatios.together(lessons) if lessons else None for lessons in by_target]
