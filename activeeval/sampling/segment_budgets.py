"""Budgets by segment: the cheapest sample whose intervals reach a half-width of its own in each segment.

The intervals of segments cover simultaneously: `activeeval.sampling.answers.answers` applies Bonferroni, so that each
has the confidence 1 − α / k for the k segments of the file that occur in the pool, whether or not they have a goal. The
interval for all queries is not adjusted. Queries outside the segments with a goal keep the smallest rates that every
design assigns (`activeeval.core.design.rates.order_of`), so that all queries can be estimated too; they are judged more
only if the half-width for all queries requires it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from activeeval.core.checks import brief, is_number
from activeeval.core.design import equal_loss_weights
from activeeval.core.design.methods import Method, default_method, find_method
from activeeval.core.errors import ChoiceError, InputError, did_you_mean
from activeeval.core.measures import Target
from activeeval.core.planning import BoundedPlan, Forecast, Goal, Planner, SegmentRow, least_budget
from activeeval.core.pool import QueryPool
from activeeval.core.results import Caution, Note, Told, rounded_up
from activeeval.core.types import Bools
from activeeval.formats.tables.segments import Segments, read_segments
from activeeval.inputs.budgets import Budget, check_open
from activeeval.inputs.prepared_case import PreparedCase
from activeeval.inputs.systems import QuestionTarget, check_differ
from activeeval.sampling.answers import FEWEST
from activeeval.sampling.plan_case import name_of, planner_of

_SLACK = 0.9
"""Share of a half-width to reach below which the expected one is much smaller than needed."""
HalfWidths = Mapping[str, float] | Iterable[tuple[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentGoals:
    """Half-widths to reach by segment, and optionally for all queries.

    Attributes
    ----------
    source : str or Segments
        Assigns queries to segments: a file, or its content.
    half_widths : mapping of str to float
        By segment.
    whole : float or None
        For all queries.
    scope : {"pool", "population"}
        The queries that the intervals are for: those of the pool, or all that these are a sample of.
    confidence : float
        Simultaneous confidence of the intervals of all segments.

    Examples
    --------
    >>> print(SegmentGoals(source="segments.csv", half_widths={"mobile": 0.05, "desktop": 0.1}, whole=0.03))
    ± 0.05 for mobile, ± 0.1 for desktop, ± 0.03 for all
    """

    source: str | Segments
    half_widths: Mapping[str, float]
    whole: float | None = None
    scope: str = "pool"
    confidence: float = 0.95

    @classmethod
    def of(
        cls, segments: str | Segments | None, half_widths: HalfWidths, whole: float | None = None, **how: Any
    ) -> SegmentGoals:
        """Check the half-widths of segments and build the goals.

        ``segments`` is a file of query_id and segment, or its content; ``whole`` the half-width for all queries, if
        any; ``how`` are scope ("pool" or "population") and confidence.

        Raises
        ------
        ChoiceError, InputError
            If segments or half-widths are missing, a segment is named twice, or a half-width is not positive.
        """
        pairs = list(half_widths.items() if isinstance(half_widths, Mapping) else half_widths)
        if not pairs:
            problem = "`segments` goes with the `half_width` of a segment, as mobile=0.05"
            raise ChoiceError(problem, field="half_width")
        if segments is None:
            problem = "`half_width` of a segment needs `segments`: a table of query_id and segment"
            raise ChoiceError(problem, field="segments")
        by_name: dict[str, float] = {}
        for name, half_width in pairs:
            if name in by_name:
                raise ChoiceError(f"segment {name} is given twice in `half_width`", field="half_width")
            if not is_number(half_width) or not 0 < half_width < math.inf:
                problem = f"the half-width of segment {name} must be a positive number, got {brief(half_width)}"
                raise InputError(problem, field="half_width")
            by_name[name] = float(half_width)
        return cls(source=segments, half_widths=by_name, whole=whole, **how)

    def of_part(self, name: str | None, n_segments: int) -> Goal | None:
        """Return the goal of a segment, or of all queries (``name`` None); None if there is none.

        The confidence of a segment is Bonferroni-corrected for ``n_segments``.
        """
        half_width = self.whole if name is None else self.half_widths[name]
        if half_width is None:
            return None
        confidence = self.confidence if name is None else 1 - (1 - self.confidence) / n_segments
        return Goal(half_width=half_width, scope=self.scope, confidence=confidence)

    def check_known(self, segments: Segments) -> None:
        """Raise InputError if a segment with a goal is not in the file."""
        known = list(dict.fromkeys(segments.names.tolist()))
        for name in self.half_widths:
            if name not in known:
                named = f"{did_you_mean(name, known)}known: {', '.join(known)}"
                raise InputError(f"{self.source}: no segment {name!r}; {named}", field="half_width")

    def members(self, segments: Segments, pool: QueryPool) -> tuple[dict[str, Bools], list[Note]]:
        """Map each segment to flags of its queries, shape (n_queries,); also return notes on the file.

        Raise InputError if a segment with a goal is unknown or has no query in the pool.
        """
        self.check_known(segments)
        members, notes = segments.of(pool)
        for name in self.half_widths:
            if name not in members:
                problem = f"{self.source}: the pool holds no query of segment {name}"
                raise InputError(problem, field="half_width")
        return members, notes

    def __str__(self) -> str:
        """Format as "± 0.05 for mobile, ± 0.03 for all"."""
        whose = " of the population" if self.scope == "population" else ""
        parts = [f"± {half:g} for {name}" for name, half in self.half_widths.items()]
        return ", ".join([*parts, *([] if self.whole is None else [f"± {self.whole:g} for all"])]) + whose


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SegmentBudget:
    """Budget that half-widths by segment need, and the design of a sample for it.

    Attributes
    ----------
    goals : SegmentGoals
    bounded : BoundedPlan
        The plan for these goals, without the price of graders.
    budget : Budget
        Includes the price of graders.
    beside : tuple of Target
        Targets of the segments with a goal; their weights follow those of the questions in ``weights``.
    weights : tuple of float
        Weights of the targets in the sampling rates: those of the questions, then those of ``beside``.
    rows : tuple of SegmentRow
        The segments with a goal, question by question, then all queries.
    notes : tuple of Note or Caution
        Notes on the file and on the predicted half-widths.
    """

    goals: SegmentGoals
    bounded: BoundedPlan
    budget: Budget
    beside: tuple[Target, ...]
    weights: tuple[float, ...]
    rows: tuple[SegmentRow, ...]
    notes: tuple[Note | Caution, ...]

    def headline(self, unit: str, seconds: float | None = None) -> Note:
        """Build the note with the budget, and with the one that a sample planned without segments would need.

        ``unit`` is that of budgets, ``seconds`` the duration of a judgment.
        """
        alike, budget = self.bounded.alike, self.bounded.budget  # without segments, and with
        return Note(
            "segments budget",
            {
                "goals": str(self.goals),
                "budget": float(self.budget.amount),
                "unit": unit,
                "method": self.bounded.method,
                "alike": rounded_up(alike),
                "times": alike / budget if budget > 0 else 1.0,
                "hours": None if seconds is None else self.budget.amount * seconds / 3600,
            },
        )


def segment_budget(
    case: PreparedCase,
    measures: Sequence[str],
    questions: Sequence[str],
    goals: SegmentGoals,
    *,
    method: str | None = None,
    defensive_share: float | None = None,
    weights: str = "equal",
    adaptive_depth: str | None = None,
) -> SegmentBudget:
    """Find the smallest budget with which one sample should reach every half-width, for every measure and question.

    Parameters
    ----------
    case : PreparedCase
        The pool with its rankings, grade model and known grades.
    measures : sequence of str
        Names of measures, as "DCG@10".
    questions : sequence of {"difference", "run", "versus"}
        By default the differences of several rankings, or the value of one.
    goals : SegmentGoals
        Half-widths to reach by segment (part of the queries), and optionally for all queries.
    method : str, optional
        By default the best one for the measures.
    defensive_share : float, optional
        Share of sampling that ignores the grade model.
    weights, adaptive_depth
        Only "equal", and None or "off": other values raise ChoiceError.

    Raises
    ------
    ChoiceError, InputError
        If a segment is unknown or has no query in the pool, a half-width cannot be reached, or an option does not go
        with segments.
    """
    if weights != "equal":
        raise ChoiceError("`weights` follow from half-widths by segment: leave them out", field="weights")
    if adaptive_depth not in (None, "off"):
        problem = f"`adaptive_depth` {adaptive_depth} lets labels decide: half-widths by segment are planned "
        problem += "before any, with `adaptive_depth` off"
        raise ChoiceError(problem, field="adaptive_depth")
    # targets: each question for all queries, then for each segment with a goal
    questions_of_whole = case.asked(list(dict.fromkeys(measures)), list(dict.fromkeys(questions)))
    targets = [question.target for question in questions_of_whole]
    check_differ(questions_of_whole)
    check_open(*targets)
    chosen = _checked_method(method, targets)
    members, notes = goals.members(read_segments(goals.source), case.inputs.pool)
    parts = [(name, question) for name in (None, *goals.half_widths) for question in questions_of_whole]
    every = [part.target if name is None else replace(part.target, within=members[name]) for name, part in parts]
    planner = planner_of(case, every, defensive_share=defensive_share)
    about = _SegmentQuestions(case=case, goals=goals, parts=parts, planner=planner, members=members)
    bounded = least_budget(planner, chosen, about.wanted, about.whole_weights(chosen, len(targets)), about.unreachable)
    asking = case.asking_cost(*targets)
    rows = tuple(about.row(which, bounded) for which in (*range(len(targets), len(parts)), *range(len(targets))))
    return SegmentBudget(
        goals=goals,
        bounded=bounded,
        budget=Budget(float(rounded_up(bounded.budget + asking))),
        beside=tuple(every[len(targets) :]),
        weights=tuple(bounded.weights.tolist()),
        rows=rows,
        notes=(*notes, *expected_by_segment(rows)),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _SegmentQuestions:
    """Questions for all queries, then those for every segment with a goal, and their planner.

    Attributes
    ----------
    parts : sequence of (str or None, QuestionTarget)
        Segment (None for all queries) and question, in the order of the planner's targets.
    members : mapping of str to ndarray of bool
        Flags of the queries of each segment, shape (n_queries,).
    """

    case: PreparedCase
    goals: SegmentGoals
    parts: Sequence[tuple[str | None, QuestionTarget]]
    planner: Planner
    members: Mapping[str, Bools]

    @property
    def wanted(self) -> dict[int, Goal]:
        """Half-widths to reach, by index of the part (question in a segment or all queries) that has one."""
        goals = ((which, self.goals.of_part(name, len(self.members))) for which, (name, _) in enumerate(self.parts))
        return {which: goal for which, goal in goals if goal is not None}

    def whole_weights(self, method: Method, n: int) -> list[float]:
        """Return the weights of a sample planned without segments: equal loss for the first n parts, 0 for others.

        The first n parts are the questions for all queries. Losses are relative to a design for one question alone.
        """
        nothing = [0.0] * (len(self.parts) - n)
        if n == 1:
            return [1.0, *nothing]
        p = self.planner.targets[0].pool.query_probs
        return [*equal_loss_weights(self.planner.design_input(method).first(n).planned(p)), *nothing]

    def unreachable(self, which: int, forecast: Forecast) -> InputError:
        """Build the error for a half-width that judging everything does not reach.

        ``which`` is the index of the part (segment or None, and question), ``forecast`` its expected precision.
        """
        (name, part), goal = self.parts[which], self.wanted[which]
        least = forecast.all_judged.half_width(goal.scope, goal.confidence)
        several = len({id(question) for _, question in self.parts}) > 1
        where = "the whole" if name is None else f"segment {name}"
        what = f"{where}{f', {name_of(self.case, part)},' if several else ''} cannot be narrower than ± {least:.3g}"
        whose = " for the population" if goal.scope == "population" else ""
        text = f"{what}{whose}, with everything judged; expected at least that, got {goal.half_width:g}"
        return InputError(text, field="half_width")

    def row(self, which: int, bounded: BoundedPlan) -> SegmentRow:
        """Predict the precision of part ``which`` (a question in a segment or all queries) at the budget of a plan.

        ``is_slack``: other parts need so large a budget that the half-width is far below its own goal.
        """
        (name, part), goal, scope = self.parts[which], self.wanted.get(which), self.goals.scope
        prospect = bounded.forecasts[which].at(float(rounded_up(bounded.budget)))
        confidence = self.goals.confidence if goal is None else goal.confidence
        half_width, (low, high) = prospect.half_width(scope, confidence), prospect.known_half_widths(scope, confidence)
        return SegmentRow(
            segment=name,
            measure=part.target.name,
            question=part.question,
            name=name_of(self.case, part),
            goal=None if goal is None else goal.half_width,
            half_width=half_width,
            low=low,
            high=high,
            queries=prospect.queries,
            items=prospect.items,
            n_queries=int(part.target.pool.n_queries if name is None else self.members[name].sum()),
            is_slack=goal is not None and goal.half_width is not None and half_width < _SLACK * goal.half_width,
        )


def expected_by_segment(rows: Sequence[SegmentRow]) -> list[Note | Caution]:
    """Build notes on the predicted half-width of every segment with a goal.

    The last one is a warning about segments with too few judged queries for an estimate, if any.
    """
    notes: list[Note | Caution] = []
    for row in rows:
        if row.segment is None:
            continue
        numbers: dict[str, Told] = {"segment": row.segment, "name": row.name, "half_width": row.half_width}
        numbers |= {"low": row.low, "high": row.high, "n_queries": rounded_up(row.queries), "of": row.n_queries}
        notes.append(Note("planned segment", {**numbers, "n_items": rounded_up(row.items)}))
    few = [row for row in rows if row.segment is not None and row.half_width > 0 and row.queries < FEWEST]
    names = tuple(dict.fromkeys(row.segment or "" for row in few))
    return [*notes, *([Caution("warning", "hardly read", {"segments": names, "fewest": FEWEST})] if few else [])]


def _checked_method(name: str | None, targets: Sequence[Target]) -> Method:
    """Find the method, by default the best for the measures; InputError if it, or a measure, allows no segments."""
    if not all(target.measure.reads_parts for target in targets):
        whole = "not of the top k, nor of gains by rank"
        problem = f"half-widths by segment are of measures that can read a part of a query's labels: {whole}"
        raise InputError(problem, field="half_width")
    method = find_method(name or default_method(*(target.measure for target in targets)).name)
    if not method.scheme.answers_several or not method.is_optimal:
        why = "draws with replacement" if method.with_replacement else "takes all queries alike"
        problem = f"method {method.name!r} {why}: half-widths by segment are for whole, depth and items"
        raise InputError(problem, field="method")
    return method
