"""``activeeval simulate``: what each method would have saved on a pool whose labels are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.inputs import POSITIVE, Case, PoolOptions, check_names, distinct, load_case, pool_options
from activeeval.cli.output import (
    check_out,
    emit,
    output_option,
    places_option,
    progress,
    say,
    show_table,
    warn_of_weights,
)

if TYPE_CHECKING:
    from activeeval.measures import Target
    from activeeval.methods import Method
    from activeeval.simulation import Summary

DEFAULT_BUDGETS = (20.0, 50.0, 100.0)
_MOSTLY = 0.5
_LEAST_COVERAGE, _ENOUGH_QUERIES = 0.93, 50


@click.command()
@pool_options
@click.option(
    "--measure",
    "measures",
    multiple=True,
    default=("DCG",),
    show_default=True,
    help="DCG, ERR, RBP, P, RR, nDCG or AP, as ERR(max_rel=4)@10, or @FILE: learned gains; repeatable.",
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
    type=POSITIVE,
    help="Repeatable, in mean costs of judging a query whole. Default: 20, 50, 100.",
)
@click.option("--expected", is_flag=True, help="Budgets are met in expectation, by n* draws, not as a hard limit.")
@click.option("--repetitions", type=click.IntRange(2), default=2000, show_default=True, help="Replays of each method.")
@click.option(
    "--interval",
    default="t",
    show_default=True,
    metavar="KIND",
    help="Intervals to measure: t, skewed, bootstrap, asympcs, betting or group-sequential (the budgets are its "
    "looks). passive has t intervals where the kind is not for it.",
)
@click.option("--plot", metavar="FILE", help="Draw error over budget (.png, .svg, .pdf).")
@places_option
@output_option
def simulate(
    measures: tuple[str, ...],
    methods: tuple[str, ...],
    budgets: tuple[float, ...],
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

    The pool comes from --letor with --scores, or from --qrels with --run. A budget of 1 pays for judging one query
    whole on average: its overhead and the items down to the measure's cutoff, of both rankings in a comparison. Methods
    that settle their sample at once (poisson, cube) meet it on average: the columns spent and spent_sd say how nearly.

    \b
    activeeval simulate --letor S2.txt --scores ranker.S2 --train S1.txt --measure DCG --budget 30 --budget 60
    activeeval simulate --qrels qrels.txt --run new.run --versus-run old.run --train-fraction 0.4 --measure ERR@10
    """  # fmt: skip
    from activeeval.methods import find_method
    from activeeval.report import PICTURES, plot_errors

    named = [name for name in methods if name != "all"]
    check_names(measures, named)
    _check_interval(interval, named or ([] if methods else _defaults(measures)), expected)
    if plot:
        check_out(plot, PICTURES)
    case = load_case(PoolOptions(**options), use_labels=True)
    if refusal := _refusal(interval, find_method("passive")):
        say(f"passive has t intervals: {refusal}")
    chosen = distinct(budgets or DEFAULT_BUDGETS)
    panels: dict[str, list[Summary]] = {}
    runs = {text: _chosen(case, text, methods, interval) for text in dict.fromkeys(measures)}
    with progress(sum(map(len, runs.values())), "simulating") as advance:
        for text, names in runs.items():
            name, summaries = _simulate(
                case, text, names, chosen, repetitions, expected, interval, options["defensive_share"], advance
            )
            panels[name] = summaries
            if case.workload.versus is not None:
                _warn_of_short_intervals(name, summaries)
    _show(panels, case, form, places)
    if plot:
        plot_errors(panels, plot)
        say(f"wrote {plot}")


def _defaults(measures: Iterable[str]) -> list[str]:
    from activeeval.methods import default_method
    from activeeval.workload import sampled_measure

    return [default_method(sampled_measure(text)).name for text in measures]


def _check_interval(interval: str, names: Iterable[str], expected: bool) -> None:
    """Raise where an interval kind is not on offer or not one for a method, before any file is read."""
    from activeeval.errors import InputError
    from activeeval.estimation import find_interval
    from activeeval.methods import find_method

    find_interval(interval)
    if expected and interval in ("skewed", "bootstrap", "betting"):
        raise InputError(f"the interval {interval!r} is measured under hard budgets: leave out --expected")
    for name in names:
        problem = "" if name == "passive" else _refusal(interval, find_method(name))
        if problem:
            raise InputError(f"method {name!r}: {problem}")


