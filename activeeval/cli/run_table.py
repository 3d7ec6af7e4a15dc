"""Runs side by side for reading: a table with a line for each run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from activeeval.cli.output import emit

if TYPE_CHECKING:
    from activeeval.tasks.score import RunRow, RunTable


def show_run_table(scored: RunTable, form: str, places: int) -> None:
    """Print a line for each run: as text a table for each measure, elsewhere one with the columns of all measures.

    A note below says what the intervals are, and what is marked.
    """
    from activeeval.estimation.significance import TESTS
    from activeeval.report import note_text

    alpha, measures = 1 - scored.confidence, scored.by_measure
    blocks = [[_cells(run, alpha, places) for run in runs] for runs in measures]
    if form == "text":
        for runs, cells in zip(measures, blocks, strict=True):
            names = [{runs[0].scores.measure: run.run} for run in runs]
            emit([name | row for name, row in zip(names, cells, strict=True)], form, places)
            click.echo()
    else:
        emit([_joined(measures, blocks, k) for k in range(len(measures[0]))], form, places)
        click.echo()
    n = len(measures) * (len(measures[0]) - 1)
    by = scored.correction.capitalize()
    adjusted = ", not corrected" if by == "None" else f", {by} over {n} differences"
    what = f"p by {TESTS[scored.test]} against {measures[0][scored.baseline].run}{adjusted if n > 1 else ''}"
    note = f"* {what}, at most {alpha:g}. In brackets {100 * scored.confidence:g} % t intervals."
    click.echo(note_text(note, form))


def _joined(measures: Sequence[Sequence[RunRow]], blocks: Sequence[Sequence[dict[str, str]]], k: int) -> dict[str, str]:
    """Return the line of the ``k``-th run with the columns of all measures."""
    row = {"run": measures[0][k].run}
    for runs, cells in zip(measures, blocks, strict=True):
        measure = runs[0].scores.measure
        row |= {measure if name == "mean" else f"{measure} {name}": cell for name, cell in cells[k].items()}
    return row


def _cells(run: RunRow, alpha: float, places: int) -> dict[str, str]:
    """Return what is shown of a run by one measure; the baseline has no difference."""
    from activeeval.report import format_cell

    summary, pair, difference = run.scores.summary, run.comparison, dict.fromkeys(("difference", "p", "w/t/l"), "")
    if pair is not None and run.p_value is not None:
        mark, sign = "*" if run.p_value <= alpha else "", "+" if pair.difference > 0 else ""
        difference["difference"] = sign + spread(pair.difference, pair.low, pair.high, places, mark)
        difference["p"] = small_p(run.p_value, places)
        difference["w/t/l"] = f"{pair.wins}/{pair.ties}/{pair.losses}"
    mean = {"mean": spread(summary.mean, summary.low, summary.high, places)}
    return mean | difference | {"judged": format_cell(run.scores.judged, places)}


def spread(value: float, low: float, high: float, places: int, mark: str = "") -> str:
    """Return a value with its interval in brackets, ``mark`` behind the value."""
    from activeeval.report import format_cell

    texts = [format_cell(float(x), places) for x in (value, low, high)]
    return f"{texts[0]}{mark} [{texts[1]}, {texts[2]}]"


def small_p(p_value: float, places: int) -> str:
    """Return a p value, as less than the least that can be printed where it would be printed as 0."""
    from activeeval.report import format_cell

    least = 10.0**-places if places > 0 else 0.0
    return f"<{format_cell(least, places)}" if 0 < p_value < least / 2 else format_cell(p_value, places)
