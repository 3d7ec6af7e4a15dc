"""``activeeval estimate``: estimate measures from judged samples."""

from __future__ import annotations

import shlex
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli import input_options, output
from activeeval.cli.help import command
from activeeval.cli.option_names import option_words
from activeeval.cli.waiting import tell
from activeeval.core.errors import UndrawnError
from activeeval.sampling.commands import sampling_options
from activeeval.sampling.commands.answer_table import NextSteps, show_estimates
from activeeval.sampling.commands.next import next_command

if TYPE_CHECKING:
    pass


@command()
@click.argument("path", metavar="SAMPLE")
@click.argument("sheets", metavar="SHEET...", nargs=-1)
@sampling_options.asked_options
@input_options.columns_option
@sampling_options.query_texts_option
@input_options.policy_option
@input_options.machine_is_truth_option
@input_options.scope_option("pool")
@input_options.interval_option
@click.option(
    "--by",
    "segments",
    metavar="FILE",
    help="A row for each segment: a table of query_id and segment. All intervals of a question hold at once.",
)
@input_options.confidence_option
@output.explain_option
@output.tracked_option
def estimate(path: str, sheets: tuple[str, ...], kind: str, segments: str | None, form: str, **options: Any) -> None:
    """Estimate measures from a sample and its judged sheets, with intervals: a row for each measure and question.

    With more than two systems it also prints intervals that hold for all differences of a measure at once, p values by
    Holm's method, and the part of the order that is certain.

    An item with an empty grade waits, `cannot` is an item that cannot be judged. Reads the last block of which no item
    waits; the number of items that wait, warnings and notes go to stderr.

    Rounds, each drawn with --judged of those before, are read together: give each sample with its sheets behind it. A
    round counts by what its budget was planned to add: set budgets before the first is judged.

    \b
    activeeval estimate week1.sample week1.csv
    activeeval estimate round1.sample round1.csv round2.sample round2.csv
    """
    from activeeval.sampling.estimate import EstimateRequest, estimate as estimate_of
    from activeeval.sampling.rounds import by_round

    rounds = by_round((path, *sheets))
    if len(rounds) > 1 and (kind != "t" or segments):
        raise click.UsageError("several rounds are read with t intervals and without --by")
    tell("reading the sample and its sheets")
    try:
        truth = options.pop("machine_is_truth")
        request = EstimateRequest(kind=kind, segments=segments, **options)
        estimates = estimate_of(rounds, request, machine_is_truth=truth)
    except UndrawnError as problem:
        raise UndrawnError(f"{problem}: `{next_command(path, sheets, None, options['policy'])}`") from None
    onward = next_command(path, sheets, None, options["policy"]) if sheets else ""
    steps = NextSteps(grow=_growing(path), onward=onward)
    show_estimates(estimates, form, steps=steps, files=[path, *sheets])


def _growing(path: str) -> str:
    """Write the command that tops a sample up, with names of files that do not exist."""
    place = Path(path)
    names = (place.with_name(f"{place.stem}-{k}") for k in count(2))
    stem = next(
        name for name in names if not (name.with_suffix(".sample").exists() or name.with_suffix(".csv").exists())
    )
    files = option_words(out=str(stem.with_suffix(".sample")), sheet=str(stem.with_suffix(".csv")))
    return f"{shlex.join(['activeeval', 'top-up', path])} --budget {{budget}} {shlex.join(files)}"
