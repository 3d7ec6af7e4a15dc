"""``activeeval simulate``: what each method would have saved on a pool whose labels are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli import output
from activeeval.cli.help import command
from activeeval.cli.input_options import options_of, pool_options, prepared
from activeeval.cli.waiting import progress
from activeeval.cli.wording import complaint
from activeeval.core.errors import InputError
from activeeval.report.numbers import counted, number
from activeeval.sampling.options import BUDGET_HELP, PlanFields, SampleFields

if TYPE_CHECKING:
    from activeeval.core.simulation import Summary
    from activeeval.inputs.case import Case
    from activeeval.sampling.simulate import Panel, Trial

DEFAULT_BUDGETS = ("5%", "10%", "20%")
_SHORT = 16
"""Two names of systems leave room for the numbers of a table."""
_OFTEN = 0.1
"""What the estimates of one run in ten say of themselves may be why their intervals are too short."""


@command()
@pool_options
@options_of(
    SampleFields,
    only=("measures", "weights", "adaptive_depth", "expected"),
    expected={"help": "Draws with replacement meet budgets in expectation, by n* draws."},
)
@options_of(
    PlanFields,
    only=("methods", "budget"),
    methods={"help": "Repeatable; `all` is every method that fits. Default: passive and the best for the measure."},
    budget={"name": "budgets", "kind": "budget", "default": DEFAULT_BUDGETS, "help": f"{BUDGET_HELP}; repeatable."},
)
@click.option("--repetitions", type=click.IntRange(2), default=2000, help="Replays of each method.")
@click.option(
    "--interval",
    default="t",
    metavar="KIND",
    help="Intervals to measure: t, skewed, logit, or group-sequential (the budgets are its looks).",
)
@click.option("--plot", metavar="FILE", help="Draw error over budget (.png, .svg, .pdf).")
@output.output_option
def simulate(
    measures: tuple[str, ...],
    methods: tuple[str, ...],
    repetitions: int,
    interval: str,
    plot: str | None,
    form: str,
    **options: Any,
) -> None:
    """Replay sampling thousands of times on a labelled pool and compare the methods.

    passive is the reference and always run; `plan --method all` shows the others. Without --method the best one that a
    bad grade model cannot spoil is run beside it: items for DCG, RBP and P, depth for the others.

    The pool comes from --letor with --scores, or from --qrels with --run. A budget is a number of judgments; with an
    overhead, or costs that differ, of mean items. A percentage is of judging every query whole: its overhead and the
    items down to the measure's cutoff, of both rankings in a comparison. No budget is exceeded: spent, spent_sd and
    spent_max say how much of it went.

    The limit beside the efficiency is what the best probabilities of being judged would reach at this cost, were the
    grade model right about where the variance lies: no least probabilities, no rounding, a budget met on average. Where
    the two are near, model and costs set the limit, not the design. Labels saved of `> 75%` say that the smallest
    budget is already more precise than passive is at this one.

    With --adaptive-depth, methods that judge to depths go on with a query as far as its own labels make it worth it:
    they are looked at after each, after the first, the third and those of all ranked items (3), or after these alone
    (1); off is the depth that is planned before any label is seen. Samples that are drawn are of that one.

    More than two systems (--run or --scores again) share one sample that is made for all their differences; passive is
    then drawn for each of them alone. Beside the rows of each difference stands how often all hold at once.

    Every item that a measure needs must be judged, or --unjudged irrelevant say that the others are of grade 0.

    \b
    activeeval simulate --letor S2.txt --scores ranker.S2 --train S1.txt --budget 500 --budget 1000
    activeeval simulate --qrels qrels.txt --run new.run --versus-run old.run --train 40% \\
        --measure ERR@10
    """  # fmt: skip
    from activeeval.core.estimation import find_interval
    from activeeval.inputs.case import check_fits
    from activeeval.report.pictures import PICTURES, plot_errors
    from activeeval.sampling.simulate import methods_of, trial_of

    find_interval(interval)
    check_fits(measures, [name for name in methods if name != "all"])
    if plot:
        output.check_out(plot, PICTURES)
    how = {name: options.pop(name) for name in ("budgets", "weights", "expected", "adaptive_depth")}
    case = prepared(options, measures, use_labels=True)
    for target in case.targets(measures, [case.question]):
        target.check_judged(case.inputs.grades)
    if case.is_contest and plot:
        raise InputError("--plot draws one question: give one system or two")
    chosen = {text: methods_of(case, text, methods) for text in dict.fromkeys(measures)}
    _say_of_draws(case, chosen, interval)
    panels = []
    with progress(sum(len(names) + case.is_contest for names in chosen.values()), "simulating") as advance:
        for text, names in chosen.items():
            trial = trial_of(case, text, names, defensive_share=options["defensive_share"], **how)
            _say_of_budgets(trial)
            panels.append(trial.run(advance, repetitions=repetitions, interval=interval))
            _warn_of_short_intervals(trial.measure, panels[-1].summaries)
    _show(panels, case, form)
    if plot:
        plot_errors({panel.measure: panel.summaries for panel in panels}, plot, unit=case.inputs.pool.cost_unit)
        output.say(f"wrote {plot}")


def _say_of_draws(case: Case, chosen: dict[str, list[str]], interval: str) -> None:
    """Say which methods do not take the interval that is asked for."""
    from activeeval.core.design.methods import METHODS

    names = dict.fromkeys(
        name for names in chosen.values() for name in names if METHODS[name].scheme.interval(interval) != interval
    )
    if names and not case.is_contest:
        output.say(f"draws with replacement keep their t intervals: {', '.join(names)}")


def _say_of_budgets(trial: Trial) -> None:
    """Say which budgets are left out, raise where all are, and say where one query would weigh too much."""
    for name, refusal in trial.left_out[: None if trial.budgets else -1]:
        output.say(f"{trial.measure}, {name}: {complaint(refusal)}; left out")
    trial.check_paid()
    if trial.contest is None:
        for name, design in trial.least().items():
            output.warn_of_weights(f"{name}, {trial.measure}", design)


def _warn_of_short_intervals(measure: str, summaries: Sequence[Summary]) -> None:
    """Say for each method at which budgets its intervals held the truth too rarely, and where a few queries are why."""
    from activeeval.report.rows import amount

    for method in dict.fromkeys(s.method for s in summaries):
        missed = []
        for s in (s for s in summaries if s.method == method and s.is_too_short):
            why = f" (less spread than expected {s.less_spread.value:.0%})" if s.less_spread.value > _OFTEN else ""
            missed.append(f"{s.coverage.value:.1%} at {amount(s.budget)}{why}")
        if missed:
            output.say(f"{method}, {measure}: too few 95 % intervals hold the truth, by budget: {', '.join(missed)}")


def _show(panels: Sequence[Panel], case: Case, form: str) -> None:
    """Print a sentence and a table of each measure; of several systems one of all differences, and of all at once."""
    from activeeval.inputs.systems import direction
    from activeeval.report.cautions import marked
    from activeeval.report.findings import definitions
    from activeeval.sampling.simulation_tables import LEGEND, at_once_sentence, no_spread, simulation_sentence

    if form != "text":
        output.emit(marked([row for panel in panels for row in panel.rows()], case.notes), form)
        return
    pool = case.inputs.pool
    for panel in panels:
        summaries = panel.summaries or tuple(each for _, of in panel.contrasts for each in of)
        first = summaries[0]
        if panel.at_once:
            output.show_text(at_once_sentence(panel.measure, panel.at_once, pool.cost_unit))
        elif panel.summaries:
            of = direction(panel.system, panel.versus)
            output.show_text(simulation_sentence(panel.measure, of, summaries, pool.cost_unit))
        click.echo()
        sizes = (
            f"{counted(pool.n_queries, 'query')}, {counted(first.repetitions, 'repetition')}, budgets in "
            f"{pool.cost_unit}"
        )
        _show_rows(panel, f"{sizes}, the truth is {number(first.truth, 4)}" if panel.summaries else sizes)
        if nothing := no_spread(summaries):
            output.show_text(nothing)
            click.echo()
    output.show_text(" ".join([LEGEND, *definitions((panel.measure, panel.definition) for panel in panels)]))


def _show_rows(panel: Panel, title: str) -> None:
    """Print the tables of a measure, each within the width of a page unless all columns are asked for."""
    from activeeval.report.findings import short_name
    from activeeval.sampling.simulation_tables import at_once_rows, brief_rows, fitted, plain_rows

    rows_of = plain_rows if output.is_asked("wide") else brief_rows
    rows = rows_of(panel.summaries) if panel.summaries else []
    for asked, summaries in panel.contrasts:
        names = " − ".join(short_name(name, _SHORT) for name in (asked.system, asked.versus) if name)
        rows += [{"difference": names, **row} for row in rows_of(summaries)]
    shown, left_out = (rows, []) if output.is_asked("wide") else fitted(rows, output.WIDTH)
    output.show_table(shown, title)
    if left_out:
        output.show_text(f"`-o wide` shows more: {', '.join(left_out)}.")
    if panel.at_once:
        output.show_table(at_once_rows(panel.at_once), f"all {len(panel.contrasts)} differences at once, 95 %")
