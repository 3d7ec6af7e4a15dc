"""What a sample answers: a sentence, a small table and what to do next for readers; rows for machines."""

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
"""Between the 50 topics of Robust 2003, where 84 to 97 % held at once, and the 150 queries and more of MQ2008, where 97
to 98 % did (benchmarks/many_systems.py)."""

if TYPE_CHECKING:
    from activeeval.report.rendering import Cell
    from activeeval.sampling.answers import SampleAnswer
    from activeeval.sampling.estimate import Estimates
    from activeeval.sampling.system_order import Place


class NextSteps(NamedTuple):
    """What to do next, for readers.

    Attributes
    ----------
    grow : str
        The command that adds to the sample, with ``{budget}`` in the place of how much.
    judge : str
        What is said where items wait.
    onward : str
        The command that draws what follows from the labels so far, where they say how deep to judge.
    """

    grow: str = ""
    judge: str = "judge what waits."
    onward: str = ""


def show_estimates(
    estimates: Estimates,
    form: str,
    where: str = "",
    beside: Mapping[str, Cell] | None = None,
    steps: NextSteps | None = None,
    files: Sequence[str] = (),
) -> None:
    """Print what a sample answers, and then say what to know of it.

    Parameters
    ----------
    where : str
        As of when that is, for readers.
    beside : mapping, optional
        The same as fields, for machines.
    steps : Steps
    files : sequence of path
        What it was read from.
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
    counts = estimates.progress
    say_progress(counts._replace(waiting=0) if is_read else counts, estimates.agreement, estimates.policy)
    _say_if_few(estimates.answers)
    say_notes(estimates.notes)
    if is_asked("explain"):
        say_sizes([answer.estimate for answer in estimates.answers])


def _log(rows: list[dict[str, Any]], files: Sequence[str]) -> None:
    """Log rows to MLflow, with the files that they come from."""
    from activeeval.formats.mlflow import log

    say(f"logged to run {log(rows, artifacts=files)} of MLflow")


def _rows(estimates: Estimates, form: str, beside: Mapping[str, Cell] | None) -> list[dict[str, Any]]:
    """Return rows for machines; as JSON each with its cautions."""
    from activeeval.report.cautions import marked
    from activeeval.report.message_lookup import worded

    concerns = [concern for answer in estimates.answers for concern in answer.estimate.cautions]
    rows = marked(estimates.rows(beside), concerns)
    if form == "jsonl":
        for row, answer in zip(rows, estimates.answers, strict=False):
            row["cautions"] = [asdict(worded(caution, option_here)) for caution in answer.estimate.cautions]
    return rows


def _show(estimates: Estimates, where: str, grow: str, judge: str, onward: str) -> None:
    """Print for a reader: sentences, a table, what the words in it mean, and what to do next."""
    for line in estimates.headline:
        show_text(line)
    if estimates.progress.waiting:
        show_text(_early(estimates))
    click.echo()
    show_findings(estimates, "text")
    click.echo()
    show_text(" ".join((*estimates.footnotes, *([f"This is {where}."] if where else []))))
    goes_on = f"`{onward}` draws what these labels lead to." if onward and estimates.goes_on else ""
    if following := judge if estimates.progress.waiting else goes_on or _growing(estimates, grow):
        show_text(f"Next: {following}")


def _early(estimates: Estimates) -> str:
    """Return what is said where items wait: how far that is, and what an interval should come to."""
    counts, first = estimates.progress, estimates.answers[0]
    text = (
        f"This is early: {counts.waiting:,} of {counted(sum(counts), 'item')} "
        f"{agreeing(counts.waiting, 'waits', 'wait')} for a grade"
    )
    now, end = (first.interval.high - first.interval.low) / 2, first.half_width_at_end
    if estimates.kind == "t" and len(estimates.answers) == 1 and 0 < end < math.inf:
        text += f"; once all are judged it should be about ± {end:.2g} (now ± {now:.2g})"
    return f"{text}."


def _growing(estimates: Estimates, grow: str) -> str:
    """Return which command adds what should decide what is open; nothing where none can."""
    more = [answer.needed.budget for answer in estimates.answers if answer.needed and answer.needed.can_grow]
    amounts = [amount for amount in more if amount]
    return f"`{grow.format(budget=f'{max(amounts):g}')}` adds what should decide." if grow and amounts else ""


def show_findings(estimates: Estimates, form: str) -> None:
    """Print the table of what is estimated; of more than two systems those of each measure."""
    from activeeval.report.answer_sentences import table_of

    if estimates.places:
        _show_systems(estimates, form)
        return
    emit(table_of([answer.finding for answer in estimates.answers]), form)


def _say_if_few(answers: Sequence[SampleAnswer]) -> None:
    """Say where simultaneous intervals of many systems rest on too few judged queries."""
    sizes = [answer.estimate.n_open for answer in answers if answer.shared is not None and answer.estimate.n_open]
    if sizes and min(sizes) < FEWEST_AT_ONCE:
        held = "of 50 topics, 136 pairs, all held in 84 to 97 % of the samples, not in 95"
        say(
            f"simultaneous intervals ask much of {counted(min(sizes), 'judged query')}, fewer than {FEWEST_AT_ONCE}: "
            f"{held}"
        )


def _show_systems(estimates: Estimates, form: str) -> None:
    """Print for each measure, and segment, a table of its systems and one of their differences, and what they mean."""
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
    ranks = "Ranks, and who is better than whom, are what they leave certain"
    note = f"* 0 lies outside the interval: {held}. {ranks}. p by the t test, with Holm's correction for as many."
    show_text(note) if form == "text" else click.echo(note_text(note, form))


def _place_rows(title: str, systems: Sequence[Place], longest: int) -> list[dict[str, str]]:
    from activeeval.report.answer_sentences import short_name

    return [{title: short_name(place.system, longest)} | _place_cells(place, longest) for place in systems]


def _place_cells(place: Place, longest: int) -> dict[str, str]:
    from activeeval.report.answer_sentences import figures, some_names

    first, last = place.ranks
    cells = {"rank": f"{first}" if first == last else f"{first} to {last}"}
    if place.answer is not None:
        cells["value"] = figures(place.answer.finding)
    return cells | {"better than": some_names(place.better_than, longest=longest)}


def _marked(row: dict[str, str], answer: SampleAnswer) -> dict[str, str]:
    """Return the row of a difference, its value marked where 0 lies outside of the interval."""
    row.pop("measure")
    is_sure = answer.finding.verdict in ("better", "worse")
    return row | {"value": f"{row['value']}*" if is_sure else row["value"]}
