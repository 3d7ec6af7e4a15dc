"""What a sample answers: rows for machines; of many systems tables to read, of their order and of their differences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from activeeval.cli.inputs import SCOPES
from activeeval.cli.output import emit, say, say_cautions, say_notes, say_progress, say_sizes
from activeeval.cli.run_table import small_p, spread

FEWEST_AT_ONCE = 100
"""Between the 50 topics of Robust 2003, where 84 to 97 % held at once, and the 150 queries and more of MQ2008, where 97
to 98 % did (benchmarks/many_systems.py)."""

if TYPE_CHECKING:
    from activeeval.report.rendering import Cell
    from activeeval.tasks.answers import Answer, Shared
    from activeeval.tasks.estimate import Estimates
    from activeeval.tasks.orders import Place


def show_estimates(
    estimates: Estimates, form: str, places: int, where: str = "", beside: Mapping[str, Cell] | None = None
) -> None:
    """Print what a sample answers, and say what to know of it.

    Parameters
    ----------
    where : str
        As of when that is, for readers.
    beside : mapping, optional
        The same as fields, for machines.
    """
    answers = estimates.answers
    say_cautions([(answer.title, answer.estimate) for answer in answers])
    say_progress(estimates.progress, estimates.agreement, estimates.policy, _expected_at_end(answers, estimates.kind))
    _say_if_few(answers)
    say_notes(estimates.notes)
    if form == "text":
        if where:
            say(where)
        say(f"the intervals are about {SCOPES[estimates.scope]}")
        say_sizes([answer.estimate for answer in answers])
    if estimates.places and form not in ("jsonl", "tsv"):
        _show_systems(estimates, form, places)
    else:
        emit(estimates.rows(beside), form, places)


def _expected_at_end(answers: Sequence[Answer], kind: str) -> str:
    """Return what t intervals are to be expected to become; of others that is not known."""
    if kind != "t":
        return ""
    first = answers[0]
    if len(answers) > 1:
        return "; half_width_at_end is what the intervals should come to once all are judged"
    now = (first.interval.high - first.interval.low) / 2
    if not 0 < first.half_width_at_end < math.inf:
        return ""
    return f"; once all are judged the interval should be about ± {first.half_width_at_end:.3g} (now ± {now:.3g})"


def _say_if_few(answers: Sequence[Answer]) -> None:
    """Say where simultaneous intervals of many systems rest on too few judged queries."""
    sizes = [answer.estimate.n_open for answer in answers if answer.shared is not None and answer.estimate.n_open]
    if sizes and min(sizes) < FEWEST_AT_ONCE:
        held = "of 50 topics, 136 pairs, all held in 84 to 97 % of the samples, not in 95"
        say(f"simultaneous intervals ask much of {min(sizes)} judged queries, fewer than {FEWEST_AT_ONCE}: {held}")


def _show_systems(estimates: Estimates, form: str, places: int) -> None:
    """Print for each measure, and segment, a table of its systems and one of their differences, and what they mean."""
    from activeeval.report import note_text

    most = 0
    for name, segment in dict.fromkeys((place.measure, place.segment) for place in estimates.places):
        title = name if segment is None else f"{name}, {segment}"
        systems = [place for place in estimates.places if (place.measure, place.segment) == (name, segment)]
        pairs = [
            {title: f"{answer.system} - {answer.versus}"} | _cells(answer, answer.shared, places)
            for answer in estimates.answers
            if answer.shared and (answer.target.name, answer.segment) == (name, segment)
        ]
        emit([{title: place.system} | _place_cells(place, places) for place in systems], form, places)
        click.echo()
        emit(pairs, form, places)
        click.echo()
        most = max(most, len(pairs))
    sure = f"{100 * estimates.confidence:g} %"
    held = f"max-t intervals of all differences of a measure, at most {most}, which hold at once with {sure}"
    ranks = "Ranks, and who is better than whom, are what they leave certain"
    note = f"* 0 lies outside the brackets: {held}. {ranks}. p by the t test, with Holm's correction for as many."
    click.echo(note_text(note, form))


def _place_cells(place: Place, places: int) -> dict[str, str]:
    first, last = place.ranks
    cells = {"rank": f"{first}" if first == last else f"{first} to {last}"}
    if place.answer is not None:
        interval = place.answer.interval
        cells["value"] = spread(place.answer.estimate.value, interval.low, interval.high, places)
    return cells | {"better than": ", ".join(place.better_than)}


def _cells(answer: Answer, shared: Shared, places: int) -> dict[str, str]:
    """Return what is shown of a difference."""
    low, high = answer.estimate.bounds(shared.interval)
    value, mark = answer.estimate.value, "*" if low > 0 or high < 0 else ""
    shown = spread(value, shared.interval.low, shared.interval.high, places, mark)
    return {"difference": f"+{shown}" if value > 0 else shown, "p": small_p(shared.p_holm, places)}
