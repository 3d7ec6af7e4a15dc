"""Format simulations as sentences and rows: errors of methods, coverage and savings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from activeeval.core.results import Figure
from activeeval.report.numbers import number
from activeeval.report.rows import amount

if TYPE_CHECKING:
    from activeeval.core.simulation import SimultaneousResults, Summary

PASSIVE = "passive"
"""Reference method of efficiencies."""
_RANDOM = "random queries judged whole"
_LEAST = ("items", "limit", "wrong winner", "labels saved", "queries", "width")
"""Columns to leave out of a table that is too wide, in this order."""
LEGEND = (
    f"passive: {_RANDOM}. error: root mean squared. coverage: how often a 95 % interval holds the truth; width: its "
    "mean. efficiency: how many times the judgments passive needs for the same error; limit: with the best "
    "probabilities there are."
)


def simulation_sentence(measure: str, of: str, summaries: Sequence[Summary], unit: str) -> str:
    """Write one sentence on the best method at the largest budget, against passive (random queries, judged whole).

    Parameters
    ----------
    measure, of : str
        Display names of the measure and of the systems.
    summaries : sequence of Summary
        Results of each method at each budget.
    unit : str
        Unit of budgets.
    """
    largest = max(summary.budget for summary in summaries)
    at_largest = [summary for summary in summaries if summary.budget == largest]
    others = [summary for summary in at_largest if summary.method != PASSIVE]
    best = min(others or at_largest, key=lambda summary: summary.rmse.value)
    errs = f"{best.method} has RMSE {best.rmse.value:.2g}"
    passive = next((summary for summary in at_largest if summary.method == PASSIVE), best)
    if best is not passive:
        errs += f", {best.efficiency.value:.3g} times as efficient as {_RANDOM} (RMSE {passive.rmse.value:.2g})"
    held = f"its 95 % intervals held the truth in {100 * best.coverage.value:.1f} % of {best.repetitions:,} repetitions"
    return f"{measure}, {of}, {amount(largest)} {unit}: {errs}; {held}."


def at_once_sentence(measure: str, together: Sequence[SimultaneousResults], unit: str) -> str:
    """Write one sentence on the best joint sample for all differences of several systems at the largest budget.

    ``measure`` is the display name, ``unit`` that of budgets.
    """
    largest = max(result.budget for result in together)
    best = max((result for result in together if result.budget == largest), key=lambda result: result.efficiency.value)
    held = f"the intervals of all held at once in {100 * best.coverage.value:.1f} % of {best.repetitions:,} repetitions"
    return (
        f"{measure}, {best.contrasts} differences by one sample of {amount(largest)} {unit}: {best.method} is on "
        f"average {best.efficiency.value:.3g} times as efficient as {_RANDOM} for each of them; {held}."
    )


def brief_rows(summaries: Sequence[Summary]) -> list[dict[str, str]]:
    """Format the main figures as rows of text, without empty columns.

    ``*`` marks methods some of whose samples show no spread, so that their intervals mean nothing.
    """
    rows = []
    for summary in summaries:
        limit, wrong = summary.limit, summary.selection_error
        rows.append(
            {
                "method": summary.method,
                "budget": amount(summary.budget),
                "error": f"{summary.rmse.value:.3g}",
                "coverage": f"{summary.coverage.value:.1%}" + (" *" if summary.undetermined.value > 0 else ""),
                "at every look": f"{summary.coverage_so_far.value:.1%}" if _is_looked_at(summary) else "",
                "width": f"{summary.width.value:.3g}",
                "queries": f"{summary.queries.value:.3g}",
                "items": f"{summary.items.value:.0f}",
                "efficiency": f"{summary.efficiency.value:.2f}",
                "limit": "" if limit is None else f"{limit.value:.2f}",
                "labels saved": "" if summary.method == PASSIVE else _saved(summary),
                "wrong winner": "" if wrong is None else f"{wrong.value:.1%}",
            }
        )
    columns = [name for name in rows[0] if any(row[name] for row in rows)]
    return [{name: row[name] for name in columns} for row in rows]


def fitted(rows: Sequence[dict[str, str]], width: int) -> tuple[list[dict[str, str]], list[str]]:
    """Leave out columns until rows fit a width in characters; return the rows and the names of these columns."""
    fitting, left_out = list(rows), list[str]()
    for name in _LEAST:
        if _width(fitting) <= width:
            break
        if name in fitting[0]:
            left_out.append(name)
            fitting = [{key: cell for key, cell in row.items() if key != name} for row in fitting]
    return fitting, left_out


def no_spread(summaries: Sequence[Summary]) -> str:
    """Write the footnote on methods some of whose samples show no variance; "" if there are none."""
    parts = [
        f"{summary.undetermined.value:.1%} of {summary.method} at {amount(summary.budget)}"
        for summary in summaries
        if summary.undetermined.value > 0
    ]
    return f"* samples without a spread, whose intervals mean nothing: {', '.join(parts)}." if parts else ""


def _width(rows: Sequence[dict[str, str]]) -> int:
    """Compute the width of a table, in characters."""
    return sum(2 + max(len(name), *(len(row[name]) for row in rows)) for name in rows[0]) - 2


def _is_looked_at(summary: Summary) -> bool:
    """Check whether intervals are computed at interim analyses (while the sample grows), not only at the end."""
    return summary.interval == "group-sequential"


def at_once_rows(together: Sequence[SimultaneousResults]) -> list[dict[str, str]]:
    """Format simultaneous results of several differences as rows of text."""
    return [
        {
            "method": result.method,
            "budget": amount(result.budget),
            "all hold at once": _with_error(result.coverage, 3),
            "mean efficiency": _with_error(result.efficiency, 2),
        }
        for result in together
    ]


def plain_rows(summaries: Sequence[Summary]) -> list[dict[str, str]]:
    """Format every figure with its Monte-Carlo standard error in brackets; see `brief_rows` for narrow tables."""
    named = (
        ("rmse", 4),
        ("bias", 4),
        ("coverage", 3),
        ("width", 3),
        ("queries", 1),
        ("items", 0),
        ("spent", 1),
        ("spent_max", 1),
    )
    rows = []
    for summary in summaries:
        row, figures = {"method": summary.method, "budget": amount(summary.budget)}, summary.row()
        row |= {name: number(float(str(figures[name])), places) for name, places in named}
        if summary.undetermined.value > 0:
            row["coverage"] += f" ({summary.undetermined.value:.1%} no spread)"
        if _is_looked_at(summary):
            row["at every look"] = f"{summary.coverage_so_far.value:.3f}"
        row["efficiency"] = _with_error(summary.efficiency, 2)
        if any(s.limit is not None for s in summaries):
            row["limit"] = "" if summary.limit is None else f"{summary.limit.value:.2f}"
        row["labels saved"] = _saved(summary)
        if summary.selection_error is not None:
            row["wrong winner"] = _with_error(summary.selection_error, 3)
        rows.append(row)
    return rows


def _saved(summary: Summary) -> str:
    """Format the share of labels saved, or its lower bound; "" if unknown."""
    if summary.labels_saved is not None:
        return f"{summary.labels_saved.value:.0%}"
    return "" if summary.labels_saved_above is None else f"> {summary.labels_saved_above:.0%}"


def _with_error(figure: Figure, places: int) -> str:
    """Format a figure with its standard error in brackets."""
    return f"{number(figure.value, places)} ({number(figure.se, places)})"