def _refusal(interval: str, method: Method) -> str:
    """Return why an interval kind is not one for a method; nothing where it is."""
    from activeeval.errors import InputError
    from activeeval.estimation import find_interval

    kind: Any = find_interval(interval)
    try:
        kind.check(kind, method.scheme, method.estimator)  # what fits is known of the class
    except InputError as problem:
        return str(problem)
    return ""


def _chosen(case: Case, measure: str, methods: tuple[str, ...], interval: str) -> list[str]:
    """Return the names of the methods to run for a measure, passive first."""
    from activeeval.methods import METHODS, default_method

    sampled = case.target(measure).measure
    names = methods or (default_method(sampled).name,)
    if "all" in names:
        names = tuple(
            name for name, method in METHODS.items() if method.fits(sampled) and not _refusal(interval, method)
        )
    return list(dict.fromkeys(["passive", *names]))


def _simulate(
    case: Case,
    measure: str,
    names: list[str],
    budgets: list[float],
    repetitions: int,
    expected: bool,
    interval: str,
    defensive_share: float | None,
    advance: Callable[[str], None],
) -> tuple[str, list[Summary]]:
    from activeeval.errors import BudgetError, InputError
    from activeeval.methods import METHODS
    from activeeval.simulation import simulate as run
    from activeeval.workload import budget_unit, in_units

    target = case.target(measure)
    _tell_of_equal_rankings(target)
    plans = {name: case.plan(name, target, defensive_share) for name in names}
    unit = budget_unit(target)
    for name, plan in plans.items():
        warn_of_weights(f"{name}, {target.name}", plan.design(budgets[0] * unit))
    try:
        if expected:
            drawn = [plan.design() for plan in plans.values() if plan.method.scheme == "replacement"]
            max(drawn, key=lambda design: design.expected_cost).n_draws(budgets[0] * unit)
        summaries = run(
            plans,
            case.workload.grades,
            budgets,
            repetitions,
            case.seed,
            unit=unit,
            expected=expected,
            interval={name: "t" if _refusal(interval, METHODS[name]) else interval for name in names},
            progress=lambda name: advance(f"{target.name}, {name}"),
        )
    except BudgetError as problem:
        whose = "" if expected else "passive, the reference, cannot pay for a query: "  # it runs first
        raise InputError(f"{target.name}: {whose}--{in_units(problem, unit)}") from None
    return target.name, summaries


def _warn_of_short_intervals(measure: str, summaries: Sequence[Summary]) -> None:
    """Say for each method at which budgets few queries dominate a comparison, so that t intervals are too short."""
    for method in dict.fromkeys(s.method for s in summaries):
        short = [s for s in summaries if s.method == method and s.interval == "t" and _is_short(s)]
        if short:
            budgets = ", ".join(f"{s.budget:g}" for s in short)
            coverage = min(s.coverage for s in short)
            say(
                f"{method}, {measure}: at a budget of {budgets} few queries dominate the difference, so that 95 % t "
                f"intervals can be too short (here they hold the truth in {coverage:.1%}): try --interval skewed"
            )


def _is_short(summary: Summary) -> bool:
    is_uneven = summary.uneven > _MOSTLY
    is_low = summary.coverage < _LEAST_COVERAGE and summary.queries >= _ENOUGH_QUERIES
    return summary.rmse > 0 and (is_uneven or is_low)


def _tell_of_equal_rankings(target: Target) -> None:
    from numpy import array_equal

    one, other = target.ranking, target.versus
    if other is not None and array_equal(one.offsets, other.offsets) and array_equal(one.items, other.items):
        say(f"the two rankings are equal: their difference in {target.name} is 0, there is nothing to judge")


def _show(panels: dict[str, list[Summary]], case: Case, form: str, places: int) -> None:
    from activeeval.report import plain_rows, summary_rows

    if form != "text":
        emit([row for name, summaries in panels.items() for row in summary_rows(name, summaries)], form, places)
        return
    for name, summaries in panels.items():
        what = "difference of two rankings" if case.workload.versus is not None else "one ranking"
        title = f"{name}, {what}: {case.workload.pool.n_queries} queries, truth {summaries[0].truth:.4f}, "
        show_table(plain_rows(summaries), title + f"{summaries[0].repetitions} repetitions")
