"""Plan for a pool in files: predict the precision of budgets, and the budgets that goals need."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from activeeval.core.errors import BudgetError, ChoiceError, InputError
from activeeval.core.measures import shown_name
from activeeval.core.planning import UNREHEARSED, UNTRAINED, ForecastBySums, Goal, Prospect
from activeeval.core.planning.prices import Price
from activeeval.core.results import Note, rounded_up
from activeeval.inputs.arguments import in_python
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.inputs.systems import direction
from activeeval.report.message_lookup import text_of
from activeeval.report.numbers import counted, spanned
from activeeval.report.printable import PrintableResult
from activeeval.report.rendering import Cell
from activeeval.sampling.draw_pool_files import FilesRequest, check_open, designed
from activeeval.sampling.plan_case import CURVE
from activeeval.sampling.plan_request import PlanRequest
from activeeval.sampling.prices import priced
from activeeval.scale.designs import ChunkedDesign
from activeeval.scale.outlook import expected_sums


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesPlanRow:
    """Predicted precision of a question at a budget.

    Attributes
    ----------
    measure, question, direction, method : str
        Name of the measure; difference, run or versus; the systems, as "new − old"; and the sampling method.
    budget : float
        In mean items (the mean item of the pool costs 1).
    half_width : float
        Of the interval for the queries of the pool: the median over samples.
    low, high : float or None
        Range that contains the half-widths of 80 % of samples; None before the first label.
    queries, items : float
        Mean number of judged queries and items.
    goal : str or None
        The goal that the budget should reach.
    """

    measure: str
    question: str
    direction: str
    method: str
    budget: float
    half_width: float
    low: float | None
    high: float | None
    queries: float
    items: float
    goal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FilesPlan(PrintableResult):
    """Plan for a pool in files.

    Attributes
    ----------
    by_budget : tuple of FilesPlanRow
        Ordered by budget, then by question.
    n_queries : int
    cost : float
        Cost of judging everything, in mean items.
    confidence : float
        Confidence of the intervals.
    of_pool : tuple of Note
        Notes on the pool.
    price : Price or None
        Price of judging.
    frame_kind : str
        Library of the input frames, "" if there were none.
    """

    by_budget: tuple[FilesPlanRow, ...]
    n_queries: int
    cost: float
    confidence: float
    of_pool: tuple[Note, ...] = ()
    price: Price | None = None
    frame_kind: str = ""

    @property
    def title(self) -> str:
        """Title of `table`."""
        return f"{counted(self.n_queries, 'query')}, judging all: {self.cost:,.0f}"

    @property
    def sentences(self) -> list[str]:
        """Sentences on the size of the pool, and notes."""
        return [f"{self.title}.", *(f"{text_of(note, in_python)}." for note in self.of_pool)]

    @property
    def table(self) -> list[dict[str, str]]:
        """Budgets with predicted half-widths; ``*`` marks those that should reach a goal."""
        several = len({(row.measure, row.direction) for row in self.by_budget}) > 1
        return [
            ({"measure": row.measure, "question": row.direction} if several else {})
            | {
                "budget": f"{row.budget:,.0f}" + (" *" if row.goal else ""),
                "half-width": f"{row.half_width:.3g}",
                "four in five": spanned(row.low, row.high),
                "queries": f"{row.queries:,.0f}",
                "items": f"{row.items:,.0f}",
            }
            for row in self.by_budget
        ]

    @property
    def footnotes(self) -> list[str]:
        """Definition of half-widths, and the price of the largest budget."""
        about = (
            f"Half-widths of {100 * self.confidence:g} % intervals for the queries of the pool: the median of samples; "
            "those of four samples in five should lie in the range. * should reach the goal."
        )
        costs = priced(self.price, round(max(row.budget for row in self.by_budget)))
        return [about, *([f"{costs}."] if costs else [])]

    def rows(self) -> list[dict[str, Cell]]:
        """List a row for each budget and question, as in the command's JSON and CSV output."""
        return [asdict(row) for row in self.by_budget]


