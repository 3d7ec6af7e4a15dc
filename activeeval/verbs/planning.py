"""Plans: what a budget should reach, or which budget a half-width takes, before anything is judged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from activeeval.cases.case import check_fits, prepare
from activeeval.cases.truths import asked_k
from activeeval.errors import InputError
from activeeval.planning import MeasurePlan
from activeeval.report.rendering import Cell
from activeeval.report.result_pictures import draw_half_widths
from activeeval.report.rows import amount, plan_rows
from activeeval.report.shown import Shown
from activeeval.report.words import text_of
from activeeval.tasks.plan import goals_of, plan_measure
from activeeval.verbs.arguments import budget_of, check_scope, measures_of
from activeeval.verbs.choosing import PoolOptions, choices_of, frame_kind_of

_AS_MANY = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Plan(Shown):
    """What methods should reach for measures; `plan` makes it.

    Attributes
    ----------
    plans : tuple of MeasurePlan
        For each measure and question.
    confidence : float
        Of the intervals to expect.
    scope : str
        What they are about.
    goal : float or None
        The half-width that is asked for.
    notes : tuple of str
        What else to know, in sentences.
    frame_kind : str
        The library whose frames came in, "" where none did.
    """

    plans: tuple[MeasurePlan, ...]
    confidence: float
    scope: str = "pool"
    goal: float | None = None
    notes: tuple[str, ...] = ()
    frame_kind: str = ""

    @property
    def budget(self) -> float:
        """The budget to take, in mean items: the largest that a goal takes, or that was asked for."""
        return float(math.ceil(max(row.prospect.budget for plan in self.plans for row in plan.chosen) - 1e-6))

    @property
    def half_width(self) -> float:
        """The half-width to expect there; the widest of several questions."""
        return self._widest[0]

    @property
    def low(self) -> float:
        """Where four of five samples should lie: from here on."""
        return self._widest[1]

    @property
    def high(self) -> float:
        """Where four of five samples should lie: up to here."""
        return self._widest[2]

    @property
    def _widest(self) -> tuple[float, float, float]:
        rows = [row.prospect for plan in self.plans for row in plan.chosen]
        widest = max(rows, key=lambda prospect: prospect.half_width(self.scope, self.confidence))
        return (
            widest.half_width(self.scope, self.confidence),
            *widest.half_widths(self.scope, self.confidence),
        )

    @property
    def sentences(self) -> list[str]:
        """What to take and what it should reach, in a sentence for each of the first questions."""
        return [self._sentence(plan) for plan in self.plans[:_AS_MANY]]

    def _sentence(self, plan: MeasurePlan) -> str:
        row = plan.chosen[0]
        prospect, unit = row.prospect, plan.target.pool.cost_unit
        low, high = prospect.half_widths(self.scope, self.confidence)
        paid = f"{math.ceil(prospect.budget - 1e-6):,} {unit} by {prospect.method}"
        what = f"about {prospect.items:,.0f} items of {prospect.queries:,.0f} queries"
        reach = f"± {low:.2g} to {high:.2g}" if math.isfinite(high) else "no interval yet"
        if row.goal is None:
            return f"{plan.name}: {paid} should reach {reach}, {what}."
        return f"{plan.name}: {row.goal} takes {paid}, {what}; they should reach {reach}."

    @property
    def table(self) -> list[dict[str, str]]:
        """The budgets of the methods to take, with the half-widths to expect; ``*`` reaches a goal."""
        shown = []
        for plan in self.plans:
            for row in plan.rows_of({plan.best}):
                low, high = row.prospect.half_widths(self.scope, self.confidence)
                shown.append(
                    {
                        "question": plan.name,
                        "budget": amount(row.prospect.budget) + ("*" if row.goal else ""),
                        "half-width": f"{row.prospect.half_width(self.scope, self.confidence):.2g}",
                        "four of five": f"{low:.2g} to {high:.2g}",
                        "queries": f"{row.prospect.queries:,.0f}",
                    }
                )
        return shown

    @property
    def footnotes(self) -> list[str]:
        """What half-widths are of, and what else to know."""
        about = "these queries" if self.scope == "pool" else "all queries that these are a sample of"
        notes = [f"{note[:1].upper()}{note[1:]}." for note in self.notes]
        return [f"Half-widths of {100 * self.confidence:g} % intervals about {about}.", *notes]

    def rows(self) -> list[dict[str, Cell]]:
        """Return a row for each question, method and budget, as the command line has it."""
        return [row for plan in self.plans for row in plan_rows(plan, confidence=self.confidence, seconds=None)]

    def plot(self, ax: Any = None) -> Any:
        """Draw the half-width to expect over budgets, of the question with the widest; return the axes."""
        plan = max(self.plans, key=lambda each: each.chosen[0].prospect.half_width(self.scope, self.confidence))
        prospects = [row.prospect for row in plan.rows_of({plan.best})]
        points = [
            (each.budget, each.half_width(self.scope, self.confidence), *each.half_widths(self.scope, self.confidence))
            for each in prospects
        ]
        label = f"{plan.name} by {plan.best}"
        return draw_half_widths(points, label, plan.target.pool.cost_unit, self.goal, ax)


def plan(
    runs: Any,
    *,
    measure: Any = "DCG",
    half_width: float | None = None,
    difference: float | None = None,
    power: float = 0.8,
    budget: Any = None,
    max_grade: int | None = None,
    judged: Any = None,
    names: Sequence[str] = (),
    methods: Sequence[str] = (),
    judging: str = "grades",
    scope: str = "pool",
    confidence: float = 0.95,
    seed: int = 0,
    **options: Unpack[PoolOptions],
) -> Plan:
    """Say what a budget should reach, or which budget a half-width or a difference takes; no label is looked at.

    Parameters
    ----------
    runs, measure, max_grade, judged, names, judging, options
        As of `sample`.
    half_width : float, optional
        What intervals should come to: the budget for that is planned.
    difference, power : float
        A difference that should be detected, and the chance of that.
    budget : int, float or str, or a list of them
        What these should reach: 200, "10%".
    methods : sequence of str
        To show beside passive and the measure's default.
    scope : {"pool", "population"}
        What the intervals are about: these queries, or all that they are a sample of.
    confidence : float
        Of the intervals.

    Examples
    --------
    >>> runs = {name: {f"q{q}": {f"d{d}": float((d * k + q) % 7) for d in range(6)} for q in range(20)}
    ...         for k, name in enumerate(["new", "old"], 1)}
    >>> planned = plan(runs, measure="DCG@5", half_width=0.5, max_grade=3)
    >>> planned.low < planned.high, planned.to_frame("polars").height > 2
    (True, True)
    >>> plan(runs, measure="DCG@5", budget="50%", max_grade=3).budget
    52.0
    """
    goals = goals_of(half_width, difference, power, scope=check_scope(scope), confidence=confidence)
    budgets = [
        held for each in (budget if isinstance(budget, (list, tuple)) else [budget]) if (held := budget_of(each))
    ]
    if budgets and half_width is not None:
        raise InputError("`half_width` asks which budget: give that or `budget`", field="budget")
    measures, _ = measures_of(measure)
    check_fits(measures, methods)
    choices = choices_of(runs, names, judged, max_grade, seed, {**options})
    case = prepare(replace(choices, top_k=asked_k(judging, measures)), use_labels=False)
    share = options.get("defensive_share")
    plans = [
        made
        for each in dict.fromkeys(measures)
        for made in plan_measure(case, each, methods, budgets, goals, defensive_share=share)
    ]
    notes = tuple(dict.fromkeys(text_of(note) for note in case.notes))
    return Plan(
        plans=tuple(plans),
        confidence=confidence,
        scope=scope,
        goal=half_width,
        notes=notes,
        frame_kind=frame_kind_of(runs, judged, options),
    )
