"""Plans by segment: the least budget that brings the interval of every segment to a half-width of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from activeeval.core.errors import InputError
from activeeval.inputs.arguments import in_python
from activeeval.inputs.case import check_fits, prepare
from activeeval.inputs.choices import Choices
from activeeval.report.rendering import Cell
from activeeval.report.shown import PrintableResult
from activeeval.report.words import text_of
from activeeval.sampling.segment_budgets import SegmentBudget, SegmentGoals, segment_budget
from activeeval.sampling.segment_messages import plain_segment_rows, segment_footnote, segment_rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SegmentPlan(PrintableResult):
    """What one sample takes for half-widths by segment, and what is to be expected of each; `plan` makes it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from activeeval import plan
    >>> run = {f"q{q}": {f"d{d}": float((d + q) % 7) for d in range(6)} for q in range(40)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = pathlib.Path(folder, "segments.csv")
    ...     _ = table.write_text("query_id,segment\\n" + "".join(f"q{q},{'ab'[q % 2]}\\n" for q in range(40)))
    ...     asked = {"segments": table, "segment_half_widths": {"a": 3.0, "b": 4.0}}
    ...     planned = plan(run, measure="DCG@5", max_grade=3, **asked)
    >>> half_widths = planned.half_widths
    >>> half_widths["a"] <= 3.0, half_widths["b"] <= 4.0, planned.budget < 200
    (True, True, True)

    Attributes
    ----------
    planned : SegmentBudget
    unit : str
        What budgets are of.
    notes : tuple of str
        What else to know, in sentences.
    frame_kind : str
        The library whose frames came in, "" where none did.
    """

    planned: SegmentBudget
    unit: str
    notes: tuple[str, ...] = ()
    frame_kind: str = ""

    @property
    def budget(self) -> float:
        """The budget to take, in mean items."""
        return self.planned.budget.amount

    @property
    def half_widths(self) -> dict[str, float]:
        """The half-width to expect of each named segment, the widest of several questions."""
        widest: dict[str, float] = {}
        for row in self.planned.rows:
            if row.segment is not None:
                widest[row.segment] = max(row.half_width, widest.get(row.segment, 0.0))
        return widest

    @property
    def sentences(self) -> list[str]:
        """What to take."""
        return [text_of(self.planned.headline(self.unit), in_python)]

    @property
    def table(self) -> list[dict[str, str]]:
        """Segments with what is asked for and what is to be expected."""
        return plain_segment_rows(self.planned.rows)

    @property
    def footnotes(self) -> list[str]:
        """What the columns mean, and what else to know."""
        return [
            segment_footnote(self.planned.rows, self.planned.goals.confidence),
            *(f"{note}." for note in self.notes),
        ]

    def rows(self) -> list[dict[str, Cell]]:
        """Return a row for each question in each segment, as the command line has it."""
        return segment_rows(self.planned.rows, self.planned.bounded, self.budget)


def check_alone(**others: Any) -> None:
    """Raise InputError where something else is asked for that says which budget."""
    for name, value in others.items():
        if value is not None:
            raise InputError(f"`segment_half_widths` ask which budget for themselves: leave out `{name}`", field=name)


def plan_by_segment(
    choices: Choices,
    measures: Sequence[Any],
    goals: SegmentGoals,
    *,
    questions: Sequence[str],
    methods: Sequence[str],
    weights: str,
    looks: str | None,
    frame_kind: str,
) -> SegmentPlan:
    """Return the plan of half-widths by segment; arguments as of `activeeval.plan`.

    Raises
    ------
    ChoiceError, InputError
        As `activeeval.sampling.segment_budgets.segment_budget`; also where several methods are named.
    """
    if len(methods) > 1:
        raise InputError("half-widths by segment are planned for one method", field="methods")
    check_fits(measures, methods)
    case = prepare(choices, use_labels=False, measures=measures)
    chosen: dict[str, Any] = {"method": methods[0] if methods else None, "weights": weights, "looks": looks}
    planned = segment_budget(case, measures, questions, goals, defensive_share=choices.defensive_share, **chosen)
    others = [note for note in planned.notes if note.code != "planned segment"]
    notes = tuple(dict.fromkeys(text_of(note, in_python) for note in (*case.notes, *others)))
    return SegmentPlan(planned=planned, unit=case.inputs.pool.cost_unit, notes=notes, frame_kind=frame_kind)
