"""``activeeval sample``, ``estimate`` and ``design``: from a pool without labels to an estimate."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.inputs import POSITIVE, Case, PoolOptions, check_names, level_option, load_case, pool_options
from activeeval.cli.output import check_out, emit, output_option, places_option, say, warn_of_weights
from activeeval.errors import FormatError, InputError

if TYPE_CHECKING:
    from activeeval.campaign import Campaign
    from activeeval.io.draws import DrawsTable
    from activeeval.measures import Measure
    from activeeval.methods import Method, Plan
    from activeeval.record import Record

_FEW = 30
_method_option = click.option(
    "--method", help="See `activeeval methods`. Default: the best for the measure that a bad model cannot spoil."
)
_measure_option = click.option(
    "--measure",
    default="DCG",
    show_default=True,
    help="DCG, ERR, RBP, P, RR, nDCG or AP, as ERR(max_rel=4)@10; @FILE: learned gains.",
)
_target_option = click.option(
    "--target",
    type=click.Choice(("pool", "population")),
    default="pool",
    show_default=True,
    help="What the interval is for: this pool, or all the queries that it is a sample of.",
)


def _plan(method: str | None, measure: str, out: str, options: dict[str, Any]) -> tuple[Plan, Case, float]:
    """Return the plan of a method, the case that it is for and what a budget of 1 costs."""
    from activeeval.io.sheets import SUFFIXES
    from activeeval.methods import default_method
    from activeeval.workload import budget_unit

    check_names([measure], [method] if method else [])
    check_out(out, SUFFIXES)
    case = load_case(PoolOptions(**options), use_labels=False)
    target = case.target(measure)
    name = method or default_method(target.measure).name
    return case.plan(name, target, options["defensive_share"]), case, budget_unit(target)


@click.command()
@pool_options
@_measure_option
@_method_option
@click.option("--budget", type=POSITIVE, required=True, help="In mean costs of judging a query whole.")
@click.option(
    "--expected", is_flag=True, help="Draws with replacement meet the budget in expectation, not as a hard limit."
)
@click.option(
    "--hard",
    is_flag=True,
    help="Keep a margin of three standard deviations, so that a settled sample hardly ever costs more.",
)
@click.option("--out", required=True, metavar="FILE", help="Draws table to write: .csv, .tsv, .jsonl or .parquet.")
@click.option("--force", is_flag=True, help="Overwrite a draws table that holds grades.")
def sample(
    measure: str, method: str | None, budget: float, expected: bool, hard: bool, out: str, force: bool, **options: Any
) -> None:
    """Draw queries to judge for a budget; no label of the pool is looked at.

    Writes the draws table: one row an item, with the probabilities it was drawn with. Fill in the column `grade`, in a
    spreadsheet if you like, and hand the file to `activeeval estimate`.

    \b
    activeeval sample --run new.run --measure DCG@10 --max-grade 3 --budget 40 --out draws.csv
    """
    from activeeval.campaign import Campaign
    from activeeval.errors import BudgetError
    from activeeval.workload import in_units

    if not force:
        _check_no_grades(out)
    plan, case, unit = _plan(method, measure, out, options)
    _check_budget_options(plan.method, expected, hard)
    try:
        design = plan.design_within(budget * unit) if hard else plan.design(budget * unit)
        warn_of_weights(design.name, design)
        limit = None if design.budget is not None else budget * unit
        campaign = Campaign(design, limit, rng=case.seed, expected=expected)
    except BudgetError as problem:
        raise InputError(f"--{in_units(problem, unit)}") from None
    while campaign.ask() is not None:
        pass
    if not any(draw.items for draw in campaign.draws) and campaign.design.items.size:
        raise InputError(f"--budget {budget:g} is so small that no query was drawn: raise it")
    _write(campaign, out, case.max_grade, plan.method.needs_record)
    exceeds = "hardly ever exceeded" if hard else "met on average"
    _say_what_was_drawn(campaign, out, f"{budget:g}", unit, exceeds)
    if plan.method.needs_record:
        say(f"wrote {record_path(out)}: the record of the sample, which `activeeval estimate` reads beside the table")
    n_queries = len({draw.query for draw in campaign.draws})
    if n_queries < min(_FEW, campaign.design.pool.n_queries):
        say(f"{n_queries} judged queries make a rough interval; with {_FEW} or more it can be relied on")
    n_repeated = sum(len(draw.items) for draw in campaign.draws) - sum(len(draw.items) for draw in campaign.awaited)
    if n_repeated:
        say(f"{n_repeated} rows repeat items of a query drawn before: grade an item once, leave the others empty")


def _check_budget_options(method: Method, expected: bool, hard: bool) -> None:
    if expected and method.scheme != "replacement":
        kept = "meets the budget on average anyway" if method.needs_budget else "draws no query twice"
        raise click.UsageError(f"--expected is for draws with replacement: {method.name} {kept}")
    if hard and not method.needs_budget:
        raise click.UsageError(f"--hard is for a sample that is settled at once: {method.name} draws one by one")


def _write(campaign: Campaign, out: str, max_grade: int, needs_record: bool) -> None:
    """Write the table and its record, both or neither; an earlier record that the table does not need goes."""
    from activeeval.io.arrays import arrays_beside
    from activeeval.io.draws import write_draws
    from activeeval.record import record_of, to_arrays
    from activeeval.worksheet import to_table

    table, beside = to_table(campaign, max_grade), record_path(out)
    if needs_record:
        with arrays_beside(beside, to_arrays(record_of(campaign, max_grade))):
            write_draws(table, out)
        return
    write_draws(table, out)
    if os.path.isfile(beside):
        os.unlink(beside)


def _say_what_was_drawn(campaign: Campaign, out: str, budget: str, unit: float, exceeds: str) -> None:
    from activeeval.record import covers_everything

    n_draws, n_queries = len(campaign.draws), len({draw.query for draw in campaign.draws})
    n_items = sum(len(draw.items) for draw in campaign.awaited)
    cost = f"cost {campaign.spent / unit:.4g}"
    if covers_everything(campaign):
        drawn = f"everything is to be judged, {n_queries} queries, {n_items} items, {cost} of {budget}"
    elif campaign.design.budget is not None:
        drawn = f"{n_queries} queries, {n_items} items to judge, {cost} (budget {budget} is {exceeds})"
    else:
        drawn = f"{n_draws} draws of {n_queries} queries, {n_items} items to judge, {cost} of {budget}"
        drawn += f" (a unit costs {unit:g}); {campaign.ended}"
    say(f"wrote {out}: {drawn}")


def record_path(draws: str) -> str:
    """Return where the record of a draws table lies: beside it, under its whole name with .sample.npz behind it."""
    return f"{draws}.sample.npz"


def _check_no_grades(path: str) -> None:
    """Raise where a file that would be overwritten holds the work of judges."""
    from activeeval.io.draws import EMPTY, read_draws
    from activeeval.worksheet import NOTHING

    if not os.path.isfile(path):
        return
    try:
        table = read_draws(path)
    except InputError as problem:
        raise InputError(f"{problem}; --force overwrites it") from None
    n_grades = int(((table.grade != EMPTY) & (table.doc_id != NOTHING)).sum())
    if n_grades:
        raise InputError(f"{path} holds {n_grades} grades already: --force overwrites them")


@click.command()
@click.argument("draws", metavar="DRAWS")
@click.option("--measure", help="Measure to estimate; by default the one the table names.")
@click.option("--max-grade", type=click.IntRange(1), help="Largest grade of the scale; by default the table's.")
@click.option("--record", metavar="FILE", help="Record of the sample. Default: DRAWS with .sample.npz behind it.")
@_target_option
@click.option(
    "--interval",
    "kind",
    type=click.Choice(("t", "skewed", "bootstrap")),
    default="t",
    show_default=True,
    help="skewed: a comparison that hangs on few queries; bootstrap: as a check.",
)
@level_option
@places_option
@output_option
def estimate(
    draws: str,
    measure: str | None,
    max_grade: int | None,
    record: str | None,
    target: str,
    kind: str,
    level: float,
    places: int,
    form: str,
) -> None:
    """Turn a judged draws table into an estimate with its interval.

    Every item needs a grade; an item that stands in several rows (a query drawn twice) needs it once. For all but the
    paper's methods the record that `activeeval sample` wrote beside the table says the rest.
    """
    from activeeval.estimation import INTERVALS, evaluate
    from activeeval.estimation import estimate as estimate_sample
    from activeeval.io.draws import read_draws
    from activeeval.measures import parse_measure
    from activeeval.worksheet import graded, judged_table

    table = read_draws(draws)
    held = _record(draws, record, table)
    if held is None:
        sample, name = judged_table(table, parse_measure(measure) if measure else None, max_grade, target)
        estimator = "ratio"
    elif measure and str(_bound(parse_measure(measure), held.max_grade)) != held.measure:
        raise InputError(f"the sample was drawn for {held.measure}: its record cannot tell of {measure}")
    else:
        sample, name, estimator = held.sample(graded(table, held, max_grade)), held.method, held.estimator
    result = estimate_sample(sample, estimator, name, target)
    interval = INTERVALS[kind]().interval(sample, evaluate(sample, estimator, target), level)
    row = {
        "measure": measure or str(table.measure[0]),
        "value": result.value,
        "std_error": result.std_error,
        "low": interval.low,
        "high": interval.high,
        "level": level,
        "interval": kind,
        "method": result.method,
        "draws": result.n_draws,
        "queries": result.n_queries,
        "items": result.n_items,
        "spent": result.cost,
    }
    emit([row], form, places)
    for caution in result.cautions:
        say(caution)


def _record(draws: str, path: str | None, table: DrawsTable) -> Record | None:
    """Return the record of a table's sample; None where its method needs none."""
    from activeeval.io.arrays import read_arrays
    from activeeval.methods import METHODS
    from activeeval.record import FIELDS, from_arrays

    name = str(table.design[0]) if table.n_rows else ""
    beside = record_path(draws)
    is_there = os.path.exists(beside)
    if path is None and not (METHODS[name].needs_record if name in METHODS else is_there):
        return None
    if path is None and not is_there:
        raise InputError(
            f"{beside}: no such file, expected the record that `activeeval sample` wrote beside the table; "
            "--record names it where it lies elsewhere"
        )
    try:
        return from_arrays(read_arrays(path or beside, FIELDS))
    except FormatError:
        raise
    except InputError as problem:
        raise InputError(f"{path or beside}: {problem}") from None


