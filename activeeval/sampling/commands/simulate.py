"""``activeeval simulate``: replay sampling on a pool with known labels, and compare methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli import output
from activeeval.cli.help import command
from activeeval.cli.input_options import columns_option, options_of, pool_options, worded
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
"""Share of replays with less spread than expected from which on it is named as the cause of short intervals."""


@command()
@pool_options
@columns_option
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

    The limit beside the efficiency is that of the best probabilities of being judged at this cost, if the grade model
    is right about the variance: no least probabilities, no rounding, a budget met on average. If the two are near,
    model and costs set the limit, not the design. Labels saved of `> 75%` mean that the smallest budget is already more
    precise than passive is at this one.

    With --adaptive-depth the labels of a query decide how far it is judged, for methods that judge to a depth: they
    are read after each label; after those of the first, the third and all ranked items (3); or after all alone (1).
    With off the depth is planned before any label.

    More than two systems (--run or --scores again) share one sample for all their differences; passive is then drawn
    for each of them alone. Further rows say how often the intervals of all differences hold at once.

    Every item that a measure needs must be judged; with --unjudged irrelevant the others have grade 0.

    \b
    activeeval simulate --letor S2.txt --scores ranker.S2 --train S1.txt --budget 500 --budget 1000
    activeeval simulate --qrels qrels.txt --run new.run --versus-run old.run --train 40% \\
        --measure ERR@10
    """  # fmt: skip
    from activeeval.inputs.choices import Choices
    from activeeval.report.pictures import PICTURES, plot_errors
    from activeeval.sampling.simulate import simulate_for

    request_fields = {each.name: options.pop(each.name) for each in fields(SimulateFields) if each.name in options}
    choices = Choices(**options)
    if plot:
        output.check_out(plot, PICTURES)
    if plot and len(choices.systems) > 2:
        raise InputError("--plot draws one question: give one system or two")
    how: dict[str, Any] = {"say": output.say_note, "begin": _say_of_budgets, "progress": tell, "steps": progress}
    with worded():
        simulation = simulate_for(choices, SimulateFields(**request_fields), **how)
    for panel in simulation.panels:
        _warn_of_short_intervals(panel.measure, panel.summaries)
    _show(simulation, form)
    if plot:
        plot_errors({panel.measure: panel.summaries for panel in simulation.panels}, plot, unit=simulation.unit)
        output.say(f"wrote {plot}")


def _say_of_budgets(trial: Trial) -> None:
    """Report, before a simulation, budgets left out, methods that keep their own interval, and too large weights.

    ``trial`` holds the designs of a measure's methods; its contest is None unless there are more than two systems.
    """
    interval = click.get_current_context().params["interval"]
    names = [name for name, design in trial.designs.items() if design.scheme.interval(interval) != interval]
    if names and trial.contest is None:
        output.say(f"draws with replacement keep their t intervals: {', '.join(names)}")
    # if no budget is left, the last refusal is raised as the error
    for name, refusal in trial.left_out[: None if trial.budgets else -1]:
        output.say(f"{trial.measure}, {name}: {complaint(refusal)}; left out")
    if trial.contest is None and trial.budgets:
        for name, design in trial.least().items():  # designs at the smallest budget, where weights are largest
            output.warn_of_weights(f"{name}, {trial.measure}", design)


def _warn_of_short_intervals(measure: str, summaries: Sequence[Summary]) -> None:
    """Report for each method the budgets at which its intervals cover too rarely, and whether low spread is the cause.

    Low spread means that many replays showed less variance than the design planned.
    """
    from activeeval.report.rows import amount

    for method in dict.fromkeys(s.method for s in summaries):
        missed = []
        for s in (s for s in summaries if s.method == method and s.is_too_short):
            why = f" (less spread than expected {s.less_spread.value:.0%})" if s.less_spread.value > _OFTEN else ""
            missed.append(f"{s.coverage.value:.1%} at {amount(s.budget)}{why}")
        if missed:
            output.say(f"{method}, {measure}: too few 95 % intervals hold the truth, by budget: {', '.join(missed)}")


def _show(simulation: Simulation, form: str) -> None:
    """Print a sentence and a table for each measure; for several systems also the simultaneous results."""
    from activeeval.report.answer_sentences import definitions
    from activeeval.report.cautions import marked
    from activeeval.sampling.simulation_tables import LEGEND, no_spread

    if form != "text":
        output.emit(marked(simulation.rows(), simulation.case.notes), form)
        return
    for panel in simulation.panels:
        summaries = panel.summaries or tuple(summary for _, of in panel.contrasts for summary in of)
        first, n_queries = summaries[0], simulation.case.inputs.pool.n_queries
        if panel.at_once or panel.summaries:
            output.show_text(panel.sentence(simulation.unit))
        click.echo()
        sizes = (
            f"{counted(n_queries, 'query')}, {counted(first.repetitions, 'repetition')}, budgets in {simulation.unit}"
        )
        _show_rows(panel, f"{sizes}, the truth is {number(first.truth, 4)}" if panel.summaries else sizes)
        if nothing := no_spread(summaries):
            output.show_text(nothing)
            click.echo()
    output.show_text(" ".join([LEGEND, *definitions((panel.measure, panel.definition) for panel in simulation.panels)]))


def _show_rows(panel: MeasureTrials, title: str) -> None:
    """Print the tables of a measure, each within the width of a page unless all columns are requested."""
    from activeeval.sampling.simulation_tables import at_once_rows, brief_rows, fitted, plain_rows

    is_wide = output.is_asked("wide")
    rows = panel.table(plain_rows if is_wide else brief_rows)
    shown, left_out = (rows, []) if is_wide else fitted(rows, output.WIDTH)
    output.show_table(shown, title)
    if left_out:
        output.show_text(f"`-o wide` shows more: {', '.join(left_out)}.")
    if panel.at_once:
        output.show_table(at_once_rows(panel.at_once), f"all {len(panel.contrasts)} differences at once, 95 %")