def plan_files(
    choices: Choices, request: PlanRequest, method: str | None, progress: Callable[[str], object]
) -> FilesPlan:
    """Predict the precision of one sample of a pool in files (too large for memory), by budget; nothing is sampled.

    Depths that follow labels are planned as if they were fixed before any label.

    Parameters
    ----------
    choices : Choices
        Location of the pool, and the engine that processes its partitions.
    request : PlanRequest
        Questions, and budgets or goals.
    method : str or None
        Sampling method; None for the best one for the measures.
    progress : callable
        Called with a text that names the next step.

    Raises
    ------
    ChoiceError, InputError
        If choices do not fit a pool in files, no budget in the pool reaches a goal, or the method draws with
        replacement.
    """
    budgets, goals = request.budget, request.goals
    files_request = FilesRequest.of(
        choices, request.measures, request.questions, method=method, weights=request.weights, adaptive_depth="off"
    )
    if files_request.method.scheme.is_with_replacement:
        problem = f"a plan of a pool in files is not for draws with replacement, got method {files_request.method.name}"
        raise ChoiceError(problem, field="method")
    with designed(choices, files_request, progress) as design:
        check_open(design, files_request)
        forecasts = _forecasts(design, files_request)
        shares = [Budget(share, is_share=True) for share in CURVE] if not (budgets or goals) else budgets
        amounts: list[tuple[float, Goal | None]] = []
        for budget in shares:
            amount = budget.amount * design.whole_cost if budget.is_share else budget.amount
            if budgets or forecasts[0].least <= amount:
                amounts.append((_checked(amount, forecasts[0]), None))
        amounts += [(_needed(goal, forecasts, files_request), goal) for goal in goals]
    rows = [
        _row(files_request, which, forecast.at(amount), goal, request.confidence)
        for amount, goal in amounts
        for which, forecast in enumerate(forecasts)
    ]
    notes = [Note("planned without looks", {})] if request.adaptive_depth not in (None, "off") else []
    return FilesPlan(
        by_budget=tuple(rows),
        n_queries=design.n_queries,
        cost=design.cost,
        confidence=request.confidence,
        of_pool=tuple(notes),
        price=request.price,
    )


def _forecasts(design: ChunkedDesign, request: FilesRequest) -> list[ForecastBySums]:
    """Build the forecast (expected precision by budget) of each target; targets go by measure, then by pair of runs.

    No label checks the pool's model: ``scale`` is the usual ratio of actual to expected variances, with its spread.
    """
    fields, variances = expected_sums(design)
    is_uniform = bool(request.pool.said.get("is_uniform"))
    fields |= {"method": request.method.name, "is_fitted": request.method.is_fitted, "is_untried": is_uniform}
    fields["scale"] = UNREHEARSED if is_uniform else UNTRAINED
    return [
        ForecastBySums(variances=of_target, widest=_widest(request, which), **fields)
        for which, of_target in enumerate(variances)
    ]


def _widest(request: FilesRequest, which: int) -> float:
    """Compute the largest possible half-width for the target number ``which``: half the range of its values.

    It is infinite for sums over all ranks, because the length of the longest list is unknown.
    """
    pairs = request.questions.pairs
    measure, (_, (_, versus)) = request.questions.measures[which // len(pairs)], pairs[which % len(pairs)]
    if measure.cutoff is None and measure.is_additive:
        return math.inf
    low, high = measure.limits(request.max_grade, measure.cutoff or 1)
    return (high - low) / (2 if versus is None else 1)  # a difference ranges from low − high to high − low


def _checked(amount: float, forecast: ForecastBySums) -> float:
    """Return the budget ``amount`` (the mean item costs 1); raise BudgetError if it is below the smallest valid one."""
    if amount < forecast.least * (1 - 1e-9):
        raise Budget(amount).refused(BudgetError("", budget=amount, needed=forecast.least))
    return amount


def _needed(goal: Goal, forecasts: Sequence[ForecastBySums], request: FilesRequest) -> float:
    """Find the smallest budget, in mean items (the mean item costs 1), with which all targets reach a goal.

    Raise ChoiceError for a goal about the population, and InputError if no budget in the pool reaches the goal.
    """
    if goal.scope != "pool":
        raise ChoiceError("of a pool in files it is planned for its queries: `scope` pool", field="scope")
    needed = [goal.budget(forecast) for forecast in forecasts]
    budgets = [budget for budget in needed if budget is not None]
    if len(budgets) < len(needed):
        which = needed.index(None)
        raise InputError(f"no budget in the pool reaches {goal} for {_labels(request, which)[0]}", field="half_width")
    return float(rounded_up(max(budgets)))


def _labels(request: FilesRequest, which: int) -> tuple[str, str, str]:
    """Return measure, kind of question and direction ("new − old") of the target number ``which``, as texts."""
    pairs, runs = request.questions.pairs, request.pool.runs
    question, (system, versus) = pairs[which % len(pairs)]
    measure = request.questions.measures[which // len(pairs)]
    return shown_name(measure), question, direction(runs[system], "" if versus is None else runs[versus])


def _row(request: FilesRequest, which: int, prospect: Prospect, goal: Goal | None, confidence: float) -> FilesPlanRow:
    """Build the row of the target number ``which`` from its expected precision (``prospect``) at a budget."""
    measure, question, of_which = _labels(request, which)
    low, high = prospect.known_half_widths("pool", confidence)
    return FilesPlanRow(
        measure=measure,
        question=question,
        direction=of_which,
        method=request.method.name,
        budget=prospect.budget,
        half_width=prospect.half_width("pool", confidence),
        low=low,
        high=high,
        queries=prospect.queries,
        items=prospect.items,
        goal=None if goal is None else str(goal),
    )
