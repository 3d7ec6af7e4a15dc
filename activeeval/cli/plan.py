"""``activeeval plan``: what a budget should reach, and what a goal should take, before anything is judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli import inputs, output
from activeeval.cli.help import command
from activeeval.cli.waiting import tell

if TYPE_CHECKING:
    from activeeval.cases.budgets import Budget
    from activeeval.cases.case import Case
    from activeeval.planning import MeasurePlan

_GOAL = ("half_width", "difference", "power", "scope")


@command("What a budget should reach, or which budget a goal takes")
@inputs.pool_options
@inputs.measures_option
@inputs.judging_option
@click.option(
    "--method",
    "methods",
    multiple=True,
    help="Beside passive and the measure's default, in place of the best there is; repeatable, `all`: all that fit.",
)
@click.option("--half-width", type=inputs.POSITIVE, metavar="E", help="Which budget brings the interval to ± E?")
@click.option(
    "--difference", type=inputs.POSITIVE, metavar="D", help="Which budget detects a difference of D, with --power?"
)
@click.option("--power", type=inputs.SHARE, default=0.8, help="Chance that the interval leaves out 0.")
@click.option(
    "--budget",
    "budgets",
    multiple=True,
    type=inputs.BUDGET,
    help=f"{inputs.BUDGET_HELP}; repeatable: what do these reach?",
)
@inputs.scope_option("pool")
@inputs.confidence_option
@click.option(
    "--pilot",
    "pilots",
    multiple=True,
    metavar="SAMPLE",
    help="A judged sample of this pool: what is expected is rescaled by what it shows. Repeatable.",
)
@click.option("--sheet", "sheets", multiple=True, metavar="FILE", help="Judgments of the pilots; repeatable.")
@click.option(
    "--seconds", type=inputs.POSITIVE, metavar="S", help="What judging a mean item takes: budgets in hours, too."
)
@click.option("--plot", metavar="FILE", help="Draw half-width over budget (.png, .svg, .pdf).")
@output.rows_options
def plan(
    measures: tuple[str, ...],
    judging: str,
    methods: tuple[str, ...],
    budgets: tuple[Budget, ...],
    confidence: float,
    pilots: tuple[str, ...],
    sheets: tuple[str, ...],
    seconds: float | None,
    plot: str | None,
    places: int,
    form: str,
    **options: Any,
) -> None:
    """Say what a budget should reach, before anything is judged; or which budget a half-width or a difference takes.

    Takes the pool of `simulate` and looks at no label of it: rankings, a grade model or none, known grades, costs. Each
    measure is planned for by itself; of more than two systems one sample answers all contrasts. Half-widths are those
    of the intervals to expect, the median of samples; four of five should lie in the range beside them, which knows how
    samples differ and, where labelled queries train the grade model, by how much it was off about those that it had not
    seen. A power is promised by the low end of its range. `limit` is the smallest half-width that any choice of items
    reaches with this model at this cost. half_width_population is for all queries that the pool is a sample of.

    Without labels to learn from all grades count as equally likely, and the half-widths are guesses: judge a small
    sample, and give it as --pilot with its --sheet.

    \b
    activeeval plan --run new.run --versus-run old.run --max-grade 3 --measure DCG@10 --budget 200
    activeeval plan --run new.run --versus-run old.run --train-qrels old.qrels --half-width 0.1
    """
    from activeeval.cases.case import check_fits
    from activeeval.design.methods import fitting_methods
    from activeeval.report import PICTURES, plot_plans
    from activeeval.tasks.plan import goals_of, plan_measure
    from activeeval.tasks.samples import judged_pilots

    goals = goals_of(confidence=confidence, **{name: options.pop(name) for name in _GOAL})
    if budgets and any(goal.half_width is not None for goal in goals):
        raise click.UsageError("--half-width asks which budget: give that or --budget")
    if sheets and not pilots:
        raise click.UsageError("--sheet holds the judgments of a --pilot: give the pilot's sample, too")
    check_fits(measures, [name for name in methods if name != "all"])
    if plot:
        output.check_out(plot, PICTURES)
    judged = judged_pilots(pilots, sheets)
    case = inputs.prepared(options, measures, judging=judging, use_labels=False)
    plans: list[list[MeasurePlan]] = []
    for text in dict.fromkeys(measures):
        tell(f"planning for {text}")
        chosen = fitting_methods(case.target(text).measure) if "all" in methods else methods
        share = options["defensive_share"]
        plans.append(plan_measure(case, text, chosen, budgets, goals, pilots=judged, defensive_share=share))
    _show(plans, case, confidence, seconds, form, places)
    if plot:
        plot_plans([_hardest(of_measure) for of_measure in plans], confidence, plot)
        output.say(f"wrote {plot}")


def _show(
    plans: Sequence[Sequence[MeasurePlan]], case: Case, confidence: float, seconds: float | None, form: str, places: int
) -> None:
    from activeeval.report import plain_plan_rows, plan_rows

    asked: dict[str, Any] = {"confidence": confidence, "seconds": seconds}
    if form != "text":
        output.emit(
            [row for of_measure in plans for plan in of_measure for row in plan_rows(plan, **asked)], form, places
        )
    for of_measure in plans:
        plan = _hardest(of_measure)
        if form == "text":
            what = "difference of two rankings" if plan.target.versus is not None else "one ranking"
            if len(of_measure) > 1:
                what = f"the hardest of {len(of_measure)} contrasts, one sample for all (-o jsonl has each)"
            title = f"{plan.name}, {what}: {case.workload.pool.n_queries} queries, "
            title += f"budgets in {case.workload.pool.cost_unit}"
            output.show_table(plain_plan_rows(plan, **asked), title)
        output.say_notes(plan.notes(confidence, seconds), before=f"{plan.name}: ")


def _hardest(plans: Sequence[MeasurePlan]) -> MeasurePlan:
    """Return the plan of the contrast whose interval is to be the widest."""
    return max(plans, key=lambda plan: plan.chosen[0].prospect.half_width())
