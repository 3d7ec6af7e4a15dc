"""``activeeval simulate``: what each method would have saved on a pool whose labels are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli import output
from activeeval.cli.help import command
from activeeval.cli.input_options import options_of, pool_options, worded
from activeeval.cli.option_names import complaint
from activeeval.cli.waiting import progress, tell
from activeeval.core.errors import InputError
from activeeval.report.numbers import counted, number
from activeeval.sampling.options import SimulateFields

if TYPE_CHECKING:
    from activeeval.core.simulation import Summary
    from activeeval.sampling.simulate import Simulation
    from activeeval.sampling.trials import MeasureTrials, Trial

_OFTEN = 0.1
"""What the estimates of one run in ten say of themselves may be why their intervals are too short."""


@command()
@pool_options
@options_of(SimulateFields, leave_out=("questions",))
@output.plot_option(help="Draw error over budget (.png, .svg, .pdf).")
@output.output_option
def simulate(plot: str | None, form: str, **options: Any) -> None:
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
    from activeeval.inputs.choices import Choices
    from activeeval.report.pictures import PICTURES, plot_errors
    from activeeval.sampling.simulate import simulate_for

    asked = {each.name: options.pop(each.name) for each in fields(SimulateFields) if each.name in options}
    choices = Choices(**options)
    if plot:
        output.check_out(plot, PICTURES)
    if plot and len(choices.systems) > 2:
        raise InputError("--plot draws one question: give one system or two")
    how: dict[str, Any] = {"say": output.say_note, "begin": _say_of_budgets, "progress": tell, "steps": progress}
    with worded():
        made = simulate_for(choices, SimulateFields(**asked), **how)
    for panel in made.panels:
        _warn_of_short_intervals(panel.measure, panel.summaries)
    _show(made, form)
    if plot:
        plot_errors({panel.measure: panel.summaries for panel in made.panels}, plot, unit=made.unit)
        output.say(f"wrote {plot}")


def _say_of_budgets(trial: Trial) -> None:
    """Say which budgets are left out, which methods do not take the interval, and where one query weighs too much."""
    interval = click.get_current_context().params["interval"]
    names = [name for name, design in trial.designs.items() if design.scheme.interval(interval) != interval]
    if names and trial.contest is None:
        output.say(f"draws with replacement keep their t intervals: {', '.join(names)}")
    for name, refusal in trial.left_out[: None if trial.budgets else -1]:
        output.say(f"{trial.measure}, {name}: {complaint(refusal)}; left out")
    if trial.contest is None and trial.budgets:
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


def _show(made: Simulation, form: str) -> None:
    """Print a sentence and a table of each measure; of several systems one of all differences, and of all at once."""
    from activeeval.report.answer_sentences import definitions
    from activeeval.report.cautions import marked
    from activeeval.sampling.simulation_tables import LEGEND, no_spread

    if form != "text":
        output.emit(marked(made.rows(), made.case.notes), form)
        return
    for panel in made.panels:
        summaries = panel.summaries or tuple(each for _, of in panel.contrasts for each in of)
        first, n_queries = summaries[0], made.case.inputs.pool.n_queries
        if panel.at_once or panel.summaries:
            output.show_text(panel.sentence(made.unit))
        click.echo()
        sizes = f"{counted(n_queries, 'query')}, {counted(first.repetitions, 'repetition')}, budgets in {made.unit}"
        _show_rows(panel, f"{sizes}, the truth is {number(first.truth, 4)}" if panel.summaries else sizes)
        if nothing := no_spread(summaries):
            output.show_text(nothing)
            click.echo()
    output.show_text(" ".join([LEGEND, *definitions((panel.measure, panel.definition) for panel in made.panels)]))


def _show_rows(panel: MeasureTrials, title: str) -> None:
    """Print the tables of a measure, each within the width of a page unless all columns are asked for."""
    from activeeval.sampling.simulation_tables import at_once_rows, brief_rows, fitted, plain_rows

    is_wide = output.is_asked("wide")
    rows = panel.table(plain_rows if is_wide else brief_rows)
    shown, left_out = (rows, []) if is_wide else fitted(rows, output.WIDTH)
    output.show_table(shown, title)
    if left_out:
        output.show_text(f"`-o wide` shows more: {', '.join(left_out)}.")
    if panel.at_once:
        output.show_table(at_once_rows(panel.at_once), f"all {len(panel.contrasts)} differences at once, 95 %")
