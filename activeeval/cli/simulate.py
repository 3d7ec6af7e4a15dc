"""``activeeval simulate``: what each method would have saved on a pool whose labels are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.budgets import payable
from activeeval.cli.contrasts import simulate_systems
from activeeval.cli.inputs import BUDGET, BUDGET_HELP, MEASURES_HELP, pool_options, prepared, weights_option
from activeeval.cli.output import (
    check_out,
    emit,
    output_option,
    places_option,
    say,
    show_table,
    warn_of_weights,
)
from activeeval.cli.waiting import progress
from activeeval.errors import InputError

if TYPE_CHECKING:
    from activeeval.cases.budgets import Budget
    from activeeval.cases.case import Case
    from activeeval.simulation import Summary

DEFAULT_BUDGETS = ("5%", "10%", "20%")
_OFTEN = 0.1
"""What the estimates of one run in ten say of themselves may be why their intervals are too short."""


@click.command()
@pool_options
@click.option(
    "--measure",
    "measures",
    multiple=True,
    default=("DCG",),
    show_default=True,
    help=f"{MEASURES_HELP}; repeatable.",
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    help="Repeatable; `all` is every method that fits. Default: passive and the best for the measure.",
)
@click.option(
    "--budget",
    "budgets",
    multiple=True,
    type=BUDGET,
    default=DEFAULT_BUDGETS,
    show_default=True,
    help=f"{BUDGET_HELP}; repeatable.",
)
@weights_option
@click.option("--expected", is_flag=True, help="Draws with replacement meet budgets in expectation, by n* draws.")
@click.option("--repetitions", type=click.IntRange(2), default=2000, show_default=True, help="Replays of each method.")
@click.option(
    "--interval",
    default="t",
    show_default=True,
    metavar="KIND",
    help="Intervals to measure: t, skewed, logit, or group-sequential (the budgets are its looks). Draws with "
    "replacement, as of passive, keep t.",
)
@click.option("--plot", metavar="FILE", help="Draw error over budget (.png, .svg, .pdf).")
@places_option
@output_option
def simulate(
    measures: tuple[str, ...],
    methods: tuple[str, ...],
    budgets: tuple[Budget, ...],
    weights: str,
    expected: bool,
    repetitions: int,
    interval: str,
    plot: str | None,
    places: int,
    form: str,
    **options: Any,
) -> None:
    """Replay sampling thousands of times on a labelled pool and compare the methods.

    passive is the reference and always run; `activeeval methods` lists the others. Without --method the best one that
    a bad grade model cannot spoil is run beside it: items for DCG, RBP and P, depth for the others.

    The pool comes from --letor with --scores, or from --qrels with --run. A budget is a number of judgments; with an
    overhead, or costs that differ, of mean items. A percentage is of judging every query whole: its overhead and the
    items down to the measure's cutoff, of both rankings in a comparison. No budget is exceeded: spent, spent_sd and
    spent_max say how much of it went.

    The limit beside the efficiency is what the best probabilities of being judged would reach at this cost, were the
    grade model right about where the variance lies: no least probabilities, no rounding, a budget met on average. Where
    the two are near, model and costs set the limit, not the design. Labels saved of `> 75%` say that the smallest
    budget is already more precise than passive is at this one.

    More than two systems (--run or --scores again) share one sample that is made for all their differences; passive is
    then drawn for each of them alone. Beside the rows of each difference stands how often all hold at once.

    Every item that a measure needs must be judged, or --unjudged irrelevant say that the others are of grade 0.

    \b
    activeeval simulate --letor S2.txt --scores ranker.S2 --train S1.txt --measure DCG --budget 500 --budget 1000
    activeeval simulate --qrels qrels.txt --run new.run --versus-run old.run --train-fraction 0.4 --measure ERR@10
    """  # fmt: skip
    from activeeval.cases.case import check_fits
    from activeeval.design.methods import METHODS
    from activeeval.estimation import find_interval
    from activeeval.report import PICTURES, plot_errors

    find_interval(interval)
    check_fits(measures, [name for name in methods if name != "all"])
    if plot:
        check_out(plot, PICTURES)
    case = prepared(options, measures, use_labels=True)
    for target in case.targets(measures, [case.question]):
        target.check_judged(case.workload.grades)
    runs = {text: _chosen(case, text, methods) for text in dict.fromkeys(measures)}
    if case.systems:
        if plot:
            raise InputError("--plot draws one question: give one system or two")
        how = {"repetitions": repetitions, "rng": case.seed, "expected": expected, "interval": interval}
        simulate_systems(case, runs, budgets, options["defensive_share"], weights, form, places, **how)
        return
    panels: dict[str, list[Summary]] = {}
    if interval != "t":
        drawn = dict.fromkeys(name for names in runs.values() for name in names if METHODS[name].with_replacement)
        say(f"draws with replacement keep their t intervals: {', '.join(drawn)}")
    with progress(sum(map(len, runs.values())), "simulating") as advance:
        for text, names in runs.items():
            name, summaries = _simulate(
                case, text, names, budgets, repetitions, expected, interval, options["defensive_share"], advance
            )
            panels[name] = summaries
            _warn_of_short_intervals(name, summaries)
    _show(panels, case, form, places)
    if plot:
        plot_errors(panels, plot, unit=case.workload.pool.cost_unit)
        say(f"wrote {plot}")


def _chosen(case: Case, measure: str, methods: tuple[str, ...]) -> list[str]:
    """Return the names of the methods to run for a measure, passive first."""
    from activeeval.design.methods import default_method, fitting_methods

    sampled = case.target(measure).measure
    names = methods or (default_method(sampled).name,)
    if "all" in names:
        names = tuple(fitting_methods(sampled))
    return list(dict.fromkeys(["passive", *names]))


def _simulate(
    case: Case,
    measure: str,
    names: list[str],
    given: Sequence[Budget],
    repetitions: int,
    expected: bool,
    interval: str,
    defensive_share: float | None,
    advance: Callable[[str], None],
) -> tuple[str, list[Summary]]:
    from activeeval.cases.budgets import check_open
    from activeeval.design.methods import METHODS
    from activeeval.simulation import simulate as run

    target = case.target(measure)
    check_open(target)
    designs = {name: case.design(name, target, defensive_share) for name in names}
    paid = payable(designs, given, case, [target], expected)
    for name, design in designs.items():
        least = design.with_budget(paid[0], expected=expected and METHODS[name].with_replacement)
        warn_of_weights(f"{name}, {target.name}", least)
    summaries = run(
        designs,
        case.workload.grades,
        paid,
        repetitions,
        case.seed,
        expected=expected,
        interval={name: "t" if METHODS[name].with_replacement else interval for name in names},
        progress=lambda name: advance(f"{target.name}, {name}"),
    )
    return target.name, summaries


def _warn_of_short_intervals(measure: str, summaries: Sequence[Summary]) -> None:
    """Say for each method at which budgets its intervals held the truth too rarely, and where a few queries are why."""
    from activeeval.report import amount

    for method in dict.fromkeys(s.method for s in summaries):
        told = []
        for s in (s for s in summaries if s.method == method and s.is_too_short):
            why = f" (less spread than expected {s.less_spread.value:.0%})" if s.less_spread.value > _OFTEN else ""
            told.append(f"{s.coverage.value:.1%} at {amount(s.budget)}{why}")
        if told:
            say(f"{method}, {measure}: too few 95 % intervals hold the truth, by budget: {', '.join(told)}")


def _show(panels: dict[str, list[Summary]], case: Case, form: str, places: int) -> None:
    from activeeval.report import plain_rows, summary_rows

    if form != "text":
        emit([row for name, summaries in panels.items() for row in summary_rows(name, summaries)], form, places)
        return
    for name, summaries in panels.items():
        what = "difference of two rankings" if case.workload.versus is not None else "one ranking"
        title = f"{name}, {what}: {case.workload.pool.n_queries} queries, truth {summaries[0].truth:.4f}, "
        title += f"{summaries[0].repetitions} repetitions, budgets in {case.workload.pool.cost_unit}"
        show_table(plain_rows(summaries), title)
