"""``activeeval sample``, ``estimate`` and ``design``: from a pool without labels to an estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.inputs import PoolOptions, load_case, pool_options
from activeeval.cli.output import emit, output_option, places_option, say

if TYPE_CHECKING:
    from activeeval.design import Design

_method_option = click.option("--method", default="active", show_default=True, help="See activeeval simulate --help.")
_measure_option = click.option("--measure", default="DCG", show_default=True)


def _design(method: str, measure: str, options: dict[str, Any]) -> tuple[Design, Any]:
    from activeeval.methods import find_method

    case = load_case(PoolOptions(**options), use_labels=False)
    target = case.target(measure)
    chosen = find_method(method)
    return chosen.design(target, case.probs_for(target), defensive_share=options["defensive_share"]), case.seed


@click.command()
@pool_options
@_measure_option
@_method_option
@click.option("--budget", type=float, required=True, help="In mean costs of judging a query whole.")
@click.option("--expected", is_flag=True, help="The budget is met in expectation, by n* draws, not as a hard limit.")
@click.option("--out", required=True, metavar="FILE", help="Draws table to write: .csv, .tsv, .jsonl or .parquet.")
def sample(measure: str, method: str, budget: float, expected: bool, out: str, **options: Any) -> None:
    """Draw queries to judge for a budget; no label of the pool is looked at.

    Writes the draws table: one row an item, with the probabilities it was drawn with. Fill in the column `grade`, in a
    spreadsheet if you like, and hand the file to `activeeval estimate`.

    \b
    activeeval sample --run new.run --measure DCG@10 --max-grade 3 --budget 40 --out draws.csv
    """
    from activeeval.campaign import Campaign
    from activeeval.errors import BudgetError, InputError
    from activeeval.io.draws import write_draws
    from activeeval.worksheet import to_table

    design, seed = _design(method, measure, options)
    unit = float(design.costs.mean())
    try:
        campaign = Campaign(design, budget * unit, rng=seed, expected=expected)
    except BudgetError as problem:
        raise InputError(
            f"--budget {budget:g} is too small: {problem}; the smallest that works is {problem.needed / unit:.4g} "
            f"(a unit costs {unit:g})"
        ) from None
    while campaign.ask() is not None:
        pass
    write_draws(to_table(campaign), out)
    n_queries = len({draw.query for draw in campaign.draws})
    n_items = sum(len(draw.items) for draw in campaign.awaited)
    say(
        f"wrote {out}: {len(campaign.draws)} draws of {n_queries} queries, {n_items} items to judge, "
        f"cost {campaign.spent / unit:.4g} of {budget:g} (a unit costs {unit:g}); {campaign.ended}"
    )


@click.command()
@click.argument("draws", metavar="DRAWS")
@click.option("--measure", help="Measure to estimate; by default the one the table names.")
@click.option("--level", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95, show_default=True)
@places_option
@output_option
def estimate(draws: str, measure: str | None, level: float, places: int, form: str) -> None:
    """Turn a judged draws table into an estimate with its interval.

    Every item needs a grade; an item that stands in several rows (a query drawn twice) needs it once.
    """
    from activeeval.io.draws import read_draws
    from activeeval.measures import parse_measure
    from activeeval.worksheet import estimate_table

    table = read_draws(draws)
    result = estimate_table(table, parse_measure(measure) if measure else None)
    interval = result.interval(level)
    row = {
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
    from activeeval.report import design_columns, plot_design

    made, _ = _design(method, measure, options)
    write_columns(design_columns(made), out)
    say(
        f"wrote {out}: {made.pool.n_queries} queries, {made.target.measure}, "
        f"a draw costs {made.expected_cost:.4g} on average"
    )
    if plot:
        plot_design(made, plot)
        say(f"wrote {plot}")
