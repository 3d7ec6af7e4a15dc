"""What a sample answers: rows for machines; of many systems tables to read, of their order and of their differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.output import emit, estimate_row, say
from activeeval.cli.standings import small_p, spread

FEWEST_AT_ONCE = 100
"""Between the 50 topics of Robust 2003, where 84 to 97 % held at once, and the 150 queries and more of MQ2008, where 97
to 98 % did (benchmarks/many_systems.py)."""

if TYPE_CHECKING:
    from activeeval.campaign.labels import Progress
    from activeeval.tasks.answers import Answer, Shared
    from activeeval.tasks.orders import Place


def answer_row(one: Answer, kind: str, progress: Progress) -> dict[str, Any]:
    """Return an answer as a row; more than two systems are named, and their differences told all at once too."""
    result = one.estimate
    asked = {"measure": one.target.name, "question": one.question}
    asked |= {name: text for name, text in (("system", one.system), ("versus", one.versus)) if text}
    more: dict[str, Any] = {}
    if one.shared is not None:
        more |= {"low_simultaneous": one.shared.interval.low, "high_simultaneous": one.shared.interval.high}
    more["p_value"] = one.p_value if one.question == "difference" else None
    more |= {} if one.shared is None else {"p_holm": one.shared.p_holm}
    more |= {} if one.segment is None else {"segment": one.segment}
    more |= {"half_width_at_end": one.half_width_at_end if kind == "t" else None, "interval": kind}
    more |= {"method": result.method, **progress._asdict(), "draws": result.n_draws}
    return estimate_row(asked, result, one.interval, **more)


def expected_at_end(answers: Sequence[Answer], kind: str) -> str:
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


def say_if_few(found: Sequence[Answer]) -> None:
    """Say where simultaneous intervals of many systems rest on too few judged queries."""
    sizes = [one.estimate.n_open for one in found if one.shared is not None and one.estimate.n_open]
    if sizes and min(sizes) < FEWEST_AT_ONCE:
        held = "of 50 topics, 136 pairs, all held in 84 to 97 % of the samples, not in 95"
        say(f"simultaneous intervals ask much of {min(sizes)} judged queries, fewer than {FEWEST_AT_ONCE}: {held}")


def rank_rows(found: Sequence[Place], confidence: float) -> list[dict[str, Any]]:
    """Return a row for each system and measure: the ranks that it can have."""
    return [
        {
            "measure": one.measure,
            "question": "rank",
            "system": one.system,
            **({} if one.segment is None else {"segment": one.segment}),
            "scope": one.scope,
            "confidence": confidence,
            "rank_from": one.ranks[0],
            "rank_to": one.ranks[1],
        }
        for one in found
    ]


def show_systems(answers: Sequence[Answer], found: Sequence[Place], form: str, places: int, confidence: float) -> None:
    """Print for each measure, and segment, a table of its systems and one of their differences, and what they mean."""
    from activeeval.report import note_text

    most = 0
    for name, segment in dict.fromkeys((one.measure, one.segment) for one in found):
        title = name if segment is None else f"{name}, {segment}"
        own = [one for one in found if (one.measure, one.segment) == (name, segment)]
        told = [one for one in answers if (one.target.name, one.segment) == (name, segment)]
        pairs = [
            {title: f"{one.system} - {one.versus}"} | _cells(one, one.shared, places) for one in told if one.shared
        ]
        emit([{title: one.system} | _place_cells(one, places) for one in own], form, places)
        click.echo()
        emit(pairs, form, places)
        click.echo()
        most = max(most, len(pairs))
    sure = f"{100 * confidence:g} %"
    held = f"max-t intervals of all differences of a measure, at most {most}, which hold at once with {sure}"
    ranks = "Ranks, and who is better than whom, are what they leave certain"
    note = f"* 0 lies outside the brackets: {held}. {ranks}. p by the t test, with Holm's correction for as many."
    click.echo(note_text(note, form))


def _place_cells(one: Place, places: int) -> dict[str, str]:
    first, last = one.ranks
    cells = {"rank": f"{first}" if first == last else f"{first} to {last}"}
    if one.answer is not None:
        interval = one.answer.interval
        cells["value"] = spread(one.answer.estimate.value, interval.low, interval.high, places)
    return cells | {"better than": ", ".join(one.better_than)}


def _cells(one: Answer, shared: Shared, places: int) -> dict[str, str]:
    """Return what is shown of a difference."""
    low, high = one.estimate.bounds(shared.interval)
    value, mark = one.estimate.value, "*" if low > 0 or high < 0 else ""
    told = spread(value, shared.interval.low, shared.interval.high, places, mark)
    return {"difference": f"+{told}" if value > 0 else told, "p": small_p(shared.p_holm, places)}
