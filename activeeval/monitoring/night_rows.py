"""Convert nights of a watch to rows for JSON and tables."""

from __future__ import annotations

from activeeval.campaigns.report.content import finite
from activeeval.core.answers import Answer
from activeeval.monitoring.series import NightContent
from activeeval.monitoring.settings import Settings
from activeeval.report.cautions import marked
from activeeval.report.rendering import Cell


def rows_of(night: NightContent) -> list[dict[str, Cell]]:
    """Build the rows of a night (a dated run): values, changes, and values by segment."""
    goals = dict(night.settings.segment_half_widths)
    values = [{"kind": "night", **value.row()} for value in night.values]
    segments = [
        {
            "kind": "segment",
            "date": night.date,
            "segment": each.segment or "",
            "measure": each.measure,
            "value": finite(each.value),
            "low": finite(each.low),
            "high": finite(each.high),
            "goal": goals.get(each.segment or ""),
            "queries": each.n_queries,
            "judgments": each.n_items,
        }
        for each in night.segments
    ]
    return marked(
        [*values, *(change_row(change, night.settings) for change in night.changes), *segments], night.cautions
    )


def change_row(change: Answer, settings: Settings) -> dict[str, Cell]:
    """Build the row of a change between two runs for JSON; `from` and `to` name the nights (dated runs).

    `more_labels` is the number of labels that would decide the change; None if it is decided or no number would.
    """
    needed = change.needed
    return {
        "kind": "change",
        "from": change.versus,
        "to": change.system,
        "measure": change.measure,
        "value": finite(change.value),
        "low": finite(change.low),
        "high": finite(change.high),
        "scope": change.scope,
        "p_value": change.p_value,
        "alarm": change.verdict == "worse",
        "margin": change.margin,
        "false_alarms": settings.false_alarms,
        **change.fields(),
        "more_labels": None if needed is None or change.verdict != "undecided" else needed.budget,
    }
