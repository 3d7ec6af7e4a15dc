"""Print runs side by side: the main result in a sentence, a table of the runs, and definitions of its marks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from activeeval.cli.option_names import option_here
from activeeval.cli.output import emit, show_text
from activeeval.report.numbers import number

if TYPE_CHECKING:
    from activeeval.core.answers import Answer
    from activeeval.scoring.run_table import RunRow, RunTable

_PLACES = 4
"""Decimal places of all figures of a table of runs."""


def show_run_table(scored: RunTable, form: str, *, versus: bool = False) -> None:
    """Print for readers: as text, sentences and a table for each measure; else one table with all measures' columns.

    Parameters
    ----------
    scored : RunTable
    form : str
        Output format: "text", or that of a table for documents, as "markdown".
    versus : bool
        Compare the first run with the second in one row for each measure.
    """
    from activeeval.report.rendering import note_text

    if form == "text":
        _show_sentences(scored, versus)
    if versus:
        emit(_versus_rows(scored), form)
    elif len(scored.by_measure[0]) == 1:
        from activeeval.report.answer_sentences import table_of

        emit(table_of([finding for (finding,) in scored.findings], _PLACES), form)
    else:
        _show_runs(scored, form)
    click.echo()
    note = _note(scored, versus)
    show_text(note) if form == "text" else click.echo(note_text(note, form))


def _show_sentences(scored: RunTable, versus: bool) -> None:
    """Print the main result of each measure as a sentence: of several runs, that of the largest difference.

    ``findings`` hold the answers of each measure, run by run.
    """
    from activeeval.report.answer_sentences import headline

    findings = [of_measure[0] for of_measure in scored.findings]
    if not versus and len(scored.by_measure[0]) > 1:
        findings = [_best(of_measure, scored.baseline) for of_measure in scored.findings]
    for line in headline(findings):
        show_text(line)
    click.echo()


def _best(findings: Sequence[Answer], baseline: int) -> Answer:
    """Return the result of the run with the largest difference from the baseline, whose position is ``baseline``."""
    others = [finding for k, finding in enumerate(findings) if k != baseline]
    return max(others, key=lambda finding: finding.value)


def _show_runs(scored: RunTable, form: str) -> None:
    """Print the table of runs: as text one for each measure, else one with the columns of all measures."""
    from activeeval.report.answer_sentences import fitting

    alpha, measures = 1 - scored.confidence, scored.by_measure
    blocks = [[_cells(run, runs[scored.baseline].run, alpha) for run in runs] for runs in measures]
    if form != "text":
        emit([_joined(measures, blocks, k) for k in range(len(measures[0]))], form)
        return
    for k, (runs, cells) in enumerate(zip(measures, blocks, strict=True)):
        if k:
            click.echo()
        emit(fitting(partial(_named, runs, _telling(cells))), form)  # `fitting` shortens names to the width of a page


def _named(runs: Sequence[RunRow], cells: Sequence[dict[str, str]], longest: int) -> list[dict[str, str]]:
    """Put the names of runs, shortened to at most ``longest`` characters, before their cells."""
    from activeeval.report.answer_sentences import short_name

    title = runs[0].scores.measure
    return [{title: short_name(run.run, longest)} | row for run, row in zip(runs, cells, strict=True)]


def _note(scored: RunTable, versus: bool) -> str:
    """Write the note that defines marks, intervals, p values and measures; with ``versus`` there are no marks."""
    from activeeval.core.estimation.significance import TESTS
    from activeeval.report.answer_sentences import definitions, scope_in_words
    from activeeval.report.cautions import counting_lines

    measures = scored.by_measure
    note = definitions((runs[0].scores.measure, runs[0].scores.definition) for runs in measures)
    about = scope_in_words("population", "" if scored.pool.draw is None else scored.pool.draw.log.name)
    intervals = f"{100 * scored.confidence:g} % intervals, about {about}."
    n = len(measures) * (len(measures[0]) - 1)
    if n:
        by = scored.correction.capitalize()
        adjusted = ", not corrected" if by == "None" else f", {by} over {n} differences"
        what = f"p by {TESTS[scored.test]} against {measures[0][scored.baseline].run}{adjusted if n > 1 else ''}"
        note.append(f"{what}." if versus else f"* {what}, at most {1 - scored.confidence:.3g}.")
    return " ".join((*note, intervals, *counting_lines(scored.notes, option_here)))


def _versus_rows(scored: RunTable) -> list[dict[str, str]]:
    """Build a row for each measure that compares two runs; names are shortened until the table fits its width."""
    from activeeval.report.answer_sentences import fitting

    return fitting(lambda longest: [_versus_row(runs, scored.baseline, longest) for runs in scored.by_measure])


def _versus_row(runs: Sequence[RunRow], baseline: int, longest: int) -> dict[str, str]:
    """Build the row that compares the other of two runs with the baseline by one measure: run minus baseline.

    ``baseline`` is its position, 0 or 1; names are shortened to at most ``longest`` characters.
    """
    from activeeval.report.answer_sentences import short_name, table_of

    compared, base = runs[1 - baseline], runs[baseline]
    (row,) = table_of([compared.finding(base.run)], _PLACES)
    means = {short_name(run.run, longest): number(run.scores.summary.mean, _PLACES) for run in (compared, base)}
    pair = compared.comparison
    counts = {} if pair is None else {"w/t/l": f"{pair.wins}/{pair.ties}/{pair.losses}"}
    cells = {"measure": row["measure"], **means, "difference": row["value"], "interval": row["interval"]}
    return cells | {"p": row.get("p", "")} | counts


def _joined(measures: Sequence[Sequence[RunRow]], blocks: Sequence[Sequence[dict[str, str]]], k: int) -> dict[str, str]:
    """Build the row of the ``k``-th run with the columns of all measures.

    ``measures`` has the runs of each measure, ``blocks`` their cells: columns to texts.
    """
    row = {"run": measures[0][k].run}
    for runs, cells in zip(measures, blocks, strict=True):
        measure = runs[0].scores.measure
        row |= {measure if name == "mean" else f"{measure} {name}": cell for name, cell in cells[k].items()}
    return row


def _cells(run: RunRow, baseline: str, alpha: float) -> dict[str, str]:
    """Format the cells of a run by one measure; the baseline has no difference.

    ``baseline`` is the name of that run; ``*`` marks differences with a p value of at most ``alpha``.
    """
    from activeeval.report.answer_sentences import figures
    from activeeval.report.numbers import short_p

    pair, difference = run.comparison, dict.fromkeys(("difference", "p", "w/t/l"), "")
    if pair is not None and run.p_value is not None:
        mark = "*" if run.p_value <= alpha else ""
        value, _, between = figures(run.finding(baseline), _PLACES).partition(" ")
        difference["difference"] = f"{value}{mark} {between}"
        difference["p"] = short_p(run.p_value)
        difference["w/t/l"] = f"{pair.wins}/{pair.ties}/{pair.losses}"
    return {"mean": figures(run.mean, _PLACES)} | difference | {"judged": f"{run.scores.judged:.1%}"}


def _telling(cells: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Remove the share of judged items from the ``cells`` of all runs if it is 100 % for each of them."""
    if all(row["judged"] == "100.0%" for row in cells):
        return [{name: cell for name, cell in row.items() if name != "judged"} for row in cells]
    return list(cells)
