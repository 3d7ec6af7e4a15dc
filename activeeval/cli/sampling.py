"""``activeeval sample``, ``estimate`` and ``design``: from a pool without labels to an estimate."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.inputs import POSITIVE, PoolOptions, check_names, level_option, load_case, pool_options
from activeeval.cli.output import check_out, emit, output_option, places_option, say, warn_of_weights

if TYPE_CHECKING:
    from activeeval.design import Design

_method_option = click.option(
    "--method", default="active", show_default=True, help="passive, active, active_uniC or active_uniD."
)
_measure_option = click.option(
    "--measure", default="DCG", show_default=True, help="DCG, ERR, RBP, P or RR, as ERR(max_rel=4)@10."
)


def _design(method: str, measure: str, out: str, options: dict[str, Any]) -> tuple[Design, Any]:
    from activeeval.io.sheets import SUFFIXES
    from activeeval.methods import find_method

    check_names([measure], [method])
    check_out(out, SUFFIXES)
    case = load_case(PoolOptions(**options), use_labels=False)
    target = case.target(measure)
    made = find_method(method).design(target, case.probs_for(target), defensive_share=options["defensive_share"])
    warn_of_weights(method, made)
    return made, case.seed


@click.command()
@pool_options
@_measure_option
@_method_option
@click.option("--budget", type=POSITIVE, required=True, help="In mean costs of judging a query whole.")
@click.option("--expected", is_flag=True, help="The budget is met in expectation, by n* draws, not as a hard limit.")
@click.option("--out", required=True, metavar="FILE", help="Draws table to write: .csv, .tsv, .jsonl or .parquet.")
@click.option("--force", is_flag=True, help="Overwrite a draws table that holds grades.")
def sample(measure: str, method: str, budget: float, expected: bool, out: str, force: bool, **options: Any) -> None:
    """Draw queries to judge for a budget; no label of the pool is looked at.

    Writes the draws table: one row an item, with the probabilities it was drawn with. Fill in the column `grade`, in a
    spreadsheet if you like, and hand the file to `activeeval estimate`.

    \b
    activeeval sample --run new.run --measure DCG@10 --max-grade 3 --budget 40 --out draws.csv
    """
    from activeeval.campaign import Campaign
    from activeeval.errors import BudgetError, InputError
    from activeeval.io.draws import write_draws
    from activeeval.workload import budget_unit, in_units
    from activeeval.worksheet import to_table

    if not force:
        _check_no_grades(out)
    design, seed = _design(method, measure, out, options)
    unit = budget_unit(design)
    try:
        campaign = Campaign(design, budget * unit, rng=seed, expected=expected)
    except BudgetError as problem:
        raise InputError(f"--{in_units(problem, unit)}") from None
    while campaign.ask() is not None:
        pass
    write_draws(to_table(campaign), out)
    n_queries = len({draw.query for draw in campaign.draws})
    n_items = sum(len(draw.items) for draw in campaign.awaited)
    say(
        f"wrote {out}: {len(campaign.draws)} draws of {n_queries} queries, {n_items} items to judge, "
        f"cost {campaign.spent / unit:.4g} of {budget:g} (a unit costs {unit:g}); {campaign.ended}"
    )
    n_repeated = sum(len(draw.items) for draw in campaign.draws) - n_items
    if n_repeated:
        say(f"{n_repeated} rows repeat items of a query drawn before: grade an item once, leave the others empty")


def _check_no_grades(path: str) -> None:
    """Raise where a file that would be overwritten holds the work of judges."""
    from activeeval.errors import InputError
    from activeeval.io.draws import EMPTY, read_draws
    from activeeval.worksheet import NOTHING

    if not os.path.isfile(path):
        return
    try:
        table = read_draws(path)
    except InputError:
        return
    n_grades = int(((table.grade != EMPTY) & (table.doc_id != NOTHING)).sum())
    if n_grades:
        raise InputError(f"{path} holds {n_grades} grades already: --force overwrites them")


@click.command()
@click.argument("draws", metavar="DRAWS")
@click.option("--measure", help="Measure to estimate; by default the one the table names.")
@click.option("--max-grade", type=click.IntRange(1), help="Largest grade of the scale; by default the table's.")
@level_option
@places_option
@output_option
def estimate(draws: str, measure: str | None, max_grade: int | None, level: float, places: int, form: str) -> None:
    """Turn a judged draws table into an estimate with its interval.

    Every item needs a grade; an item that stands in several rows (a query drawn twice) needs it once.
    """
    from activeeval.io.draws import read_draws
    from activeeval.measures import parse_measure
    from activeeval.worksheet import estimate_table

    table = read_draws(draws)
    result = estimate_table(table, parse_measure(measure) if measure else None, max_grade)
    interval = result.interval(level)
    row = {
        "measure": measure or str(table.measure[0]),
        "value": result.value,
        "std_error": result.std_error,
        "low": interval.low,
        "high": interval.high,
        "level": level,
        "method": result.method,
        "draws": result.n_draws,
        "queries": result.n_queries,
        "items": result.n_items,
        "spent": result.cost,
    }
    emit([row], form, places)


@click.command()
@pool_options
@_measure_option
@_method_option
@click.option("--out", required=True, metavar="FILE", help="Table to write: .parquet, .csv, .tsv or .jsonl.")
@click.option("--plot", metavar="FILE", help="Draw q/p over cost and expected performance (.png, .svg, .pdf).")
def design(measure: str, method: str, out: str, plot: str | None, **options: Any) -> None:
    """Write the sampling distribution, moments and costs of every query of a pool, without any label.

    Columns: query_id, query_prob (p), sampling_prob (q), weight (p/q), mean, variance, cost, n_items.
    """
    from activeeval.io.export import write_columns
    from activeeval.report import PICTURES, design_columns, plot_design

    if plot:
        check_out(plot, PICTURES)
    made, _ = _design(method, measure, out, options)
    if plot:
        plot_design(made, plot)
    write_columns(design_columns(made), out)
    say(
        f"wrote {out}: {made.pool.n_queries} queries, {made.target.measure}, "
        f"a draw costs {made.expected_cost:.4g} on average"
    )
    if plot:
        say(f"wrote {plot}")
