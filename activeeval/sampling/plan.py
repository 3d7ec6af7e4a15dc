"""Verb `plan`: predict the precision of a budget, or the budget of a half-width, before anything is judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Unpack

from activeeval.core.design.methods import fitting_methods
from activeeval.core.errors import ChoiceError
from activeeval.core.estimation import check_scope
from activeeval.core.results import Caution, Note
from activeeval.inputs.arguments import budget_of, checked, measures_of
from activeeval.inputs.choices import Choices
from activeeval.inputs.judging_choice import judging_for
from activeeval.inputs.prepared_case import PreparedCase, check_fits, prepare
from activeeval.sampling.arguments import QuestionOptions, asked_of, choices_of, frame_kind_of
from activeeval.sampling.grader_price import about_to_ask, asking_notes
from activeeval.sampling.judged_samples import judged_pilots
from activeeval.sampling.plan_case import plan_sample
from activeeval.sampling.plan_pool_files import FilesPlan, plan_files
from activeeval.sampling.plan_request import ALL, PlanRequest
from activeeval.sampling.plan_result import Plan
from activeeval.sampling.prices import money_of, paid_budget, price_of
from activeeval.sampling.segment_budgets import SegmentGoals, segment_budget
from activeeval.sampling.segment_plan import SegmentPlan

_FOR_ONE_BUDGET = ("difference", "budget", "pilots", "sheets", "ask_price", "plot")
_AT_HAND = ("pilots", "sheets", "ask_price", "plot")
"""Options that half-widths by segment exclude, and options that a pool in files excludes."""


def plan_for(
    choices: Choices,
    request: PlanRequest,
    *,
    say: Callable[[Note | Caution], object] = lambda note: None,
    progress: Callable[[str], object] = lambda step: None,
) -> Plan | SegmentPlan | FilesPlan:
    """Plan a sample for a pool and a request; the Python function `plan` and the command share it.

    Parameters
    ----------
    choices : Choices
        Files and options from which the pool is prepared.
    request : PlanRequest
        Questions, and budgets or goals.
    say : callable
        Called with each note on the pool and on pilots (judged samples that correct the plan), as soon as it is known.
    progress : callable
        Called with a text that names the next step.

    Raises
    ------
    ChoiceError
        If choices contradict each other or one is missing.
    InputError
        If a file is wrong, no label can change a target, no budget reaches a goal, or a pilot is of another pool.
    BudgetError
        If a budget is too small for a method.
    """
    if request.price is not None and request.price.money(1) is None and request.price.hours(1) is None:
        raise ChoiceError("`price` of an hour needs what an item takes: seconds=25,hour=18", field="price")
    if request.segments is not None or request.segment_half_widths:
        return _by_segment(choices, request, say, progress)
    if choices.pool_parquet is not None:
        return _in_files(choices, request, progress)
    if request.budget and request.whole_half_width is not None:
        raise ChoiceError("`half_width` asks which budget: give that or `budget`", field="budget")
    if request.sheets and not request.pilots:
        problem = "`sheets` holds the judgments of a `pilots`: give the pilot's sample, too"
        raise ChoiceError(problem, field="sheets")
    check_fits(request.measures, [name for name in request.methods if name != ALL])
    pilots = judged_pilots(request.pilots, request.sheets, machine_is_truth=choices.machine_is_truth)
    by_machines = [caution for pilot in pilots.values() for caution in pilot.machine_cautions]
    case = _prepared(choices, request, by_machines, say, progress)
    case = case if request.ask_price is None else about_to_ask(case)
    methods = tuple(request.methods)
    if ALL in methods:
        methods = tuple(fitting_methods(*(case.target(text).measure for text in request.measures)))
    sample_plan = plan_sample(
        case, request.measures, request.questions, methods, request.budget, request.goals, pilots=pilots,
        defensive_share=choices.defensive_share, weights=request.weights, adaptive_depth=request.adaptive_depth,
    )  # fmt: skip
    if request.ask_price is not None:
        progress("planning with a machine")
    about: dict[str, Any] = {"scope": request.scope, "confidence": request.confidence}
    asking = asking_notes(case, sample_plan, request.ask_price, request.ask_skill, weights=request.weights, **about)
    return Plan(
        sample=sample_plan, goal=request.whole_half_width, price=request.price, of_pool=(*case.notes, *by_machines),
        asking=tuple(asking), **about,
    )  # fmt: skip


def _prepared(
    choices: Choices,
    request: PlanRequest,
    notes: Sequence[Note | Caution],
    say: Callable[[Note | Caution], object],
    progress: Callable[[str], object],
) -> PreparedCase:
    """Prepare the pool of ``choices``, with its grade model, and pass ``notes`` and those on the pool to ``say``."""
    for note in notes:
        say(note)
    chosen = replace(choices, judging=judging_for(request.measures))
    case = prepare(chosen, use_labels=False, measures=request.measures, progress=progress)
    for note in case.notes:
        say(note)
    progress(f"planning for {', '.join(dict.fromkeys(map(str, request.measures)))}")
    return case


def _by_segment(
    choices: Choices, request: PlanRequest, say: Callable[[Note | Caution], object], progress: Callable[[str], object]
) -> SegmentPlan:
    """Plan for a half-width to reach in each segment of the queries; ChoiceError for options that do not fit that."""
    about: dict[str, Any] = {"scope": request.scope, "confidence": request.confidence}
    goals = SegmentGoals.of(request.segments, request.segment_half_widths, request.whole_half_width, **about)
    request.check_left_out(
        _FOR_ONE_BUDGET, "half-widths of segments ask which budget for themselves: {} does not go with them"
    )
    method = request.method_for("half-widths of segments")
    check_fits(request.measures, request.methods)
    if request.weights != "equal":
        raise ChoiceError("`weights` follow from half-widths by segment: leave them out", field="weights")
    case = _prepared(choices, request, (), say, progress)
    planned = segment_budget(
        case, request.measures, request.questions, goals, method=method,
        defensive_share=choices.defensive_share, weights=request.weights, adaptive_depth=request.adaptive_depth,
    )  # fmt: skip
    return SegmentPlan(planned=planned, pool=case.inputs.pool, of_pool=tuple(case.notes), price=request.price)


def _in_files(choices: Choices, request: PlanRequest, progress: Callable[[str], object]) -> FilesPlan:
    """Plan for a pool in files (too large for memory); raise ChoiceError for options that need it in memory."""
    request.check_left_out(_AT_HAND, "{} needs the pool at hand, not `pool_parquet`")
    method = request.method_for("a pool in files")
    choices.check_files()
    return plan_files(choices, request, method, progress)


class PlanOptions(QuestionOptions, total=False):
    """Further options of `plan`.

    Attributes
    ----------
    methods : sequence of str
        Methods to show besides passive and the measure's default; ``all`` means all that fit.
    pilots, sheets : path or list of path
        Judged samples of this pool, and their sheets: they rescale the predictions.
    ask_price, ask_skill : float
        Price of a hypothetical grader for an item, relative to a human judgment, and the assumed correlation of its
        values with human grades: notes recommend whether to ask it. For ``graders`` with a price they do the same.
    price : float, str or Price
        Price of judging, as "0.40USD" or "seconds=25,hour=18,currency=EUR"; rows then have money and hours.
    scope : {"pool", "population"}
        The queries that intervals are for: these, or all that they are a sample of.
    confidence : float
        Confidence of the intervals; by default 0.95.
    """

    methods: Sequence[str]
    pilots: Any
    sheets: Any
    ask_price: float
    ask_skill: float
    price: Any
    scope: str
    confidence: float


@checked
def plan(
    runs: Any,
    *,
    measure: Any = "DCG",
    budget: Any = None,
    half_width: Any = None,
    max_grade: int | None = None,
    judged: Any = None,
    names: Sequence[str] = (),
    seed: int = 0,
    **options: Unpack[PlanOptions],
) -> Plan | SegmentPlan | FilesPlan:
    """Predict the precision of a budget, or the budget that a half-width or a difference needs; uses no label.

    Parameters
    ----------
    runs : path, dict of dicts or data frame, a list of them, or a mapping of names to them
    measure : str or measure, or a list of them
        One sample answers all measures and questions.
    max_grade : int
        Largest grade of the scale.
    judged : path, frame, dict or Judgments, or a list of them
        Known grades, which cost nothing.
    names : sequence of str
        Names of the runs; by default those of their files.
    budget : int, float or str, or a list of them
        Budgets to predict the precision of: 200, "10%", or with a price "400EUR".
    half_width : float, or mapping of str to float, optional
        Half-width of the intervals to reach: the plan finds the budget.
    options
        `PlanOptions`: difference and power, questions, methods, pilots, prices, segments, scope, confidence, ….

    Returns
    -------
    Plan
        A `SegmentPlan` for half-widths by segment, a `FilesPlan` for a pool in files.

    Examples
    --------
    >>> runs = {name: {f"q{q}": {f"d{d}": float((d * k + q) % 7) for d in range(6)} for q in range(20)}
    ...         for k, name in enumerate(["new", "old"], 1)}
    >>> planned = plan(runs, measure="DCG@5", half_width=0.5, max_grade=3)
    >>> planned.half_width <= 0.5, planned.to_frame("polars").height > 2
    (True, True)
    >>> plan(runs, measure="DCG@5", budget="50%", max_grade=3).budget
    52.0
    """
    arguments, of_pool = asked_of(options, PlanOptions)
    price = arguments["price"] = price_of(arguments.get("price"))
    if "methods" in arguments:
        arguments["methods"] = tuple(arguments["methods"] or ())
    if "scope" in arguments:
        check_scope(arguments["scope"])
    budgets = budget if isinstance(budget, (list, tuple)) else [budget]
    budgets = [(isinstance(entry, str) and money_of(entry)) or budget_of(entry) for entry in budgets]
    arguments["budget"] = [paid_budget(entry, price) for entry in budgets if entry]
    choices = choices_of(runs, names, judged, max_grade, seed, of_pool)
    request = PlanRequest(measures=measures_of(measure)[0], half_width=half_width, **arguments)
    return replace(plan_for(choices, request), frame_kind=frame_kind_of(runs, judged, options))
