"""``activeeval plan``: what a budget should reach, and what a goal should take, before anything is judged."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from activeeval.cli import input_options, output
from activeeval.cli.help import command
from activeeval.cli.input_options import options_of
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
"""The note with which the text begins."""


@command()
@options_of(PoolFields, leave_out=("index_update",))
@options_of(PlanFields, budget={"type": BUDGET_OR_MONEY})
@sampling_options.log_queries_option
@price_option
@output.plot_option(help="Draw half-width over budget (.png, .svg, .pdf).")
@output.explain_option
@output.output_option
def plan(plot: str | None, form: str, **options: Any) -> None:
    """Say what a budget should reach, before anything is judged; or which budget a half-width or a difference takes.

    Takes the pool of `simulate` and looks at no label of it: rankings, a grade model or none, known grades, costs. All
    measures and questions are planned for together, by the one sample that `activeeval sample` would draw with the same
    options; a goal is reached where all of them reach it. Half-widths are those of the intervals to expect, the median
    of samples; four of five should lie in the range beside them, which knows how samples differ and, where labelled
    queries train the grade model, by how much it was off about those that it had not seen. A power is promised by the
    low end of its range. `all queries` is for the queries that those of the pool are a sample of, `random queries` what
    as many judgments of random queries judged whole reach, `limit` the smallest half-width that any choice of items
    reaches with this model at this cost.

    Grades of machines that cost something (--grader FILE:cost=.01) are paid from the budget, and people have the rest;
    whether they are worth it, and about how many places of each list, stands below. Of one that nobody has asked yet
    --ask-price says the same.

    With --segments and --half-width the least budget is said with which every segment's interval, all of them
    at once as `estimate --by` reads them, and that of all with --half-width, come to their own ±.

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
    asked = {each.name: options.pop(each.name) for each in fields(PlanRequest) if each.name in options}
    request = PlanRequest(beside=[] if plot is None else ["plot"], **asked)
    if plot:
        output.check_out(plot, PICTURES)

    def say(note: Note | Caution) -> None:
        if form != "text" or note.code != _TRAINS:
            output.say_notes([note])

    with input_options.worded():
        made = plan_for(Choices(**options), request, say=say, progress=tell)
    _show(made, form)
    if plot and isinstance(made, Plan):
        plot_plans(made.sample.hardest, made.confidence, plot)
        output.say(f"wrote {plot}")


def _paid(amount: Budget | Money, price: Price | None) -> Budget:
    """Return a budget, of an amount of money the one that it pays for."""
    from activeeval.sampling.prices import paid_budget

    budget = paid_budget(amount, price)
    if budget is not amount:
        output.say(f"{amount} pay for {budget.amount:,.0f} judgments")
    return budget


def _show(made: Plan | SegmentPlan | FilesPlan, form: str) -> None:
    from activeeval.sampling.plan_result import Plan
    from activeeval.sampling.segment_plan import SegmentPlan

    if isinstance(made, Plan):
        _show_plan(made, form)
    elif isinstance(made, SegmentPlan):
        _show_segments(made, form)
    else:
        output.say_notes(made.of_pool)
        if form != "text":
            output.emit(made.rows(), form)
            return
        output.show_table(made.table, made.title)
        for line in made.footnotes:
            output.show_text(line)


def _show_plan(made: Plan, form: str) -> None:
    from activeeval.report.rows import plan_footnote

    if form != "text":
        output.emit(made.rows(), form)
        output.say_notes(made.headlines)
    else:
        output.show_notes([*(note for note in made.of_pool if note.code == _TRAINS), *made.headlines])
        output.show_table(made.table, made.title)
        output.show_text(plan_footnote(made.table))
    for name, note in made.sample.notes(made.confidence):
        if note.code != "limits" or output.is_asked("explain"):
            output.say_notes([note], before=f"{name}: ")
    output.say_notes(made.asking)


def _show_segments(made: SegmentPlan, form: str) -> None:
    from activeeval.sampling.prices import priced

    if form != "text":
        output.emit(made.rows(), form)
        output.say_notes([made.headline, *made.others])
        return
    output.show_notes([made.headline])
    output.show_table(made.table, counted(made.pool.n_queries, "query"))
    output.show_text(made.footnote)
    if costs := priced(made.price, math.ceil(made.budget)):
        output.show_text(f"{costs}.")
    output.say_notes(made.others)
