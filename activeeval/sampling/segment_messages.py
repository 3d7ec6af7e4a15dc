"""Messages and rows of budgets by segment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from activeeval.report.numbers import FOUR_IN_FIVE, spanned
from activeeval.report.rendering import Cell

if TYPE_CHECKING:
    from activeeval.core.planning import BoundedPlan, SegmentRow
    from activeeval.report.message_lookup import MessageWords


def _budget(numbers: Mapping[str, Any]) -> str:
    """Build the template of the sentence on the budget, the method, and the budget without segments.

    ``numbers`` are those of the note, which also fill the template's placeholders.
    """
    hours = "" if numbers["hours"] is None else ", {hours:.3g hour},"
    alike = "a sample without segments needs {alike:,}, {times:.1f} times that"
    return f"{{goals}}: about {{budget:,.0f}} {{unit}}{hours} by {{method}}; {alike}"


def _planned_segment(numbers: Mapping[str, Any]) -> str:
    """Build the template of the sentence on the predicted half-width of a segment.

    ``numbers`` are those of the note, which also fill the template's placeholders.
    """
    known = "" if numbers["low"] is None else " ({low:.3g} to {high:.3g})"
    text = f"segment {{segment}}, {{name}}: ± {{half_width:.3g}}{known}, of "
    return text + "{n_queries:,} of {of:query}, {n_items:judgment}"


WORDS: dict[str, MessageWords] = {
    "segments budget": _budget,
    "planned segment": _planned_segment,
    "night enough": "{goals}: about {needed:new label} tonight, of the {budget:g} that a night may cost",
    "night in hand": "{goals}: earlier labels should be enough, nothing new is drawn",
    "night too dear": "{goals} would take about {needed:new label} tonight: drawn for {budget:g}, the intervals "
    "will be wider",
    "hardly read": "fewer than {fewest:query} of segment {segments} will be judged, too few for an estimate: "
    "choose a smaller half-width",
}


def segment_rows(
    rows: Sequence[SegmentRow], plan: BoundedPlan, budget: float, seconds: float | None = None
) -> list[dict[str, Cell]]:
    """Build a row for each question in each segment with a goal, and for all queries, with ``segment`` None.

    ``budget`` is in mean items, and ``plan`` adds the method and the budget that a sample planned without segments
    needs (``budget_alike``). ``seconds`` is the time to judge a mean item; with it, rows have ``hours``.
    """
    hours: dict[str, Cell] = {} if seconds is None else {"hours": budget * seconds / 3600}
    return [
        {**asdict(row), "method": plan.method, "budget": budget, "budget_alike": plan.alike, **hours} for row in rows
    ]


def plain_segment_rows(rows: Sequence[SegmentRow]) -> list[dict[str, str]]:
    """Format rows for reading; the question is shown if there are several."""
    several = len({row.name for row in rows}) > 1
    return [_plain(row, several=several) for row in rows]


def segment_footnote(rows: Sequence[SegmentRow], confidence: float) -> str:
    """Write the footnote on the columns of `plain_segment_rows`."""
    at_once = f"Intervals of all segments hold at once with {100 * confidence:g} %; that of all stands alone."
    slack = ["*: the others take more than this one needs."] if any(row.is_slack for row in rows) else []
    return " ".join([at_once, FOUR_IN_FIVE, *slack])


def _plain(row: SegmentRow, *, several: bool) -> dict[str, str]:
    """Format one row for reading; ``*`` marks a goal that the budget reaches by far. ``several`` adds the question."""
    goal = "" if row.goal is None else f"{row.goal:g}{' *' if row.is_slack else ''}"
    return {
        "segment": "all" if row.segment is None else row.segment,
        **({"question": row.name} if several else {}),
        "asked": goal,
        "half-width": f"{row.half_width:.3g}",
        "four in five": spanned(row.low, row.high),
        "queries": f"{row.queries:,.0f} of {row.n_queries:,}",
        "judgments": f"{row.items:,.0f}",
    }