def _bound(measure: Measure, max_grade: int | None) -> Measure:
    return measure if max_grade is None else measure.bound_to(max_grade)


@click.command()
@pool_options
@_measure_option
@_method_option
@click.option("--budget", type=POSITIVE, help="In mean costs of judging a query whole; default: a tenth of the pool.")
@click.option("--out", required=True, metavar="FILE", help="Table to write: .parquet, .csv, .tsv or .jsonl.")
@click.option("--plot", metavar="FILE", help="Draw q/p over cost and expected performance (.png, .svg, .pdf).")
def design(measure: str, method: str | None, budget: float | None, out: str, plot: str | None, **options: Any) -> None:
    """Write the sampling distribution, moments and costs of every query of a pool, without any label.

    Columns: query_id, query_prob (p), sampling_prob (q, or the probability π of being in the sample), weight (p over
    that), mean, variance, cost (of judging the query whole), expected_cost (once it is drawn), n_items.
    """
    from activeeval.io.export import write_columns
    from activeeval.report import PICTURES, design_columns, plot_design

    if plot:
        check_out(plot, PICTURES)
    plan, _, unit = _plan(method, measure, out, options)
    made = plan.design(unit * (budget or plan.target.pool.n_queries / 10))
    warn_of_weights(made.name, made)
    if plot:
        plot_design(made, plot)
    write_columns(design_columns(made), out)
    say(
        f"wrote {out}: {made.pool.n_queries} queries, {made.target.name}, "
        f"{'a draw' if made.budget is None else 'the sample'} costs {made.expected_cost / unit:.4g} on average"
    )
    if plot:
        say(f"wrote {plot}")
