"""``activeeval coherence``: how often two measures prefer the same of two ranked lists."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.help import command
from activeeval.cli.input_options import qrels_option, run_option, seed_option, versus_run_option
from activeeval.cli.output import check_out, emit, output_option, plot_option, say, say_notes, show_text
from activeeval.core.errors import InputError
from activeeval.report.numbers import agreeing, counted

if TYPE_CHECKING:
    from activeeval.core.measures import Additive
    from activeeval.core.types import Ints


@command()
@click.argument("first", metavar="MEASURE")
@click.argument("second", metavar="MEASURE")
@click.option("--grades", metavar="LIST", help="Compare random orders of a list of grades, as 4,4,3,3,2,2,1,1,0,0.")
@qrels_option(help="Compare random orders of each query's judged items.")
@run_option(help="With --qrels and --versus-run: compare the lists of two runs.")
@versus_run_option(help="The second run.")
@click.option("--depth", type=click.IntRange(1), help="Length of the lists. Default: all of --grades; 10 with --qrels.")
@click.option("--pairs", "n_pairs", type=click.IntRange(1, 10_000_000), default=100_000, help="Random pairs.")
@plot_option(help="Draw agreement over difference (.png, .svg, .pdf).")
@seed_option
@output_option
def coherence(first: str, second: str, n_pairs: int, plot: str | None, seed: int, form: str, **lists: Any) -> None:
    """Show how often two measures prefer the same of two lists, by how far the lists differ under the first.

    MEASURE is a sum of gains over ranks: DCG@10 (2^y - 1), "DCG(dcg='log2')@10", RBP, P@5 or @FILE, learned gains.

    \b
    activeeval coherence DCG "DCG(dcg='log2')" --grades 4,4,3,3,2,2,1,1,0,0
    activeeval coherence @gains.json DCG@10 --qrels qrels.txt --run new.run --versus-run old.run
    """
    from activeeval.gains import coherence as compare
    from activeeval.gains.gain_pictures import plot_coherence
    from activeeval.report.pictures import PICTURES

    if plot:
        check_out(plot, PICTURES)
    measures = _additive(first), _additive(second)
    runs = [lists.pop("run"), lists.pop("versus_run")]
    report = compare(*measures, *_lists(runs=runs, n_pairs=n_pairs, seed=seed, **lists), sampled=runs[0] is None)
    rows = [
        {"from": part.low, "to": part.high, "pairs": part.pairs} | _known(agree=part.agree, std_error=part.std_error)
        for part in report.bins
    ]
    whole = {"pairs": report.pairs} | _known(agree=report.agree, std_error=report.std_error)
    whole |= {"disagree": report.disagree, "one_tied": report.one_tied}
    if form == "text":
        kind = "pairs of lists" if runs[0] is None else f"queries' lists of {runs[0]} and {runs[1]}"
        tied = f", and for {report.one_tied:.1%} one of them sees no difference" if report.one_tied else ""
        show_text(f"{first} and {second} prefer the same list for {report.agree:.1%} of {report.pairs:,} {kind}{tied}.")
        click.echo()
    emit(rows, form)
    if form != "text":
        if form != "jsonl":
            click.echo()
        emit([whole], form)
    else:
        click.echo()
        show_text(f"from, to: how far the two lists differ by {first}; agree: how often {second} prefers the same.")
    if report.always:
        say(f"they agree on all lists of this length and scale: {report.always}")
    if plot:
        plot_coherence(report, plot)
        say(f"wrote {plot}")


def _known(**figures: float) -> dict[str, float]:
    """Drop NaN figures: the share of an empty bin, or the standard error if the pairs are not a sample."""
    return {name: value for name, value in figures.items() if not math.isnan(value)}


def _additive(text: str) -> Additive:
    """Parse a measure; raise InputError unless it is a sum of gains over ranks (Additive)."""
    from activeeval.core.measures import Additive
    from activeeval.inputs.file_names import asked_measure

    measure = asked_measure(text)
    if not isinstance(measure, Additive):
        raise InputError(f"{text} is no sum of gains over ranks; choose DCG, RBP, P or @FILE, learned gains")
    return measure


def _lists(
    grades: str | None, qrels: str | None, runs: list[str | None], depth: int | None, n_pairs: int, seed: int
) -> tuple[Ints, Ints]:
    """Build the two sides of the pairs to compare, shape (n, depth) each, from --grades, or from --qrels and two runs.

    Raises
    ------
    UsageError
        If the options do not go together.
    InputError
        If a file cannot be read.
    """
    from activeeval.gains import random_list_pairs

    if bool(grades) == bool(qrels):
        raise click.UsageError("give one of --grades and --qrels: the lists to compare")
    named = list(filter(None, runs))
    if len(named) == 1 or (named and not qrels):
        raise click.UsageError("--run, --versus-run and --qrels go together")
    if grades:
        words = grades.replace(",", " ").split()
        if not words or not all(word.isdecimal() for word in words):
            raise click.UsageError(f"--grades is {grades!r}, expected whole grades from 0 on, as 4,4,3,3,2,2,1,1,0,0")
        return random_list_pairs([int(word) for word in words], n_pairs, depth, seed)
    return _judged_lists(str(qrels), named, depth or 10, n_pairs, seed)


def _judged_lists(qrels: str, runs: list[str], depth: int, n_pairs: int, seed: int) -> tuple[Ints, Ints]:
    """Build the two sides of the pairs from judgments, shape (n, depth) each.

    Print notes on left-out queries and gaps.
    """
    from activeeval.gains.learn import judged_lists

    lists = judged_lists(qrels, runs, depth, n_pairs, seed)
    say_notes(lists.notes)
    if lists.n_left:
        say(
            f"{lists.n_left} of {counted(lists.n_queries, 'judged query')} {agreeing(lists.n_left, 'is', 'are')} not "
            "in both runs: left out"
        )
    if lists.n_unknown:
        say(
            f"{counted(lists.n_unknown, 'place')} of the lists {agreeing(lists.n_unknown, 'holds', 'hold')} no "
            "judged item: counted as grade 0"
        )
    return lists.first, lists.second
