"""Format bounds of runs with unjudged documents as sentences and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from activeeval.report.answer_sentences import definitions, short_name
from activeeval.report.numbers import agreeing, counted, number, places_of

if TYPE_CHECKING:
    from activeeval.scoring.unjudged import UnjudgedBounds


def bounds_sentence(bounds: UnjudgedBounds) -> str:
    """Write one sentence on the possible values of a run by a measure, given its unjudged documents."""
    value = f"{bounds.run}: {bounds.measure} is {bounds.irrelevant:.4g}"
    items = counted(bounds.n_counted, "item")
    if not bounds.n_unjudged:
        return f"{value}, all {items} that {agreeing(bounds.n_counted, 'counts is', 'count are')} judged."
    best = "" if bounds.at_best is None else f", {bounds.at_best:.4g} at best"
    lack = agreeing(bounds.n_unjudged, "is", "are")
    few = f"if the {bounds.n_unjudged:,} of {items} without a judgment {lack} irrelevant"
    more = "; ".join(f"with {counted(n, 'more label')} ± {half:.2g}" for n, half in bounds.more[:1])
    return f"{value} {few}, {bounds.expected:.4g} as the model expects{best}{'; ' if more else ''}{more}."


def bounds_table(all_bounds: Sequence[UnjudgedBounds]) -> list[dict[str, str]]:
    """Format a row of text for each run and measure."""
    rows = []
    for bounds in all_bounds:
        row = {"measure": bounds.measure, "run": short_name(bounds.run, 28), "unjudged": f"{bounds.n_unjudged:,}"}
        row |= {"irrelevant": number(bounds.irrelevant, 4), "expected": number(bounds.expected, 4)}
        row["at best"] = "" if bounds.at_best is None else number(bounds.at_best, 4)
        rows.append(row | {f"± with {n:,}": number(half, places_of(half, half)) for n, half in bounds.more})
    names = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name, "") for name in names} for row in rows]


def bounds_meaning(all_bounds: Sequence[UnjudgedBounds]) -> str:
    """Write the footnote that defines the measures and numbers of a table."""
    parts = [*definitions((bounds.measure, bounds.definition) for bounds in all_bounds)]
    parts.append(f"Means over {counted(all_bounds[0].n_queries, 'judged query')}.")
    if any(bounds.more for bounds in all_bounds):
        parts.append("± is the half-width of the 95 % interval to expect.")
    return " ".join(parts)
