"""Plans: what a budget should reach, or which budget a half-width takes, before anything is judged."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from activeeval.core.errors import InputError
from activeeval.core.estimation import check_scope
from activeeval.core.grade_models.values import PLANNED_RHO
from activeeval.core.planning import SamplePlan
from activeeval.core.results import rounded_up
from activeeval.inputs.arguments import budget_of, checked, in_python, looks_of, measures_of
from activeeval.inputs.case import check_fits, prepare
from activeeval.inputs.judging_choice import chosen_judging
from activeeval.report.rendering import Cell
from activeeval.report.result_pictures import draw_half_widths
from activeeval.report.rows import plain_plan_rows, plan_footnote, plan_rows
from activeeval.report.shown import PrintableResult
from activeeval.report.words import text_of
from activeeval.sampling.arguments import PoolOptions, choices_of, frame_kind_of
from activeeval.sampling.grader_price import about_to_ask, asking_notes
from activeeval.sampling.plan_case import goals_of, plan_sample
from activeeval.sampling.segment_budgets import SegmentGoals
from activeeval.sampling.segment_plan import SegmentPlan, check_alone, plan_by_segment


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Plan(PrintableResult):
    """What methods should reach for every measure and question by one sample; `plan` makes it.

    Attributes
    ----------
    sample : SamplePlan
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

    Examples
    --------
    >>> run = {f"q{q}": {f"d{d}": float((d + q) % 7) for d in range(6)} for q in range(20)}
    >>> planned = plan(run, measure="DCG@5", half_width=1, max_grade=3)
    >>> planned.budget, planned.goal
    (52.0, 1)
    >>> planned.half_width <= 1, planned.low is None  # what no label has been held against has no range
    (True, True)
    """

    sample: SamplePlan
    confidence: float
    scope: str = "pool"
    goal: float | None = None
    notes: tuple[str, ...] = ()
    frame_kind: str = ""

    @property
    def budget(self) -> float:
        """The budget to take, in mean items: the largest that a goal takes, or that was asked for."""
        return float(rounded_up(max(row.prospect.budget for plan in self.sample.questions for row in plan.chosen)))

    @property
    def half_width(self) -> float:
        """The half-width to expect there; the widest of several questions."""
        return self._widest[0]

    @property
    def low(self) -> float | None:
        """Where four of five samples should lie: from here on; None before the first label."""
        return self._widest[1]

    @property
    def high(self) -> float | None:
        """Where four of five samples should lie: up to here; None before the first label."""
        return self._widest[2]

    @property
    def _widest(self) -> tuple[float, float | None, float | None]:
        rows = [row.prospect for plan in self.sample.questions for row in plan.chosen]
        widest = max(rows, key=lambda prospect: prospect.half_width(self.scope, self.confidence))
        return (
            widest.half_width(self.scope, self.confidence),
            *widest.known_half_widths(self.scope, self.confidence),
        )

    @property
    def sentences(self) -> list[str]:
        """What to take and what it should reach."""
        return [text_of(note, in_python) for note in self.sample.headlines(self.confidence, None, self.scope)]

    @property
    def table(self) -> list[dict[str, str]]:
        """Budgets with the half-widths to expect; ``*`` reaches a goal."""
        return plain_plan_rows(self.sample, confidence=self.confidence, price=None)

    @property
    def footnotes(self) -> list[str]:
        """What half-widths are of, and what else to know."""
        draw = self.sample.questions[0].target.pool.draw
        wide = "all queries that these are a sample of" if draw is None else f"all the traffic of {draw.log.name}"
        about = "these queries" if self.scope == "pool" else wide
        notes = [f"{note}." for note in self.notes]
        about_all = f"Half-widths of {100 * self.confidence:g} % intervals about {about}."
        return [about_all, plan_footnote(self.table), *notes]

    def rows(self) -> list[dict[str, Cell]]:
        """Return a row for each question, method and budget, as the command line has it."""
        questions = self.sample.questions
        return [row for plan in questions for row in plan_rows(plan, confidence=self.confidence, price=None)]

    def plot(self, ax: Any = None) -> Any:
        """Draw the half-width to expect over budgets, of the question with the widest; return the axes."""
        plan = max(
            self.sample.questions, key=lambda each: each.chosen[0].prospect.half_width(self.scope, self.confidence)
        )
        prospects = [row.prospect for row in plan.rows_of({plan.best})]
        points = [
            (
                each.budget,
                each.half_width(self.scope, self.confidence),
                *each.known_half_widths(self.scope, self.confidence),
            )
            for each in prospects
        ]
        label = f"{plan.name} by {plan.best}"
        return draw_half_widths(points, label, plan.target.pool.cost_unit, self.goal, ax)


@checked
def plan(
    runs: Any,
    *,
    measure: Any = "DCG",
    questions: Any = (),
    weights: str = "equal",
    looks: str | int | None = None,
    half_width: float | None = None,
    difference: float | None = None,
    power: float = 0.8,
    budget: Any = None,
    max_grade: int | None = None,
    judged: Any = None,
    names: Sequence[str] = (),
    methods: Sequence[str] = (),
    ask_price: float | None = None,
    ask_skill: float = PLANNED_RHO,
    judging: str = "grades",
    scope: str = "pool",
    confidence: float = 0.95,
    segments: str | os.PathLike[str] | None = None,
    segment_half_widths: Mapping[str, float] | None = None,
    seed: int = 0,
    **options: Unpack[PoolOptions],
) -> Plan | SegmentPlan:
    """Say what a budget should reach, or which budget a half-width or a difference takes; no label is looked at.

    Parameters
    ----------
    runs, measure, questions, weights, looks, max_grade, judged, names, judging, options
        As of `sample`: one sample answers all measures and questions.
    half_width : float, optional
        What intervals should come to: the budget for that is planned.
    difference, power : float
        A difference that should be detected, and the chance of that.
    budget : int, float or str, or a list of them
        What these should reach: 200, "10%".
    methods : sequence of str
        To show beside passive and the measure's default.
    ask_price, ask_skill : float
        A machine that nobody has asked yet, at this part of a person's price an item: the notes say whether it is worth
        it, if its values correlate with people's grades by so much. Of ``graders`` with a price they say it too.
    scope : {"pool", "population"}
        What the intervals are about: these queries, or all that they are a sample of.
    confidence : float
        Of the intervals.
    segments, segment_half_widths
        As of `sample`: the least budget that reaches these, as a `SegmentPlan`.

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
    if segments is not None or segment_half_widths:
        check_alone(budget=budget, difference=difference, ask_price=ask_price)
        about = {"scope": check_scope(scope), "confidence": confidence}
        source = None if segments is None else os.fspath(segments)
        wanted = SegmentGoals.of(source, segment_half_widths or {}, half_width, **about)
        measures, _ = measures_of(measure)
        choices = choices_of(runs, names, judged, max_grade, seed, {**options})
        choices = replace(choices, judging=chosen_judging(judging, measures))
        asked: dict[str, Any] = {
            "questions": tuple(questions or ()),
            "methods": tuple(methods or ()),
            "weights": weights,
        }
        made_of = frame_kind_of(runs, judged, options)
        return plan_by_segment(choices, measures, wanted, looks=looks_of(looks), frame_kind=made_of, **asked)
    goals = goals_of(half_width, difference, power, scope=check_scope(scope), confidence=confidence)
    budgets = [
        held for each in (budget if isinstance(budget, (list, tuple)) else [budget]) if (held := budget_of(each))
    ]
    if budgets and half_width is not None:
        raise InputError("`half_width` asks which budget: give that or `budget`", field="budget")
    measures, _ = measures_of(measure)
    check_fits(measures, tuple(methods or ()))
    choices = choices_of(runs, names, judged, max_grade, seed, {**options})
    choices = replace(choices, judging=chosen_judging(judging, measures))
    case = prepare(choices, use_labels=False, measures=measures)
    case = case if ask_price is None else about_to_ask(case)
    share = options.get("defensive_share")
    how: dict[str, Any] = {"weights": weights, "looks": looks_of(looks)}
    made = plan_sample(
        case, measures, tuple(questions or ()), tuple(methods or ()), budgets, goals, defensive_share=share, **how
    )
    asking = asking_notes(case, made, ask_price, ask_skill, weights=weights, scope=scope, confidence=confidence)
    notes = tuple(dict.fromkeys(text_of(note, in_python) for note in (*case.notes, *asking)))
    return Plan(
        sample=made,
        confidence=confidence,
        scope=scope,
        goal=half_width,
        notes=notes,
        frame_kind=frame_kind_of(runs, judged, options),
    )
