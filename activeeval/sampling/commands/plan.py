"""``activeeval plan``: what a budget should reach, and what a goal should take, before anything is judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli import input_options, output
from activeeval.cli.help import command
from activeeval.cli.waiting import tell
from activeeval.sampling.commands import sampling_options
from activeeval.sampling.commands.plan_pool_files import plan_in_files
from activeeval.sampling.commands.plan_segments import SegmentsAsked, plan_segments
from activeeval.sampling.commands.price_options import price_of, price_options

if TYPE_CHECKING:
    from activeeval.core.planning import SamplePlan
    from activeeval.core.planning.prices import Price
    from activeeval.core.results import Caution, Note
    from activeeval.inputs.budgets import Budget
    from activeeval.inputs.case import Case

_SKILL = 0.7
"""`PLANNED_RHO` of `activeeval.core.grade_models.values`: help does not wait for it."""
_TRAINS = "queries that train"
_GOAL = ("half_width", "difference", "power", "scope")


@command("What a budget should reach, or which budget a goal takes")
@input_options.pool_options
@input_options.measures_option
@input_options.judging_option
@sampling_options.question_option(
    f"{sampling_options.QUESTIONS}; repeatable. Default: the difference of two rankings, else the one."
)
@input_options.weights_option
@click.option(
    "--method",
    "methods",
    multiple=True,
    help="Beside passive and the measure's default, in place of the best there is; repeatable, `all`: all that fit.",
)
@sampling_options.looks_option
@click.option("--half-width", type=input_options.POSITIVE, metavar="E", help="Which budget brings the interval to ± E?")
@sampling_options.segment_options
@click.option(
    "--difference",
    type=input_options.POSITIVE,
    metavar="D",
    help="Which budget detects a difference of D, with --power?",
)
@click.option("--power", type=input_options.SHARE, default=0.8, help="Chance that the interval leaves out 0.")
@click.option(
    "--budget",
    "budgets",
    multiple=True,
    type=input_options.BUDGET,
    help=f"{input_options.BUDGET_HELP}; repeatable: what do these reach?",
)
@sampling_options.log_queries_option
@input_options.scope_option("pool")
@input_options.confidence_option
@click.option(
    "--pilot",
    "pilots",
    multiple=True,
    metavar="SAMPLE",
    help="A judged sample of this pool rescales what is expected. Repeatable.",
)
@click.option("--sheet", "sheets", multiple=True, metavar="FILE", help="Judgments of the pilots; repeatable.")
@click.option("--money", type=input_options.POSITIVE, metavar="M", help="With a price: what does so much money buy?")
@price_options
@click.option(
    "--ask-price",
    type=input_options.POSITIVE,
    metavar="C",
    help="A machine not asked yet, at C of a person's price: is it worth it?",
)
@click.option(
    "--ask-skill",
    type=input_options.SHARE,
    default=_SKILL,
    metavar="R",
    help="How a machine's values should correlate with people's grades; `audit` measures that.",
)
@click.option("--plot", metavar="FILE", help="Draw half-width over budget (.png, .svg, .pdf).")
@sampling_options.files_options
@output.explain_option
@output.figures_options
def plan(
    measures: tuple[str, ...],
    judging: str,
    methods: tuple[str, ...],
    budgets: tuple[Budget, ...],
    confidence: float,
    pilots: tuple[str, ...],
    sheets: tuple[str, ...],
    money: float | None,
    ask_price: float | None,
    ask_skill: float,
    plot: str | None,
    segments: str | None,
    segment_half_widths: tuple[tuple[str, float], ...],
    places: int,
    form: str,
    **options: Any,
) -> None:
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

    With --segments and --segment-half-width the least budget is said with which every segment's interval, all of them
    at once as `estimate --by` reads them, and that of all with --half-width, come to their own ±.

    Without labels to learn from all grades count as equally likely, and the half-widths are guesses: judge a small
    sample, and give it as --pilot with its --sheet.

    \b
    activeeval plan --run new.run --versus-run old.run --max-grade 3 --measure DCG@10 --budget 200
    activeeval plan --run new.run --versus-run old.run --train-qrels old.qrels --half-width 0.1
    activeeval plan --run new.run --max-grade 3 --measure P@5 --price-per-judgment 0.40 --money 400
    """
    from activeeval.core.design.methods import fitting_methods
    from activeeval.inputs.case import check_fits
    from activeeval.report.pictures import PICTURES, plot_plans
    from activeeval.sampling.grader_price import about_to_ask, asking_notes
    from activeeval.sampling.judged_samples import judged_pilots
    from activeeval.sampling.plan_case import goals_of, plan_sample

    price = price_of(options)
    if segments is not None or segment_half_widths:
        alone = {"budgets": budgets, "pilots": pilots, "sheets": sheets, "ask_price": ask_price, "plot": plot}
        alone |= {"money": money}
        asked_for = SegmentsAsked(segments, segment_half_widths, measures, methods, judging, confidence, price, alone)
        plan_segments(asked_for, options, form, places)
        return
    budgets = budgets if money is None else (*budgets, _bought(money, price))
    if options["pool_parquet"] is not None:
        goals = goals_of(confidence=confidence, **{name: options.pop(name) for name in _GOAL})
        alone = {"pilots": pilots, "sheets": sheets, "ask_price": ask_price, "plot": plot}
        about: dict[str, Any] = {"methods": methods, "confidence": confidence, "price": price}
        plan_in_files(options, measures, budgets, goals, alone, **about, form=form, places=places)
        return
    scope, asked = options["scope"], {name: options.pop(name) for name in ("questions", "weights", "looks")}
    goals = goals_of(confidence=confidence, **{name: options.pop(name) for name in _GOAL})
    if budgets and any(goal.half_width is not None for goal in goals):
        raise click.UsageError("--half-width asks which budget: give that or --budget")
    if sheets and not pilots:
        raise click.UsageError("--sheet holds the judgments of a --pilot: give the pilot's sample, too")
    check_fits(measures, [name for name in methods if name != "all"])
    if plot:
        output.check_out(plot, PICTURES)
    judged = judged_pilots(pilots, sheets, machine_is_truth=options["machine_is_truth"])
    taken = [caution for pilot in judged.values() for caution in pilot.machine_cautions]
    output.say_notes(taken)
    case = input_options.prepared(
        options, measures, judging=judging, use_labels=False, kept="" if form != "text" else _TRAINS
    )
    case = case if ask_price is None else about_to_ask(case)
    tell(f"planning for {', '.join(dict.fromkeys(measures))}")
    if "all" in methods:
        methods = tuple(fitting_methods(*(case.target(text).measure for text in measures)))
    share = options["defensive_share"]
    made = plan_sample(
        case, measures, methods=methods, budgets=budgets, goals=goals, pilots=judged, defensive_share=share, **asked
    )
    _show(made, case, [*case.notes, *taken], confidence, price, scope, form, places)
    if ask_price is not None:
        tell("planning with a machine")
    asking = asking_notes(
        case, made, ask_price, ask_skill, weights=asked["weights"], scope=scope, confidence=confidence
    )
    output.say_notes(asking)
    if plot:
        plot_plans(made.hardest, confidence, plot)
        output.say(f"wrote {plot}")


