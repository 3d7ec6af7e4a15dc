"""``activeeval compare``: by how much one run is better than another, with judgments that are at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from activeeval.cli.inputs import BUDGET, BUDGET_HELP, MEASURES_HELP, SCOPES, FiniteRange, level_option, seed_option
from activeeval.cli.output import emit, estimate_row, output_option, places_option, say
from activeeval.errors import BudgetError, InputError

if TYPE_CHECKING:
    from activeeval.session.budgets import Budget


@click.command()
@click.argument("run_a", metavar="RUN")
@click.argument("run_b", metavar="VERSUS")
@click.option("--qrels", required=True, metavar="FILE", help="Judgments; looked up for the items that are asked for.")
@click.option(
    "--measure",
    "measures",
    multiple=True,
    default=["DCG@10"],
    show_default="DCG@10",
    help=f"{MEASURES_HELP}; repeatable.",
)
@click.option(
    "--budget", type=BUDGET, help=f"{BUDGET_HELP}; by default everything is looked up, and nothing is left to chance."
)
@click.option("--method", help="See `activeeval methods`. Default: the best for the measure.")
@click.option("--max-grade", type=click.IntRange(1), help="Largest grade of the scale. Default: the largest judgment.")
@click.option(
    "--overhead", type=FiniteRange(0), default=0.0, show_default=True, help="Cost of turning to a query, in items."
)
@click.option(
    "--unjudged",
    type=click.Choice(("error", "irrelevant")),
    default="error",
    show_default=True,
    help="What an item is that is asked for and has no judgment: an error, or of grade 0.",
)
@seed_option
@level_option
@places_option
@output_option
def compare(
    run_a: str,
    run_b: str,
    qrels: str,
    measures: tuple[str, ...],
    budget: Budget | None,
    method: str | None,
    max_grade: int | None,
    overhead: float,
    unjudged: str,
    seed: int,
    level: float,
    places: int,
    form: str,
) -> None:
    """Estimate by how much RUN is better than VERSUS, from judgments that are looked up as they are needed.

    With a budget this is what a sample would have said; without one it is exact. Where an item is asked for that nobody
    judged, it ends with an error that counts them. `activeeval score QRELS RUN MEASURE --versus VERSUS` tests the
    difference for all the queries that these are a sample of.

    \b
    activeeval compare new.run old.run --qrels qrels.txt --measure DCG@10 --budget 200
    """
    from activeeval.io.tables import load_qrels, load_run
    from activeeval.session.evaluation import compare as estimate
    from activeeval.session.workload import sampled_measure

    given = {} if budget is None else {"share" if budget.is_share else "budget": budget.amount}
    tables, rows = (load_qrels(qrels), load_run(run_a), load_run(run_b)), []
    for measure in measures:
        asked = sampled_measure(measure)
        try:
            result = estimate(
                *tables,
                measure=asked,
                method=method,
                max_grade=max_grade,
                overhead=overhead,
                unjudged=unjudged,
                rng=seed,
                **given,
            )
        except BudgetError as problem:
            raise InputError(f"{measure}: --{problem}") from None
        for caution in result.cautions:
            say(f"{measure}: {caution}")
        more = {"p_value": result.p_value, "method": result.method}
        rows.append(estimate_row(str(asked), "difference", result, result.interval(level), **more))
    if form == "text":
        say(f"the intervals are about {SCOPES['pool']}")
    emit(rows, form, places)
