"""``activeeval plan`` with half-widths by segment: the least budget that reaches all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from activeeval.cli import input_options, output
from activeeval.cli.waiting import tell
from activeeval.cli.wording import option_here
from activeeval.core.errors import ChoiceError
from activeeval.report.numbers import counted
from activeeval.sampling.commands.price_options import priced

if TYPE_CHECKING:
    from activeeval.core.planning.prices import Price
    from activeeval.inputs.case import Case
    from activeeval.sampling.segment_budgets import SegmentBudget


class SegmentsAsked(NamedTuple):
    """What is asked of a plan by segment.

    Attributes
    ----------
    alone : mapping of str to object
        Values of options that ask something else.
    """

    segments: str | None
    half_widths: Sequence[tuple[str, float]]
    measures: Sequence[str]
    methods: Sequence[str]
    judging: str
    confidence: float
    price: Price | None
    alone: Mapping[str, Any]


def plan_segments(asked: SegmentsAsked, options: dict[str, Any], form: str, places: int) -> None:
    """Print the least budget, and what to expect of each segment; ``options`` are those of a pool and its questions."""
    from activeeval.inputs.case import check_fits
    from activeeval.sampling.segment_budgets import SegmentGoals, segment_budget

    how = {name: options.pop(name) for name in ("questions", "weights", "looks")}
    half_width, difference, _, scope = (options.pop(name) for name in ("half_width", "difference", "power", "scope"))
    for name, value in {"difference": difference, **asked.alone}.items():
        if value is not None and value != ():
            option = option_here(name)
            raise click.UsageError(f"--segment-half-width asks which budget for itself: {option} does not go with it")
    if len(asked.methods) > 1:
        raise click.UsageError("--segment-half-width is planned for one --method")
    check_fits(asked.measures, [name for name in asked.methods if name != "all"])
    with input_options.worded():
        goals = SegmentGoals.of(asked.segments, asked.half_widths, half_width, scope=scope, confidence=asked.confidence)
        if how["weights"] != "equal":
            raise ChoiceError("`weights` follow from half-widths by segment: leave them out", field="weights")
    case = input_options.prepared(options, asked.measures, judging=asked.judging, use_labels=False)
    tell(f"planning for {', '.join(dict.fromkeys(asked.measures))}")
    with input_options.worded():
        method = asked.methods[0] if asked.methods else None
        share = options["defensive_share"]
        questions = how.pop("questions")
        planned = segment_budget(case, asked.measures, questions, goals, method=method, defensive_share=share, **how)
    _show(planned, case, asked.price, form, places)


def _show(planned: SegmentBudget, case: Case, price: Price | None, form: str, places: int) -> None:
    from activeeval.report.cautions import marked
    from activeeval.sampling.segment_messages import plain_segment_rows, segment_footnote, segment_rows

    seconds = None if price is None else price.seconds
    headline = planned.headline(case.inputs.pool.cost_unit, seconds)
    others = [note for note in planned.notes if note.code != "planned segment"]
    if form != "text":
        rows = segment_rows(planned.rows, planned.bounded, planned.budget.amount, seconds)
        output.emit(marked(rows, case.notes), form, places)
        output.say_notes([headline, *others])
        return
    output.show_notes([headline])
    output.show_table(plain_segment_rows(planned.rows), counted(case.inputs.pool.n_queries, "query"))
    output.show_text(segment_footnote(planned.rows, planned.goals.confidence))
    if costs := priced(price, math.ceil(planned.budget.amount)):
        output.show_text(f"{costs}.")
    output.say_notes(others)
