"""``activeeval queries``: draw the queries of an evaluation from a search log."""

from __future__ import annotations

import click

from activeeval.cli import input_options, output
from activeeval.cli.help import command, group


@group()
def queries() -> None:
    """Draw the queries to evaluate with from a log of searches: next month most of them stay, and their judgments.

    \b
    activeeval queries draw may.csv --n 500 --out queries-may.csv
    """


@command()
@click.argument("log", metavar="LOG")
@click.option("--n", "n", type=click.IntRange(1), required=True, metavar="N", help="How many; all there are if fewer.")
@output.out_option(required=True, help="The queries to write: .csv, .tsv, .jsonl or .parquet.")
@click.option(
    "--strata",
    type=click.Choice(("thirds", "segments", "none")),
    help="Head, torso and tail, each a third of the traffic; the log's segments; or all in one. Default: segments "
    "where the log has a column of them, else thirds.",
)
@click.option(
    "--pilot",
    metavar="FILE",
    help="Share N out by how values differ within strata too (Neyman): a table of query and deviation. Default: by "
    "traffic.",
)
@click.option("--last", metavar="FILE", help="Queries drawn before: say how many are kept.")
@input_options.seed_option
@output.force_option
def draw(
    log: str, n: int, out: str, strata: str | None, pilot: str | None, last: str | None, seed: int, force: bool
) -> None:
    """Draw N queries of a LOG, each with probability proportional to how often it was asked.

    LOG is a table (.csv, .tsv, .jsonl, .parquet, …) of query and count, or one event a row; it may have a column
    segment. Of any other file each line is an event. Spellings of one query count together: Unicode NFKC, letter case
    and white space make no difference, and the commonest spelling is shown.

    Each query has a random number for good, by the seed and its spelling alone. Drawn from next month's log with the
    same seed, most of the queries stay, and so do their judgments.

    The file holds the queries' texts, weights and the probabilities that they were drawn with. `sample`, `campaign
    create`, `plan`, `compare` and `score` take it as --queries; intervals of --scope population are then about all the
    traffic of the log.

    \b
    activeeval queries draw may.csv --n 500 --out queries-may.csv
    activeeval queries draw june.csv --n 500 --out queries-june.csv --last queries-may.csv
    activeeval sample --run new.run --queries queries-june.csv --max-grade 3 --budget 200 \\
        --out june.sample --sheet june-sheet.csv
    """
    from activeeval.formats.suffixes import SUFFIXES
    from activeeval.traffic.query_draws import draw_queries

    output.check_apart({"out": out}, [path for path in (log, pilot, last) if path])
    output.check_new(out, SUFFIXES, force)
    with input_options.worded():
        result = draw_queries(log, n, seed=seed, strata=strata, pilot=pilot, last=last)
    result.drawn.write(out)
    output.say_notes(result.notes)
    output.say(f"wrote {out}")


queries.add_late("From a log", draw=("traffic.commands:draw", "Draw queries from a log, by how often they are asked"))
