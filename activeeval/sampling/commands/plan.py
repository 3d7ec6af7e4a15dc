"""``activeeval plan``: predict the precision of a budget, or the budget of a goal, before anything is judged."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from activeeval.cli import input_options, output
from activeeval.cli.help import command
from activeeval.cli.input_options import columns_option, options_of
from activeeval.cli.waiting import tell
from activeeval.inputs.options import PoolFields
from activeeval.report.numbers import counted
from activeeval.sampling.commands import sampling_options
from activeeval.sampling.commands.price_options import BUDGET_OR_MONEY, price_option
from activeeval.sampling.options import PlanFields

if TYPE_CHECKING:
    from activeeval.core.planning.prices import Price
    from activeeval.core.results import Caution, Note
    from activeeval.inputs.budgets import Budget
    from activeeval.sampling.plan_pool_files import FilesPlan
    from activeeval.sampling.plan_result import Plan
    from activeeval.sampling.prices import Money
    from activeeval.sampling.segment_plan import SegmentPlan

_TRAINS = "queries that train"
"""Code of the note that is printed first."""


@command()
@options_of(PoolFields, leave_out=("index_update",))
@columns_option
@options_of(PlanFields, budget={"type": BUDGET_OR_MONEY})
@sampling_options.log_queries_option
@price_option
@output.plot_option(help="Draw half-width over budget (.png, .svg, .pdf).")
@output.explain_option
@output.output_option
def plan(plot: str | None, form: str, **options: Any) -> None:
    """Predict how precise a budget is before anything is judged, or which budget a half-width or a difference needs.

    Takes the pool of `simulate` but no label of it: rankings, a grade model or none, known grades, costs. All measures
    and questions are planned together, for the one sample that `activeeval sample` draws with the same options; a goal
    is reached if all of them reach it. A half-width is that of the interval to expect, the median of samples. Four of
    five samples should lie in the range beside it, which holds the differences between samples and, if labelled
    queries train the grade model, its error on queries that it had not seen. For a power the low end of the range
    counts. `all queries` is for the queries that those of the pool are a sample of, `random queries` for as many
    judgments of random queries judged whole, `limit` is the smallest half-width that any choice of items reaches with
    this model at this cost.

    Graders with a price (--grader FILE:cost=.01) are paid from the budget, and people have the rest; a note says
    whether to ask them, and about how many places of each list. --ask-price says the same of a grader before it is
    asked.

    With --segments and --half-width the smallest budget is found with which the interval of every segment, all of them
    at once as in `estimate --by`, and that of all queries reach their own half-widths.

    Without labels to learn from all grades count as equally likely, and the half-widths are guesses: judge a small
    sample, and give it as --pilot with its --sheet.

    \b
    activeeval plan --run new.run --versus-run old.run --max-grade 3 --measure DCG@10 --budget 200
    activeeval plan --run new.run --versus-run old.run --train old.qrels --half-width 0.1
    activeeval plan --run new.run --max-grade 3 --measure P@5 --price 0.40 --budget 400EUR
    """
    from activeeval.inputs.choices import Choices
    from activeeval.report.pictures import PICTURES, plot_plans
    from activeeval.sampling.plan import plan_for
    from activeeval.sampling.plan_request import PlanRequest
    from activeeval.sampling.plan_result import Plan

    with input_options.worded():
        options["budget"] = [_paid(budget, options["price"]) for budget in options["budget"]]
    request_fields = {each.name: options.pop(each.name) for each in fields(PlanRequest) if each.name in options}
    # ``beside`` names further options that were set, so that the request can refuse them
    request = PlanRequest(beside=[] if plot is None else ["plot"], **request_fields)
    if plot:
        output.check_out(plot, PICTURES)

    def say(note: Note | Caution) -> None:
        """Print a note; for readers the one on training queries is printed with the plan (`_show_plan`) instead."""
        if form != "text" or note.code != _TRAINS:
            output.say_notes([note])

    with input_options.worded():
        result = plan_for(Choices(**options), request, say=say, progress=tell)
    _show(result, form)
    if plot and isinstance(result, Plan):
        plot_plans(result.sample.hardest, result.confidence, plot)
        output.say(f"wrote {plot}")


def _paid(amount: Budget | Money, price: Price | None) -> Budget:
    """Convert an amount of money to the budget that it pays for, and report it; a budget passes unchanged."""
    from activeeval.sampling.prices import paid_budget

    budget = paid_budget(amount, price)
    if budget is not amount:
        output.say(f"{amount} pay for {budget.amount:,.0f} judgments")
    return budget


def _show(result: Plan | SegmentPlan | FilesPlan, form: str) -> None:
    """Print a plan of any kind in an output format (``form``)."""
    from activeeval.sampling.plan_result import Plan
    from activeeval.sampling.segment_plan import SegmentPlan

    if isinstance(result, Plan):
        _show_plan(result, form)
    elif isinstance(result, SegmentPlan):
        _show_segments(result, form)
    else:
        output.say_notes(result.of_pool)
        if form != "text":
            output.emit(result.rows(), form)
            return
        output.show_table(result.table, result.title)
        for line in result.footnotes:
            output.show_text(line)


def _show_plan(result: Plan, form: str) -> None:
    """Print a plan for a pool in memory."""
    from activeeval.report.rows import plan_footnote

    if form != "text":
        output.emit(result.rows(), form)
        output.say_notes(result.headlines)
    else:
        output.show_notes([*(note for note in result.of_pool if note.code == _TRAINS), *result.headlines])
        output.show_table(result.table, result.title)
        output.show_text(plan_footnote(result.table))
    for name, note in result.sample.notes(result.confidence):
        if note.code != "limits" or output.is_asked("explain"):
            output.say_notes([note], before=f"{name}: ")
    output.say_notes(result.asking)


def _show_segments(result: SegmentPlan, form: str) -> None:
    """Print a plan by segment."""
    from activeeval.sampling.prices import priced

    if form != "text":
        output.emit(result.rows(), form)
        output.say_notes([result.headline, *result.others])
        return
    output.show_notes([result.headline])
    output.show_table(result.table, counted(result.pool.n_queries, "query"))
    output.show_text(result.footnote)
    if costs := priced(result.price, math.ceil(result.budget)):
        output.show_text(f"{costs}.")
    output.say_notes(result.others)
