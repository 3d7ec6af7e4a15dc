"""``activeeval design``: compute the sampling probability of each query of a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from activeeval.cli import input_options, output
from activeeval.cli.help import command
from activeeval.cli.waiting import tell
from activeeval.inputs.options import FILES, PoolFields
from activeeval.sampling.commands import sampling_options
from activeeval.sampling.options import BUDGET_HELP, SampleFields

if TYPE_CHECKING:
    from activeeval.inputs.budgets import Budget


@command()
@input_options.options_of(PoolFields, leave_out=(*FILES, "contrasts"))
@sampling_options.measure_option
@input_options.options_of(SampleFields, only=("method", "budget"), budget={"default": "10%", "help": f"{BUDGET_HELP}."})
@output.out_option(required=True, help="Table to write: .parquet, .csv, .tsv or .jsonl.")
@output.plot_option(help="Draw q/p over cost and expected performance (.png, .svg, .pdf).")
@output.force_option
def design(
    measure: str, method: str | None, budget: Budget, out: str, plot: str | None, force: bool, **options: Any
) -> None:
    """Write the sampling distribution, moments and costs of every query of a pool, without any label.

    Columns: query_id, query_prob (p), sampling_prob (q of a draw, or the probability π of being in the sample), weight
    (p over that), mean, variance, cost (of judging the query whole), expected_cost (spent on it on average, by a draw
    or by the sample), n_items. Costs are in mean items.

    \b
    activeeval design --run new.run --max-grade 3 --measure DCG@10 --budget 200 --out design.csv
    """
    from activeeval.formats.suffixes import SUFFIXES
    from activeeval.formats.tables.export import write_columns
    from activeeval.inputs.choices import Choices
    from activeeval.report.pictures import PICTURES, plot_design
    from activeeval.sampling.query_rates import rates_of

    output.check_new(out, SUFFIXES, force)
    if plot:
        output.check_out(plot, PICTURES)
    with input_options.worded():
        rates = rates_of(Choices(**options), measure, method, budget, say=output.say_note, progress=tell)
    output.warn_of_weights(rates.made.name, rates.made)  # ``made`` is the Design
    if plot:
        plot_design(rates.made, plot)
    write_columns(rates.columns, out)
    output.say(f"wrote {out}: {rates.sentences[0]}")
    if plot:
        output.say(f"wrote {plot}")