def _bought(money: float, price: Price | None) -> Budget:
    """Return the budget that an amount of money pays for."""
    from activeeval.core.planning.prices import Price
    from activeeval.inputs.budgets import Budget

    with input_options.worded():
        n_judgments = (price or Price()).judgments_for(money)
    output.say(f"{money:g} {(price or Price()).currency} pay for {n_judgments:,} judgments")
    return Budget(float(n_judgments))


def _show(
    plan: SamplePlan,
    case: Case,
    notes: Sequence[Note | Caution],
    confidence: float,
    price: Price | None,
    scope: str,
    form: str,
    places: int,
) -> None:
    from activeeval.report.cautions import marked
    from activeeval.report.rows import plain_plan_rows, plan_footnote, plan_rows

    headlines = plan.headlines(confidence, None if price is None else price.seconds, scope)
    if form != "text":
        rows = [row for each in plan.questions for row in plan_rows(each, confidence=confidence, price=price)]
        output.emit(marked(rows, notes), form, places)
        output.say_notes(headlines)
    else:
        output.show_notes([*(note for note in case.notes if note.code == _TRAINS), *headlines])
        title = f"{case.inputs.pool.n_queries} queries, budgets in {case.inputs.pool.cost_unit}"
        if len(plan.hardest) < len(plan.questions):
            title += f", the hardest of {len(plan.questions)} questions, one sample for all (-o jsonl has each)"
        shown = plain_plan_rows(plan, confidence=confidence, price=price)
        output.show_table(shown, title)
        output.show_text(plan_footnote(shown))
    for name, note in plan.notes(confidence):
        if note.code != "limits" or output.is_asked("explain"):
            output.say_notes([note], before=f"{name}: ")
