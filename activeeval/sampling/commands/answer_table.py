"""Print estimates of a sample: a sentence, a small table and the next step for readers, or rows for programs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from activeeval.cli.option_names import option_here
from activeeval.cli.output import (
    TRACKED,
    emit,
    is_asked,
    say,
    say_cautions,
    say_notes,
    say_progress,
    say_sizes,
    show_first,
    show_text,
)
from activeeval.report.numbers import agreeing, counted

FEWEST_AT_ONCE = 100
"""Fewest judged queries without a warning on simultaneous intervals: between the 50 topics of Robust 2003, where all
intervals covered in 84 to 97 % of samples, and the 150 and more of MQ2008, 97 to 98 % (benchmarks/many_systems.py)."""

if TYPE_CHECKING:
    from activeeval.report.rendering import Cell
    from activeeval.sampling.answers import SampleAnswer
    from activeeval.sampling.estimate import Estimates
    from activeeval.sampling.system_order import Place


class NextSteps(NamedTuple):
    """Texts on what to do next, for readers.

    Attributes
    ----------
    grow : str
        Command that adds a budget to the sample, with a placeholder ``{budget}``.
    judge : str
        Text if items wait.
    onward : str
        Command that draws the next batch of a sample with adaptive depth.
    """

    grow: str = ""
    judge: str = "judge the items that wait."
    onward: str = ""


def show_estimates(
    estimates: Estimates,
    form: str,
    where: str = "",
    beside: Mapping[str, Cell] | None = None,
    steps: NextSteps | None = None,
    files: Sequence[str] = (),
) -> None:
    """Print the estimates of a sample, then warnings and notes.

    Parameters
    ----------
    form : str
        Output format: text for readers, else a format of rows.
    where : str
        For readers, the state of the judgments that the estimates use ("as of event 76"); "" to leave it out.
    beside : mapping of str to cell, optional
        For programs, that state as further columns of every row: names to values.
    steps : NextSteps
        Texts on what to do next.
    files : sequence of path
        Input files, logged with the estimates.
    """
    from activeeval.report.cautions import missing_lists

    is_read = form == "text" and not is_asked("wide")
    if is_read:
        _show(estimates, where, *(steps or NextSteps()))
    elif form == TRACKED:
        _log(_rows(estimates, "jsonl", beside), files)
    elif form in ("md", "latex"):
        show_first(missing_lists(estimates.missing), form)
        show_findings(estimates, form)
    else:
        show_first(missing_lists(estimates.missing), form)
        emit(_rows(estimates, form, beside), form)
    say_cautions([(answer.title, answer.estimate) for answer in estimates.answers])
    counts = estimates.progress  # numbers of items; those that wait are already in the text for readers
    say_progress(counts._replace(waiting=0) if is_read else counts, estimates.agreement, estimates.policy)
    _say_if_few(estimates.answers)
    say_notes(estimates.notes)
    if is_asked("explain"):
        say_sizes([answer.estimate for answer in estimates.answers])


def _log(rows: list[dict[str, Any]], files: Sequence[str]) -> None:
    """Log rows and their input files as a run of MLflow, and report its name."""
    from activeeval.formats.mlflow import log

    say(f"logged to run {log(rows, artifacts=files)} of MLflow")


def _rows(estimates: Estimates, form: str, beside: Mapping[str, Cell] | None) -> list[dict[str, Any]]:
    """Build rows for programs, with the columns ``beside``; for JSON each with its cautions."""
    from activeeval.report.cautions import marked
    from activeeval.report.message_lookup import worded

    concerns = [concern for answer in estimates.answers for concern in answer.estimate.cautions]
    rows = marked(estimates.rows(beside), concerns)
    if form == "jsonl":
        for row, answer in zip(rows, estimates.answers, strict=False):
            row["cautions"] = [asdict(worded(caution, option_here)) for caution in answer.estimate.cautions]
    return rows


def _show(estimates: Estimates, where: str, grow: str, judge: str, onward: str) -> None:
    """Print for a reader: sentences, a table, definitions of its terms, and the next step.

    ``where`` is the state of the judgments ("as of event 76"), "" to leave it out. ``grow`` is the command that adds a
    budget, with a placeholder ``{budget}``, ``onward`` the one that draws the next batch (adaptive depth); ``judge`` is
    the text if items wait.
    """
    for line in estimates.headline:
        show_text(line)
    if estimates.progress.waiting:
        show_text(_early(estimates))
    click.echo()
    show_findings(estimates, "text")
    click.echo()
    show_text(" ".join((*estimates.footnotes, *([f"This is {where}."] if where else []))))
    goes_on = f"`{onward}` draws the next batch." if onward and estimates.goes_on else ""
    if following := judge if estimates.progress.waiting else goes_on or _growing(estimates, grow):
        show_text(f"Next: {following}")


def _early(estimates: Estimates) -> str:
    """Write the sentence on items that wait for a grade, with the half-width to expect once all are judged."""
    counts, first = estimates.progress, estimates.answers[0]  # judged, waiting and unjudgeable items
    text = (
        f"This is early: {counts.waiting:,} of {counted(sum(counts), 'item')} "
        f"{agreeing(counts.waiting, 'waits', 'wait')} for a grade"
    )
    now, end = (first.interval.high - first.interval.low) / 2, first.half_width_at_end
    if estimates.kind == "t" and len(estimates.answers) == 1 and 0 < end < math.inf:
        text += f"; once all are judged it should be about ± {end:.2g} (now ± {now:.2g})"
    return f"{text}."


def _growing(estimates: Estimates, grow: str) -> str:
    """Write the sentence with the command that adds the budget to decide undecided differences.

    ``grow`` is the command with a placeholder for the budget. "" if no budget decides, or the sample cannot grow.
    """
    more = [answer.needed.budget for answer in estimates.answers if answer.needed and answer.needed.can_grow]
    amounts = [amount for amount in more if amount]
    return f"`{grow.format(budget=f'{max(amounts):g}')}` adds what should decide." if grow and amounts else ""


def show_findings(estimates: Estimates, form: str) -> None:
    """Print the table of estimates in a format; for more than two systems, a set of tables for each measure."""
    from activeeval.report.answer_sentences import table_of

    if estimates.places:  # possible ranks of more than two systems
        _show_systems(estimates, form)
        return
    emit(table_of([answer.finding for answer in estimates.answers]), form)


def _say_if_few(answers: Sequence[SampleAnswer]) -> None:
    """Warn if simultaneous intervals of many systems have too few judged queries (`n_open`: drawn by chance)."""
    sizes = [answer.estimate.n_open for answer in answers if answer.shared is not None and answer.estimate.n_open]
    if sizes and min(sizes) < FEWEST_AT_ONCE:
        held = "of 50 topics, 136 pairs, all held in 84 to 97 % of the samples, not in 95"
        say(
            f"simultaneous intervals ask much of {counted(min(sizes), 'judged query')}, fewer than {FEWEST_AT_ONCE}: "
            f"{held}"
        )


def _show_systems(estimates: Estimates, form: str) -> None:
    """Print for each measure and segment a table of systems and one of differences, and define their terms."""
    from activeeval.report.answer_sentences import fitting, table_of
    from activeeval.report.rendering import note_text

    most = 0
    for name, segment in dict.fromkeys((place.measure, place.segment) for place in estimates.places):
        title = name if segment is None else f"{name}, {segment}"
        systems = [place for place in estimates.places if (place.measure, place.segment) == (name, segment)]
        pairs = [
            answer
            for answer in estimates.answers
            if answer.shared and (answer.target.name, answer.segment) == (name, segment)
        ]
        emit(fitting(partial(_place_rows, title, systems)), form)
        click.echo()
        table = table_of([answer.finding for answer in pairs])
        emit([{title: row.pop("of")} | _marked(row, answer) for row, answer in zip(table, pairs, strict=True)], form)
        click.echo()
        most = max(most, len(pairs))
    sure = f"{100 * estimates.confidence:g} %"
    held = f"max-t intervals of all differences of a measure, at most {most}, which hold at once with {sure}"
    ranks = "Ranks, and which system is better, follow from them"
    note = f"* 0 lies outside the interval: {held}. {ranks}. p by the t test, with Holm's correction for as many."
    show_text(note) if form == "text" else click.echo(note_text(note, form))


def _place_rows(title: str, systems: Sequence[Place], longest: int) -> list[dict[str, str]]:
    """Format the possible ranks of systems as rows; ``title`` heads the first column.

    Names of systems are shortened to at most ``longest`` characters.
    """
    from activeeval.report.answer_sentences import short_name

    return [{title: short_name(place.system, longest)} | _place_cells(place, longest) for place in systems]


def _place_cells(place: Place, longest: int) -> dict[str, str]:
    """Format the possible ranks of one system; names are shortened to at most ``longest`` characters."""
    from activeeval.report.answer_sentences import figures, some_names

    first, last = place.ranks
    cells = {"rank": f"{first}" if first == last else f"{first} to {last}"}
    if place.answer is not None:
        cells["value"] = figures(place.answer.finding)
    return cells | {"better than": some_names(place.better_than, longest=longest)}


def _marked(row: dict[str, str], answer: SampleAnswer) -> dict[str, str]:
    """Remove the measure from the row of a difference, and mark its value with ``*`` if 0 is outside the interval."""
    row.pop("measure")
    is_sure = answer.finding.verdict in ("better", "worse")
    return row | {"value": f"{row['value']}*" if is_sure else row["value"]}
